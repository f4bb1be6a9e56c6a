//! What the parts of a search reach for.

use std::collections::BTreeSet;

use super::filter;
use crate::filter::{Condition, Filter};
use crate::name::VectorName;
use crate::request::{Expression, Find, Search};
use crate::vector::{DenseVector, Vector};

/// A search without arms, with every condition that is around it.
pub(super) struct Leaf<'s> {
    pub(super) conditions: Vec<&'s Condition>,
    pub(super) reach: Reach<'s>,
}

/// Which points a leaf might find.
pub(super) enum Reach<'s> {
    /// So many of the nearest.
    Nearest {
        using: &'s VectorName,
        vector: &'s DenseVector,
        limit: usize,
        exact: bool,
    },
    /// Those with one of these terms.
    Terms {
        using: &'s VectorName,
        terms: &'s [u32],
    },
    /// Those with such a vector.
    Holding(&'s VectorName),
    /// So many by chance.
    Random(usize),
    All,
}

impl Leaf<'_> {
    /// Whether the server can tell its conditions.
    pub(super) fn is_exact(&self) -> bool {
        self.conditions.iter().all(|condition| filter::is_exact(condition))
    }
}

impl Reach<'_> {
    pub(super) const fn limit(&self) -> Option<usize> {
        match self {
            Self::Nearest { limit, .. } => Some(*limit),
            Self::Terms { .. } | Self::Holding(_) | Self::Random(_) | Self::All => None,
        }
    }
}

pub(super) fn leaves(search: &Search) -> Vec<Leaf<'_>> {
    let mut leaves = Vec::new();
    collect(search, &[], &mut leaves);
    leaves
}

fn collect<'s>(search: &'s Search, around: &[&'s Condition], leaves: &mut Vec<Leaf<'s>>) {
    let conditions: Vec<_> = around.iter().copied().chain(search.condition()).collect();
    let near = |using: &'s VectorName, vector: &'s Vector, limit| match vector {
        Vector::Dense(vector) => Reach::Nearest { using, vector, limit, exact: search.exact() },
        Vector::Sparse(sparse) => Reach::Terms { using, terms: sparse.indices() },
        Vector::Multi(_) => Reach::Holding(using),
    };
    let reach = match search.find() {
        Find::Nearest { using, vector } => near(using, vector, search.limit()),
        Find::Mmr { using, vector, candidates, .. } => near(using, vector, *candidates),
        Find::Recommend { using, .. } | Find::Discover { using, .. } | Find::Context { using, .. } => {
            Reach::Holding(using)
        }
        Find::Ordered(_) => Reach::All,
        Find::Sample => Reach::Random(search.limit()),
        Find::Fuse { arms, .. } | Find::Rescore { arms, .. } | Find::Refine { arms, .. } => {
            return arms.iter().for_each(|arm| collect(arm, &conditions, leaves));
        }
    };
    leaves.push(Leaf { conditions, reach });
}

/// The vectors that are looked at, wherever in it.
pub(super) fn vectors_of(search: &Search) -> BTreeSet<VectorName> {
    let mut names = BTreeSet::new();
    walk(search, &mut |search| {
        names.extend(search.condition().iter().flat_map(|condition| named(condition)));
        match search.find() {
            Find::Nearest { using, .. }
            | Find::Mmr { using, .. }
            | Find::Recommend { using, .. }
            | Find::Discover { using, .. }
            | Find::Context { using, .. }
            | Find::Refine { using, .. } => {
                names.insert(using.clone());
            }
            Find::Rescore { score, .. } => names.extend(Expression::conditions(score).into_iter().flat_map(named)),
            Find::Ordered(_) | Find::Sample | Find::Fuse { .. } => {}
        }
    });
    names
}

/// The terms of every sparse vector that is compared under a name.
pub(super) fn indices(search: &Search, name: &VectorName) -> BTreeSet<u32> {
    let mut terms = BTreeSet::new();
    walk(search, &mut |search| {
        let (using, vectors): (_, Vec<&Vector>) = match search.find() {
            Find::Nearest { using, vector } | Find::Mmr { using, vector, .. } | Find::Refine { using, vector, .. } => {
                (using, vec![vector])
            }
            Find::Recommend { using, like, unlike, .. } => (using, like.iter().chain(unlike).collect()),
            Find::Discover { using, target, pairs } => {
                let sides = pairs.iter().flat_map(|pair| [pair.positive(), pair.negative()]);
                (using, sides.chain([target]).collect())
            }
            Find::Context { using, pairs } => {
                (using, pairs.iter().flat_map(|pair| [pair.positive(), pair.negative()]).collect())
            }
            Find::Ordered(_) | Find::Sample | Find::Fuse { .. } | Find::Rescore { .. } => return,
        };
        for vector in vectors.into_iter().filter(|_| using == name) {
            match vector {
                Vector::Sparse(sparse) => terms.extend(sparse.indices()),
                Vector::Dense(_) | Vector::Multi(_) => {}
            }
        }
    });
    terms
}

fn walk<'s>(search: &'s Search, act: &mut impl FnMut(&'s Search)) {
    act(search);
    match search.find() {
        Find::Fuse { arms, .. } | Find::Rescore { arms, .. } | Find::Refine { arms, .. } => {
            arms.iter().for_each(|arm| walk(arm, act));
        }
        Find::Nearest { .. }
        | Find::Mmr { .. }
        | Find::Recommend { .. }
        | Find::Discover { .. }
        | Find::Context { .. }
        | Find::Ordered(_)
        | Find::Sample => {}
    }
}

/// The vectors that a condition asks for.
pub(super) fn named(condition: &Condition) -> Vec<VectorName> {
    match condition {
        Filter::HasVector(name) => vec![name.clone()],
        Filter::All(filters) | Filter::Any(filters) | Filter::AtLeast(_, filters) => {
            filters.iter().flat_map(named).collect()
        }
        Filter::Not(filter) | Filter::Nested(_, filter) => named(filter),
        Filter::Equals(..)
        | Filter::AnyOf(..)
        | Filter::Within(..)
        | Filter::During(..)
        | Filter::Words(..)
        | Filter::Inside(..)
        | Filter::Items(..)
        | Filter::IsEmpty(_)
        | Filter::IsNull(_)
        | Filter::HasId(_) => Vec::new(),
    }
}
