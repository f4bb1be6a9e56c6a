//! A database in one of the ways to be served by it, two tenants, and what the next borrower of a connection must find.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use tenancy_core::Life;
use tenancy_pg::{
    Database, Declaration, Inspected, Mode, PgOptions, Pooler, SigningKeys, TenantDb, hardening_sql, queue_sql,
};
use tenancy_testkit::{
    APP, FaultProxy, PgBouncerOptions, PoolMode, TestDatabase, TestTenants, ThrowawayPgBouncer, ThrowawayPostgres,
};

use crate::common::{ACME, GLOBEX, World, plain_role, scalar};
use crate::queue::WORKER;
use crate::sealed::Sealed;
use crate::tally::Tally;

/// How a service reaches its database and scopes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Local,
    Sticky,
    Signed,
    SignedAndSticky,
    BehindASessionPooler,
    BehindATransactionPooler,
}

pub(crate) const WAYS: [Way; 6] = [
    Way::Local,
    Way::Sticky,
    Way::Signed,
    Way::SignedAndSticky,
    Way::BehindASessionPooler,
    Way::BehindATransactionPooler,
];

/// A database, reached in one of the ways, and its two tenants.
pub(crate) struct Place {
    pub(crate) way: Way,
    pub(crate) server: TestDatabase,
    pub(crate) database: Database<Inspected>,
    pub(crate) acme: TenantDb,
    pub(crate) globex: TenantDb,
    pub(crate) own: Life,
    pub(crate) tally: Tally,
    /// In front of the service, where that was asked for.
    pub(crate) proxy: Option<FaultProxy>,
    _kept: (TestTenants, Option<ThrowawayPgBouncer>),
}

impl Place {
    /// With so many connections.
    pub(crate) async fn new(way: Way, most: u32) -> Self {
        Self::by(way, most, false).await
    }

    /// With a proxy in front of the service.
    pub(crate) async fn behind_a_proxy(way: Way, most: u32) -> Self {
        Self::by(way, most, true).await
    }

    async fn by(way: Way, most: u32, proxied: bool) -> Self {
        let tally = Tally::default();
        let tenants = tally.tenants().await;
        let (server, declaration, tenants, keys) = match way {
            Way::Signed | Way::SignedAndSticky => {
                let Sealed { tenants, server, declaration, key } = Sealed::of(tenants).await;
                (server, declaration, tenants, Some(SigningKeys::new(key)))
            }
            Way::Local | Way::Sticky | Way::BehindASessionPooler | Way::BehindATransactionPooler => {
                let World { tenants, server, declaration } =
                    World::of(tenants, ThrowawayPostgres::shared().await).await;
                server.run(&hardening_sql()).await;
                (server, declaration, tenants, None)
            }
        };
        with_a_queue(&server, &declaration).await;
        let bouncer = bouncer(way, &server, most).await;
        let front = bouncer.as_ref().map_or(&server, ThrowawayPgBouncer::database);
        let (proxy, connect) = by_way_of(front, proxied).await;
        // Whoever would connect goes on trying while each new connection is reset: not for long here.
        let options = PgOptions::new(connect).acquire_timeout(if proxied { SHORT } else { LONG });
        let options = options.max_connections(most).mode(way.mode()).pooler(way.pooler());
        let options = match keys {
            Some(keys) => options.signed(keys),
            None => options,
        };
        let database = Database::open(tenants.realm(), options, &declaration).await.unwrap();
        let acme = database.scoped(&tenants.context("acme").await).unwrap();
        let globex = database.scoped(&tenants.context("globex").await).unwrap();
        let own = tenants.life("acme");
        Self { way, server, database, acme, globex, own, tally, proxy, _kept: (tenants, bouncer) }
    }

    /// Whoever comes next: another tenant, in both ways, and nobody; in a session with its own settings.
    pub(crate) async fn next_is_clean(&self, what: &str) -> Result<(), sqlx::Error> {
        let what = format!("{:?}, {what}", self.way);
        assert_eq!(bodies(&self.globex).await?, GLOBEX, "{what}");
        let mut tx = self.globex.begin().await?;
        let session: String = sqlx::query_scalar(SESSION).fetch_one(&mut tx).await?;
        assert_eq!(session, "app public, pg_temp off 30s 0 0 0 1", "{what}");
        tx.commit().await?;
        let seen: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&self.database.untenanted()).await?;
        assert_eq!(seen, 0, "{what}: nobody");
        Ok(())
    }

    /// What was left of transactions that were not to be kept.
    pub(crate) async fn halves(&self) -> i64 {
        let sql = "select (select count(*) from note where body = 'half') + (select count(*) from tenancy_queue.job)";
        scalar(&self.server.superuser_options(), sql).await
    }
}

impl Way {
    fn mode(self) -> Mode {
        match self {
            Self::Sticky | Self::SignedAndSticky => Mode::Sticky,
            Self::Local | Self::Signed | Self::BehindASessionPooler | Self::BehindATransactionPooler => Mode::Local,
        }
    }

    fn pooler(self) -> Pooler {
        match self {
            Self::Local | Self::Sticky | Self::Signed | Self::SignedAndSticky => Pooler::None,
            Self::BehindASessionPooler => Pooler::Session,
            Self::BehindATransactionPooler => Pooler::Transaction,
        }
    }
}

async fn with_a_queue(server: &TestDatabase, declaration: &Declaration) {
    plain_role(server, WORKER).await;
    // Its references to the registry of a signed database are the superuser's to make.
    server.run(&queue_sql(declaration, APP, WORKER)).await;
}

/// As few sessions as will do, so that the next borrower gets the one that was left.
async fn bouncer(way: Way, server: &TestDatabase, most: u32) -> Option<ThrowawayPgBouncer> {
    let options = match way {
        Way::Local | Way::Sticky | Way::Signed | Way::SignedAndSticky => return None,
        Way::BehindASessionPooler => PgBouncerOptions::new(PoolMode::Session).pool_size(most + 8),
        Way::BehindATransactionPooler => PgBouncerOptions::new(PoolMode::Transaction).pool_size(most),
    };
    Some(ThrowawayPgBouncer::start(server, &options).await.unwrap_or_else(|e| panic!("{e}")))
}

async fn by_way_of(server: &TestDatabase, proxied: bool) -> (Option<FaultProxy>, PgConnectOptions) {
    if !proxied {
        return (None, server.app_options());
    }
    let (proxy, server) = server.behind_a_proxy().await;
    (Some(proxy), server.app_options())
}

pub(crate) async fn bodies(db: &TenantDb) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar("select body from note order by id").fetch_all(db).await
}

pub(crate) fn assert_acmes(seen: &[String]) {
    assert_eq!(seen, ACME);
}

const LONG: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_secs(2);
const SESSION: &str = "
select concat_ws(' ', current_user, replace(current_setting('search_path'), '\"', ''),
       current_setting('transaction_read_only'), current_setting('statement_timeout'),
       (select count(*) from pg_prepared_statements where from_sql), pg_my_temp_schema(),
       (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
       (select count(distinct tenant_id) from note))";
