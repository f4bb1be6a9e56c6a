//! The statement guard: looks at the text of a statement before the server does.
//!
//! Row level security holds as long as the setting, the role and the transaction are those that the scope was opened
//! with. The closing batch finds out when they are not; the guard refuses beforehand what would change them. It admits
//! what reads and writes rows and refuses everything else, so that a statement of a later Postgres is refused until
//! somebody has looked at it.
//!
//! # What a guard can't see
//!
//! What a function or procedure of the database's own does: one that calls `set_config` or runs `EXECUTE` on a text it is
//! given, in whatever language, or that an extension brings (`dblink`, `crosstab`). Against text of an attacker that
//! finds one the answer is the signed mode, in which the server itself refuses a key that nobody has signed.

mod lexer;
mod rules;

pub use rules::Forbidden;
pub(crate) use rules::{check, check_query, first_keyword};

/// In the place of the rule of a record: the guard refused a statement.
pub(crate) const GUARD: &str = "pg.guard";
