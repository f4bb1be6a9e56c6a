//! The steps that bring a live table's policies to the declaration.

use super::live::{LivePolicy, LiveTable};
use super::names::{FLOOR, LEGACY, POLICY, REPORT};
use super::roles::Roles;
use super::step::{Locks, Step};
use super::wanted::{self, Wanted};
use crate::declaration::{Declaration, TenantTable};
use crate::ident::quote_ident;
use crate::inspect::{Binding, Helpers, binding, is_reach};

/// What is wanted of one table: policies first, so that nobody is locked out in between, then row level security.
pub(super) fn steps(
    table: &TenantTable,
    live: &LiveTable,
    (policies, helpers): (&[LivePolicy], &Helpers),
    declaration: &Declaration,
    roles: &Roles,
) -> Vec<Step> {
    let policies: Vec<&LivePolicy> = policies.iter().filter(|policy| policy.table == live.oid).collect();
    let mut steps = Plan { table, policies, helpers }.steps(live, declaration, roles);
    let relation = &table.relation;
    for (there, word, why) in [
        (live.rls, "ENABLE", "policies are not looked at while row level security is off"),
        (live.forced, "FORCE", "without FORCE the owner reads past every policy"),
    ] {
        let back = if word == "FORCE" { "NO FORCE" } else { "DISABLE" };
        let alter = |word| format!("ALTER TABLE {relation} {word} ROW LEVEL SECURITY;\n");
        if !there {
            steps.push(Step::new(Locks::Instant, format!("{why} ({relation})"), alter(word), alter(back)));
        }
    }
    steps
}

struct Plan<'p> {
    table: &'p TenantTable,
    policies: Vec<&'p LivePolicy>,
    helpers: &'p Helpers,
}

/// What becomes of a policy that is there.
enum Verdict {
    /// For this reason.
    Goes(&'static str),
    Kept,
    /// It lets a declared role past the tenants' boundary, as declared.
    Past,
}

impl Plan<'_> {
    fn steps(&self, live: &LiveTable, declaration: &Declaration, roles: &Roles) -> Vec<Step> {
        let relation = &self.table.relation;
        let past = if live.child { Vec::new() } else { wanted::past(self.table, declaration, roles) };
        let mut steps = Vec::new();
        let mut kept = Vec::new();
        for policy in &self.policies {
            match self.verdict(policy, &past) {
                Verdict::Kept => kept.push(*policy),
                Verdict::Past => {}
                Verdict::Goes(why) => steps.push(Step::new(
                    Locks::Instant,
                    format!("the policy {} of {relation} goes: {why}", quote_ident(&policy.name)),
                    self.drop(&policy.name),
                    self.recreate(policy),
                )),
            }
        }
        steps.extend(self.missing(&kept));
        for wanted in past {
            let there = |p: &&LivePolicy| p.name == wanted.name && self.says(p, &wanted);
            if !self.policies.iter().any(there) {
                let role = wanted.roles.join(", ");
                let why = format!("the declared role {role} reads past the tenants' boundary of {relation}");
                steps.push(Step::new(Locks::Instant, why, wanted.create, self.drop(&wanted.name)));
            }
        }
        steps
    }

    fn verdict(&self, policy: &LivePolicy, past: &[Wanted]) -> Verdict {
        match policy.name.as_str() {
            POLICY if !self.is_as_generated(policy, true) => Verdict::Goes("it is not as generated"),
            FLOOR if !self.is_as_generated(policy, false) => Verdict::Goes("it is not as generated"),
            name if name == REPORT || name.starts_with(LEGACY) => {
                let wanted = past.iter().any(|wanted| wanted.name == name && self.says(policy, wanted));
                if wanted { Verdict::Past } else { Verdict::Goes("it is not declared any more, or not so") }
            }
            // A floor does not mend an error on the empty text.
            _other if self.bindings(policy).contains(&Binding::FailsOnEmpty) => {
                Verdict::Goes("it fails where no tenant is set, instead of matching no row")
            }
            _other if policy.permissive && policy.applies && !past.is_empty() && !self.binds(policy) => {
                Verdict::Goes("it does not bind the tenant, and a floor would hold the declared roles too")
            }
            _kept => Verdict::Kept,
        }
    }

