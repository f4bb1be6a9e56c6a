//! The audit log on Postgres.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};
use tenancy_core::{AuditBatch, AuditError, AuditRecord, AuditSink, Life, RealmName, Redacted};
use tokio::sync::{Mutex, MutexGuard};
use uuid::Uuid;

use super::bridge::Bridge;
use crate::error::PgError;
use crate::options::quiet;

/// Audit records in `tenancy_control.audit`, of one realm, on a login role that may add and read and nothing else.
///
/// A batch is one statement, so all of it is durable or none of it is there, and no torn tail can be left. A batch whose
/// answer was lost is handed in again; the key (realm, writer, boot, sequence) shows that it arrived. Several processes
/// write side by side: chains are per writer.
///
/// It uses two connections, one to add and one to read, on a thread of its own, and none of any other pool. Records are
/// kept when their tenant is erased: they hold no content, and they are what shows the erasure.
///
/// What the *owner* of the table changes is found by [`tenancy_core::verify_log`] in an [export](Self::export), as far
/// as that goes.
///
/// ```no_run
/// # async fn run(owner: sqlx::postgres::PgConnectOptions) -> Result<(), Box<dyn std::error::Error>> {
/// use tenancy_core::RealmName;
/// use tenancy_pg::{PgAuditSink, migrate_audit};
///
/// migrate_audit(owner, "audit").await?; // with the other migrations
/// let realm = RealmName::parse("prod")?;
/// let sink = PgAuditSink::connect("postgres://audit@db.internal/rag".parse()?, &realm).await?; // for `.audit(sink)`
/// # drop(sink);
/// # Ok(())
/// # }
/// ```
pub struct PgAuditSink {
    bridge: Bridge,
    log: Arc<Log>,
}

impl PgAuditSink {
    /// Connects and looks at what the role may do. Dropped before it answers: nothing is left behind.
    ///
    /// # Errors
    /// [`PgError::ControlRole`] for a role that may, or can come to, change or remove records: a superuser, the owner
    /// of the table, one with UPDATE, DELETE, TRUNCATE or TRIGGER; and for one that may not add and read them.
    /// [`PgError`] when it can't connect.
    pub async fn connect(options: PgConnectOptions, realm: &RealmName) -> Result<Self, PgError> {
        let failed = |error: std::io::Error| PgError::Driver(Redacted::new(error.into()));
        let bridge = Bridge::start().map_err(failed)?;
        let link = || Link { options: quiet(options.clone()), spare: Mutex::default() };
        let log = Arc::new(Log { realm: realm.as_str().to_owned(), adding: link(), reading: link() });
        let checked = bridge.run(in_time(Arc::clone(&log).check())).await;
        checked.ok_or(PgError::Driver(Redacted::new(Panicked.into())))??;
        Ok(Self { bridge, log })
    }

    /// Writes every record of the realm as a line, for [`tenancy_core::verify_log`] or to be kept elsewhere; returns
    /// their number. Ordered by writer and start, and by number within. What is added meanwhile may be in it or not, but
    /// of each start it is a beginning without gaps. Blocks.
    ///
    /// # Errors
    /// [`AuditError`] when the log can't be read to its end, or the output fails.
    pub fn export(&self, out: &mut impl Write) -> Result<u64, AuditError> {
        let mut written = 0;
        let mut after = Place::default();
        loop {
            let page = self.wait(Arc::clone(&self.log).page(after.clone()))?;
            let Some((place, _)) = page.last() else { return Ok(written) };
            after = place.clone();
            for (_, line) in &page {
                out.write_all(line.as_bytes())?;
                out.write_all(b"\n")?;
                written += 1;
            }
        }
    }

    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, sqlx::Error>> + Send + 'static,
    ) -> Result<T, AuditError> {
        let done = self.bridge.block(in_time(work)).ok_or_else(|| AuditError::sink(Panicked))?;
        done.map_err(AuditError::sink)
    }
}

impl AuditSink for PgAuditSink {
    fn append(&self, batch: &AuditBatch<'_>) -> Result<(), AuditError> {
        let rows = Rows::of(batch, &self.log.realm)?;
        if self.wait(Arc::clone(&self.log).append(rows))? { Ok(()) } else { Err(AuditError::Altered) }
    }

