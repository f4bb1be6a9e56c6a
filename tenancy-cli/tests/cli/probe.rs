//! `tenancy policy probe`.

use serde_json::Value;
use tenancy_testkit::{APP, OWNER, ThrowawayPostgres};

use crate::common::{Ran, World, texts};

const TOML: &str = "[database]\ntenant-tables = [{ table = 'note', column = 'tenant_id', type = 'bigint' }]";
const TABLE: &str = "create table note (tenant_id bigint not null, id int, body text, primary key (tenant_id, id));
                     insert into note values (7, 1, 'of seven'), (17, 2, 'of seventeen');";

/// A correct schema with rows of the tenants 7 and 17 in it.
async fn sound() -> World {
    protected(World::new(TABLE).await).await
}

async fn protected(world: World) -> World {
    world.write("tenancy.toml", TOML);
    let harden = ["policy", "harden", "--owner", OWNER, "--app", APP, "--keep", OWNER];
    world.database.run(&world.run(&harden).out).await;
    let generated = world.run(&["policy", "generate", "--app", APP]);
    world.database.run_as_owner(&generated.out).await;
    world
}

fn probe(world: &World, more: &[&str]) -> Ran {
    world.run(&[["policy", "probe", "--a", "7", "--b", "17"].as_slice(), more].concat())
}

/// All there is in the database, as far as a roll-back could have missed it.
async fn contents(world: &World) -> Vec<String> {
    let superuser = world.database.superuser_options();
    let all = "select n::text from note n union all select concat(relname, relacl, relrowsecurity) from pg_class
               union all select proname from pg_proc
               union all select concat(roleid, member) from pg_auth_members where 'app' in (select rolname from pg_roles where oid = member)
               union all select concat(sequencename, last_value) from pg_sequences order by 1";
    texts(&superuser, all).await
}

