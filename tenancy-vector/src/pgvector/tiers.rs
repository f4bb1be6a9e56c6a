//! Placements and notes in Postgres, for several processes.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use tenancy_core::{CellName, Reason};
use tenancy_pg::PgError;
use tenancy_pg::sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tenancy_pg::sqlx::{self, ConnectOptions};
use uuid::Uuid;

use super::error::PgVectorError;
use super::pair::quoted;
use crate::error::BackendError;
use crate::id::PointKey;
use crate::scope::{DropScope, VectorScope, WriteScope};
use crate::tiers::{Note, Notes, Placement, Tiers};

/// Where each life is and what is written while it moves, in two tables of the schema `tenancy_tiers`, on a login role of
/// their own: what a service's own SQL could set, an injected statement could set too, and a tenant's points would be
/// looked for where they are not. The extension is not needed. Cheap to clone.
///
/// The two tables are as old as the back ends, or nearly so: brought back from an older copy they say of a life that moved since
/// that it is where it was. It reads as empty there, or as what was written there since. A move of it is refused as long as the
/// other back end has a point that is not where the life is said to be, or differs there
/// ([`Misplaced`](crate::VectorError::Misplaced)); which of both is right nobody but an operator can tell. If the copy was made in
/// the middle of a move of the life, only payloads are compared, or, when reads had turned or the move was given up, only ids;
/// and points that were noted in it are not missed. Restore them together with the back ends.
///
/// Each call is one statement, or several of which each leaves what the next can go on with: dropped, none is half done.
///
/// ```no_run
/// # async fn run(
/// #     realm: &tenancy_core::Realm,
/// #     operator: &tenancy_core::TenantContext,
/// #     shared: impl tenancy_vector::VectorBackend,
/// #     dedicated: impl tenancy_vector::VectorBackend,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// use tenancy_core::CellName;
/// use tenancy_vector::pgvector::PgTiers;
/// use tenancy_vector::Schema;
/// use tenancy_vector::tiers::{Mover, Tier, TieredBackend};
///
/// // The owner has run `PgTiers::migration_sql("vector_tiers")`.
/// let store = CellName::parse("documents")?;
/// let tiers = PgTiers::connect("postgres://vector_tiers@db.internal/rag".parse()?, &store).await?;
/// let tiered = TieredBackend::new(shared, dedicated, tiers);
/// let mover = Mover::new(realm, tiered, Schema::hybrid(768)?);
/// mover.scoped(operator)?.move_to(Tier::Dedicated, |points| println!("{points} copied")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PgTiers {
    pool: PgPool,
    store: CellName,
}

impl PgTiers {
    /// Connects, with up to 8 connections, for the store of a name: several may have their placements in one database, and
    /// a life has a place in each. Dropped before it answers: nothing is left behind.
    ///
    /// # Errors
    /// [`PgVectorError::Database`]: [`PgError::ControlRole`] for a superuser, a role with BYPASSRLS, and one that may use
    /// other tables, as the service's own; others when it can't connect.
    pub async fn connect(login: PgConnectOptions, store: &CellName) -> Result<Self, PgVectorError> {
        // What the server says quotes data.
        let quiet = login.disable_statement_logging().options([("client_min_messages", "error")]);
        let pool = PgPoolOptions::new().max_connections(8).connect_with(quiet).await?;
        let too_much: Option<bool> = sqlx::query_scalar(TOO_MUCH).fetch_one(&pool).await?;
        if too_much == Some(false) { Ok(Self { pool, store: store.clone() }) } else { Err(PgError::ControlRole.into()) }
    }

    /// A life in this store. A name of a store has no slash.
    fn place(&self, scope: &VectorScope<'_>) -> String {
        format!("{}/{}", self.store, scope.partition())
    }

    /// The statements that make the schema and its tables where they are not there, and let a role use them that is neither
    /// the service's nor the one that drops lives. For the owner, in a migration. Idempotent.
    #[must_use]
    pub fn migration_sql(role: &str) -> String {
        format!("{SCHEMA}{}", RIGHTS.replace("{role}", &quoted(role)))
    }
}

#[async_trait]
impl Tiers for PgTiers {
    async fn placement(&self, scope: &VectorScope<'_>) -> Result<Placement, BackendError> {
        let sql = "select placement::text from tenancy_tiers.placement where life = $1";
        let kept: Option<Option<String>> =
            sqlx::query_scalar(sql).bind(self.place(scope)).fetch_optional(&self.pool).await.map_err(failed)?;
        match kept {
            None => Ok(Placement::FIRST),
            Some(None) => Err(BackendError::Dropped),
            Some(Some(text)) => serde_json::from_str(&text).map_err(BackendError::failed),
        }
    }

    async fn replace(&self, scope: &WriteScope<'_>, from: Placement, to: Placement) -> Result<bool, BackendError> {
        let text = |placement: &Placement| serde_json::to_string(placement).map_err(BackendError::failed);
        let first =
            "insert into tenancy_tiers.placement (life, placement) values ($1, $2::jsonb) on conflict do nothing";
        let first = sqlx::query(first).bind(self.place(scope)).bind(text(&Placement::FIRST)?);
        let mut transaction = self.pool.begin().await.map_err(failed)?;
        first.execute(&mut *transaction).await.map_err(failed)?;
        sqlx::query(LOCK).bind(self.place(scope)).execute(&mut *transaction).await.map_err(failed)?;
        let set = sqlx::query_scalar(REPLACE).bind(self.place(scope)).bind(text(&from)?).bind(text(&to)?);
        let set: i64 = set.bind(!to.is_moving()).fetch_one(&mut *transaction).await.map_err(failed)?;
        transaction.commit().await.map_err(failed)?;
        Ok(set > 0)
    }

