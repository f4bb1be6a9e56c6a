//! Changes of points that are there.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::filter::is_exact;
use super::json;
use super::reach::named;
use super::rows::{Layout, texts};
use super::session::{Session, Statement, and};
use crate::error::BackendError;
use crate::exact::{meets, normalize};
use crate::filter::Condition;
use crate::id::PointKey;
use crate::name::VectorName;
use crate::request::{Selector, TaggedVectors};

pub(super) async fn set_vectors(session: &mut Session<'_>, points: Vec<TaggedVectors>) -> Result<(), BackendError> {
    let mut points: Vec<_> = points.into_iter().map(TaggedVectors::into_parts).collect();
    for (_, vectors) in &mut points {
        normalize(session.tables.schema(), vectors);
    }
    for column in session.tables.columns() {
        let of_name: Vec<_> =
            points.iter().filter_map(|(key, vectors)| Some((key, vectors.get(&column.name)?))).collect();
        if of_name.is_empty() {
            continue;
        }
        let parts = column.parts();
        let (mut sets, mut names) = (Vec::new(), String::new());
        for (place, (name, kind)) in parts.iter().enumerate() {
            sets.push(format!("{name} = u.c{place}::{kind}"));
            names += &format!(", c{place}");
        }
        let mut statement = Statement::new(format!("update {} p set {}", session.tables.points, sets.join(", ")));
        let (ids, digests) = ids_and_digests(of_name.iter().map(|(key, _)| *key));
        statement.push(" from unnest(").push_bind(ids).push(", ").push_bind(digests);
        for place in 0..parts.len() {
            let texts = of_name.iter().map(|(_, vector)| texts(column, Some(vector)).into_iter().nth(place).flatten());
            statement.push(", ").push_bind(texts.collect::<Vec<_>>());
        }
        statement.push(format!(") as u(id, digest{names})"));
        session.push_own(&mut statement);
        statement.push(" and p.id = u.id and p.digest = u.digest");
        session.run(statement).await?;
    }
    Ok(())
}

pub(super) async fn delete_vectors(
    session: &mut Session<'_>,
    selector: &Selector,
    names: &[VectorName],
) -> Result<(), BackendError> {
    let columns = names.iter().filter_map(|name| session.tables.column(name)).flat_map(super::columns::Column::parts);
    let sets: Vec<_> = columns.map(|(name, _)| format!("{name} = null")).collect();
    if sets.is_empty() {
        return Ok(());
    }
    let sql = format!("update {} p set {}", session.tables.points, sets.join(", "));
    on_selected(session, sql, selector).await
}

pub(super) async fn delete(session: &mut Session<'_>, selector: &Selector) -> Result<(), BackendError> {
    let sql = format!("delete from {} p", session.tables.points);
    on_selected(session, sql, selector).await
}

/// Changes payloads one by one, here: what a change comes to is this crate's to say.
pub(super) async fn payloads(
    session: &mut Session<'_>,
    selector: &Selector,
    act: impl Fn(&mut Map<String, Value>) + Send + Sync,
) -> Result<(), BackendError> {
    let condition = condition_of(selector);
    let layout = layout(session, condition.as_ref());
    let mut after: Option<Uuid> = None;
    loop {
        let mut statement = session.select(&layout.sql());
        and(&mut statement, condition.as_ref(), session.tables);
        if let Some(after) = after {
            statement.push(" and p.id > ").push_bind(after);
        }
        statement.push(" order by p.id limit ").push_bind(A_PORTION);
        let rows = session.rows(statement).await?;
        let (mut keys, mut texts) = (Vec::new(), Vec::new());
        for row in &rows {
            let mut point = layout.point(row)?;
            after = Some(point.key().engine_id());
            if meets(condition.as_ref(), &point) {
                act(&mut point.payload);
                keys.push(*point.key());
                texts.push(json::written(&point.payload).map_err(BackendError::failed)?);
            }
        }
        let full = i64::try_from(rows.len()) == Ok(A_PORTION);
        let (ids, digests) = ids_and_digests(keys.iter());
        let mut update = Statement::new(format!("update {} p set payload = u.payload::jsonb", session.tables.points));
        update.push(" from unnest(").push_bind(ids).push(", ").push_bind(digests).push(", ").push_bind(texts);
        update.push(") as u(id, digest, payload)");
        session.push_own(&mut update);
        update.push(" and p.id = u.id and p.digest = u.digest");
        session.run(update).await?;
        if !full {
            return Ok(());
        }
    }
}

/// Runs a statement on the points that are selected.
async fn on_selected(session: &mut Session<'_>, sql: String, selector: &Selector) -> Result<(), BackendError> {
    let condition = condition_of(selector);
    let mut statement = session.own(sql);
    and(&mut statement, condition.as_ref(), session.tables);
    if let Some(condition) = condition.filter(|condition| !is_exact(condition)) {
        let keys = judged(session, &condition).await?;
        and(&mut statement, Some(&Condition::HasId(keys)), session.tables);
    }
    session.run(statement).await.map(drop)
}

/// The points that meet a condition which the server can't tell.
async fn judged(session: &mut Session<'_>, condition: &Condition) -> Result<Vec<PointKey>, BackendError> {
    let layout = layout(session, Some(condition));
    let mut statement = session.select(&layout.sql());
    and(&mut statement, Some(condition), session.tables);
    let mut keys = Vec::new();
    for row in session.rows(statement).await? {
        let point = layout.point(&row)?;
        if meets(Some(condition), &point) {
            keys.push(*point.key());
        }
    }
    Ok(keys)
}

fn condition_of(selector: &Selector) -> Option<Condition> {
    match selector {
        Selector::Keys(keys) => Some(Condition::HasId(keys.clone())),
        Selector::Matching(condition) => condition.clone(),
    }
}

fn layout<'t>(session: &Session<'t>, condition: Option<&Condition>) -> Layout<'t> {
    let names: BTreeSet<_> = condition.into_iter().flat_map(named).collect();
    Layout::of(session.tables, &names)
}

fn ids_and_digests<'k>(keys: impl Iterator<Item = &'k PointKey>) -> (Vec<Uuid>, Vec<Vec<u8>>) {
    keys.map(|key| (key.engine_id(), key.to_bytes().to_vec())).unzip()
}

const A_PORTION: i64 = 1_000;
