//! The policies of a tenant table, judged the way the server applies them.
//!
//! A row is visible to a command when one permissive policy for that command and role lets it through and every
//! restrictive one does (rowsecurity.c, `get_policies_for_relation`). So tenants are apart when every permissive policy
//! binds the tenant, or when one restrictive policy does that always applies.

use sqlx::postgres::PgConnection;

use super::report::{Code, Finding};
use super::shape::{Bound, Shape, Why};
use super::tables::{Found, Table};
use crate::declaration::TenantTable;
use crate::error::PgError;
use crate::ident::quote_ident;

#[derive(sqlx::FromRow)]
struct Policy {
    name: String,
    command: String,
    permissive: bool,
    /// Named for PUBLIC.
    everyone: bool,
    /// For a role whose rights the session has.
    applies: bool,
    /// For a role that the session can become.
    within_reach: bool,
    using: Option<String>,
    check: Option<String>,
}

pub(super) async fn findings(
    connection: &mut PgConnection,
    table: &Table<'_>,
    has_other_roles: bool,
) -> Result<Vec<Finding>, PgError> {
    let Some(found) = table.found.as_ref().filter(|found| found.is_table()) else { return Ok(Vec::new()) };
    let policies: Vec<Policy> = sqlx::query_as(POLICIES).bind(found.oid).fetch_all(connection).await?;
    let judge = Judge { table: table.declared, policies: &policies, has_other_roles };
    Ok(judge.findings(found))
}

struct Judge<'p> {
    table: &'p TenantTable,
    policies: &'p [Policy],
    has_other_roles: bool,
}

/// Which expression of a policy a command meets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Existing rows.
    Using,
    /// New rows.
    Check,
}

impl Judge<'_> {
    fn findings(&self, found: &Found) -> Vec<Finding> {
        let commands = [
            ("r", "SELECT", found.may_select, &[Side::Using][..]),
            ("a", "INSERT", found.may_insert, &[Side::Check]),
            ("w", "UPDATE", found.may_update, &[Side::Using, Side::Check]),
            ("d", "DELETE", found.may_delete, &[Side::Using]),
        ];
        let mut all: Vec<Finding> = Vec::new();
        let mut add = |finding: Finding| {
            // One policy for all commands is met by each of them.
            if !all.iter().any(|present| present.code == finding.code && present.object == finding.object) {
                all.push(finding);
            }
        };
        for (command, word, granted, sides) in commands {
            if granted && !self.policies.iter().any(|p| p.permissive && p.applies && p.is_for(command)) {
                add(self.missing(word));
            }
            for side in sides {
                self.unbound(command, *side).into_iter().for_each(&mut add);
            }
        }
        self.without_nullif().into_iter().for_each(&mut add);
        all
    }

    /// The permissive policies that let rows of other tenants through, unless a restrictive one holds them.
    fn unbound(&self, command: &str, side: Side) -> Vec<Finding> {
        let of_command = || self.policies.iter().filter(|policy| policy.is_for(command));
        let held = of_command().any(|p| !p.permissive && self.always_applies(p) && self.binds(p, side));
        if held {
            return Vec::new();
        }
        of_command()
            .filter(|p| p.permissive && p.within_reach)
            .filter_map(|p| match self.shape(p, side)? {
                Shape::Binds | Shape::BindsWithoutNullif => None,
                Shape::Unbound(why) => Some(self.leak(p, side, why)),
            })
            .collect()
    }

    /// A restrictive policy for some roles does not hold a session that has become another one.
    fn always_applies(&self, policy: &Policy) -> bool {
        policy.everyone || (policy.applies && !self.has_other_roles)
    }

    fn binds(&self, policy: &Policy, side: Side) -> bool {
        matches!(self.shape(policy, side), Some(Shape::Binds | Shape::BindsWithoutNullif))
    }

    /// `None` for a policy without an expression: it lets nothing through.
    fn shape(&self, policy: &Policy, side: Side) -> Option<Shape> {
        Some(self.bound().shape(policy.expression(side)?))
    }

    fn bound(&self) -> Bound<'_> {
        Bound { column: self.table.column(), key: self.table.key.sql(), setting: self.table.setting.as_str() }
    }

    fn without_nullif(&self) -> Vec<Finding> {
        let fails = |policy: &&Policy| {
            [Side::Using, Side::Check]
                .into_iter()
                .any(|side| self.shape(policy, side) == Some(Shape::BindsWithoutNullif))
        };
        let why = "With no tenant set the setting is the empty text on a connection that was used before, and the cast \
                   fails instead of matching no row. Such errors get mended by letting everything through.";
        self.policies
            .iter()
            .filter(|policy| policy.within_reach)
            .filter(fails)
            .map(|policy| Finding::fatal(Code::PolicyEmptySetting, self.object(policy), why, self.table.policy_sql()))
            .collect()
    }

    fn missing(&self, command: &str) -> Finding {
        let why = format!(
            "The service may {command} and no permissive policy for it applies to its role. Every {command} finds \
             nothing or is refused."
        );
        Finding::fatal(Code::PolicyMissing, format!("{} {command}", self.table.relation), why, self.table.policy_sql())
    }

    fn leak(&self, policy: &Policy, side: Side, why: Why) -> Finding {
        let clause = match (side, &policy.check) {
            (Side::Check, Some(_)) => "WITH CHECK",
            _using => "USING",
        };
        let reason = match why {
            Why::Or => "has an OR at the top, so one side is enough",
            Why::OtherSetting => "reads a setting of another name, which any statement can set",
            Why::Unknown => "does not compare the tenant column with the setting in a known shape",
        };
        let consequence = match side {
            Side::Using => "Rows of other tenants can be read or changed through it.",
            Side::Check => "Rows can be planted in other tenants through it.",
        };
        let (name, table) = (quote_ident(&policy.name), &self.table.relation);
        Finding::fatal(
            Code::PolicyUnbound,
            self.object(policy),
            format!("Its {clause} {reason}. {consequence}"),
            format!("DROP POLICY {name} ON {table};\n{}", self.table.policy_sql()),
        )
    }

    fn object(&self, policy: &Policy) -> String {
        format!("{} ON {}", quote_ident(&policy.name), self.table.relation)
    }
}

impl Policy {
    fn is_for(&self, command: &str) -> bool {
        self.command == "*" || self.command == command
    }

    /// As the server chooses it: without a WITH CHECK, USING is checked too.
    fn expression(&self, side: Side) -> Option<&str> {
        match side {
            Side::Using => self.using.as_deref(),
            Side::Check => self.check.as_deref().or(self.using.as_deref()),
        }
    }
}

const POLICIES: &str = "
with recursive me(u) as (
    select oid from pg_roles where rolname in (session_user, current_user)
), reach(u) as (
    select u from me union select m.roleid from reach join pg_auth_members m on m.member = reach.u
)
select p.polname::text as name, p.polcmd::text as command, p.polpermissive as permissive,
       0 = any(p.polroles) as everyone,
       0 = any(p.polroles) or exists (select from unnest(p.polroles) r, me
                                      where r <> 0 and pg_has_role(u, r, 'USAGE')) as applies,
       0 = any(p.polroles) or exists (select from reach where u = any(p.polroles)) as within_reach,
       pg_get_expr(p.polqual, p.polrelid) as using, pg_get_expr(p.polwithcheck, p.polrelid) as check
from pg_policy p where p.polrelid = $1 order by p.polname";