    async fn note(&self, scope: &WriteScope<'_>, note: Note) -> Result<(), BackendError> {
        let kept = sqlx::query(NOTE).bind(self.place(scope)).bind(note.id()).bind(note.to_bytes());
        let kept = kept.execute(&self.pool).await.map_err(failed)?;
        // A life that is written with notes has a row, so long as it was not dropped.
        if kept.rows_affected() == 1 { Ok(()) } else { Err(BackendError::Dropped) }
    }

    async fn close(&self, scope: &WriteScope<'_>, note: Uuid) -> Result<(), BackendError> {
        let sql = "update tenancy_tiers.note set closed = true where life = $1 and id = $2";
        sqlx::query(sql).bind(self.place(scope)).bind(note).execute(&self.pool).await.map(drop).map_err(failed)
    }

    async fn notes(&self, scope: &VectorScope<'_>, age: Duration) -> Result<Notes, BackendError> {
        let kept = sqlx::query_as(NOTES).bind(self.place(scope)).bind(age.as_secs_f64());
        let kept: Vec<(Uuid, Option<Vec<u8>>)> = kept.fetch_all(&self.pool).await.map_err(failed)?;
        let mut notes = Notes::default();
        for (id, keys) in kept {
            match keys {
                None => notes.open += 1,
                Some(keys) => notes.closed.push(Note::kept(id, &keys).ok_or_else(|| BackendError::because("no note"))?),
            }
        }
        Ok(notes)
    }

    async fn noted(&self, scope: &VectorScope<'_>, keys: &[PointKey]) -> Result<Vec<PointKey>, BackendError> {
        let asked: Vec<_> = keys.iter().map(|key| key.to_bytes().to_vec()).collect();
        let noted = sqlx::query_scalar(NOTED).bind(self.place(scope)).bind(asked);
        let noted: HashSet<Vec<u8>> = noted.fetch_all(&self.pool).await.map_err(failed)?.into_iter().collect();
        Ok(keys.iter().filter(|key| noted.contains(&key.to_bytes()[..])).copied().collect())
    }

    async fn forget(&self, scope: &WriteScope<'_>, notes: &[Uuid]) -> Result<(), BackendError> {
        let sql = "delete from tenancy_tiers.note where life = $1 and id = any($2)";
        sqlx::query(sql).bind(self.place(scope)).bind(notes).execute(&self.pool).await.map(drop).map_err(failed)
    }

    async fn drop_life(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        // One after the other: the second sees the notes whose writers the first has waited for.
        for sql in DROP {
            sqlx::query(sql).bind(self.place(scope)).execute(&self.pool).await.map_err(failed)?;
        }
        Ok(())
    }
}

fn failed(error: sqlx::Error) -> BackendError {
    BackendError::Failed(Reason::told(PgError::from(error)))
}

const TOO_MUCH: &str = "
select bool_or(rolsuper or rolbypassrls) or exists (
    select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema', 'tenancy_tiers')
    and pg_catalog.has_table_privilege(c.oid, 'select, insert, update, delete, truncate'))
from pg_catalog.pg_roles where rolname in (session_user, current_user)";

/// A life without a placement was dropped. The row stays: nobody places that life again.
const SCHEMA: &str = "
create schema if not exists tenancy_tiers;
revoke all on schema tenancy_tiers from public;
create table if not exists tenancy_tiers.placement (
    life text primary key,
    placement jsonb
);
create table if not exists tenancy_tiers.note (
    life text not null references tenancy_tiers.placement,
    id uuid not null,
    keys bytea not null,
    kept timestamptz not null default clock_timestamp(),
    closed boolean not null default false,
    primary key (life, id)
);
";

const RIGHTS: &str = "
revoke all on all tables in schema tenancy_tiers from public, {role};
grant usage on schema tenancy_tiers to {role};
grant select, insert, update on tenancy_tiers.placement to {role};
grant select, insert, update (closed), delete on tenancy_tiers.note to {role};
";

/// Notes that are being kept are waited for: a statement does not see what was not there when it began.
const LOCK: &str = "select from tenancy_tiers.placement where life = $1 for update";

/// In one statement, so that the notes of the next move are not taken for those of this one.
const REPLACE: &str = "
with set as (
    update tenancy_tiers.placement set placement = $3::jsonb where life = $1 and placement = $2::jsonb returning life
), forgotten as (
    delete from tenancy_tiers.note where $4 and life in (select life from set)
)
select count(*) from set";

/// The lock keeps the life from being dropped until the note is there to be dropped with it.
const NOTE: &str = "
insert into tenancy_tiers.note (life, id, keys)
select life, $2, $3 from tenancy_tiers.placement where life = $1 and placement is not null for share";

/// Those that are over first, with their keys, so that what is left out is never what is told by its absence.
const NOTES: &str = "
select id, case when is_over then keys end
from (
    select id, keys, kept, closed or kept <= clock_timestamp() - make_interval(secs => $2) as is_over
    from tenancy_tiers.note where life = $1
) of_life
order by is_over desc, kept
limit 1000";

/// Keys have 32 bytes.
const NOTED: &str = "
select distinct key
from tenancy_tiers.note
cross join lateral (select substring(keys from place for 32) from generate_series(1, length(keys), 32) place) of_note (key)
where life = $1 and key in (select unnest($2::bytea[]))";

const DROP: [&str; 2] = [
    "insert into tenancy_tiers.placement (life, placement) values ($1, null) on conflict (life) do update set placement = null",
    "delete from tenancy_tiers.note where life = $1",
];

impl fmt::Debug for PgTiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PgTiers")
    }
}
