//! Tables that are the same for everybody.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::TryStreamExt;
use sqlx::postgres::{PgRow, PgStatement, PgTypeInfo};
use sqlx::{Execute, Executor, Postgres, SqlStr};
use tenancy_core::Denial;

use crate::closing::Closing;
use crate::database::Shared;
use crate::error::PgError;
use crate::guard::GUARD;
use crate::lease::Lease;
use crate::redact::redact;
use crate::scope::{End, Scope};
use crate::statement::{OneStatement, guarded};
use crate::stream::{Outlet, stream};
use crate::tenant_tx::{Step, first_row};
use crate::tx_options::TxOptions;
use crate::witness::{UNPROVEN, Witness};

/// Reads what is declared global, with no tenant set.
///
/// `&Untenanted` is a [`sqlx::Executor`]; each statement runs in a READ ONLY transaction of its own. Tenant tables show
/// no row: their policies compare with NULL, and the inspection has made sure that every one of them is forced. Global
/// tables are written by migrations.
#[derive(Clone)]
pub struct Untenanted {
    shared: Arc<Shared>,
    scope: Arc<Scope>,
}

impl Untenanted {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let scope = Arc::new(Scope::nobody(shared.declaration.setting_name(), &shared.seeds));
        Self { shared, scope }
    }

    async fn open(&self) -> Result<Lease, PgError> {
        self.shared.gate.ensure_open()?;
        self.shared.ensure_inspected()?;
        let opening = self.scope.opening(TxOptions::new().read_only());
        let witness = Witness::Nobody(self.shared.gate.clone());
        match Lease::open(&self.shared.pool, &self.scope, &opening, witness).await {
            Err(PgError::Denied(denial)) => Err(self.shared.gate.refuse("pg.untenanted", denial).into()),
            opened => opened,
        }
    }

    async fn close(&self, lease: Lease, end: End) -> Result<(), PgError> {
        let gate = &self.shared.gate;
        match lease.close(&self.scope, end).await {
            Closing::Ended { .. } => Ok(()),
            Closing::Breach => Err(gate.refuse("pg.untenanted", Denial::StoreBreach).into()),
            Closing::WasAborted => {
                gate.failed_as("pg.untenanted", UNPROVEN);
                Ok(())
            }
            Closing::Failed { error, proven } => {
                if !proven {
                    gate.failed_as("pg.untenanted", UNPROVEN);
                }
                Err(error.into())
            }
        }
    }

    fn forbidden(&self) {
        self.shared.gate.failed_as("pg.untenanted", GUARD);
    }

    async fn relay(&self, statement: OneStatement, out: &Outlet<Step>) -> Result<(), sqlx::Error> {
        let mut lease = self.open().await?;
        let ended = {
            let mut steps = lease.run(statement)?;
            loop {
                match steps.try_next().await {
                    Ok(Some(step)) => out.give(step).await,
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            }
        };
        if let Err(error) = ended {
            lease.failed(&error);
            return Err(redact(error));
        }
        Ok(self.close(lease, End::Rollback).await?)
    }
}

impl<'c> Executor<'c> for &'c Untenanted {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Step, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let statement = OneStatement::take(query, || self.forbidden());
        stream(move |out| async move { self.relay(statement?, &out).await })
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        Box::pin(first_row(self.fetch_many(query)))
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'c: 'e,
    {
        Box::pin(async move {
            let sql = guarded(sql, || self.forbidden())?;
            let mut lease = self.open().await?;
            let statement = lease.prepare(sql, parameters).await.map_err(redact)?;
            self.close(lease, End::Rollback).await?;
            Ok(statement)
        })
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<sqlx::Describe<Postgres>, sqlx::Error>>
    where
        'c: 'e,
    {
        Box::pin(async move {
            let sql = guarded(sql, || self.forbidden())?;
            let mut lease = self.open().await?;
            let described = lease.describe(sql).await.map_err(redact)?;
            self.close(lease, End::Rollback).await?;
            Ok(described)
        })
    }
}

impl fmt::Debug for Untenanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Untenanted")
    }
}
