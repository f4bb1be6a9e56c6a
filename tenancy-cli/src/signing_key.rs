//! `tenancy signing-key`.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use secrecy::ExposeSecret;
use tenancy_pg::{SigningKey, SigningKeyId, retire_key_sql, signing_key_sql};

use crate::failure::Failure;
use crate::output::print;
use crate::verdict::Verdict;

/// Keys of signed mode. A change without a gap: `new`, run its `sql`, let every process sign with it, `retire` the old.
#[derive(Subcommand)]
pub(crate) enum Options {
    /// Make a key and write it to a file that only its owner can read.
    New {
        /// The file. An existing one is left alone.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Print the statement that makes the database accept a key. It is as secret as the key: pipe it into psql.
    Sql {
        /// The file that `new` wrote.
        #[arg(value_name = "FILE")]
        key: PathBuf,
    },
    /// Print the statement that makes the database refuse a key from now on.
    Retire {
        /// The first eight characters of the key.
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(crate) fn run(options: Options) -> Result<Verdict, Failure> {
    match options {
        Options::New { out } => {
            let key = SigningKey::generate();
            write(&out, &key).map_err(|source| Failure::Write { path: out.display().to_string(), source })?;
            print(format_args!("{}\n", key.id()))?;
        }
        Options::Sql { key } => print(signing_key_sql(&read(&key)?).expose_secret())?,
        Options::Retire { id } => {
            let id =
                SigningKeyId::parse(&id).map_err(|e| Failure::Key { path: "ID".to_owned(), why: e.to_string() })?;
            print(retire_key_sql(&id))?;
        }
    }
    Ok(Verdict::PASSED)
}

fn write(path: &Path, key: &SigningKey) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}", key.expose().expose_secret())?;
    file.sync_all()
}

pub(crate) fn read(path: &Path) -> Result<SigningKey, Failure> {
    let failed = |why: String| Failure::Key { path: path.display().to_string(), why };
    let text = std::fs::read_to_string(path).map_err(|e| failed(e.to_string()))?;
    SigningKey::parse(text.trim_end()).map_err(|e| failed(e.to_string()))
}
