//! What the prober saw.

use std::fmt;

use serde::Serialize;

/// What a run of the prober saw. `Display` is for people, [`Serialize`] for programs.
///
/// It holds names of the catalog and numbers, and nothing of a tenant's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProbeReport {
    /// What went from one tenant to another, each once.
    pub crossings: Vec<Crossing>,
    /// The declared tables in which each of the two tenants saw rows of its own and was shown none of the other's. Only
    /// of these does the absence of a crossing say anything.
    pub proven: Vec<String>,
    /// What could not be tried, and why. None of it is fine, none of it is a crossing.
    pub unproven: Vec<Unproven>,
    /// How many statements were tried.
    pub attempts: u64,
}

impl ProbeReport {
    /// The crossings of rows: read, written or destroyed.
    pub fn rows(&self) -> impl Iterator<Item = &Crossing> {
        self.crossings.iter().filter(|crossing| crossing.kind != CrossingKind::Told)
    }

    /// The crossings of knowledge: whether a row exists.
    pub fn told(&self) -> impl Iterator<Item = &Crossing> {
        self.crossings.iter().filter(|crossing| crossing.kind == CrossingKind::Told)
    }

    /// Of several ways to the same crossing the first is kept.
    pub(super) fn cross(&mut self, crossing: Crossing) {
        let same = |c: &Crossing| {
            (c.kind, c.by, c.of, &c.object, c.command)
                == (crossing.kind, crossing.by, crossing.of, &crossing.object, crossing.command)
        };
        if !self.crossings.iter().any(same) {
            self.crossings.push(crossing);
        }
    }

    pub(super) fn doubt(&mut self, object: impl Into<String>, command: Command, why: impl Into<String>) {
        let unproven = Unproven { object: object.into(), command, why: why.into() };
        if !self.unproven.contains(&unproven) {
            self.unproven.push(unproven);
        }
    }
}

impl fmt::Display for ProbeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { crossings, proven, unproven, attempts } = self;
        let shared = self.rows().filter(|crossing| crossing.command == Command::LargeObject).count();
        write!(f, "{attempts} attempts: {} crossed", self.rows().count() - shared)?;
        for (count, what) in [
            (shared, "by large objects"),
            (self.told().count(), "told that a row exists (PG022, PG023)"),
            (unproven.len(), "not proven"),
        ] {
            if count > 0 {
                write!(f, "; {count} {what}")?;
            }
        }
        writeln!(f)?;
        for Crossing { kind, by, of, object, command, how } in crossings {
            writeln!(f, "{kind}: {by} -> {of} by {command} {object}, {how}")?;
        }
        for Unproven { object, command, why } in unproven {
            writeln!(f, "not proven: {command} {object}, {why}")?;
        }
        let proven = if proven.is_empty() { "no table".to_owned() } else { proven.join(", ") };
        writeln!(f, "apart in: {proven}")
    }
}

/// Something that went from one tenant to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Crossing {
    /// What went across.
    pub kind: CrossingKind,
    /// In whose scope the statement ran.
    pub by: Party,
    /// Whose row it was.
    pub of: Party,
    /// The relation or function, as SQL names it.
    pub object: String,
    /// The command.
    pub command: Command,
    /// What it took: nothing, a role, a setting.
    pub how: String,
}

/// What could not be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unproven {
    /// The relation or function, as SQL names it.
    pub object: String,
    /// The command.
    pub command: Command,
    /// What stood in the way.
    pub why: String,
}

/// What went across.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CrossingKind {
    /// A row was shown.
    Read,
    /// A row was changed, or one was put among the other's.
    Written,
    /// A row was removed.
    Destroyed,
    /// Whether a row exists was told.
    Told,
}

/// One of the two tenants, or a session without a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Party {
    /// No tenant is set.
    Nobody,
    /// The first tenant.
    A,
    /// The second tenant.
    B,
}

/// How it was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Command {
    /// `SELECT`.
    Select,
    /// `INSERT`.
    Insert,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// `TRUNCATE`.
    Truncate,
    /// `COPY .. TO STDOUT`.
    Copy,
    /// `CREATE TRIGGER`.
    CreateTrigger,
    /// `CREATE TABLE`, to keep a copy in.
    CreateTable,
    /// A call of a function or procedure.
    Call,
    /// A look at a sequence.
    Sequence,
    /// A large object.
    LargeObject,
    /// A file of the server.
    ServerFile,
}

macro_rules! words {
    ($type:ident: $($name:ident = $word:literal,)*) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $word,)* })
            }
        }
    };
}

words! { CrossingKind: Read = "read", Written = "written", Destroyed = "destroyed", Told = "told", }
words! { Party: Nobody = "nobody", A = "A", B = "B", }
words! {
    Command: Select = "SELECT", Insert = "INSERT", Update = "UPDATE", Delete = "DELETE", Truncate = "TRUNCATE",
    Copy = "COPY", CreateTrigger = "CREATE TRIGGER", CreateTable = "CREATE TABLE", Call = "call", Sequence = "sequence",
    LargeObject = "large object", ServerFile = "server file",
}
