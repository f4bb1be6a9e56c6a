//! For the generator, which leaves alone what the inspection lets pass.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::expression::{Bound, Shape};
use super::helpers::{self, Helper, of_policy};
use crate::declaration::TenantTable;
use crate::error::PgError;

/// What an expression of a policy does for the tenant's boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// Only rows of the tenant in scope.
    Bound,
    /// It binds, and fails on an empty setting.
    FailsOnEmpty,
    /// Anything else.
    Open,
}

/// The functions that policies call.
pub(crate) struct Helpers(Vec<Helper>);

impl Helpers {
    /// Those of some tables' policies; `reach` are the roles that the service is or can become.
    pub(crate) async fn load(c: &mut PgConnection, tables: &[Oid], reach: &[Oid]) -> Result<Self, PgError> {
        Ok(Self(helpers::load(c, tables, reach).await?))
    }
}

/// As the inspection judges it.
pub(crate) fn binding(table: &TenantTable, policy: Oid, expression: &str, helpers: &Helpers) -> Binding {
    let helpers = of_policy(&helpers.0, policy);
    let (column, setting) = (table.column(), table.setting.as_str());
    let bound = Bound { column, key: table.key, setting, signed: table.signed, helpers: &helpers };
    match bound.shape(expression) {
        Shape::Binds => Binding::Bound,
        Shape::BindsWithoutNullif => Binding::FailsOnEmpty,
        Shape::Unbound(_why) => Binding::Open,
    }
}
