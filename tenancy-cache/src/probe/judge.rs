//! What the answers say.

use super::report::{Ask, Cause, Evidence, Leak, Party, SaltVerdict, Step};
use crate::engine::EngineError;

/// One leak that was seen decides, whatever failed beside it. Then everything must have been asked, and every control must
/// have been met.
pub(super) fn judge(evidence: Evidence, asks: &[Ask], ended: Result<(), EngineError>) -> SaltVerdict {
    let judged = match evidence {
        Evidence::CachedTokens => by_tokens(asks, ended),
        Evidence::Time => ended.map_err(Cause::Engine).and_then(|()| by_time(asks)),
    };
    match judged {
        Ok(None) => SaltVerdict::Honoured,
        Ok(Some(leak)) => SaltVerdict::Ignored { leak },
        Err(cause) => SaltVerdict::Inconclusive { cause },
    }
}

fn by_tokens(asks: &[Ask], ended: Result<(), EngineError>) -> Result<Option<Leak>, Cause> {
    // An engine may leave out a zero (vLLM did), but not every number there is.
    let reported = asks.iter().any(|ask| ask.cached_tokens.is_some());
    let cached = |ask: &Ask| ask.cached_tokens.unwrap_or(0);
    // A template puts the same words before every prompt, which all who send no salt share.
    let template = asks.iter().filter(|ask| (ask.step, ask.who) == (Step::Cold, Party::Nobody)).map(cached).max();
    let reused = |ask: &Ask| cached(ask) > if ask.who == Party::Nobody { template.unwrap_or(0) } else { 0 };
    let met = |step: Step| asks.iter().filter(|ask| ask.step == step).all(reused);

    if let Some(leak) = asks.iter().filter(|ask| reused(ask)).filter_map(Ask::leak).min() {
        return Ok(Some(leak));
    }
    ended.map_err(Cause::Engine)?;
    if !reported {
        return Err(Cause::NotReported);
    }
    if !met(Step::Own) {
        return Err(Cause::NotCached);
    }
    if met(Step::Still) { Ok(None) } else { Err(Cause::NotKept) }
}

/// What is computed takes longer than what is there. Other work only ever makes an answer later, so a single early one is
/// reason enough not to call the salt honoured, and most of a kind are reason enough to call it ignored.
fn by_time(asks: &[Ask]) -> Result<Option<Leak>, Cause> {
    let times = |of: &dyn Fn(&Ask) -> bool| {
        let mut times: Vec<u64> = asks.iter().filter(|ask| of(ask)).map(|ask| ask.micros).collect();
        times.sort_unstable();
        times
    };
    let cold = times(&|ask| ask.step == Step::Cold);
    let own = times(&|ask| matches!(ask.step, Step::Own | Step::Still));
    let gap = quantile(&cold, 2).saturating_sub(quantile(&own, 2));
    if gap.saturating_mul(LEAST_GAIN) < quantile(&cold, 2) || gap == 0 {
        return Err(Cause::NotFaster);
    }
    if spread(&cold).max(spread(&own)).saturating_mul(MARGIN) > gap {
        return Err(Cause::Spread);
    }
    let line = quantile(&own, 2) + gap / 2;
    let (mut ignored, mut early) = (None, false);
    for leak in Leak::BETWEEN {
        let asked = times(&|ask| ask.step == Step::Other && ask.leak() == Some(leak));
        let before_the_line = asked.iter().filter(|time| **time < line).count();
        early |= before_the_line > 0;
        if before_the_line * 2 > asked.len() {
            ignored = ignored.or(Some(leak));
        }
    }
    if ignored.is_none() && early { Err(Cause::Spread) } else { Ok(ignored) }
}

/// The middle half.
fn spread(sorted: &[u64]) -> u64 {
    quantile(sorted, 3) - quantile(sorted, 1)
}

/// So many quarters up; nothing of nothing.
pub(super) fn quantile(sorted: &[u64], quarters: usize) -> u64 {
    sorted.get((sorted.len().saturating_sub(1)) * quarters / 4).copied().unwrap_or(0)
}

/// A cached prompt must save a fifth of the time, or what is measured is something else.
const LEAST_GAIN: u64 = 5;
/// How many times the spread lies between what is computed and what is there.
const MARGIN: u64 = 3;

#[cfg(test)]
mod tests;
