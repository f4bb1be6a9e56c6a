//! The login of a role that is not the service's: one that drops lives, or one that publishes corpora.

use std::fmt;

use tenancy_core::{Life, Reason};
use tenancy_pg::sqlx::postgres::{PgConnectOptions, PgConnection};
use tenancy_pg::sqlx::{self, AssertSqlSafe, ConnectOptions, Connection};
use tenancy_pg::{Database, Inspected, PgError};

use super::key::Key;
use super::pair::{Pair, quoted};
use super::policies::{self, POLICIES, Policy};
use super::rights::{self, RIGHTS, Right};
use super::session::{Session, Tx};
use super::unfit::Unfit;
use crate::error::BackendError;

/// How to log in. Each use has a connection of its own, which is closed at its end or when its future is dropped: what was
/// begun is then rolled back by the server.
pub(super) struct Login {
    options: PgConnectOptions,
    /// What it does, for messages.
    task: &'static str,
    /// The roles of the service.
    service: Vec<String>,
    /// Schemas and names of the declared tables, and whether it may not so much as read them.
    declared: (Vec<String>, Vec<String>, Vec<bool>),
}

impl Login {
    /// Of a role that is to have nothing to do with any tenant's rows but those of its own tables, and to change none that
    /// every tenant reads.
    pub(super) fn new(login: PgConnectOptions, task: &'static str, database: &Database<Inspected>) -> Self {
        // What the server says quotes data.
        let options = login.disable_statement_logging().options([("client_min_messages", "error")]);
        let inspection = database.inspection();
        let tenants = database.declaration().tenant_tables().iter().map(|table| (table.schema(), table.table(), true));
        let global = database.declaration().global_tables().iter().map(|table| (table.schema(), table.table(), false));
        let declared =
            tenants.chain(global).map(|(schema, table, closed)| (schema.to_owned(), table.to_owned(), closed));
        let declared = declared.collect();
        Self { options, task, service: vec![inspection.session_user, inspection.current_user], declared }
    }

    /// A connection, once the server has said that its role is held by the policies of the tables, and can do no more than
    /// it is for.
    pub(super) async fn connect(&self, tables: &Pair) -> Result<PgConnection, BackendError> {
        let mut connection = self.options.connect().await.map_err(|error| self.kept_out(error))?;
        let (schemas, names, closed) = &self.declared;
        let who = sqlx::query_as(WHO).bind(schemas).bind(names).bind(closed).bind(&tables.points).bind(&tables.lives);
        let who = who.bind(&self.service).fetch_one(&mut connection).await;
        plain(who.map_err(|error| unseen(error, &quoted(self.options.get_username()), tables))?)?;
        Ok(connection)
    }

    /// Looks whether the role has what its task takes, and no more: its rights, and its policies.
    pub(super) async fn look(
        &self,
        tables: &Pair,
        rights: rights::Wanted,
        policies: &[policies::Wanted],
    ) -> Result<(), BackendError> {
        let mut connection = self.connect(tables).await?;
        let looked = look(&mut connection, tables, rights, policies).await;
        // What was seen is worth more than a polite good-bye.
        let _closed = connection.close().await;
        looked
    }

    /// A transaction on the points of one corpus, which sees no other's.
    pub(super) async fn begin<'t>(&self, tables: &'t Pair, corpus: Life) -> Result<Session<'t>, BackendError> {
        let mut connection = self.connect(tables).await?;
        let [setting, _] = tables.whose.settings();
        // A uuid needs no quoting.
        let begin = format!("begin; set local {setting} = '{}'", corpus.uuid());
        sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut connection).await.map_err(failed)?;
        Ok(Session { tx: Tx::Publisher(connection), tables, owner: Key::of_corpus(corpus), life: corpus })
    }

    /// The server answered and let nobody in, or there was no answer.
    fn kept_out(&self, error: sqlx::Error) -> BackendError {
        match code(&error).as_deref() {
            Some(code) if KEPT_OUT.iter().any(|class| code.starts_with(class)) => {
                Unfit::Login { task: self.task }.into()
            }
            _other => failed(error),
        }
    }
}

async fn look(
    connection: &mut PgConnection,
    tables: &Pair,
    rights: rights::Wanted,
    policies: &[policies::Wanted],
) -> Result<(), BackendError> {
    // The catalog prints what is not its own with a schema, whatever search path the role has.
    sqlx::raw_sql("begin read only; set local search_path = pg_catalog")
        .execute(&mut *connection)
        .await
        .map_err(failed)?;
    let role = sqlx::query_scalar("select pg_catalog.quote_ident(session_user)").fetch_one(&mut *connection).await;
    let role: String = role.map_err(failed)?;
    let there: Vec<Right> = sqlx::query_as(RIGHTS)
        .bind(&tables.points)
        .bind(&tables.lives)
        .fetch_all(&mut *connection)
        .await
        .map_err(failed)?;
    rights.compare(&there, &role, tables)?;
    let there: Vec<policies::Row> = sqlx::query_as(POLICIES)
        .bind(&tables.points)
        .bind(&tables.lives)
        .fetch_all(&mut *connection)
        .await
        .map_err(failed)?;
    let there: Vec<Policy> = there.into_iter().map(Policy::from).collect();
    policies::compare(there.iter().filter(|policy| policy.concerns_the_role()), policies, tables)?;
    let try_it = format!("select exists (select from {}), exists (select from {})", tables.points, tables.lives);
    let tried = sqlx::query(AssertSqlSafe(try_it)).fetch_one(connection).await;
    tried.map(drop).map_err(|error| unseen(error, &role, tables))
}

