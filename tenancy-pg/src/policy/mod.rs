//! From a [`Declaration`](crate::Declaration) to SQL: policies, rights, keys, migrations.

mod adopt;
mod cut_off;
mod diff;
mod fault;
mod grants;
mod indexes;
mod isolation;
mod keys;
mod known;
mod led;
mod live;
mod migration;
mod names;
mod partitions;
mod registry;
mod reports;
mod rights;
mod roles;
mod run;
mod step;
mod table;
mod views;
mod wanted;

pub(crate) use adopt::key_text;
pub use cut_off::CutOff;
pub use fault::PlanFault;
pub(crate) use grants::LARGE_OBJECTS;
pub use grants::{grant_sql, hardening_sql, hardening_sql_keeping};
pub use migration::{Migration, MigrationFile};
pub(crate) use names::{POLICY, REPORT};
pub use roles::Roles;
pub use run::Progress;
pub use step::{Locks, Run, Step};
pub use table::policy_sql;
