//! From our requests to the engine's.

use std::collections::HashMap;

use qdrant_edge::{
    AnyVariants, Condition, FieldCondition, Filter as EngineFilter, HasIdCondition, JsonPath, Match, NamedQuery,
    Payload, PointId, PointStructPersisted, QueryEnum, ScoringQuery, SparseVector as EngineSparse, ValueVariants,
    VectorInternal, VectorPersisted, VectorStructPersisted,
};
use tenancy_core::Life;
use tenancy_vector::{
    Arm, BackendError, Filter, FilterValue, PayloadKey, PointKey, SparseVector, TaggedPoint, reserved,
};

use crate::engine::{DENSE, SPARSE};

/// The points of a life.
pub(crate) fn all_of(life: Life) -> Result<EngineFilter, BackendError> {
    scoped(life, None)
}

/// The points of a life that meet the caller's filter. The two stand side by side in `must`, the caller's as one nested
/// condition: lists of conditions that were merged have let another tenant's points through (qdrant 10594).
pub(crate) fn scoped(life: Life, filter: Option<&Filter>) -> Result<EngineFilter, BackendError> {
    let mut must = vec![of_life(life)?];
    if let Some(filter) = filter {
        must.push(condition(filter)?);
    }
    Ok(all(must))
}

/// The points of a life among these. A list of ids alone would reach whatever has them.
pub(crate) fn points_of(life: Life, ids: Vec<PointId>) -> Result<EngineFilter, BackendError> {
    Ok(all(vec![of_life(life)?, Condition::HasId(ids.into_iter().collect::<HasIdCondition>())]))
}

pub(crate) fn engine_id(key: &PointKey) -> PointId {
    PointId::Uuid(key.engine_id())
}

pub(crate) fn point(point: TaggedPoint) -> PointStructPersisted {
    let (key, dense, sparse, payload) = point.into_parts();
    let mut vectors = HashMap::from([(DENSE.to_owned(), VectorPersisted::Dense(dense))]);
    if !sparse.is_empty() {
        vectors.insert(SPARSE.to_owned(), VectorPersisted::Sparse(engine_sparse(sparse)));
    }
    PointStructPersisted {
        id: engine_id(&key),
        vector: VectorStructPersisted::Named(vectors),
        payload: Some(Payload(payload)),
    }
}

pub(crate) fn arm(arm: &Arm) -> ScoringQuery {
    let (query, using) = match arm {
        Arm::Dense(vector) => (VectorInternal::Dense(vector.clone()), DENSE),
        Arm::Sparse(vector) => (VectorInternal::Sparse(engine_sparse(vector.clone())), SPARSE),
    };
    ScoringQuery::Vector(QueryEnum::Nearest(NamedQuery { query, using: Some(using.to_owned()) }))
}

pub(crate) fn path(path: &str) -> Result<JsonPath, BackendError> {
    path.parse().map_err(|()| BackendError::failed("a path that the engine does not take"))
}

fn of_life(life: Life) -> Result<Condition, BackendError> {
    let value = ValueVariants::String(reserved::life(life));
    Ok(Condition::Field(FieldCondition::new_match(path(reserved::LIFE_PATH)?, Match::new_value(value))))
}

fn condition(filter: &Filter) -> Result<Condition, BackendError> {
    Ok(match filter {
        Filter::Equals(key, value) => equals(key, value)?,
        Filter::AnyOf(key, values) => any_of(key, values)?,
        Filter::All(filters) => Condition::Filter(all(filters.iter().map(condition).collect::<Result<_, _>>()?)),
        Filter::Not(filter) => Condition::Filter(EngineFilter {
            should: None,
            min_should: None,
            must: None,
            must_not: Some(vec![condition(filter)?]),
        }),
    })
}

fn equals(key: &PayloadKey, value: &FilterValue) -> Result<Condition, BackendError> {
    let value = match value {
        FilterValue::Text(text) => ValueVariants::String(text.clone()),
        FilterValue::Integer(number) => ValueVariants::Integer(*number),
        FilterValue::Flag(flag) => ValueVariants::Bool(*flag),
    };
    Ok(Condition::Field(FieldCondition::new_match(path(key.as_str())?, Match::new_value(value))))
}

/// The engine's lists hold one kind of value each, and none holds truth values.
fn any_of(key: &PayloadKey, values: &[FilterValue]) -> Result<Condition, BackendError> {
    let (mut texts, mut numbers, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        match value {
            FilterValue::Text(text) => texts.push(text.clone()),
            FilterValue::Integer(number) => numbers.push(*number),
            FilterValue::Flag(_) => conditions.push(equals(key, value)?),
        }
    }
    let lists = [
        (!texts.is_empty()).then(|| AnyVariants::Strings(texts.into_iter().collect())),
        (!numbers.is_empty()).then(|| AnyVariants::Integers(numbers.into_iter().collect())),
    ];
    for list in lists.into_iter().flatten() {
        conditions.push(Condition::Field(FieldCondition::new_match(path(key.as_str())?, Match::new_any(list))));
    }
    if conditions.is_empty() {
        // The engine takes an empty list of alternatives for everything.
        return Err(BackendError::failed("a list of no values"));
    }
    Ok(Condition::Filter(EngineFilter { should: Some(conditions), min_should: None, must: None, must_not: None }))
}

fn all(must: Vec<Condition>) -> EngineFilter {
    EngineFilter { should: None, min_should: None, must: Some(must), must_not: None }
}

fn engine_sparse(vector: SparseVector) -> EngineSparse {
    let (indices, values) = vector.into_parts();
    EngineSparse { indices, values }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_life_is_a_condition_of_its_own_in_everything_that_selects() {
        let life = Life::random();
        let owner = PayloadKey::parse("owner").unwrap();
        let wide = Filter::Not(Box::new(Filter::AnyOf(owner, vec!["a".into(), 1.into(), true.into()])));
        let ids = vec![PointId::NumId(1)];
        for (filter, conditions) in [
            (all_of(life).unwrap(), 1),
            (scoped(life, Some(&wide)).unwrap(), 2),
            (points_of(life, ids).unwrap(), 2),
            (points_of(life, vec![]).unwrap(), 2),
        ] {
            let EngineFilter { should, min_should, must, must_not } = filter;
            let must = must.unwrap();
            assert_eq!((must.len(), &must[0]), (conditions, &of_life(life).unwrap()));
            assert!(should.is_none() && min_should.is_none() && must_not.is_none(), "nothing beside it to merge with");
        }
    }

    #[test]
    fn no_list_of_nothing_reaches_the_engine() {
        assert!(any_of(&PayloadKey::parse("owner").unwrap(), &[]).is_err());
    }
}
