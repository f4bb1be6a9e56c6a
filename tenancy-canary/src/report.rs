//! The report: a table for people, JSON for machines, an exit code for a pipeline.

use std::fmt;

use serde::Serialize;

use crate::probe::AttackPath;
use crate::verdict::Verdict;

/// What a run came to. Holds no canary and no text of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// One row per probe and direction.
    pub rows: Vec<Row>,
    /// Attack paths that no probe tried.
    pub untried: Vec<AttackPath>,
}

/// One probe in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The probe.
    pub probe: String,
    /// Its attack path.
    pub path: AttackPath,
    /// Whose canary it was.
    pub owner: String,
    /// Who tried to get it.
    pub attacker: String,
    /// What it came to.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Report {
    pub(crate) fn new(rows: Vec<Row>) -> Self {
        let tried = |path: &AttackPath| rows.iter().any(|row| row.path == *path);
        let untried = AttackPath::ALL.into_iter().filter(|path| !tried(path)).collect();
        Self { rows, untried }
    }

    /// Whether at least one probe ran and every one passed in both directions.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.verdict == Verdict::Pass)
    }

    /// How many rows leaked.
    #[must_use]
    pub fn leaks(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.verdict, Verdict::Leak { .. })).count()
    }

    /// For the process: 0 when everything [`passed`](Self::passed), 1 for a leak, 2 when nothing leaked and something is
    /// not proved.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match (self.passed(), self.leaks()) {
            (true, _) => 0,
            (false, 0) => 2,
            (false, _) => 1,
        }
    }

    /// The report as JSON.
    ///
    /// # Errors
    /// Never in practice: everything in a report has a JSON form.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = ["probe", "path", "owner", "attacker", "verdict"].map(str::to_owned);
        let lines: Vec<[String; 5]> = std::iter::once(header).chain(self.rows.iter().map(Row::cells)).collect();
        let widths: [usize; 4] =
            std::array::from_fn(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0));
        for [probe, path, owner, attacker, verdict] in &lines {
            let [a, b, c, d] = widths;
            writeln!(f, "{probe:a$}  {path:b$}  {owner:c$}  {attacker:d$}  {verdict}")?;
        }
        for path in &self.untried {
            writeln!(f, "not tried: {}", path.as_str())?;
        }
        let passes = self.rows.iter().filter(|row| row.verdict == Verdict::Pass).count();
        let leaks = self.leaks();
        write!(f, "{passes} passed, {leaks} leaked, {} inconclusive", self.rows.len() - passes - leaks)
    }
}

impl Row {
    fn cells(&self) -> [String; 5] {
        let Self { probe, path, owner, attacker, verdict } = self;
        [probe.clone(), path.as_str().to_owned(), owner.clone(), attacker.clone(), verdict.to_string()]
    }
}
