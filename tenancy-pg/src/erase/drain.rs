//! Waiting until nothing is open that could still see the life.

use std::time::{Duration, Instant};

use tenancy_core::Life;

use super::PgEraser;
use crate::error::PgError;

/// What the server shows of open transactions.
#[derive(sqlx::FromRow)]
struct Open {
    /// Whether the role is shown when other sessions' transactions began.
    sees: bool,
    /// Seconds until no context of the life can begin one any more.
    wait: f64,
    older: bool,
}

impl PgEraser {
    /// Waits out the fence's age, and then every transaction that began before that, prepared ones included. `false`:
    /// the role may not see other sessions, so nobody can say.
    pub(super) async fn drain(&self, life: Life) -> Result<bool, PgError> {
        let began = Instant::now();
        loop {
            let open: Open =
                sqlx::query_as(OPEN).bind(life.uuid()).bind(self.horizon.as_secs_f64()).fetch_one(&self.pool).await?;
            let wait = Duration::try_from_secs_f64(open.wait).unwrap_or(Duration::ZERO);
            if wait.is_zero() && !open.sees {
                return Ok(false);
            }
            if wait.is_zero() && !open.older {
                return Ok(true);
            }
            if began.elapsed() > self.patience {
                return Err(PgError::NotDrained);
            }
            tokio::time::sleep(wait.clamp(TICK, self.patience.max(TICK))).await;
        }
    }
}

const TICK: Duration = Duration::from_millis(50);

/// Vacuum and replication show no rows to anybody.
const OPEN: &str = "
with fence as (
    select fenced_at + pg_catalog.make_interval(secs => $2) as at from tenancy_erasure.run where life = $1
)
select pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE') as sees,
       greatest(extract(epoch from at - pg_catalog.clock_timestamp()), 0)::float8 as wait,
       exists (select from pg_catalog.pg_stat_activity
               where datname = current_database() and pid <> pg_catalog.pg_backend_pid() and xact_start <= fence.at
                 and backend_type not in ('autovacuum worker', 'walsender'))
       or exists (select from pg_catalog.pg_prepared_xacts
                  where database = current_database() and prepared <= fence.at) as older
from fence";
