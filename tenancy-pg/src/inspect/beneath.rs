//! What lies beneath the tables: the same rows, where no policy is asked.
//!
//! The server cuts long values into TOAST tables, keeps samples of every column for the planner, the bytes of large
//! objects and passwords in catalogs, and everything in files. Policies are on none of them. In a new database they are
//! out of everybody's reach but a superuser's.

use sqlx::postgres::PgConnection;

use super::catalog::Catalog;
use super::codes::Code;
use super::report::Finding;
use crate::error::PgError;
use crate::unnamed;

pub(super) async fn findings(connection: &mut PgConnection, catalog: &Catalog<'_>) -> Result<Vec<Finding>, PgError> {
    let relations: Vec<String> =
        unnamed::query_scalar(RELATIONS).bind(&catalog.reach).fetch_all(&mut *connection).await?;
    let functions: Vec<String> = unnamed::query_scalar(FUNCTIONS)
        .bind(READS_FILES.map(str::to_owned).to_vec())
        .bind(&catalog.reach)
        .fetch_all(connection)
        .await?;
    let kept = |relation: String| {
        let why = "The server keeps values of every tenant in here, or what opens the door to them. Policies are about the \
                   tables above it and do not hold it.";
        let fix = catalog.revoke_all(&relation);
        Finding::fatal(Code::BeneathTables, relation, why, fix)
    };
    let files = |function: String| {
        let why = "This function reads or writes the server's files or its log, in which every tenant's rows are. Policies \
                   do not hold files.";
        let fix = format!("REVOKE EXECUTE ON FUNCTION {function} FROM {};", catalog.grantees());
        Finding::fatal(Code::BeneathTables, function, why, fix)
    };
    Ok(relations.into_iter().map(kept).chain(functions.into_iter().map(files)).collect())
}

/// A member of `pg_read_all_data` reads all of these, and is found among the roles.
const RELATIONS: &str = "
select format('%I.%I', n.nspname, c.relname)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where (c.relkind = 't' or c.oid in ('pg_statistic'::regclass, 'pg_statistic_ext_data'::regclass,
                                    'pg_largeobject'::regclass, 'pg_authid'::regclass, 'pg_user_mapping'::regclass))
  and exists (select from pg_roles u
              where u.oid = any($1) and not u.rolsuper and not pg_has_role(u.oid, 'pg_read_all_data', 'USAGE')
                and has_any_column_privilege(u.oid, c.oid, 'SELECT') and has_schema_privilege(u.oid, n.oid, 'USAGE'))
order by 1";

/// Nobody but a superuser may in a new database, whoever is a member of what. The server asks no more than this right where
/// the path is within its own folder, and all data is.
const FUNCTIONS: &str = "
select p.oid::regprocedure::text
from pg_proc p join pg_language l on l.oid = p.prolang
where p.proname = any($1) and l.lanname in ('internal', 'c')
  and exists (select from pg_roles u where u.oid = any($2) and not u.rolsuper
                                       and has_function_privilege(u.oid, p.oid, 'EXECUTE')
                                       and has_schema_privilege(u.oid, p.pronamespace, 'USAGE'))
order by 1";

/// The server's own, and those of `adminpack` and `pg_walinspect`.
const READS_FILES: [&str; 10] = [
    "pg_read_file",
    "pg_read_binary_file",
    "pg_file_write",
    "pg_file_rename",
    "pg_file_unlink",
    "pg_get_wal_record_info",
    "pg_get_wal_records_info",
    "pg_get_wal_records_info_till_end_of_wal",
    "pg_get_wal_block_info",
    "pg_get_wal_fpi_info",
];
