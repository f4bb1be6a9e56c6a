//! Lies in what is read.

use super::{HONEST, Lie, Row};
use crate::conformance::Check::{
    Batches, Counts, EmptyPartitions, Facets, LargePartitions, Lookups, Pages, Ranking, Samples,
};
use crate::query::Fusion;
use crate::request::{Find, Position};

pub(super) fn lies() -> Vec<Row> {
    let mut all = searches();
    all.extend(others());
    all
}

fn searches() -> Vec<Row> {
    vec![
        ("no condition", Ranking, Lie { search: |search| search.condition = None, ..HONEST }),
        (
            "arms without their condition",
            Ranking,
            Lie {
                search: |search| {
                    if let Find::Fuse { arms, .. } = &mut search.find {
                        arms.iter_mut().for_each(|arm| arm.condition = None);
                    }
                },
                ..HONEST
            },
        ),
        ("no threshold", Ranking, Lie { search: |search| search.threshold = None, ..HONEST }),
        ("no limit", Ranking, Lie { search: |search| search.limit = 1000, ..HONEST }),
        ("one hit fewer", Ranking, Lie { hits: |hits| drop(hits.pop()), ..HONEST }),
        ("the worst first", Ranking, Lie { hits: |hits| hits.reverse(), ..HONEST }),
        ("the best twice", Ranking, Lie { hits: |hits| hits.extend(hits.first().cloned()), ..HONEST }),
        ("scores doubled", Ranking, Lie { hit: |hit| hit.score *= 2.0, ..HONEST }),
        ("distances for scores", Ranking, Lie { hit: |hit| hit.score = 1.0 - hit.score, ..HONEST }),
        ("no payloads", Ranking, Lie { hit: |hit| hit.stored.payload.clear(), ..HONEST }),
        (
            "no weights of a fusion",
            Ranking,
            Lie {
                search: |search| {
                    if let Find::Fuse { fusion: fusion @ Fusion::Ranks(_), .. } = &mut search.find {
                        *fusion = Fusion::ranks();
                    }
                },
                ..HONEST
            },
        ),
        (
            "a fusion by scores done by ranks",
            Ranking,
            Lie {
                search: |search| {
                    if let Find::Fuse { fusion: fusion @ Fusion::Scores, .. } = &mut search.find {
                        *fusion = Fusion::ranks();
                    }
                },
                ..HONEST
            },
        ),
        (
            "nothing to be unlike",
            Ranking,
            Lie {
                search: |search| {
                    if let Find::Recommend { unlike, .. } = &mut search.find {
                        unlike.clear();
                    }
                },
                ..HONEST
            },
        ),
        (
            "a pair too few",
            Ranking,
            Lie {
                search: |search| {
                    if let Find::Discover { pairs, .. } | Find::Context { pairs, .. } = &mut search.find {
                        pairs.pop();
                    }
                },
                ..HONEST
            },
        ),
        (
            "the nearest where they are to be unlike each other",
            Ranking,
            Lie {
                search: |search| {
                    if let Find::Mmr { diversity, .. } = &mut search.find {
                        *diversity = 0.0;
                    }
                },
                ..HONEST
            },
        ),
        (
            "a falling order that rises",
            Ranking,
            Lie {
                search: |search| {
                    if let Find::Ordered(order) = &mut search.find {
                        order.descending = false;
                    }
                },
                ..HONEST
            },
        ),
        (
            "an order from its beginning",
            Ranking,
            Lie {
                search: |search| {
                    if let Find::Ordered(order) = &mut search.find {
                        order.from = None;
                    }
                },
                ..HONEST
            },
        ),
        (
            "examples without vectors",
            Ranking,
            Lie { found: |found| found.iter_mut().for_each(|p| p.vectors.clear()), ..HONEST },
        ),
        ("answers in another order", Batches, Lie { batch: |all| all.reverse(), ..HONEST }),
        ("one answer to several queries", EmptyPartitions, Lie { batch: |all| all.truncate(1), ..HONEST }),
        (
            "the last of several queries unanswered",
            Batches,
            Lie { batch: |all| all.iter_mut().skip(1).next_back().into_iter().for_each(Vec::clear), ..HONEST },
        ),
        ("hits without vectors", Lookups, Lie { request: |request| request.vectors = false, ..HONEST }),
        ("five hundred hits at most", LargePartitions, Lie { hits: |hits| hits.truncate(500), ..HONEST }),
    ]
}

fn others() -> Vec<Row> {
    vec![
        ("samples without their condition", Samples, Lie { search: |search| search.condition = None, ..HONEST }),
        ("samples of five", Samples, Lie { search: |search| search.limit = search.limit.min(5), ..HONEST }),
        ("samples without vectors", Samples, Lie { request: |request| request.vectors = false, ..HONEST }),
        ("counts without their condition", Counts, Lie { count: |request| request.condition = None, ..HONEST }),
        ("values without their condition", Facets, Lie { facet: |request| request.condition = None, ..HONEST }),
        ("values without their limit", Facets, Lie { facet: |request| request.limit = 1000, ..HONEST }),
        ("one value fewer", Facets, Lie { values: |values| drop(values.pop()), ..HONEST }),
        ("values in another order", Facets, Lie { values: |values| values.reverse(), ..HONEST }),
        ("values once too often", Facets, Lie { values: |values| values.iter_mut().for_each(|v| v.1 += 1), ..HONEST }),
        ("pages without their condition", Pages, Lie { scroll: |request| request.condition = None, ..HONEST }),
        ("pages without their limit", Pages, Lie { scroll: |request| request.limit = 1000, ..HONEST }),
        ("pages without vectors", Pages, Lie { scroll: |request| request.vectors = false, ..HONEST }),
        (
            "pages without payloads",
            Pages,
            Lie { page: |page| page.iter_mut().for_each(|p| p.payload.clear()), ..HONEST },
        ),
        ("one point fewer on a page", Pages, Lie { page: |page| drop(page.pop()), ..HONEST }),
        (
            "each page the first",
            Pages,
            Lie {
                scroll: |request| {
                    if let Position::After(after) = &mut request.position {
                        *after = None;
                    }
                },
                ..HONEST
            },
        ),
        (
            "pages in any order",
            Pages,
            Lie {
                scroll: |request| {
                    if matches!(request.position, Position::Ordered(_)) {
                        request.position = Position::After(None);
                    }
                },
                ..HONEST
            },
        ),
        (
            "pages from the beginning of an order",
            Pages,
            Lie {
                scroll: |request| {
                    if let Position::Ordered(order) = &mut request.position {
                        order.from = None;
                    }
                },
                ..HONEST
            },
        ),
        ("five hundred points on a page", LargePartitions, Lie { page: |page| page.truncate(500), ..HONEST }),
        ("a point fewer than looked up", Lookups, Lie { found: |found| drop(found.pop()), ..HONEST }),
        (
            "look-ups without payloads",
            Lookups,
            Lie { found: |found| found.iter_mut().for_each(|p| p.payload.clear()), ..HONEST },
        ),
        (
            "look-ups without vectors",
            Lookups,
            Lie { found: |found| found.iter_mut().for_each(|p| p.vectors.clear()), ..HONEST },
        ),
        ("a thousand points looked up", LargePartitions, Lie { found: |found| found.truncate(1000), ..HONEST }),
    ]
}
