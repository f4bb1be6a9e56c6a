//! Does an engine heed the salt?
//!
//! Engines pass over fields that they don't know in silence, SGLang's salt did nothing for a year (SGLang 23300), and a
//! store of prefixes outside the engine may know tokens alone (LMCache 3042). So "sent" is not "heeded", and whoever relies
//! on it asks:
//!
//! ```no_run
//! # async fn run(engine: &dyn tenancy_cache::engine::PrefixEngine) {
//! use tenancy_cache::probe::{SaltProbe, SaltVerdict};
//!
//! let report = SaltProbe::new().run(engine).await;
//! println!("{report}");
//! assert_eq!(report.verdict(), SaltVerdict::Honoured);
//! # }
//! ```
//!
//! # What is asked
//!
//! In each round there is a prompt of one salt, one of another, and one of nobody, who sends none. Each prompt and the salts
//! for it are random and new, so nothing else can be in the cache and no tenant's prefixes are touched.
//!
//! ```text
//! cold    the owner asks for the first time     nothing may be there
//! own     the owner asks again                  it must be there: the cache is alive
//! other   each of the two others asks           nothing may be there
//! still   the owner asks again                  it must be there: it was when the others asked
//! ```
//!
//! A test that only looks at `other` passes where nothing is cached at all. Without every control this is
//! [`Inconclusive`](SaltVerdict::Inconclusive), as it is behind a balancer that sends each request to another replica: ask
//! each replica then.

use std::time::Duration;

use crate::engine::{EngineError, Observed, PrefixEngine};
use crate::key::EngineSalt;

mod judge;
mod prompt;
mod report;

pub use report::{Ask, Cause, Evidence, Leak, Party, SaltReport, SaltVerdict, Step};

use self::prompt::random_words;

/// How an engine is probed.
#[derive(Clone, Debug)]
pub struct SaltProbe {
    evidence: Evidence,
    rounds: u32,
    words: usize,
    patience: Duration,
}

impl SaltProbe {
    /// By the cached tokens that the engine reports: three rounds of prompts of 600 words, which are some 1,500 tokens, more
    /// than any engine needs to begin caching.
    #[must_use]
    pub const fn new() -> Self {
        Self { evidence: Evidence::CachedTokens, rounds: 3, words: 600, patience: Duration::from_secs(60) }
    }

    /// By time, for an engine that reports nothing, or that is not believed: seven rounds of prompts of 2,000 words. On an
    /// engine with other work it is likely to come to nothing, and says so.
    #[must_use]
    pub const fn by_time() -> Self {
        Self { evidence: Evidence::Time, rounds: 7, words: 2_000, ..Self::new() }
    }

    /// How many rounds, at least one. Each is fifteen requests.
    #[must_use]
    pub const fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = if rounds == 0 { 1 } else { rounds };
        self
    }

    /// How many words a prompt has, at least one. A word is two or three tokens.
    #[must_use]
    pub const fn words(mut self, words: usize) -> Self {
        self.words = if words == 0 { 1 } else { words };
        self
    }

    /// How long one answer is waited for, a minute unless it is said.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Asks the engine and judges. The first request that fails ends it.
    ///
    /// Dropped: no more is asked. What was asked stays in the engine's cache until it is driven out, where nobody can find
    /// it.
    pub async fn run(&self, engine: &dyn PrefixEngine) -> SaltReport {
        let mut asks = Vec::new();
        let ended = self.ask_all(engine, &mut asks).await;
        SaltReport::new(judge::judge(self.evidence, &asks, ended), self.evidence, asks)
    }

    async fn ask_all(&self, engine: &dyn PrefixEngine, asks: &mut Vec<Ask>) -> Result<(), EngineError> {
        // Opens the connection, and lets the engine cache what its template puts before every prompt.
        self.ask(engine, &random_words(self.words), None).await?;
        for round in 1..=self.rounds {
            for owner in Party::ALL {
                // A salt that asked before would find the template.
                let salts = Salts { a: EngineSalt::random(), b: EngineSalt::random() };
                let prompt = random_words(self.words);
                for (step, who) in steps(owner) {
                    let observed = self.ask(engine, &prompt, salts.of(who)).await?;
                    asks.push(Ask::new(round, owner, who, step, &observed));
                }
            }
        }
        Ok(())
    }

    async fn ask(
        &self,
        engine: &dyn PrefixEngine,
        prompt: &str,
        salt: Option<&EngineSalt>,
    ) -> Result<Observed, EngineError> {
        let asked = tokio::time::timeout(self.patience, engine.ask(prompt, salt)).await;
        asked.unwrap_or(Err(EngineError::Late))
    }
}

impl Default for SaltProbe {
    fn default() -> Self {
        Self::new()
    }
}

/// What is asked for one prompt.
fn steps(owner: Party) -> impl Iterator<Item = (Step, Party)> {
    let others = Party::ALL.into_iter().filter(move |party| *party != owner).map(|party| (Step::Other, party));
    [(Step::Cold, owner), (Step::Own, owner)].into_iter().chain(others).chain([(Step::Still, owner)])
}

/// The salts for one prompt. They are no tenant's: random, in the form of one.
struct Salts {
    a: EngineSalt,
    b: EngineSalt,
}

impl Salts {
    const fn of(&self, party: Party) -> Option<&EngineSalt> {
        match party {
            Party::A => Some(&self.a),
            Party::B => Some(&self.b),
            Party::Nobody => None,
        }
    }
}