    fn list(&self, life: Life) -> Result<Vec<AuditRecord>, AuditError> {
        let lines = self.wait(Arc::clone(&self.log).list(life.uuid()))?;
        let mut records = Vec::with_capacity(lines.len());
        for line in lines {
            let record = AuditRecord::parse(&line)?;
            // The columns beside the line are what found it; it must itself say that it is the tenant's to see.
            if !record.is_intact() || !(record.life() == Some(life) || record.everyone()) {
                return Err(AuditError::Altered);
            }
            records.push(record);
        }
        Ok(records)
    }
}

/// The log of one realm, used on the bridge's thread alone.
struct Log {
    realm: String,
    adding: Link,
    reading: Link,
}

/// A connection that one at a time may use.
struct Link {
    options: PgConnectOptions,
    spare: Mutex<Option<PgConnection>>,
}

/// A connection in use. Left by a dropped or failed use, it is closed.
struct Turn<'l> {
    place: MutexGuard<'l, Option<PgConnection>>,
    connection: PgConnection,
}

impl Link {
    /// A connection that answers; a spare one may have died while it lay.
    async fn take(&self) -> Result<Turn<'_>, sqlx::Error> {
        let mut place = self.spare.lock().await;
        if let Some(mut connection) = place.take()
            && connection.ping().await.is_ok()
        {
            return Ok(Turn { place, connection });
        }
        let mut connection = PgConnection::connect_with(&self.options).await?;
        connection.execute(DURABLE).await?;
        Ok(Turn { place, connection })
    }
}

impl Turn<'_> {
    fn end(mut self) {
        *self.place = Some(self.connection);
    }
}

impl Log {
    async fn check(self: Arc<Self>) -> Result<(), PgError> {
        let mut turn = self.reading.take().await?;
        let plain: Option<bool> =
            sqlx::query_scalar(APPENDS_ONLY).fetch_optional(&mut turn.connection).await?.flatten();
        turn.end();
        if plain == Some(true) { Ok(()) } else { Err(PgError::ControlRole) }
    }

    /// Adds all rows or none. `false`: some of these places are taken, by other records.
    async fn append(self: Arc<Self>, rows: Rows) -> Result<bool, sqlx::Error> {
        let mut turn = self.adding.take().await?;
        let added = match rows.bind(sqlx::query(APPEND)).execute(&mut turn.connection).await {
            Ok(_) => true,
            // Nothing of the batch was written by this statement: is it there from an earlier one?
            Err(error) if error.as_database_error().is_some_and(|e| e.is_unique_violation()) => {
                let same: i64 = rows.bind_scalar(sqlx::query_scalar(SAME)).fetch_one(&mut turn.connection).await?;
                usize::try_from(same) == Ok(rows.lines.len())
            }
            Err(error) => return Err(error),
        };
        turn.end();
        Ok(added)
    }

    async fn list(self: Arc<Self>, life: Uuid) -> Result<Vec<String>, sqlx::Error> {
        let mut turn = self.reading.take().await?;
        let lines = sqlx::query_scalar(LIST).bind(&self.realm).bind(life).fetch_all(&mut turn.connection).await?;
        turn.end();
        Ok(lines)
    }

    async fn page(self: Arc<Self>, after: Place) -> Result<Vec<(Place, String)>, sqlx::Error> {
        let mut turn = self.reading.take().await?;
        let rows: Vec<(String, Uuid, i64, String)> = sqlx::query_as(PAGE)
            .bind(&self.realm)
            .bind(&after.writer)
            .bind(after.boot)
            .bind(after.sequence)
            .fetch_all(&mut turn.connection)
            .await?;
        turn.end();
        let rows = rows.into_iter();
        Ok(rows.map(|(writer, boot, sequence, line)| (Place { writer, boot, sequence }, line)).collect())
    }
}

/// Where a record stands; the default is before all.
#[derive(Clone, Default)]
struct Place {
    writer: String,
    boot: Uuid,
    sequence: i64,
}

