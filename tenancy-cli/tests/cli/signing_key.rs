//! `tenancy signing-key`.

use std::os::unix::fs::PermissionsExt;

use tenancy_pg::{Declaration, SigningKey, signed_schema_sql};
use tenancy_testkit::{APP, OWNER};

use crate::common::World;

#[tokio::test]
async fn a_key_goes_into_the_database_and_out_of_it() {
    let world = World::new("").await;
    let declaration = Declaration::from_toml(
        "[database]\nsigned = true\ntenant-tables = [{ table = 'note', column = 'tenant_id', type = 'uuid' }]",
    );
    world.database.run(&signed_schema_sql(&declaration.unwrap(), OWNER, &[APP])).await;
    let file = world.folder.path().join("key");
    let mut ids = Vec::new();
    for name in ["key", "next"] {
        let made = world.run(&["signing-key", "new", "--out", name]);
        assert_eq!((made.code, made.err.as_str()), (0, ""));
        let install = world.run(&["signing-key", "sql", name]);
        assert_eq!(install.code, 0, "{}", install.err);
        world.database.run(&install.out).await;
        ids.push(made.out.trim().to_owned());
    }
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(SigningKey::parse(text.trim_end()).unwrap().id().as_str(), ids[0]);

    let retire = world.run(&["signing-key", "retire", &ids[0]]);
    world.database.run(&retire.out).await;
    let live = world.database.superuser_options();
    assert_eq!(
        crate::common::texts(&live, "select kid from tenancy.signing_key where place is not null").await,
        [ids[1].clone()]
    );
}

#[tokio::test]
async fn no_key_is_overwritten_or_quoted() {
    let world = World::new("").await;
    world.write("key", "hunter2");
    for arguments in [
        &["signing-key", "new", "--out", "key"][..],
        &["signing-key", "sql", "key"],
        &["signing-key", "sql", "nowhere"],
        &["signing-key", "retire", "hunter2"],
    ] {
        let ran = world.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(!ran.err.contains("hunter2"), "{}", ran.err);
    }
    assert_eq!(std::fs::read_to_string(world.folder.path().join("key")).unwrap(), "hunter2");
}
