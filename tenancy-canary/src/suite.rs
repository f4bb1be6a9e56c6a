//! The run: every probe, both directions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenancy_core::TenantContext;
use tokio::task::JoinHandle;

use crate::canary::Canary;
use crate::probe::{Observation, OracleAnswers, Probe};
use crate::report::{Report, Row};
use crate::verdict::{Cause, Evidences, Verdict};

/// Two tenants and the probes to set on them.
pub struct Suite {
    tenants: [TenantContext; 2],
    probes: Vec<Arc<dyn Probe>>,
    time: Duration,
}

/// Why there is no suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// Both contexts are of one tenant: there is no boundary between them.
    #[error("a suite takes two tenants")]
    OneTenant,
}

impl Suite {
    /// A suite without probes.
    ///
    /// # Errors
    /// [`SuiteError::OneTenant`].
    pub fn new(a: TenantContext, b: TenantContext) -> Result<Self, SuiteError> {
        if a.life() == b.life() {
            return Err(SuiteError::OneTenant);
        }
        Ok(Self { tenants: [a, b], probes: Vec::new(), time: Duration::from_secs(60) })
    }

    /// Adds a probe.
    #[must_use]
    pub fn probe(mut self, probe: impl Probe) -> Self {
        self.probes.push(Arc::new(probe));
        self
    }

    /// How long one probe may take, both directions together. Default 60 s.
    #[must_use]
    pub const fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Runs the probes one after another, each in both directions.
    ///
    /// Each runs as a task of its own: one that panics or hangs is inconclusive and the next one runs. Dropped, the
    /// probe under way is aborted; what it planted stays.
    pub async fn run(&self) -> Report {
        let mut rows = Vec::new();
        for probe in &self.probes {
            let verdicts = self.isolated(Arc::clone(probe)).await;
            for (owner, verdict) in verdicts.into_iter().enumerate() {
                let name = |side: usize| self.tenants[side].tenant().as_str().to_owned();
                rows.push(Row {
                    probe: probe.name().to_owned(),
                    path: probe.path(),
                    owner: name(owner),
                    attacker: name(1 - owner),
                    verdict,
                });
            }
        }
        Report::new(rows)
    }

    async fn isolated(&self, probe: Arc<dyn Probe>) -> [Verdict; 2] {
        let tenants = self.tenants.clone();
        let mut task = Aborting(tokio::spawn(async move { both_directions(&*probe, &tenants).await }));
        let cause = match tokio::time::timeout(self.time, &mut task.0).await {
            Ok(Ok(verdicts)) => return verdicts,
            Ok(Err(_)) => Cause::Panicked,
            Err(_) => Cause::TimedOut,
        };
        [Verdict::Inconclusive { cause }; 2]
    }
}

/// Both canaries are planted before anybody reads, so that each tenant is owner and attacker over the same store.
async fn both_directions(probe: &dyn Probe, tenants: &[TenantContext; 2]) -> [Verdict; 2] {
    let canaries = [Canary::random(), Canary::random()];
    for side in 0..2 {
        if probe.plant(&tenants[side], &canaries[side]).await.is_err() {
            return [Verdict::Inconclusive { cause: Cause::NotPlanted }; 2];
        }
    }
    let before = own_reads(probe, tenants, &canaries).await;
    let attacks = [attack(probe, &tenants[1], &canaries[0]).await, attack(probe, &tenants[0], &canaries[1]).await];
    // What was there before and is gone after may have been gone during.
    let after = own_reads(probe, tenants, &canaries).await;
    [0, 1].map(|owner| {
        let attacker = 1 - owner;
        let (attack, oracle) = &attacks[owner];
        Evidences {
            canary: &canaries[owner],
            expect: probe.expect(),
            owner: [&before[owner], &after[owner]],
            attacker_own: [&before[attacker], &after[attacker]],
            attacker_canary: &canaries[attacker],
            attack,
            oracle: oracle.as_ref(),
        }
        .judge()
    })
}

async fn own_reads(probe: &dyn Probe, tenants: &[TenantContext; 2], canaries: &[Canary; 2]) -> [Observation; 2] {
    [probe.owner_reads(&tenants[0], &canaries[0]).await, probe.owner_reads(&tenants[1], &canaries[1]).await]
}

async fn attack(probe: &dyn Probe, other: &TenantContext, canary: &Canary) -> (Observation, Option<OracleAnswers>) {
    (probe.attack(other, canary).await, probe.oracle(other, canary).await)
}

/// A task that does not outlive whoever waits for it.
struct Aborting<T>(JoinHandle<T>);

impl<T> Drop for Aborting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suite").field("probes", &self.probes.len()).field("time", &self.time).finish_non_exhaustive()
    }
}