/// A batch as columns.
struct Rows {
    realm: String,
    writers: Vec<String>,
    boots: Vec<Uuid>,
    sequences: Vec<i64>,
    lives: Vec<Option<Uuid>>,
    everyone: Vec<bool>,
    lines: Vec<String>,
}

type Bound<'q> = sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;
type BoundScalar<'q> = sqlx::query::QueryScalar<'q, sqlx::Postgres, i64, sqlx::postgres::PgArguments>;

impl Rows {
    /// A record of another realm would be shown to this one's tenants if it reaches everyone.
    fn of(batch: &AuditBatch<'_>, realm: &str) -> Result<Self, AuditError> {
        let records = batch.records();
        if records.iter().any(|record| record.realm() != realm) {
            return Err(AuditError::NotALog);
        }
        Ok(Self {
            realm: realm.to_owned(),
            writers: records.iter().map(AuditRecord::writer).collect(),
            boots: records.iter().map(AuditRecord::boot).collect(),
            sequences: records.iter().map(|record| i64::try_from(record.sequence()).unwrap_or(i64::MAX)).collect(),
            lives: records.iter().map(|record| record.life().map(Life::uuid)).collect(),
            everyone: records.iter().map(AuditRecord::everyone).collect(),
            lines: records.iter().map(AuditRecord::to_json).collect(),
        })
    }

    fn bind<'q>(&'q self, query: Bound<'q>) -> Bound<'q> {
        let query = query.bind(&self.realm).bind(&self.writers).bind(&self.boots).bind(&self.sequences);
        query.bind(&self.lines).bind(&self.lives).bind(&self.everyone)
    }

    fn bind_scalar<'q>(&'q self, query: BoundScalar<'q>) -> BoundScalar<'q> {
        query.bind(&self.realm).bind(&self.writers).bind(&self.boots).bind(&self.sequences).bind(&self.lines)
    }
}

/// The writer's thread must come back, whatever the server does: it tries again.
async fn in_time<T, E: From<sqlx::Error>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut.into()))
}

#[derive(Debug, thiserror::Error)]
#[error("the thread of the audit log panicked")]
struct Panicked;

const PATIENCE: Duration = Duration::from_secs(10);

/// `off` would call a batch written that a crash of the server takes away. Stronger settings stay.
const DURABLE: &str = "
select pg_catalog.set_config('synchronous_commit', 'on', false)
where pg_catalog.current_setting('synchronous_commit') operator(pg_catalog.=) 'off'";

const APPEND: &str = "
insert into tenancy_control.audit (realm, writer, boot, sequence, line, life, everyone)
select $1, b.* from unnest($2::text[], $3::uuid[], $4::bigint[], $5::text[], $6::uuid[], $7::bool[]) as b";

const SAME: &str = "
select count(*) from tenancy_control.audit a
join unnest($2::text[], $3::uuid[], $4::bigint[], $5::text[]) as b(writer, boot, sequence, line)
    on a.realm = $1 and a.writer = b.writer and a.boot = b.boot and a.sequence = b.sequence and a.line = b.line";

const LIST: &str = "
select line from (
    select id, line from tenancy_control.audit where realm = $1 and life = $2
    union select id, line from tenancy_control.audit where realm = $1 and everyone
) as mine order by id";

const PAGE: &str = "
select writer, boot, sequence, line from tenancy_control.audit
where realm = $1 and (writer, boot, sequence) > ($2, $3, $4)
order by writer, boot, sequence limit 1000";

/// Rights count for every role within reach.
const APPENDS_ONLY: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
)
select has_table_privilege(c.oid, 'INSERT') and has_table_privilege(c.oid, 'SELECT') and not exists (
    select from me join pg_catalog.pg_roles r on r.oid = me.u
    where r.rolsuper or r.rolbypassrls or pg_has_role(u, c.relowner, 'MEMBER')
       or has_table_privilege(u, c.oid, 'UPDATE, DELETE, TRUNCATE, TRIGGER')
       or has_any_column_privilege(u, c.oid, 'UPDATE'))
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'tenancy_control' and c.relname = 'audit'";
