//! Mistakes in policies.

use super::{Mutation, Operator, operator, unprovable};
use crate::facts::{Facts, Policy, Table};

pub(super) const OPERATORS: &[Operator] = &[
    operator("row level security is off", |f| {
        tables(f, |t, _| Some(format!("alter table {} disable row level security", t.name)))
    }),
    operator("not forced", |f| tables(f, |t, _| Some(format!("alter table {} no force row level security", t.name)))),
    operator("a policy for everybody", |f| {
        tables(f, |t, _| Some(format!("create policy m on {} using (true)", t.name)))
    }),
    operator("a policy to read for everybody", |f| {
        tables(f, |t, _| Some(format!("create policy m on {} for select using (true)", t.name)))
    }),
    operator("a policy to insert for everybody", |f| {
        tables(f, |t, _| Some(format!("create policy m on {} for insert with check (true)", t.name)))
    }),
    operator("a policy to update for everybody", |f| {
        tables(f, |t, _| Some(format!("create policy m on {} for update using (true)", t.name)))
    }),
    operator("a policy to delete for everybody", |f| {
        tables(f, |t, _| Some(format!("create policy m on {} for delete using (true)", t.name)))
    }),
    operator("a restrictive policy that restricts nothing", |f| {
        tables(f, |t, _| Some(format!("create policy m on {} as restrictive using (true)", t.name)))
    }),
    operator("USING (true)", |f| policies(f, |t, p, _| p.using.is_some().then(|| alter(t, p, "using (true)")))),
    operator("WITH CHECK (true)", |f| {
        let writes = |p: &Policy| matches!(p.command.as_str(), "ALL" | "INSERT" | "UPDATE");
        policies(f, |t, p, _| writes(p).then(|| alter(t, p, "with check (true)")))
    }),
    operator("OR the setting is missing", |f| using(f, |_, old, f| Some(format!("({old}) or {} is null", f.text())))),
    operator("OR the setting is empty", |f| {
        using(f, |_, old, f| Some(format!("({old}) or coalesce(current_setting('{}', true), '') = ''", f.setting)))
    }),
    operator("a default tenant", |f| {
        using(f, |t, _, f| Some(format!("{} = coalesce({}, {})", t.column, f.scope(), f.a)))
    }),
    operator("the column as its own default", |f| {
        using(f, |t, _, f| Some(format!("{0} = coalesce({1}, {0})", t.column, f.scope())))
    }),
    operator("a setting that switches off", |f| {
        using(f, |_, old, _| Some(format!("({old}) or current_setting('app.bypass_rls', true) = 'on'")))
    }),
    operator("a setting that switches off, nested", |f| {
        using(f, |t, _, f| {
            let (column, scope) = (&t.column, f.scope());
            Some(format!(
                "case when current_setting('app.is_admin', true) = 'true' then true else {column} = {scope} end"
            ))
        })
    }),
    operator("another setting", |f| {
        using(f, |t, _, f| {
            Some(format!("{} = nullif(current_setting('app.other_tenant', true), '')::{}", t.column, f.key_type()))
        })
    }),
    operator("another column", |f| {
        policies(f, |t, p, f| {
            let other = t.columns.iter().find(|column| column.type_name == f.key_type())?;
            Some(both(t, p, &format!("{} = {}", other.name, f.scope())))
        })
    }),
    operator("a comparison that ignores a part", |f| {
        policies(f, |t, p, f| {
            let (column, text) = (&t.column, f.text());
            let loose = match f.key_type() {
                "uuid" => format!("left({column}::text, 8) = left({text}, 8)"),
                "bigint" => format!("{column} % 10 = {text}::bigint % 10"),
                _text => format!("lower({column}) = lower({text})"),
            };
            Some(both(t, p, &loose))
        })
    }),
    // Keys of a fixed length are no parts of each other.
    operator("a pattern", |f| {
        using(f, |t, _, f| {
            (f.key_type() == "bigint").then(|| format!("{}::text like '%' || {} || '%'", t.column, f.text()))
        })
    }),
    operator("unequal", |f| using(f, |t, _, f| Some(format!("{} is distinct from {}", t.column, f.scope())))),
    operator("OR instead of AND", |f| {
        using(f, |t, _, f| {
            let column = t.columns.first()?;
            Some(format!("{} or {} is not null", t.bound(f), column.name))
        })
    }),
    operator("a nobody's row for everybody", |f| {
        policies(f, |t, p, f| {
            let key = t.primary_key.as_ref()?;
            // With a policy for one command nobody can both write and see such a row.
            (p.command == "ALL").then_some(())?;
            // A key of a parent's would have to leave its partitions and children too.
            (t.children.is_empty() && !t.child).then_some(())?;
            let (table, column) = (&t.name, &t.column);
            let shared = both(t, p, &format!("{} or {column} is null", t.bound(f)));
            Some(format!(
                "alter table {table} drop constraint {key} cascade; alter table {table} alter column {column} drop not null; {shared}"
            ))
        })
    }),
    operator("a policy is missing", |f| policies(f, |t, p, _| Some(format!("drop policy {} on {}", p.name, t.name)))),
    operator("a floor becomes a door", |f| {
        policies(f, |t, p, _| {
            let (Policy { name, using: Some(using), .. }, table) = (p, &t.name) else { return None };
            (!p.permissive).then(|| {
                format!(
                    "drop policy {name} on {table}; create policy {name} on {table} for {} using ({using})",
                    p.command
                )
            })
        })
    }),
    operator("a policy for another role", |f| policies(f, |t, p, _| Some(alter(t, p, "to own")))),
    operator("a policy for who is connected", |f| {
        using(f, |_, old, _| Some(format!("({old}) or current_user = 'app'")))
    }),
    operator("a function of the policies for one tenant", |f| {
        let returns = |helper: &String| {
            let (key_type, a) = (f.key_type(), &f.a);
            let body = format!(
                "create or replace function {helper} returns {key_type} language sql stable as $$ select {a}::{key_type} $$"
            );
            Mutation::of(helper, body)
        };
        f.helpers.iter().map(returns).collect()
    }),
    operator("a function of the policies that the service may replace", |f| {
        let replaceable = |helper: &String| {
            let schema = helper.split_once('.').map_or("public", |(schema, _)| schema);
            Mutation::of(
                helper,
                format!("alter function {helper} owner to app; grant create on schema {schema} to app"),
            )
        };
        f.helpers.iter().map(replaceable).collect()
    }),
    unprovable(
        "a function of the policies that the service owns",
        "to replace it takes CREATE in its schema as well",
        |f| {
            f.helpers
                .iter()
                .map(|helper| Mutation::of(helper, format!("alter function {helper} owner to app")))
                .collect()
        },
    ),
];

