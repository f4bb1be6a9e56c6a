//! Lies in what is written, and about whose it is.

use super::{HONEST, Lie, Row};
use crate::conformance::Check::{
    Changes, Dropping, EngineIds, LargePartitions, LifeCondition, OtherSchemas, Prepare, Replacing, Separation,
    Vacating,
};
use crate::request::{Selector, TaggedVectors, UpsertMode, Write};
use crate::reserved;

pub(super) fn lies() -> Vec<Row> {
    vec![
        ("changes by a filter of all", Changes, Lie { write: |write| selector(write, of_all), ..HONEST }),
        (
            "deletions by a filter of all",
            Changes,
            Lie {
                write: |write| {
                    if let Write::Delete(selector) = write {
                        of_all(selector);
                    }
                },
                ..HONEST
            },
        ),
        (
            "nothing set in all",
            Changes,
            Lie {
                writes: |all| all.retain(|write| !matches!(write, Write::SetPayload(Selector::Matching(None), ..))),
                ..HONEST
            },
        ),
        (
            "changes of the first of several ids",
            Changes,
            Lie { write: |write| selector(write, |those| first(those, 1)), ..HONEST },
        ),
        (
            "an insertion that replaces",
            Changes,
            Lie { write: |write| mode(write, &UpsertMode::Insert, UpsertMode::Replace), ..HONEST },
        ),
        (
            "an update that inserts",
            Changes,
            Lie { write: |write| mode(write, &UpsertMode::Update(None), UpsertMode::Replace), ..HONEST },
        ),
        (
            "an update without its condition",
            Changes,
            Lie {
                write: |write| {
                    if let Write::Upsert { mode: UpsertMode::Update(condition), .. } = write {
                        *condition = None;
                    }
                },
                ..HONEST
            },
        ),
        (
            "an upsert that only inserts",
            Replacing,
            Lie { write: |write| mode(write, &UpsertMode::Replace, UpsertMode::Insert), ..HONEST },
        ),
        ("an upsert that leaves the vectors that it does not bring", Replacing, Lie { writes: merged, ..HONEST }),
        (
            "no new vectors",
            Changes,
            Lie { writes: |all| all.retain(|write| !matches!(write, Write::SetVectors(_))), ..HONEST },
        ),
        (
            "vectors that stay",
            Changes,
            Lie { writes: |all| all.retain(|write| !matches!(write, Write::DeleteVectors(..))), ..HONEST },
        ),
        (
            "no path",
            Changes,
            Lie {
                write: |write| {
                    if let Write::SetPayload(_, _, at) = write {
                        *at = None;
                    }
                },
                ..HONEST
            },
        ),
        (
            "no nulls",
            Changes,
            Lie {
                write: |write| {
                    if let Write::SetPayload(_, values, _) = write {
                        values.retain(|_, value| !value.is_null());
                    }
                },
                ..HONEST
            },
        ),
        (
            "payloads that stay",
            Changes,
            Lie { writes: |all| all.retain(|write| !matches!(write, Write::OverwritePayload(..))), ..HONEST },
        ),
        (
            "payloads put over those that are there",
            Changes,
            Lie {
                write: |write| {
                    if let Write::OverwritePayload(key, payload) = write {
                        let mut payload = payload.clone();
                        payload.remove(reserved::KEY);
                        *write = Write::SetPayload(Selector::Keys(vec![*key]), payload, None);
                    }
                },
                ..HONEST
            },
        ),
        (
            "keys that stay",
            Changes,
            Lie { writes: |all| all.retain(|write| !matches!(write, Write::DeletePayload(..))), ..HONEST },
        ),
        ("writes in another order", Changes, Lie { writes: |all| all.reverse(), ..HONEST }),
        (
            "a thousand points of a write",
            LargePartitions,
            Lie {
                write: |write| {
                    if let Write::Upsert { points, .. } = write {
                        points.truncate(1000);
                    }
                },
                ..HONEST
            },
        ),
        (
            "a thousand points of a deletion",
            LargePartitions,
            Lie { write: |write| selector(write, |those| first(those, 1000)), ..HONEST },
        ),
    ]
}

pub(super) fn of_lives() -> Vec<Row> {
    let mut all = whose_it_is();
    let each = |kinds: &'static [&'static str]| kinds.chunks(1);
    all.extend(each(BY_KEY).chain(each(OF_ALL)).map(|kind| (kind[0], LifeCondition, Lie { reaches: kind, ..HONEST })));
    all.extend(each(BY_KEY).map(|kind| (kind[0], EngineIds, Lie { shortens: kind, ..HONEST })));
    all
}

