//! A schema of the corpus, and databases that hold it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use secrecy::ExposeSecret;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tenancy_core::{Life, Realm, RowKey, TenantId};
use tenancy_pg::{
    Database, Declaration, InspectPolicy, Inspection, Migration, PgOptions, ProbeOptions, ProbeReport, Roles,
    RowKeyType, Severity, SigningKey, SigningKeys, grant_sql, hardening_sql, policy_sql, probe, signed_schema_sql,
    signing_key_sql,
};
use tenancy_testkit::{APP, OWNER, TestDatabase, ThrowawayPostgres};
use uuid::Uuid;

/// A folder of `schemas`: `schema.sql` and `tenancy.toml`.
///
/// The SQL is run by a superuser in one go. `{a}` and `{b}` stand in it for the row keys of two tenants, `{canary_a}` and
/// `{canary_b}` for texts that only their rows hold, `{policies}` and `{grants}` for what this crate generates, `{reports}`
/// for that and what the role that reads reports is given. Some are there once more with signed scopes.
#[derive(Clone)]
pub(crate) struct Schema {
    pub(crate) name: String,
    pub(crate) declaration: Declaration,
    sql: String,
}

impl Schema {
    /// All that this server can hold, by name.
    pub(crate) async fn all() -> Vec<Self> {
        let server = ThrowawayPostgres::shared().await.database("postgres");
        let available = texts(&server, "select name::text from pg_available_extensions").await;
        let mut all: Vec<Self> =
            std::fs::read_dir(folder()).unwrap().map(|entry| Self::read(&entry.unwrap().path(), false)).collect();
        all.extend(SIGNED.map(|name| Self::read(&folder().join(name), true)));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all.retain(|schema| {
            let needs = schema.sql.lines().find_map(|line| line.strip_prefix("-- needs: "));
            needs.is_none_or(|extension| available.iter().any(|name| name == extension))
        });
        all
    }

    fn read(folder: &Path, signed: bool) -> Self {
        let file = |name| std::fs::read_to_string(folder.join(name)).unwrap();
        let (mut name, mut toml) = (folder.file_name().unwrap().to_str().unwrap().to_owned(), file("tenancy.toml"));
        if signed {
            name += ", signed";
            toml = toml.replace("[database]", "[database]\nsigned = true");
        }
        Self { name, declaration: Declaration::from_toml(&toml).unwrap(), sql: file("schema.sql") }
    }

    /// The keys of the two tenants. They have much in common, so that what compares them loosely takes one for the other.
    pub(crate) fn keys(&self) -> [RowKey; 2] {
        match self.declaration.tenant_tables()[0].key() {
            RowKeyType::Uuid => ["7e57ca11-0000-4000-8000-00000000000a", "7e57ca11-0000-4000-8000-00000000000b"]
                .map(|text| RowKey::Uuid(text.parse::<Uuid>().unwrap())),
            RowKeyType::BigInt => [7, 17].map(RowKey::BigInt),
            RowKeyType::Text => ["acme", "Acme"].map(|text| RowKey::Text(TenantId::parse(text).unwrap())),
            other => panic!("{other:?}"),
        }
    }

    /// The keys as SQL.
    pub(crate) fn literals(&self) -> [String; 2] {
        self.keys().map(|key| match key {
            RowKey::Uuid(id) => format!("'{id}'"),
            RowKey::BigInt(number) => number.to_string(),
            RowKey::Text(text) => format!("'{}'", text.as_str()),
            other => panic!("{other:?}"),
        })
    }

    /// The lives of the two tenants: their keys, where those are uuids.
    pub(crate) fn lives(&self) -> [Life; 2] {
        let [mut a, mut b] = LIVES.map(|text| Life::parse(text).unwrap());
        if let [RowKey::Uuid(key_a), RowKey::Uuid(key_b)] = self.keys() {
            (a, b) = (Life::parse(&key_a.to_string()).unwrap(), Life::parse(&key_b.to_string()).unwrap());
        }
        [a, b]
    }

