//! The tables, and the statements that make them.

use std::fmt::Write;

use tenancy_pg::{Declaration, RowKeyType, TenantTable};
use uuid::Uuid;

use super::columns::{Column, MAX_INDEXED};
use super::error::PgVectorError;
use crate::name::VectorName;
use crate::schema::Schema;

/// The two tables that hold the vectors of all tenants: one of points, and one of lives, which says whether a life may
/// still have points. Both are tenant tables, to be declared as such.
///
/// ```
/// use tenancy_pg::Declaration;
/// use tenancy_vector::Schema;
/// use tenancy_vector::pgvector::PgVectorTables;
///
/// let tables = PgVectorTables::new("public", "chunk", &Schema::hybrid(768)?)?;
/// let [points, lives] = tables.tenant_tables();
/// let declaration = Declaration::builder().tenant_table(points).tenant_table(lives).build()?;
/// let sql = tables.migration_sql(&declaration, "app", "vector_eraser"); // for the owner to run
/// assert!(sql.contains(r#"FORCE ROW LEVEL SECURITY"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PgVectorTables {
    schema: Schema,
    declared: [TenantTable; 2],
    columns: Vec<Column>,
    /// As SQL names them.
    pub(super) points: String,
    pub(super) lives: String,
}

impl PgVectorTables {
    /// Tables in a schema of the database: `<table>`, and `<table>_life`.
    ///
    /// # Errors
    /// [`PgVectorError`] for names that Postgres can't hold, and dimensions that pgvector does not keep.
    pub fn new(schema: &str, table: &str, vectors: &Schema) -> Result<Self, PgVectorError> {
        let declared = |table: &str| TenantTable::new(schema, table, "tenant_id", RowKeyType::Uuid);
        let declared = [declared(table)?, declared(&format!("{table}_life"))?];
        let [points, lives] = declared.each_ref().map(|table| quoted_relation(table.schema(), table.table()));
        Ok(Self { schema: vectors.clone(), declared, columns: Column::all(vectors)?, points, lives })
    }

    /// What to declare: the points, and the lives.
    pub fn tenant_tables(&self) -> [TenantTable; 2] {
        self.declared.clone()
    }

    /// The statements that make the tables where they are not there, and protect them: row level security enabled and
    /// forced with the declaration's policy, the rights of the service's role, and those of the role that drops lives.
    ///
    /// For the owner, in a migration; the service's role must not be the owner. The extension `vector` must be there, and
    /// its schema on the search path. Idempotent; a table that is there keeps its columns, and
    /// [`prepare`](crate::VectorStore::prepare) says whether they fit. In signed mode the role that drops lives belongs
    /// among the roles of [`signed_schema_sql`](tenancy_pg::signed_schema_sql).
    #[must_use]
    pub fn migration_sql(&self, declaration: &Declaration, app_role: &str, eraser_role: &str) -> String {
        let mut sql = self.create_sql();
        for table in declaration.tenant_tables().iter().filter(|table| self.is_ours(table)) {
            sql += &table.policy_sql();
        }
        sql + &self.rights_sql(&quoted(app_role), &quoted(eraser_role))
    }

    /// The statement that makes the index of one large tenant on a dense vector: it holds no other tenant's points, so no
    /// other's density shows in it, and none takes the place of the tenant's own. For the owner, outside of a transaction.
    ///
    /// From how many points on it pays depends on the server; without one, each search looks at all of the tenant's points.
    /// `None` for a vector that is not dense, or has more than 2,000 dimensions.
    #[must_use]
    pub fn index_sql(&self, row_key: Uuid, vector: &VectorName) -> Option<String> {
        let (name, column) = self.index_of(row_key, vector)?;
        Some(format!(
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {} USING hnsw ({column} vector_ip_ops) WHERE tenant_id = '{row_key}';\n",
            self.points
        ))
    }

