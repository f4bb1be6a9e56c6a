//! Whether the tables of corpora are as they should be.
//!
//! The inspection knows tables of tenants; what a table that all of them read must be is said here, and seen in the catalog
//! as the service's role.

use tenancy_pg::sqlx;
use tenancy_pg::{Database, Inspected};

use super::super::drift::{is_keyed, is_made_for};
use super::super::error::refused;
use super::super::pair::{Pair, quoted};
use super::super::policies::{self, POLICIES, Policy, Wanted};
use super::super::rights::{self, RIGHTS, Right};
use super::super::unfit::Unfit;
use super::tables::{READER, published_by, reader};
use crate::error::BackendError;

/// Looks at the tables as the service's role.
pub(super) async fn look(database: &Database<Inspected>, tables: &Pair) -> Result<(), BackendError> {
    let role = quoted(&database.inspection().session_user);
    is_protected(database, tables, &role).await?;
    let there = sqlx::query_as(RIGHTS).bind(&tables.points).bind(&tables.lives);
    let there: Vec<Right> = there.fetch_all(&database.untenanted()).await.map_err(refused)?;
    READS.compare(&there, &role, tables)?;
    has_its_policies(database, tables).await?;
    is_keyed(database, tables).await?;
    is_made_for(database, tables).await
}

/// Whether it is there; is a table; has row level security, for the service's role too; has it forced; has a rule; has a
/// child; belongs to a role that the service's is or can become.
type Shape = (bool, bool, bool, bool, bool, bool, bool);

async fn is_protected(database: &Database<Inspected>, tables: &Pair, role: &str) -> Result<(), BackendError> {
    for table in [&tables.points, &tables.lives] {
        let shape: Shape =
            sqlx::query_as(SHAPE).bind(table).fetch_one(&database.untenanted()).await.map_err(refused)?;
        let table = table.clone();
        let is = |what| Unfit::Table { table: table.clone(), what };
        match shape {
            (false, ..) => return Err(Unfit::Missing { table }.into()),
            (_, false, ..) => return Err(is("is no ordinary table").into()),
            (_, _, false, ..) => return Err(is("has no row level security that holds the service's role").into()),
            (_, _, _, false, ..) => return Err(is("has row level security that is not forced").into()),
            (_, _, _, _, true, ..) => return Err(is("has a rule, which the migration does not make").into()),
            (_, _, _, _, _, true, _) => return Err(is("has a child, whose rows would be read too").into()),
            (_, _, _, _, _, _, true) => return Err(Unfit::Owner { role: role.to_owned(), table }.into()),
            _good => {}
        }
    }
    Ok(())
}

/// Exactly those that the migration makes.
async fn has_its_policies(database: &Database<Inspected>, tables: &Pair) -> Result<(), BackendError> {
    let there = sqlx::query_as(POLICIES).bind(&tables.points).bind(&tables.lives);
    let there: Vec<policies::Row> = there.fetch_all(&database.untenanted()).await.map_err(refused)?;
    let there: Vec<Policy> = there.into_iter().map(Policy::from).collect();
    let reads = reader(database.declaration()).printed;
    let reader = Wanted { on_points: true, name: READER, command: "r", is_ours: true, reads, writes: None };
    let [on_points, on_lives] = published_by(false);
    Ok(policies::compare(&there, &[reader, on_points, on_lives], tables)?)
}

/// What the service's role is to have.
const READS: rights::Wanted = rights::Wanted { points: &["SELECT"], lives: &[] };

const SHAPE: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
)
select c.oid is not null, coalesce(c.relkind = 'r', false),
       coalesce(c.relrowsecurity and pg_catalog.row_security_active(c.oid), false), coalesce(c.relforcerowsecurity, false),
       exists (select from pg_catalog.pg_rewrite r where r.ev_class = c.oid),
       exists (select from pg_catalog.pg_inherits i where i.inhparent = c.oid),
       exists (select from me where pg_catalog.pg_has_role(u, c.relowner, 'MEMBER'))
from (select pg_catalog.to_regclass($1)::oid as oid) as t left join pg_catalog.pg_class c on c.oid = t.oid";
