//! Mistakes in what the role that reads reports may do.

use super::policies::tables;
use super::{Mutation, Operator, operator, unprovable};
use crate::facts::{Facts, Report, Table};

pub(super) const OPERATORS: &[Operator] = &[
    operator("a report of another column", |f| {
        reported(f, |t, r| {
            let other = t.columns.iter().find(|column| !r.columns.contains(&column.name))?;
            Some(format!("grant select ({}) on {} to corpus_reports", other.name, t.name))
        })
    }),
    operator("a report of the whole table", |f| {
        reported(f, |t, _| Some(format!("grant select on {} to corpus_reports", t.name)))
    }),
    operator("a report that updates", |f| {
        reported(f, |t, _| {
            let column = t.text_column()?;
            Some(format!("grant update ({column}) on {} to corpus_reports", t.name))
        })
    }),
    operator("a report that inserts", |f| {
        reported(f, |t, _| Some(format!("grant insert on {} to corpus_reports", t.name)))
    }),
    operator("a report that deletes", |f| {
        reported(f, |t, _| Some(format!("grant delete on {} to corpus_reports", t.name)))
    }),
    operator("a report that empties", |f| {
        reported(f, |t, _| Some(format!("grant truncate on {} to corpus_reports", t.with_referrers.join(", "))))
    }),
    unprovable("a report that refers", "a foreign key needs a table of the role's own as well", |f| {
        reported(f, |t, _| Some(format!("grant references on {} to corpus_reports", t.name)))
    }),
    operator("a report of an undeclared table", |f| {
        tables(f, |t, f| {
            (!f.reports.is_empty() && !f.reports.iter().any(|report| report.is(t)))
                .then(|| format!("grant select on {} to corpus_reports", t.name))
        })
    }),
    operator("a report of an undeclared view", |f| {
        reported(f, |t, _| {
            Some(format!(
                "create materialized view public.m as select count(*) from {}; grant select on public.m to corpus_reports",
                t.name
            ))
        })
    }),
    operator("a declared report that no policy holds", |f| {
        reported(f, |t, r| {
            let columns = r.columns.join(", ");
            let name = &t.raw[1];
            Some(format!(
                "alter table {0} rename to m_kept; create view {0} as select * from {1}.m_kept; \
                 grant select ({columns}) on {0} to corpus_reports; grant select, insert, update, delete on {0} to app; \
                 comment on view {0} is '{name}'",
                t.name, t.schema
            ))
        })
    }),
    operator("a policy that opens a report to one tenant's grant", |f| {
        reported(f, |t, _| Some(format!("create policy m on {} for select to corpus_reports using (true)", t.name)))
    }),
    operator("a setting that opens a report", |f| {
        reported(f, |t, _| {
            Some(format!(
                "create policy m on {} for select to corpus_reports using (current_setting('app.bypass_rls', true) = 'on')",
                t.name
            ))
        })
    }),
    operator("a reach that every grant has", |f| {
        let every = "create or replace function tenancy.signed_reach_every() returns boolean language sql stable as $$ select true $$";
        let signed = f.verifier.iter().filter(|_| !f.reports.is_empty());
        signed.map(|_| Mutation::of("tenancy.signed_reach_every()", every)).collect()
    }),
    operator("a reporter that becomes the service", |f| {
        f.reports.iter().map(|_| Mutation::reporter("grant app to {login}")).collect()
    }),
    operator("another reporter, no more", |f| f.reports.iter().map(|_| Mutation::reporter("")).collect()),
    operator("a reporter with BYPASSRLS", |f| {
        f.reports.iter().map(|_| Mutation::reporter("alter role {login} bypassrls")).collect()
    }),
    operator("a service that becomes the reporter", |f| {
        // Where scopes are signed the reach takes a key too, which only the service's process has.
        let plain = f.reports.iter().filter(|_| f.verifier.is_none());
        plain.map(|_| Mutation::login("grant corpus_reports to {login}")).collect()
    }),
];

impl Report {
    fn is(&self, table: &Table) -> bool {
        let [schema, name] = &table.raw;
        self.name == format!("\"{schema}\".\"{name}\"")
    }
}

fn reported(facts: &Facts, make: impl Fn(&Table, &Report) -> Option<String>) -> Vec<Mutation> {
    tables(facts, |table, facts| make(table, facts.reports.iter().find(|report| report.is(table))?))
}
