//! Keys: those between tenant tables pair the tenant columns, and where it is wanted all are led by them.

use sqlx::postgres::PgConnection;

use super::live::{DECLARED, declared};
use super::names::fitted;
use super::step::{Locks, Step};
use crate::declaration::{Declaration, TenantTable};
use crate::error::PgError;
use crate::ident::quote_ident;

/// A foreign key between declared tables that does not pair their tenant columns.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct ForeignKey {
    name: String,
    child: i64,
    parent: i64,
    columns: Vec<String>,
    referenced: Vec<String>,
    /// What `ON UPDATE`, `ON DELETE`: the catalog's letters.
    on_update: String,
    on_delete: String,
    deferrable: bool,
    deferred: bool,
    definition: String,
    /// There is a unique constraint on exactly the referenced columns and the tenant's.
    has_target: bool,
    child_forced: bool,
    parent_forced: bool,
    /// One of the two tables is, which takes no unvalidated key and no index built concurrently.
    partitioned: bool,
    /// Whether the key that is to replace it is there already, and validated.
    #[sqlx(skip)]
    replacement: Option<bool>,
}

/// A unique key without the tenant column, on a table that wants it in all of them.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct UniqueKey {
    name: String,
    table: i64,
    /// `p`, `u`, or none for an index of its own.
    constraint_kind: Option<String>,
    definition: String,
    /// The definition with the tenant column in front; none for an index that has no columns in an order.
    led: Option<String>,
    /// A foreign key from elsewhere needs it as it is.
    needed: bool,
    columns: Vec<String>,
}

pub(super) async fn foreign(c: &mut PgConnection, declaration: &Declaration) -> Result<Vec<ForeignKey>, PgError> {
    let [schemas, names, columns] = declared(declaration);
    let sql = sqlx::AssertSqlSafe(format!("{DECLARED}{FOREIGN}"));
    let mut keys: Vec<ForeignKey> =
        sqlx::query_as(sql).bind(&schemas).bind(&names).bind(&columns).fetch_all(&mut *c).await?;
    let sql = sqlx::AssertSqlSafe(format!("{DECLARED}{REPLACEMENTS}"));
    let there: Vec<(i64, String, bool)> =
        sqlx::query_as(sql).bind(schemas).bind(names).bind(columns).fetch_all(c).await?;
    for key in &mut keys {
        let new = key.replacement_name();
        key.replacement =
            there.iter().find(|(child, name, _)| *child == key.child && *name == new).map(|found| found.2);
    }
    Ok(keys)
}

pub(super) async fn unique(c: &mut PgConnection, declaration: &Declaration) -> Result<Vec<UniqueKey>, PgError> {
    let [schemas, names, columns] = declared(declaration);
    let sql = sqlx::AssertSqlSafe(format!("{DECLARED}{UNIQUE}"));
    let wanted: Vec<bool> = declaration.tenant_tables().iter().map(|table| table.composite_keys).collect();
    Ok(sqlx::query_as(sql).bind(schemas).bind(names).bind(columns).bind(wanted).fetch_all(c).await?)
}

/// Old foreign keys go, keys become led by the row key, new foreign keys come: taken back in the opposite order. With
/// the places of the tables that get a key led by their tenant column.
pub(super) fn steps(declaration: &Declaration, foreign: &[ForeignKey], unique: &[UniqueKey]) -> (Vec<Step>, Vec<i64>) {
    let table = |place: i64| declaration.tenant_tables().get(usize::try_from(place).ok()?);
    let pairs: Vec<_> = foreign.iter().filter_map(|key| Some((key, table(key.child)?, table(key.parent)?))).collect();
    let mut steps: Vec<Step> = pairs.iter().map(|(key, child, parent)| key.leaves(child, parent)).collect();
    let mut targets = Vec::new();
    let mut led = Vec::new();
    for key in unique {
        let Some(table) = table(key.table) else { continue };
        if let Some(step) = key.step(table) {
            steps.push(step);
            led.push((key.table, key.sorted()));
        }
    }
    for (key, _child, parent) in &pairs {
        let target = (key.parent, key.target_sorted(parent));
        let comes = led.iter().any(|(table, columns)| *table == key.parent && *columns == key.referenced_sorted());
        if !key.has_target && !comes && !targets.contains(&target) {
            steps.push(key.target(parent));
            targets.push(target);
        }
    }
    steps.extend(pairs.iter().map(|(key, child, parent)| key.comes(child, parent)));
    let leads = led.iter().map(|(table, _)| *table).chain(targets.iter().map(|(table, _)| *table)).collect();
    (steps, leads)
}

