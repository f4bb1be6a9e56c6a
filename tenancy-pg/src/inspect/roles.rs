//! The roles that the service is, or can become.

use sqlx::postgres::PgConnection;

use super::report::{Code, Finding};
use super::server::Session;
use crate::declaration::Declaration;
use crate::error::PgError;
use crate::ident::quote_ident;

/// A role within reach: the login, the acting role, and every role that one of them is a member of, by whatever path.
///
/// Whether a membership inherits or allows SET ROLE is not looked at: ADMIN OPTION alone is enough to grant oneself the
/// rest.
#[derive(sqlx::FromRow)]
pub(super) struct Role {
    pub(super) name: String,
    /// From the login or acting role to here.
    path: Vec<String>,
    superuser: bool,
    bypass_rls: bool,
    replication: bool,
    create_role: bool,
}

impl Role {
    /// `app`, or `own (by app -> team -> own)`.
    pub(super) fn label(&self) -> String {
        if self.path.len() == 1 {
            return quote_ident(&self.name);
        }
        let path: Vec<String> = self.path.iter().map(|name| quote_ident(name)).collect();
        format!("{} (by {})", quote_ident(&self.name), path.join(" -> "))
    }

    /// What takes the role out of reach.
    pub(super) fn out_of_reach(&self) -> String {
        match self.path.as_slice() {
            [.., above, own] => format!("REVOKE {} FROM {};", quote_ident(own), quote_ident(above)),
            _alone => "log in as another role, made with: CREATE ROLE app LOGIN NOSUPERUSER NOBYPASSRLS;".to_owned(),
        }
    }

    fn mend(&self, attribute: &str) -> String {
        match self.path.as_slice() {
            [own] => format!("ALTER ROLE {} {attribute};", quote_ident(own)),
            _member => self.out_of_reach(),
        }
    }
}

pub(super) async fn reachable(connection: &mut PgConnection) -> Result<Vec<Role>, PgError> {
    Ok(sqlx::query_as(REACHABLE).fetch_all(connection).await?)
}

pub(super) fn findings(session: &Session, roles: &[Role]) -> Vec<Finding> {
    let mut found = Vec::new();
    if session.session_user != session.current_user {
        found.push(Finding::fatal(
            Code::RoleFacade,
            format!("{} acting as {}", quote_ident(&session.session_user), quote_ident(&session.current_user)),
            "The session logged in as one role and acts as another. RESET ROLE, in any statement, brings the first back.",
            format!("log in as {} itself, and: ALTER ROLE {} RESET role;", quote_ident(&session.current_user), quote_ident(&session.session_user)),
        ));
    }
    found.extend(roles.iter().flat_map(about));
    found
}

fn about(role: &Role) -> Vec<Finding> {
    let fatal = |code, why: &str, fix: String| Finding::fatal(code, role.label(), why, fix);
    let mut found = Vec::new();
    if role.superuser {
        let why = "Row level security does not hold a superuser. Every tenant's rows are open to every statement.";
        found.push(fatal(Code::Superuser, why, role.out_of_reach()));
    }
    if role.bypass_rls {
        let why = "BYPASSRLS turns every policy off for this role. Every tenant's rows are open to it.";
        found.push(fatal(Code::BypassRls, why, role.mend("NOBYPASSRLS")));
    }
    if role.replication {
        let why =
            "REPLICATION lets this role stream the write-ahead log. That holds every tenant's rows, without policies.";
        found.push(fatal(Code::RoleAttribute, why, role.mend("NOREPLICATION")));
    }
    if role.create_role {
        let why = "CREATEROLE lets this role grant itself others. The owner of the tenant tables can be among them.";
        found.push(fatal(Code::RoleAttribute, why, role.mend("NOCREATEROLE")));
    }
    if AROUND_TABLES.contains(&role.name.as_str()) {
        let why = "This role reaches files or programs of the server, or is a vendor's administrator. Policies are \
                   about tables and hold neither.";
        found.push(fatal(Code::PredefinedRole, why, role.out_of_reach()));
    }
    found
}

/// A role or database that gives new sessions a value of our setting.
pub(super) async fn default_settings(
    connection: &mut PgConnection,
    declaration: &Declaration,
) -> Result<Vec<Finding>, PgError> {
    let rows: Vec<(Option<String>, Option<String>)> =
        sqlx::query_as(DEFAULTS).bind(declaration.setting()).fetch_all(connection).await?;
    let setting = declaration.setting_name().quoted();
    Ok(rows
        .into_iter()
        .map(|(role, database)| {
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

/// Each role once, by its shortest path.
const REACHABLE: &str = "
with recursive reach(oid, path) as (
    select oid, array[rolname::text] from pg_roles where rolname in (session_user, current_user)
    union all
    select r.oid, reach.path || r.rolname::text
    from reach join pg_auth_members m on m.member = reach.oid join pg_roles r on r.oid = m.roleid
    where not r.rolname::text = any(reach.path)
), shortest as (
    select distinct on (oid) oid, path from reach order by oid, cardinality(path)
)
select r.rolname::text as name, path, rolsuper as superuser, rolbypassrls as bypass_rls,
       rolreplication as replication, rolcreaterole as create_role
from shortest join pg_roles r using (oid)
order by cardinality(path), r.rolname";

const DEFAULTS: &str = "
select r.rolname::text, d.datname::text
from pg_db_role_setting s
cross join lateral unnest(s.setconfig) as c
left join pg_roles r on r.oid = s.setrole
left join pg_database d on d.oid = s.setdatabase
where lower(split_part(c, '=', 1)) = $1 and split_part(c, '=', 2) <> ''
  and (s.setdatabase = 0 or d.datname = current_database())
order by 1, 2";

/// Predefined roles that leave the tables, and what hosting vendors call their administrators. `pg_read_all_data` is
/// not among them: it does not go past row level security.
const AROUND_TABLES: [&str; 8] = [
    "pg_read_server_files",
    "pg_write_server_files",
    "pg_execute_server_program",
    "rds_superuser",
    "cloudsqlsuperuser",
    "azure_pg_admin",
    "azuresu",
    "alloydbsuperuser",
];
