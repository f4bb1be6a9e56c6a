//! From what a caller asked for to what a back end is asked: texts become vectors, examples become vectors, ids become
//! keys, and what is decided already is left out.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Example, Recommend, VectorQuery, Wanted};
use crate::error::VectorError;
use crate::filter::{Filter, Reduced};
use crate::id::{ExternalId, PointKey};
use crate::name::VectorName;
use crate::points::Owner;
use crate::request::{Expression, Find, Pair, Search, Strategy};
use crate::schema::{IndexKind, Schema};
use crate::text;
use crate::vector::{DenseVector, Input, Vector};

/// A query to send, or none where nothing can be found.
type Lowered = Option<Search>;

/// The vectors of the points named as examples.
pub(crate) type Examples = HashMap<ExternalId, BTreeMap<VectorName, Vector>>;

/// What lowering needs to know.
pub(crate) struct Lowering<'a> {
    pub(crate) schema: &'a Schema,
    /// Whose keys its ids become.
    pub(crate) owner: &'a Owner,
    pub(crate) examples: &'a Examples,
}

impl VectorQuery {
    /// How many hits it asks for.
    pub(crate) fn hits(&self) -> usize {
        self.limit.unwrap_or(DEFAULT_LIMIT)
    }

    /// The points named as examples, in the query and all its arms.
    pub(crate) fn examples(&self) -> impl Iterator<Item = &ExternalId> {
        let examples: Vec<&Example> = match &self.wanted {
            Wanted::Recommend { like, unlike, .. } => like.iter().chain(unlike).collect(),
            Wanted::Discover { target, pairs: both, .. } => pairs(both).into_iter().chain([target]).collect(),
            Wanted::Context { pairs: both, .. } => pairs(both),
            Wanted::Nearest { .. }
            | Wanted::Mmr { .. }
            | Wanted::Ordered(_)
            | Wanted::Sample
            | Wanted::Fuse { .. }
            | Wanted::Rescore { .. }
            | Wanted::Refine { .. } => Vec::new(),
        };
        let own = examples.into_iter().filter_map(|example| match example {
            Example::Point(id) => Some(id),
            Example::Input(_) => None,
        });
        let theirs: Vec<_> = self.arms().iter().flat_map(Self::examples).collect();
        own.chain(theirs)
    }
}

