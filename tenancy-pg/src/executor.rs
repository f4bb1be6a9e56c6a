//! What every handle has in common as a [`sqlx::Executor`].

use futures_core::stream::BoxStream;
use futures_util::TryStreamExt;
use sqlx::Either;
use sqlx::postgres::{PgQueryResult, PgRow};

/// A result or a row of a statement.
pub(crate) type Step = Either<PgQueryResult, PgRow>;

/// Makes a reference to a handle an executor. The guard is asked before all: what it lets through goes to the handle's
/// `relay`, `prepare` and `describe_statement`, what it does not is put on record by the handle's `forbidden`.
macro_rules! executor {
    ($handle:ty) => {
        impl<'c> sqlx::Executor<'c> for $handle {
            type Database = sqlx::Postgres;

            fn fetch_many<'e, 'q: 'e, E>(
                self,
                query: E,
            ) -> futures_core::stream::BoxStream<'e, Result<$crate::executor::Step, sqlx::Error>>
            where
                'c: 'e,
                E: 'q + sqlx::Execute<'q, sqlx::Postgres>,
            {
                let statement = $crate::statement::OneStatement::take(query, || self.forbidden());
                $crate::stream::stream(move |out| async move { self.relay(statement?, &out).await })
            }

            fn fetch_optional<'e, 'q: 'e, E>(
                self,
                query: E,
            ) -> futures_core::future::BoxFuture<'e, Result<Option<sqlx::postgres::PgRow>, sqlx::Error>>
            where
                'c: 'e,
                E: 'q + sqlx::Execute<'q, sqlx::Postgres>,
            {
                Box::pin($crate::executor::first_row(self.fetch_many(query)))
            }

            fn prepare_with<'e>(
                self,
                sql: sqlx::SqlStr,
                parameters: &'e [sqlx::postgres::PgTypeInfo],
            ) -> futures_core::future::BoxFuture<'e, Result<sqlx::postgres::PgStatement, sqlx::Error>>
            where
                'c: 'e,
            {
                let sql = $crate::statement::guarded(sql, || self.forbidden());
                Box::pin(async move { self.prepare(sql?, parameters).await })
            }

            fn describe<'e>(
                self,
                sql: sqlx::SqlStr,
            ) -> futures_core::future::BoxFuture<'e, Result<sqlx::Describe<sqlx::Postgres>, sqlx::Error>>
            where
                'c: 'e,
            {
                let sql = $crate::statement::guarded(sql, || self.forbidden());
                Box::pin(async move { self.describe_statement(sql?).await })
            }
        }
    };
}

pub(crate) use executor;

/// The first row of a statement, which is run to its end: a deferred error comes after the row.
pub(crate) async fn first_row(
    mut steps: BoxStream<'_, Result<Step, sqlx::Error>>,
) -> Result<Option<PgRow>, sqlx::Error> {
    let mut first = None;
    while let Some(step) = steps.try_next().await? {
        if let (None, Either::Right(row)) = (&first, step) {
            first = Some(row);
        }
    }
    Ok(first)
}
