//! Indexes of tenant tables that hold all tenants' rows together: unique ones refuse past every policy, and those that
//! find the nearest look at others' rows first.

use sqlparser::ast::{BinaryOperator, Expr};
use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::catalog::Catalog;
use super::codes::Code;
use super::expression::parse;
use super::report::Finding;
use crate::declaration::TenantTable;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::unnamed;

#[derive(sqlx::FromRow)]
struct Index {
    table: Oid,
    name: String,
    /// With its schema, as SQL names it.
    qualified: String,
    method: String,
    /// Unique or exclusion.
    refuses: bool,
    exclusion: bool,
    /// A constraint is made with it.
    is_constraint: bool,
    /// `UNIQUE (..)`, or `CREATE INDEX ..`.
    definition: String,
    predicate: Option<String>,
    /// Of a partition that holds one row key.
    of_one_key: bool,
    /// Compares the tenant columns.
    by_tenant: bool,
    /// Another unique index holds the same columns and the tenant's.
    is_led_already: bool,
}

pub(super) async fn findings(connection: &mut PgConnection, catalog: &Catalog<'_>) -> Result<Vec<Finding>, PgError> {
    let (oids, columns) = catalog.oids_and_columns();
    let indexes: Vec<Index> = unnamed::query_as(INDEXES).bind(oids).bind(columns).fetch_all(connection).await?;
    let of = |index: &Index| Some(index.findings(&catalog.table(index.table)?.declared));
    Ok(indexes.iter().filter_map(of).flatten().collect())
}

impl Index {
    fn findings(&self, table: &TenantTable) -> Vec<Finding> {
        let mut found = Vec::new();
        if self.of_one_key || self.predicate.as_deref().is_some_and(|text| is_of_one_key(text, table.column())) {
            return found;
        }
        let object = format!("{} ON {}", quote_ident(&self.name), table.relation);
        if self.refuses && !self.by_tenant {
            let why = "A tenant that tries a value learns whether another one has it, and can take it first. Random keys of \
                       128 bits can't be tried.";
            found.push(Finding::warning(Code::UniqueIndex, object.clone(), why, self.led_by_tenant(table)));
        }
        if NEAREST.contains(&self.method.as_str()) {
            let why = "The index finds the nearest of all tenants' rows, and the policy takes the others away afterwards. A \
                       tenant with few rows gets too few or none, and how many tells how much others have of the kind.";
            let fix = format!(
                "DROP INDEX {}; -- and search exactly, or make one index for each large tenant: CREATE INDEX .. WHERE {} = \
                 '..', or partition by list of {}",
                self.qualified,
                table.column.quoted(),
                table.column.quoted()
            );
            found.push(Finding::warning(Code::VectorIndex, object, why, fix));
        }
        found
    }

    /// The same with the tenant column in front.
    fn led_by_tenant(&self, table: &TenantTable) -> String {
        if self.is_led_already {
            // What would be made in its place is there.
            return if self.is_constraint {
                let (name, relation) = (quote_ident(&self.name), &table.relation);
                format!(
                    "ALTER TABLE {relation} DROP CONSTRAINT {name}; -- after the foreign keys that refer to it, if any"
                )
            } else {
                format!("DROP INDEX {};", self.qualified)
            };
        }
        let column = table.column.quoted();
        let first = if self.exclusion { format!("({column} WITH =, ") } else { format!("({column}, ") };
        if self.is_constraint {
            let (name, relation) = (quote_ident(&self.name), &table.relation);
            let led = self.definition.replacen('(', &first, 1);
            let extension = if self.exclusion { " -- needs the extension btree_gist" } else { "" };
            return format!(
                "ALTER TABLE {relation} DROP CONSTRAINT {name}; -- after the foreign keys that refer to it, if any\n\
                 ALTER TABLE {relation} ADD CONSTRAINT {name} {led};{extension}"
            );
        }
        let columns = format!(" USING {} (", self.method);
        let led = self.definition.replacen(&columns, &format!(" USING {} {first}", self.method), 1);
        format!("DROP INDEX {};\n{led};", self.qualified)
    }
}

/// Whether a predicate says `column = constant`, alone or beside others.
fn is_of_one_key(predicate: &str, column: &str) -> bool {
    fn names(tree: &Expr, column: &str) -> bool {
        match tree {
            Expr::Nested(inner) => names(inner, column),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => names(left, column) || names(right, column),
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                matches!(left.as_ref(), Expr::Identifier(name) if name.value == column) && is_constant(right)
            }
            _other => false,
        }
    }
    parse(predicate).is_some_and(|tree| names(&tree, column))
}

fn is_constant(tree: &Expr) -> bool {
    match tree {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => is_constant(inner),
        Expr::Value(_) => true,
        _other => false,
    }
}

/// Access methods that find the nearest vectors, of pgvector and others.
const NEAREST: [&str; 6] = ["hnsw", "ivfflat", "diskann", "vchordrq", "vectors", "scann"];

const INDEXES: &str = "
with tenant as (
    select t.oid, t.col, a.attnum from unnest($1::oid[], $2::text[]) as t(oid, col)
    join pg_attribute a on a.attrelid = t.oid and a.attname = t.col and a.attnum > 0 and not a.attisdropped
)
select t.oid as table, x.relname::text as name, format('%I.%I', n.nspname, x.relname) as qualified,
       am.amname::text as method, i.indisunique or i.indisexclusion as refuses, i.indisexclusion as exclusion,
       k.oid is not null as is_constraint,
       coalesce(pg_get_constraintdef(k.oid), pg_get_indexdef(i.indexrelid)) as definition,
       pg_get_expr(i.indpred, i.indrelid) as predicate,
       coalesce(pg_get_expr(c.relpartbound, c.oid) ~ '^FOR VALUES IN \\([^,]*\\)$'
                and exists (select from pg_inherits h join pg_partitioned_table p on p.partrelid = h.inhparent
                            join pg_attribute a on a.attrelid = p.partrelid and a.attnum = p.partattrs[0]
                            where h.inhrelid = c.oid and p.partstrat = 'l' and p.partnatts = 1 and a.attname = t.col),
                false) as of_one_key,
       exists (select from generate_series(0, i.indnkeyatts - 1) s
               where i.indkey[s] = t.attnum
                 and (not i.indisexclusion
                      or (select o.oprname from pg_operator o where o.oid = k.conexclop[s + 1]) = '=')) as by_tenant,
       exists (select from pg_index o
               where o.indrelid = t.oid and o.indisunique and o.indisvalid and o.indpred is null and not i.indisexclusion
                 and not 0 = any((o.indkey::int2[])[0:o.indnkeyatts - 1])
                 and array(select k from unnest((o.indkey::int2[])[0:o.indnkeyatts - 1]) k order by 1)
                     = array(select k from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1] || t.attnum) k order by 1)
              ) as is_led_already
from tenant t join pg_index i on i.indrelid = t.oid join pg_class x on x.oid = i.indexrelid
join pg_class c on c.oid = t.oid join pg_am am on am.oid = x.relam join pg_namespace n on n.oid = x.relnamespace
left join pg_constraint k on k.conindid = x.oid and k.conrelid = t.oid and k.contype in ('p', 'u', 'x')
where x.relkind in ('i', 'I') and not x.relispartition
order by t.oid, x.relname";
