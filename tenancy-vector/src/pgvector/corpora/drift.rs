//! Whether the tables of corpora are as they should be.
//!
//! The inspection knows tables of tenants; what a table that all of them read must be is said here, and seen in the catalog
//! as the service's role.

use std::collections::BTreeSet;

use tenancy_pg::sqlx;
use tenancy_pg::{Database, Inspected};

use super::super::drift::is_made_for;
use super::super::error::refused;
use super::super::pair::Pair;
use super::tables::{PUBLISHER, READER, publishing_printed, reader};
use crate::error::BackendError;

/// Looks at the tables as the service's role.
pub(super) async fn look(database: &Database<Inspected>, tables: &Pair) -> Result<(), BackendError> {
    let is_good = is_protected(database, tables).await?
        && has_its_policies(database, tables).await?
        && is_made_for(database, tables).await?;
    if is_good {
        Ok(())
    } else {
        Err(BackendError::unfit(
            "the tables are not protected as the migration does it, or not made for this schema of vectors",
        ))
    }
}

/// Row level security, rights, and the key that closes a corpus.
async fn is_protected(database: &Database<Inspected>, tables: &Pair) -> Result<bool, BackendError> {
    let is_protected = sqlx::query_scalar(PROTECTED).bind(&tables.points).bind(&tables.lives);
    let is_protected: Option<bool> = is_protected.fetch_one(&database.untenanted()).await.map_err(refused)?;
    Ok(is_protected == Some(true))
}

/// A policy as the catalog prints it: whether it is on the points or else on the lives, its name, its command, whether it is
/// permissive, whether it is for the service's role or one that this can become, and what it lets be read and written.
type Policy = (bool, String, String, bool, bool, Option<String>, Option<String>);

/// Exactly those that the migration makes.
async fn has_its_policies(database: &Database<Inspected>, tables: &Pair) -> Result<bool, BackendError> {
    let there = sqlx::query_as(POLICIES).bind(&tables.points).bind(&tables.lives);
    let there: Vec<Policy> = there.fetch_all(&database.untenanted()).await.map_err(refused)?;
    let bound = || Some(publishing_printed());
    let publisher = |on_points| (on_points, PUBLISHER.to_owned(), "*".to_owned(), true, false, bound(), bound());
    let scope = reader(database.declaration()).printed;
    let reader = (true, READER.to_owned(), "r".to_owned(), true, true, Some(scope), None);
    let wanted = BTreeSet::from([reader, publisher(true), publisher(false)]);
    Ok(there.len() == wanted.len() && BTreeSet::from_iter(there) == wanted)
}

/// Every role that the service's is or can become.
const PROTECTED: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
), tables(oid, is_points) as (
    values (pg_catalog.to_regclass($1)::oid, true), (pg_catalog.to_regclass($2)::oid, false)
)
select bool_and(c.oid is not null and c.relkind = 'r' and c.relrowsecurity and c.relforcerowsecurity
                and pg_catalog.row_security_active(c.oid)
                and not exists (select from pg_catalog.pg_rewrite r where r.ev_class = c.oid)
                and not exists (select from pg_catalog.pg_inherits i where i.inhparent = c.oid))
   and not exists (select from me join tables t on true join pg_catalog.pg_class o on o.oid = t.oid
                   where pg_catalog.pg_has_role(u, o.relowner, 'MEMBER')
                      or pg_catalog.has_any_column_privilege(u, t.oid, 'INSERT, UPDATE, REFERENCES')
                      or pg_catalog.has_table_privilege(u, t.oid, 'DELETE, TRUNCATE, TRIGGER')
                      or case when pg_catalog.current_setting('server_version_num')::int4 >= 170000
                              then pg_catalog.has_table_privilege(u, t.oid, 'MAINTAIN') else false end
                      or (not t.is_points and pg_catalog.has_any_column_privilege(u, t.oid, 'SELECT')))
   and exists (select from tables p join tables l on p.is_points and not l.is_points
               join pg_catalog.pg_constraint f on f.conrelid = p.oid and f.confrelid = l.oid
               where f.contype = 'f' and f.convalidated and pg_catalog.array_length(f.conkey, 1) = 2)
from tables left join pg_catalog.pg_class c on c.oid = tables.oid";

const POLICIES: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
)
select p.polrelid = pg_catalog.to_regclass($1) as on_points, p.polname::text as name, p.polcmd::text as command,
       p.polpermissive as permissive, 0 = any(p.polroles) or exists (select from me where u = any(p.polroles)) as is_ours,
       pg_catalog.pg_get_expr(p.polqual, p.polrelid) as reads, pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) as writes
from pg_catalog.pg_policy p where p.polrelid in (pg_catalog.to_regclass($1), pg_catalog.to_regclass($2))";
