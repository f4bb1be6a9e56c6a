//! The schema `tenancy_queue`, and whether it is still as it was made.

use sqlx::postgres::PgConnection;

use crate::declaration::{Declaration, RowKeyType, TenantTable};
use crate::error::PgError;
use crate::ident::{quote_ident, quote_role};
use crate::policy::POLICY;

/// The statements that make the job queue, for a migration that the owner runs. Idempotent.
///
/// `app_role`, the service's, may add jobs under the row key of its transaction and nothing else: no SELECT, so no
/// RETURNING and no COPY, and none of the columns that say how often a job was tried. `worker_role` may read, change
/// and remove jobs of every tenant and must be a role of its own.
///
/// Where the declaration wants the [registry](crate::DeclarationBuilder::registry), a job needs a tenant that is in it,
/// and goes with it.
#[must_use]
pub fn queue_sql(declaration: &Declaration, app_role: &str, worker_role: &str) -> String {
    let key = declaration.row_key_type().unwrap_or(RowKeyType::Uuid).sql();
    let references = if declaration.registry() { " references tenancy.tenant (row_key) on delete cascade" } else { "" };
    let bound = bound_sql(declaration);
    let (app, worker, policy) = (quote_role(app_role), quote_role(worker_role), quote_ident(POLICY));
    format!(
        "create schema if not exists tenancy_queue;
revoke all on schema tenancy_queue from public;
create table if not exists tenancy_queue.job (
    id bigint generated always as identity primary key,
    queue text not null,
    kind text not null,
    row_key {key} not null{references},
    ticket text not null,
    payload bytea not null,
    visible_at timestamptz not null default now(),
    attempts integer not null default 0,
    lease uuid,
    dead text
);
create index if not exists job_of_lane on tenancy_queue.job (queue, kind, row_key, visible_at, id) where dead is null;
create index if not exists job_of_tenant on tenancy_queue.job (row_key);
create table if not exists tenancy_queue.turn (
    queue text not null,
    kind text not null,
    row_key {key} not null{references},
    served bigint not null,
    primary key (queue, kind, row_key)
);
create index if not exists turn_of_tenant on tenancy_queue.turn (row_key);
create sequence if not exists tenancy_queue.turns;
alter table tenancy_queue.job enable row level security;
alter table tenancy_queue.job force row level security;
alter table tenancy_queue.turn enable row level security;
alter table tenancy_queue.turn force row level security;
drop policy if exists {policy} on tenancy_queue.job;
create policy {policy} on tenancy_queue.job for insert to {app} with check ({bound});
drop policy if exists tenancy_worker on tenancy_queue.job;
create policy tenancy_worker on tenancy_queue.job for all to {worker} using (true) with check (true);
drop policy if exists tenancy_worker on tenancy_queue.turn;
create policy tenancy_worker on tenancy_queue.turn for all to {worker} using (true) with check (true);
revoke all on all tables in schema tenancy_queue from public, {app}, {worker};
grant usage on schema tenancy_queue to {app}, {worker};
grant insert (queue, kind, row_key, ticket, payload) on tenancy_queue.job to {app};
grant select, update, delete on tenancy_queue.job to {worker};
grant select, insert, update, delete on tenancy_queue.turn to {worker};
grant usage on sequence tenancy_queue.turns to {worker};
"
    )
}

/// Whether a relation that the connected role can reach is the queue, exactly as [`queue_sql`] made it for the service:
/// for no role within reach any right but to add the columns of a job, forced row level security, one policy for it, and
/// an owner out of reach.
pub(crate) async fn as_made(connection: &mut PgConnection, schema: &str, name: &str) -> Result<bool, PgError> {
    if (schema, name) != ("tenancy_queue", "job") {
        return Ok(false);
    }
    let made: Option<bool> = sqlx::query_scalar(AS_MADE).bind(POLICY).fetch_optional(connection).await?.flatten();
    Ok(made == Some(true))
}

/// `row_key = the row key of the transaction`, in the mode of the declaration.
fn bound_sql(declaration: &Declaration) -> String {
    let key = declaration.row_key_type().unwrap_or(RowKeyType::Uuid);
    let table = TenantTable::new("tenancy_queue", "job", "row_key", key);
    let bound = |table: TenantTable| {
        let setting = declaration.setting_name().clone();
        TenantTable { setting, signed: declaration.signed(), ..table }.bound_sql()
    };
    // Three fixed names that the catalog can hold.
    table.map_or_else(|_| "false".to_owned(), bound)
}

/// Rights count for every role within reach.
const AS_MADE: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
)
select c.relkind = 'r' and c.relrowsecurity and c.relforcerowsecurity
   and not exists (select from pg_catalog.pg_inherits i where c.oid in (i.inhrelid, i.inhparent))
   and not exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
   and not exists (select from pg_catalog.pg_rewrite r where r.ev_class = c.oid)
   and not exists (select from me where pg_has_role(u, c.relowner, 'MEMBER')
                      or has_any_column_privilege(u, c.oid, 'SELECT, UPDATE, REFERENCES')
                      or has_table_privilege(u, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER'))
   and not exists (select from me join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                   where has_column_privilege(u, c.oid, a.attnum, 'INSERT')
                     and a.attname not in ('queue', 'kind', 'row_key', 'ticket', 'payload'))
   and (select coalesce(bool_and(p.polname = $1 and p.polcmd = 'a' and p.polpermissive), false)
        from pg_catalog.pg_policy p
        where p.polrelid = c.oid and exists (select from unnest(p.polroles) r where r = 0 or r in (select u from me)))
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'tenancy_queue' and c.relname = 'job'";

pub(super) const IS_WORKER: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
)
select has_table_privilege(c.oid, 'SELECT') and has_table_privilege(c.oid, 'UPDATE') and has_table_privilege(c.oid, 'DELETE')
   and not exists (select from me join pg_catalog.pg_roles r on r.oid = me.u
                   where r.rolsuper or r.rolbypassrls or pg_has_role(u, c.relowner, 'MEMBER')
                      or has_any_column_privilege(u, c.oid, 'INSERT'))
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'tenancy_queue' and c.relname = 'job'";
