//! Everything that a plan names is looked up before the plan is made.
//!
//! A step that fails on a name leaves the steps before it done, FORCE among them; and a name that is misspelt is taken for
//! two things: one to be made, and one that nobody declared and that goes.

use sqlx::postgres::PgConnection;

use super::fault::PlanFault;
use super::live;
use super::roles::Roles;
use crate::declaration::{Declaration, LegacyRole, Relation, ReportRelation};
use crate::error::PgError;
use crate::ident::quote_ident;

/// Fails where a role or relation is not there, and where the service would get a legacy role's policy. Gives the legacy
/// roles whose day is past.
pub(super) async fn look<'d>(
    connection: &mut PgConnection,
    declaration: &'d Declaration,
    roles: &Roles,
) -> Result<Vec<&'d LegacyRole>, PgError> {
    roles.apart_from_legacy(declaration)?;
    if !declaration.report_relations().is_empty() && roles.report_role().is_none() {
        return Err(PlanFault::NoReportRole.into());
    }
    relations(connection, declaration).await?;
    names(connection, declaration, roles).await?;
    memberships(connection, declaration, roles).await?;
    ended(connection, declaration).await
}

async fn relations(connection: &mut PgConnection, declaration: &Declaration) -> Result<(), PgError> {
    let tenant = declaration.tenant_tables().iter().map(|table| &table.relation);
    let reports = declaration.report_relations().iter().map(ReportRelation::relation);
    let all: Vec<&Relation> = tenant.chain(declaration.global_tables()).chain(reports).collect();
    let (schemas, names): (Vec<&str>, Vec<&str>) = all.iter().map(|r| (r.schema(), r.table())).unzip();
    let missing: Option<i64> = sqlx::query_scalar(MISSING).bind(schemas).bind(names).fetch_optional(connection).await?;
    match missing.and_then(|place| all.get(usize::try_from(place).ok()?)) {
        Some(relation) => Err(PlanFault::NoRelation { relation: relation.to_string() }.into()),
        None => Ok(()),
    }
}

async fn names(connection: &mut PgConnection, declaration: &Declaration, roles: &Roles) -> Result<(), PgError> {
    let ours = roles.all().map(|role| (role, format!("CREATE ROLE {} LOGIN", quote_ident(role))));
    let declared = "it is declared in legacy-roles: mend the name, or take it out".to_owned();
    let legacy = declaration.legacy_roles().iter().map(|legacy| (legacy.role(), declared.clone()));
    for (role, mend) in ours.chain(legacy) {
        let there = "select exists (select from pg_roles where rolname = $1)";
        if !sqlx::query_scalar::<_, bool>(there).bind(role).fetch_one(&mut *connection).await? {
            return Err(PlanFault::NoRole { role: quote_ident(role), mend }.into());
        }
    }
    Ok(())
}

async fn memberships(connection: &mut PgConnection, declaration: &Declaration, roles: &Roles) -> Result<(), PgError> {
    for (role, task) in roles.serving() {
        let becomes: Vec<String> =
            sqlx::query_scalar(live::REACHED_NAMES).bind(role).fetch_all(&mut *connection).await?;
        if let Some(legacy) =
            declaration.legacy_roles().iter().find(|legacy| becomes.iter().any(|b| b == legacy.role()))
        {
            let (role, legacy) = (quote_ident(role), quote_ident(legacy.role()));
            return Err(PlanFault::LegacyMember { role, task, legacy }.into());
        }
    }
    Ok(())
}

/// By the server's clock, as the policies are.
async fn ended<'d>(
    connection: &mut PgConnection,
    declaration: &'d Declaration,
) -> Result<Vec<&'d LegacyRole>, PgError> {
    let mut all = Vec::new();
    for legacy in declaration.legacy_roles() {
        let past = "select now() >= $1::text::timestamptz";
        if sqlx::query_scalar(past).bind(legacy.ends_at()).fetch_one(&mut *connection).await? {
            all.push(legacy);
        }
    }
    Ok(all)
}

const MISSING: &str = "
select d.place - 1 from unnest($1::text[], $2::text[]) with ordinality as d(schema, name, place)
where not exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where n.nspname = d.schema and c.relname = d.name and c.relkind in ('r', 'p', 'v', 'm', 'f'))
order by d.place limit 1";
