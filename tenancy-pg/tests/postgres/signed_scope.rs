//! The signed mode through the handles: what works, and what injected SQL gets.

use sqlx::AssertSqlSafe;
use tenancy_core::Denial;
use tenancy_pg::{
    Database, InspectPolicy, Inspected, PgError, PgOptions, Pooler, Severity, SigningKey, SigningKeys, TenantDb, danger,
};

use crate::common::{ACME, GLOBEX, World, bodies};
use crate::sealed::Sealed;

impl Sealed {
    fn options(&self, keys: &SigningKeys) -> PgOptions {
        PgOptions::new(self.server.app_options()).max_connections(1).signed(keys.clone())
    }

    pub(crate) async fn open(&self) -> Database<Inspected> {
        let keys = SigningKeys::new(self.key.clone());
        self.open_with(self.options(&keys)).await
    }

    /// The construction must hold alone, so nothing is hardened here.
    async fn open_with(&self, options: PgOptions) -> Database<Inspected> {
        let policy = InspectPolicy::new().hardening(Severity::Warning);
        let database = Database::connect(self.tenants.realm(), options).await.unwrap();
        database.inspect_with(&self.declaration, policy).await.unwrap()
    }

    pub(crate) async fn scoped(&self, database: &Database<Inspected>, tenant: &str) -> TenantDb {
        database.scoped(&self.tenants.context(tenant).await).unwrap()
    }
}

#[tokio::test]
async fn a_signed_scope_shows_a_tenant_its_own_rows() {
    let sealed = Sealed::new().await;
    let database = sealed.open().await;
    let (acme, globex) = (sealed.scoped(&database, "acme").await, sealed.scoped(&database, "globex").await);
    for _again in 0..2 {
        assert_eq!(bodies(&acme).await, ACME);
        assert_eq!(bodies(&globex).await, GLOBEX);
        let nobody: i64 =
            sqlx::query_scalar("select count(*) from note").fetch_one(&database.untenanted()).await.unwrap();
        assert_eq!(nobody, 0);
    }
    let own = sealed.life("acme").uuid();
    let mut tx = acme.begin().await.unwrap();
    sqlx::query("insert into note values ($1, 9, 'new')").bind(own).execute(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(bodies(&acme).await.len(), 3);
    let foreign = sqlx::query("insert into note values ($1, 10, 'x')").bind(sealed.life("globex").uuid());
    let refused = foreign.execute(&acme).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501");
    assert_eq!(bodies(&globex).await, GLOBEX);
}

/// What would switch the tenant in a plain mode shows nothing here, and what touches the settings is found out.
#[tokio::test]
async fn injected_sql_gets_no_row_of_another_tenant() {
    let sealed = Sealed::new().await;
    let database = sealed.open().await;
    // The worst case: nothing of the hardening that keeps such statements from running at all.
    sealed.server.run("grant execute on function pg_catalog.set_config(text, text, boolean) to public").await;
    sealed.server.run("grant usage on language plpgsql to public").await;
    let (acme, globex) = (sealed.scoped(&database, "acme").await, sealed.scoped(&database, "globex").await);
    let victim = sealed.life("globex").uuid();
    // A seal of the victim's, seen while it was good.
    let mut seen = globex.begin().await.unwrap();
    let on = danger::connection(&mut seen, "to copy the seal").await.unwrap();
    let copied: String = sqlx::query_scalar("select current_setting('tenancy.seal')").fetch_one(on).await.unwrap();
    assert!(copied.contains(&victim.to_string()));
    seen.rollback().await.unwrap();
    for (what, set, breach) in [
        ("the plain setting", format!("set local \"tenancy.row_key\" = '{victim}'"), true),
        ("the plain setting, for the session", format!("set \"tenancy.row_key\" = '{victim}'"), true),
        ("a copied seal", format!("set local tenancy.seal = '{copied}'"), true),
        ("a copied seal, for the session", format!("set tenancy.seal = '{copied}'"), true),
        ("no seal", "set local tenancy.seal = ''".to_owned(), true),
        ("the victim's row key in its own seal", "swap".to_owned(), true),
    ] {
        let mut tx = acme.begin().await.unwrap();
        let on = danger::connection(&mut tx, "as injected SQL would").await.unwrap();
        let own: String =
            sqlx::query_scalar("select current_setting('tenancy.seal')").fetch_one(&mut *on).await.unwrap();
        let set = match set.as_str() {
            "swap" => format!("set local tenancy.seal = '{}{victim}'", &own[..own.len() - 36]),
            other => other.to_owned(),
        };
        sqlx::raw_sql(AssertSqlSafe(set)).execute(&mut *on).await.unwrap();
        let stolen = sqlx::query_scalar::<_, String>("select body from note where tenant_id = $1")
            .bind(victim)
            .fetch_all(&mut *on)
            .await
            .unwrap_or_default();
        assert!(stolen.is_empty(), "{what}");
        let ended = tx.rollback().await;
        let denied = ended.err().and_then(|e| e.denial());
        // A seal that the verifier refuses has aborted the transaction, which then proves nothing.
        assert!(denied == breach.then_some(Denial::StoreBreach) || denied.is_none(), "{what}: {denied:?}");
        assert_eq!(bodies(&acme).await, ACME, "{what}");
        assert_eq!(bodies(&globex).await, GLOBEX, "{what}");
    }
    let records = sealed.tenants.audit().await;
    let on_record: u64 =
        records.iter().filter(|r| matches!(r.rule(), Some("store.breach" | "pg.unproven"))).map(|r| r.count()).sum();
    assert_eq!(on_record, 6, "each try is on record");
}

/// Two keys are good at a time, so that a service goes over without a gap.
#[tokio::test]
async fn keys_are_changed_while_the_service_runs() {
    let sealed = Sealed::new().await;
    let keys = SigningKeys::new(sealed.key.clone());
    let database = sealed.open_with(sealed.options(&keys)).await;
    let acme = sealed.scoped(&database, "acme").await;
    let next = SigningKey::generate();
    keys.sign_with(next.clone());
    let refused = sqlx::query("select body from note").fetch_all(&acme).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "28000", "the database does not know it yet");
    sealed.server.run(secrecy::ExposeSecret::expose_secret(&tenancy_pg::signing_key_sql(&next))).await;
    assert_eq!(bodies(&acme).await, ACME);
    sealed.server.run(&tenancy_pg::retire_key_sql(sealed.key.id())).await;
    assert_eq!(bodies(&acme).await, ACME);
    keys.sign_with(sealed.key.clone());
    assert!(sqlx::query("select body from note").fetch_all(&acme).await.is_err(), "retired");
}

