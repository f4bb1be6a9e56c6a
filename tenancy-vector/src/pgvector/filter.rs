//! Conditions as SQL, as far as the server can tell them exactly as this crate does.
//!
//! A condition is true, false, or can't be told, and one that can't be told is not met, denied or not. So each has two
//! forms: that it holds for sure, and that it does not for sure.

use std::ops::Bound;

use super::columns::Column;
use super::json::escaped;
use super::pair::Pair;
use super::session::Statement;
use crate::filter::{Condition, Filter, FilterValue, Range};
use crate::id::PointKey;
use crate::payload::PayloadKey;

/// Adds `and ..` for what can be told of a condition.
pub(super) fn narrow(to: &mut Statement, condition: &Condition, tables: &Pair) {
    let mut room = MAX_PARAMETERS;
    narrow_within(to, condition, tables, &mut room);
}

fn narrow_within(to: &mut Statement, condition: &Condition, tables: &Pair, room: &mut usize) {
    match (parameters(condition).and_then(|count| room.checked_sub(count)), condition) {
        (Some(rest), condition) => {
            *room = rest;
            to.push(" and ");
            Lowering { to, tables }.push(condition, true);
        }
        (None, Filter::All(filters)) => filters.iter().for_each(|filter| narrow_within(to, filter, tables, room)),
        (None, _left_over) => {}
    }
}

/// Whether the SQL for it finds neither too much nor too little.
pub(super) fn is_exact(condition: &Condition) -> bool {
    parameters(condition).is_some_and(|count| count <= MAX_PARAMETERS)
}

/// How many parameters it takes; `None` where the server can't tell it.
fn parameters(condition: &Condition) -> Option<usize> {
    let of_key = |key: &PayloadKey| key.as_str().split('.').count();
    match condition {
        Filter::Equals(key, _) => Some(of_key(key) + 1),
        Filter::AnyOf(key, _) => Some(of_key(key) + 3),
        Filter::Within(key, _) => Some(of_key(key) + 2),
        Filter::Items(key, _) | Filter::IsEmpty(key) | Filter::IsNull(key) => {
            (!key.goes_through_a_list()).then(|| 3 * of_key(key) + 2)
        }
        Filter::HasId(_) => Some(2),
        Filter::HasVector(_) => Some(0),
        Filter::All(filters) | Filter::Any(filters) | Filter::AtLeast(_, filters) => {
            filters.iter().map(parameters).sum::<Option<usize>>().map(|count| count + 1)
        }
        Filter::Not(filter) => parameters(filter),
        // How a text is cut into words, what is a point in time or a place, and what holds of one object: decided here.
        Filter::During(..) | Filter::Words(..) | Filter::Inside(..) | Filter::Nested(..) => None,
    }
}

struct Lowering<'s> {
    to: &'s mut Statement,
    tables: &'s Pair,
}

