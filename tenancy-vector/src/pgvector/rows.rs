//! Points as rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use tenancy_pg::sqlx::Row;
use tenancy_pg::sqlx::postgres::PgRow;

use super::columns::{Column, Kind};
use super::error::refused;
use super::json;
use super::pair::Pair;
use crate::error::{BackendError, VectorError};
use crate::id::PointKey;
use crate::name::VectorName;
use crate::request::TaggedPoint;
use crate::vector::{DenseVector, MultiVector, SparseVector, Vector};

/// Which columns of points are read, and how a point is made of them.
pub(super) struct Layout<'t> {
    columns: Vec<&'t Column>,
}

impl<'t> Layout<'t> {
    /// With the vectors of these names.
    pub(super) fn of(tables: &'t Pair, names: &BTreeSet<VectorName>) -> Self {
        Self { columns: tables.columns().iter().filter(|column| names.contains(&column.name)).collect() }
    }

    pub(super) fn all(tables: &'t Pair) -> Self {
        Self { columns: tables.columns().iter().collect() }
    }

    pub(super) const fn without_vectors() -> Self {
        Self { columns: Vec::new() }
    }

    pub(super) fn sql(&self) -> String {
        let mut sql = "p.digest, p.payload::text".to_owned();
        for (name, _) in self.columns.iter().flat_map(|column| column.parts()) {
            // Terms are whole numbers already, and the cast of the others is one to what they are.
            let cast = if name.starts_with("v_") { "::real[]" } else { "" };
            // Writing to a string does not fail.
            let _infallible = write!(sql, ", p.{name}{cast}");
        }
        sql
    }

    pub(super) fn point(&self, row: &PgRow) -> Result<TaggedPoint, BackendError> {
        let digest: Vec<u8> = row.try_get(0).map_err(refused)?;
        let digest = <[u8; 32]>::try_from(digest).map_err(|_| BackendError::because(UNREADABLE))?;
        let payload: String = row.try_get(1).map_err(refused)?;
        let payload = json::read(&payload).map_err(BackendError::failed)?;
        let mut vectors = BTreeMap::new();
        let mut place = 2;
        for column in &self.columns {
            if let Some(vector) = vector(column, row, place)? {
                vectors.insert(column.name.clone(), vector);
            }
            place += column.parts().len();
        }
        Ok(TaggedPoint { key: PointKey::of_bytes(digest), vectors, payload })
    }
}

fn vector(column: &Column, row: &PgRow, place: usize) -> Result<Option<Vector>, BackendError> {
    let unreadable = |_: VectorError| BackendError::because(UNREADABLE);
    Ok(match column.kind {
        Kind::Dense(_) => {
            let values: Option<Vec<f32>> = row.try_get(place).map_err(refused)?;
            values.map(|values| DenseVector::new(values).map(Vector::Dense)).transpose().map_err(unreadable)?
        }
        Kind::Multi(dimension) => {
            let values: Option<Vec<f32>> = row.try_get(place).map_err(refused)?;
            let rows = values.map(|values| values.chunks(dimension).map(<[f32]>::to_vec).collect());
            rows.map(|rows| MultiVector::new(rows).map(Vector::Multi)).transpose().map_err(unreadable)?
        }
        Kind::Sparse => {
            let terms: Option<Vec<i64>> = row.try_get(place).map_err(refused)?;
            let weights: Option<Vec<f32>> = row.try_get(place + 1).map_err(refused)?;
            let Some((terms, weights)) = terms.zip(weights) else { return Ok(None) };
            let terms: Result<Vec<u32>, _> = terms.into_iter().map(u32::try_from).collect();
            let terms = terms.map_err(|_| BackendError::because(UNREADABLE))?;
            Some(Vector::Sparse(SparseVector::new(terms, weights).map_err(unreadable)?))
        }
    })
}

/// What the columns of a vector are set to, as texts of their types; nothing where there is no such vector.
pub(super) fn texts(column: &Column, vector: Option<&Vector>) -> Vec<Option<String>> {
    match (column.kind, vector) {
        (Kind::Dense(_), Some(Vector::Dense(dense))) => vec![Some(list('[', dense.values(), ']'))],
        (Kind::Multi(_), Some(Vector::Multi(multi))) => vec![Some(list('{', multi.rows().iter().flatten(), '}'))],
        (Kind::Sparse, Some(Vector::Sparse(sparse))) if !sparse.is_empty() => {
            vec![Some(list('{', sparse.indices(), '}')), Some(list('{', sparse.values(), '}'))]
        }
        // A text without words has no vector: nothing finds it. Others were admitted by the schema.
        (Kind::Dense(_) | Kind::Multi(_) | Kind::Sparse, _) => column.parts().iter().map(|_| None).collect(),
    }
}

/// Numbers in the shortest form that is read as the same.
fn list(open: char, items: impl IntoIterator<Item = impl ToString>, close: char) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    format!("{open}{}{close}", items.join(","))
}

const UNREADABLE: &str = "a row is not a point";
