//! The policies of a table, applied to an actor the way the server does it.
//!
//! A row is visible to a command when one permissive policy for that command and role lets it through and every
//! restrictive one does (rowsecurity.c, `get_policies_for_relation`). So tenants are apart when every permissive policy
//! binds the tenant, or when one restrictive policy does.
//!
//! Where a statement reads as well (UPDATE with WHERE or RETURNING, INSERT .. RETURNING, ON CONFLICT, MERGE), the SELECT
//! policies hold it too. They are not counted on for other commands: `UPDATE t SET x = 1` reads nothing.

use sqlx::postgres::types::Oid;

use super::actors::{Access, Command};
use super::expression::{Bound, Shape, Why};
use super::helpers::{Helper, of_policy};
use crate::declaration::TenantTable;

#[derive(Clone, Debug, sqlx::FromRow)]
pub(super) struct Policy {
    pub(super) oid: Oid,
    pub(super) table: Oid,
    pub(super) name: String,
    command: String,
    pub(super) permissive: bool,
    /// The actors that it is for: PUBLIC, or a role whose rights they have.
    applies: Vec<Oid>,
    using: Option<String>,
    pub(super) check: Option<String>,
}

/// Which expression of a policy a command meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Existing rows.
    Using,
    /// New rows.
    Check,
}

impl Policy {
    pub(super) fn is_for_role(&self, actor: Oid) -> bool {
        self.applies.contains(&actor)
    }

    fn is_for(&self, command: Command, actor: Oid) -> bool {
        (self.command == "*" || self.command == command.letter()) && self.is_for_role(actor)
    }

    /// As the server chooses it: without a WITH CHECK, USING is checked too.
    pub(super) fn expression(&self, side: Side) -> Option<&str> {
        match side {
            Side::Using => self.using.as_deref(),
            Side::Check => self.check.as_deref().or(self.using.as_deref()),
        }
    }

    pub(super) fn expressions(&self) -> impl Iterator<Item = &str> {
        self.using.as_deref().into_iter().chain(self.check.as_deref())
    }
}

/// A policy and what is known of its two expressions.
struct Read<'p> {
    policy: &'p Policy,
    /// `None` for a policy without an expression: it lets nothing through.
    using: Option<Shape>,
    check: Option<Shape>,
    second_setting: bool,
    user: bool,
}

/// A permissive policy that lets other tenants' rows through.
#[derive(Clone, Copy)]
pub(super) struct Open<'p> {
    pub(super) policy: &'p Policy,
    pub(super) side: Side,
    pub(super) why: Why,
}

/// Judges the policies of one table.
pub(super) struct Judge<'p> {
    policies: Vec<Read<'p>>,
}

impl<'p> Judge<'p> {
    pub(super) fn new(table: &TenantTable, signed: bool, policies: &'p [Policy], helpers: &[Helper]) -> Self {
        let read = |policy: &'p Policy| {
            let helpers = of_policy(helpers, policy.oid);
            let bound = Bound {
                column: table.column(),
                key: table.key,
                setting: table.setting.as_str(),
                signed,
                helpers: &helpers,
            };
            let shape = |side| policy.expression(side).map(|text| bound.shape(text));
            Read {
                policy,
                using: shape(Side::Using),
                check: shape(Side::Check),
                second_setting: policy.expressions().any(|text| bound.reads_other_setting(text)),
                user: policy.expressions().any(super::expression::reads_user),
            }
        };
        Self { policies: policies.iter().map(read).collect() }
    }

    /// What lets other tenants' rows through to this command of this actor.
    pub(super) fn open(&self, command: Command, actor: Oid) -> Vec<Open<'p>> {
        Self::sides(command).iter().flat_map(|side| self.open_side(command, actor, *side)).collect()
    }

    fn open_side(&self, command: Command, actor: Oid, side: Side) -> Vec<Open<'p>> {
        let of_command = || self.policies.iter().filter(move |read| read.policy.is_for(command, actor));
        if of_command().any(|read| !read.policy.permissive && read.shape(side).is_some_and(Shape::binds)) {
            return Vec::new();
        }
        let open = |read: &Read<'p>| match read.shape(side)? {
            Shape::Binds | Shape::BindsWithoutNullif => None,
            Shape::Unbound(why) => Some(Open { policy: read.policy, side, why }),
        };
        of_command().filter(|read| read.policy.permissive).filter_map(open).collect()
    }

    /// Whether nothing lets the actor's command through, so that it finds nothing or is refused.
    pub(super) fn denies(&self, command: Command, actor: Oid) -> bool {
        !self.policies.iter().any(|read| {
            read.policy.permissive
                && read.policy.is_for(command, actor)
                && Self::sides(command).iter().any(|side| read.shape(*side).is_some())
        })
    }

    /// Whether an actor sees and changes rows of the scope's tenant alone, with all that it may do.
    pub(super) fn holds(&self, access: &Access) -> bool {
        let granted = || Command::ALL.into_iter().filter(|command| access.may(*command));
        granted().next().is_none()
            || (!access.unheld && granted().all(|command| self.open(command, access.actor).is_empty()))
    }

    /// The policies with an expression that fails where the setting is empty.
    pub(super) fn without_nullif(&self) -> impl Iterator<Item = &'p Policy> {
        let fails = |read: &&Read<'p>| {
            [Side::Using, Side::Check].into_iter().any(|side| read.shape(side) == Some(Shape::BindsWithoutNullif))
        };
        self.policies.iter().filter(fails).map(|read| read.policy)
    }

    /// The policies that bind and read a setting of another name besides.
    pub(super) fn with_second_setting(&self) -> impl Iterator<Item = &'p Policy> {
        self.policies.iter().filter(|read| read.second_setting && read.binds()).map(|read| read.policy)
    }

    /// The policies that bind and read the connected user besides.
    pub(super) fn with_user(&self) -> impl Iterator<Item = &'p Policy> {
        self.policies.iter().filter(|read| read.user && read.binds()).map(|read| read.policy)
    }

    const fn sides(command: Command) -> &'static [Side] {
        match command {
            Command::Select | Command::Delete => &[Side::Using],
            Command::Insert => &[Side::Check],
            Command::Update => &[Side::Using, Side::Check],
        }
    }
}

impl Read<'_> {
    const fn shape(&self, side: Side) -> Option<Shape> {
        match side {
            Side::Using => self.using,
            Side::Check => self.check,
        }
    }

    /// Restrictive ones that do not bind only take away.
    fn binds(&self) -> bool {
        !self.policy.permissive || [self.using, self.check].into_iter().flatten().all(Shape::binds)
    }
}

pub(super) const POLICIES: &str = "
select p.oid, p.polrelid as table, p.polname::text as name, p.polcmd::text as command, p.polpermissive as permissive,
       array(select u from unnest($2::oid[]) as u
             where 0 = any(p.polroles)
                or exists (select from unnest(p.polroles) r where r <> 0 and pg_has_role(u, r, 'USAGE'))) as applies,
       pg_get_expr(p.polqual, p.polrelid) as using, pg_get_expr(p.polwithcheck, p.polrelid) as check
from pg_policy p where p.polrelid = any($1) order by p.polrelid, p.polname";