#[tokio::test]
async fn nothing_crosses_in_a_correct_schema_and_nothing_is_left() {
    let world = sound().await;
    let before = contents(&world).await;
    let ran = probe(&world, &["--deny-warnings"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(
        ran.out.contains(" attempts: 0 crossed\n") && ran.out.contains("apart in: \"public\".\"note\""),
        "{}",
        ran.out
    );
    assert_eq!(contents(&world).await, before);
    let json: Value = serde_json::from_str(&probe(&world, &["--json"]).out).unwrap();
    assert_eq!((&json["crossings"], &json["proven"][0]), (&Value::from([0; 0]), &"\"public\".\"note\"".into()));
    assert!(json["attempts"].as_u64().unwrap() > 30, "{json}");
}

#[tokio::test]
async fn what_crosses_decides_the_exit_code_as_for_the_inspection() {
    for (mistake, code, denied, said) in [
        ("alter table note disable row level security", 1, 1, "read: A -> B by SELECT"),
        ("create policy m on note for insert with check (true)", 1, 1, "written: A -> B by INSERT"),
        ("create policy m on note for select using (current_setting('app.bypass', true) = 'on')", 1, 1, "app.bypass"),
        ("grant truncate on note to app", 1, 1, "destroyed: A -> B by TRUNCATE"),
        ("create unique index on note (id)", 0, 3, "told: A -> B by UPDATE"),
        ("create unique index on note (id)", 0, 3, " attempts: 0 crossed; 2 told that a row exists (PG022, PG023)\n"),
        (
            "create view shown as select * from note; grant select on shown to app; alter table note no force row level security",
            1,
            1,
            "\"shown\"",
        ),
    ] {
        let world = sound().await;
        world.database.run_as_owner(mistake).await;
        let before = contents(&world).await;
        let (ran, strict) = (probe(&world, &[]), probe(&world, &["--deny-warnings"]));
        assert_eq!((ran.code, strict.code), (code, denied), "{mistake}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(said), "{mistake}: {}", ran.out);
        assert_eq!(contents(&world).await, before, "{mistake}");
        let inspected = (world.run(&["inspect"]).code, world.run(&["inspect", "--deny-warnings"]).code);
        assert_eq!(inspected, (code, denied), "{mistake}: the inspection");
    }
    // What has no policies is as bad as it is said to be, there as here.
    let world = sound().await;
    world.database.run("grant execute on function lo_from_bytea(oid, bytea), lo_get(oid) to public").await;
    for (arguments, code) in [(&[][..], 0), (&["--deny-warnings"], 3), (&["--shared-objects", "fatal"], 1)] {
        let ran = probe(&world, arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.out);
        assert!(ran.out.contains(" attempts: 0 crossed; 2 by large objects\n"), "{}", ran.out);
        assert_eq!(world.run(&[&["inspect"], arguments].concat()).code, code, "{arguments:?}: the inspection");
    }
}

/// Silence about tables without rows is no proof.
#[tokio::test]
async fn what_was_not_proven_is_said() {
    let world = sound().await;
    let nobody = world.run(&["policy", "probe", "--a", "1", "--b", "2"]);
    assert_eq!(nobody.code, 2, "{}{}", nobody.out, nobody.err);
    assert!(nobody.out.contains("apart in: no table") && nobody.err.contains("--a and --b"), "{}", nobody.err);
    let toml = format!("{}, {{ table = 'tag', column = 'tenant_id', type = 'bigint' }}]", TOML.trim_end_matches(']'));
    world.write("tenancy.toml", &toml);
    world
        .database
        .run_as_owner("create table tag (tenant_id bigint not null, id int, primary key (tenant_id, id))")
        .await;
    world.database.run_as_owner(&world.run(&["policy", "generate", "--app", APP]).out).await;
    let ran = probe(&world, &[]);
    assert_eq!((ran.code, probe(&world, &["--deny-warnings"]).code), (0, 3), "{}", ran.out);
    assert!(ran.out.contains("not proven: SELECT \"public\".\"tag\", A sees no row of its own here"), "{}", ran.out);
}

/// A sequence moves, a function may do what it likes: nothing is tried where anything could stay, unless it may.
#[tokio::test]
async fn where_anything_could_stay_it_refuses() {
    let trigger = "create function fired() returns trigger language plpgsql as $$ begin return new; end $$;
                   revoke execute on function fired() from public; create trigger t before insert on note execute function fired()";
    for (sql, named) in [
        ("alter table note alter id add generated always as identity", "sequence public.note_id_seq"),
        ("create sequence s; grant usage on sequence s to app", "sequence public.s"),
        ("create function f(int) returns int language sql as 'select 1'", "function f(integer)"),
        ("create procedure p() language sql as 'select 1'", "function p()"),
        (trigger, "trigger function fired()"),
    ] {
        let world = sound().await;
        world.database.run_as_owner(sql).await;
        let refused = probe(&world, &["--json"]);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{sql}");
        assert!(refused.err.contains(named) && refused.err.contains("--disposable"), "{sql}: {}", refused.err);
        let ran = probe(&world, &["--disposable"]);
        assert_eq!(ran.code, 0, "{sql}: {}{}", ran.out, ran.err);
    }
    // Out of reach, they can't be set off.
    let world = sound().await;
    let hidden = "create sequence s; create function f() returns int language sql as 'select 1'; revoke execute on function f() from public";
    world.database.run_as_owner(hidden).await;
    assert_eq!(probe(&world, &[]).code, 0);
    let server = ThrowawayPostgres::start().await.unwrap();
    let world = protected(World::on(&server, TABLE).await).await;
    world.database.run_as_owner(hidden).await;
    world.database.run(&format!("grant {OWNER} to {APP}")).await;
    let member = probe(&world, &[]);
    assert!(member.code == 2 && member.err.contains("public.s"), "{}{}", member.out, member.err);
}

#[tokio::test]
async fn a_bad_argument_is_a_clear_error_that_quotes_no_key() {
    let world = sound().await;
    for (arguments, said) in [
        (&["--a", "7"][..], "--b"),
        (&["--a", "7", "--b", "hunter2"], "--b: this is no row key of the declared type, bigint"),
        (&["--a", "hunter2", "--b", "7"], "--a: this is no row key of the declared type, bigint"),
        (&["--a", "7", "--b", "7"], "different row keys"),
        (&["--a", "7", "--b", "17", "--canary-a", "x"], "--canary-b"),
        (&["--a", "7", "--b", "17", "--config", "nowhere.toml"], "nowhere.toml"),
    ] {
        let ran = world.run(&[["policy", "probe"].as_slice(), arguments].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(said) && !ran.err.contains("hunter2"), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(world.run(&["policy", "probe", "--a", "-7", "--b", "17"]).code, 2, "nobody's key, and no option");
    let help = world.run(&["policy", "probe", "--help"]);
    assert!(help.out.contains("rolled back") && help.out.contains("no roll-back takes back"), "{}", help.out);
}

/// With the key's file it opens real scopes of a signed declaration, and tries forged seals.
#[tokio::test]
async fn a_signed_declaration_is_probed_with_its_key() {
    let lives = ["0b5bd7a4-5a3c-4d0e-9a51-6a5f5b7f0a11", "0b5bd7a4-5a3c-4d0e-9a51-6a5f5b7f0a12"];
    let world = World::new(TABLE).await;
    world.write("tenancy.toml", &TOML.replace("[database]", "[database]\nsigned = true"));
    let made = world.run(&["signing-key", "new", "--out", "key"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let harden = ["policy", "harden", "--owner", OWNER, "--app", APP, "--keep", OWNER];
    for arguments in [harden.as_slice(), &["signing-key", "sql", "key"]] {
        world.database.run(&world.run(arguments).out).await;
    }
    let [a, b] = lives;
    world.database.run(&format!("insert into tenancy.tenant values (7, '{a}'), (17, '{b}')")).await;
    world.database.run_as_owner(&world.run(&["policy", "generate", "--app", APP]).out).await;

    let signed = ["--signing-key", "key", "--life-a", a, "--life-b", b];
    let ran = probe(&world, &[signed.as_slice(), &["--deny-warnings"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("apart in: \"public\".\"note\""), "{}", ran.out);
    for (arguments, said) in [
        (&[][..], "--signing-key"),
        (&["--signing-key", "key"], "--life-a"),
        (&["--signing-key", "nowhere", "--life-a", a, "--life-b", b], "nowhere"),
        (&["--signing-key", "key", "--life-a", a], "--life-b"),
        (&["--signing-key", "key", "--life-a", a, "--life-b", "hunter2"], "--life-b"),
    ] {
        let ran = probe(&world, arguments);
        assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains(said), "{arguments:?}: {}", ran.err);
        assert!(!ran.err.contains("hunter2"));
    }
    let strangers = probe(&world, &["--signing-key", "key", "--life-a", b, "--life-b", a]);
    assert_eq!(strangers.code, 2, "{}", strangers.out);
    assert!(
        strangers.out.contains("the seal of A is refused") && strangers.out.contains("apart in: no table"),
        "{}",
        strangers.out
    );
    // Whoever can read the keys makes a seal of anybody's.
    world.database.run("grant select on tenancy.signing_key to app").await;
    let ran = probe(&world, &signed);
    assert!(
        ran.code == 1
            && ran.out.contains("read: nobody -> B by SELECT \"public\".\"note\", as it is and a forged seal"),
        "{}",
        ran.out
    );
    let secret = std::fs::read_to_string(world.folder.path().join("key")).unwrap();
    assert!(!ran.out.contains(secret.trim_end().split_once('.').unwrap().1));
}
