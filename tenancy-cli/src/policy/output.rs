//! A migration as text, as JSON or as files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use tenancy_pg::{Migration, MigrationFile, Run, Step};

use crate::failure::Failure;
use crate::output::print;

/// The statements forward, unless one of these is given.
#[derive(Args)]
#[group(multiple = false)]
pub(super) struct Output {
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

impl Output {
    pub(super) fn write(&self, migration: &Migration) -> Result<(), Failure> {
        match (&self.files, self.json, self.down) {
            (Some(path), _, _) => write_files(path, migration)?,
            (None, true, _) => print_json(migration)?,
            (None, false, true) => print(migration.down())?,
            (None, false, false) => print(migration.up())?,
        }
        Ok(())
    }
}

pub(super) fn print_json(migration: &Migration) -> Result<(), Failure> {
    print(format_args!("{:#}\n", Value::from_iter(migration.steps().iter().map(as_json))))
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
        print(format_args!("{}\n", at(file).display()))?;
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
