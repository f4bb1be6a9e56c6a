//! Objects that hold data and have no policies: large ones, and those that the service could make itself.

use sqlx::postgres::PgConnection;

use super::codes::Code;
use super::report::{Finding, Severity};
use crate::error::PgError;
use crate::policy::{LARGE_OBJECTS, hardening_sql};

pub(super) async fn findings(connection: &mut PgConnection, shared_objects: Severity) -> Result<Vec<Finding>, PgError> {
    let places: Vec<String> = sqlx::query_scalar(MAY_CREATE).fetch_all(&mut *connection).await?;
    let mut all: Vec<Finding> = places.into_iter().map(may_create).collect();
    let functions: Vec<&str> = LARGE_OBJECTS.to_vec();
    let reached: Vec<String> = sqlx::query_scalar(MAY_EXECUTE).bind(functions).fetch_all(connection).await?;
    if !reached.is_empty() {
        all.push(large_objects(&reached, shared_objects));
    }
    Ok(all)
}

fn may_create(place: String) -> Finding {
    let why = "The service may create tables and functions here, which are the role's own and have no policies. What one \
               tenant's statement puts there, every other tenant's reads.";
    let fix = format!("REVOKE CREATE ON {place} FROM the service's role and PUBLIC;");
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
        fix: format!("as a superuser, see hardening_sql:\n{}", hardening_sql()),
    }
}

/// Whoever is a superuser within reach is found elsewhere, and may create everywhere.
const MAY_CREATE: &str = "
with recursive me(u) as (
    select oid from pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_auth_members m on m.member = me.u
), plain(u) as (
    select u from me join pg_roles r on r.oid = u where not r.rolsuper
)
select format('DATABASE %I', current_database()) as place
where exists (select from plain where has_database_privilege(u, current_database(), 'CREATE'))
union all
(select format('SCHEMA %I', n.nspname) from pg_namespace n
 where n.nspname !~ '^pg_(toast_)?temp_' and exists (select from plain where has_schema_privilege(u, n.oid, 'CREATE'))
 order by n.nspname)";

const MAY_EXECUTE: &str = "
with recursive me(u) as (
    select oid from pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_auth_members m on m.member = me.u
)
select f from unnest($1::text[]) as f
where exists (select from me where has_function_privilege(u, to_regprocedure('pg_catalog.' || f), 'EXECUTE'))";
