//! What signed mode stands on: the schema `tenancy`, its owner, the verifier and the signing keys.
//!
//! All of it is fatal where it is not as generated. A verifier that somebody mended, a key that the service can read or
//! an owner that it can become turn every seal into a text that injected SQL can write.

use sqlx::postgres::PgConnection;

use super::catalog::Catalog;
use super::codes::Code;
use super::report::Finding;
use crate::declaration::RowKeyType;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::signed::{OWNER_ROLE, SCHEMA, SEARCH_PATH, Verifier};
use crate::unnamed;

/// The findings for a declaration that is signed; none for another one. The hardening is looked at elsewhere. What reads
/// reports needs the verifier of their reach too.
pub(super) async fn findings(
    connection: &mut PgConnection,
    catalog: &Catalog<'_>,
    reports: bool,
) -> Result<Vec<Finding>, PgError> {
    if !catalog.declaration.signed() {
        return Ok(Vec::new());
    }
    let key = catalog.declaration.row_key_type().unwrap_or(RowKeyType::Uuid);
    let reach = &catalog.reach;
    let functions: Vec<Function> =
        unnamed::query_as(FUNCTIONS_OF).bind(SCHEMA).bind(reach).fetch_all(&mut *connection).await?;
    let owner = unnamed::query_scalar::<String>(OWNER).bind(OWNER_ROLE).bind(SCHEMA).bind(reach);
    let owner = owner.fetch_all(&mut *connection).await?;
    let tables = unnamed::query_scalar::<String>(TABLES).bind(OWNER_ROLE).bind(SCHEMA).bind(reach).bind(key.sql());
    let tables = tables.fetch_all(connection).await?;
    let wanted = [Verifier::RowKey(key), Verifier::Known, Verifier::Every];
    let mut found = verifiers(&functions, &wanted[..if reports { 3 } else { 2 }]);
    found.extend(owner.iter().map(|why| about_the_owner(why)));
    found.extend(tables.iter().map(|why| about_the_tables(why)));
    Ok(found)
}

/// A function of the schema.
#[derive(sqlx::FromRow)]
struct Function {
    name: String,
    signature: String,
    source: String,
    /// Everything else about it, in one text.
    properties: String,
    /// Whether somebody may run it who was not named.
    open_to_all: bool,
    /// Whether the service may run it.
    granted: bool,
}

impl Function {
    fn is(&self, verifier: &Verifier) -> bool {
        let returns = verifier.returns();
        self.name == verifier.name()
            && self.source == verifier.body()
            && self.properties
                == format!("f plpgsql definer stable restricted 0 {returns} {OWNER_ROLE} search_path={SEARCH_PATH}")
    }
}

fn verifiers(functions: &[Function], wanted: &[Verifier]) -> Vec<Finding> {
    let fix = "as a superuser, once more: see signed_schema_sql";
    let finding = |object: &str, why: &str| Finding::fatal(Code::SignedVerifier, object, why, fix);
    let mut found = Vec::new();
    for wanted in wanted.iter().filter(|wanted| !functions.iter().any(|function| function.is(wanted))) {
        let why = "The function that verifies seals is missing, or is not as it was generated. What policies compare with \
                   is then not what the service signed.";
        found.push(finding(&wanted.call(), why));
    }
    for function in functions {
        let told = wanted.iter().any(|wanted| function.name == wanted.name());
        if !told && !Verifier::ALL.iter().any(|verifier| function.is(verifier)) {
            let why = "The schema of the signing keys holds a function that is not as it was generated. What it does with \
                       its owner's rights, which reach the keys, is not known.";
            found.push(finding(&function.signature, why));
        }
        if function.open_to_all {
            let why = "Every role may run this function. Only those that were named to signed_schema_sql should.";
            found.push(finding(&function.signature, why));
        }
    }
    let not_granted = |wanted: &&Verifier| functions.iter().any(|function| function.is(wanted) && !function.granted);
    for wanted in wanted.iter().filter(not_granted) {
        let why = "The service may not run a function that it needs, as its policies do: every statement on a tenant table \
                   fails then.";
        found.push(finding(&wanted.call(), why));
    }
    found
}

