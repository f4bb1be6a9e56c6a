//! Everything outside the pools of tenants that can be waited for, on a server of its own: what the acts of
//! [`outside`](crate::outside) are done with.
#![expect(clippy::future_not_send, reason = "acts stay on the thread of their test")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};
use tenancy_core::permission::ManageKeys;
use tenancy_core::{
    Credential, CrossTenantGrant, IssuedApiKey, Life, Reach, Realm, SubjectId, TenantContext, TenantId, TenantRecord,
};
use tenancy_pg::{
    ControlStore, Database, Declaration, PgOptions, Queue, QueueOptions, QueuedJob, TenantRegistry, erasure_sql,
    grant_sql, migrate_audit, migrate_control, policy_sql, queue_sql,
};
use tenancy_testkit::{APP, CONTROL, FaultProxy, TestDatabase, TestIssuer, TestTenants, ThrowawayPostgres};

use crate::audit::AUDIT;
use crate::common::plain_role;
use crate::control::{self, ROOT};
use crate::erase::{ERASER, REGISTRY};
use crate::outside::{OPEN, Outcome};
use crate::queue::{Ingest, TTL, WORKER};

/// A database with everything in it, and everybody who works there. One of the tenants is leaving.
pub(crate) struct Office {
    pub(crate) tenants: TestTenants,
    pub(crate) server: TestDatabase,
    /// The same by way of the proxy.
    pub(crate) there: TestDatabase,
    pub(crate) _proxy: FaultProxy,
    pub(crate) declaration: Declaration,
    pub(crate) database: Database<tenancy_pg::Inspected>,
    pub(crate) acme: TenantContext,
    pub(crate) globex: TenantContext,
    pub(crate) leaving: Life,
    pub(crate) grant: CrossTenantGrant,
    pub(crate) control: ControlStore,
    pub(crate) issuer: TestIssuer,
    /// On the control stores.
    pub(crate) realm: Realm,
    pub(crate) insider: TenantContext,
    pub(crate) api_key: IssuedApiKey,
    pub(crate) migrations: PathBuf,
    pub(crate) names: AtomicU32,
    pub(crate) truth: tokio::sync::Mutex<PgConnection>,
}

impl Office {
    pub(crate) async fn new() -> Self {
        let tenants = TestTenants::builder().tenant("initech");
        let tenants = tenants.build_with(|ready| ready.fence_age(Duration::from_millis(300))).await;
        let server = ThrowawayPostgres::shared().await.fresh_database().await;
        let (proxy, there) = server.behind_a_proxy().await;
        let declaration = crate::erase::declaration(&["note"]);
        for role in [WORKER, ERASER, AUDIT] {
            plain_role(&server, role).await;
        }
        server.run("grant pg_read_all_stats to eraser").await;
        for sql in [
            REGISTRY,
            "create table note (tenant_id uuid not null references tenancy.tenant, id int, body text, primary key (tenant_id, id))",
            &policy_sql(&declaration),
            &grant_sql(&declaration, APP),
            &queue_sql(&declaration, APP, WORKER),
            &erasure_sql(&declaration, ERASER),
        ] {
            server.run_as_owner(sql).await;
        }
        let registry = TenantRegistry::connect(server.control_options()).await.unwrap();
        for tenant in ["acme", "globex", "initech"] {
            registry.register(tenants.context(tenant).await.record()).await.unwrap();
            let key = tenants.life(tenant).uuid();
            server.run(&format!("insert into note select '{key}', n, '{tenant}' from generate_series(1, 5) n")).await;
        }
        registry.close().await;
        let (acme, globex) = (tenants.context("acme").await, tenants.context("globex").await);
        let leaving = tenants.life("initech");
        tenants.erase("initech");
        let credential = Credential::bearer(tenants.operator_token());
        let reach = Reach::One(TenantId::parse("initech").unwrap());
        let (reason, ttl) = ("offboarding of a tenant", Duration::from_secs(600));
        let grant = tenants.realm().operators().open(&credential, reason, "CASE-1", reach, ttl).await.unwrap();

        for made in
            [migrate_control(server.owner_options(), CONTROL).await, migrate_audit(server.owner_options(), AUDIT).await]
        {
            made.unwrap();
        }
        let control = ControlStore::connect(there.control_options()).await.unwrap();
        let issuer = TestIssuer::new("https://login.test", "rag");
        let realm = control::realm(&control, &issuer, ROOT).await;
        let insider = tenant_of(&control, &issuer, &realm, "insider").await.unwrap();
        let proof = insider.authorize::<ManageKeys>().unwrap();
        let api_key = realm.issue_api_key(&proof, SubjectId::parse("svc").unwrap(), &["reader"], None).unwrap();
        let options = PgOptions::new(there.app_options()).max_connections(1);
        let database = Database::open(tenants.realm(), options, &declaration).await.unwrap();
        let migrations = crate::migrations::tempfile(&[]);
        std::fs::write(migrations.join("1_more.sql"), "create table if not exists more (id int)").unwrap();
        let truth = PgConnection::connect_with(&server.superuser_options()).await.unwrap().into();
        let (_proxy, names) = (proxy, AtomicU32::new(0));
        Self {
            tenants,
            server,
            there,
            _proxy,
            declaration,
            database,
            acme,
            globex,
            leaving,
            grant,
            control,
            issuer,
            realm,
            insider,
            api_key,
            migrations,
            names,
            truth,
        }
    }

