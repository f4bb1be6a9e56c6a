//! What a probe found.

use std::fmt;

use serde::Serialize;

use super::judge::quantile;
use crate::engine::{EngineError, Observed};

/// What a probe found, with all that was measured. Neither prompts nor salts are in it.
#[derive(Clone, Debug, Serialize)]
pub struct SaltReport {
    #[serde(flatten)]
    verdict: SaltVerdict,
    evidence: Evidence,
    asks: Vec<Ask>,
}

impl SaltReport {
    pub(super) const fn new(verdict: SaltVerdict, evidence: Evidence, asks: Vec<Ask>) -> Self {
        Self { verdict, evidence, asks }
    }

    /// The verdict.
    #[must_use]
    pub const fn verdict(&self) -> SaltVerdict {
        self.verdict
    }

    /// What it is based on.
    #[must_use]
    pub const fn evidence(&self) -> Evidence {
        self.evidence
    }

    /// Every answer, in the order it was asked for.
    #[must_use]
    pub fn asks(&self) -> &[Ask] {
        &self.asks
    }
}

/// Whether the engine keeps apart what has different salts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SaltVerdict {
    /// The same salt found its own in every round, and nobody else did.
    Honoured,
    /// It does not: tenants read in time, and in counts of tokens, what others asked.
    Ignored {
        /// The worst that was seen.
        leak: Leak,
    },
    /// Nothing was shown. Treat the engine as one that ignores salts.
    Inconclusive {
        /// Why.
        cause: Cause,
    },
}

/// What was found that should not have been there. The worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Leak {
    /// One salt found what another had asked.
    AcrossSalts,
    /// A request without a salt found what a salted one had asked.
    ToUnsalted,
    /// A salted request found what one without a salt had asked.
    FromUnsalted,
    /// A new salt found something in its first request.
    NewSalt,
}

impl Leak {
    pub(super) const BETWEEN: [Self; 3] = [Self::AcrossSalts, Self::ToUnsalted, Self::FromUnsalted];
}

/// Why nothing was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// A request failed.
    Engine(EngineError),
    /// No answer said how much was cached.
    NotReported,
    /// Whoever asked again found nothing of its own.
    NotCached,
    /// It was gone before the others had asked.
    NotKept,
    /// Whoever asked again was not served sooner.
    NotFaster,
    /// The times lie too far apart to tell one from the other.
    Spread,
}

/// What a verdict is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Evidence {
    /// The cached tokens that the engine reports.
    CachedTokens,
    /// How long answers take.
    Time,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Party {
    /// Whoever sends no salt.
    Nobody,
    /// One salt.
    A,
    /// Another.
    B,
}

impl Party {
    /// Nobody first: what it finds at the first asking is what a template puts before all prompts.
    pub(super) const ALL: [Self; 3] = [Self::Nobody, Self::A, Self::B];
}

/// What is asked for a prompt, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// Its owner asks for the first time.
    Cold,
    /// Its owner asks again.
    Own,
    /// Somebody else asks.
    Other,
    /// Its owner asks once more, after the others.
    Still,
}

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Ask {
    /// The round, from 1.
    pub round: u32,
    /// Whose prompt it is.
    pub owner: Party,
    /// Who asks.
    pub who: Party,
    /// For what.
    pub step: Step,
    /// Tokens of the prompt that were taken from the cache, if the engine says.
    pub cached_tokens: Option<u64>,
    /// Tokens of the prompt, if the engine says.
    pub prompt_tokens: Option<u64>,
    /// How long it was until the answer began, in microseconds.
    pub micros: u64,
}

impl Ask {
    pub(super) fn new(round: u32, owner: Party, who: Party, step: Step, observed: &Observed) -> Self {
        let Observed { cached_tokens, prompt_tokens, took } = *observed;
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        Self { round, owner, who, step, cached_tokens, prompt_tokens, micros }
    }

    /// What it would be if this found anything; `None` where it may.
    pub(super) const fn leak(&self) -> Option<Leak> {
        match (self.step, self.owner, self.who) {
            (Step::Own | Step::Still, ..) | (Step::Cold, Party::Nobody, _) => None,
            (Step::Cold, ..) => Some(Leak::NewSalt),
            (Step::Other, _, Party::Nobody) => Some(Leak::ToUnsalted),
            (Step::Other, Party::Nobody, _) => Some(Leak::FromUnsalted),
            (Step::Other, ..) => Some(Leak::AcrossSalts),
        }
    }
}

impl fmt::Display for SaltReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict)?;
        writeln!(f, "{:<30}{:>6}{:>16}{:>12}", "", "asks", "cached tokens", "median ms")?;
        for (name, of) in ROWS {
            let asks: Vec<&Ask> = self.asks.iter().filter(|ask| of(ask)).collect();
            let mut times: Vec<u64> = asks.iter().map(|ask| ask.micros).collect();
            times.sort_unstable();
            let millis = quantile(&times, 2) as f64 / 1e3;
            writeln!(f, "{name:<30}{:>6}{:>16}{millis:>12.1}", asks.len(), tokens(&asks))?;
        }
        Ok(())
    }
}

fn is_other(ask: &Ask, leak: Leak) -> bool {
    ask.step == Step::Other && ask.leak() == Some(leak)
}

/// What it is called, and what belongs to it.
type Row = (&'static str, fn(&Ask) -> bool);

const ROWS: [Row; 6] = [
    ("first asked", |ask| ask.step == Step::Cold),
    ("asked again", |ask| ask.step == Step::Own),
    ("with another salt", |ask| is_other(ask, Leak::AcrossSalts)),
    ("without a salt", |ask| is_other(ask, Leak::ToUnsalted)),
    ("with a salt, first without", |ask| is_other(ask, Leak::FromUnsalted)),
    ("asked again after the others", |ask| ask.step == Step::Still),
];

/// Least and most.
fn tokens(asks: &[&Ask]) -> String {
    let reported = || asks.iter().filter_map(|ask| ask.cached_tokens);
    match (reported().min(), reported().max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "-".to_owned(),
    }
}

impl fmt::Display for SaltVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Honoured => f.write_str("honoured: each salt found its own, and nobody else did"),
            Self::Ignored { leak } => write!(f, "ignored: {leak}"),
            Self::Inconclusive { cause } => write!(f, "inconclusive: {cause}"),
        }
    }
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AcrossSalts => "one salt found what another had asked",
            Self::ToUnsalted => "a request without a salt found what a salted one had asked",
            Self::FromUnsalted => "a salted request found what one without a salt had asked",
            Self::NewSalt => "a new salt found something in its first request",
        })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::NotReported => f.write_str("no answer says how much was cached"),
            Self::NotCached => f.write_str("whoever asked again found nothing of its own: nothing is cached"),
            Self::NotKept => f.write_str("what was cached was gone before all had asked"),
            Self::NotFaster => {
                f.write_str("whoever asked again was not served sooner: nothing is cached, or too little")
            }
            Self::Spread => f.write_str("the times lie too far apart"),
        }
    }
}
