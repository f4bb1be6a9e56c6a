//! Settings with which sessions start.

use sqlx::postgres::PgConnection;

use super::codes::Code;
use super::report::Finding;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::unnamed;

/// A role or database that gives new sessions a value of our setting. Names of settings have no case.
pub(super) async fn findings(connection: &mut PgConnection, setting: &str) -> Result<Vec<Finding>, PgError> {
    let rows: Vec<(Option<String>, Option<String>, String)> =
        unnamed::query_as(DEFAULTS).bind(setting).fetch_all(connection).await?;
    Ok(rows
        .into_iter()
        .map(|(role, database, setting)| {
            // Some servers reset it only by the very letters that it was set with.
            let setting = quote_ident(&setting);
            let (role, database) = (role.map(|r| quote_ident(&r)), database.map(|d| quote_ident(&d)));
            let (object, fix) = match (&role, &database) {
                (Some(r), Some(d)) => {
                    (format!("{r} in {d}"), format!("ALTER ROLE {r} IN DATABASE {d} RESET {setting};"))
                }
                (Some(r), None) => (r.clone(), format!("ALTER ROLE {r} RESET {setting};")),
                (None, Some(d)) => (d.clone(), format!("ALTER DATABASE {d} RESET {setting};")),
                (None, None) => ("every role".to_owned(), format!("ALTER ROLE ALL RESET {setting};")),
            };
            let why = "Sessions start with a tenant that nobody asked for. A tool that forgets to set one reads that \
                       tenant's rows.";
            Finding::fatal(Code::DefaultSetting, object, why, fix)
        })
        .collect())
}

const DEFAULTS: &str = "
select r.rolname::text, d.datname::text, split_part(c, '=', 1)
from pg_db_role_setting s
cross join lateral unnest(s.setconfig) as c
left join pg_roles r on r.oid = s.setrole
left join pg_database d on d.oid = s.setdatabase
where lower(split_part(c, '=', 1)) = $1 and split_part(c, '=', 2) <> ''
  and (s.setdatabase = 0 or d.datname = current_database())
order by 1, 2, 3";