/// Foreign keys that come unvalidated and are validated after it, on unique indexes built while everybody goes on.
pub(super) fn online(declaration: &Declaration, foreign: &[ForeignKey]) -> Vec<Step> {
    let table = |place: i64| declaration.tenant_tables().get(usize::try_from(place).ok()?);
    let mut steps = Vec::new();
    let mut targets = Vec::new();
    for key in foreign {
        let (Some(child), Some(parent)) = (table(key.child), table(key.parent)) else { continue };
        let target = (key.parent, key.target_sorted(parent));
        if !key.has_target && !targets.contains(&target) {
            targets.push(target);
            steps.extend(key.target_online(parent));
        }
        steps.extend(key.online(child, parent));
    }
    steps
}

impl ForeignKey {
    fn online(&self, child: &TenantTable, parent: &TenantTable) -> Vec<Step> {
        if self.child_forced || self.parent_forced || self.partitioned {
            return vec![self.leaves(child, parent), self.comes(child, parent)];
        }
        let (relation, old) = (&child.relation, quote_ident(&self.name));
        let new = quote_ident(&self.replacement_name());
        let why = format!("the key {old} of {relation} compares the tenants too");
        let mut steps = Vec::new();
        if self.replacement.is_none() {
            let add =
                format!("ALTER TABLE {relation} ADD CONSTRAINT {new} {} NOT VALID;\n", self.paired(child, parent));
            let drop = format!("ALTER TABLE {relation} DROP CONSTRAINT {new};\n");
            steps.push(Step::new(Locks::InstantForWriters, why.clone(), add, drop));
        }
        if self.replacement != Some(true) {
            let validate = format!("ALTER TABLE {relation} VALIDATE CONSTRAINT {new};\n");
            steps.push(Step::new(Locks::Nobody, format!("{why}: the rows that are there"), validate, String::new()));
        }
        steps.push(Step::new(
            Locks::Instant,
            format!("{why}, and replaces the one that did not"),
            format!(
                "ALTER TABLE {relation} DROP CONSTRAINT {old};\n\
                 ALTER TABLE {relation} RENAME CONSTRAINT {new} TO {old};\n"
            ),
            format!(
                "ALTER TABLE {relation} RENAME CONSTRAINT {old} TO {new};\n\
                 ALTER TABLE {relation} ADD CONSTRAINT {old} {};\n",
                self.definition
            ),
        ));
        steps
    }

    fn target_online(&self, parent: &TenantTable) -> Vec<Step> {
        if self.partitioned {
            return vec![self.target(parent)];
        }
        let relation = &parent.relation;
        let (name, columns) = self.target_parts(parent);
        let full = format!("{}.{name}", relation.schema.quoted());
        let build = Step::new(
            Locks::Nobody,
            format!("keys that compare the tenants need a unique index of {relation} that does"),
            format!("CREATE UNIQUE INDEX CONCURRENTLY {name} ON {relation} ({columns});\n"),
            format!("DROP INDEX CONCURRENTLY IF EXISTS {full};\n"),
        );
        vec![super::indexes::drop_broken(&full), build.alone()]
    }

    /// The name of the new key for as long as the old one is there.
    fn replacement_name(&self) -> String {
        fitted(&format!("tenancy_new_{}", self.name))
    }

    fn leaves(&self, child: &TenantTable, parent: &TenantTable) -> Step {
        let (relation, name) = (&child.relation, quote_ident(&self.name));
        let back = format!("ALTER TABLE {relation} ADD CONSTRAINT {name} {};\n", self.definition);
        Step::new(
            Locks::Instant,
            format!("the key {name} of {relation} lets a row refer to another tenant's"),
            format!("ALTER TABLE {relation} DROP CONSTRAINT {name};\n"),
            self.unforced(child, parent, &back),
        )
    }

    fn comes(&self, child: &TenantTable, parent: &TenantTable) -> Step {
        let (relation, name) = (&child.relation, quote_ident(&self.name));
        let add = format!("ALTER TABLE {relation} ADD CONSTRAINT {name} {};\n", self.paired(child, parent));
        Step::new(
            Locks::Scan,
            format!("the key {name} of {relation} compares the tenants too"),
            self.unforced(child, parent, &add),
            format!("ALTER TABLE {relation} DROP CONSTRAINT {name};\n"),
        )
    }

