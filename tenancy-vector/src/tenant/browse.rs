//! Reads that do not look for anything: pages, counts by value, and which points are near to each other.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenancy_core::{Denial, Entered, Fields, SealFault};
use uuid::Uuid;

use super::{TenantVectors, end};
use crate::answers;
use crate::error::VectorError;
use crate::filter::{Condition, Filter, FilterValue, Reduced};
use crate::id::{ExternalId, PointKey};
use crate::name::VectorName;
use crate::payload::PayloadKey;
use crate::point::FoundPoint;
use crate::query::VectorQuery;
use crate::request::{FacetRequest, Find, Order, OrderFrom, Position, QueryRequest, ScrollRequest, Search};
use crate::schema::IndexKind;

/// Which points are read page by page.
#[derive(Clone, Debug)]
pub struct Scroll {
    filter: Option<Filter>,
    limit: usize,
    order: Option<Order>,
    vectors: bool,
}

impl Scroll {
    /// All points, a hundred on a page, in an order that means nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { filter: None, limit: 100, order: None, vectors: false }
    }

    /// Those that meet a filter.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// So many on a page.
    ///
    /// # Errors
    /// [`VectorError::BadLimit`] for 0 and for more than [`VectorQuery::MAX_LIMIT`].
    pub fn limit(mut self, points: usize) -> Result<Self, VectorError> {
        if points == 0 || points > VectorQuery::MAX_LIMIT {
            return Err(VectorError::BadLimit { most: VectorQuery::MAX_LIMIT });
        }
        self.limit = points;
        Ok(self)
    }

    /// In the order of a value. The key is indexed; points without one value there are left out.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Points carry their vectors.
    #[must_use]
    pub const fn with_vectors(mut self) -> Self {
        self.vectors = true;
        self
    }
}

impl Default for Scroll {
    fn default() -> Self {
        Self::new()
    }
}

/// A page of points.
#[derive(Clone, Debug)]
pub struct Page {
    points: Vec<FoundPoint>,
    next: Option<Cursor>,
}

impl Page {
    /// The points.
    #[must_use]
    pub fn points(&self) -> &[FoundPoint] {
        &self.points
    }

    /// The points.
    #[must_use]
    pub fn into_points(self) -> Vec<FoundPoint> {
        self.points
    }

    /// Where the next page begins; none on the last.
    #[must_use]
    pub const fn next(&self) -> Option<&Cursor> {
        self.next.as_ref()
    }
}

/// Where a page begins. Sealed: it says nothing to whoever holds it, and is good for this tenant, this subject and this
/// order alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    /// The cursor as text, to hand to a client.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Cursor {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// How often a value is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facet {
    value: FilterValue,
    count: u64,
}

impl Facet {
    /// The value.
    #[must_use]
    pub const fn value(&self) -> &FilterValue {
        &self.value
    }

    /// In how many points.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }
}

/// Two points and how near they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    one: ExternalId,
    other: ExternalId,
    score: f32,
}

impl Near {
    /// The point whose neighbour the other is.
    #[must_use]
    pub const fn one(&self) -> &ExternalId {
        &self.one
    }

    /// The neighbour.
    #[must_use]
    pub const fn other(&self) -> &ExternalId {
        &self.other
    }

    /// The score of the second in a search for the first.
    #[must_use]
    pub const fn score(&self) -> f32 {
        self.score
    }
}

/// What a cursor says.
#[derive(Serialize, Deserialize)]
enum Place {
    After(Uuid),
    /// The value, and the points given at it already.
    Ordered(Value, Vec<[u8; 32]>),
}

impl TenantVectors {
    /// The most points with one value in an ordered scroll.
    pub const MAX_TIES: usize = 256;

    /// The most points in a matrix.
    pub const MAX_SAMPLE: usize = 100;

    /// A page of the tenant's points. Points that are written meanwhile may be on it or not, and none that stays is
    /// left out or given twice.
    ///
    /// # Errors
    /// [`VectorError::Denied`] with a seal's denial for a cursor of another tenant, subject or order;
    /// [`VectorError::NotIndexed`]; [`VectorError::TooManyTies`]; those of a filter; [`VectorError::Backend`].
    pub async fn scroll(&self, scroll: &Scroll, from: Option<&Cursor>) -> Result<Page, VectorError> {
        let entered = self.pass.enter("vectors.scroll").await?;
        let page = self.page(&entered, scroll, from).await;
        end(entered, page, Entered::done)
    }

    /// The most frequent values of an indexed key (a text, a whole number or a truth value) among the points that meet
    /// a filter, with their exact counts; equally frequent ones in their order.
    ///
    /// # Errors
    /// [`VectorError::NotIndexed`]; [`VectorError::BadLimit`]; those of a filter; [`VectorError::Backend`].
    pub async fn facet(
        &self,
        key: &PayloadKey,
        filter: Option<&Filter>,
        limit: usize,
    ) -> Result<Vec<Facet>, VectorError> {
        let entered = self.pass.enter("vectors.facet").await?;
        let facets = self.count_values(&entered, key, filter, limit).await;
        end(entered, facets, Entered::done)
    }

