//! What an attempt could leave behind, though it is rolled back.

use super::session::Session;
use crate::error::PgError;

/// Refuses a database in which anything could stay.
///
/// What a function does is in its body, which nobody reads here: each that the login could call or set off counts, save
/// the verifiers of the signed scope.
pub(super) async fn refuse(session: &mut Session) -> Result<(), PgError> {
    let leftovers = session.ask(LEFTOVERS).await?;
    if leftovers.is_empty() { Ok(()) } else { Err(PgError::ProbeLeaves(leftovers)) }
}

/// Whoever may make roles may become most of them. An identity column asks nobody for a right to its sequence. A view or
/// default may call what an extension brought, and one that is not marked as trusted may reach out of the database.
const LEFTOVERS: &str = "
with u(u) as (
    select oid from pg_roles
    where pg_has_role(session_user, oid, 'MEMBER') or (select rolcreaterole from pg_roles where rolname = session_user)
), relation as (
    select c.*, format('%I.%I', n.nspname, c.relname) as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
), writable as (
    select r.oid from relation r where r.relkind in ('r', 'p', 'v', 'f')
      and exists (select from u where has_table_privilege(u, r.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                                   or has_any_column_privilege(u, r.oid, 'INSERT, UPDATE'))
), found as (
    select 'sequence ' || s.name as what from relation s
    where case s.relkind when 'S' then
        exists (select from u where has_sequence_privilege(u, s.oid, 'USAGE, UPDATE'))
        or exists (select from pg_depend d join writable w on w.oid = d.refobjid
                   where d.classid = 'pg_class'::regclass and d.objid = s.oid and d.refclassid = 'pg_class'::regclass
                     and d.deptype in ('a', 'i'))
        else false end
    union
    select 'foreign table ' || f.name from relation f
    where f.relkind = 'f' and exists (select from u where has_table_privilege(u, f.oid, 'SELECT, INSERT, UPDATE, DELETE')
                                                       or has_any_column_privilege(u, f.oid, 'SELECT, INSERT, UPDATE'))
    union
    select 'function ' || p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
      and p.prokind in ('f', 'p', 'w') and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
      and not (n.nspname = 'tenancy' and p.proowner::regrole::text = 'tenancy_owner')
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
      and exists (select from u where has_function_privilege(u, p.oid, 'EXECUTE') and has_schema_privilege(u, n.oid, 'USAGE'))
    union
    select 'trigger function ' || p.oid::regprocedure::text from pg_proc p
    where p.pronamespace <> 'pg_catalog'::regnamespace
      and (p.oid in (select t.tgfoid from pg_trigger t where not t.tgisinternal and t.tgrelid in (select oid from writable))
           or p.oid in (select evtfoid from pg_event_trigger where evtenabled <> 'D'))
    union
    select format('%s, which calls %s', pg_describe_object(d.classid, d.objid, 0), p.oid::regprocedure)
    from pg_depend d join pg_proc p on d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid and p.provolatile = 'v'
    join pg_depend e on e.classid = 'pg_proc'::regclass and e.objid = p.oid and e.deptype = 'e'
    join pg_extension x on e.refclassid = 'pg_extension'::regclass and x.oid = e.refobjid
    where d.classid in ('pg_rewrite'::regclass, 'pg_attrdef'::regclass, 'pg_policy'::regclass, 'pg_constraint'::regclass)
      and not coalesce((select v.trusted from pg_available_extension_versions v
                        where v.name = x.extname and v.version = x.extversion), false)
      and not exists (select from pg_rewrite w join pg_depend o on o.classid = 'pg_class'::regclass and o.objid = w.ev_class
                      where d.classid = 'pg_rewrite'::regclass and w.oid = d.objid and o.deptype = 'e')
)
select what from found order by what";
