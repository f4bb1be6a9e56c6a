//! What there is to mutate in a schema, as the catalog tells it.

use serde::Deserialize;
use tenancy_pg::{ReportRelation, RowKeyType, TenantTable};
use tenancy_testkit::TestDatabase;

use crate::schema::{Schema, texts};

/// A correct schema, in its catalog's words. All names are SQL: quoted where they have to be.
#[derive(Clone)]
pub(crate) struct Facts {
    /// The row key of the first tenant.
    pub(crate) a: String,
    pub(crate) key: RowKeyType,
    /// Whether the row key comes sealed, and from which function then.
    pub(crate) verifier: Option<String>,
    /// The reports, and what of each they show.
    pub(crate) reports: Vec<Report>,
    /// What holds the row key or the seal.
    pub(crate) setting: String,
    pub(crate) tables: Vec<Table>,
    /// Views, materialized views.
    pub(crate) views: Vec<View>,
    /// Functions that policies call.
    pub(crate) helpers: Vec<String>,
}

/// A relation that reports may read.
#[derive(Clone)]
pub(crate) struct Report {
    pub(crate) name: String,
    /// The declared columns.
    pub(crate) columns: Vec<String>,
}

/// A declared table.
#[derive(Clone, Deserialize)]
pub(crate) struct Table {
    /// Schema and name, unquoted.
    pub(crate) raw: [String; 2],
    pub(crate) name: String,
    pub(crate) schema: String,
    /// The tenant column.
    #[serde(default)]
    pub(crate) column: String,
    /// Its other columns, in order.
    pub(crate) columns: Vec<Column>,
    pub(crate) policies: Vec<Policy>,
    /// Partitions and tables that inherit.
    pub(crate) children: Vec<String>,
    pub(crate) partitioned: bool,
    /// Whether it inherits.
    pub(crate) child: bool,
    /// Whether the service may update all of it.
    pub(crate) updatable: bool,
    /// It and all that refer to it, by whatever path.
    pub(crate) with_referrers: Vec<String>,
    pub(crate) foreign_keys: Vec<ForeignKey>,
    /// The columns of each unique index.
    pub(crate) unique: Vec<Vec<String>>,
    pub(crate) primary_key: Option<String>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Column {
    /// Unquoted.
    raw: String,
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    pub(crate) generated: bool,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Policy {
    pub(crate) name: String,
    /// `ALL`, `SELECT`, ...
    pub(crate) command: String,
    pub(crate) permissive: bool,
    pub(crate) using: Option<String>,
    pub(crate) check: Option<String>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct ForeignKey {
    pub(crate) name: String,
    pub(crate) parent: String,
    pub(crate) columns: Vec<String>,
    pub(crate) referenced: Vec<String>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct View {
    pub(crate) name: String,
    pub(crate) schema: String,
    pub(crate) materialized: bool,
}

impl Facts {
    pub(crate) async fn of(schema: &Schema, database: &TestDatabase) -> Self {
        let [a, _] = schema.literals();
        let declared = schema.declaration.tenant_tables();
        let found = texts(database, TABLES).await;
        let found: Vec<Table> = found.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let table = |declared: &TenantTable| {
            let is = |table: &&Table| table.raw == [declared.schema(), declared.table()];
            let mut table = found.iter().find(is).unwrap_or_else(|| panic!("{declared:?}")).clone();
            let at = table.columns.iter().position(|column| column.raw == declared.column()).unwrap();
            table.column = table.columns.remove(at).name;
            table
        };
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let report = |report: &ReportRelation| Report {
            name: report.relation().to_string(),
            columns: report.columns().map(quoted).collect(),
        };
        let key = declared[0].key();
        let signed = schema.declaration.signed();
        Self {
            a,
            key,
            verifier: signed.then(|| format!("tenancy.signed_row_key_{}()", key_type(key))),
            reports: schema.declaration.report_relations().iter().map(report).collect(),
            setting: if signed { "tenancy.seal" } else { schema.declaration.setting() }.to_owned(),
            tables: declared.iter().map(table).collect(),
            views: texts(database, VIEWS).await.iter().map(|text| serde_json::from_str(text).unwrap()).collect(),
            helpers: texts(database, HELPERS).await,
        }
    }

    /// The type of the row keys.
    pub(crate) fn key_type(&self) -> &'static str {
        key_type(self.key)
    }

    /// The row key of the scope as text, NULL where there is no tenant.
    pub(crate) fn text(&self) -> String {
        match &self.verifier {
            Some(verifier) => format!("(select {verifier})::text"),
            None => format!("nullif(current_setting('{}', true), '')", self.setting),
        }
    }

    /// The row key of the scope.
    pub(crate) fn scope(&self) -> String {
        match &self.verifier {
            Some(verifier) => format!("(select {verifier})"),
            None => format!("{}::{}", self.text(), self.key_type()),
        }
    }
}

fn key_type(key: RowKeyType) -> &'static str {
    match key {
        RowKeyType::Uuid => "uuid",
        RowKeyType::BigInt => "bigint",
        RowKeyType::Text => "text",
        other => panic!("{other:?}"),
    }
}

impl Table {
    /// What binds a row to the scope.
    pub(crate) fn bound(&self, facts: &Facts) -> String {
        format!("{} = {}", self.column, facts.scope())
    }

    /// A text that holds the canary.
    pub(crate) fn texts(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| format!("{}::text", column.name)).collect();
        format!("concat_ws(' ', {})", columns.join(", "))
    }

    /// A column that any text can be put into.
    pub(crate) fn text_column(&self) -> Option<&str> {
        let in_key = |name: &String| self.unique.iter().any(|columns| columns.contains(name));
        let column = self.columns.iter().find(|column| column.type_name == "text" && !in_key(&column.name))?;
        Some(&column.name)
    }
}

const TABLES: &str = "
with recursive referrers(root, oid) as (
    select oid, oid from pg_class where relkind in ('r', 'p')
    union select r.root, k.conrelid from referrers r join pg_constraint k on k.contype = 'f' and k.confrelid = r.oid
), below(root, oid) as (
    select inhparent, inhrelid from pg_inherits
    union select b.root, i.inhrelid from below b join pg_inherits i on i.inhparent = b.oid
)
select json_build_object(
    'raw', json_build_array(n.nspname, c.relname),
    'name', format('%I.%I', n.nspname, c.relname), 'schema', quote_ident(n.nspname), 'partitioned', c.relkind = 'p',
    'child', exists (select from pg_inherits where inhrelid = c.oid), 'updatable', has_table_privilege('app', c.oid, 'UPDATE'),
    'columns', (select json_agg(json_build_object('raw', attname, 'name', quote_ident(attname), 'type', format_type(atttypid, atttypmod),
                                                    'generated', attgenerated <> '') order by attnum)
                from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped),
    'policies', (select coalesce(json_agg(json_build_object('name', quote_ident(policyname), 'command', cmd,
                        'permissive', permissive = 'PERMISSIVE', 'using', qual, 'check', with_check) order by policyname), '[]')
                 from pg_policies where schemaname = n.nspname and tablename = c.relname and policyname <> 'tenancy_report'),
    'children', (select coalesce(json_agg(oid::regclass::text order by oid), '[]') from below where root = c.oid),
    'with_referrers', (select coalesce(json_agg(r.oid::regclass::text order by r.oid), '[]') from referrers r where r.root = c.oid
                       and not exists (select from pg_inherits where inhrelid = r.oid)),
    'foreign_keys', (select coalesce(json_agg(json_build_object('name', quote_ident(conname), 'parent', confrelid::regclass::text,
            'columns', (select json_agg(quote_ident(attname) order by i) from unnest(conkey) with ordinality u(n, i)
                        join pg_attribute on attrelid = conrelid and attnum = n),
            'referenced', (select json_agg(quote_ident(attname) order by i) from unnest(confkey) with ordinality u(n, i)
                           join pg_attribute on attrelid = confrelid and attnum = n)) order by conname), '[]')
        from pg_constraint where conrelid = c.oid and contype = 'f' and conparentid = 0),
    'unique', (select coalesce(json_agg((select json_agg(quote_ident(attname) order by i)
                        from unnest(indkey::int2[]) with ordinality u(n, i) join pg_attribute on attrelid = indrelid and attnum = n)
                   order by indexrelid), '[]')
               from pg_index where indrelid = c.oid and indisunique),
    'primary_key', (select quote_ident(conname) from pg_constraint where conrelid = c.oid and contype = 'p'))::text
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
order by c.oid";

const VIEWS: &str = "
select json_build_object('name', format('%I.%I', n.nspname, c.relname), 'schema', quote_ident(n.nspname),
                         'materialized', c.relkind = 'm')::text
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('v', 'm') and n.nspname not in ('pg_catalog', 'information_schema') order by c.oid";

const HELPERS: &str = "
select distinct p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
join pg_depend d on d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid and d.classid = 'pg_policy'::regclass
where n.nspname <> 'pg_catalog' and p.proname <> 'signed_reach_every' order by 1";
