//! What an operator's grant reads across tenants: how far, how much, and who learns of it.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};
use tenancy_core::permission::ReadAudit;
use tenancy_core::{AuditRecord, Credential, CrossTenantGrant, Outcome, Reach, TenantId};
use tenancy_pg::{
    Database, Declaration, InspectPolicy, Inspected, Migration, PgError, PgOptions, Reports, Roles, RowKeyType,
    Severity, SigningKey, SigningKeys, TenantTable, signed_schema_sql, signing_key_sql,
};
use tenancy_testkit::{APP, OWNER, TestDatabase, TestTenants, ThrowawayPostgres};

use crate::common::plain_role;

pub(crate) const ROLE: &str = "reports";

/// `note(tenant_id, id, body)`: two rows of acme, three of globex; `tenant_id` and `id` are a report, and so is the view
/// `note_ids` over them. `draft` is a tenant table that is none, `country` a global one.
pub(crate) struct Reporting {
    pub(crate) tenants: TestTenants,
    pub(crate) server: TestDatabase,
    pub(crate) declaration: Declaration,
    pub(crate) key: Option<SigningKey>,
    pub(crate) role: PgConnectOptions,
}

impl Reporting {
    pub(crate) async fn plain() -> Self {
        Self::new(None, TestTenants::new().await).await
    }

    pub(crate) async fn signed() -> Self {
        Self::new(Some(SigningKey::generate()), TestTenants::new().await).await
    }

    pub(crate) async fn new(key: Option<SigningKey>, tenants: TestTenants) -> Self {
        let server = ThrowawayPostgres::shared().await.fresh_database().await;
        let role = plain_role(&server, ROLE).await;
        let table = |name| TenantTable::new("public", name, "tenant_id", RowKeyType::Uuid).unwrap();
        let builder = Declaration::builder().tenant_table(table("note")).tenant_table(table("draft"));
        let builder = builder.global_table("public", "country").report("public", "note", ["tenant_id", "id"]);
        let builder = builder.report("public", "note_ids", ["id"]);
        let declaration = if key.is_some() { builder.signed() } else { builder }.build().unwrap();
        let (acme, globex) = (tenants.life("acme").uuid(), tenants.life("globex").uuid());
        if let Some(key) = &key {
            server.run(&signed_schema_sql(&declaration, OWNER, &[APP, ROLE])).await;
            server.run(secrecy::ExposeSecret::expose_secret(&signing_key_sql(key))).await;
            let registry = format!("insert into tenancy.tenant values ('{acme}', '{acme}'), ('{globex}', '{globex}')");
            server.run(&registry).await;
        }
        let rows = format!(
            "create table note (tenant_id uuid not null, id int, body text not null, primary key (tenant_id, id));
             create table draft (tenant_id uuid not null, id int, primary key (tenant_id, id));
             create table country (code text primary key);
             create view note_ids with (security_invoker = true) as select id from note;
             insert into note values ('{acme}', 1, 'acme one'), ('{acme}', 2, 'acme two'),
               ('{globex}', 3, 'globex one'), ('{globex}', 4, 'globex two'), ('{globex}', 5, 'globex three');
             insert into draft values ('{acme}', 1), ('{globex}', 2);
             create function smuggle(sql text) returns void language plpgsql as $$ begin execute sql; end $$;"
        );
        server.run_as_owner(&rows).await;
        let world = Self { tenants, server, declaration, key, role };
        world.server.run_as_owner(&Migration::of(&world.declaration, &Self::roles()).unwrap().up()).await;
        world
    }

    pub(crate) fn roles() -> Roles {
        Roles::new(APP).report(ROLE)
    }

    /// A pool of one, so that the next borrower gets what the last one left.
    pub(crate) fn options(&self) -> PgOptions {
        let options = PgOptions::new(self.server.app_options()).max_connections(1).reports(self.role.clone());
        match &self.key {
            Some(key) => options.signed(SigningKeys::new(key.clone())),
            None => options,
        }
    }

    pub(crate) async fn open(&self) -> Database<Inspected> {
        self.open_with(self.options()).await.unwrap()
    }

