//! Each tenant against the other. Every attempt has a positive control: the victim's own access to the very thing works,
//! so that a refusal is a refusal and not an absence.

mod attempts;
mod stage;

use self::stage::Stage;
use crate::Failure;
use crate::args::Corpus;
use crate::world::World;

/// One attempt and what came of it.
pub(crate) struct Attempt {
    pub(crate) attacker: String,
    pub(crate) victim: String,
    pub(crate) what: &'static str,
    pub(crate) outcome: Outcome,
    /// What the attacker saw: a status, or a word.
    pub(crate) seen: String,
    /// The rule on record.
    pub(crate) rule: Option<String>,
    /// The record: its place in its chain and the start of its hash.
    pub(crate) record: Option<String>,
    /// What shows that the target was there.
    pub(crate) proof: String,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The target was there, the attacker did not get it, and the log says so.
    Denied,
    /// The attacker got something of the victim's.
    Leak,
    /// The target was not shown to be there, or the log does not say what happened.
    Unproven,
}

impl Outcome {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Leak => "LEAK",
            Self::Unproven => "UNPROVEN",
        }
    }
}

/// Plays the attacker against the victim, over HTTP and before the worker.
pub(crate) async fn play(
    world: &World,
    stranger: &World,
    attacker: &Corpus,
    victim: &Corpus,
) -> Result<Vec<Attempt>, Failure> {
    let mut stage = Stage::set(world, &attacker.tenant, &victim.tenant).await?;
    stage.direct_ids().await?;
    stage.near_duplicate().await?;
    stage.cache_replay().await?;
    stage.tool_arguments().await?;
    stage.file_paths().await?;
    stage.forged_tenant().await?;
    stage.foreign_token(stranger).await?;
    stage.job_tickets().await?;
    Ok(stage.attempts)
}
