//! Declared roles of before an adoption, whose policies end by themselves.

use sqlx::postgres::PgConnection;

use super::codes::Code;
use super::report::Finding;
use crate::declaration::{Declaration, LegacyRole};
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::unnamed;

/// By the server's clock, as the policies are.
pub(super) async fn findings(
    connection: &mut PgConnection,
    declaration: &Declaration,
) -> Result<Vec<Finding>, PgError> {
    let legacy = declaration.legacy_roles();
    let ended: Vec<String> = unnamed::query_scalar(ENDED)
        .bind(legacy.iter().map(LegacyRole::role).collect::<Vec<_>>())
        .bind(legacy.iter().map(LegacyRole::ends_at).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(ended.iter().map(|role| past(role)).collect())
}

fn past(role: &str) -> Finding {
    let why = "The day until which it was declared is past, so its policies let no row through. A service that still logs in \
               as it sees no rows and gets no error.";
    let fix = "-- take it out of legacy-roles, or give it a later day; `tenancy policy diff` writes the statements";
    Finding::warning(Code::LegacyEnded, quote_ident(role), why, fix)
}

const ENDED: &str = "
select d.role from unnest($1::text[], $2::text[]) as d(role, ends) where d.ends::timestamptz <= now() order by 1";