    /// The construction must hold alone, so nothing is hardened here.
    pub(crate) async fn open_with(&self, options: PgOptions) -> Result<Database<Inspected>, PgError> {
        let policy = InspectPolicy::new().hardening(Severity::Warning);
        Database::connect(self.tenants.realm(), options).await?.inspect_with(&self.declaration, policy).await
    }

    pub(crate) async fn grant(&self, reach: Reach) -> CrossTenantGrant {
        grant(&self.tenants, reach, Duration::from_secs(600)).await
    }

    pub(crate) async fn one(&self, tenant: &str) -> CrossTenantGrant {
        self.grant(Reach::One(TenantId::parse(tenant).unwrap())).await
    }

    /// What a tenant's own listing has of an action.
    pub(crate) async fn listed(&self, tenant: &str, action: &str) -> Vec<AuditRecord> {
        let ctx = self.tenants.context(tenant).await;
        let proof = ctx.authorize::<ReadAudit>().unwrap();
        self.tenants.realm().flush().await.unwrap();
        ctx.audit(&proof).await.unwrap().into_iter().filter(|record| record.action() == action).collect()
    }
}

pub(crate) async fn grant(tenants: &TestTenants, reach: Reach, ttl: Duration) -> CrossTenantGrant {
    let credential = Credential::bearer(tenants.operator_token());
    tenants.realm().operators().open(&credential, "monthly usage report", "OPS-7", reach, ttl).await.unwrap()
}

pub(crate) async fn ids(reports: &Reports<'_>) -> Vec<i32> {
    sqlx::query_scalar("select id from note order by id").fetch_all(reports).await.unwrap()
}

pub(crate) const ACME: [i32; 2] = [1, 2];
pub(crate) const GLOBEX: [i32; 3] = [3, 4, 5];
pub(crate) const ALL: [i32; 5] = [1, 2, 3, 4, 5];

pub(crate) fn sqlstate(error: &sqlx::Error) -> String {
    error.as_database_error().unwrap_or_else(|| panic!("{error}")).code().unwrap().into_owned()
}

#[tokio::test]
async fn one_is_one_tenants_rows_and_every_is_every_tenants() {
    for world in [Reporting::plain().await, Reporting::signed().await] {
        let database = world.open().await;
        let (acme, globex) = (world.one("acme").await, world.one("globex").await);
        let every = world.grant(Reach::Every).await;
        let all = database.across(&every).await.unwrap();
        let of_acme = database.across(&acme).await.unwrap();
        let of_globex = database.across(&globex).await.unwrap();
        for _again in 0..2 {
            assert_eq!(ids(&of_acme).await, ACME);
            assert_eq!(ids(&all).await, ALL);
            assert_eq!(ids(&of_globex).await, GLOBEX);
        }
        let view: i64 = sqlx::query_scalar("select count(*) from note_ids").fetch_one(&of_acme).await.unwrap();
        let views: i64 = sqlx::query_scalar("select count(*) from note_ids").fetch_one(&all).await.unwrap();
        assert_eq!((view, views), (2, 5), "a view reads as far as the grant reaches");
        let by_tenant: Vec<i64> = sqlx::query_scalar("select count(*) from note group by tenant_id order by 1")
            .fetch_all(&all)
            .await
            .unwrap();
        assert_eq!(by_tenant, [2, 3]);
        let mut tx = all.read().await.unwrap();
        let first: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&mut tx).await.unwrap();
        let acme = world.tenants.life("acme").uuid();
        world.server.run(&format!("insert into note values ('{acme}', 9, 'new')")).await;
        let second: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&mut tx).await.unwrap();
        assert_eq!((first, second), (5, 5), "one snapshot");
        tx.end().await.unwrap();
        assert_eq!(ids(&all).await.len(), 6);
    }
}