fn whose_it_is() -> Vec<Row> {
    vec![
        ("a second time fails", Prepare, Lie { skips: &["prepare"], ..HONEST }),
        ("another schema is ours", OtherSchemas, Lie { skips: &["schema"], ..HONEST }),
        ("a collision is not told", EngineIds, Lie { skips: &["collision"], ..HONEST }),
        ("counts of other lives", LifeCondition, Lie { reaches: &["count"], ..HONEST }),
        ("look-ups of other lives", LifeCondition, Lie { reaches: &["retrieve"], ..HONEST }),
        ("values of other lives", LifeCondition, Lie { reaches: &["facet"], ..HONEST }),
        ("pages of other lives", LifeCondition, Lie { reaches: &["scroll"], ..HONEST }),
        ("hits of other lives", LifeCondition, Lie { reaches: &["query"], ..HONEST }),
        ("counts of neighbours", Separation, Lie { reaches: &["count"], ..HONEST }),
        ("hits of neighbours", Separation, Lie { reaches: &["query"], ..HONEST }),
        ("changes of neighbours", Changes, Lie { reaches: OF_ALL, ..HONEST }),
        ("a place given up with its points", Vacating, Lie { skips: &["look whether it is empty"], ..HONEST }),
        ("a place given up for good", Vacating, Lie { skips: &["come back"], ..HONEST }),
        ("nothing dropped", Dropping, Lie { skips: &["drop"], ..HONEST }),
        ("a late write taken for done", Dropping, Lie { skips: &["late"], ..HONEST }),
        ("something left of a partition", Dropping, Lie { skips: &["verify"], ..HONEST }),
        ("a dropped point that is counted", Dropping, Lie { found: Vec::clear, hits: Vec::clear, ..KEPT }),
        ("a dropped point that is looked up", Dropping, Lie { hits: Vec::clear, ..UNCOUNTED }),
        ("a dropped point that is found", Dropping, Lie { found: Vec::clear, ..UNCOUNTED }),
    ]
}

/// Late writes are refused, the points are kept, and nothing is said to be left.
const KEPT: Lie = Lie { skips: &["delete what is dropped"], ..HONEST };

const UNCOUNTED: Lie = Lie { skips: &["delete what is dropped", "count what is dropped"], ..HONEST };

const BY_KEY: &[&str] = &[
    "new vectors",
    "vectors deleted by key",
    "keys set by key",
    "a payload replaced",
    "keys deleted by key",
    "update",
    "update by a filter",
    "a deletion by key",
];

const OF_ALL: &[&str] =
    &["vectors deleted by a filter", "keys set by a filter", "keys deleted by a filter", "a deletion by a filter"];

fn selector(write: &mut Write, act: fn(&mut Selector)) {
    match write {
        Write::DeleteVectors(selector, _)
        | Write::SetPayload(selector, ..)
        | Write::DeletePayload(selector, _)
        | Write::Delete(selector) => act(selector),
        Write::Upsert { .. } | Write::SetVectors(_) | Write::OverwritePayload(..) => {}
    }
}

fn of_all(selector: &mut Selector) {
    if let Selector::Matching(condition) = selector {
        *condition = None;
    }
}

fn first(selector: &mut Selector, most: usize) {
    if let Selector::Keys(keys) = selector {
        keys.truncate(most);
    }
}

fn mode(write: &mut Write, from: &UpsertMode, to: UpsertMode) {
    if let Write::Upsert { mode, .. } = write
        && std::mem::discriminant(mode) == std::mem::discriminant(from)
    {
        *mode = to;
    }
}

/// Each point that is there gets the new vectors and the new payload.
fn merged(all: &mut Vec<Write>) {
    for write in std::mem::take(all) {
        let Write::Upsert { points, mode: UpsertMode::Replace } = write else {
            all.push(write);
            continue;
        };
        let vectors =
            points.iter().map(|point| TaggedVectors { key: point.key, vectors: point.vectors.clone() }).collect();
        let payloads = points.iter().map(|point| Write::OverwritePayload(point.key, point.payload.clone()));
        let payloads: Vec<_> = payloads.collect();
        all.push(Write::Upsert { points, mode: UpsertMode::Insert });
        all.push(Write::SetVectors(vectors));
        all.extend(payloads);
    }
}
