//! Objects that hold data and have no policies: large ones, and those that the service could make itself.

use sqlx::postgres::PgConnection;

use super::catalog::Catalog;
use super::codes::Code;
use super::open_to_all::BY_A_SUPERUSER;
use super::report::{Finding, Severity};
use crate::error::PgError;
use crate::policy::{LARGE_OBJECTS, hardening_sql};
use crate::unnamed;

pub(super) async fn findings(
    connection: &mut PgConnection,
    catalog: &Catalog<'_>,
    shared_objects: Severity,
) -> Result<Vec<Finding>, PgError> {
    let places: Vec<String> =
        unnamed::query_scalar(MAY_CREATE).bind(&catalog.reach).fetch_all(&mut *connection).await?;
    let mut all: Vec<Finding> = places.into_iter().map(|place| may_create(catalog, place)).collect();
    let functions: Vec<&str> = LARGE_OBJECTS.to_vec();
    let reached: Vec<String> =
        unnamed::query_scalar(MAY_EXECUTE).bind(functions).bind(&catalog.reach).fetch_all(connection).await?;
    if !reached.is_empty() {
        all.push(large_objects(&reached, shared_objects));
    }
    Ok(all)
}

fn may_create(catalog: &Catalog<'_>, place: String) -> Finding {
    let why = "The service may create tables and functions here, which are the role's own and have no policies. What one \
               tenant's statement puts there, every other tenant's reads.";
    let fix = format!("REVOKE CREATE ON {place} FROM {};", catalog.grantees());
    Finding::fatal(Code::CreateRight, place, why, fix)
}

fn large_objects(reached: &[String], severity: Severity) -> Finding {
    Finding {
        code: Code::LargeObjects,
        severity,
        object: reached.join(", "),
        why: "Large objects have no policies and belong to the role that made them. What one tenant's statement puts \
              into one, every other tenant's reads."
            .to_owned(),
        fix: format!("{BY_A_SUPERUSER}{}", hardening_sql()),
    }
}

/// Whoever is a superuser within reach is found elsewhere, and may create everywhere.
const MAY_CREATE: &str = "
with plain(u) as (
    select r.oid from pg_roles r where r.oid = any($1) and not r.rolsuper
)
select format('DATABASE %I', current_database()) as place
where exists (select from plain where has_database_privilege(u, current_database(), 'CREATE'))
union all
(select format('SCHEMA %I', n.nspname) from pg_namespace n
 where n.nspname !~ '^pg_(toast_)?temp_' and exists (select from plain where has_schema_privilege(u, n.oid, 'CREATE'))
 order by n.nspname)";

const MAY_EXECUTE: &str = "
select f from unnest($1::text[]) as f
where exists (select from unnest($2::oid[]) u
              where has_function_privilege(u, to_regprocedure('pg_catalog.' || f), 'EXECUTE'))";
