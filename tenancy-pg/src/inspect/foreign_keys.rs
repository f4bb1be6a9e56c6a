//! Foreign keys of tenant tables, in both directions: the server checks them, and acts on them, past every policy.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::append_only::kept;
use super::catalog::Catalog;
use super::codes::Code;
use super::report::Finding;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::unnamed;

/// A foreign key with a tenant table at one end or both, that does not pair their tenant columns.
#[derive(sqlx::FromRow)]
struct ForeignKey {
    name: String,
    child: Oid,
    parent: Oid,
    child_name: String,
    columns: Vec<String>,
    referenced: Vec<String>,
    definition: String,
    /// Whether the service may put rows into the child.
    writes_child: bool,
    /// Whether the service can change the parent in a way that the key carries on to the child.
    carries_on: bool,
    /// Whether a change sets the tenant column to its default, which is not the row key.
    to_default: bool,
    /// Whether it compares the tenant columns.
    pairs: bool,
}

pub(super) async fn findings(connection: &mut PgConnection, catalog: &Catalog<'_>) -> Result<Vec<Finding>, PgError> {
    let (oids, columns) = catalog.oids_and_columns();
    let keys: Vec<ForeignKey> = unnamed::query_as(FOREIGN_KEYS)
        .bind(oids)
        .bind(columns)
        .bind(&catalog.reach)
        .bind(kept(catalog))
        .fetch_all(connection)
        .await?;
    let named = keys.into_iter().map(|key| match catalog.table(key.child) {
        Some(child) => ForeignKey { child_name: child.declared.relation.to_string(), ..key },
        None => key,
    });
    Ok(named.filter_map(|key| key.finding(catalog)).collect())
}

impl ForeignKey {
    fn finding(&self, catalog: &Catalog<'_>) -> Option<Finding> {
        let child = catalog.table(self.child);
        match (child.is_some(), catalog.table(self.parent).is_some()) {
            (true, true) if self.pairs && self.to_default => Some(self.moving()),
            (true, true) if self.pairs => {
                let is_kept = child.is_some_and(|table| table.declared.append_only);
                (is_kept && self.carries_on).then(|| self.changing())
            }
            (true, true) => Some(self.between_tenants(catalog)),
            (false, true) => Some(self.of_stranger()),
            (true, false) => self.carries_on.then(|| self.hanging_on_stranger()),
            (false, false) => None,
        }
    }

    fn between_tenants(&self, catalog: &Catalog<'_>) -> Finding {
        let why = "A row can refer to another tenant's, because the key does not compare the tenant columns. It tells whether \
                   that row exists, keeps its owner from deleting it, or is deleted along with it.";
        Finding::fatal(Code::ForeignKey, self.object(), why, self.paired(catalog).unwrap_or_else(|| self.dropped()))
    }

    /// The same key with the tenant columns in front, and what it did on changes.
    fn paired(&self, catalog: &Catalog<'_>) -> Option<String> {
        let (child, parent) = (&catalog.table(self.child)?.declared, &catalog.table(self.parent)?.declared);
        let others = self.columns.iter().zip(&self.referenced);
        let others = others.filter(|(here, there)| *here != child.column() && *there != parent.column());
        let (mut here, mut there) = (child.column.quoted(), parent.column.quoted());
        for (column, referenced) in others {
            here += &format!(", {}", quote_ident(column));
            there += &format!(", {}", quote_ident(referenced));
        }
        let (name, child, parent) = (quote_ident(&self.name), &child.relation, &parent.relation);
        Some(format!(
            "ALTER TABLE {parent} ADD UNIQUE ({there});\n\
             ALTER TABLE {child} DROP CONSTRAINT {name}, \
             ADD CONSTRAINT {name} FOREIGN KEY ({here}) REFERENCES {parent} ({there}){}; \
             -- where it sets NULL on a change, name the columns: ON DELETE SET NULL (..)",
            self.cascades()
        ))
    }

    fn cascades(&self) -> String {
        let carried = [" ON UPDATE CASCADE", " ON DELETE CASCADE"];
        carried.into_iter().filter(|action| self.definition.contains(action)).collect()
    }

    fn of_stranger(&self) -> Finding {
        if self.writes_child {
            let why = "The service may write this table, which is no tenant's, and a row of it can refer to any tenant's. \
                       Whether that works tells whether the row exists, and it keeps its owner from deleting it.";
            return Finding::fatal(Code::ForeignKey, self.object(), why, self.dropped());
        }
        let why = "A table that is no tenant's refers to rows of a tenant table. A tenant can't delete a row that it refers \
                   to, and learns so that it does.";
        Finding::warning(Code::ForeignKey, self.object(), why, self.dropped())
    }

