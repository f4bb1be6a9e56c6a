//! Who may do what with the tables, and whom row level security holds.
//!
//! Statements run as a role within reach, or as the owner of a view, rule or function that the service uses. Both are
//! actors here, and are judged alike.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use crate::error::PgError;
use crate::unnamed;

/// What an actor may do with a table.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(super) struct Access {
    table: Oid,
    pub(super) actor: Oid,
    /// A superuser, a role with BYPASSRLS, or an owner whom nothing forces.
    pub(super) unheld: bool,
    may_select: bool,
    may_insert: bool,
    may_update: bool,
    may_delete: bool,
}

/// A command that policies are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Select,
    Insert,
    Update,
    Delete,
}

impl Command {
    pub(super) const ALL: [Self; 4] = [Self::Select, Self::Insert, Self::Update, Self::Delete];

    /// As `pg_policy.polcmd` writes it.
    pub(super) const fn letter(self) -> &'static str {
        match self {
            Self::Select => "r",
            Self::Insert => "a",
            Self::Update => "w",
            Self::Delete => "d",
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

impl Access {
    pub(super) fn may_anything(&self) -> bool {
        Command::ALL.into_iter().any(|command| self.may(command))
    }

    pub(super) const fn may(&self, command: Command) -> bool {
        match command {
            Command::Select => self.may_select,
            Command::Insert => self.may_insert,
            Command::Update => self.may_update,
            Command::Delete => self.may_delete,
        }
    }
}

/// Every pair of a table and an actor.
pub(super) struct Accesses(Vec<Access>);

impl Accesses {
    pub(super) async fn load(connection: &mut PgConnection, tables: &[Oid], actors: &[Oid]) -> Result<Self, PgError> {
        Ok(Self(unnamed::query_as(ACCESSES).bind(tables).bind(actors).fetch_all(connection).await?))
    }

    /// What one actor may do with a table.
    pub(super) fn of(&self, table: Oid, actor: Oid) -> Option<Access> {
        self.0.iter().find(|access| access.table == table && access.actor == actor).copied()
    }

    /// What these actors may do with a table.
    pub(super) fn to<'a>(&'a self, table: Oid, actors: &'a [Oid]) -> impl Iterator<Item = Access> + 'a {
        self.0.iter().filter(move |access| access.table == table && actors.contains(&access.actor)).copied()
    }
}

/// The owners of everything that runs in its owner's name.
pub(super) async fn owners(connection: &mut PgConnection) -> Result<Vec<Oid>, PgError> {
    Ok(unnamed::query_scalar(OWNERS).fetch_all(connection).await?)
}

const OWNERS: &str = "
select c.relowner from pg_class c
where c.oid >= 16384 and (c.relkind in ('v', 'm') or (c.relhasrules and c.relkind in ('r', 'p')))
union
select p.proowner from pg_proc p where p.oid >= 16384 and p.prosecdef";

/// A right on one column counts as one on the table.
const ACCESSES: &str = "
select c.oid as table, u.oid as actor,
       u.rolsuper or u.rolbypassrls or not c.relrowsecurity
         or (not c.relforcerowsecurity and pg_has_role(u.oid, c.relowner, 'USAGE')) as unheld,
       has_any_column_privilege(u.oid, c.oid, 'SELECT') as may_select,
       has_any_column_privilege(u.oid, c.oid, 'INSERT') as may_insert,
       has_any_column_privilege(u.oid, c.oid, 'UPDATE') as may_update,
       has_table_privilege(u.oid, c.oid, 'DELETE') as may_delete
from unnest($1::oid[]) as t(oid) join pg_class c on c.oid = t.oid
cross join (select r.oid, rolsuper, rolbypassrls from pg_roles r where r.oid = any($2)) as u";
