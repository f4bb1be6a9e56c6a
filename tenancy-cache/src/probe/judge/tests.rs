use std::time::Duration;

use super::*;
use crate::engine::Observed;
use crate::probe::steps;

/// Cached tokens, as far as they are reported, and microseconds.
type Answer = (Option<u64>, u64);

/// What an engine says in three rounds.
fn asks(answer: impl Fn(&Ask) -> Answer) -> Vec<Ask> {
    let mut asks = Vec::new();
    for round in 1..=3 {
        for owner in Party::ALL {
            for (step, who) in steps(owner) {
                let silent = Observed { cached_tokens: None, prompt_tokens: Some(1_000), took: Duration::ZERO };
                let mut ask = Ask::new(round, owner, who, step, &silent);
                (ask.cached_tokens, ask.micros) = answer(&ask);
                asks.push(ask);
            }
        }
    }
    asks
}

/// Keeps owners apart; without a salt the template is found.
fn sound(ask: &Ask) -> Answer {
    let template = if ask.who == Party::Nobody { 32 } else { 0 };
    match ask.step {
        Step::Cold | Step::Other => (Some(template), 10_000),
        Step::Own | Step::Still => (Some(992), 1_000),
    }
}

fn tokens(answer: impl Fn(&Ask) -> Answer) -> SaltVerdict {
    judge(Evidence::CachedTokens, &asks(answer), Ok(()))
}

fn time(answer: impl Fn(&Ask) -> Answer) -> SaltVerdict {
    judge(Evidence::Time, &asks(answer), Ok(()))
}

const fn ignored(leak: Leak) -> SaltVerdict {
    SaltVerdict::Ignored { leak }
}

const fn inconclusive(cause: Cause) -> SaltVerdict {
    SaltVerdict::Inconclusive { cause }
}

#[test]
fn an_engine_that_keeps_salts_apart_is_honoured() {
    assert_eq!(tokens(sound), SaltVerdict::Honoured);
    assert_eq!(time(sound), SaltVerdict::Honoured);
    let omits_zeros = |ask: &Ask| (sound(ask).0.filter(|cached| *cached > 0), 0);
    assert_eq!(tokens(omits_zeros), SaltVerdict::Honoured, "a zero that is left out is one");
}

/// Each is sound but for one answer.
#[test]
fn one_answer_is_enough_to_see_a_leak_by_tokens() {
    for (mechanism, step, owner, who, cached, verdict) in [
        ("another salt, one block", Step::Other, Party::A, Party::B, 1, ignored(Leak::AcrossSalts)),
        ("the other way round", Step::Other, Party::B, Party::A, 16, ignored(Leak::AcrossSalts)),
        ("no salt, more than the template", Step::Other, Party::A, Party::Nobody, 33, ignored(Leak::ToUnsalted)),
        ("a salt, first without", Step::Other, Party::Nobody, Party::B, 16, ignored(Leak::FromUnsalted)),
        ("a new salt", Step::Cold, Party::B, Party::B, 16, ignored(Leak::NewSalt)),
        ("no salt, the template", Step::Other, Party::A, Party::Nobody, 32, SaltVerdict::Honoured),
        ("nothing of its own", Step::Own, Party::A, Party::A, 0, inconclusive(Cause::NotCached)),
        ("nothing but the template", Step::Own, Party::Nobody, Party::Nobody, 32, inconclusive(Cause::NotCached)),
        ("gone when the others asked", Step::Still, Party::B, Party::B, 0, inconclusive(Cause::NotKept)),
    ] {
        let one = |ask: &Ask| {
            let it = (ask.round, ask.step, ask.owner, ask.who) == (2, step, owner, who);
            if it { (Some(cached), 0) } else { sound(ask) }
        };
        assert_eq!(tokens(one), verdict, "{mechanism}");
    }
}

#[test]
fn of_several_leaks_the_worst_is_told() {
    assert_eq!(tokens(|_| (Some(992), 0)), ignored(Leak::AcrossSalts));
}

#[test]
fn a_leak_counts_whatever_failed_beside_it() {
    let late = || Err(EngineError::Late);
    let leaks = asks(|ask| if ask.step == Step::Other { (Some(992), 0) } else { (None, 0) });
    assert_eq!(judge(Evidence::CachedTokens, &leaks, late()), ignored(Leak::AcrossSalts));
    for evidence in [Evidence::CachedTokens, Evidence::Time] {
        for asks in [asks(sound), Vec::new()] {
            assert_eq!(judge(evidence, &asks, late()), inconclusive(Cause::Engine(EngineError::Late)));
        }
    }
}

#[test]
fn nothing_cached_is_no_proof() {
    assert_eq!(tokens(|_| (Some(0), 10_000)), inconclusive(Cause::NotCached));
    assert_eq!(tokens(|_| (None, 10_000)), inconclusive(Cause::NotReported));
    assert_eq!(time(|_| (Some(0), 10_000)), inconclusive(Cause::NotFaster));
    assert_eq!(time(|_| (None, 0)), inconclusive(Cause::NotFaster));
    let hardly = |ask: &Ask| (None, if matches!(ask.step, Step::Own | Step::Still) { 9_000 } else { 10_000 });
    assert_eq!(time(hardly), inconclusive(Cause::NotFaster), "a tenth may be anything");
}

#[test]
fn by_time_most_of_a_kind_are_a_leak_and_one_is_reason_to_doubt() {
    for (mechanism, leak) in [
        ("another salt", Leak::AcrossSalts),
        ("no salt", Leak::ToUnsalted),
        ("a salt, first without", Leak::FromUnsalted),
    ] {
        let early = |rounds: u32| {
            move |ask: &Ask| {
                let it = ask.round <= rounds && ask.step == Step::Other && ask.leak() == Some(leak);
                (None, if it { 1_100 } else { sound(ask).1 })
            }
        };
        assert_eq!(time(early(3)), ignored(leak), "{mechanism}: always");
        assert_eq!(time(early(2)), ignored(leak), "{mechanism}: mostly");
        assert_eq!(time(early(1)), inconclusive(Cause::Spread), "{mechanism}: sometimes");
        assert_eq!(time(early(0)), SaltVerdict::Honoured, "{mechanism}: never");
    }
}

/// A tenth slower or faster by turns is no matter; as much as the difference is.
#[test]
fn by_time_a_spread_beyond_the_margin_is_no_proof() {
    let shaken = |by: u64| {
        move |ask: &Ask| {
            let turn = u64::from(ask.round) + ask.who as u64 + ask.step as u64;
            (None, sound(ask).1 + by * (turn % 3))
        }
    };
    assert_eq!(time(shaken(500)), SaltVerdict::Honoured);
    assert_eq!(time(shaken(3_000)), inconclusive(Cause::Spread));
}

#[test]
fn quarters_of_few_and_of_none() {
    assert_eq!([1, 2, 3].map(|quarters| quantile(&[], quarters)), [0, 0, 0]);
    assert_eq!([1, 2, 3].map(|quarters| quantile(&[7], quarters)), [7, 7, 7]);
    assert_eq!([0, 1, 2, 3, 4].map(|quarters| quantile(&[1, 2, 3, 4, 5], quarters)), [1, 2, 3, 4, 5]);
}