    /// How near points are to each other: a sample by chance, and of each its nearest neighbours within it.
    ///
    /// # Errors
    /// [`VectorError::UnknownVector`]; [`VectorError::BadLimit`] for more than [`MAX_SAMPLE`](Self::MAX_SAMPLE); those
    /// of a filter; [`VectorError::Backend`].
    pub async fn matrix(
        &self,
        using: &VectorName,
        filter: Option<&Filter>,
        sample: usize,
        neighbours: usize,
    ) -> Result<Vec<Near>, VectorError> {
        let entered = self.pass.enter("vectors.matrix").await?;
        let near = self.neighbours(&entered, using, filter, sample, neighbours).await;
        end(entered, near, Entered::done)
    }

    async fn page(&self, entered: &Entered<'_>, scroll: &Scroll, from: Option<&Cursor>) -> Result<Page, VectorError> {
        let listing = listing(scroll.order.as_ref());
        let from = from.map(|cursor| self.open(entered, &listing, cursor)).transpose()?;
        let nothing = Page { points: Vec::new(), next: None };
        let Some(mut condition) = decided(self.condition(entered, scroll.filter.as_ref())?) else { return Ok(nothing) };
        let (position, given) = match (&scroll.order, from) {
            (None, None) => (Position::After(None), Vec::new()),
            (None, Some(Place::After(id))) => (Position::After(Some(id)), Vec::new()),
            (Some(order), None) => (Position::Ordered(self.indexed(order)?.clone()), Vec::new()),
            (Some(order), Some(Place::Ordered(value, given))) => {
                let start = order_from(&value).ok_or(VectorError::NotIndexed)?;
                condition = Some(and(condition, Filter::Not(Box::new(has(&given)))));
                (Position::Ordered(self.indexed(order)?.clone().starting_at(start)), given)
            }
            (None, Some(Place::Ordered(..))) | (Some(_), Some(Place::After(_))) => {
                return Err(Denial::from(SealFault::Malformed).into());
            }
        };
        let request = ScrollRequest { condition, limit: scroll.limit, position, vectors: scroll.vectors };
        let scope = self.scope(entered);
        let answers = self.read(entered, self.engine.backend.scroll(&scope, request.clone())).await?;
        let full = answers.len() >= request.limit;
        let (mut points, mut doubtful) = (Vec::new(), HashSet::new());
        let mut seen = HashSet::new();
        for stored in answers {
            let (key, point) = answers::own(entered, stored)?;
            // An order by a list has the point at each of its items; the first is kept.
            if seen.insert(key) {
                if answers::is_doubtful(request.condition.as_ref(), &key, &point) {
                    doubtful.insert(key);
                }
                points.push((key, point));
            }
        }
        if points.len() > request.limit {
            return Err(Denial::StoreBreach.into());
        }
        self.ensure_changed(entered, request.condition.as_ref(), &doubtful).await?;
        let next = match (points.last(), &scroll.order) {
            (Some((key, _)), None) if full => Some(Place::After(key.engine_id())),
            (Some(_), Some(order)) if full => Some(last_value(order, &points, given)?),
            _last_page => None,
        };
        let next = next.map(|place| self.cursor(entered, &listing, &place)).transpose()?;
        points.retain(|(key, _)| !doubtful.contains(key));
        Ok(Page { points: points.into_iter().map(|(_, point)| point).collect(), next })
    }

    async fn count_values(
        &self,
        entered: &Entered<'_>,
        key: &PayloadKey,
        filter: Option<&Filter>,
        limit: usize,
    ) -> Result<Vec<Facet>, VectorError> {
        match self.engine.schema.index_of(key) {
            Some(IndexKind::Keyword | IndexKind::Integer | IndexKind::Flag) => {}
            Some(_) | None => return Err(VectorError::NotIndexed),
        }
        if limit == 0 || limit > VectorQuery::MAX_LIMIT {
            return Err(VectorError::BadLimit { most: VectorQuery::MAX_LIMIT });
        }
        let Some(condition) = decided(self.condition(entered, filter)?) else { return Ok(Vec::new()) };
        let scope = self.scope(entered);
        let request = FacetRequest { key: key.clone(), condition, limit };
        let counts = self.read(entered, self.engine.backend.facet(&scope, request)).await?;
        if counts.len() > limit {
            return Err(Denial::StoreBreach.into());
        }
        Ok(counts.into_iter().map(|(value, count)| Facet { value, count }).collect())
    }