    /// The check of the rows that are there runs as the owner. Under FORCE it would see none of the children and find all
    /// well, or none of the parents and find all wrong.
    fn unforced(&self, child: &TenantTable, parent: &TenantTable, sql: &str) -> String {
        let mut tables = Vec::from_iter(self.child_forced.then_some(&child.relation));
        tables.extend(Some(&parent.relation).filter(|relation| self.parent_forced && !tables.contains(relation)));
        let all = |word| -> String {
            tables.iter().map(|table| format!("ALTER TABLE {table} {word} ROW LEVEL SECURITY;\n")).collect()
        };
        format!("{}{sql}{}", all("NO FORCE"), all("FORCE"))
    }

    /// The constraint with both tenant columns in front.
    pub(super) fn paired(&self, child: &TenantTable, parent: &TenantTable) -> String {
        let others = self.others(child, parent);
        let list = |first: String, rest: Vec<&str>| {
            std::iter::once(first).chain(rest.into_iter().map(quote_ident)).collect::<Vec<_>>().join(", ")
        };
        let here: Vec<&str> = others.iter().map(|(here, _)| *here).collect();
        let only_here: Vec<String> = here.iter().map(|column| quote_ident(column)).collect();
        let here = list(child.column.quoted(), here);
        let there = list(parent.column.quoted(), others.iter().map(|(_, there)| *there).collect());
        let only_here = only_here.join(", ");
        let mut sql = format!("FOREIGN KEY ({here}) REFERENCES {} ({there})", parent.relation);
        // The tenant column is never set to null: the columns that are, are named.
        match self.on_delete.as_str() {
            "c" => sql += " ON DELETE CASCADE",
            "r" => sql += " ON DELETE RESTRICT",
            "n" => sql += &format!(" ON DELETE SET NULL ({only_here})"),
            "d" => sql += &format!(" ON DELETE SET DEFAULT ({only_here})"),
            _none => {}
        }
        match self.on_update.as_str() {
            "c" => sql += " ON UPDATE CASCADE",
            "r" => sql += " ON UPDATE RESTRICT",
            // Postgres knows no columns here, and the tenant column can't be null.
            _none_or_null => {}
        }
        if self.deferrable {
            sql += if self.deferred { " DEFERRABLE INITIALLY DEFERRED" } else { " DEFERRABLE" };
        }
        sql
    }

    /// The pairs of columns without the tenants'.
    fn others(&self, child: &TenantTable, parent: &TenantTable) -> Vec<(&str, &str)> {
        let pairs = self.columns.iter().zip(&self.referenced);
        let plain = pairs.filter(|(here, there)| *here != child.column() && *there != parent.column());
        plain.map(|(here, there)| (here.as_str(), there.as_str())).collect()
    }

    /// What the new key refers to.
    fn target(&self, parent: &TenantTable) -> Step {
        let relation = &parent.relation;
        let (name, columns) = self.target_parts(parent);
        Step::new(
            Locks::Scan,
            format!("keys that compare the tenants need a unique one in {relation} that does"),
            format!("ALTER TABLE {relation} ADD CONSTRAINT {name} UNIQUE ({columns});\n"),
            format!("ALTER TABLE {relation} DROP CONSTRAINT {name};\n"),
        )
    }

    /// Name and columns of what the new key refers to.
    fn target_parts(&self, parent: &TenantTable) -> (String, String) {
        let columns: Vec<String> = self.target_sorted(parent).iter().map(|column| quote_ident(column)).collect();
        let name = quote_ident(&fitted(&format!("{}_{}_key", parent.table(), self.target_sorted(parent).join("_"))));
        let columns = std::iter::once(parent.column.quoted())
            .chain(columns.into_iter().filter(|column| *column != parent.column.quoted()))
            .collect::<Vec<_>>()
            .join(", ");
        (name, columns)
    }

    fn referenced_sorted(&self) -> Vec<String> {
        let mut columns = self.referenced.clone();
        columns.sort_unstable();
        columns
    }

    fn target_sorted(&self, parent: &TenantTable) -> Vec<String> {
        let mut columns: Vec<String> =
            self.referenced.iter().filter(|column| *column != parent.column()).cloned().collect();
        columns.push(parent.column().to_owned());
        columns.sort_unstable();
        columns
    }
}

