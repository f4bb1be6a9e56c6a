//! What a new database leaves open to every role, and what starts every session.

use sqlx::postgres::PgConnection;

use super::catalog::Catalog;
use super::codes::Code;
use super::report::{Finding, Severity};
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::policy::hardening_sql;
use crate::signed::functions;
use crate::unnamed;

pub(super) async fn findings(
    connection: &mut PgConnection,
    catalog: &Catalog<'_>,
    hardening: Severity,
) -> Result<Vec<Finding>, PgError> {
    let open: Vec<String> = unnamed::query_scalar(OPEN)
        .bind(functions().collect::<Vec<_>>())
        .bind(&catalog.reach)
        .fetch_all(&mut *connection)
        .await?;
    let extensions: Vec<String> = unnamed::query_scalar(RUN_TEXT)
        .bind(SYMBOLS.map(str::to_owned).to_vec())
        .bind(&catalog.reach)
        .fetch_all(&mut *connection)
        .await?;
    let settings: Vec<(Option<String>, Option<String>, String)> =
        unnamed::query_as(SETTINGS).bind(&catalog.reach).fetch_all(connection).await?;
    let mut all: Vec<Finding> =
        settings.into_iter().map(|(role, database, name)| setting(role, database, &name)).collect();
    if !open.is_empty() {
        all.push(not_hardened(&open, hardening));
    }
    all.extend(extensions.into_iter().map(|function| runs_text(catalog, function, hardening)));
    Ok(all)
}

/// Without them a signed scope is worth little: a neighbour's backend can be ended, a temporary view can stand in front of
/// a table, and a `DO` block runs whatever it is given.
fn not_hardened(open: &[String], severity: Severity) -> Finding {
    let why = "Every role may use these in a new database: they end other sessions, put temporary objects in front of tables, \
               run code from text or change settings. SQL that a tenant smuggles in gets further with them.";
    let fix = format!("{BY_A_SUPERUSER}{}", hardening_sql());
    Finding { severity, ..Finding::warning(Code::NotHardened, open.join(", "), why, fix) }
}

/// What `hardening_sql` can't close, because no new database has it.
fn runs_text(catalog: &Catalog<'_>, function: String, severity: Severity) -> Finding {
    let why = "This function of an extension runs a text as SQL, here or on another connection, out of the guard's sight. In the \
               plain modes such a text can change the row key, read, and put it back.";
    let fix = format!("REVOKE EXECUTE ON FUNCTION {function} FROM {};", catalog.grantees());
    Finding { severity, ..Finding::warning(Code::NotHardened, function, why, fix) }
}

/// Any role may give its own sessions other settings, for ever.
fn setting(role: Option<String>, database: Option<String>, name: &str) -> Finding {
    let (role, database) = (role.map(|r| quote_ident(&r)), database.map(|d| quote_ident(&d)));
    let (object, alter) = match (&role, &database) {
        (Some(role), Some(database)) => {
            (format!("{role} in {database}"), format!("ROLE {role} IN DATABASE {database}"))
        }
        (Some(role), None) => (role.clone(), format!("ROLE {role}")),
        (None, Some(database)) => (database.clone(), format!("DATABASE {database}")),
        (None, None) => ("every role".to_owned(), "ROLE ALL".to_owned()),
    };
    let why = "Sessions of the service start with another value of a setting that decides what its statements mean or which \
               code is loaded. A role may set it for itself, so a statement that was smuggled in once can have left it.";
    let name = quote_ident(name);
    Finding::warning(Code::RoleSetting, format!("{name} of {object}"), why, format!("ALTER {alter} RESET {name};"))
}

/// By the name of their C function, whatever SQL calls them: of `tablefunc`, `xml2` and `dblink`, as Postgres ships them.
const SYMBOLS: [&str; 7] = [
    "crosstab",
    "crosstab_hash",
    "connectby_text",
    "connectby_text_serial",
    "xpath_table",
    "dblink_record",
    "dblink_exec",
];

pub(super) const BY_A_SUPERUSER: &str =
    "-- as a superuser; `tenancy policy harden --keep OWNER` prints it so that OWNER can still run migrations:\n";

const RUN_TEXT: &str = "
select format('%I.%I(%s)', n.nspname, p.proname, oidvectortypes(p.proargtypes))
from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
where p.oid >= 16384 and l.lanname = 'c' and p.prosrc = any($1)
  and exists (select from pg_roles u where u.oid = any($2) and not u.rolsuper
                                       and has_function_privilege(u.oid, p.oid, 'EXECUTE')
                                       and has_schema_privilege(u.oid, n.oid, 'USAGE'))
order by 1";

const OPEN: &str = "
select what from (
    select 1 as place, 'TEMPORARY on the database' as what
    where exists (select from unnest($2::oid[]) u where has_database_privilege(u, current_database(), 'TEMPORARY'))
    union all
    select 2, f from unnest($1::text[]) f
    where exists (select from unnest($2::oid[]) u
                  where has_function_privilege(u, to_regprocedure('pg_catalog.' || f), 'EXECUTE'))
    union all
    select 3, 'LANGUAGE ' || quote_ident(l.lanname) from pg_language l
    where l.lanpltrusted and l.lanname <> 'sql' and l.lanname <> 'internal' and l.lanname <> 'c'
      and exists (select from unnest($2::oid[]) u where has_language_privilege(u, l.oid, 'USAGE'))
    union all
    select 4, 'member of pg_signal_backend' from pg_roles r
    where r.rolname = 'pg_signal_backend' and r.oid = any($2) and not exists (select from pg_roles s where s.oid = any($2) and s.rolsuper)
) as open order by place, what";

/// `search_path` counts where it moves the server's own schema from its first place.
const SETTINGS: &str = "
select r.rolname::text, d.datname::text, lower(split_part(c, '=', 1))
from pg_db_role_setting s cross join lateral unnest(s.setconfig) as c
left join pg_roles r on r.oid = s.setrole left join pg_database d on d.oid = s.setdatabase
where (s.setrole = 0 or s.setrole = any($1)) and (s.setdatabase = 0 or d.datname = current_database())
  and (lower(split_part(c, '=', 1)) in ('role', 'session_replication_role', 'row_security', 'standard_conforming_strings',
                                        'local_preload_libraries', 'session_preload_libraries', 'dynamic_library_path')
       or lower(c) ~ '^search_path=.+pg_catalog')
order by 1, 2, 3";
