//! Reads that are no searches.

use std::collections::BTreeSet;

use tenancy_pg::sqlx::Row;
use tenancy_pg::{Isolation, TxOptions};
use uuid::Uuid;

use super::error::refused;
use super::filter::is_exact;
use super::gather::stored;
use super::reach::named;
use super::rows::Layout;
use super::session::{Session, and};
use crate::backend::StoredPayload;
use crate::error::BackendError;
use crate::exact::{self, meets};
use crate::filter::{Condition, FilterValue};
use crate::id::PointKey;
use crate::name::VectorName;
use crate::request::{CountRequest, FacetRequest, Order, Position, ScrollRequest, TaggedPoint};

/// One moment for all statements of a read.
pub(super) fn options() -> TxOptions {
    TxOptions::new().read_only().isolation(Isolation::RepeatableRead)
}

pub(super) async fn count(session: &mut Session<'_>, request: &CountRequest) -> Result<u64, BackendError> {
    let condition = request.condition();
    if !condition.is_none_or(is_exact) {
        return Ok(all(session, condition, false).await?.len() as u64);
    }
    let mut statement = session.select("count(*)");
    and(&mut statement, condition, session.tables);
    let rows = session.rows(statement).await?;
    let count: i64 = rows.first().ok_or_else(|| BackendError::because("no count"))?.try_get(0).map_err(refused)?;
    Ok(u64::try_from(count).unwrap_or_default())
}

pub(super) async fn facet(
    session: &mut Session<'_>,
    request: &FacetRequest,
) -> Result<Vec<(FilterValue, u64)>, BackendError> {
    let points = all(session, request.condition(), false).await?;
    Ok(exact::count_values(session.tables.schema(), request, points.iter()))
}

pub(super) async fn scroll(
    session: &mut Session<'_>,
    request: &ScrollRequest,
) -> Result<Vec<StoredPayload>, BackendError> {
    let points = match request.position() {
        Position::After(after) => page(session, request, *after).await?,
        Position::Ordered(order) => in_order(session, request, order).await?,
    };
    Ok(points.iter().map(|point| stored(point, request.vectors())).collect())
}

pub(super) async fn retrieve(
    session: &mut Session<'_>,
    keys: &[PointKey],
    vectors: bool,
) -> Result<Vec<StoredPayload>, BackendError> {
    let layout = if vectors { Layout::all(session.tables) } else { Layout::without_vectors() };
    let mut statement = session.select(&layout.sql());
    and(&mut statement, Some(&Condition::HasId(keys.to_vec())), session.tables);
    let rows = session.rows(statement).await?;
    rows.iter().map(|row| Ok(stored(&layout.point(row)?, vectors))).collect()
}

/// All points that meet a condition.
async fn all(
    session: &mut Session<'_>,
    condition: Option<&Condition>,
    vectors: bool,
) -> Result<Vec<TaggedPoint>, BackendError> {
    let layout = layout(session, condition, vectors);
    let mut statement = session.select(&layout.sql());
    and(&mut statement, condition, session.tables);
    let rows = session.rows(statement).await?;
    let points = rows.iter().map(|row| layout.point(row)).collect::<Result<Vec<_>, _>>()?;
    Ok(points.into_iter().filter(|point| meets(condition, point)).collect())
}

/// In the order of engine ids, portion by portion, until there are enough that meet the condition.
async fn page(
    session: &mut Session<'_>,
    request: &ScrollRequest,
    mut after: Option<Uuid>,
) -> Result<Vec<TaggedPoint>, BackendError> {
    let layout = layout(session, request.condition(), request.vectors());
    let mut found = Vec::new();
    let mut portion = request.limit();
    loop {
        let mut statement = session.select(&layout.sql());
        and(&mut statement, request.condition(), session.tables);
        if let Some(after) = after {
            statement.push(" and p.id > ").push_bind(after);
        }
        statement.push(" order by p.id limit ").push_bind(i64::try_from(portion).unwrap_or(i64::MAX));
        let rows = session.rows(statement).await?;
        for row in &rows {
            let point = layout.point(row)?;
            after = Some(point.key().engine_id());
            if found.len() < request.limit() && meets(request.condition(), &point) {
                found.push(point);
            }
        }
        if rows.len() < portion || found.len() >= request.limit() {
            return Ok(found);
        }
        portion = portion.saturating_mul(2).min(MOST_OF_A_PORTION);
    }
}

async fn in_order(
    session: &mut Session<'_>,
    request: &ScrollRequest,
    order: &Order,
) -> Result<Vec<TaggedPoint>, BackendError> {
    let points = all(session, request.condition(), request.vectors()).await?;
    let ordered = exact::ordered(&points.iter().collect::<Vec<_>>(), order);
    Ok(ordered.into_iter().take(request.limit()).cloned().collect())
}

fn layout<'t>(session: &Session<'t>, condition: Option<&Condition>, vectors: bool) -> Layout<'t> {
    let names: BTreeSet<VectorName> = condition.into_iter().flat_map(named).collect();
    if vectors { Layout::all(session.tables) } else { Layout::of(session.tables, &names) }
}

const MOST_OF_A_PORTION: usize = 10_000;
