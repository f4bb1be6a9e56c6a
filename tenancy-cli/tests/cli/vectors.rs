//! `tenancy vectors`.

use serde_json::{Value, json};
use tenancy_core::RowKey;
use tenancy_pg::Declaration;
use tenancy_testkit::{APP, OWNER, ThrowawayPostgres};
use tenancy_vector::pgvector::{PgCorpusTables, PgVectorTables};
use tenancy_vector::{Schema, VectorName};

use crate::common::World;

const TOML: &str = "[database]
tenant-tables = [
    { table = 'chunk', column = 'tenant_id', type = 'uuid' },
    { table = 'chunk_life', column = 'tenant_id', type = 'uuid', append-only = true },
]
global-tables = [{ table = 'statute' }]";

const TABLES: [&str; 6] = ["vectors", "tables", "--table", "chunk", "--eraser", "vector_eraser"];
const CORPORA: [&str; 6] = ["vectors", "corpora", "--table", "public.statute", "--publisher", "vector_publisher"];
const INDEX: [&str; 6] = ["vectors", "index", "--table", "chunk", "--hybrid", "8"];

fn with<'a>(command: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [command, more].concat()
}

/// The statements, without what stands around them.
fn bare(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with("--")).collect()
}

#[tokio::test]
async fn what_is_printed_is_what_the_library_makes() {
    let world = World::new("").await;
    world.write("tenancy.toml", TOML);
    let (declaration, schema) = (Declaration::from_toml(TOML).unwrap(), Schema::hybrid(8).unwrap());
    let tables = PgVectorTables::new("public", "chunk", &schema).unwrap();
    let corpora = PgCorpusTables::new("public", "statute", &schema).unwrap();
    world.write("vectors.json", &schema.to_json().to_string());
    for vectors in [["--hybrid", "8"], ["--vectors", "vectors.json"]] {
        let ran = world.run(&with(&with(&TABLES, &["--app", APP]), &vectors));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!(
            bare(&ran.out) == bare(&tables.migration_sql(&declaration, APP, "vector_eraser").unwrap()),
            "{}",
            ran.out
        );
        assert!(ran.out.contains("CREATE POLICY \"tenancy_row_key\""), "{}", ran.out);
        let ran = world.run(&with(&with(&CORPORA, &["--app", APP]), &vectors));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let made = corpora.migration_sql(&declaration, APP, "vector_publisher").unwrap();
        assert!(bare(&ran.out) == bare(&made), "{}", ran.out);
    }
    let dense = world.run(&with(&with(&TABLES, &["--app", APP]), &["--dense", "3"]));
    assert!(dense.out.contains("v_dense vector(3)") && !dense.out.contains("t_sparse"), "{}", dense.out);
}

#[tokio::test]
async fn the_form_for_programs_says_what_to_declare() {
    let world = World::new("").await;
    world.write("tenancy.toml", TOML);
    let json = |command: &[&str]| -> Value {
        let ran = world.run(&with(command, &["--app", APP, "--hybrid", "8", "--json"]));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        serde_json::from_str(&ran.out).unwrap()
    };
    let tables = json(&TABLES);
    assert_eq!(tables["tenant-tables"][0]["table"], "chunk");
    assert_eq!(
        tables["tenant-tables"][1],
        json!({ "schema": "public", "table": "chunk_life", "column": "tenant_id", "type": "uuid", "append-only": true })
    );
    assert!(tables["up"].as_str().unwrap().contains("FORCE ROW LEVEL SECURITY"));
    let corpora = json(&CORPORA);
    assert_eq!(corpora["global-tables"][0]["schema"], "public");
    assert_eq!(corpora["global-tables"][0]["table"], "statute");
    assert!(corpora["up"].as_str().unwrap().contains("tenancy_corpus_reader"));
}

