//! `tenancy policy`: a file for each of its commands.

mod adopt;
mod diff;
mod generate;
mod harden;
mod output;
mod probe;

use clap::{Args, Subcommand};
use tenancy_pg::Roles;

use crate::failure::Failure;
use crate::verdict::Verdict;

/// Migrations that make tables keep tenants apart, and whether they do.
#[derive(Subcommand)]
pub(crate) enum Options {
    /// Print the migration that protects the declared tables, without a look at a database.
    Generate(generate::Options),
    /// Compare a live database with the declaration and print the smallest migration that brings it there. Exits with 1
    /// unless it is there already. Connect as the owner of the tables.
    Diff(diff::Options),
    /// Plan how tables in use that knew no tenants come to the declaration, all their rows as one tenant's, without anybody
    /// waiting longer than an instant; print the steps, or run them. Connect as the owner of the tables.
    Adopt(adopt::Options),
    /// Print what only a superuser can run, once in each database: the schema of signed mode where it is declared, and
    /// the rights that no role of a service should have.
    Harden(harden::Options),
    /// Try, as the service, to cross from one tenant to another, and tell what crossed.
    #[command(long_about = probe::ABOUT)]
    Probe(probe::Options),
}

pub(crate) async fn run(options: Options) -> Result<Verdict, Failure> {
    match options {
        Options::Generate(options) => generate::run(&options),
        Options::Diff(options) => diff::run(options).await,
        Options::Adopt(options) => adopt::run(options).await,
        Options::Harden(options) => harden::run(&options),
        Options::Probe(options) => probe::run(options).await,
    }
}

#[derive(Args)]
struct RoleNames {
    /// The service's role.
    #[arg(long, value_name = "ROLE")]
    app: String,
    /// The role that reads the declared reports.
    #[arg(long, value_name = "ROLE")]
    report: Option<String>,
    /// The role that enters tenants into the registry.
    #[arg(long, value_name = "ROLE")]
    registrar: Option<String>,
}

impl RoleNames {
    fn roles(&self) -> Roles {
        let mut roles = Roles::new(&self.app);
        if let Some(role) = &self.report {
            roles = roles.report(role);
        }
        if let Some(role) = &self.registrar {
            roles = roles.registrar(role);
        }
        roles
    }
}
