//! `tenancy policy harden`.

use clap::Args;
use tenancy_pg::{hardening_sql_keeping, registrar_sql, signed_schema_sql};

use crate::args::Declared;
use crate::failure::Failure;
use crate::output::print;
use crate::verdict::Verdict;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    declared: Declared,
    /// The owner of the tenant tables.
    #[arg(long, value_name = "ROLE")]
    owner: String,
    /// The service's role; may be given more than once.
    #[arg(long, value_name = "ROLE", required = true)]
    app: Vec<String>,
    /// The role that reads the declared reports.
    #[arg(long, value_name = "ROLE")]
    report: Option<String>,
    /// The role that enters tenants into the registry of signed mode.
    #[arg(long, value_name = "ROLE")]
    registrar: Option<String>,
    /// A role that keeps temporary tables, DO blocks, set_config and the like, which every other role loses: the owner,
    /// for its migrations. Never the service's; may be given more than once.
    #[arg(long, value_name = "ROLE")]
    keep: Vec<String>,
}

pub(super) fn run(options: &Options) -> Result<Verdict, Failure> {
    let declaration = options.declared.read()?;
    if declaration.signed() {
        let apps: Vec<&str> = options.app.iter().chain(&options.report).map(String::as_str).collect();
        print(signed_schema_sql(&declaration, &options.owner, &apps))?;
        if let Some(role) = &options.registrar {
            print(registrar_sql(role))?;
        }
    }
    let keep: Vec<&str> = options.keep.iter().map(String::as_str).collect();
    print(hardening_sql_keeping(&keep))?;
    Ok(Verdict::PASSED)
}
