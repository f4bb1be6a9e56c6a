//! A schema of the corpus, and databases that hold it.

use std::path::{Path, PathBuf};

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tenancy_core::{Realm, RowKey, TenantId};
use tenancy_pg::{
    Database, Declaration, InspectPolicy, Inspection, PgOptions, ProbeOptions, ProbeReport, RowKeyType, Severity,
    grant_sql, hardening_sql, policy_sql, probe,
};
use tenancy_testkit::{APP, OWNER, TestDatabase, ThrowawayPostgres};
use uuid::Uuid;

/// A folder of `schemas`: `schema.sql` and `tenancy.toml`.
///
/// The SQL is run by a superuser in one go. `{a}` and `{b}` stand in it for the row keys of two tenants, `{canary_a}` and
/// `{canary_b}` for texts that only their rows hold, `{policies}` and `{grants}` for what this crate generates.
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
            std::fs::read_dir(folder()).unwrap().map(|entry| Self::read(&entry.unwrap().path())).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all.retain(|schema| {
            let needs = schema.sql.lines().find_map(|line| line.strip_prefix("-- needs: "));
            needs.is_none_or(|extension| available.iter().any(|name| name == extension))
        });
        all
    }

    fn read(folder: &Path) -> Self {
        let file = |name| std::fs::read_to_string(folder.join(name)).unwrap();
        Self {
            name: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            declaration: Declaration::from_toml(&file("tenancy.toml")).unwrap(),
            sql: file("schema.sql"),
        }
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

    /// A new database with this schema and its rows in it.
    pub(crate) async fn build(&self) -> TestDatabase {
        let database = ThrowawayPostgres::shared().await.fresh_database().await;
        database.run(&hardening_sql()).await;
        database
            .run(&format!("grant create on schema public to {OWNER}; grant usage on language plpgsql to {OWNER}"))
            .await;
        let [a, b] = self.literals();
        let sql = self
            .sql
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
    pub(crate) async fn inspect(&self, realm: &Realm, database: &TestDatabase, login: &str) -> Inspection {
        let options = PgOptions::new(database.options(login));
        let policy = InspectPolicy::new().shared_objects(Severity::Fatal);
        Database::connect(realm, options).await.unwrap().report(&self.declaration, policy).await.unwrap()
    }

    /// The prober's.
    pub(crate) async fn probe(&self, database: &TestDatabase, login: &str) -> ProbeReport {
        let [a, b] = self.keys();
        let options =
            ProbeOptions::new(PgOptions::new(database.options(login))).canaries(CANARY_A, CANARY_B).disposable();
        probe(&options, &self.declaration, &a, &b).await.unwrap()
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
