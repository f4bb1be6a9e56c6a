//! Objects that go around the policies.

use super::policies::tables;
use super::{Mutation, Operator, operator, unprovable};
use crate::facts::{Facts, View};

pub(super) const OPERATORS: &[Operator] = &[
    operator("a view of a superuser's", |f| {
        tables(f, |t, _| {
            Some(format!("create view public.m as select * from {}; grant select on public.m to app", t.name))
        })
    }),
    operator("a view of the owner's", |f| {
        tables(f, |t, _| {
            Some(format!(
                "create view public.m as select * from {}; alter view public.m owner to own; grant select on public.m to app",
                t.name
            ))
        })
    }),
    operator("a view that shows no key", |f| {
        tables(f, |t, _| {
            Some(format!(
                "create view public.m as select {} as shown from {}; grant select on public.m to app",
                t.texts(),
                t.name
            ))
        })
    }),
    operator("a view of a view", |f| {
        tables(f, |t, _| {
            Some(format!(
                "create view public.m_below as select * from {}; \
                 create view public.m with (security_invoker) as select * from public.m_below; \
                 grant select on public.m, public.m_below to app",
                t.name
            ))
        })
    }),
    operator("a view forgets the invoker", |f| {
        views(f, |v| {
            (!v.materialized)
                .then(|| format!("alter view {0} reset (security_invoker); alter view {0} owner to postgres", v.name))
        })
    }),
    operator("a view forgets the invoker, the owner's", |f| {
        views(f, |v| (!v.materialized).then(|| format!("alter view {} reset (security_invoker)", v.name)))
    }),
    operator("a materialized view", |f| {
        tables(f, |t, _| {
            Some(format!(
                "create materialized view public.m as select * from {}; grant select on public.m to app",
                t.name
            ))
        })
    }),
    operator("a hidden materialized view is shown", |f| {
        views(f, |v| {
            v.materialized
                .then(|| format!("grant usage on schema {} to app; grant select on {} to app", v.schema, v.name))
        })
    }),
    operator("a copy of a table", |f| {
        tables(f, |t, _| {
            Some(format!("create table public.m as select * from {}; grant select on public.m to app", t.name))
        })
    }),
    operator("a copy without the tenant column", |f| {
        tables(f, |t, _| {
            Some(format!(
                "create table public.m as select {} as shown from {}; grant select on public.m to app",
                t.texts(),
                t.name
            ))
        })
    }),
    operator("a new table under default privileges", |f| {
        tables(f, |t, _| {
            Some(format!(
                "alter default privileges in schema public grant select on tables to app; \
                 create table public.m as select * from {}",
                t.name
            ))
        })
    }),
    operator("a new child", |f| {
        tables(f, |t, _| {
            let columns: Vec<&str> = t.columns.iter().filter(|c| !c.generated).map(|c| c.name.as_str()).collect();
            let columns = [&[t.column.as_str()][..], &columns].concat().join(", ");
            (!t.partitioned).then(|| {
                format!(
                    "create table public.m () inherits ({0}); insert into public.m ({columns}) select {columns} from {0}; \
                     grant select on public.m to app",
                    t.name
                )
            })
        })
    }),
    operator("a partition or child without a policy", |f| {
        children(f, |child| format!("alter table {child} disable row level security; grant select on {child} to app"))
    }),
    operator("a partition or child to write to", |f| {
        children(f, |child| {
            format!(
                "alter table {child} disable row level security; grant insert, select, update, delete on {child} to app"
            )
        })
    }),
    operator("a right on a partition or child", |f| {
        children(f, |child| format!("grant select, insert, update, delete on {child} to app"))
    }),
    operator("a function of a superuser's reads", |f| {
        tables(f, |t, _| {
            Some(format!(
                "create function public.m() returns setof text language sql security definer as $$ select {} from {} $$",
                t.texts(),
                t.name
            ))
        })
    }),
    unprovable("a function of the owner's reads", "FORCE holds the owner too; the judge does not read bodies", |f| {
        tables(f, |t, _| {
            Some(format!(
                "create function public.m() returns setof text language sql security definer set search_path = pg_catalog, pg_temp \
                 as $$ select {} from {} $$; alter function public.m() owner to own",
                t.texts(),
                t.name
            ))
        })
    }),
    operator("a function of a superuser's finds by key", |f| {
        tables(f, |t, f| {
            Some(format!(
                "create function public.m(whose {}) returns setof text language sql security definer as $$ select {} from {} where {} = whose $$",
                f.key_type(),
                t.texts(),
                t.name,
                t.column
            ))
        })
    }),
    operator("a function of a superuser's changes", |f| {
        tables(f, |t, _| {
            let column = t.text_column()?;
            Some(format!(
                "create function public.m() returns void language sql security definer as $$ update {} set {column} = {column} || '!' $$",
                t.name
            ))
        })
    }),
    operator("a procedure of a superuser's removes", |f| {
        tables(f, |t, _| {
            let all = t.with_referrers.join(", ");
            Some(format!("create procedure public.m() language sql security definer as $$ truncate {all} $$"))
        })
    }),
    operator("a trigger of a superuser's changes other rows", |f| {
        tables(f, |t, _| {
            t.updatable.then_some(())?;
            let column = t.text_column()?;
            Some(format!(
                "create function public.m() returns trigger language plpgsql security definer as $$ begin \
                 if pg_trigger_depth() = 1 then update {0} set {column} = {column} || '!'; end if; return null; end $$; \
                 create trigger m after update on {0} for each statement execute function public.m()",
                t.name
            ))
        })
    }),
    operator("a rule of a superuser's empties a table", |f| {
        tables(f, |t, f| {
            let other = f
                .tables
                .iter()
                .find(|other| other.name != t.name && other.with_referrers.len() == 1 && !other.partitioned)?;
            (!t.partitioned && t.updatable).then_some(())?;
            Some(format!(
                "alter table {0} owner to postgres; create rule m as on update to {0} do also delete from {1}",
                t.name, other.name
            ))
        })
    }),
    operator("a foreign table", |f| {
        tables(f, |t, _| {
            let columns: Vec<String> =
                t.columns.iter().filter(|c| c.type_name == "text").map(|c| format!("{} text", c.name)).collect();
            let [schema, name] = &t.raw;
            (!columns.is_empty()).then(|| {
                format!(
                    "create extension postgres_fdw; \
                     create server m foreign data wrapper postgres_fdw options (host '{{socket}}', dbname '{{database}}'); \
                     create user mapping for app server m options (user 'postgres', password_required 'false'); \
                     create foreign table public.m ({}) server m options (schema_name '{schema}', table_name '{name}'); \
                     grant select on public.m to app",
                    columns.join(", ")
                )
            })
        })
    }),
];

fn views(facts: &Facts, make: impl Fn(&View) -> Option<String>) -> Vec<Mutation> {
    facts.views.iter().filter_map(|view| Some(Mutation::of(&view.name, make(view)?))).collect()
}

fn children(facts: &Facts, make: impl Fn(&str) -> String) -> Vec<Mutation> {
    let all = facts.tables.iter().flat_map(|table| &table.children);
    all.filter(|child| !facts.tables.iter().any(|table| table.name.ends_with(child.as_str())))
        .map(|child| Mutation::of(child, make(child)))
        .collect()
}
