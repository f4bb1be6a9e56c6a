//! The views that need no declaration: they show each tenant what the declared tables show it.

use sqlx::postgres::PgConnection;

use super::live::{DECLARED, declared};
use crate::declaration::{Declaration, Relation};
use crate::error::PgError;

/// Views that read declared relations and nothing else, and tenant tables in nobody's name but whoever asks. The inspection
/// finds nothing in them, so a right to read them is left alone.
pub(super) async fn over_declared(
    connection: &mut PgConnection,
    declaration: &Declaration,
) -> Result<Vec<Relation>, PgError> {
    let [schemas, names, columns] = declared(declaration);
    let global = declaration.global_tables();
    let found: Vec<(String, String)> = sqlx::query_as(sqlx::AssertSqlSafe(format!("{DECLARED}{VIEWS}")))
        .bind(schemas)
        .bind(names)
        .bind(columns)
        .bind(global.iter().map(Relation::schema).collect::<Vec<_>>())
        .bind(global.iter().map(Relation::table).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(found.iter().filter_map(|(schema, name)| Relation::parse(schema, name).ok()).collect())
}

/// `behind`: a view and all that it reads, by way of whatever views; itself among them.
const VIEWS: &str = ", tenant(oid) as (
    select oid from declared union select i.inhrelid from tenant join pg_inherits i on i.inhparent = tenant.oid
), global(oid) as (
    select c.oid from unnest($4::text[], $5::text[]) as g(schema, name)
    join pg_namespace n on n.nspname = g.schema join pg_class c on c.relnamespace = n.oid and c.relname = g.name
), view(oid, schema, name, invoker) as (
    select c.oid, n.nspname::text, c.relname::text,
           exists (select from pg_options_to_table(c.reloptions) o where o.option_name = 'security_invoker'
                   and lower(o.option_value) in ('true', 'on', 'yes', '1'))
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'v' and c.oid >= 16384
), behind(view, oid) as (
    select oid, oid from view
    union
    select b.view, d.refobjid from behind b join view v on v.oid = b.oid join pg_rewrite r on r.ev_class = b.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
)
select v.schema, v.name from view v
where exists (select from behind b where b.view = v.oid and b.oid <> v.oid)
  and not exists (select from behind b where b.view = v.oid and b.oid not in (select oid from view)
                  and b.oid not in (select oid from tenant) and b.oid not in (select oid from global))
  and not exists (select from behind b join view w on w.oid = b.oid and not w.invoker
                  join behind t on t.view = w.oid join tenant on tenant.oid = t.oid where b.view = v.oid)
order by 1, 2";
