//! `tenancy policy probe`.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use tenancy_core::RowKey;
use tenancy_pg::{Command, Crossing, Declaration, ProbeOptions, ProbeProgress, ProbeReport, SigningKeys};

use crate::args::{Declared, Target, life, row_key};
use crate::failure::Failure;
use crate::inspect::Level;
use crate::output::{print, tell};
use crate::signing_key;
use crate::verdict::Verdict;

/// What `--help` says.
pub(super) const ABOUT: &str = "\
Try, as the service, to cross from one tenant to another, and tell what crossed.

The inspection judges by the catalog; this tries. In the scope of each of two tenants, and in nobody's, it reads, writes, \
empties and calls what is within reach; where scopes are signed it opens them with real seals (--signing-key) and tries \
forged ones. Both tenants need rows in each table: only of a table in which each saw its own \
rows and none of the other's does silence say anything.

What it does to the database: every attempt is in a transaction that is rolled back. It locks tables for moments and \
leaves dead rows to vacuum. Sequences, functions, triggers and foreign tables are tried too, and what those do outside of \
the transaction no roll-back takes back: where there are any within reach it lists them and refuses to run, unless \
--disposable says that this is a copy.

Exit codes: 0, nothing crossed; 1, rows crossed; 2, it could not look, or neither tenant saw a row of its own; 3, with \
--deny-warnings, where a row's existence was told, or a declared table was not proven.";

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    declared: Declared,
    /// The row key of the first tenant, as the tenant column holds it.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    a: String,
    /// The row key of the second tenant.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    b: String,
    /// A text that is in rows of the first tenant and nowhere else. With the other it shows rows where no tenant column
    /// does: in views, results of functions, tables that nobody declared. Row keys that are uuids show them anyhow.
    #[arg(long, value_name = "TEXT", requires = "canary_b")]
    canary_a: Option<String>,
    /// The same for the second tenant.
    #[arg(long, value_name = "TEXT", requires = "canary_a")]
    canary_b: Option<String>,
    /// For a signed declaration: the file of a key that `tenancy signing-key new` wrote and the database accepts.
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
    /// For a signed declaration: the life of the first tenant in the registry. A row key that is a uuid is the life, unless
    /// it is said otherwise.
    #[arg(long, value_name = "UUID", requires = "life_b")]
    life_a: Option<String>,
    /// The same for the second tenant.
    #[arg(long, value_name = "UUID", requires = "life_a")]
    life_b: Option<String>,
    /// The database is a copy: sequences may move in it, and its functions, triggers and foreign tables may do whatever
    /// they do.
    #[arg(long)]
    disposable: bool,
    /// The whole report as JSON.
    #[arg(long)]
    json: bool,
    /// Exit with 3 when there are warnings.
    #[arg(long)]
    deny_warnings: bool,
    /// What it means that the service may use large objects, which have no policies.
    #[arg(long, value_enum, default_value_t = Level::Warning)]
    shared_objects: Level,
}

pub(super) async fn run(options: Options) -> Result<Verdict, Failure> {
    let declaration = options.declared.read()?;
    let [a, b] = [row_key("--a", &options.a, &declaration)?, row_key("--b", &options.b, &declaration)?];
    if a == b {
        return Err(Failure::Argument { name: "--b", why: "the two tenants need different row keys".to_owned() });
    }
    let progress = ProbeProgress::default();
    let report = watched(&options.probe(&progress)?, &declaration, [&a, &b], &progress).await?;
    if options.json {
        print(format_args!("{:#}\n", serde_json::json!(report)))?;
    } else {
        print(&report)?;
    }
    Ok(options.verdict(&report, &declaration))
}

impl Options {
    fn probe(&self, progress: &ProbeProgress) -> Result<ProbeOptions, Failure> {
        let mut target = self.target.options()?;
        if let Some(path) = &self.signing_key {
            target = target.signed(SigningKeys::new(signing_key::read(path)?));
        }
        let mut probe = ProbeOptions::new(target).progress(progress);
        if let (Some(a), Some(b)) = (&self.life_a, &self.life_b) {
            probe = probe.lives(life("--life-a", a)?, life("--life-b", b)?);
        }
        if let (Some(a), Some(b)) = (&self.canary_a, &self.canary_b) {
            probe = probe.canaries(a, b);
        }
        Ok(if self.disposable { probe.disposable() } else { probe })
    }

    /// As the inspection's: rows that crossed are fatal; knowledge that crossed, and tables that were not proven, are
    /// warnings. A run in which no table was proven has looked at nothing.
    fn verdict(&self, report: &ProbeReport, declaration: &Declaration) -> Verdict {
        let minor =
            |crossing: &&Crossing| crossing.command == Command::LargeObject && self.shared_objects == Level::Warning;
        let all_proven = report.proven.len() == declaration.tenant_tables().len();
        if report.rows().any(|crossing| !minor(&crossing)) {
            Verdict::FATAL
        } else if report.proven.is_empty() {
            tell("no table was proven: do --a and --b have rows in this database?");
            Verdict::COULD_NOT_LOOK
        } else if self.deny_warnings && !(all_proven && report.crossings.is_empty()) {
            Verdict::WARNINGS
        } else {
            Verdict::PASSED
        }
    }
}

/// Says on stderr how far it is, when it takes long.
async fn watched(
    options: &ProbeOptions,
    declaration: &Declaration,
    [a, b]: [&RowKey; 2],
    progress: &ProbeProgress,
) -> Result<ProbeReport, Failure> {
    let mut probe = pin!(tenancy_pg::probe(options, declaration, a, b));
    loop {
        match tokio::time::timeout(PATIENCE, &mut probe).await {
            Ok(report) => return Ok(report?),
            Err(_not_yet) => tell(format_args!("{} attempts so far, each rolled back", progress.attempts())),
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(5);
