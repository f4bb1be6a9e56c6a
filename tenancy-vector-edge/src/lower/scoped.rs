//! The condition on the life, without which nothing is asked of the engine.

use qdrant_edge::{
    Condition as EngineCondition, FieldCondition, Filter as EngineFilter, IsEmptyCondition, Match, PointId,
    ValueVariants,
};
use tenancy_core::Life;
use tenancy_vector::{BackendError, Condition, reserved};

use super::condition::{all, condition, has_id};
use super::path;

/// A filter of the engine's with the condition on the life in it. Everything that selects points takes one of these.
///
/// The conditions stand side by side in `must`, each of a caller's as one nested condition: lists of conditions that
/// were merged have let another tenant's points through (qdrant 10594).
#[derive(Clone, Debug)]
pub(crate) struct Scoped(Vec<EngineCondition>);

impl Scoped {
    /// The points of a life.
    pub(crate) fn to(life: Life) -> Result<Self, BackendError> {
        Ok(Self(vec![of_life(life)?]))
    }

    /// Of the points with these ids those that have lost their tag: the engine falls over a payload that it can't read when
    /// it deletes the point, and has forgotten the payload then.
    pub(crate) fn nobodys(ids: impl IntoIterator<Item = PointId>) -> Result<Self, BackendError> {
        let without = IsEmptyCondition::from(path(reserved::LIFE_PATH)?);
        Ok(Self(vec![EngineCondition::IsEmpty(without)]).among(ids))
    }

    /// Those of them that meet a condition.
    pub(crate) fn meeting<'c>(
        mut self,
        conditions: impl IntoIterator<Item = &'c Condition>,
    ) -> Result<Self, BackendError> {
        for one in conditions {
            self.0.push(condition(one)?);
        }
        Ok(self)
    }

    /// Those of them with these ids. A list of ids alone would reach whatever has them.
    pub(crate) fn among(mut self, ids: impl IntoIterator<Item = PointId>) -> Self {
        self.0.push(has_id(ids));
        self
    }

    pub(crate) fn into_filter(self) -> EngineFilter {
        all(self.0)
    }
}

pub(super) fn of_life(life: Life) -> Result<EngineCondition, BackendError> {
    let value = ValueVariants::String(reserved::life(life));
    Ok(EngineCondition::Field(FieldCondition::new_match(path(reserved::LIFE_PATH)?, Match::new_value(value))))
}

#[cfg(test)]
mod tests {
    use tenancy_vector::{Filter, PayloadKey};

    use super::*;

    #[test]
    fn the_life_is_a_condition_of_its_own_in_everything_that_selects() {
        let life = Life::random();
        let owner = PayloadKey::parse("owner").unwrap();
        let wide = Filter::Any(vec![Filter::AnyOf(owner, vec!["a".into(), 1.into(), true.into()])]);
        let of = || Scoped::to(life).unwrap();
        for (scoped, conditions) in [
            (of(), 1),
            (of().meeting([&wide]).unwrap(), 2),
            (of().meeting([&wide, &wide]).unwrap(), 3),
            (of().among([PointId::NumId(1)]), 2),
            (of().among([]), 2),
            (of().meeting([&wide]).unwrap().among([PointId::NumId(1)]), 3),
        ] {
            let EngineFilter { should, min_should, must, must_not } = scoped.into_filter();
            let must = must.unwrap();
            assert_eq!((must.len(), &must[0]), (conditions, &of_life(life).unwrap()));
            assert!(should.is_none() && min_should.is_none() && must_not.is_none(), "nothing beside it to merge with");
        }
    }
}
