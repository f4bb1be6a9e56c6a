//! Who will see no rows.

use std::fmt;

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::live::LiveTable;
use super::roles::Roles;
use crate::declaration::{Declaration, LegacyRole};
use crate::error::PgError;
use crate::ident::quote_ident;

/// Somebody who sees no rows once a migration has run, without any error: policies filter, they do not complain.
///
/// `Display` says it in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CutOff {
    /// A login that uses a table which is about to get policies, and that nobody mentioned: it is neither among the
    /// [`Roles`] nor a declared legacy role.
    Login {
        /// The role, as the catalog holds its name.
        role: String,
        /// By what it uses the tables: `SELECT, INSERT on public.note`.
        by: String,
    },
    /// Any login, by what was granted to `PUBLIC`.
    Everybody {
        /// What was granted.
        by: String,
    },
    /// A declared legacy role whose day is past.
    Ended {
        /// The role.
        role: String,
        /// The day, `YYYY-MM-DD`.
        until: String,
    },
}

impl CutOff {
    /// The name under which [`Roles::cut_off`] says that it is meant: the role's, or `public` for everybody.
    #[must_use]
    pub fn role(&self) -> &str {
        match self {
            Self::Login { role, .. } | Self::Ended { role, .. } => role,
            Self::Everybody { .. } => EVERYBODY,
        }
    }

    pub(super) fn who(&self) -> String {
        match self {
            Self::Login { role, .. } | Self::Ended { role, .. } => quote_ident(role),
            Self::Everybody { .. } => "every login".to_owned(),
        }
    }

    pub(super) fn ended(legacy: &LegacyRole) -> Self {
        Self::Ended { role: legacy.role().to_owned(), until: legacy.until().to_owned() }
    }
}

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = self.who();
        match self {
            Self::Login { by, .. } => write!(f, "{who} ({by}) will see no rows once FORCE is on"),
            Self::Everybody { by } => write!(f, "{who} ({by} to PUBLIC) will see no rows once FORCE is on"),
            Self::Ended { until, .. } => {
                write!(f, "{who} sees no rows: the day until which it was declared is past ({until})")
            }
        }
    }
}

/// The logins that use the tables that are about to get policies and that nobody mentioned.
///
/// Superusers and roles with BYPASSRLS go past policies. A view that reads as its owner shows what the owner sees.
pub(super) async fn logins(
    connection: &mut PgConnection,
    tables: &[LiveTable],
    declaration: &Declaration,
    roles: &Roles,
) -> Result<Vec<CutOff>, PgError> {
    let open: Vec<Oid> = tables.iter().filter(|live| live.is_table() && !live.is_held()).map(|live| live.oid).collect();
    let legacy: Vec<&str> = declaration.legacy_roles().iter().map(LegacyRole::role).collect();
    let found: Vec<(Option<String>, String)> = sqlx::query_as(LOGINS)
        .bind(open)
        .bind(roles.serving().map(|(role, _task)| role).collect::<Vec<_>>())
        .bind(legacy)
        .fetch_all(connection)
        .await?;
    let of = |(role, by)| match role {
        Some(role) => CutOff::Login { role, by },
        None => CutOff::Everybody { by },
    };
    Ok(found.into_iter().map(of).filter(|cut_off| !roles.means(cut_off)).collect())
}

/// No role can be called so.
const EVERYBODY: &str = "public";

/// `way`: the tables, and the views and copies through which their rows come. The innermost view decides who is held: its
/// owner, or with `security_invoker` whoever asks (0), who then needs rights on the table and is found by them.
const LOGINS: &str = "
with recursive way(oid, reader) as (
    select unnest($1::oid[]), null::oid
    union
    select c.oid, case when way.reader is not null then way.reader
                       when exists (select from pg_options_to_table(c.reloptions) o where o.option_name = 'security_invoker'
                                    and lower(o.option_value) in ('true', 'on', 'yes', '1')) then 0::oid
                       else c.relowner end
    from way join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = way.oid
    join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
    join pg_class c on c.oid = r.ev_class and c.oid <> way.oid and c.relkind in ('v', 'm')
), acl(oid, reader, grantee, what, place) as (
    select c.oid, way.reader, c.relowner, 'owner', 0 from way join pg_class c using (oid)
    union select c.oid, way.reader, a.grantee, a.privilege_type, 1
    from way join pg_class c using (oid), aclexplode(c.relacl) a where a.grantee <> c.relowner
    union select c.oid, way.reader, a.grantee, a.privilege_type, 1
    from way join pg_class c using (oid) join pg_attribute t on t.attrelid = c.oid and not t.attisdropped,
         aclexplode(t.attacl) a where a.grantee <> c.relowner
    union select way.oid, way.reader, p.oid, p.rolname::text, 2
    from way, pg_roles p where p.rolname in ('pg_read_all_data', 'pg_write_all_data')
), used as (
    select * from acl where reader is distinct from 0 and (place <> 1 or what in ('SELECT', 'INSERT', 'UPDATE', 'DELETE'))
), serving as (
    select oid from pg_roles where rolname = any($2)
), legacy as (
    select oid from pg_roles where rolname = any($3)
), using_login as (
    select u.rolname::text as role, used.oid, used.what, used.place
    from used join pg_roles u on u.rolcanlogin and not u.rolsuper and not u.rolbypassrls
                             and used.grantee <> 0 and pg_has_role(u.oid, used.grantee, 'MEMBER')
    where u.oid not in (select oid from serving) and used.grantee not in (select oid from serving)
      and case when used.reader is null
               then not exists (select from legacy l where l.oid = used.grantee or pg_has_role(u.oid, l.oid, 'USAGE'))
               else exists (select from pg_roles o where o.oid = used.reader and not o.rolsuper and not o.rolbypassrls
                            and not exists (select from legacy l where pg_has_role(o.oid, l.oid, 'USAGE'))) end
    union
    select null, oid, what, place from used where grantee = 0
), by_relation as (
    select role, format('%s on %I.%I', string_agg(what, ', ' order by place, array_position(
               array['SELECT', 'INSERT', 'UPDATE', 'DELETE'], what)), n.nspname, c.relname) as by
    from using_login join pg_class c using (oid) join pg_namespace n on n.oid = c.relnamespace
    group by role, c.oid, n.nspname, c.relname
)
select role, string_agg(by, '; ' order by by) as by from by_relation group by role order by role nulls first";