/// A tenant that the registry no longer calls live sees nothing, whatever the directory says.
#[tokio::test]
async fn the_registry_is_a_fence() {
    let sealed = Sealed::new().await;
    let database = sealed.open().await;
    let acme = sealed.scoped(&database, "acme").await;
    assert_eq!(bodies(&acme).await, ACME);
    sealed
        .server
        .run(&format!("update tenancy.tenant set live = false where life = '{}'", sealed.life("acme").uuid()))
        .await;
    assert!(sqlx::query("select body from note").fetch_all(&acme).await.is_err());
    assert_eq!(bodies(&sealed.scoped(&database, "globex").await).await, GLOBEX);
}

#[tokio::test]
async fn what_does_not_fit_together_is_not_opened() {
    let sealed = Sealed::new().await;
    let keys = SigningKeys::new(sealed.key.clone());
    let realm = sealed.tenants.realm();
    let plain = PgOptions::new(sealed.server.app_options());
    let refused = Database::open(realm, plain, &sealed.declaration).await.unwrap_err();
    assert!(matches!(refused, PgError::SignedMismatch), "only the declaration: {refused:?}");
    let world = World::new().await;
    let refused = Database::open(realm, world.options().signed(keys.clone()), &world.declaration).await.unwrap_err();
    assert!(matches!(refused, PgError::SignedMismatch), "only the options: {refused:?}");
    let shared = sealed.options(&keys).pooler(Pooler::Transaction);
    let refused = Database::open(realm, shared, &sealed.declaration).await.unwrap_err();
    assert!(matches!(refused, PgError::NeedsSessions), "sessions are shared: {refused:?}");
    let session = sealed.options(&keys).pooler(Pooler::Session);
    let database = sealed.open_with(session).await;
    assert_eq!(bodies(&sealed.scoped(&database, "acme").await).await, ACME);
}
