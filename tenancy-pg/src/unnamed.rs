//! Queries that leave no prepared statement on the session: behind a transaction pooler it is another client's next.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::{QueryAs, QueryScalar};
use sqlx::{FromRow, Postgres, SqlSafeStr};

/// As [`sqlx::query_as`].
pub(crate) fn query_as<'q, T>(sql: impl SqlSafeStr) -> QueryAs<'q, Postgres, T, PgArguments>
where
    T: for<'r> FromRow<'r, PgRow>,
{
    sqlx::query_as(sql).persistent(false)
}

/// As [`sqlx::query_scalar`].
pub(crate) fn query_scalar<'q, T>(sql: &'static str) -> QueryScalar<'q, Postgres, T, PgArguments>
where
    (T,): for<'r> FromRow<'r, PgRow>,
{
    sqlx::query_scalar(sql).persistent(false)
}