impl UniqueKey {
    /// None where a key from elsewhere needs it as it is.
    fn step(&self, table: &TenantTable) -> Option<Step> {
        let (relation, name) = (&table.relation, quote_ident(&self.name));
        let led = self.led.as_ref().filter(|_| !self.needed)?;
        let reason = format!("the key {name} of {relation} tells one tenant what another one has");
        Some(match &self.constraint_kind {
            Some(_kind) => Step::new(
                Locks::Scan,
                reason,
                format!("ALTER TABLE {relation} DROP CONSTRAINT {name}, ADD CONSTRAINT {name} {led};\n"),
                format!("ALTER TABLE {relation} DROP CONSTRAINT {name}, ADD CONSTRAINT {name} {};\n", self.definition),
            ),
            None => {
                let drop = format!("DROP INDEX {}.{name};\n", relation.schema.quoted());
                Step::new(Locks::Scan, reason, format!("{drop}{led};\n"), format!("{drop}{};\n", self.definition))
            }
        })
    }

    fn sorted(&self) -> Vec<String> {
        let mut columns = self.columns.clone();
        columns.sort_unstable();
        columns
    }
}

/// What a partition has of its parent's is the parent's.
const FOREIGN: &str = "
select k.conname::text as name, child.place as child, parent.place as parent,
       array(select a.attname::text from unnest(k.conkey) with ordinality as u(n, i)
             join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.n order by u.i) as columns,
       array(select a.attname::text from unnest(k.confkey) with ordinality as u(n, i)
             join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.n order by u.i) as referenced,
       k.confupdtype::text as on_update, k.confdeltype::text as on_delete, k.condeferrable as deferrable,
       k.condeferred as deferred, pg_get_constraintdef(k.oid) as definition,
       exists (select from pg_index i where i.indrelid = k.confrelid and i.indisunique and i.indisvalid
                 and i.indimmediate and i.indpred is null and i.indexprs is null
                 and (i.indkey::int2[])[0:i.indnkeyatts - 1] @> (k.confkey || parent.attnum)
                 and (i.indkey::int2[])[0:i.indnkeyatts - 1] <@ (k.confkey || parent.attnum)) as has_target,
       (select relforcerowsecurity from pg_class where oid = k.conrelid) as child_forced,
       (select relforcerowsecurity from pg_class where oid = k.confrelid) as parent_forced,
       exists (select from pg_class c where c.oid in (k.conrelid, k.confrelid) and c.relkind = 'p') as partitioned
from pg_constraint k join declared child on child.oid = k.conrelid join declared parent on parent.oid = k.confrelid
where k.contype = 'f' and k.conparentid = 0
  and not exists (select from unnest(k.conkey, k.confkey) as pair(here, there)
                  where here = child.attnum and there = parent.attnum)
order by child.place, k.conname";

const REPLACEMENTS: &str = "
select d.place, k.conname::text, k.convalidated from declared d join pg_constraint k on k.conrelid = d.oid
where k.contype = 'f' and k.conparentid = 0";

/// The tenant column is put in front in the server's own text of the key.
const UNIQUE: &str = "
, wanted as (
    select d.* from declared d where ($4::bool[])[d.place + 1]
)
select c.relname::text as name, d.place as table, k.contype::text as constraint_kind,
       coalesce(pg_get_constraintdef(k.oid), pg_get_indexdef(c.oid)) as definition,
       case when k.oid is not null then
                case when starts_with(pg_get_constraintdef(k.oid), x.start)
                     then x.start || quote_ident(d.col) || ', ' || substr(pg_get_constraintdef(k.oid), length(x.start) + 1) end
            when starts_with(pg_get_indexdef(c.oid), x.start)
                then x.start || quote_ident(d.col) || ', ' || substr(pg_get_indexdef(c.oid), length(x.start) + 1) end as led,
       exists (select from pg_constraint f where f.contype = 'f' and f.conindid = c.oid
                 and not exists (select from declared other where other.oid = f.conrelid)) as needed,
       array(select a.attname::text from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) n
             join pg_attribute a on a.attrelid = d.oid and a.attnum = n) as columns
from wanted d join pg_index i on i.indrelid = d.oid and i.indisunique join pg_class c on c.oid = i.indexrelid
join pg_class t on t.oid = d.oid join pg_namespace n on n.oid = t.relnamespace
left join pg_constraint k on k.conindid = c.oid and k.conrelid = d.oid and k.contype in ('p', 'u')
cross join lateral (select case k.contype when 'p' then 'PRIMARY KEY (' when 'u' then
    case when pg_get_constraintdef(k.oid) like 'UNIQUE NULLS NOT DISTINCT (%' then 'UNIQUE NULLS NOT DISTINCT (' else 'UNIQUE (' end
    else format('CREATE UNIQUE INDEX %I ON %s%I.%I USING btree (', c.relname, case t.relkind when 'p' then 'ONLY ' end,
                n.nspname, t.relname) end as start) x
where d.attnum is not null and not d.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1])
order by d.place, c.relname";
