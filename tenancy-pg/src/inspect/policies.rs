//! The policies of the tenant tables.

use super::actors::Command;
use super::catalog::Catalog;
use super::codes::Code;
use super::expression::Why;
use super::judge::{Judge, Open, Policy, Side};
use super::report::Finding;
use super::tables::{Found, Table};
use crate::ident::quote_ident;

pub(super) fn findings(catalog: &Catalog<'_>) -> Vec<Finding> {
    let of = |table: &Table| {
        let found = table.with_policies()?;
        // A child whose policies do not hold it is found as one.
        let is_judged = table.parent.is_none() || catalog.holds_reach(found.oid);
        is_judged.then(|| of_table(catalog, table, found))
    };
    catalog.tables.iter().filter_map(of).flatten().collect()
}

fn of_table(catalog: &Catalog<'_>, table: &Table, found: &Found) -> Vec<Finding> {
    let judge = catalog.judge(table);
    let mut all: Vec<Finding> = Vec::new();
    let mut add = |finding: Finding| {
        // One policy for all commands is met by each of them, and one command by several roles.
        let is_known = |known: &Finding| {
            known.object == finding.object && (known.code == finding.code || is_latent(known, &finding))
        };
        if !all.iter().any(is_known) {
            all.push(finding);
        }
    };
    let mut denied = Vec::new();
    for granted in [true, false] {
        for command in Command::ALL {
            for access in catalog.accesses(found.oid).filter(|access| access.may(command) == granted) {
                let code = if granted { Code::PolicyUnbound } else { Code::LatentPolicy };
                judge.open(command, access.actor).into_iter().for_each(|open| add(unbound(table, &open, code)));
            }
            if granted && is_denied(catalog, &judge, found, command) {
                denied.push(command.word());
            }
        }
    }
    if !denied.is_empty() {
        add(missing(table, &denied.join(", ")));
    }
    let of_reach = |policy: &&Policy| catalog.reach.iter().any(|role| policy.is_for_role(*role));
    judge.without_nullif().filter(of_reach).for_each(|policy| add(without_nullif(table, policy)));
    judge.with_second_setting().filter(of_reach).for_each(|policy| add(second_setting(table, policy)));
    judge.with_user().filter(of_reach).for_each(|policy| add(user(table, policy)));
    all
}

/// What lets rows through now is not told again as what may do so later.
fn is_latent(known: &Finding, finding: &Finding) -> bool {
    known.code == Code::PolicyUnbound && finding.code == Code::LatentPolicy
}

/// Whether a command is granted and its policies let nothing through for any role that may run it.
fn is_denied(catalog: &Catalog<'_>, judge: &Judge<'_>, found: &Found, command: Command) -> bool {
    let mut granted = catalog.accesses(found.oid).filter(|access| access.may(command)).peekable();
    granted.peek().is_some() && granted.all(|access| judge.denies(command, access.actor))
}

fn without_nullif(table: &Table, policy: &Policy) -> Finding {
    let why = "With no tenant set the setting is the empty text on a connection that was used before, and the cast fails \
               instead of matching no row. Such errors get mended by letting everything through.";
    Finding::fatal(Code::PolicyEmptySetting, object(table, policy), why, instead_of(table, policy))
}

fn second_setting(table: &Table, policy: &Policy) -> Finding {
    let why = "Beside the tenant it reads a setting of another name, or one whose name can't be told. Any statement can set \
               it, so it does not protect what it seems to.";
    Finding::warning(Code::SecondSetting, object(table, policy), why, instead_of(table, policy))
}

fn user(table: &Table, policy: &Policy) -> Finding {
    let why = "It depends on who is connected. All tenants of the service are connected as one role.";
    Finding::warning(Code::UserPolicy, object(table, policy), why, instead_of(table, policy))
}

fn missing(table: &Table, commands: &str) -> Finding {
    let why = "The service may do this and no permissive policy for it applies to its role. Every such statement finds nothing \
               or is refused.";
    let object = format!("{} {commands}", table.declared.relation);
    Finding::fatal(Code::PolicyMissing, object, why, table.declared.policy_sql())
}

fn unbound(table: &Table, open: &Open<'_>, code: Code) -> Finding {
    let Open { policy, side, why } = open;
    let clause = match (side, &policy.check) {
        (Side::Check, Some(_)) => "WITH CHECK",
        (Side::Using, _) | (Side::Check, None) => "USING",
    };
    let reason = match why {
        Why::Unreadable => "can't be read by the parser of the inspection",
        Why::Or => "has an OR, one side of which is enough and does not bind the tenant",
        Why::OtherSetting => "reads a setting of another name, which any statement can set",
        Why::User => "asks who is connected, which is one role for all tenants",
        Why::Unknown => "does not compare the tenant column with the row key in a known shape",
    };
    let object = object(table, policy);
    let fix = instead_of(table, policy);
    if code == Code::LatentPolicy {
        let why = format!("Its {clause} {reason}. No role of the service has the right that it would open, yet.");
        return Finding::warning(code, object, why, fix);
    }
    let consequence = match side {
        Side::Using => "Rows of other tenants can be read or changed through it.",
        Side::Check => "Rows can be planted in other tenants through it.",
    };
    Finding::fatal(code, object, format!("Its {clause} {reason}. {consequence}"), fix)
}

fn instead_of(table: &Table, policy: &Policy) -> String {
    let (name, relation) = (quote_ident(&policy.name), &table.declared.relation);
    format!("DROP POLICY {name} ON {relation};\n{}", table.declared.policy_sql())
}

fn object(table: &Table, policy: &Policy) -> String {
    format!("{} ON {}", quote_ident(&policy.name), table.declared.relation)
}
