//! What can be wrong with tables and roles, in words of ours. Names of schemas, tables, columns, roles and policies are the
//! operator's own, as SQL writes them; no value of a row is among them.

use tenancy_core::{Reason, Tellable};

use crate::error::BackendError;

/// Why tables are not used, or a role is not.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    /// Of a finding of the inspection, which says more of it.
    #[error("the inspection finds {code} ({title}) at {object}: `tenancy inspect` says how it is mended")]
    Found { code: &'static str, title: &'static str, object: String },
    #[error("{table} is not there: run the migration as its owner")]
    Missing { table: String },
    #[error(
        "{table} was made for another schema of vectors, or not by the migration: its comment does not say this one"
    )]
    OtherSchema { table: String },
    #[error("{table} has no column {column} of the type {kind}")]
    Column { table: String, column: String, kind: String },
    #[error("{table} {what}")]
    Table { table: String, what: &'static str },
    #[error("the policy {policy} on {table} is not there or not as the migration makes it")]
    PolicyMissing { table: String, policy: &'static str },
    #[error("the policy {policy} on {table} is none of the migration's")]
    PolicyMore { table: String, policy: String },
    #[error("the role {role} {what}")]
    Role { role: String, what: &'static str },
    #[error("the role {role} is or can become the owner of {table}")]
    Owner { role: String, table: String },
    #[error("the role {role} reaches {table}, which is not for it")]
    Beyond { role: String, table: String },
    #[error("the role {role} has no right to {right} on {table}: run the migration again with this role")]
    RightMissing { role: String, right: &'static str, table: String },
    #[error("the role {role} has the right to {right} on {table}, which the migration does not give")]
    RightMore { role: String, right: String, table: String },
    #[error("the server does not let the role {role} look into {tables}: {what}")]
    MayNotLook { role: String, tables: String, what: &'static str },
    #[error("the server lets nobody in with the login that {task}: the role or its password, or the right to connect")]
    Login { task: &'static str },
}

impl Tellable for Unfit {}

impl From<Unfit> for BackendError {
    fn from(unfit: Unfit) -> Self {
        Self::Unfit(Reason::told(unfit))
    }
}
