//! `tenancy inspect`.

use clap::{Args, ValueEnum};
use tenancy_pg::{Code, InspectPolicy, Inspection, Severity};

use crate::args::{Declared, Target, parse_url};
use crate::failure::Failure;
use crate::fix_sql::fix_sql;
use crate::output::{print, tell};
use crate::verdict::Verdict;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    declared: Declared,
    /// How the role logs in that reads reports across tenants, to look at it too. As --database-url: a password belongs
    /// into the variable.
    #[arg(long, value_name = "URL", env = "REPORTS_URL", hide_env_values = true)]
    reports_url: Option<String>,
    #[command(flatten)]
    output: Output,
    /// Exit with 3 when there are warnings.
    #[arg(long)]
    deny_warnings: bool,
    /// What a server below the minimum minor release means.
    #[arg(long, value_enum, default_value_t = Level::Warning)]
    server_floor: Level,
    /// What it means that the service may use large objects, which have no policies.
    #[arg(long, value_enum, default_value_t = Level::Warning)]
    shared_objects: Level,
}

/// For people, unless one of these is given.
#[derive(Args)]
#[group(multiple = false)]
struct Output {
    /// The whole report as JSON.
    #[arg(long)]
    json: bool,
    /// The whole report as SARIF 2.1.0, for code scanning.
    #[arg(long)]
    sarif: bool,
    /// Only the statements that mend what was found, to read and then run as an owner or superuser.
    #[arg(long)]
    fix_sql: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Warning,
    Fatal,
}

impl From<Level> for Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Warning => Self::Warning,
            Level::Fatal => Self::Fatal,
        }
    }
}

pub(crate) async fn run(options: Options) -> Result<Verdict, Failure> {
    let declaration = options.declared.read()?;
    let policy =
        InspectPolicy::new().server_floor(options.server_floor.into()).shared_objects(options.shared_objects.into());
    let mut target = options.target.options()?;
    if let Some(url) = &options.reports_url {
        target = target.reports(parse_url(url)?);
    }
    let inspection = tenancy_pg::inspect(&target, &declaration, policy).await?;
    if inspection.has(Code::Ownership) {
        let login = &inspection.session_user;
        tell(format_args!(
            "{login:?} is, or can become, the owner of what is inspected: inspect as the service's role"
        ));
    }
    options.output.print(&inspection)?;
    Ok(Verdict::of(&inspection.findings, options.deny_warnings))
}

impl Output {
    fn print(&self, inspection: &Inspection) -> Result<(), Failure> {
        if self.json {
            print(format_args!("{:#}\n", serde_json::json!(inspection)))
        } else if self.sarif {
            print(format_args!("{:#}\n", inspection.sarif()))
        } else if self.fix_sql {
            print(fix_sql(&inspection.findings))
        } else {
            print(inspection)
        }
    }
}
