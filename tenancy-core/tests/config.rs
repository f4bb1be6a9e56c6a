//! A realm from `tenancy.toml`: it starts, and what is wrong in the file is said by name.

#![expect(clippy::unwrap_used, reason = "a test stops where it can't go on")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tenancy_core::{Credential, Realm};
use tenancy_testkit::TestIssuer;

const GOOD: &str = r#"
[realm]
name = "prod"
region = "eu-west"
fence-age = "3s"

[keys]
root = "root.key"
store = "keys"

[audit]
file = "audit.jsonl"

[corpus]
versions = "versions"

[[issuer]]
issuer = "https://login.test"
audience = "rag"
jwks-file = "login.json"
roles-claim = "roles"

[[operator]]
issuer = "https://staff.test"
audience = "ops"
jwks-file = "staff.json"

[[tenant]]
id = "acme"
life = "6f9d3c1a-7a4b-4f5e-9a53-0f3a1c2b7d10"
born = "2026-01-15T00:00:00Z"
claims = [{ issuer = "https://login.test", value = "acme" }]
roles = [{ issuer = "https://login.test", role = "editor", permissions = ["use-model"] }]

[database]
setting = "tenancy.row_key"
"#;

fn folder(text: &str, issuer: &TestIssuer) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tenancy.toml"), text).unwrap();
    fs::write(folder.path().join("login.json"), issuer.jwks()).unwrap();
    fs::write(folder.path().join("staff.json"), TestIssuer::new("https://staff.test", "ops").jwks()).unwrap();
    let key = folder.path().join("root.key");
    fs::write(&key, "0f".repeat(32)).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    folder
}

async fn start(folder: &Path) -> Result<Realm, String> {
    match Realm::from_toml(&folder.join("tenancy.toml")) {
        Ok(builder) => builder.build().await.map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn a_realm_starts_from_its_file_and_is_the_same_after_a_restart() {
    let issuer = TestIssuer::new("https://login.test", "rag");
    let folder = folder(GOOD, &issuer);
    let token = issuer.sign(&issuer.claims("u", Some("acme"), &["editor"], std::time::SystemTime::now()));
    let place = tenancy_core::Fields::new();
    let mut names = Vec::new();
    for _ in 0..2 {
        let realm = start(folder.path()).await.unwrap();
        let ctx = realm.authenticate(&Credential::bearer(token.clone())).await.unwrap();
        names.push((realm.tag(), ctx.derive::<tenancy_core::purpose::CacheKey>(&place).unwrap()));
        realm.close().await.unwrap();
        drop((realm, ctx));
    }
    assert_eq!(names[0], names[1], "the same realm, the same keys");
    assert!(tenancy_core::verify_log(folder.path().join("audit.jsonl")).unwrap().is_clean());
}

#[tokio::test]
async fn what_is_wrong_is_said_by_name() {
    let issuer = TestIssuer::new("https://login.test", "rag");
    let cases: &[(&str, &str, &str, &str)] = &[
        ("an unknown key", "region =", "regoin =", "tenancy.toml:4: unknown field `regoin`"),
        ("a key of a tenant's that is unknown", "born =", "bron =", "tenancy.toml:31: unknown field `bron`"),
        ("no TOML at all", "[keys]", "[keys", "tenancy.toml:7: "),
        ("an unknown section", "[database]", "[databse]", "unknown field"),
        ("no audit section", "[audit]\nfile = \"audit.jsonl\"", "", "missing field `audit`"),
        ("no keys section", "[keys]\nroot = \"root.key\"\nstore = \"keys\"", "", "missing field `keys`"),
        ("a bad realm name", "name = \"prod\"", "name = \"Prod\"", "realm.name"),
        ("a bad time", "\"3s\"", "\"soon\"", "realm.fence-age"),
        ("no time at all", "\"3s\"", "\"0s\"", "realm.fence-age"),
        ("a root key that is not there", "root.key", "none/root.key", "openssl rand -hex 32 > "),
        ("a key set that is not there", "login.json", "none.json", "none.json is not there: "),
        ("a folder of the log that is not there", "audit.jsonl", "none/audit.jsonl", "make its folder"),
        (
            "two ways to one claim",
            "roles-claim = \"roles\"",
            "tenant-claim = \"t\"\nmemberships-claim = \"ts\"",
            "not both",
        ),
        ("no key set", "jwks-file = \"login.json\"", "", "give one of jwks-file"),
        ("one issuer for both", "https://staff.test", "https://login.test", "named twice"),
        ("a reserved name", "id = \"acme\"", "id = \"default\"", "reserved"),
        ("a life that is none", "6f9d3c1a", "00000000-0000-0000-0000-000000000000", "life"),
    ];
    for (what, from, to, said) in cases {
        assert!(GOOD.contains(from), "{what}");
        let folder = folder(&GOOD.replace(from, to), &issuer);
        let error = start(folder.path()).await.expect_err(what);
        assert!(error.contains(said), "{what}: {error}");
    }
    let open = folder(GOOD, &issuer);
    fs::set_permissions(open.path().join("root.key"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(start(open.path()).await.unwrap_err().contains("chmod 600"));
    let missing = tempfile::tempdir().unwrap();
    assert!(start(missing.path()).await.unwrap_err().contains("tenancy.toml"));
}

/// The message that says how to make the root key says it right: what it says is run.
#[tokio::test]
async fn the_command_that_makes_a_root_key_makes_one() {
    let issuer = TestIssuer::new("https://login.test", "rag");
    let folder = folder(&GOOD.replace("root.key", "secrets/root.key"), &issuer);
    let error = start(folder.path()).await.unwrap_err();
    let command = error.split('\'').nth(1).expect("a command between quotes");
    assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
    start(folder.path()).await.unwrap();
}

#[test]
fn tenants_without_a_file_are_named_by_their_line() {
    let error = tenancy_core::StaticDirectory::from_toml("\n[[tenant]]\nid = 7").unwrap_err().to_string();
    assert!(error.starts_with("line 3: "), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenants.toml");
    fs::write(&path, "\n[[tenant]]\nid = 7").unwrap();
    let error = tenancy_core::StaticDirectory::from_file(&path).unwrap_err().to_string();
    assert!(error.contains("tenants.toml:3: "), "{error}");
}
