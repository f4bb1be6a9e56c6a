//! Rights that go around the policies, and keys that tell.

use super::policies::tables;
use super::{Mutation, Operator, operator, unprovable};
use crate::facts::{Facts, ForeignKey, Table};

pub(super) const OPERATORS: &[Operator] = &[
    operator("TRUNCATE", |f| {
        tables(f, |t, _| Some(format!("grant truncate on {} to app", t.with_referrers.join(", "))))
    }),
    operator("TRIGGER", |f| tables(f, |t, _| Some(format!("grant trigger on {} to app", t.name)))),
    unprovable("REFERENCES", "a foreign key needs a table of the service's own as well", |f| {
        tables(f, |t, _| Some(format!("grant references on {} to app", t.name)))
    }),
    operator("everything", |f| {
        tables(f, |t, _| Some(format!("grant all on {} to public", t.with_referrers.join(", "))))
    }),
    operator("the service owns a table", |f| tables(f, |t, _| Some(format!("alter table {} owner to app", t.name)))),
    operator("the service owns a schema", |f| schemas(f, |schema| format!("alter schema {schema} owner to app"))),
    operator("CREATE in a schema", |f| schemas(f, |schema| format!("grant create on schema {schema} to app"))),
    operator("CREATE for everybody in public", |_| {
        vec![Mutation::of("public", "grant create on schema public to public; grant usage on schema public to public")]
    }),
    unprovable("CREATE in the database", "a schema of the service's own is a place to keep things, not tried", |_| {
        vec![Mutation::of(
            "the database",
            "do $$ begin execute format('grant create on database %I to app', current_database()); end $$",
        )]
    }),
    operator("large objects", |_| {
        let sql = "grant execute on function pg_catalog.lo_from_bytea(oid, bytea), pg_catalog.lo_get(oid) to public";
        vec![Mutation::of("the database", sql)]
    }),
    unprovable("a default tenant of the database", "our startup message sets it; another client's would not", |f| {
        let sql = format!(
            "do $$ begin execute format('alter database %I set {} = %L', current_database(), {}::text); end $$",
            f.setting, f.a
        );
        vec![Mutation::of("the database", sql)]
    }),
    operator("a readable sequence", |_| {
        vec![Mutation::of(
            "public.m",
            "create sequence public.m; select nextval('public.m'); grant select on public.m to app",
        )]
    }),
    operator("a foreign key without the tenant", |f| {
        tables_and_keys(f, |t, key| {
            let (here, there): (Vec<_>, Vec<_>) = key
                .columns
                .iter()
                .cloned()
                .zip(key.referenced.iter().cloned())
                .filter(|(here, _)| *here != t.column)
                .unzip();
            let parent = f.tables.iter().find(|table| table.name.ends_with(&key.parent))?;
            (!here.is_empty() && !parent.partitioned && here.len() < key.columns.len()).then(|| {
                let (table, name, parent) = (&t.name, &key.name, &key.parent);
                let (here, there) = (here.join(", "), there.join(", "));
                format!(
                    "alter table {parent} add unique ({there}); \
                     alter table {table} drop constraint {name}, add foreign key ({here}) references {parent} ({there})"
                )
            })
        })
    }),
    operator("unique without the tenant", |f| {
        let of = |table: &Table| {
            let columns = table.unique.iter().map(|columns| {
                let rest: Vec<&str> =
                    columns.iter().filter(|column| **column != table.column).map(String::as_str).collect();
                rest.join(", ")
            });
            let columns = columns.filter(|columns| !columns.is_empty() && !table.partitioned);
            let sql = columns.map(|columns| format!("create unique index on {} ({columns})", table.name));
            sql.map(|sql| Mutation::of(&table.name, sql)).collect::<Vec<_>>()
        };
        f.tables.iter().flat_map(of).collect()
    }),
    operator("unique text", |f| {
        tables(f, |t, _| {
            Some(format!("create unique index on {} ({})", t.name, t.text_column()?)).filter(|_| !t.partitioned)
        })
    }),
];

fn schemas(facts: &Facts, make: impl Fn(&str) -> String) -> Vec<Mutation> {
    let mut all: Vec<&String> = facts.tables.iter().map(|table| &table.schema).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(|schema| Mutation::of(schema, make(schema))).collect()
}

fn tables_and_keys(facts: &Facts, make: impl Fn(&Table, &ForeignKey) -> Option<String>) -> Vec<Mutation> {
    let all = facts.tables.iter().flat_map(|table| table.foreign_keys.iter().map(move |key| (table, key)));
    all.filter_map(|(table, key)| Some(Mutation::of(format!("{} on {}", key.name, table.name), make(table, key)?)))
        .collect()
}
