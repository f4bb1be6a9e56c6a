//! The judgement: what was seen, and what it proves.

use std::fmt;

use serde::Serialize;

use crate::canary::{Canary, Form};
use crate::probe::{Expect, Observation, OracleAnswers};

/// What a probe in one direction came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The owner got the canary, before and after, and the other tenant was refused or got nothing of it.
    Pass,
    /// The other tenant got something it must not have.
    Leak {
        /// What.
        evidence: Evidence,
    },
    /// Nothing is proved. Not a pass: a sweep against a dead host once found 80 of those (red-team-blue-team#423).
    Inconclusive {
        /// Why.
        cause: Cause,
    },
}

/// What the other tenant got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The canary, in some form.
    Canary(Form),
    /// Whether an object exists: a foreign id and one that never existed are answered differently.
    Oracle,
}

/// Why nothing is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The canary could not be planted.
    NotPlanted,
    /// The owner did not get its own canary, before or after the attack: there was nothing to protect.
    NoPositiveControl,
    /// The owner was refused too.
    OwnerDenied,
    /// The attacker could not even read its own canary: it would not have got another's through an open door.
    AttackerBlind,
    /// The attack failed without being refused.
    AttackFailed,
    /// A refusal was expected and an answer came, without the canary.
    NotDenied,
    /// An answer was expected and a refusal came.
    NotSearched,
    /// The refusal says that something is out of order, and nothing about whose the target is.
    DeniedForAnotherReason,
    /// The probe panicked.
    Panicked,
    /// The probe was not done in time.
    TimedOut,
}

/// Everything that was seen in one direction.
pub(crate) struct Evidences<'a> {
    pub(crate) canary: &'a Canary,
    pub(crate) expect: Expect,
    /// The owner's reads, before and after the attack.
    pub(crate) owner: [&'a Observation; 2],
    /// The attacker's reads of its own canary.
    pub(crate) attacker_own: [&'a Observation; 2],
    pub(crate) attacker_canary: &'a Canary,
    pub(crate) attack: &'a Observation,
    pub(crate) oracle: Option<&'a OracleAnswers>,
}

impl Evidences<'_> {
    /// Leaks first: what was handed over needs no control.
    pub(crate) fn judge(&self) -> Verdict {
        if let Some(form) = self.leaked() {
            return Verdict::Leak { evidence: Evidence::Canary(form) };
        }
        match self.uncontrolled().or_else(|| self.unproved()) {
            Some(cause) => Verdict::Inconclusive { cause },
            None if self.oracle.is_some_and(|answers| answers.foreign != answers.unknown) => {
                Verdict::Leak { evidence: Evidence::Oracle }
            }
            None => Verdict::Pass,
        }
    }

    /// The owner's canary in anything that the attacker was handed, its own reads included.
    fn leaked(&self) -> Option<Form> {
        let handed = [self.attack, self.attacker_own[0], self.attacker_own[1]];
        let texts = handed.into_iter().flat_map(Observation::texts);
        let answers = self.oracle.map(|answers| String::from_utf8_lossy(&answers.foreign));
        texts.chain(answers.as_deref()).find_map(|text| self.canary.find(text))
    }

    fn uncontrolled(&self) -> Option<Cause> {
        let denied = |seen: &&Observation| matches!(seen, Observation::Denied { .. });
        if self.owner.iter().any(denied) {
            Some(Cause::OwnerDenied)
        } else if !self.owner.iter().all(|seen| reads(seen, self.canary)) {
            Some(Cause::NoPositiveControl)
        } else if !self.attacker_own.iter().all(|seen| reads(seen, self.attacker_canary)) {
            Some(Cause::AttackerBlind)
        } else {
            None
        }
    }

    fn unproved(&self) -> Option<Cause> {
        match (self.expect, self.attack) {
            (_, Observation::Failed(_)) => Some(Cause::AttackFailed),
            (Expect::Denied, Observation::Denied { rule, .. }) if says_nothing(rule) => {
                Some(Cause::DeniedForAnotherReason)
            }
            (Expect::Denied, Observation::Denied { .. }) => None,
            (Expect::Denied, Observation::Absent | Observation::Found(_)) => Some(Cause::NotDenied),
            (Expect::Absent, Observation::Denied { .. }) => Some(Cause::NotSearched),
            (Expect::Absent, Observation::Absent | Observation::Found(_)) => None,
        }
    }
}

/// Whether a read brought the canary, whole and as planted.
fn reads(seen: &Observation, canary: &Canary) -> bool {
    matches!(seen, Observation::Found(text) if text.contains(canary.as_str()))
}

/// Refusals that a request would also have got for its own tenant's data.
fn says_nothing(rule: &str) -> bool {
    rule.is_empty() || rule.ends_with(".unavailable") || OUT_OF_ORDER.contains(&rule)
}

const OUT_OF_ORDER: &[&str] = &[
    "breaker.open",
    "deadline.passed",
    "fence.stale",
    "key.destroyed",
    "permission.missing",
    "placement.wrong_region",
    "realm.closed",
    "tenant.erased",
    "tenant.suspended",
];

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::Leak { evidence } => write!(f, "LEAK: {evidence}"),
            Self::Inconclusive { cause } => write!(f, "inconclusive: {cause}"),
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Canary(form) => {
                let form = match form {
                    Form::Plain => "as planted",
                    Form::Part => "in part",
                    Form::Base64 => "in base64",
                    Form::Hex => "in hex",
                    Form::Percent => "percent-encoded",
                    Form::Escaped => "escaped",
                };
                write!(f, "the canary, {form}")
            }
            Self::Oracle => f.write_str("whether an id exists"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotPlanted => "the canary was not planted",
            Self::NoPositiveControl => "the owner did not get its canary",
            Self::OwnerDenied => "the owner was refused too",
            Self::AttackerBlind => "the attacker can't read its own",
            Self::AttackFailed => "the attack failed without being refused",
            Self::NotDenied => "a refusal was expected, an answer came",
            Self::NotSearched => "an answer was expected, a refusal came",
            Self::DeniedForAnotherReason => "refused for another reason",
            Self::Panicked => "the probe panicked",
            Self::TimedOut => "the probe was not done in time",
        })
    }
}
