//! Reading from a real standby: what a tenant has written, it sees.

use std::ops::Deref;
use std::time::Duration;

use sqlx::AssertSqlSafe;
use tenancy_core::Denial;
use tenancy_pg::{BulkInsert, Database, Inspected, PgError, PgOptions, ReadPoint, TenantDb, TxOptions};
use tenancy_testkit::{TestDatabase, ThrowawayPostgres, ThrowawayReplica};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::common::{ACME, GLOBEX, World, bodies, scalar, smuggled};

/// A server and its standby.
pub(crate) struct Servers {
    pub(crate) replica: ThrowawayReplica,
    pub(crate) primary: ThrowawayPostgres,
}

impl Servers {
    async fn start() -> Self {
        let primary = ThrowawayPostgres::start().await.unwrap();
        let replica = primary.replica().await.unwrap();
        Self { replica, primary }
    }

    /// For one test at a time: it holds the replay back.
    pub(crate) async fn shared() -> MutexGuard<'static, Self> {
        static SHARED: OnceCell<Mutex<Servers>> = OnceCell::const_new();
        let servers = SHARED.get_or_init(|| async { Mutex::new(Self::start().await) }).await.lock().await;
        servers.replica.resume_replay().await;
        servers
    }
}

/// The usual rows on both.
pub(crate) struct Pair<S = MutexGuard<'static, Servers>> {
    pub(crate) world: World,
    pub(crate) standby: TestDatabase,
    servers: S,
}

impl Pair {
    pub(crate) async fn new() -> Self {
        Self::on(Servers::shared().await).await
    }
}

impl Pair<Box<Servers>> {
    /// With servers of its own.
    pub(crate) async fn apart() -> Self {
        Self::on(Box::new(Servers::start().await)).await
    }
}

impl<S: Deref<Target = Servers> + Send + Sync> Pair<S> {
    async fn on(servers: S) -> Self {
        let world = World::on(&servers.primary).await;
        let standby = servers.replica.database(&world.server);
        servers.replica.catch_up().await;
        Self { world, standby, servers }
    }

    pub(crate) fn primary(&self) -> &ThrowawayPostgres {
        &self.servers.primary
    }

    pub(crate) fn replica(&self) -> &ThrowawayReplica {
        &self.servers.replica
    }

    pub(crate) fn options(&self) -> PgOptions {
        self.world.options().replica(self.standby.app_options())
    }

    pub(crate) async fn open_with(&self, options: PgOptions) -> Result<Database<Inspected>, PgError> {
        Database::open(self.world.tenants.realm(), options, &self.world.declaration).await
    }

    pub(crate) async fn open(&self) -> Database<Inspected> {
        self.open_with(self.options()).await.unwrap()
    }

