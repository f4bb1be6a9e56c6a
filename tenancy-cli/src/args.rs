//! The command line.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tenancy_core::{Life, RowKey, TenantId};
use tenancy_pg::{Declaration, DeclarationError, PgOptions, Pooler, RowKeyType};

use crate::failure::Failure;
use crate::{init, inspect, policy, probe_salt, signing_key, vectors};

#[derive(Parser)]
#[command(name = "tenancy", version, about = "Does this database keep tenants apart?", disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Propose a tenancy.toml from a live database. Reads the catalog only.
    Init(init::Options),
    /// Inspect a database as the role that the service uses. Changes nothing.
    Inspect(inspect::Options),
    /// Write, compare and try the policies of the declared tables.
    #[command(subcommand)]
    Policy(policy::Options),
    /// Make, install and retire the keys of signed mode.
    #[command(subcommand)]
    SigningKey(signing_key::Options),
    /// Write the tables of vectors, of tenants and of corpora that all of them read.
    #[command(subcommand)]
    Vectors(vectors::Options),
    /// Ask an inference engine whether its salts keep prefixes of prompts apart.
    #[command(long_about = probe_salt::ABOUT)]
    ProbeSalt(probe_salt::Options),
}

/// Which database.
#[derive(Args)]
pub(crate) struct Target {
    /// postgres://role@host/database. Other processes of this machine can read a command line: a password belongs into
    /// the variable, or into ~/.pgpass.
    #[arg(long, value_name = "URL", env = "DATABASE_URL", hide_env_values = true)]
    database_url: String,
    /// What stands between this command and the server.
    #[arg(long, value_enum, default_value_t = Between::None)]
    pooler: Between,
}

#[derive(Clone, Copy, ValueEnum)]
enum Between {
    None,
    Session,
    Transaction,
}

impl From<Between> for Pooler {
    fn from(between: Between) -> Self {
        match between {
            Between::None => Self::None,
            Between::Session => Self::Session,
            Between::Transaction => Self::Transaction,
        }
    }
}

impl Target {
    pub(crate) fn options(&self) -> Result<PgOptions, Failure> {
        Ok(PgOptions::new(self.connect()?).pooler(self.pooler.into()))
    }

    /// Where to connect. The library's types say which driver's options that are.
    pub(crate) fn connect<O: FromStr>(&self) -> Result<O, Failure> {
        parse_url(&self.database_url)
    }
}

/// The driver would take another database's URL for its own and say that nobody answers there.
pub(crate) fn parse_url<O: FromStr>(url: &str) -> Result<O, Failure> {
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(Failure::Url);
    }
    url.parse().map_err(|_quotes_the_url| Failure::Url)
}

/// Which tables.
#[derive(Args)]
pub(crate) struct Declared {
    /// The declaration: the section `[database]` of this file.
    #[arg(long, value_name = "FILE", default_value = "tenancy.toml")]
    config: PathBuf,
}

impl Declared {
    pub(crate) fn read(&self) -> Result<Declaration, Failure> {
        let path = self.config.display().to_string();
        let text = std::fs::read_to_string(&self.config).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::NoConfig { path: path.clone() },
            _ => Failure::Config { place: path.clone(), why: error.to_string() },
        })?;
        Declaration::from_toml(&text).map_err(|error| match error {
            DeclarationError::Toml { line, why } => Failure::Config { place: format!("{path}:{line}"), why },
            other => Failure::Config { place: path, why: other.to_string() },
        })
    }
}

/// A row key of the declared type. What was typed is not quoted: it is a tenant's.
pub(crate) fn row_key(name: &'static str, text: &str, declaration: &Declaration) -> Result<RowKey, Failure> {
    let Some(table) = declaration.tenant_tables().first() else {
        return Err(Failure::Argument { name, why: "no tenant table is declared".to_owned() });
    };
    let (kind, key) = match table.key() {
        RowKeyType::Uuid => ("uuid", Life::parse(text).ok().map(RowKey::from)),
        RowKeyType::BigInt => ("bigint", text.parse().ok().map(RowKey::BigInt)),
        RowKeyType::Text => ("text", TenantId::parse(text).ok().map(RowKey::Text)),
        _later => ("unknown here", None),
    };
    key.ok_or_else(|| Failure::Argument { name, why: format!("this is no row key of the declared type, {kind}") })
}

/// The life of a tenant.
pub(crate) fn life(name: &'static str, text: &str) -> Result<Life, Failure> {
    Life::parse(text).map_err(|e| Failure::Argument { name, why: e.to_string() })
}
