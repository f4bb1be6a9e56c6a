//! What leaves nothing of its last user in a session, and what shows it.
//!
//! Commands undo what they can: they cost next to nothing, and a name that somebody put in front of another means nothing
//! to them. The rest is asked for, in words each time: a statement that got past the guard could put another one into the
//! place of a prepared question.

use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::session::Identity;

/// Puts the session back to where it started: `reset` is how its settings go back, `home` what it then holds. Each
/// command has a semicolon behind it.
pub(crate) fn undoing(reset: &str, home: &str) -> String {
    format!(
        "set session authorization default; set role none; {reset}close all; unlisten *; discard sequences; \
         set seed = {}; {home}",
        seed()
    )
}

/// Whether a cleaning showed a session of this client's own that is clean. The driver, which knows how many statements it
/// has prepared, has all of them and nobody has others.
pub(crate) fn shows_clean(rows: &[PgRow], identity: &Identity, driver: usize) -> bool {
    let [.., who, answer] = rows else { return false };
    let (left, all): (Result<bool, _>, Result<i64, _>) = (answer.try_get(0), answer.try_get(1));
    shows(who, identity) && matches!((left, all), (Ok(false), Ok(all)) if usize::try_from(all) == Ok(driver))
}

/// Whether a row shows that it is this session that answers.
pub(crate) fn shows(who: &PgRow, identity: &Identity) -> bool {
    who.try_get::<&str, _>(0).is_ok_and(|word| word == identity.word)
}

/// A seed for the next borrower's `random()` that nobody could have chosen, between 0 and 1.
fn seed() -> String {
    format!("0.{:015}", Uuid::new_v4().as_u128() % 1_000_000_000_000_000)
}

/// What no command undoes: whether there is a temporary schema or a statement that was prepared in SQL, and how many
/// there are with the driver's.
pub(crate) const QUESTION: &str = "select pg_catalog.pg_my_temp_schema() operator(pg_catalog.<>) 0::pg_catalog.oid \
                                   or coalesce(pg_catalog.bool_or(from_sql), false), pg_catalog.count(*), \
                                   pg_catalog.pg_advisory_unlock_all() from pg_catalog.pg_prepared_statement()";

/// On a session that is shared, whose prepared statements are other clients'.
pub(crate) const UNLOCK: &str = "select pg_catalog.pg_advisory_unlock_all()";

/// Of a shared session, in the transaction that opens it: whose it was before, nobody knows.
pub(crate) const FOUND_CLEAN: &str = "current_user operator(pg_catalog.=) session_user \
     and not exists (select from pg_catalog.pg_prepared_statements where from_sql) \
     and (pg_catalog.pg_my_temp_schema() operator(pg_catalog.=) 0::pg_catalog.oid or not exists \
     (select from pg_catalog.pg_depend \
      where refclassid operator(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass \
      and refobjid operator(pg_catalog.=) pg_catalog.pg_my_temp_schema()))";
