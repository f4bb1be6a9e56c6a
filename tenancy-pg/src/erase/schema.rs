//! What the eraser needs in the database.

use crate::declaration::Declaration;
use crate::ident::quote_role;

/// The statements that let `eraser_role` erase a life: reading and deleting in the declared tenant tables, for the row
/// key that its own setting names; the registry; and the schema `tenancy_erasure`, which remembers how far each erasure
/// has come. For a migration that the owner runs, after the one that makes the registry; in signed mode for a superuser,
/// and `eraser_role` belongs among the roles of [`signed_schema_sql`](crate::signed_schema_sql). Idempotent.
///
/// Grant the role `pg_read_all_stats` as well: without it nobody can say that nothing is open any more.
#[must_use]
pub fn erasure_sql(declaration: &Declaration, eraser_role: &str) -> String {
    let eraser = quote_role(eraser_role);
    let mut sql = format!(
        "create schema if not exists tenancy_erasure;
revoke all on schema tenancy_erasure from public;
create table if not exists tenancy_erasure.run (
    life uuid primary key,
    row_key text not null unique,
    fenced_at timestamptz,
    removed_at timestamptz,
    removed_xid text,
    drained boolean not null default false,
    files oid[]
);
revoke all on tenancy_erasure.run from public;
grant usage on schema tenancy_erasure, tenancy to {eraser};
grant select, insert, update on tenancy_erasure.run to {eraser};
revoke all on tenancy.tenant from {eraser};
grant select, update (live), delete on tenancy.tenant to {eraser};
"
    );
    for table in declaration.tenant_tables() {
        let (relation, column, key) = (&table.relation, table.column.quoted(), table.key.sql());
        sql += &format!(
            "drop policy if exists tenancy_eraser on {relation};
create policy tenancy_eraser on {relation} for all to {eraser}
    using ({column} = nullif(current_setting('tenancy.erasing', true), '')::{key});
revoke all on {relation} from {eraser};
grant usage on schema {schema} to {eraser};
grant select, delete on {relation} to {eraser};
",
            schema = table.relation.schema.quoted(),
        );
    }
    sql
}

/// Fences the life and begins the record. A life that is not in the registry any more has its record already.
pub(super) const BEGIN: &str = "
with fenced as (update tenancy.tenant set live = false where life = $1 returning life, row_key::text as row_key)
insert into tenancy_erasure.run (life, row_key) select life, row_key from fenced on conflict (life) do nothing";

pub(super) const FENCED: &str = "
update tenancy_erasure.run set fenced_at = pg_catalog.clock_timestamp() where life = $1 and fenced_at is null";

pub(super) const FOUND: &str = "
select row_key, removed_at is not null as removed, drained from tenancy_erasure.run where life = $1";

pub(super) const REMOVE: &str = "delete from tenancy.tenant where life = $1";

/// Remembers which files hold the bytes.
pub(super) const REMOVED: &str = "
with recursive leaf(oid) as (
    select c.oid from unnest($3::text[], $4::text[]) as d(schema, name)
    join pg_catalog.pg_namespace n on n.nspname = d.schema
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = d.name
    union select i.inhrelid from leaf join pg_catalog.pg_inherits i on i.inhparent = leaf.oid
)
update tenancy_erasure.run
set removed_at = pg_catalog.clock_timestamp(), removed_xid = pg_catalog.pg_current_xact_id()::text, drained = $2,
    files = array(select pg_catalog.pg_relation_filenode(oid) from leaf
                  where pg_catalog.pg_relation_filenode(oid) is not null)
where life = $1 and removed_at is null";

/// Rights count for every role within reach.
pub(super) const IS_ERASER: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
)
select coalesce(bool_and(c.oid is not null
       and has_table_privilege(c.oid, 'SELECT') and has_table_privilege(c.oid, 'DELETE')
       and not exists (select from me where pg_has_role(u, c.relowner, 'MEMBER')
                          or has_any_column_privilege(u, c.oid, 'INSERT, UPDATE')
                          or has_table_privilege(u, c.oid, 'TRUNCATE, TRIGGER'))), true)
   and not exists (select from me join pg_catalog.pg_roles r on r.oid = me.u where r.rolsuper or r.rolbypassrls)
from unnest($1::text[], $2::text[]) as d(schema, name)
left join pg_catalog.pg_namespace n on n.nspname = d.schema
left join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = d.name";