/// Tables that nobody declared would be made without the tenants' policy.
#[tokio::test]
async fn nothing_is_printed_for_tables_that_are_not_declared() {
    let world = World::new("").await;
    let points = "{ table = 'chunk', column = 'tenant_id', type = 'bigint' }";
    let plain = "{ table = 'chunk_life', column = 'tenant_id', type = 'bigint' }";
    let needed = "{ table = \"chunk\", column = \"tenant_id\", type = \"bigint\" }, \
                  { table = \"chunk_life\", column = \"tenant_id\", type = \"bigint\", append-only = true }";
    for (mechanism, tables, command, needed) in [
        ("one of two is declared", points.to_owned(), &TABLES[..], needed),
        ("lives that may be changed", format!("{points}, {plain}"), &TABLES, needed),
        ("no global table is", points.to_owned(), &CORPORA, "{ table = \"statute\" }"),
    ] {
        world.write("tenancy.toml", &format!("[database]\ntenant-tables = [{tables}]"));
        let ran = world.run(&with(command, &["--app", APP, "--hybrid", "8"]));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{mechanism}");
        assert!(ran.err.contains(needed), "{mechanism}: {}", ran.err);
    }
    // What it says is enough.
    world.write("tenancy.toml", &format!("[database]\ntenant-tables = [{needed}]"));
    let ran = world.run(&with(&TABLES, &["--app", APP, "--hybrid", "8"]));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    world.write("tenancy.toml", TOML);
    for (mechanism, command, role) in
        [("eraser", &TABLES, "vector_eraser"), ("publisher", &CORPORA, "vector_publisher")]
    {
        let ran = world.run(&with(command, &["--app", role, "--hybrid", "8"]));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{mechanism} and service are one role");
        assert!(ran.err.contains(role) && ran.err.contains("login of its own"), "{mechanism}: {}", ran.err);
    }
    world.write("tenancy.toml", TOML);
    world.write("vectors.json", "{}");
    for (mechanism, more) in [
        ("no vectors", &[][..]),
        ("two kinds of vectors", &["--hybrid", "8", "--dense", "8"]),
        ("no dimension", &["--hybrid", "0"]),
        ("more than pgvector keeps", &["--dense", "16001"]),
        ("a file that is not there", &["--vectors", "nowhere.json"]),
        ("a file that is no schema", &["--vectors", "vectors.json"]),
    ] {
        let ran = world.run(&with(&with(&TABLES, &["--app", APP]), more));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{mechanism}");
    }
}

#[tokio::test]
async fn the_index_of_one_tenant_is_made_and_taken_away() {
    let world = World::new("").await;
    world.write("tenancy.toml", TOML);
    let key = "0b5bd7a4-5a3c-4d0e-9a51-6a5f5b7f0a11";
    let tables = PgVectorTables::new("public", "chunk", &Schema::hybrid(8).unwrap()).unwrap();
    let (uuid, dense) = (RowKey::Uuid(key.parse().unwrap()), VectorName::dense());
    let index = world.run(&with(&INDEX, &["--row-key", key]));
    assert_eq!((index.code, bare(&index.out).join("\n") + "\n"), (0, tables.index_sql(&uuid, &dense).unwrap()));
    let drop = world.run(&with(&INDEX, &["--row-key", key, "--drop"]));
    assert_eq!((drop.code, bare(&drop.out).join("\n") + "\n"), (0, tables.drop_index_sql(&uuid, &dense).unwrap()));
    for more in [
        &["--row-key", key, "--vector", "sparse"][..],
        &["--row-key", "hunter2"],
        &["--row-key", key, "--vector", "none"],
    ] {
        let ran = world.run(&with(&INDEX, more));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{more:?}");
        assert!(!ran.err.contains("hunter2"), "{}", ran.err);
    }
}