    /// A new database with this schema and its rows in it.
    pub(crate) async fn build(&self) -> TestDatabase {
        let database = ThrowawayPostgres::shared().await.fresh_database().await;
        database.run(&hardening_sql()).await;
        database
            .run(&format!("grant create on schema public to {OWNER}; grant usage on language plpgsql to {OWNER}"))
            .await;
        let [a, b] = self.literals();
        database.run(MAKE_REPORTER).await;
        if self.declaration.signed() {
            database.run(&signed_schema_sql(&self.declaration, OWNER, &[APP, REPORTER])).await;
            database.run(signing_key_sql(&KEY).expose_secret()).await;
            let [life_a, life_b] = self.lives().map(|life| life.uuid());
            database.run(&format!("insert into tenancy.tenant values ({a}, '{life_a}'), ({b}, '{life_b}')")).await;
        }
        let sql = self
            .sql
            .replace("{reports}", &Migration::of(&self.declaration, &Roles::new(APP).report(REPORTER)).unwrap().up())
            .replace("{policies}", &policy_sql(&self.declaration))
            .replace("{grants}", &grant_sql(&self.declaration, APP))
            .replace("{canary_a}", &format!("'{CANARY_A}'"))
            .replace("{canary_b}", &format!("'{CANARY_B}'"))
            .replace("{a}", &a)
            .replace("{b}", &b);
        database.run(&format!("-- {}\n{sql}", self.name)).await;
        database
    }

    /// The judge's opinion.
    pub(crate) async fn inspect(&self, realm: &Realm, database: &TestDatabase, logins: [&str; 2]) -> Inspection {
        let options = self.options(database, logins);
        let policy = InspectPolicy::new().shared_objects(Severity::Fatal);
        Database::connect(realm, options).await.unwrap().report(&self.declaration, policy).await.unwrap()
    }

    /// The prober's.
    pub(crate) async fn probe(&self, database: &TestDatabase, logins: [&str; 2]) -> ProbeReport {
        let [a, b] = self.keys();
        let [life_a, life_b] = self.lives();
        let options = ProbeOptions::new(self.options(database, logins)).canaries(CANARY_A, CANARY_B).disposable();
        let options = if matches!(a, RowKey::Uuid(_)) { options } else { options.lives(life_a, life_b) };
        probe(&options, &self.declaration, &a, &b).await.unwrap()
    }

    /// Of the service, and of whoever reads reports where any are declared.
    fn options(&self, database: &TestDatabase, [login, reporter]: [&str; 2]) -> PgOptions {
        let mut options = PgOptions::new(database.options(login));
        if !self.declaration.report_relations().is_empty() {
            options = options.reports(database.options(reporter));
        }
        if self.declaration.signed() { options.signed(SigningKeys::new(KEY.clone())) } else { options }
    }
}

/// The first column of each row, as the superuser reads it.
pub(crate) async fn texts(database: &TestDatabase, sql: &str) -> Vec<String> {
    let mut connection = PgConnection::connect_with(&database.superuser_options()).await.unwrap();
    let texts = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    texts
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/schemas")
}

pub(crate) const CANARY_A: &str = "canary-of-a-7f3e";
pub(crate) const CANARY_B: &str = "canary-of-b-91c2";
/// Schemas that are there once more with signed scopes: a key of each type, partitions, several schemas, reports.
const SIGNED: [&str; 6] =
    ["notes", "shop", "workspaces-text", "partition-per-tenant", "many-schemas", "reporting-role"];
const LIVES: [&str; 2] = ["11f00000-0000-4000-8000-00000000000a", "11f00000-0000-4000-8000-00000000000b"];
static KEY: LazyLock<SigningKey> = LazyLock::new(SigningKey::generate);
/// The role that reads reports. Roles are the server's, so this one is the same for all databases.
pub(crate) const REPORTER: &str = "corpus_reports";
const MAKE_REPORTER: &str = "do $$ begin create role corpus_reports login;
    exception when duplicate_object or unique_violation then null; end $$";