/// One for each declared table.
pub(super) fn tables(facts: &Facts, make: impl Fn(&Table, &Facts) -> Option<String>) -> Vec<Mutation> {
    let of = |table: &Table| Some(Mutation::of(&table.name, make(table, facts)?));
    facts.tables.iter().filter_map(of).collect()
}

/// One for each policy.
fn policies(facts: &Facts, make: impl Fn(&Table, &Policy, &Facts) -> Option<String>) -> Vec<Mutation> {
    let both = facts.tables.iter().flat_map(|table| table.policies.iter().map(move |policy| (table, policy)));
    both.filter_map(|(table, policy)| {
        Some(Mutation::of(format!("{} on {}", policy.name, table.name), make(table, policy, facts)?))
    })
    .collect()
}

/// One for each policy that has USING, with another expression there.
pub(super) fn using(facts: &Facts, make: impl Fn(&Table, &str, &Facts) -> Option<String>) -> Vec<Mutation> {
    policies(facts, |table, policy, facts| {
        let old = policy.using.as_deref()?;
        Some(alter(table, policy, &format!("using ({})", make(table, old, facts)?)))
    })
}

fn alter(table: &Table, policy: &Policy, change: &str) -> String {
    format!("alter policy {} on {} {change}", policy.name, table.name)
}

/// The same expression on both sides, as far as the policy has them.
fn both(table: &Table, policy: &Policy, expression: &str) -> String {
    let side = |present: bool, word: &str| if present { format!("{word} ({expression})") } else { String::new() };
    let sides = format!("{} {}", side(policy.using.is_some(), "using"), side(policy.check.is_some(), "with check"));
    alter(table, policy, &sides)
}