    /// The policies of our own that are wanted beside those that are kept.
    fn missing(&self, kept: &[&LivePolicy]) -> Vec<Step> {
        let relation = &self.table.relation;
        let open = kept.iter().any(|policy| policy.permissive && policy.applies && !self.binds(policy));
        let has = |name: &str| kept.iter().any(|policy| policy.name == name);
        let floor = kept.iter().any(|p| !p.permissive && p.everyone && p.command == "*" && self.binds(p));
        let mut steps = Vec::new();
        if !floor && (open || self.table.floor) && !has(FLOOR) {
            let why = format!("no other policy of {relation} may let another tenant's row through");
            steps.push(Step::new(Locks::Instant, why, self.table.create_floor_sql(), self.drop(FLOOR)));
        }
        let covered = |command: &str| {
            kept.iter().any(|p| p.permissive && p.applies && (p.command == "*" || p.command == command))
        };
        if !["r", "a", "w", "d"].iter().all(|command| covered(command)) && !has(POLICY) {
            let why = format!("the service sees one tenant's rows of {relation}");
            steps.push(Step::new(Locks::Instant, why, self.table.create_policy_sql(), self.drop(POLICY)));
        }
        steps
    }

    /// Both sides, as the server chooses them.
    fn bindings(&self, policy: &LivePolicy) -> Vec<Binding> {
        let check = policy.check.as_ref().or(policy.using.as_ref());
        let sides = match policy.command.as_str() {
            "r" | "d" => [policy.using.as_ref(), None],
            "a" => [check, None],
            _both => [policy.using.as_ref(), check],
        };
        sides
            .into_iter()
            .flatten()
            .map(|expression| binding(self.table, policy.oid, expression, self.helpers))
            .collect()
    }

    fn binds(&self, policy: &LivePolicy) -> bool {
        self.bindings(policy).iter().all(|binding| *binding == Binding::Bound)
    }

    fn is_as_generated(&self, policy: &LivePolicy, permissive: bool) -> bool {
        policy.permissive == permissive && policy.everyone && policy.command == "*" && self.binds(policy)
    }

    /// Whether a policy for another role is as wanted: that role, and that reach or day.
    fn says(&self, policy: &LivePolicy, wanted: &Wanted) -> bool {
        let using = policy.using.as_deref();
        let same = match &wanted.until {
            None => {
                let reaches = using.is_some_and(|using| is_reach(using, self.table.signed));
                policy.command == "r" && reaches && policy.check.is_none()
            }
            Some(until) => {
                let wanted = format!("(now() < '{until}'::timestamp with time zone)");
                policy.command == "*" && using == Some(&wanted) && policy.check.as_deref() == Some(&wanted)
            }
        };
        same && policy.permissive && policy.role_names == wanted.roles
    }

    fn drop(&self, name: &str) -> String {
        format!("DROP POLICY {} ON {};\n", quote_ident(name), self.table.relation)
    }

    fn recreate(&self, policy: &LivePolicy) -> String {
        let kind = if policy.permissive { "PERMISSIVE" } else { "RESTRICTIVE" };
        let command = match policy.command.as_str() {
            "r" => "SELECT",
            "a" => "INSERT",
            "w" => "UPDATE",
            "d" => "DELETE",
            _all => "ALL",
        };
        let clause = |word: &str, expression: &Option<String>| {
            expression.as_ref().map_or_else(String::new, |sql| format!("\n    {word} ({sql})"))
        };
        format!(
            "CREATE POLICY {} ON {} AS {kind} FOR {command} TO {}{}{};\n",
            quote_ident(&policy.name),
            self.table.relation,
            policy.roles,
            clause("USING", &policy.using),
            clause("WITH CHECK", &policy.check)
        )
    }
}
