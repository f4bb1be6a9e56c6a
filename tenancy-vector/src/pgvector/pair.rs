//! Two tables: one of points, and one of lives, which says whether a life may still have points. A pair is the tenants', or
//! that of shared corpora.

use tenancy_pg::{DeclarationError, TenantTable};

use super::columns::{Column, MAX_INDEXED};
use super::error::PgVectorError;
use super::key::{Key, KeyKind};
use crate::name::VectorName;
use crate::schema::Schema;

/// A pair of tables, as SQL names them.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    schema: Schema,
    columns: Vec<Column>,
    /// The schema of the database.
    pub(super) namespace: String,
    pub(super) points: String,
    pub(super) lives: String,
    pub(super) whose: Whose,
    pub(super) keys: KeyKind,
}

/// Whose rows are in a pair of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Tenants', each told by its row key.
    Tenants,
    /// Shared corpora's, each told by its mark.
    Corpora,
}

impl Pair {
    /// `<table>` and `<table>_life`.
    pub(super) fn new(whose: Whose, schema: &str, table: &str, vectors: &Schema) -> Result<Self, PgVectorError> {
        let keys = KeyKind::Uuid;
        let [points, lives] =
            names(whose, schema, table, keys)?.map(|table| quoted_relation(table.schema(), table.table()));
        let columns = Column::all(vectors)?;
        Ok(Self { schema: vectors.clone(), columns, namespace: quoted(schema), points, lives, whose, keys })
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

    /// The column of the owner's key.
    pub(super) const fn owner(&self) -> &'static str {
        self.whose.column()
    }

    /// The name of the index of an owner on a vector, without the schema, and its column.
    pub(super) fn index_of(&self, owner: &Key, vector: &VectorName) -> Option<(String, String)> {
        let place = self.columns.iter().position(|column| column.name == *vector)?;
        let column = self.columns.get(place)?;
        let indexed = column.dimension().is_some_and(|dimension| dimension <= MAX_INDEXED);
        let indexed = indexed && owner.kind() == self.keys;
        indexed.then(|| (format!("tenancy_hnsw_{}_{place}", owner.name()), column.value()))
    }

    pub(super) fn index_sql(&self, owner: &Key, vector: &VectorName) -> Option<String> {
        let (name, column) = self.index_of(owner, vector)?;
        Some(format!(
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {} USING hnsw ({column} vector_ip_ops) WHERE {} = {};\n",
            self.points,
            self.owner(),
            owner.literal()
        ))
    }

    pub(super) fn drop_index_sql(&self, owner: &Key, vector: &VectorName) -> Option<String> {
        let (name, _) = self.index_of(owner, vector)?;
        Some(format!("DROP INDEX CONCURRENTLY IF EXISTS {}.{name};\n", self.namespace))
    }

    pub(super) fn create_sql(&self) -> String {
        let (points, lives, owner, key) = (&self.points, &self.lives, self.owner(), self.keys.sql());
        let columns: String = self.columns.iter().map(|column| format!("    {},\n", column.definition())).collect();
        // No tenant's life is of version 8, and a corpus has one life for ever.
        let (mark, life) = match self.whose {
            Whose::Tenants => ("", ""),
            Whose::Corpora => (" CHECK (substr(corpus::text, 15, 1) = '8')", " CHECK (life = corpus)"),
        };
        // The key from points to lives has the flag in it: a life is closed by changing the flag, which the server refuses
        // while a point is left, and from then on it refuses points.
        format!(
            "CREATE TABLE IF NOT EXISTS {lives} (
    {owner} {key} PRIMARY KEY{mark},
    life uuid NOT NULL UNIQUE{life},
    open boolean NOT NULL DEFAULT true,
    UNIQUE ({owner}, open)
);
CREATE TABLE IF NOT EXISTS {points} (
    {owner} {key} NOT NULL,
    open boolean NOT NULL DEFAULT true CHECK (open),
    life uuid NOT NULL{life},
    id uuid NOT NULL,
    digest bytea NOT NULL,
    name bytea NOT NULL,
    payload jsonb NOT NULL,
{columns}    PRIMARY KEY ({owner}, id),
    FOREIGN KEY ({owner}, open) REFERENCES {lives} ({owner}, open)
);
COMMENT ON TABLE {points} IS {};
",
            quoted_text(&self.schema.to_json().to_string())
        )
    }
}

impl Whose {
    const fn column(self) -> &'static str {
        match self {
            Self::Tenants => "tenant_id",
            Self::Corpora => "corpus",
        }
    }

    /// The settings that name whose points, and which life, a role sees that is not the service's. They are that role's own:
    /// nobody else has a policy with them.
    pub(super) const fn settings(self) -> [&'static str; 2] {
        match self {
            Self::Tenants => ["tenancy.erasing", "tenancy.erasing_life"],
            Self::Corpora => ["tenancy.publishing", "tenancy.publishing"],
        }
    }
}

/// The two tables, to be declared where they are tenants'. The service enters a life and has no right to close or remove one.
pub(super) fn names(
    whose: Whose,
    schema: &str,
    table: &str,
    keys: KeyKind,
) -> Result<[TenantTable; 2], DeclarationError> {
    let declared = |table: &str| TenantTable::new(schema, table, whose.column(), keys.declared());
    Ok([declared(table)?, declared(&format!("{table}_life"))?.append_only()])
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted_relation(schema: &str, table: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(table))
}

/// With the escapes of `E''`, whatever the server takes a backslash for.
pub(super) fn quoted_text(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