impl Lowering<'_> {
    /// Lowers a query that is bounded and whose examples were read, perhaps with another limit than its own.
    pub(crate) fn lower(&self, query: &VectorQuery, limit: Option<usize>) -> Result<Lowered, VectorError> {
        let limit = limit.unwrap_or(query.hits());
        let search = self.search(query, limit)?;
        let (Some(mut search), named) = (search, query.examples().collect::<HashSet<_>>()) else { return Ok(None) };
        if !named.is_empty() {
            let keys = named.into_iter().map(|id| self.key(id)).collect::<Result<_, _>>()?;
            let others = Filter::Not(Box::new(Filter::HasId(keys)));
            search.condition = Some(match search.condition.take() {
                Some(condition) => Filter::All(vec![condition, others]),
                None => others,
            });
        }
        Ok(Some(search))
    }

    fn search(&self, query: &VectorQuery, limit: usize) -> Result<Lowered, VectorError> {
        let condition = match self.condition(query.filter.as_ref())? {
            Reduced::Nothing => return Ok(None),
            Reduced::Everything => None,
            Reduced::Some(condition) => Some(condition),
        };
        let arms = |arms: &[VectorQuery]| {
            if arms.is_empty() {
                return Err(VectorError::NoArm);
            }
            let depth = depth(limit);
            arms.iter().map(|arm| self.search(arm, arm.limit.unwrap_or(depth))).collect::<Result<Vec<_>, _>>()
        };
        let find = match &query.wanted {
            Wanted::Nearest { using, input } => {
                let vector = self.vector(using, input)?;
                if vector.is_empty() {
                    return Ok(None);
                }
                Find::Nearest { using: using.clone(), vector }
            }
            Wanted::Mmr { using, input, diversity, candidates } => {
                let vector = self.vector(using, input)?;
                if vector.is_empty() {
                    return Ok(None);
                }
                let candidates = candidates.unwrap_or_else(|| depth(limit));
                Find::Mmr { using: using.clone(), vector, diversity: *diversity, candidates }
            }
            Wanted::Recommend { using, like, unlike, strategy } => self.recommend(using, like, unlike, *strategy)?,
            Wanted::Discover { using, target, pairs } => Find::Discover {
                using: using.clone(),
                target: self.example(using, target)?,
                pairs: self.pairs(using, pairs)?,
            },
            Wanted::Context { using, pairs } => {
                Find::Context { using: using.clone(), pairs: self.pairs(using, pairs)? }
            }
            Wanted::Ordered(order) => match self.schema.index_of(&order.key) {
                Some(IndexKind::Integer | IndexKind::Float | IndexKind::Datetime) => Find::Ordered(order.clone()),
                Some(_) | None => return Err(VectorError::NotIndexed(order.key.clone())),
            },
            Wanted::Sample => Find::Sample,
            Wanted::Fuse { fusion, arms: wanted } => {
                let found = arms(wanted)?;
                let Some(fusion) = fusion.for_arms(&found)? else { return Ok(None) };
                Find::Fuse { fusion, arms: found.into_iter().flatten().collect() }
            }
            Wanted::Rescore { score, arms: wanted } => {
                let found = arms(wanted)?;
                let score = self.expression(score, &found)?;
                let arms: Vec<_> = found.into_iter().flatten().collect();
                if arms.is_empty() {
                    return Ok(None);
                }
                Find::Rescore { score, arms }
            }
            Wanted::Refine { using, input, arms: wanted } => {
                let (vector, arms) =
                    (self.vector(using, input)?, arms(wanted)?.into_iter().flatten().collect::<Vec<_>>());
                if vector.is_empty() || arms.is_empty() {
                    return Ok(None);
                }
                Find::Refine { using: using.clone(), vector, arms }
            }
        };
        Ok(Some(Search { find, condition, limit, threshold: query.threshold, exact: query.exact }))
    }

    /// A caller's filter, checked against the schema.
    pub(crate) fn condition(&self, filter: Option<&Filter>) -> Result<Reduced, VectorError> {
        let Some(filter) = filter else { return Ok(Reduced::Everything) };
        filter.ensure_indexed(self.schema)?;
        filter.clone().reduce(&|id: &ExternalId| self.key(id))
    }

    fn key(&self, id: &ExternalId) -> Result<PointKey, VectorError> {
        Ok(self.owner.key(id)?)
    }

    fn vector(&self, using: &VectorName, input: &Input) -> Result<Vector, VectorError> {
        text::vector(self.schema, using, input, text::Side::Query)
    }

    fn example(&self, using: &VectorName, example: &Example) -> Result<Vector, VectorError> {
        let id = match example {
            Example::Input(input) => return self.vector(using, input),
            Example::Point(id) => id,
        };
        // Whoever read the examples has refused those that are not there.
        let vector = self.examples.get(id).and_then(|vectors| vectors.get(using));
        vector.cloned().ok_or_else(|| VectorError::NoVector(using.clone()))
    }

    fn pairs(&self, using: &VectorName, pairs: &[(Example, Example)]) -> Result<Vec<Pair>, VectorError> {
        let pair = |(positive, negative): &(Example, Example)| {
            Ok(Pair { positive: self.example(using, positive)?, negative: self.example(using, negative)? })
        };
        pairs.iter().map(pair).collect()
    }

    fn recommend(
        &self,
        using: &VectorName,
        like: &[Example],
        unlike: &[Example],
        strategy: Recommend,
    ) -> Result<Find, VectorError> {
        let vectors = |examples: &[Example]| {
            examples.iter().map(|example| self.example(using, example)).collect::<Result<Vec<_>, _>>()
        };
        let (using, like, unlike) = (using.clone(), vectors(like)?, vectors(unlike)?);
        Ok(match Option::<Strategy>::from(strategy) {
            Some(strategy) => Find::Recommend { using, like, unlike, strategy },
            None => Find::Nearest { vector: average(&using, &like, &unlike)?, using },
        })
    }

    /// An expression whose scores are those of the arms that are left. An arm that finds nothing gives every point 0.
    fn expression(&self, score: &Expression, arms: &[Lowered]) -> Result<Expression<PointKey>, VectorError> {
        let inner = |score: &Expression| self.expression(score, arms);
        let boxed = |score: &Expression| inner(score).map(Box::new);
        let finite = |number: f32| if number.is_finite() { Ok(number) } else { Err(VectorError::NotFinite) };
        Ok(match score {
            Expression::Number(number) => Expression::Number(finite(*number)?),
            Expression::Score(arm) => match arms.get(*arm) {
                None => return Err(VectorError::NoArm),
                Some(None) => Expression::Number(0.0),
                Some(Some(_)) => Expression::Score(arms.iter().take(*arm).flatten().count()),
            },
            Expression::Value(key, or) => Expression::Value(key.clone(), finite(*or)?),
            Expression::When(filter) => match self.condition(Some(filter))? {
                Reduced::Nothing => Expression::Number(0.0),
                Reduced::Everything => Expression::Number(1.0),
                Reduced::Some(condition) => Expression::When(Box::new(condition)),
            },
            Expression::Datetime(key, or) => Expression::Datetime(key.clone(), finite(*or)?),
            Expression::Distance(place, key, or) => Expression::Distance(*place, key.clone(), finite(*or)?),
            Expression::Sum(all) => Expression::Sum(all.iter().map(inner).collect::<Result<_, _>>()?),
            Expression::Product(all) => Expression::Product(all.iter().map(inner).collect::<Result<_, _>>()?),
            Expression::Quotient(one, two, or) => Expression::Quotient(boxed(one)?, boxed(two)?, finite(*or)?),
            Expression::Negative(one) => Expression::Negative(boxed(one)?),
            Expression::Absolute(one) => Expression::Absolute(boxed(one)?),
            Expression::Decay { decay, of, target, scale, midpoint } => {
                if finite(*scale)? <= 0.0 || !(0.0..1.0).contains(midpoint) || *midpoint == 0.0 {
                    return Err(VectorError::NotFinite);
                }
                let (of, target) = (boxed(of)?, finite(*target)?);
                Expression::Decay { decay: *decay, of, target, scale: *scale, midpoint: *midpoint }
            }
        })
    }
}

