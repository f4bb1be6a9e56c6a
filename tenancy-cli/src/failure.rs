//! Why a command could not do its work. Its text is for whoever typed it, and quotes no secret.

use std::io;

use tenancy_pg::{PgError, PlanFault};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Not quoted: it may hold a password.
    #[error("the database URL can't be read; it has the form postgres://role@host/database")]
    Url,
    #[error("{path} is not there (`tenancy init --out {path}` proposes one)")]
    NoConfig { path: String },
    #[error("{place}: {why}")]
    Config { place: String, why: String },
    #[error("{error}{}", hint(.error))]
    Database {
        #[from]
        error: PgError,
    },
    #[error(transparent)]
    Plan(#[from] PlanFault),
    #[error("{path} can't be written: {source}")]
    Write { path: String, source: io::Error },
    #[error("{path}: the name of a migration is a number, an underscore and a word: 20270101000000_tenancy")]
    Files { path: String },
    /// Nothing of what was typed is quoted.
    #[error("{name}: {why}")]
    Argument { name: &'static str, why: String },
    /// Nothing of the key is quoted.
    #[error("{path}: {why}")]
    Key { path: String, why: String },
    #[error("no threads to work with: {0}")]
    Runtime(io::Error),
}

/// The driver's own text may hold a URL or a password, so it is withheld; what usually is the matter is not.
fn hint(error: &PgError) -> String {
    let hint = match error {
        PgError::Step { source, .. } => {
            let denied = matches!(&**source, PgError::Database(e) if e.sqlstate() == Some("42501"));
            return format!(
                ": {source}{}{} (the steps before it stay done: mend it, and the same command does the rest)",
                hint(source),
                if denied { ": connect as the owner of the tables" } else { "" }
            );
        }
        PgError::Driver(_) => ": is the server up, and do host, role and password in DATABASE_URL hold?",
        PgError::Database(e) if e.sqlstate() == Some("28P01") => ": the password is wrong",
        PgError::Database(e) if e.sqlstate() == Some("28000") => ": the server does not let this role in",
        PgError::Database(e) if e.sqlstate() == Some("3D000") => ": there is no database of that name",
        PgError::SignedMismatch => {
            " (name the key's file with --signing-key where the declaration is signed, and only there)"
        }
        PgError::Plan(PlanFault::NoReportRole) => " with --report",
        PgError::NeedsLife => " (say --life-a and --life-b)",
        PgError::ProbeLeaves(_) => " (nothing was tried; say --disposable if this is a copy where that may stay)",
        _other => "",
    };
    hint.to_owned()
}