    /// Both tenants' handles, once the standby serves them.
    pub(crate) async fn served(&self, database: &Database<Inspected>) -> (TenantDb, TenantDb) {
        let both = (self.world.scoped(database, "acme").await, self.world.scoped(database, "globex").await);
        self.replica().catch_up().await;
        eventually(&both.0, Server::Standby).await;
        eventually(&both.1, Server::Standby).await;
        both
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Primary,
    Standby,
}

/// Who serves a read, and what it sees.
pub(crate) async fn read(db: &TenantDb) -> (Server, Vec<String>) {
    let mut tx = db.read().await.unwrap();
    let standby: bool = sqlx::query_scalar("select pg_is_in_recovery()").fetch_one(&mut tx).await.unwrap();
    let seen = sqlx::query_scalar("select body from note order by id").fetch_all(&mut tx).await.unwrap();
    (if standby { Server::Standby } else { Server::Primary }, seen)
}

/// What a read sees once it is served there: the pools have one connection, which is being cleaned at times, and after
/// some faults the replica rests.
pub(crate) async fn eventually(db: &TenantDb, where_: Server) -> Vec<String> {
    for _wait in 0..600 {
        let (server, seen) = read(db).await;
        if server == where_ {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never served by {where_:?}");
}

/// A note of acme's, written in every way there is.
enum Write {
    Statement,
    Returning,
    WithinARead,
    Transaction,
    Savepoint,
    Bulk,
    Function,
    Serializable,
    CommitAt,
}

impl Write {
    async fn run(&self, world: &World, acme: &TenantDb, id: i32) {
        let own = world.life("acme").uuid();
        let sql = "insert into note (id, tenant_id, body) values ($1, $2, 'new')";
        let insert = || sqlx::query(sql).bind(id).bind(own);
        match self {
            Self::Statement => drop(insert().execute(acme).await.unwrap()),
            Self::Returning => {
                let sql = "insert into note (id, tenant_id, body) values ($1, $2, 'new') returning id";
                let made: i32 = sqlx::query_scalar(sql).bind(id).bind(own).fetch_one(acme).await.unwrap();
                assert_eq!(made, id);
            }
            Self::WithinARead => {
                let sql = "with made as (insert into note (id, tenant_id, body) values ($1, $2, 'new') returning id)
                           select id from made";
                let _made: i32 = sqlx::query_scalar(sql).bind(id).bind(own).fetch_one(acme).await.unwrap();
            }
            Self::Transaction | Self::Serializable | Self::CommitAt => {
                let options = match self {
                    Self::Serializable => TxOptions::new().isolation(tenancy_pg::Isolation::Serializable),
                    _other => TxOptions::new(),
                };
                let mut tx = acme.begin_with(options).await.unwrap();
                insert().execute(&mut tx).await.unwrap();
                match self {
                    Self::CommitAt => assert!(tx.commit_at().await.unwrap().is_some()),
                    _other => tx.commit().await.unwrap(),
                }
            }
            Self::Savepoint => {
                let mut tx = acme.begin().await.unwrap();
                let mut part = tx.savepoint().await.unwrap();
                insert().execute(&mut part).await.unwrap();
                part.release().await.unwrap();
                tx.commit().await.unwrap();
            }
            Self::Bulk => {
                let mut tx = acme.begin().await.unwrap();
                let bulk = BulkInsert::into("public", "note");
                let bulk = bulk.column("id", &[id]).column("body", &["new".to_owned()]);
                tx.insert_all(bulk).await.unwrap();
                tx.commit().await.unwrap();
            }
            Self::Function => {
                let insert = format!("insert into note (id, tenant_id, body) values ({id}, '{own}', 'new')");
                sqlx::query(AssertSqlSafe(smuggled(&insert))).execute(acme).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_tenant_reads_what_it_has_written_and_its_neighbour_goes_on_reading_there() {
    let pair = Pair::new().await;
    let database = pair.open().await;
    let (acme, globex) = pair.served(&database).await;
    assert_eq!((eventually(&acme, Server::Standby).await, bodies(&acme).await), (own(2), own(2)));
    for (id, write) in (100..).zip([
        Write::Statement,
        Write::Returning,
        Write::WithinARead,
        Write::Transaction,
        Write::Savepoint,
        Write::Bulk,
        Write::Function,
        Write::Serializable,
        Write::CommitAt,
    ]) {
        pair.replica().pause_replay().await;
        write.run(&pair.world, &acme, id).await;
        let written = usize::try_from(id - 97).unwrap();
        assert_eq!(read(&acme).await, (Server::Primary, own(written)), "{id}: its own write is not there yet");
        assert_eq!(eventually(&globex, Server::Standby).await, GLOBEX, "{id}: nothing of its own is missing there");
        pair.replica().resume_replay().await;
        pair.replica().catch_up().await;
        assert_eq!(eventually(&acme, Server::Standby).await, own(written), "{id}: replayed");
    }
}

fn own(rows: usize) -> Vec<String> {
    ACME.into_iter().map(str::to_owned).chain((2..rows).map(|_| "new".to_owned())).collect()
}

/// What committed nothing leaves its tenant where it was.
#[tokio::test]
async fn a_tenant_that_wrote_nothing_goes_on_reading_there() {
    let pair = Pair::new().await;
    let database = pair.open().await;
    let (acme, _globex) = pair.served(&database).await;
    pair.replica().pause_replay().await;
    // Its log goes on without it.
    scalar(&pair.world.server.superuser_options(), "select count(pg_logical_emit_message(false, 'x', ''))").await;
    let insert = "insert into note (id, tenant_id, body) values (100, $1, 'new')";
    let own = pair.world.life("acme").uuid();
    for what in ["a read", "an empty transaction", "a rollback", "dropped", "refused", "aborted", "read by statement"] {
        let mut tx = acme.begin().await.unwrap();
        match what {
            "a read" => {
                sqlx::query("select body from note").fetch_all(&mut tx).await.unwrap();
                tx.commit().await.unwrap();
            }
            "an empty transaction" => tx.commit().await.unwrap(),
            "a rollback" => {
                sqlx::query(insert).bind(own).execute(&mut tx).await.unwrap();
                tx.rollback().await.unwrap();
            }
            "dropped" => {
                sqlx::query(insert).bind(own).execute(&mut tx).await.unwrap();
                drop(tx);
            }
            "refused" => {
                let foreign = pair.world.life("globex").uuid();
                sqlx::query(insert).bind(foreign).execute(&mut tx).await.unwrap_err();
                drop(tx);
            }
            "aborted" => {
                sqlx::query(insert).bind(own).execute(&mut tx).await.unwrap();
                sqlx::query("select 1/0").execute(&mut tx).await.unwrap_err();
                tx.commit().await.unwrap_err();
            }
            _by_statement => {
                tx.rollback().await.unwrap();
                assert_eq!(bodies(&acme).await, ACME);
            }
        }
        assert_eq!(eventually(&acme, Server::Standby).await, ACME, "{what}");
    }
}

#[tokio::test]
async fn a_read_waits_for_the_replay_as_long_as_it_may() {
    let pair = Pair::new().await;
    let database = pair.open_with(pair.options().read_your_writes(Duration::from_secs(60))).await.unwrap();
    let (acme, globex) = pair.served(&database).await;
    pair.replica().pause_replay().await;
    Write::Statement.run(&pair.world, &acme, 100).await;
    let (seen, ()) = tokio::join!(read(&acme), async {
        // It is there, in its transaction, and waits.
        let asks = "select count(*) from pg_stat_activity where usename = 'app' and state = 'idle in transaction'";
        while scalar(&pair.standby.superuser_options(), asks).await == 0 {}
        pair.replica().resume_replay().await;
    });
    assert_eq!(seen, (Server::Standby, own(3)));
    let short = pair.open_with(pair.options().read_your_writes(Duration::from_millis(50))).await.unwrap();
    let (acme, globex_here) = (pair.world.scoped(&short, "acme").await, pair.world.scoped(&short, "globex").await);
    eventually(&globex_here, Server::Standby).await;
    pair.replica().pause_replay().await;
    Write::Statement.run(&pair.world, &acme, 101).await;
    assert_eq!(read(&acme).await, (Server::Primary, own(4)), "no longer than that");
    assert_eq!(eventually(&globex, Server::Standby).await, GLOBEX);
}

/// Another process knows what it is told.
#[tokio::test]
async fn another_process_sees_what_it_is_told_to() {
    let pair = Pair::new().await;
    let (writer, reader) = (pair.open().await, pair.open().await);
    let (acme, _) = pair.served(&writer).await;
    let (acme_there, globex_there) = pair.served(&reader).await;
    pair.replica().pause_replay().await;
    let insert = "insert into note (id, tenant_id, body) values (100, $1, 'new')";
    let mut tx = acme.begin().await.unwrap();
    sqlx::query(insert).bind(pair.world.life("acme").uuid()).execute(&mut tx).await.unwrap();
    let point = tx.commit_at().await.unwrap().unwrap();
    assert_eq!(eventually(&acme_there, Server::Standby).await, ACME, "it was not told");
    let told = ReadPoint::from_text(point.to_string());
    let mut tx = acme_there.read_after(&told).await.unwrap();
    let seen: Vec<String> = sqlx::query_scalar("select body from note order by id").fetch_all(&mut tx).await.unwrap();
    assert_eq!(seen, own(3));
    drop(tx);
    assert_eq!(read(&acme_there).await, (Server::Primary, own(3)), "and goes on to know");
    assert_eq!(eventually(&globex_there, Server::Standby).await, GLOBEX);

    let mut altered = point.to_string();
    let place = altered.len() - 10;
    let other = if altered[place..].starts_with('A') { "B" } else { "A" };
    altered.replace_range(place..=place, other);
    let colleague = pair.world.tenants.context_of("acme", "colleague@acme", &["editor"]).await;
    let colleague = reader.scoped(&colleague).unwrap();
    for (what, db, text, denial) in [
        ("another tenant's", &globex_there, point.to_string(), Denial::WrongLife),
        ("another subject's", &colleague, point.to_string(), Denial::Seal(tenancy_core::SealFault::Refused)),
        ("altered", &acme_there, altered, Denial::Seal(tenancy_core::SealFault::Refused)),
        ("none", &acme_there, "0/12345".to_owned(), Denial::Seal(tenancy_core::SealFault::Malformed)),
        ("empty", &acme_there, String::new(), Denial::Seal(tenancy_core::SealFault::Malformed)),
    ] {
        let refused = db.read_after(&ReadPoint::from_text(text)).await.unwrap_err();
        assert_eq!(refused.denial(), Some(denial), "{what}");
    }
    assert!(!format!("{point:?}").contains(&point.to_string()), "a capability of sorts");

    let alone = pair.world.open().await;
    let mine = pair.world.scoped(&alone, "acme").await;
    let mut tx = mine.begin().await.unwrap();
    sqlx::query("update note set body = 'changed' where id = 100").execute(&mut tx).await.unwrap();
    assert!(tx.commit_at().await.unwrap().is_some(), "a process that reads no replica tells those that do");
    let mut tx = mine.read_after(&point).await.unwrap();
    sqlx::query("select 1").execute(&mut tx).await.unwrap();
    assert_eq!(tx.commit_at().await.unwrap(), None, "it only read");
}

/// What was inspected is what the standby serves: the schema lags as rows do.
#[tokio::test]
async fn a_replica_serves_no_older_schema_than_was_inspected() {
    let pair = Pair::new().await;
    let database = pair.open().await;
    let (acme, globex) = pair.served(&database).await;
    pair.replica().pause_replay().await;
    pair.world.server.run_as_owner("drop policy if exists nothing on note; comment on table note is 'changed'").await;
    assert_eq!(eventually(&globex, Server::Standby).await, GLOBEX);
    database.reinspect().await.unwrap();
    let late = pair.open().await;
    let late = pair.world.scoped(&late, "globex").await;
    for (what, db) in [("looked again", &globex), ("looked again", &acme), ("opened after the change", &late)] {
        for _again in 0..3 {
            assert_eq!(read(db).await.0, Server::Primary, "{what}");
        }
    }
    pair.replica().resume_replay().await;
    pair.replica().catch_up().await;
    for db in [&globex, &acme, &late] {
        eventually(db, Server::Standby).await;
    }
}

#[tokio::test]
async fn a_lock_is_taken_where_it_holds_others_off() {
    let pair = Pair::new().await;
    let database = pair.open().await;
    let (acme, _) = pair.served(&database).await;
    let mut tx = acme.read().await.unwrap();
    assert!(matches!(tx.lock("a").await, Err(PgError::LockOnReplica)));
    assert!(matches!(tx.try_lock("a").await, Err(PgError::LockOnReplica)));
    drop(tx);
    let mut tx = acme.begin_with(TxOptions::new().read_only()).await.unwrap();
    let standby: bool = sqlx::query_scalar("select pg_is_in_recovery()").fetch_one(&mut tx).await.unwrap();
    assert!(!standby);
    tx.lock("a").await.unwrap();
    drop(tx);
    let alone = pair.world.open().await;
    let mine = pair.world.scoped(&alone, "acme").await;
    assert!(mine.read().await.unwrap().try_lock("a").await.is_ok(), "there is no replica");
}
