//! What a live database has of the declared tables.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::names::{NOT_NULL, REGISTRY_KEY};
use super::roles::Roles;
use crate::declaration::{Declaration, Relation, RowKeyType, TenantTable};
use crate::error::PgError;
use crate::inspect::Helpers;

/// A declared table, or a partition or child of one.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct LiveTable {
    /// The place of the declared table.
    pub(super) place: i64,
    /// Whether it is below the declared table.
    pub(super) child: bool,
    pub(super) oid: Oid,
    pub(super) schema: String,
    pub(super) name: String,
    /// `r`, `p`, or what can't have policies.
    pub(super) kind: String,
    pub(super) owner: String,
    /// The service is, or can become, the owner.
    pub(super) owned_by_app: bool,
    pub(super) rls: bool,
    pub(super) forced: bool,
    pub(super) column_type: Option<String>,
    pub(super) not_null: bool,
    /// Whether the check that goes before `NOT NULL` is there, and validated.
    pub(super) not_null_check: Option<bool>,
    /// What the tenant column has as its default.
    pub(super) default: Option<String>,
    /// A valid index of all rows that the tenant column leads.
    pub(super) led_index: bool,
    /// An index of the generated name that a broken-off `CREATE INDEX CONCURRENTLY` left.
    pub(super) broken_index: bool,
    pub(super) registry_key: Option<bool>,
}

/// A policy of a live table.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(super) struct LivePolicy {
    pub(super) oid: Oid,
    pub(super) table: Oid,
    pub(super) name: String,
    pub(super) command: String,
    pub(super) permissive: bool,
    pub(super) everyone: bool,
    /// For the service's role or one whose rights it has.
    pub(super) applies: bool,
    pub(super) using: Option<String>,
    pub(super) check: Option<String>,
    /// As SQL.
    pub(super) roles: String,
    /// Without PUBLIC.
    pub(super) role_names: Vec<String>,
}

/// Begins the transaction in which everything is looked at. With this search path the catalog prints every name with its
/// schema; with this zone and style it prints the day of a legacy role the same everywhere.
pub(super) const SNAPSHOT: &str = "begin isolation level repeatable read read only;
    set local search_path = pg_catalog; set local timezone = 'UTC'; set local datestyle = 'ISO'";

pub(super) async fn tables(
    connection: &mut PgConnection,
    declaration: &Declaration,
    roles: &Roles,
) -> Result<Vec<LiveTable>, PgError> {
    let [schemas, names, columns] = declared(declaration);
    let generated: Vec<String> = declaration.tenant_tables().iter().map(super::indexes::name).collect();
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(format!("{DECLARED}{TABLES}")))
        .bind(schemas)
        .bind(names)
        .bind(columns)
        .bind(roles.app())
        .bind(generated)
        .bind(REGISTRY_KEY)
        .bind(NOT_NULL)
        .fetch_all(connection)
        .await?)
}

pub(super) async fn policies(
    connection: &mut PgConnection,
    tables: &[LiveTable],
    roles: &Roles,
) -> Result<(Vec<LivePolicy>, Helpers), PgError> {
    let oids: Vec<Oid> = tables.iter().map(|table| table.oid).collect();
    let reach: Vec<Oid> = sqlx::query_scalar(REACH).bind(roles.app()).fetch_all(&mut *connection).await?;
    let helpers = Helpers::load(connection, &oids, &reach).await?;
    Ok((sqlx::query_as(POLICIES).bind(oids).bind(reach).fetch_all(connection).await?, helpers))
}

/// The declared tables as three columns, for [`DECLARED`].
pub(super) fn declared(declaration: &Declaration) -> [Vec<String>; 3] {
    let of = |part: fn(&TenantTable) -> &str| {
        declaration.tenant_tables().iter().map(|table| part(table).to_owned()).collect::<Vec<_>>()
    };
    [of(TenantTable::schema), of(TenantTable::table), of(TenantTable::column)]
}

