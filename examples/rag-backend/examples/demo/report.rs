//! What the demo says at the end.

use std::fmt;

use serde_json::{Value, json};
use tenancy_stack::core::VerifyReport;

use crate::attacks::{Attempt, Outcome};
use crate::quality::Quality;
use crate::warm::Warmth;

/// The whole outcome.
pub(crate) struct Report {
    tenants: usize,
    documents: usize,
    quality: Vec<Quality>,
    warmth: Option<Warmth>,
    attempts: Vec<Attempt>,
    audit: Option<VerifyReport>,
}

impl Report {
    pub(crate) const fn new(tenants: usize, documents: usize) -> Self {
        Self { tenants, documents, quality: Vec::new(), warmth: None, attempts: Vec::new(), audit: None }
    }

    pub(crate) fn quality(&mut self, quality: Quality) {
        self.quality.push(quality);
    }

    pub(crate) fn warmth(&mut self, warmth: Warmth) {
        self.warmth = Some(warmth);
    }

    pub(crate) fn attempts(&mut self, attempts: Vec<Attempt>) {
        self.attempts.extend(attempts);
    }

    pub(crate) fn audit(&mut self, report: VerifyReport) {
        self.audit = Some(report);
    }

    /// No leak, no attempt without proof, nothing lost by having a neighbour, every cache of use, and a log that verifies.
    pub(crate) fn passed(&self) -> bool {
        !self.attempts.is_empty()
            && self.attempts.iter().all(|a| a.outcome == Outcome::Denied)
            && self.quality.iter().all(Quality::passed)
            && self.warmth.as_ref().is_some_and(Warmth::passed)
            && self.audit.as_ref().is_some_and(VerifyReport::is_clean)
    }

    pub(crate) fn last_line(&self) -> String {
        let count = |outcome| self.attempts.iter().filter(|a| a.outcome == outcome).count();
        let mut line = format!(
            "demo: {} tenants, {} documents, {} attempts denied, {} leaks",
            self.tenants,
            self.documents,
            count(Outcome::Denied),
            count(Outcome::Leak) + self.quality.iter().map(|q| q.foreign).sum::<usize>(),
        );
        let unproven = count(Outcome::Unproven);
        if unproven > 0 {
            line.push_str(&format!(", {unproven} attempts without proof"));
        }
        if self.quality.iter().any(|q| q.different > 0) {
            line.push_str(", answers differ from a tenant alone");
        }
        if self.warmth.as_ref().is_some_and(|warmth| !warmth.passed()) {
            line.push_str(", a cache is of no use or changed an answer");
        }
        line
    }

    pub(crate) fn to_json(&self) -> Value {
        let quality = |q: &Quality| {
            json!({
                "tenant": q.tenant, "questions": q.questions,
                "hit_at_5": { "beside": q.hits.0, "alone": q.hits.1 },
                "right_passage": { "beside": q.passages.0, "alone": q.passages.1 },
                "foreign_citations": q.foreign, "different_from_alone": q.different,
            })
        };
        let attempt = |a: &Attempt| {
            json!({
                "attacker": a.attacker, "victim": a.victim, "attempt": a.what, "outcome": a.outcome.word(),
                "seen": a.seen, "rule": a.rule, "record": a.record, "proof": a.proof,
            })
        };
        json!({
            "tenants": self.tenants, "documents": self.documents,
            "quality": self.quality.iter().map(quality).collect::<Vec<_>>(),
            "caches": self.warmth.as_ref().map(|warmth| json!({
                "asked_again": warmth.asked, "different": warmth.different,
                "layers": warmth.layers().map(|(layer, n)| json!({
                    "layer": layer, "hits": n.hits, "misses": n.misses, "bypasses": n.bypasses,
                    "integrity_misses": n.integrity_misses,
                })).collect::<Vec<_>>(),
            })),
            "attempts": self.attempts.iter().map(attempt).collect::<Vec<_>>(),
            "audit": self.audit.as_ref().map(|r| json!({
                "records": r.records, "chains": r.chains, "events": r.events, "clean": r.is_clean(),
            })),
            "passed": self.passed(), "summary": self.last_line(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n{:<10} {:>9} {:>16} {:>20} {:>9}",
            "tenant", "questions", "hit@5 (alone)", "passage (alone)", "foreign"
        )?;
        for q in &self.quality {
            let hits = format!("{} ({})", q.hits.0, q.hits.1);
            let passages = format!("{} ({})", q.passages.0, q.passages.1);
            writeln!(f, "{:<10} {:>9} {:>16} {:>20} {:>9}", q.tenant, q.questions, hits, passages, q.foreign)?;
        }
        if let Some(warmth) = &self.warmth {
            writeln!(f, "\n{:<10} {:>9} {:>9} {:>9} {:>9}", "cache", "hits", "misses", "bypasses", "spoilt")?;
            for (layer, n) in warmth.layers() {
                let (hits, misses, bypasses, spoilt) = (n.hits, n.misses, n.bypasses, n.integrity_misses);
                writeln!(f, "{layer:<10} {hits:>9} {misses:>9} {bypasses:>9} {spoilt:>9}")?;
            }
            writeln!(f, "{} asked again, {} answered otherwise", warmth.asked, warmth.different)?;
        }
        writeln!(f, "\n{:<10} {:<52} {:<9} {:<28} audit record", "attacker", "attempt", "outcome", "rule")?;
        for a in &self.attempts {
            let rule = a.rule.as_deref().unwrap_or("-");
            let record = a.record.as_deref().unwrap_or("-");
            writeln!(f, "{:<10} {:<52} {:<9} {:<28} {record}", a.attacker, a.what, a.outcome.word(), rule)?;
            if a.outcome != Outcome::Denied {
                writeln!(f, "{:<10}   saw: {}; proof: {}", "", a.seen, a.proof)?;
            }
        }
        if let Some(audit) = &self.audit {
            let state = if audit.is_clean() { "verifies" } else { "DOES NOT VERIFY" };
            writeln!(
                f,
                "\naudit log: {} records for {} events in {} chains, {state}\n",
                audit.records, audit.events, audit.chains,
            )?;
        }
        Ok(())
    }
}