    fn hanging_on_stranger(&self) -> Finding {
        let why = "The service can change the table that this key refers to, which is no tenant's, itself or by way of another \
                   key, and this one carries the change on to the rows of all tenants. Policies do not hold what a key \
                   carries on.";
        Finding::fatal(Code::KeyCarriesOn, self.object(), why, self.acting_no_more())
    }

    fn moving(&self) -> Finding {
        let why = "When the row that is referred to goes, this key gives the tenant column its default, and the row to whoever \
                   that names. Policies do not hold what a key carries on.";
        Finding::fatal(Code::KeyCarriesOn, self.object(), why, self.acting_no_more())
    }

    fn changing(&self) -> Finding {
        let why = "The service can change the table that this key refers to, and the key carries the change on to a table that \
                   is declared as append-only. Rights do not hold what a key carries on.";
        Finding::fatal(Code::AppendOnly, self.object(), why, self.acting_no_more())
    }

    fn acting_no_more(&self) -> String {
        let (name, child) = (quote_ident(&self.name), &self.child_name);
        let rest = without_actions(&self.definition);
        format!("ALTER TABLE {child} DROP CONSTRAINT {name}, ADD CONSTRAINT {name} {rest};")
    }

    fn dropped(&self) -> String {
        format!("ALTER TABLE {} DROP CONSTRAINT {};", self.child_name, quote_ident(&self.name))
    }

    fn object(&self) -> String {
        format!("{} ON {}", quote_ident(&self.name), self.child_name)
    }
}

/// As `pg_get_constraintdef` prints them: behind the columns, UPDATE first.
fn without_actions(definition: &str) -> &str {
    let ends = [" ON UPDATE ", " ON DELETE "].into_iter().filter_map(|action| definition.find(action));
    ends.min().map_or(definition, |end| &definition[..end])
}

/// What a partition has of its parent's is the parent's.
///
/// The service changes what it has a right to and, past policies and rights, whatever keys with an action carry that on to,
/// over as many tables as there are.
const FOREIGN_KEYS: &str = "
with recursive tenant as (
    select t.oid, a.attnum, pg_get_expr(d.adbin, d.adrelid) as by_default from unnest($1::oid[], $2::text[]) as t(oid, col)
    join pg_attribute a on a.attrelid = t.oid and a.attname = t.col and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
), acts as (
    select conrelid, confrelid, confdeltype, confupdtype from pg_constraint
    where contype = 'f' and (confdeltype in ('c', 'n', 'd') or confupdtype in ('c', 'n', 'd'))
), changed(oid, deleted) as (
    select confrelid, deleted from acts cross join unnest(array[true, false]) as deleted
    where exists (select from unnest($3::oid[]) u
                  where case when deleted then has_table_privilege(u, confrelid, 'DELETE')
                             else has_any_column_privilege(u, confrelid, 'UPDATE') end)
    union
    select conrelid, deleted and confdeltype = 'c' from changed join acts on confrelid = changed.oid
    where (deleted and confdeltype in ('c', 'n', 'd')) or (not deleted and confupdtype in ('c', 'n', 'd'))
)
select k.conname::text as name, k.conrelid as child, k.confrelid as parent,
       (select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.oid = k.conrelid) as child_name,
       array(select a.attname::text from unnest(k.conkey) with ordinality as u(n, i)
             join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.n order by u.i) as columns,
       array(select a.attname::text from unnest(k.confkey) with ordinality as u(n, i)
             join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.n order by u.i) as referenced,
       pg_get_constraintdef(k.oid) as definition,
       exists (select from unnest($3::oid[]) u where has_any_column_privilege(u, k.conrelid, 'INSERT, UPDATE')) as writes_child,
       exists (select from changed where changed.oid = k.confrelid
               and ((deleted and k.confdeltype in ('c', 'n', 'd')) or (not deleted and k.confupdtype in ('c', 'n', 'd')))) as carries_on,
       coalesce(child.by_default !~ '(current_setting|signed_row_key_[a-z]+)\\('
         and (k.confupdtype = 'd' or (k.confdeltype = 'd' and (k.confdelsetcols is null or child.attnum = any(k.confdelsetcols)))), false) as to_default,
       exists (select from unnest(k.conkey, k.confkey) as pair(here, there)
               where here = child.attnum and there = parent.attnum) as pairs
from pg_constraint k left join tenant child on child.oid = k.conrelid left join tenant parent on parent.oid = k.confrelid
where k.contype = 'f' and k.conparentid = 0 and (child.oid is not null or parent.oid is not null)
  and (not exists (select from unnest(k.conkey, k.confkey) as pair(here, there)
                   where here = child.attnum and there = parent.attnum)
       or k.confupdtype = 'd' or k.confdeltype = 'd' or k.conrelid = any($4))
order by child_name, k.conname";