/// The server does not let the role look where it has rights: into the schema, or what a policy calls.
fn unseen(error: sqlx::Error, role: &str, tables: &Pair) -> BackendError {
    if code(&error).as_deref() != Some(DENIED) {
        return failed(error);
    }
    let tables = format!("{} and {}", tables.points, tables.lives);
    Unfit::MayNotLook { role: role.to_owned(), tables, what: MAY_NOT_LOOK }.into()
}

/// Nobody's context is at hand, and no key to a life fails but for a reason.
pub(super) fn failed(error: sqlx::Error) -> BackendError {
    BackendError::Failed(Reason::told(PgError::from(error)))
}

fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// The role; whether it is the service's, and whether policies or rights hold it not at all; a table that it owns, and one that
/// it is not to reach; whether row level security is active on the tables for it.
type Who = (String, bool, bool, Option<String>, Option<String>, bool);

fn plain((role, is_service, unheld, owned, beyond, held): Who) -> Result<(), Unfit> {
    match (owned, beyond) {
        _any if is_service => Err(Unfit::Role { role, what: "is or can become the service's own" }),
        _any if unheld => {
            Err(Unfit::Role { role, what: "is or can become a superuser or one with BYPASSRLS or CREATEROLE" })
        }
        (Some(table), _) => Err(Unfit::Owner { role, table }),
        (None, Some(table)) => Err(Unfit::Beyond { role, table }),
        (None, None) if !held => Err(Unfit::Role { role, what: "is not held by row level security on the tables" }),
        (None, None) => Ok(()),
    }
}

/// Rights count for every role within reach; those on partitions and children as those on what they belong to, and those on a
/// parent, by which a statement reaches the rows of its children past their policies, as those on its children.
const WHO: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
), own(oid, name) as (
    select pg_catalog.to_regclass(name)::oid, name from unnest(array[$4, $5]::text[]) as o(name)
), declared(oid, closed) as (
    select c.oid, d.closed from unnest($1::text[], $2::text[], $3::bool[]) as d(schema, name, closed)
    join pg_catalog.pg_namespace n on n.nspname = d.schema
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = d.name
    where not exists (select from own where own.oid = c.oid)
), children(oid, closed) as (
    select oid, closed from declared
    union select i.inhrelid, b.closed from children b join pg_catalog.pg_inherits i on i.inhparent = b.oid
), parents(oid, closed) as (
    (select oid, closed from declared union select oid, true from own)
    union select i.inhparent, b.closed from parents b join pg_catalog.pg_inherits i on i.inhrelid = b.oid
), beyond(oid, name, closed) as (
    select c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname), b.closed
    from (select * from children union select * from parents) b
    join pg_catalog.pg_class c on c.oid = b.oid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where not exists (select from own where own.oid = c.oid)
), every(oid, name) as (
    select oid, name from own union all select oid, name from beyond
)
select pg_catalog.quote_ident(session_user),
       exists (select from me join pg_catalog.pg_roles r on r.oid = me.u where r.rolname::text = any($6::text[])),
       exists (select from me join pg_catalog.pg_roles r on r.oid = me.u where r.rolsuper or r.rolbypassrls or r.rolcreaterole),
       (select min(e.name) from every e join pg_catalog.pg_class c on c.oid = e.oid
        where exists (select from me where pg_catalog.pg_has_role(me.u, c.relowner, 'MEMBER'))),
       (select min(b.name) from beyond b
        where exists (select from me where b.closed and pg_catalog.has_any_column_privilege(me.u, b.oid, 'SELECT')
                                        or pg_catalog.has_any_column_privilege(me.u, b.oid, 'INSERT, UPDATE, REFERENCES')
                                        or pg_catalog.has_table_privilege(me.u, b.oid, 'DELETE, TRUNCATE, TRIGGER'))),
       coalesce((select bool_and(coalesce(pg_catalog.row_security_active(oid), false)) from own), false)";

/// Classes of codes of what the server says instead of letting somebody in: who it is, which database, no right to connect.
const KEPT_OUT: [&str; 3] = ["28", "3D", "42501"];
const DENIED: &str = "42501";
const MAY_NOT_LOOK: &str =
    "it needs USAGE on their schema, and in signed mode it belongs among the roles of signed_schema_sql";

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(..)")
    }
}
