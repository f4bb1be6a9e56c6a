//! The points that a search might find. The server picks them, by filter and nearness; what the search then comes to is
//! worked out by [`exact`](crate::exact), which is as if it looked at all points of the life as long as nothing that is
//! among the best is left out here.

use std::collections::{BTreeSet, HashMap, HashSet};

use tenancy_pg::sqlx::Row;
use tenancy_pg::{Isolation, IterativeScan, TxOptions, TxSettings};

use super::columns::Column;
use super::error::refused;
use super::reach::{Leaf, Reach, indices, leaves, vectors_of};
use super::rows::Layout;
use super::session::{Session, Statement, and};
use crate::backend::{ScoredPayload, StoredPayload};
use crate::error::BackendError;
use crate::exact::{self, Corpus, Rarity, meets};
use crate::id::PointKey;
use crate::name::VectorName;
use crate::request::{QueryRequest, TaggedPoint};

/// How a transaction of these searches begins: one moment for all of them, and as much effort in indexes as the largest
/// needs. An index goes on until there are enough points, in the order of their distance.
pub(super) fn options(requests: &[QueryRequest]) -> TxOptions {
    let nearest = requests.iter().flat_map(|request| leaves(request.search()));
    let most = nearest.filter_map(|leaf| leaf.reach.limit()).max().unwrap_or_default();
    let effort = u32::try_from(most.saturating_mul(EFFORT)).unwrap_or(u32::MAX).clamp(LEAST_EFFORT, MOST_EFFORT);
    let settings = TxSettings::new().hnsw_ef_search(effort).hnsw_iterative_scan(IterativeScan::Strict);
    TxOptions::new().read_only().isolation(Isolation::RepeatableRead).settings(settings)
}

pub(super) async fn answers(
    session: &mut Session<'_>,
    requests: &[QueryRequest],
) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        answers.push(answer(session, request).await?);
    }
    Ok(answers)
}

async fn answer(session: &mut Session<'_>, request: &QueryRequest) -> Result<Vec<ScoredPayload>, BackendError> {
    let search = request.search();
    let mut names = vectors_of(search);
    if request.vectors() {
        names.extend(request.schema().vectors().map(|(name, _)| name.clone()));
    }
    let mut found = Found { layout: Layout::of(session.tables, &names), points: Vec::new(), seen: HashSet::new() };
    for leaf in leaves(search) {
        found.gather(session, &leaf).await?;
    }
    let mut rarities = HashMap::new();
    for name in &names {
        let terms = indices(search, name);
        if let Some(column) = session.tables.column(name).filter(|_| !terms.is_empty()) {
            rarities.insert(name.clone(), rarity(session, &column.value(), terms).await?);
        }
    }
    let among: Vec<&TaggedPoint> = found.points.iter().collect();
    let hits = exact::search(&Corpus { schema: session.tables.schema(), rarities }, &among, search);
    let scored = hits.into_iter().map(|(point, score)| ScoredPayload::new(score, stored(point, request.vectors())));
    Ok(scored.collect())
}

pub(super) fn stored(point: &TaggedPoint, vectors: bool) -> StoredPayload {
    let stored = StoredPayload::new(point.payload().clone());
    if vectors { stored.with_vectors(point.vectors().clone()) } else { stored }
}

/// Points that were found so far, each once.
struct Found<'t> {
    layout: Layout<'t>,
    points: Vec<TaggedPoint>,
    seen: HashSet<PointKey>,
}