    async fn neighbours(
        &self,
        entered: &Entered<'_>,
        using: &VectorName,
        filter: Option<&Filter>,
        sample: usize,
        neighbours: usize,
    ) -> Result<Vec<Near>, VectorError> {
        if !(1..=Self::MAX_SAMPLE).contains(&sample) || !(1..=Self::MAX_SAMPLE).contains(&neighbours) {
            return Err(VectorError::BadLimit { most: Self::MAX_SAMPLE });
        }
        if self.engine.schema.vector(using).is_none() {
            return Err(VectorError::UnknownVector);
        }
        let Some(condition) = decided(self.condition(entered, filter)?) else { return Ok(Vec::new()) };
        let condition = Some(and(condition, Filter::HasVector(using.clone())));
        let search = |find, condition, limit| Search { find, condition, limit, threshold: None, exact: true };
        let request = |search, vectors| QueryRequest { schema: self.engine.schema.clone(), search, vectors };
        let chosen = self.ask(entered, vec![request(search(Find::Sample, condition, sample), true)]).await?;
        let chosen: Vec<_> = chosen.into_iter().flatten().collect();
        let keys: Vec<_> = chosen.iter().map(|(key, _)| *key).collect();
        let mut requests = Vec::new();
        let mut points = Vec::new();
        for (key, hit) in &chosen {
            let others: Vec<_> = keys.iter().filter(|other| *other != key).copied().collect();
            if let Some(vector) = hit.point.vectors.get(using).filter(|_| !others.is_empty()) {
                let find = Find::Nearest { using: using.clone(), vector: vector.clone() };
                requests.push(request(search(find, Some(Filter::HasId(others)), neighbours), false));
                points.push(hit.id().clone());
            }
        }
        let found = self.ask(entered, requests).await?;
        let near = points.into_iter().zip(found).flat_map(|(one, hits)| {
            hits.into_iter().map(move |(_, hit)| Near { one: one.clone(), other: hit.id().clone(), score: hit.score() })
        });
        Ok(near.collect())
    }

    fn indexed<'o>(&self, order: &'o Order) -> Result<&'o Order, VectorError> {
        match self.engine.schema.index_of(order.key()) {
            Some(IndexKind::Integer | IndexKind::Float | IndexKind::Datetime) => Ok(order),
            Some(_) | None => Err(VectorError::NotIndexed),
        }
    }

    fn cursor(&self, entered: &Entered<'_>, listing: &Fields, place: &Place) -> Result<Cursor, VectorError> {
        let place = serde_json::to_vec(place).map_err(|_| VectorError::NotIndexed)?;
        Ok(Cursor(entered.context().cursor(listing, &place)?))
    }

    fn open(&self, entered: &Entered<'_>, listing: &Fields, cursor: &Cursor) -> Result<Place, VectorError> {
        let place = entered.context().open_cursor(listing, cursor.as_str())?;
        serde_json::from_slice(&place).map_err(|_| Denial::from(SealFault::Malformed).into())
    }
}

/// What a cursor is bound to, beside the tenant and the subject.
fn listing(order: Option<&Order>) -> Fields {
    let mut fields = Fields::new();
    fields.text(1, "vectors.scroll");
    if let Some(order) = order {
        fields.text(2, order.key().as_str()).text(3, if order.is_descending() { "descending" } else { "ascending" });
    }
    fields
}

/// Where the next page of an ordered scroll begins: at the last value, without the points that were given at it.
fn last_value(order: &Order, points: &[(PointKey, FoundPoint)], given: Vec<[u8; 32]>) -> Result<Place, VectorError> {
    let value = |point: &FoundPoint| match order.key().find(&point.payload).as_slice() {
        // A list is at several places, which no cursor can tell apart.
        [one] if order_from(one).is_some() => Ok((*one).clone()),
        _several => Err(VectorError::NotOrdered),
    };
    let values: Vec<_> =
        points.iter().map(|(key, point)| Ok((*key, value(point)?))).collect::<Result<_, VectorError>>()?;
    let Some((_, last)) = values.last() else { return Err(VectorError::NotOrdered) };
    let at_last = values.iter().filter(|(_, value)| value == last).map(|(key, _)| key.to_bytes());
    let mut ties: Vec<_> = at_last.collect();
    if ties.len() == values.len() {
        // The whole page is at one value: what was given at it before counts too.
        ties.extend(given);
    }
    if ties.len() > TenantVectors::MAX_TIES {
        return Err(VectorError::TooManyTies { most: TenantVectors::MAX_TIES });
    }
    Ok(Place::Ordered(last.clone(), ties))
}

fn order_from(value: &Value) -> Option<OrderFrom> {
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(whole) if whole.unsigned_abs() <= 1 << 53 => Some(OrderFrom::Integer(whole)),
            Some(_) => None,
            None => number.as_f64().map(OrderFrom::Float),
        },
        Value::String(text) => humantime::parse_rfc3339(text).ok().map(OrderFrom::Datetime),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn has(keys: &[[u8; 32]]) -> Condition {
    Filter::HasId(keys.iter().copied().map(PointKey::of_bytes).collect())
}

fn and(condition: Option<Condition>, other: Condition) -> Condition {
    match condition {
        Some(condition) => Filter::All(vec![condition, other]),
        None => other,
    }
}

/// `None` where no point can match.
fn decided(reduced: Reduced) -> Option<Option<Condition>> {
    match reduced {
        Reduced::Nothing => None,
        Reduced::Everything => Some(None),
        Reduced::Some(condition) => Some(Some(condition)),
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cursor(..)")
    }
}