fn about_the_owner(why: &str) -> Finding {
    let why = format!("{why} Whoever is the owner can read the keys and replace the verifier.");
    let fix = format!(
        "ALTER ROLE {OWNER_ROLE} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS; \
                       REVOKE {OWNER_ROLE} FROM the service's role; and see signed_schema_sql"
    );
    Finding::fatal(Code::SignedOwner, quote_ident(OWNER_ROLE), why, fix)
}

fn about_the_tables(why: &str) -> Finding {
    let why = format!("{why} With a key anybody can be any tenant, and with the registry a fence can be lifted.");
    let fix = format!(
        "REVOKE ALL ON ALL TABLES IN SCHEMA {SCHEMA} FROM the service's role and PUBLIC; and see signed_schema_sql"
    );
    Finding::fatal(Code::SignedTables, SCHEMA, why, fix)
}

const FUNCTIONS_OF: &str = "
select p.proname::text as name, p.oid::regprocedure::text as signature, p.prosrc as source,
       concat_ws(' ', p.prokind, l.lanname, case when p.prosecdef then 'definer' end,
                 case p.provolatile when 's' then 'stable' when 'v' then 'volatile' else 'immutable' end,
                 case p.proparallel when 'r' then 'restricted' when 's' then 'safe' else 'unsafe' end,
                 p.pronargs, format_type(p.prorettype, null), pg_get_userbyid(p.proowner),
                 case when p.proretset then 'set' end, case when p.proleakproof then 'leakproof' end,
                 case when p.prosupport <> 0 then 'support' end, array_to_string(p.proconfig, ' ')) as properties,
       exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0) as open_to_all,
       exists (select from unnest($2::oid[]) u where has_function_privilege(u, p.oid, 'EXECUTE')) as granted
from pg_proc p join pg_language l on l.oid = p.prolang join pg_namespace n on n.oid = p.pronamespace
where n.nspname = $1
order by 2";

const OWNER: &str = "
with owner as (select * from pg_roles where rolname = $1), place as (select * from pg_namespace where nspname = $2)
select 'The role does not exist.' where not exists (select from owner)
union all select 'The schema does not exist.' where not exists (select from place)
union all select 'The schema belongs to another role.' from place, owner where nspowner <> owner.oid
union all select 'The role can log in, or can do more than own a schema.' from owner
    where rolcanlogin or rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication
union all select 'The service can become this role.' from owner where owner.oid = any($3)
union all select 'The role owns something outside its schema: ' || what || '.' from owner, lateral (
    select oid::regclass::text from pg_class c where c.relowner = owner.oid
        and c.relnamespace not in (select oid from place) and c.relnamespace <> 'pg_toast'::regnamespace
    union all select oid::regprocedure::text from pg_proc p where p.proowner = owner.oid
        and p.pronamespace not in (select oid from place)
    union all select nspname::text from pg_namespace n where n.nspowner = owner.oid and n.nspname <> $2
    union all select datname::text from pg_database d where d.datdba = owner.oid
) as owned(what)
union all select 'The service may create objects in its schema.' from place
    where exists (select from unnest($3::oid[]) u where has_schema_privilege(u, place.oid, 'CREATE'))";

const TABLES: &str = "
with found as (
    select wanted.name, c.oid, c.relkind, c.relowner, c.relhastriggers, c.relhasrules
    from unnest(array['tenant', 'signing_key']) as wanted(name)
    left join pg_class c on c.relname = wanted.name
        and c.relnamespace = (select oid from pg_namespace where nspname = $2)
)
select format('The table %I.%I is missing, or belongs to another role.', $2, name) from found
    where oid is null or relkind <> 'r' or relhasrules or relowner is distinct from (select oid from pg_roles where rolname = $1)
union all select format('The table %I.%I has a trigger that is not the server''s own.', $2, name) from found
    where exists (select from pg_trigger t where t.tgrelid = found.oid and not t.tgisinternal)
union all select format('The service has a right on the table %I.%I.', $2, name) from found
    where oid is not null and exists (select from unnest($3::oid[]) u
        where has_table_privilege(u, oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
           or has_any_column_privilege(u, oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
union all select format('The registry %I.tenant does not hold row keys of the declared type.', $2) from found
    where name = 'tenant' and oid is not null and not exists (select from pg_attribute a
        where a.attrelid = found.oid and a.attname = 'row_key' and format_type(a.atttypid, null) = $4)";
