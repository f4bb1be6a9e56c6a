//! The rights of a role on a pair of tables, compared with those that the migration gives.

use std::collections::BTreeSet;

use super::pair::Pair;
use super::unfit::Unfit;

/// What a role may do: whether it is on the points or else on the lives, and the right, with the column if it is on one.
pub(super) type Right = (bool, String);

/// What a role is to have on the points, and on the lives.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) points: &'static [&'static str],
    pub(super) lives: &'static [&'static str],
}

impl Wanted {
    /// Fails with what the role has too much, else with what it lacks.
    pub(super) fn compare(self, there: &[Right], role: &str, tables: &Pair) -> Result<(), Unfit> {
        let of = |on_points| if on_points { (self.points, &tables.points) } else { (self.lives, &tables.lives) };
        for (on_points, right) in there {
            let (wanted, table) = of(*on_points);
            if !wanted.contains(&right.as_str()) {
                return Err(Unfit::RightMore { role: role.to_owned(), right: right.clone(), table: table.clone() });
            }
        }
        let there: BTreeSet<(bool, &str)> =
            there.iter().map(|(on_points, right)| (*on_points, right.as_str())).collect();
        for on_points in [true, false] {
            let (wanted, table) = of(on_points);
            if let Some(right) = wanted.iter().find(|right| !there.contains(&(on_points, **right))) {
                return Err(Unfit::RightMissing { role: role.to_owned(), right, table: table.clone() });
            }
        }
        Ok(())
    }
}

/// Of every role that the session's is or can become, and of PUBLIC. A right on the table is not told again of its columns. That
/// it may be handed on is a right of its own.
pub(super) const RIGHTS: &str = "
with recursive me(u) as (
    select oid from pg_catalog.pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.u
), tables(oid, on_points) as (
    values (pg_catalog.to_regclass($1)::oid, true), (pg_catalog.to_regclass($2)::oid, false)
), names(r) as (
    select name || option
    from unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']
                  || case when pg_catalog.current_setting('server_version_num')::int4 >= 170000 then array['MAINTAIN']
                          else array[]::text[] end) as name
    cross join unnest(array['', ' WITH GRANT OPTION']) as option
), whole(oid, on_points, r) as (
    select t.oid, t.on_points, r from tables t cross join names
    where exists (select from me where pg_catalog.has_table_privilege(u, t.oid, r))
)
select on_points, r as right from whole
union all
select t.on_points, part || ' (' || pg_catalog.quote_ident(a.attname) || ')'
from tables t join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
cross join (select r from names where r ~ '^(SELECT|INSERT|UPDATE|REFERENCES)') as parts(part)
where not exists (select from whole w where w.oid = t.oid and w.r = part)
  and exists (select from me where pg_catalog.has_column_privilege(u, t.oid, a.attnum, part))
order by 1 desc, 2";
