//! Writes.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use tenancy_core::Life;
use tenancy_pg::sqlx::Row;
use uuid::Uuid;

use super::change;
use super::columns::Column;
use super::error::refused;
use super::json;
use super::rows::{Layout, texts};
use super::session::{Session, Statement, Tx};
use crate::error::BackendError;
use crate::exact::{meets, normalize};
use crate::request::{TaggedPoint, UpsertMode, Write, WriteRequest};
use crate::reserved;

/// Does the writes, all of them or none. Those of one owner wait for each other: each sees what the one before has left.
pub(super) async fn all(session: &mut Session<'_>, request: WriteRequest) -> Result<(), BackendError> {
    let (schema, writes) = request.into_parts();
    if schema != *session.tables.schema() {
        return Err(BackendError::unfit("the table was made for another schema of vectors"));
    }
    wait_for_others(session).await?;
    ensure_open(session).await?;
    for write in writes {
        match write {
            Write::Upsert { points, mode } => upsert(session, points, &mode).await?,
            Write::SetVectors(points) => change::set_vectors(session, points).await?,
            Write::DeleteVectors(selector, names) => change::delete_vectors(session, &selector, &names).await?,
            Write::SetPayload(selector, values, at) => {
                let act = |payload: &mut _| crate::exact::set_payload(payload, &values, at.as_ref());
                change::payloads(session, &selector, act).await?;
            }
            Write::OverwritePayload(key, payload) => {
                let selector = crate::request::Selector::Keys(vec![key]);
                change::payloads(session, &selector, |there| there.clone_from(&payload)).await?;
            }
            Write::DeletePayload(selector, keys) => {
                let act = |payload: &mut _| crate::exact::delete_payload(payload, &keys);
                change::payloads(session, &selector, act).await?;
            }
            Write::Delete(selector) => change::delete(session, &selector).await?,
        }
    }
    Ok(())
}

/// A corpus by its row of lives, which no tenant can hold on to: anybody can take any lock that only has a number.
async fn wait_for_others(session: &mut Session<'_>) -> Result<(), BackendError> {
    match &mut session.tx {
        Tx::Tenant(tx) => tx.lock(LOCK).await.map_err(refused),
        Tx::Publisher(_) => {
            enter(session).await?;
            let mut statement = open(session);
            statement.push(" for update");
            session.rows(statement).await.map(drop)
        }
    }
}

/// Enters the life where it is not there, and refuses one that was dropped. Between here and the commit the key of the
/// points to it does: a life that is closed meanwhile takes no point.
async fn ensure_open(session: &mut Session<'_>) -> Result<(), BackendError> {
    if let Some(open) = is_open(session).await? {
        return if open { Ok(()) } else { Err(BackendError::Dropped) };
    }
    enter(session).await?;
    // A life that never wrote and was dropped is there under another key, which this tenant does not see.
    if is_open(session).await? == Some(true) { Ok(()) } else { Err(BackendError::Dropped) }
}

async fn enter(session: &mut Session<'_>) -> Result<(), BackendError> {
    let (lives, owner) = (&session.tables.lives, session.tables.owner());
    let mut enter = Statement::new(format!("insert into {lives} ({owner}, life) values ("));
    session.owner.push(&mut enter);
    enter.push(", ").push_bind(session.life.uuid()).push(") on conflict do nothing");
    let _entered_by_us_or_others = session.run(enter).await?;
    Ok(())
}

fn open(session: &Session<'_>) -> Statement {
    let (lives, owner) = (&session.tables.lives, session.tables.owner());
    let mut statement = Statement::new(format!("select open from {lives} where {owner} = "));
    session.owner.push(&mut statement);
    statement.push(" and life = ").push_bind(session.life.uuid());
    statement
}

async fn is_open(session: &mut Session<'_>) -> Result<Option<bool>, BackendError> {
    let rows = session.rows(open(session)).await?;
    rows.first().map(|row| row.try_get(0).map_err(refused)).transpose()
}

async fn upsert(session: &mut Session<'_>, points: Vec<TaggedPoint>, mode: &UpsertMode) -> Result<(), BackendError> {
    let mut ids = HashSet::with_capacity(points.len());
    if !points.iter().all(|point| ids.insert(point.key().engine_id())) {
        return Err(BackendError::Collision);
    }
    let there = there(session, ids.into_iter().collect()).await?;
    let mut wanted = Vec::with_capacity(points.len());
    for mut point in points {
        let there = match there.get(&point.key().engine_id()) {
            Some(There::Ours(there)) if there.key() == point.key() => Some(there),
            Some(There::Ours(_) | There::AnotherLifes) => return Err(BackendError::Collision),
            None => None,
        };
        let is_wanted = match mode {
            UpsertMode::Replace => true,
            UpsertMode::Insert => there.is_none(),
            UpsertMode::Update(condition) => there.is_some_and(|there| meets(condition.as_ref(), there)),
        };
        if is_wanted {
            normalize(session.tables.schema(), &mut point.vectors);
            wanted.push(point);
        }
    }
    for points in wanted.chunks(POINTS_A_STATEMENT) {
        store(session, points).await?;
    }
    Ok(())
}

