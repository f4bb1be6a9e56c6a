//! The login of a role that is not the service's: one that drops lives, or one that publishes corpora.

use std::fmt;

use tenancy_core::Life;
use tenancy_pg::sqlx::postgres::{PgConnectOptions, PgConnection};
use tenancy_pg::sqlx::{self, AssertSqlSafe, ConnectOptions};
use tenancy_pg::{Declaration, PgError};

use super::key::Key;
use super::pair::Pair;
use super::session::{Session, Tx};
use crate::error::BackendError;
use crate::reason::Reason;

/// How to log in. Each use has a connection of its own, which is closed at its end or when its future is dropped: what was
/// begun is then rolled back by the server.
pub(super) struct Login {
    options: PgConnectOptions,
    /// Schemas and names of tables that are not for it.
    beyond: (Vec<String>, Vec<String>),
}

impl Login {
    pub(super) fn new(login: PgConnectOptions) -> Self {
        // What the server says quotes data.
        let options = login.disable_statement_logging().options([("client_min_messages", "error")]);
        Self { options, beyond: (Vec::new(), Vec::new()) }
    }

    /// Of a role that is to have nothing to do with any tenant's rows.
    pub(super) fn apart_from_tenants(mut self, declaration: &Declaration) -> Self {
        let names = declaration.tenant_tables().iter();
        self.beyond = names.map(|table| (table.schema().to_owned(), table.table().to_owned())).unzip();
        self
    }

    /// A connection, once the server has said that its role is held by the policies of the tables, and can do no more than
    /// it is for.
    pub(super) async fn connect(&self, tables: &Pair) -> Result<PgConnection, BackendError> {
        let mut connection = self.options.connect().await.map_err(failed)?;
        let (schemas, names) = &self.beyond;
        let is_plain = sqlx::query_scalar(IS_PLAIN).bind(schemas).bind(names).bind(&tables.points).bind(&tables.lives);
        let is_plain: Option<bool> = is_plain.fetch_one(&mut connection).await.map_err(failed)?;
        if is_plain == Some(true) {
            Ok(connection)
        } else {
            Err(BackendError::Failed(Reason::ours(PgError::ControlRole)))
        }
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
}

/// Nobody's context is at hand, and no key to a life fails but for a reason.
pub(super) fn failed(error: sqlx::Error) -> BackendError {
    BackendError::Failed(Reason::ours(PgError::from(error)))
}

/// Rights count for every role within reach.
const IS_PLAIN: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
), beyond(oid) as (
    select c.oid from unnest($1::text[], $2::text[]) as d(schema, name)
    join pg_catalog.pg_namespace n on n.nspname = d.schema
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = d.name
), own(oid) as (
    select pg_catalog.to_regclass(name) from unnest(array[$3, $4]::text[]) as o(name)
)
select (select bool_and(coalesce(pg_catalog.row_security_active(oid), false)) from own)
   and not exists (select from me join pg_catalog.pg_roles r on r.oid = me.u where r.rolsuper or r.rolbypassrls)
   and not exists (select from me join pg_catalog.pg_class c on pg_catalog.pg_has_role(me.u, c.relowner, 'MEMBER')
                   where c.oid in (select oid from own union all select oid from beyond))
   and not exists (select from me cross join beyond b
                   where pg_catalog.has_any_column_privilege(me.u, b.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
                      or pg_catalog.has_table_privilege(me.u, b.oid, 'DELETE, TRUNCATE, TRIGGER'))";

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(..)")
    }
}