/// The type of the row keys is what is declared.
#[tokio::test]
async fn tables_have_the_row_keys_that_are_declared() {
    let world = World::new("").await;
    world.write("tenancy.toml", &TOML.replace("'uuid'", "'bigint'"));
    let ran = world.run(&with(&TABLES, &["--app", APP, "--hybrid", "8"]));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("tenant_id bigint NOT NULL"), "{}", ran.out);
    let index = world.run(&with(&INDEX, &["--row-key", "17"]));
    assert!(index.out.contains("WHERE tenant_id = '17'"), "{}", index.out);
    world.write("tenancy.toml", &TOML.replacen("'uuid'", "'bigint'", 1));
    assert_eq!(world.run(&with(&TABLES, &["--app", APP, "--hybrid", "8"])).code, 2, "two types of row keys");
}

/// From an empty database, with nothing but what is printed: a server with pgvector is needed, so where none is named this
/// says so and tries nothing.
#[tokio::test]
async fn what_is_printed_is_enough() {
    if std::env::var_os("TENANCY_PGVECTOR_BIN").is_none() {
        eprintln!("skipped: TENANCY_PGVECTOR_BIN names no server with pgvector");
        return;
    }
    for signed in [false, true] {
        let database = ThrowawayPostgres::shared_with_pgvector().await.fresh_database().await;
        let world = World { database, folder: tempfile::tempdir().unwrap() };
        let server = &world.database;
        let (eraser, publisher) = (format!("eraser_of_{}", server.name()), format!("publisher_of_{}", server.name()));
        world.write(
            "tenancy.toml",
            &TOML.replace("[database]", &format!("[database]\nsigned = {signed}\nregistry = true")),
        );
        let tables = ["vectors", "tables", "--table", "chunk", "--hybrid", "8", "--app", APP, "--eraser", &eraser];
        let corpora =
            ["vectors", "corpora", "--table", "statute", "--hybrid", "8", "--app", APP, "--publisher", &publisher];
        let mut after = String::new();
        for (command, role) in [(&tables, &eraser), (&corpora, &publisher)] {
            let printed = world.run(command);
            assert_eq!((printed.code, printed.err.as_str()), (0, ""));
            let commented = |begin: &str| -> String {
                let lines = printed.out.lines().filter_map(|line| line.strip_prefix("--     ")).map(str::trim_start);
                lines.filter(|line| line.starts_with(begin)).map(|line| format!("{line}\n")).collect()
            };
            server.run(&commented("CREATE EXTENSION")).await;
            let roles = commented("CREATE ROLE");
            assert_eq!(roles.lines().count(), 2, "{roles}");
            for role in roles.lines().filter(|line| line.contains(role.as_str())) {
                server.run(role).await;
            }
            let harden = commented("tenancy policy harden");
            assert_eq!(!harden.is_empty(), signed, "{}", printed.out);
            if let Some((command, _into_psql)) = harden.split_once(" | ") {
                let words: Vec<&str> =
                    command.split(' ').skip(1).map(|word| if word == "OWNER" { OWNER } else { word }).collect();
                let hardening = world.run(&words);
                assert_eq!(hardening.code, 0, "{}", hardening.err);
                server.run(&hardening.out).await;
            }
            for _twice in 0..2 {
                server.run_as_owner(&printed.out).await;
            }
            after.push_str(&printed.out);
        }
        let after: Vec<&str> = after.lines().filter_map(|line| line.strip_prefix("--     ")).collect();
        assert_eq!(
            after.iter().filter(|line| line.starts_with("tenancy policy diff")).count(),
            1,
            "of tenants' tables"
        );
        let owner = server.url(OWNER);
        let migration = world.run_with_url(&owner, &["policy", "diff", "--app", APP]);
        server.run_as_owner(&migration.out).await;
        assert_eq!(world.run_with_url(&owner, &["policy", "diff", "--app", APP]).code, 0, "{}", migration.out);
        for grant in after.iter().filter(|line| line.starts_with("GRANT")) {
            server.run(grant).await;
        }
        let inspected = world.run(&["inspect"]);
        assert_eq!(inspected.code, 0, "signed: {signed}: {}", inspected.out);
    }
}