/// With neither a tenant nor a reach there is no row, and no other word is a reach.
#[tokio::test]
async fn without_a_reach_there_is_no_row() {
    for world in [Reporting::plain().await, Reporting::signed().await] {
        let mut raw = PgConnection::connect_with(&world.role).await.unwrap();
        for set in ["", "set tenancy.reach = ''", "set tenancy.reach = 'EVERY'", "set tenancy.reach = 'every '"] {
            raw.execute(set).await.unwrap();
            let seen = sqlx::query_scalar::<_, i64>("select count(*) from note").fetch_one(&mut raw).await;
            // In signed mode what nobody has sealed is refused.
            assert!(
                seen.as_ref().is_ok_and(|seen| *seen == 0) || world.key.is_some() && seen.is_err(),
                "{set}: {seen:?}"
            );
        }
        raw.close().await.unwrap();
    }
}

/// The server refuses what is not declared, and what is not reading.
#[tokio::test]
async fn only_declared_columns_are_read_and_nothing_is_written() {
    for world in [Reporting::plain().await, Reporting::signed().await] {
        let database = world.open().await;
        let (one, every) = (world.one("acme").await, world.grant(Reach::Every).await);
        let mut expected = 0;
        for grant in [&one, &every] {
            let reports = database.across(grant).await.unwrap();
            for denied in [
                "select body from note",
                "select * from note",
                "select note from note",
                "select count(body) from note",
                "select id from note where body like 'g%'",
                "select id from note order by body",
                "select ctid from note",
                "select id from draft",
                "select count(*) from draft",
                "select code from country",
                "insert into note values (gen_random_uuid(), 7, 'x')",
                "update note set id = 7",
                "delete from note",
                "with gone as (delete from note returning id) select id from gone",
                "select id from note for update",
                "select * from pg_authid",
                "select * from pg_read_file('/etc/passwd')",
            ] {
                let refused = sqlx::query(denied).fetch_all(&reports).await.expect_err(denied);
                let code = sqlstate(&refused);
                assert!(["42501", "25006"].contains(&code.as_str()), "{denied}: {code}");
                expected += 1;
            }
            let records = world.listed("acme", "pg.report").await;
            let refused = records.iter().filter(|r| r.rule() == Some("pg.refused")).map(|r| r.count()).sum::<u64>();
            assert_eq!(refused, expected, "each is on record, and acme lists it");
            for denied in ["select body from note", "delete from note", "select * from pg_authid"] {
                let mut tx = reports.read().await.unwrap();
                assert!(sqlx::query(denied).fetch_all(&mut tx).await.is_err(), "{denied}");
            }
            for forbidden in ["set tenancy.reach = 'every'", "commit", "truncate note", "copy note to stdout"] {
                let refused = PgError::from(sqlx::query(forbidden).execute(&reports).await.unwrap_err());
                assert!(matches!(refused, PgError::Forbidden(_)), "{forbidden}: {refused:?}");
            }
            let refused = PgError::from(sqlx::raw_sql("select 1; select 2").execute(&reports).await.unwrap_err());
            assert!(matches!(refused, PgError::SimpleProtocol));
            assert!(!ids(&reports).await.is_empty(), "and what is declared is read");
        }
    }
}

/// One record for the use, durable before the first statement, in the listing of whoever is affected.
#[tokio::test]
async fn a_use_is_on_record_first_and_the_affected_tenants_list_it() {
    let world = Reporting::plain().await;
    let database = world.open().await;
    let acme = world.one("acme").await;
    let reports = database.across(&acme).await.unwrap();
    let before_any_statement = world.listed("acme", "pg.across").await;
    let [used] = before_any_statement.as_slice() else { panic!("{before_any_statement:?}") };
    assert_eq!((used.outcome(), used.store(), used.actor()), (Outcome::Done, Some("postgres"), Some("operator-1")));
    assert!(used.reason().is_some_and(|reason| reason.contains("monthly usage report") && reason.contains("OPS-7")));
    assert_eq!(ids(&reports).await, ACME);
    assert_eq!(ids(&reports).await, ACME);
    assert_eq!(world.listed("acme", "pg.across").await.len(), 1, "once, not for each statement");
    assert_eq!(world.listed("globex", "pg.across").await.len(), 0, "it is none of globex's");
    let every = world.grant(Reach::Every).await;
    let _all = database.across(&every).await.unwrap();
    for (tenant, records) in [("acme", 2), ("globex", 1)] {
        assert_eq!(world.listed(tenant, "pg.across").await.len(), records, "{tenant}");
    }
}
