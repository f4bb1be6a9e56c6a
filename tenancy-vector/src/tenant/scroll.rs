//! Reads page by page: what is on a page, and the sealed cursor that says where the next begins.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenancy_core::{Denial, Entered, Fields, SealFault};
use uuid::Uuid;

use super::browse::{and, decided};
use super::{TenantVectors, Vectors, end};
use crate::answers;
use crate::error::VectorError;
use crate::filter::{Condition, Filter};
use crate::id::PointKey;
use crate::point::FoundPoint;
use crate::points::Owner;
use crate::query::VectorQuery;
use crate::request::{Order, OrderFrom, Position, ScrollRequest};
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

/// What a cursor says.
#[derive(Serialize, Deserialize)]
enum Place {
    After(Uuid),
    /// The value, and the points given at it already.
    Ordered(Value, Vec<[u8; 32]>),
}

impl<Of> Vectors<Of> {
    /// The most points with one value in an ordered scroll.
    pub const MAX_TIES: usize = 256;

    /// A page of the points. Points that are written meanwhile may be on it or not, and none that stays is
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

    async fn page(&self, entered: &Entered<'_>, scroll: &Scroll, from: Option<&Cursor>) -> Result<Page, VectorError> {
        let listing = listing(&self.points.owner, scroll.order.as_ref());
        let from = from.map(|cursor| self.open(entered, &listing, cursor)).transpose()?;
        let nothing = Page { points: Vec::new(), next: None };
        let Some(mut condition) = decided(self.points.condition(scroll.filter.as_ref())?) else { return Ok(nothing) };
        let (position, given) = match (&scroll.order, from) {
            (None, None) => (Position::After(None), Vec::new()),
            (None, Some(Place::After(id))) => (Position::After(Some(id)), Vec::new()),
            (Some(order), None) => (Position::Ordered(self.indexed(order)?.clone()), Vec::new()),
            (Some(order), Some(Place::Ordered(value, given))) => {
                let start = order_from(&value).ok_or(VectorError::NotOrdered)?;
                condition = Some(and(condition, Filter::Not(Box::new(has(&given)))));
                (Position::Ordered(self.indexed(order)?.clone().starting_at(start)), given)
            }
            (None, Some(Place::Ordered(..))) | (Some(_), Some(Place::After(_))) => {
                return Err(Denial::from(SealFault::Malformed).into());
            }
        };
        let request = ScrollRequest { condition, limit: scroll.limit, position, vectors: scroll.vectors };
        let scope = self.scope(entered);
        let answers = self.read(entered, self.points.engine.backend.scroll(&scope, request.clone())).await?;
        let full = answers.len() >= request.limit;
        let (mut points, mut doubtful) = (Vec::new(), HashSet::new());
        let mut seen = HashSet::new();
        for (key, point) in answers::all(&self.points.owner, answers)? {
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

    fn indexed<'o>(&self, order: &'o Order) -> Result<&'o Order, VectorError> {
        match self.points.engine.schema.index_of(order.key()) {
            Some(IndexKind::Integer | IndexKind::Float | IndexKind::Datetime) => Ok(order),
            Some(_) | None => Err(VectorError::NotIndexed(order.key().clone())),
        }
    }

    fn cursor(&self, entered: &Entered<'_>, listing: &Fields, place: &Place) -> Result<Cursor, VectorError> {
        let place = serde_json::to_vec(place).map_err(|_| VectorError::NotOrdered)?;
        Ok(Cursor(entered.context().cursor(listing, &place)?))
    }

    fn open(&self, entered: &Entered<'_>, listing: &Fields, cursor: &Cursor) -> Result<Place, VectorError> {
        // One of ours is a third as long at most.
        if cursor.0.len() > MAX_CURSOR_BYTES {
            return Err(Denial::from(SealFault::Malformed).into());
        }
        let place = entered.context().open_cursor(listing, cursor.as_str())?;
        serde_json::from_slice(&place).map_err(|_| Denial::from(SealFault::Malformed).into())
    }
}

/// What a cursor is bound to, beside the tenant and the subject: whose points are listed, and in which order.
fn listing(owner: &Owner, order: Option<&Order>) -> Fields {
    let mut fields = Fields::new();
    fields.text(1, "vectors.scroll");
    if let Some(order) = order {
        fields.text(2, order.key().as_str()).text(3, if order.is_descending() { "descending" } else { "ascending" });
    }
    fields.uuid(4, owner.life().uuid());
    if let Some(from) = order.and_then(Order::from) {
        let from = match from {
            OrderFrom::Integer(number) => format!("integer {number}"),
            OrderFrom::Float(number) => format!("float {}", number.to_bits()),
            OrderFrom::Datetime(time) => format!("time {time:?}"),
        };
        fields.text(5, &from);
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

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cursor(..)")
    }
}

const MAX_CURSOR_BYTES: usize = 128 * 1024;