    pub(crate) fn options(&self) -> PgOptions {
        PgOptions::new(self.there.app_options()).max_connections(1)
    }

    pub(crate) fn realm_name(&self) -> tenancy_core::RealmName {
        tenancy_core::RealmName::parse("office").unwrap()
    }

    pub(crate) fn new_name(&self) -> TenantId {
        TenantId::parse(&format!("t{}", self.names.fetch_add(1, Ordering::Relaxed))).unwrap()
    }

    pub(crate) async fn new_tenant(&self, realm: &Realm) -> Outcome<TenantContext> {
        tenant_of(&self.control, &self.issuer, realm, self.new_name().as_str()).await
    }

    pub(crate) async fn queue(&self) -> Outcome<Queue> {
        Ok(Queue::connect(self.tenants.realm(), QueueOptions::new(self.there.options(WORKER))).await?)
    }

    /// A new job, or one that somebody has dropped before.
    pub(crate) async fn job(&self) -> Outcome<QueuedJob<Ingest>> {
        self.acme.refresh().await?;
        let acme = self.database.scoped(&self.acme)?;
        let mut tx = acme.begin().await?;
        tx.enqueue::<Ingest>(b"work", TTL).await?;
        tx.commit().await?;
        let claimed = self.queue().await?.claim::<Ingest>().await?.ok_or("there is a job")?;
        Ok(claimed.open(&self.tenants.realm().worker()).await?)
    }

    /// Nobody's transaction is open once the server has noticed who is gone, and what was kept is kept.
    pub(crate) async fn is_as_it_should_be(&self, what: &str) {
        let mut truth = self.truth.lock().await;
        let mut open = i64::MAX;
        for _wait in 0..500 {
            open = sqlx::query_scalar(OPEN).fetch_one(&mut *truth).await.unwrap();
            if open == 0 {
                break;
            }
            truth.execute("select pg_sleep(0.01)").await.unwrap();
        }
        assert_eq!(open, 0, "{what}: a transaction is left open");
        let sql = format!("select count(*) from note where tenant_id = '{}'", self.globex.life().uuid());
        let kept: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *truth).await.unwrap();
        assert_eq!(kept, 5, "{what}: the neighbour's rows");
    }
}

/// Adds a tenant to the control stores' directory, and authenticates somebody of it.
async fn tenant_of(control: &ControlStore, issuer: &TestIssuer, realm: &Realm, name: &str) -> Outcome<TenantContext> {
    let record = TenantRecord::new(TenantId::parse(name)?, Life::random(), SystemTime::now() - Duration::from_secs(60))
        .claim(issuer.issuer(), name)
        .role(issuer.issuer(), "editor", ["manage-keys", "ingest", "use-model", "fine-tune"])
        .role(TenantRecord::API_KEYS, "reader", ["use-model"]);
    control.directory().add(&record).await?;
    let token = issuer.sign(&issuer.claims("u", Some(name), &["editor"], SystemTime::now()));
    Ok(realm.authenticate(&Credential::bearer(token)).await?)
}