    /// The statement that takes the index away again.
    #[must_use]
    pub fn drop_index_sql(&self, row_key: Uuid, vector: &VectorName) -> Option<String> {
        let (name, _) = self.index_of(row_key, vector)?;
        Some(format!("DROP INDEX CONCURRENTLY IF EXISTS {}.{name};\n", quoted(self.declared[0].schema())))
    }

    pub(super) const fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(super) fn column(&self, name: &VectorName) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == *name)
    }

    pub(super) fn is_ours(&self, table: &TenantTable) -> bool {
        let same = |ours: &TenantTable| {
            (ours.schema(), ours.table(), ours.column(), ours.key())
                == (table.schema(), table.table(), table.column(), table.key())
        };
        self.declared.iter().any(same)
    }

    /// The name of the index of a tenant on a vector, without the schema, and its column.
    pub(super) fn index_of(&self, row_key: Uuid, vector: &VectorName) -> Option<(String, String)> {
        let place = self.columns.iter().position(|column| column.name == *vector)?;
        let column = self.columns.get(place)?;
        let indexed = column.dimension().is_some_and(|dimension| dimension <= MAX_INDEXED);
        indexed.then(|| (format!("tenancy_hnsw_{}_{place}", row_key.simple()), column.value()))
    }

    fn create_sql(&self) -> String {
        let (points, lives) = (&self.points, &self.lives);
        let columns: String = self.columns.iter().map(|column| format!("    {},\n", column.definition())).collect();
        // The key from points to lives has the flag in it: a life is closed by changing the flag, which the server refuses
        // while a point is left, and from then on it refuses points.
        format!(
            "CREATE TABLE IF NOT EXISTS {lives} (
    tenant_id uuid PRIMARY KEY,
    life uuid NOT NULL UNIQUE,
    open boolean NOT NULL DEFAULT true,
    UNIQUE (tenant_id, open)
);
CREATE TABLE IF NOT EXISTS {points} (
    tenant_id uuid NOT NULL,
    open boolean NOT NULL DEFAULT true CHECK (open),
    life uuid NOT NULL,
    id uuid NOT NULL,
    digest bytea NOT NULL,
    name bytea NOT NULL,
    payload jsonb NOT NULL,
{columns}    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, open) REFERENCES {lives} (tenant_id, open)
);
COMMENT ON TABLE {points} IS {};
",
            quoted_text(&self.schema.to_json().to_string())
        )
    }

    fn rights_sql(&self, app: &str, eraser: &str) -> String {
        let (points, lives, schema) = (&self.points, &self.lives, quoted(self.declared[0].schema()));
        let mut sql = format!("GRANT USAGE ON SCHEMA {schema} TO {app}, {eraser};\n");
        for (relation, of_app, of_eraser, bound) in [
            (points, "SELECT, INSERT, UPDATE, DELETE", "SELECT, DELETE", ("tenant_id", ERASING)),
            (lives, "SELECT, INSERT", "SELECT, INSERT, UPDATE (open)", ("life", ERASING_LIFE)),
        ] {
            let (column, setting) = bound;
            let bound = format!("{column} = nullif(current_setting('{setting}', true), '')::uuid");
            // Writing to a string does not fail.
            let _infallible = write!(
                sql,
                "REVOKE ALL ON {relation} FROM {app}, {eraser};
GRANT {of_app} ON {relation} TO {app};
GRANT {of_eraser} ON {relation} TO {eraser};
DROP POLICY IF EXISTS tenancy_vector_eraser ON {relation};
CREATE POLICY tenancy_vector_eraser ON {relation} FOR ALL TO {eraser} USING ({bound}) WITH CHECK ({bound});
"
            );
        }
        sql
    }
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted_relation(schema: &str, table: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(table))
}

/// With the escapes of `E''`, whatever the server takes a backslash for.
fn quoted_text(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// The settings that name what the role that drops lives may see. They are its own: nobody else has a policy with them.
pub(super) const ERASING: &str = "tenancy.erasing";
pub(super) const ERASING_LIFE: &str = "tenancy.erasing_life";