impl LiveTable {
    /// Only an ordinary or partitioned table can have policies.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.kind.as_str(), "r" | "p")
    }

    /// Whether policies hold its owner already, and everybody.
    pub(super) const fn is_held(&self) -> bool {
        self.rls && self.forced
    }

    /// Whether the tenant column's default is a row key and not this one. Of what is computed nobody can tell.
    pub(super) fn is_anothers(&self, key: &str, kind: RowKeyType) -> bool {
        let constant = |default: &str| match default.strip_suffix(&format!("::{}", kind.sql())).unwrap_or(default) {
            number if number.parse::<i64>().is_ok() => Some(number.to_owned()),
            text => Some(text.strip_prefix('\'')?.strip_suffix('\'')?.replace("''", "'")),
        };
        self.default.as_deref().and_then(constant).is_some_and(|default| default != key)
    }

    /// The declaration of this table: its own, or for a child its parent's under the child's name.
    pub(super) fn declaration(&self, declaration: &Declaration) -> Option<TenantTable> {
        let table = declaration.tenant_tables().get(usize::try_from(self.place).ok()?)?;
        let relation = Relation::parse(&self.schema, &self.name).ok()?;
        Some(TenantTable { relation, ..table.clone() })
    }
}

/// Joined with the catalog, by their place.
pub(super) const DECLARED: &str = "
with recursive declared as (
    select d.place - 1 as place, c.oid, a.attnum, d.col
    from unnest($1::text[], $2::text[], $3::text[]) with ordinality as d(schema, name, col, place)
    join pg_namespace n on n.nspname = d.schema join pg_class c on c.relnamespace = n.oid and c.relname = d.name
    left join pg_attribute a on a.attrelid = c.oid and a.attname = d.col and a.attnum > 0 and not a.attisdropped
)";

/// Children that are declared themselves are not counted again.
const TABLES: &str = ", app(u) as (
    select oid from pg_roles where rolname = $4
    union select m.roleid from app join pg_auth_members m on m.member = app.u
), tree(oid, place, col, child) as (
    select oid, place, col, false from declared
    union
    select i.inhrelid, tree.place, tree.col, true from tree join pg_inherits i on i.inhparent = tree.oid
    join pg_class c on c.oid = i.inhrelid and c.relkind in ('r', 'p', 'f')
    where i.inhrelid not in (select oid from declared)
)
select tree.place, tree.child, c.oid, n.nspname::text as schema, c.relname::text as name, c.relkind::text as kind,
       pg_get_userbyid(c.relowner)::text as owner, c.relowner in (select u from app) as owned_by_app,
       c.relrowsecurity as rls, c.relforcerowsecurity as forced,
       format_type(a.atttypid, a.atttypmod) as column_type, coalesce(a.attnotnull, false) as not_null,
       (select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d where d.adrelid = c.oid and d.adnum = a.attnum) as default,
       exists (select from pg_index i where i.indrelid = c.oid and i.indisvalid and i.indpred is null
               and i.indkey[0] = a.attnum) as led_index,
       exists (select from pg_index i join pg_class x on x.oid = i.indexrelid
               where i.indrelid = c.oid and not i.indisvalid and x.relname = ($5::text[])[tree.place + 1]) as broken_index,
       (select k.convalidated from pg_constraint k where k.conrelid = c.oid and k.conname = $6 and k.contype = 'f')
           as registry_key,
       (select k.convalidated from pg_constraint k where k.conrelid = c.oid and k.conname = $7 and k.contype = 'c')
           as not_null_check
from tree join pg_class c on c.oid = tree.oid join pg_namespace n on n.oid = c.relnamespace
left join pg_attribute a on a.attrelid = c.oid and a.attname = tree.col and a.attnum > 0 and not a.attisdropped
order by tree.place, tree.child, n.nspname, c.relname";

/// The service's role and those that it can become.
const REACH: &str = "
with recursive app(u) as (
    select oid from pg_roles where rolname = $1
    union select m.roleid from app join pg_auth_members m on m.member = app.u
)
select u from app";

/// Their names, without its own.
pub(super) const REACHED_NAMES: &str = "
with recursive app(u) as (
    select oid from pg_roles where rolname = $1
    union select m.roleid from app join pg_auth_members m on m.member = app.u
)
select rolname::text from pg_roles join app on u = oid where rolname <> $1";

const POLICIES: &str = "
select p.oid, p.polrelid as table, p.polname::text as name, p.polcmd::text as command, p.polpermissive as permissive,
       0 = any(p.polroles) as everyone,
       0 = any(p.polroles) or p.polroles && $2 as applies,
       pg_get_expr(p.polqual, p.polrelid) as using, pg_get_expr(p.polwithcheck, p.polrelid) as check,
       (select string_agg(case r when 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(r)) end, ', ' order by i)
        from unnest(p.polroles) with ordinality as x(r, i)) as roles,
       array(select pg_get_userbyid(r)::text from unnest(p.polroles) r where r <> 0) as role_names
from pg_policy p where p.polrelid = any($1) order by p.polrelid, p.polname";