impl Lowering<'_> {
    /// That a condition holds for sure, or that it does not.
    fn push(&mut self, condition: &Condition, holds: bool) {
        match condition {
            Filter::Equals(key, value) => {
                self.items(key, holds, |this, _| this.equals(std::slice::from_ref(value)));
            }
            Filter::AnyOf(key, values) => self.items(key, holds, |this, _| this.equals(values)),
            Filter::Within(key, range) => self.items(key, holds, |this, holds| this.within(range, holds)),
            Filter::Items(key, range) => {
                self.negated(holds);
                self.count(key);
                self.bounds(range);
                self.to.push(")");
            }
            Filter::IsEmpty(key) => {
                self.negated(holds);
                self.to.push("coalesce(");
                self.value(key);
                self.to.push(", 'null') in ('null', '[]'))");
            }
            Filter::IsNull(key) => self.is_null(key, holds),
            Filter::HasId(keys) => {
                self.negated(holds);
                let ids: Vec<_> = keys.iter().map(PointKey::engine_id).collect();
                let digests: Vec<_> = keys.iter().map(|key| key.to_bytes().to_vec()).collect();
                self.to.push("p.id = any(").push_bind(ids).push(") and p.digest = any(").push_bind(digests).push("))");
            }
            Filter::HasVector(name) => {
                self.negated(holds);
                // The filter was checked against the schema; a name beyond it names nothing.
                match self.tables.column(name).map(Column::value) {
                    Some(column) => self.to.push("p.").push(column).push(" is not null)"),
                    None => self.to.push("false)"),
                };
            }
            Filter::All(filters) => self.several(filters, holds, if holds { " and " } else { " or " }),
            Filter::Any(filters) => self.several(filters, holds, if holds { " or " } else { " and " }),
            Filter::AtLeast(least, filters) => self.at_least(*least, filters, holds),
            Filter::Not(filter) => self.push(filter, !holds),
            // `parameters` has none for these, so nothing that holds one comes here.
            Filter::During(..) | Filter::Words(..) | Filter::Inside(..) | Filter::Nested(..) => {
                self.to.push("true");
            }
        }
    }

    /// `(` or `not (`; what is in it is never NULL.
    fn negated(&mut self, holds: bool) {
        self.to.push(if holds { "(" } else { "not (" });
    }

    fn several(&mut self, filters: &[Condition], holds: bool, word: &str) {
        for (place, filter) in filters.iter().enumerate() {
            self.to.push(if place == 0 { "(" } else { word });
            self.push(filter, holds);
        }
        self.to.push(")");
    }

    /// Enough of them hold for sure, or enough do not for it to be out of reach.
    fn at_least(&mut self, least: usize, filters: &[Condition], holds: bool) {
        for (place, filter) in filters.iter().enumerate() {
            self.to.push(if place == 0 { "((" } else { " + (" });
            self.push(filter, holds);
            self.to.push(")::int");
        }
        let most_missing = filters.len().saturating_sub(least);
        let needed = if holds { least } else { most_missing + 1 };
        self.to.push(" >= ").push_bind(number(needed as u64)).push(")");
    }

    /// That one of the items that a key names is so, or that none of them is, or might be. `act` writes of the item `e.v`
    /// that it is so for sure, or that it might be.
    fn items(&mut self, key: &PayloadKey, holds: bool, act: impl FnOnce(&mut Self, bool)) {
        self.negated(holds);
        self.to.push("exists (select from ");
        let mut from = "p.payload".to_owned();
        for (place, step) in key.as_str().split('.').enumerate() {
            let (name, lists) = step.strip_suffix("[]").map_or((step, false), |name| (name, true));
            self.to.push(if place == 0 { "(select " } else { " cross join lateral (select " });
            self.to.push(&from).push(" -> ").push_bind(name.to_owned()).push("::text) as ");
            self.to.push(format!("s{place}(v)"));
            from = format!("s{place}.v");
            if lists {
                self.to.push(format!(
                    " cross join lateral jsonb_array_elements(case jsonb_typeof({from}) when 'array' then {from} else '[]' end) as l{place}(v)"
                ));
                from = format!("l{place}.v");
            }
        }
        self.to.push(format!(
            " cross join lateral jsonb_array_elements(case jsonb_typeof({from}) when 'array' then {from} \
             else jsonb_build_array({from}) end) as e(v) where "
        ));
        act(self, holds);
        self.to.push("))");
    }

    /// Values are compared without conversion, a number by how it is written: 7 is not 7.0.
    fn equals(&mut self, values: &[FilterValue]) {
        let (mut texts, mut numbers, mut flags) = (Vec::new(), Vec::new(), Vec::new());
        for value in values {
            match value {
                FilterValue::Text(text) => texts.push(escaped(text)),
                FilterValue::Integer(number) => numbers.push(number.to_string()),
                FilterValue::Flag(flag) => flags.push(flag.to_string()),
            }
        }
        self.to.push("case jsonb_typeof(e.v)");
        for (kind, values) in [("string", texts), ("number", numbers), ("boolean", flags)] {
            if !values.is_empty() {
                self.to.push(format!(" when '{kind}' then e.v #>> '{{}}' = any(")).push_bind(values).push(")");
            }
        }
        self.to.push(" else false end");
    }

    /// A number beyond what floating-point numbers tell apart can't be told: it is not within for sure, and might be.
    fn within(&mut self, range: &Range<f64>, sure: bool) {
        self.to.push("case when jsonb_typeof(e.v) <> 'number' then false else ");
        if !sure {
            self.to.push(format!("abs(e.v::float8) > {MAX_EXACT} or "));
        }
        self.to.push(format!("(abs(e.v::float8) <= {MAX_EXACT}"));
        for (bound, included, excluded) in [(range.lower(), ">=", ">"), (range.upper(), "<=", "<")] {
            let (value, word) = match bound {
                Bound::Included(value) => (value, included),
                Bound::Excluded(value) => (value, excluded),
                Bound::Unbounded => continue,
            };
            self.to.push(format!(" and e.v::float8 {word} ")).push_bind(value);
        }
        self.to.push(") end");
    }

    /// The value of a key that goes through no list.
    fn value(&mut self, key: &PayloadKey) {
        self.to.push("(p.payload");
        for step in key.as_str().split('.') {
            self.to.push(" -> ").push_bind(step.to_owned()).push("::text");
        }
        self.to.push(")");
    }

    /// How many items there are: none, of a list its own, else one.
    fn count(&mut self, key: &PayloadKey) {
        self.to.push(
            "(select case jsonb_typeof(c.v) when 'array' then jsonb_array_length(c.v) when 'null' then 0 \
                      else (c.v is not null)::int end from (select ",
        );
        self.value(key);
        self.to.push(") as c(v))");
    }

    fn bounds(&mut self, range: &Range<u64>) {
        let (least, most) = (
            match range.lower() {
                Bound::Included(value) => value,
                Bound::Excluded(value) => value.saturating_add(1),
                Bound::Unbounded => 0,
            },
            match range.upper() {
                Bound::Included(value) => Some(value),
                Bound::Excluded(value) => value.checked_sub(1),
                Bound::Unbounded => Some(u64::MAX),
            },
        );
        // Below 0 there is no number of items.
        let most = most.map_or(-1, number);
        self.to.push(" between ").push_bind(number(least)).push(" and ").push_bind(most);
    }

    /// A list with a `null` in it is neither.
    fn is_null(&mut self, key: &PayloadKey, holds: bool) {
        if holds {
            self.to.push("coalesce(");
            self.value(key);
            self.to.push(" = 'null', false)");
        } else {
            self.to.push("(select case jsonb_typeof(c.v) when 'null' then false when 'array' then not c.v @> '[null]' else true end \
                          from (select ");
            self.value(key);
            self.to.push(") as c(v))");
        }
    }
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Of a condition. A statement has 65,535 at most, and at most one condition for each level of a query.
const MAX_PARAMETERS: usize = 10_000;
/// 2^53.
const MAX_EXACT: u64 = 9_007_199_254_740_992;