fn pairs(pairs: &[(Example, Example)]) -> Vec<&Example> {
    pairs.iter().flat_map(|(one, two)| [one, two]).collect()
}

/// The average of some vectors, moved away from the average of others: `like + (like - unlike)`, as Qdrant does.
fn average(using: &VectorName, like: &[Vector], unlike: &[Vector]) -> Result<Vector, VectorError> {
    let mean = |vectors: &[Vector]| {
        let mut sum: Vec<f32> = Vec::new();
        for vector in vectors {
            // There is no average of what has no common places.
            let Vector::Dense(dense) = vector else { return Err(VectorError::WrongKind(using.clone())) };
            sum.resize(dense.dimension(), 0.0);
            for (sum, value) in sum.iter_mut().zip(dense.values()) {
                *sum += value;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "there are a few hundred examples at most")]
        let count = vectors.len() as f32;
        Ok(sum.into_iter().map(|sum| sum / count).collect::<Vec<_>>())
    };
    let mut values = mean(like)?;
    if !unlike.is_empty() {
        for (value, away) in values.iter_mut().zip(mean(unlike)?) {
            *value += *value - away;
        }
    }
    DenseVector::new(values).map(Vector::Dense)
}

/// How many points an arm looks up, so that one in the middle of several can come to the top.
fn depth(limit: usize) -> usize {
    limit.saturating_mul(4).clamp(100, VectorQuery::MAX_DEPTH)
}

const DEFAULT_LIMIT: usize = 10;