/// What is there under an engine id, in the owner's own rows.
enum There {
    Ours(TaggedPoint),
    AnotherLifes,
}

/// By engine id alone: a point of another life must be seen to be in the way.
async fn there(session: &mut Session<'_>, ids: Vec<Uuid>) -> Result<BTreeMap<Uuid, There>, BackendError> {
    let layout = Layout::all(session.tables);
    let mut statement =
        Statement::new(format!("select {}, p.id, p.life from {} p", layout.sql(), session.tables.points));
    statement.push(format!(" where p.{} = ", session.tables.owner()));
    session.owner.push(&mut statement);
    statement.push(" and p.id = any(").push_bind(ids).push(")");
    let mut there = BTreeMap::new();
    for row in session.rows(statement).await? {
        let id: Uuid = row.try_get(row.len() - 2).map_err(refused)?;
        let life: Uuid = row.try_get(row.len() - 1).map_err(refused)?;
        let ours = life == session.life.uuid();
        there.insert(id, if ours { There::Ours(layout.point(&row)?) } else { There::AnotherLifes });
    }
    Ok(there)
}

async fn store(session: &mut Session<'_>, points: &[TaggedPoint]) -> Result<(), BackendError> {
    let parts: Vec<_> = session.tables.columns().iter().flat_map(Column::parts).collect();
    let (table, owner) = (&session.tables.points, session.tables.owner());
    let mut sql = format!("insert into {table} as p ({owner}, life, id, digest, name, payload");
    let (mut values, mut names, mut sets) = (String::new(), String::new(), String::new());
    for (place, (name, kind)) in parts.iter().enumerate() {
        // Writing to a string does not fail.
        let _infallible = write!(sql, ", {name}");
        let _infallible = write!(values, ", u.c{place}::{kind}");
        let _infallible = write!(names, ", c{place}");
        let _infallible = write!(sets, ", {name} = excluded.{name}");
    }
    let mut statement = Statement::new(sql);
    statement.push(") select ");
    session.owner.push(&mut statement);
    statement.push(format!(", u.life, u.id, u.digest, u.name, u.payload::jsonb{values} from unnest("));
    let lives = points.iter().map(life_of).collect::<Result<Vec<Uuid>, _>>()?;
    let ids: Vec<_> = points.iter().map(|point| point.key().engine_id()).collect();
    let digests: Vec<_> = points.iter().map(|point| point.key().to_bytes().to_vec()).collect();
    let external: Vec<_> = points.iter().map(|point| external_id(point).as_bytes().to_vec()).collect();
    let payloads = points.iter().map(|point| json::written(point.payload())).collect::<Result<Vec<_>, _>>();
    statement.push_bind(lives).push(", ").push_bind(ids).push(", ").push_bind(digests).push(", ").push_bind(external);
    statement.push(", ").push_bind(payloads.map_err(BackendError::failed)?);
    for column in session.tables.columns() {
        let mut of_points: Vec<_> = column.parts().iter().map(|_| Vec::with_capacity(points.len())).collect();
        for point in points {
            let texts = texts(column, point.vectors().get(&column.name));
            of_points.iter_mut().zip(texts).for_each(|(all, text)| all.push(text));
        }
        for texts in of_points {
            statement.push(", ").push_bind(texts);
        }
    }
    // A point that came in between is not written over: it is another's.
    statement.push(format!(
        ") as u(life, id, digest, name, payload{names}) on conflict ({owner}, id) do update \
         set payload = excluded.payload, name = excluded.name{sets} where p.life = excluded.life and p.digest = excluded.digest"
    ));
    if session.run(statement).await? == points.len() as u64 { Ok(()) } else { Err(BackendError::Collision) }
}

/// The life in the tag.
fn life_of(point: &TaggedPoint) -> Result<Uuid, BackendError> {
    let life = reserved::text(point.payload(), reserved::LIFE).and_then(|text| Life::parse(text).ok());
    life.map(|life| life.uuid()).ok_or_else(|| BackendError::because("a point without a life"))
}

fn external_id(point: &TaggedPoint) -> &str {
    reserved::text(point.payload(), reserved::ID).unwrap_or_default()
}

/// The lock's name, within the tenant.
const LOCK: &str = "tenancy.vectors";
const POINTS_A_STATEMENT: usize = 500;
