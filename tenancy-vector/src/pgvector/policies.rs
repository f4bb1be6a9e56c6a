//! The policies of a pair of tables, compared with those that the migration makes.

use super::pair::Pair;
use super::unfit::Unfit;

/// A policy as the catalog prints it.
#[derive(Debug)]
pub(super) struct Policy {
    /// On the points, or else on the lives.
    on_points: bool,
    name: String,
    command: String,
    permissive: bool,
    /// For everybody.
    is_public: bool,
    /// For everybody, or for a role that the session's is or can become.
    is_ours: bool,
    reads: Option<String>,
    writes: Option<String>,
}

/// A row of [`POLICIES`].
pub(super) type Row = (bool, String, String, bool, bool, bool, Option<String>, Option<String>);

impl From<Row> for Policy {
    fn from((on_points, name, command, permissive, is_public, is_ours, reads, writes): Row) -> Self {
        Self { on_points, name, command, permissive, is_public, is_ours, reads, writes }
    }
}

/// A permissive policy as it is to be.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) on_points: bool,
    pub(super) name: &'static str,
    pub(super) command: &'static str,
    /// Whether it is for a role that the session's is or can become.
    pub(super) is_ours: bool,
    pub(super) reads: String,
    pub(super) writes: Option<String>,
}

impl Policy {
    fn is(&self, wanted: &Wanted) -> bool {
        (self.on_points, self.name.as_str()) == (wanted.on_points, wanted.name)
            && (self.command.as_str(), self.permissive) == (wanted.command, true)
            && (self.is_public, self.is_ours) == (false, wanted.is_ours)
            && (&self.reads, &self.writes) == (&Some(wanted.reads.clone()), &wanted.writes)
    }

    /// Whether it concerns the session's role beside what holds everybody to a tenant: that is the inspection's to judge,
    /// and only takes away where it is restrictive.
    pub(super) const fn concerns_the_role(&self) -> bool {
        self.is_ours && (!self.is_public || !self.permissive)
    }
}

/// Exactly the wanted ones.
pub(super) fn compare<'p>(
    there: impl IntoIterator<Item = &'p Policy>,
    wanted: &[Wanted],
    tables: &Pair,
) -> Result<(), Unfit> {
    let table = |on_points| if on_points { &tables.points } else { &tables.lives }.clone();
    let there: Vec<&Policy> = there.into_iter().collect();
    if let Some(missing) = wanted.iter().find(|wanted| !there.iter().any(|policy| policy.is(wanted))) {
        return Err(Unfit::PolicyMissing { table: table(missing.on_points), policy: missing.name });
    }
    match there.iter().find(|policy| !wanted.iter().any(|wanted| policy.is(wanted))) {
        Some(more) => {
            let policy = super::pair::quoted(&more.name);
            Err(Unfit::PolicyMore { table: table(more.on_points), policy })
        }
        None => Ok(()),
    }
}

pub(super) const POLICIES: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
)
select p.polrelid = pg_catalog.to_regclass($1) as on_points, p.polname::text as name, p.polcmd::text as command,
       p.polpermissive as permissive, 0 = any(p.polroles) as is_public,
       0 = any(p.polroles) or exists (select from me where u = any(p.polroles)) as is_ours,
       pg_catalog.pg_get_expr(p.polqual, p.polrelid) as reads, pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) as writes
from pg_catalog.pg_policy p where p.polrelid in (pg_catalog.to_regclass($1), pg_catalog.to_regclass($2))
order by 1 desc, 2";
