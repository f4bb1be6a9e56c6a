//! How often each value of a key is there.

use std::collections::{BTreeMap, HashSet};

use crate::filter::FilterValue;
use crate::request::{FacetRequest, TaggedPoint};
use crate::schema::{IndexKind, Schema};

/// The most frequent values among points that meet the request's condition, equally frequent ones in their order.
pub(crate) fn count_values<'p>(
    schema: &Schema,
    request: &FacetRequest,
    points: impl Iterator<Item = &'p TaggedPoint>,
) -> Vec<(FilterValue, u64)> {
    let mut counts = BTreeMap::<FilterValue, u64>::new();
    let kind = schema.index_of(request.key());
    for point in points {
        let values = request.key().items(point.payload()).filter_map(FilterValue::of);
        let values: HashSet<_> = values.filter(|value| kind.is_none_or(|kind| fits(kind, value))).collect();
        for value in values {
            *counts.entry(value).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(request.limit());
    counts
}

/// Whether an index holds a value: one of another kind is not in it.
const fn fits(kind: IndexKind, value: &FilterValue) -> bool {
    match value {
        FilterValue::Text(_) => matches!(kind, IndexKind::Keyword),
        FilterValue::Integer(_) => matches!(kind, IndexKind::Integer),
        FilterValue::Flag(_) => matches!(kind, IndexKind::Flag),
    }
}
