//! The roles that the service is, or can become.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::codes::Code;
use super::report::Finding;
use super::server::Session;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::unnamed;

/// A role within reach: the login, the acting role, and every role that one of them is a member of, by whatever path.
///
/// One of INHERIT, SET and ADMIN OPTION is enough for a membership to count: with ADMIN OPTION alone one grants oneself
/// the rest. The owner of the database is a member of `pg_database_owner` without a grant.
#[derive(sqlx::FromRow)]
pub(super) struct Role {
    pub(super) oid: Oid,
    pub(super) name: String,
    /// From the login or acting role to here.
    path: Vec<String>,
    /// What each membership of the path gives, where it is not the usual: `SET`, `ADMIN`.
    options: Vec<String>,
    owns_database: bool,
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
        let mut path = String::new();
        for (name, options) in self.path.iter().zip(&self.options) {
            let arrow = if path.is_empty() { String::new() } else { format!(" -{options}> ") };
            path += &format!("{arrow}{}", quote_ident(name));
        }
        format!("{} (by {path})", quote_ident(&self.name))
    }

    /// What takes the role out of reach.
    pub(super) fn out_of_reach(&self) -> String {
        match self.path.as_slice() {
            [.., above, own] => format!("REVOKE {} FROM {};", quote_ident(own), quote_ident(above)),
            _alone => "-- log in as another role: CREATE ROLE app LOGIN NOSUPERUSER NOBYPASSRLS;".to_owned(),
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
    Ok(unnamed::query_as(REACHABLE).fetch_all(connection).await?)
}

pub(super) fn findings(session: &Session, roles: &[Role]) -> Vec<Finding> {
    let mut found = Vec::new();
    if session.session_user != session.current_user {
        found.push(Finding::fatal(
            Code::RoleFacade,
            format!("{} acting as {}", quote_ident(&session.session_user), quote_ident(&session.current_user)),
            "The session logged in as one role and acts as another. RESET ROLE, in any statement, brings the first back.",
            format!("-- log in as {} itself\nALTER ROLE {} RESET role;", quote_ident(&session.current_user), quote_ident(&session.session_user)),
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
    if role.owns_database && !role.superuser {
        let why = "This role owns the database. It can drop it, give every session another setting, and act as the owner of \
                   the schema public.";
        let fix = match role.out_of_reach() {
            revoke if revoke.starts_with("REVOKE") => revoke,
            _own => {
                "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO CURRENT_USER', current_database()); END $$;"
                    .to_owned()
            }
        };
        found.push(fatal(Code::Ownership, why, fix));
    }
    if AROUND_TABLES.contains(&role.name.as_str()) {
        let why = "This role reaches files or programs of the server, or what it keeps beneath the tables, or is a vendor's \
                   administrator. Policies are about tables and hold none of that.";
        found.push(fatal(Code::PredefinedRole, why, role.out_of_reach()));
    }
    found
}

/// Each role once, by its shortest path.
const REACHABLE: &str = "
with recursive edge(member, role, options) as (
    select member, roleid,
           case when not has_options or (inherits and sets) then ''
                else concat_ws(', ', case when inherits then 'INHERIT' end, case when sets then 'SET' end,
                               case when admin_option then 'ADMIN' end) end
    from (select member, roleid, admin_option, to_jsonb(m) ? 'set_option' as has_options,
                 (to_jsonb(m)->>'inherit_option')::boolean as inherits, (to_jsonb(m)->>'set_option')::boolean as sets
          from pg_auth_members m) as m
    where not has_options or inherits or sets or admin_option
    union all
    select d.datdba, r.oid, '' from pg_database d join pg_roles r on r.rolname = 'pg_database_owner'
    where d.datname = current_database()
), reach(oid, path, options) as (
    select oid, array[rolname::text], array[''] from pg_roles where rolname in (session_user, current_user)
    union all
    select r.oid, reach.path || r.rolname::text, reach.options || edge.options
    from reach join edge on edge.member = reach.oid join pg_roles r on r.oid = edge.role
    where not r.rolname::text = any(reach.path)
), shortest as (
    select distinct on (oid) oid, path, options from reach order by oid, cardinality(path), path, options
)
select r.oid, r.rolname::text as name, path, options, rolsuper as superuser, rolbypassrls as bypass_rls,
       rolreplication as replication, rolcreaterole as create_role,
       exists (select from pg_database d where d.datname = current_database() and d.datdba = r.oid) as owns_database
from shortest join pg_roles r using (oid)
order by cardinality(path), r.rolname";

/// Predefined roles that leave the tables, and what hosting vendors call their administrators. `pg_read_all_data` is held
/// by the policies of a table, and reads its TOAST table and the planner's samples of it, which have none.
const AROUND_TABLES: [&str; 10] = [
    "pg_read_all_data",
    "pg_read_server_files",
    "pg_write_server_files",
    "pg_execute_server_program",
    "pg_create_subscription",
    "rds_superuser",
    "cloudsqlsuperuser",
    "azure_pg_admin",
    "azuresu",
    "alloydbsuperuser",
];