impl Found<'_> {
    async fn gather(&mut self, session: &mut Session<'_>, leaf: &Leaf<'_>) -> Result<(), BackendError> {
        let column = |using: &VectorName| session.tables.column(using).map(Column::value);
        match leaf.reach {
            Reach::Nearest { using, vector, limit, exact } => match column(using) {
                Some(column) => self.nearest(session, leaf, (using, column), vector.values(), (limit, exact)).await,
                None => Ok(()),
            },
            Reach::Terms { using, terms } => {
                let Some(column) = column(using) else { return Ok(()) };
                let mut statement = self.statement(session, leaf);
                statement.push(format!(" and p.{column} && ")).push_bind(numbers(terms));
                self.take(session, leaf, statement).await.map(drop)
            }
            Reach::Holding(using) => {
                let Some(column) = column(using) else { return Ok(()) };
                let mut statement = self.statement(session, leaf);
                statement.push(format!(" and p.{column} is not null"));
                self.take(session, leaf, statement).await.map(drop)
            }
            Reach::Random(limit) => {
                let mut statement = self.statement(session, leaf);
                statement.push(" order by random()");
                if leaf.is_exact() {
                    statement.push(" limit ").push_bind(rows(limit));
                }
                self.take(session, leaf, statement).await.map(drop)
            }
            Reach::All => {
                let statement = self.statement(session, leaf);
                self.take(session, leaf, statement).await.map(drop)
            }
        }
    }

    /// The nearest, in portions, until there are enough that meet the conditions. An index that ended too early is not asked
    /// again: then every point is looked at.
    async fn nearest(
        &mut self,
        session: &mut Session<'_>,
        leaf: &Leaf<'_>,
        (using, column): (&VectorName, String),
        wanted: &[f32],
        (limit, mut exact): (usize, bool),
    ) -> Result<(), BackendError> {
        exact = exact || limit > MOST_EFFORT as usize || !has_index(session, using).await?;
        let (mut portion, mut from, mut meeting) = (limit, 0, 0);
        loop {
            let mut statement = self.statement(session, leaf);
            statement.push(format!(" and p.{column} is not null order by (p.{column} <#> "));
            statement.push_bind(wanted.to_vec()).push("::real[]::vector)");
            if exact {
                // No index has this expression. Ties by the external id, as everywhere; an index could not be asked for both
                // on servers before 17.
                statement.push(" + 0, p.name");
            }
            statement.push(" limit ").push_bind(rows(portion)).push(" offset ").push_bind(rows(from));
            let (found, met) = self.take(session, leaf, statement).await?;
            meeting += met;
            if meeting >= limit {
                return Ok(());
            }
            if found < portion {
                if exact {
                    return Ok(());
                }
                (exact, portion, from, meeting) = (true, limit, 0, 0);
                continue;
            }
            from += portion;
            portion = portion.saturating_mul(2);
        }
    }

    fn statement(&self, session: &Session<'_>, leaf: &Leaf<'_>) -> Statement {
        let mut statement = session.select(&self.layout.sql());
        for condition in &leaf.conditions {
            and(&mut statement, Some(condition), session.tables);
        }
        statement
    }

    /// How many rows there were, and how many of them meet the conditions.
    async fn take(
        &mut self,
        session: &mut Session<'_>,
        leaf: &Leaf<'_>,
        statement: Statement,
    ) -> Result<(usize, usize), BackendError> {
        let rows = session.rows(statement).await?;
        let mut met = 0;
        for row in &rows {
            let point = self.layout.point(row)?;
            if leaf.conditions.iter().all(|condition| meets(Some(condition), &point)) {
                met += 1;
                if self.seen.insert(*point.key()) {
                    self.points.push(point);
                }
            }
        }
        Ok((rows.len(), met))
    }
}

/// Counted over this life's points, whatever is searched for among them, and over nobody else's.
async fn rarity(session: &mut Session<'_>, column: &str, terms: BTreeSet<u32>) -> Result<Rarity, BackendError> {
    let mut having = session.select("count(*)");
    having.push(format!(" and p.{column} is not null"));
    let rows = session.rows(having).await?;
    let points: i64 = rows.first().ok_or_else(|| BackendError::because("no count"))?.try_get(0).map_err(refused)?;
    let terms = numbers(&terms);
    let from =
        format!("select t.term, count(*) from {} p cross join unnest(p.{column}) as t(term)", session.tables.points);
    let mut holding = session.own(from);
    holding.push(format!(" and p.{column} && ")).push_bind(terms.clone());
    holding.push(" and t.term = any(").push_bind(terms).push(") group by t.term");
    let mut counts = HashMap::new();
    for row in session.rows(holding).await? {
        let (term, count): (i64, i64) = (row.try_get(0).map_err(refused)?, row.try_get(1).map_err(refused)?);
        if let Ok(term) = u32::try_from(term) {
            counts.insert(term, float(count));
        }
    }
    Ok(Rarity::counted(float(points), counts))
}

/// Whether the owner has an index of its own, built to its end.
async fn has_index(session: &mut Session<'_>, using: &VectorName) -> Result<bool, BackendError> {
    let Some((name, _)) = session.tables.index_of(&session.owner, using) else { return Ok(false) };
    let mut statement = Statement::new(
        "select 1 from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid \
         where i.indisvalid and i.indrelid = pg_catalog.to_regclass(",
    );
    statement.push_bind(session.tables.points.clone()).push(") and c.relname = ").push_bind(name);
    Ok(!session.rows(statement).await?.is_empty())
}

fn numbers<'i>(terms: impl IntoIterator<Item = &'i u32>) -> Vec<i64> {
    terms.into_iter().copied().map(i64::from).collect()
}

fn rows(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "as the plain back end counts")]
const fn float(count: i64) -> f32 {
    count as f32
}

/// How many candidates an index keeps for each point that is wanted.
const EFFORT: usize = 4;
const LEAST_EFFORT: u32 = 100;
const MOST_EFFORT: u32 = 1_000;
