//! `tenancy policy`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenancy_pg::{Migration, MigrationFile, Roles, Run, Step, hardening_sql_keeping, registrar_sql, signed_schema_sql};

use crate::args::{Declared, Target};
use crate::failure::Failure;
use crate::verdict::Verdict;

/// Migrations that make tables keep tenants apart.
#[derive(Subcommand)]
pub(crate) enum Options {
    /// Print the migration that protects the declared tables, without a look at a database.
    Generate(Generate),
    /// Compare a live database with the declaration and print the smallest migration that brings it there. Exits with 1
    /// unless it is there already. Connect as the owner of the tables.
    Diff(Diff),
    /// Print what only a superuser can run, once in each database: the schema of signed mode where it is declared, and
    /// the rights that no role of a service should have.
    Harden(Harden),
}

#[derive(Args)]
pub(crate) struct Generate {
    #[command(flatten)]
    declared: Declared,
    #[command(flatten)]
    roles: RoleNames,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    declared: Declared,
    #[command(flatten)]
    roles: RoleNames,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub(crate) struct Harden {
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

/// The statements forward, unless one of these is given.
#[derive(Args)]
#[group(multiple = false)]
struct Output {
    /// The statements that take it back.
    #[arg(long)]
    down: bool,
    /// Every step with its reason, both directions and its locks, as JSON.
    #[arg(long)]
    json: bool,
    /// Write files for sqlx::migrate! into this folder: NAME is VERSION_word, 20270101000000_tenancy say.
    #[arg(long, value_name = "FOLDER/NAME")]
    files: Option<PathBuf>,
}

pub(crate) async fn run(options: Options) -> Result<Verdict, Failure> {
    match options {
        Options::Generate(Generate { declared, roles, output }) => {
            output.write(&Migration::of(&declared.read()?, &roles.roles()))?;
            Ok(Verdict::PASSED)
        }
        Options::Diff(Diff { target, declared, roles, output }) => {
            let migration = Migration::diff(target.connect()?, &declared.read()?, &roles.roles()).await?;
            output.write(&migration)?;
            Ok(if migration.is_empty() { Verdict::PASSED } else { Verdict::FATAL })
        }
        Options::Harden(options) => harden(&options),
    }
}

fn harden(options: &Harden) -> Result<Verdict, Failure> {
    let declaration = options.declared.read()?;
    if declaration.signed() {
        let apps: Vec<&str> = options.app.iter().chain(&options.report).map(String::as_str).collect();
        print!("{}", signed_schema_sql(&declaration, &options.owner, &apps));
        if let Some(role) = &options.registrar {
            print!("{}", registrar_sql(role));
        }
    }
    let keep: Vec<&str> = options.keep.iter().map(String::as_str).collect();
    print!("{}", hardening_sql_keeping(&keep));
    Ok(Verdict::PASSED)
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

impl Output {
    fn write(&self, migration: &Migration) -> Result<(), Failure> {
        match (&self.files, self.json, self.down) {
            (Some(path), _, _) => write_files(path, migration)?,
            (None, true, _) => println!("{:#}", Value::from_iter(migration.steps().iter().map(as_json))),
            (None, false, true) => print!("{}", migration.down()),
            (None, false, false) => print!("{}", migration.up()),
        }
        Ok(())
    }
}

/// None of them, unless all of them are new.
fn write_files(path: &Path, migration: &Migration) -> Result<(), Failure> {
    let usage = || Failure::Files { path: path.display().to_string() };
    let (version, word) = path.file_name().and_then(|name| name.to_str()?.split_once('_')).ok_or_else(usage)?;
    let version = version.parse().map_err(|_not_a_number| usage())?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = migration.files(version, word);
    let at = |file: &MigrationFile| folder.join(&file.name);
    let failed = |path: PathBuf, source| Failure::Write { path: path.display().to_string(), source };
    if let Some(there) = files.iter().map(at).find(|path| path.exists()) {
        return Err(failed(there, io::ErrorKind::AlreadyExists.into()));
    }
    for file in &files {
        let written = std::fs::File::create_new(at(file)).and_then(|mut out| out.write_all(file.text.as_bytes()));
        written.map_err(|source| failed(at(file), source))?;
        println!("{}", at(file).display());
    }
    Ok(())
}

fn as_json(step: &Step) -> Value {
    let run = match &step.run {
        Run::InTransaction => json!("in-transaction"),
        Run::Alone => json!("alone"),
        Run::InBatches { left, pages } => json!({ "in-batches": { "left": left, "pages": pages } }),
        _later => Value::Null,
    };
    json!({
        "reason": step.reason,
        "up": step.up,
        "down": step.down,
        "run": run,
        "lock": step.locks.mode(),
        "waits": step.locks.to_string(),
    })
}
