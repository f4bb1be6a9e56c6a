//! What is wrong with the declaration's file, said with its place.

use crate::common::World;

#[tokio::test]
async fn a_fault_of_the_file_is_said_with_its_line_and_only_a_missing_file_is_proposed() {
    let world = World::new("").await;
    let said = |text: &str| {
        world.write("bad.toml", text);
        let ran = world.run(&["policy", "generate", "--app", "app", "--config", "bad.toml"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        ran.err
    };
    for (text, start) in [
        ("[database]\n\nsined = true", "tenancy: bad.toml:3: unknown field `sined`"),
        ("[database]\ntenant-tables = [{", "tenancy: bad.toml:2: "),
        ("[database]\ntenant-tables = [\n    { table = 'a', colum = 'b', type = 'uuid' },\n]", "tenancy: bad.toml:3: "),
        ("[database]\nsetting = 'nodot'", "tenancy: bad.toml: the setting"),
    ] {
        let err = said(text);
        assert!(err.starts_with(start) && !err.contains("tenancy init"), "{err}");
    }
    let ran = world.run(&["inspect", "--config", "none.toml"]);
    assert_eq!(ran.err, "tenancy: none.toml is not there (`tenancy init --out none.toml` proposes one)\n");
}
