//! The tables of shared corpora, and the statements that make them.

use serde_json::Value;
use tenancy_core::Corpus;
use tenancy_pg::{Declaration, Relation, RowKeyType, TenantTable};

use super::super::error::PgVectorError;
use super::super::key::Key;
use super::super::pair::{Pair, Whose, quoted, quoted_text};
use super::super::policies::Wanted;
use super::super::rights;
use crate::name::VectorName;
use crate::schema::Schema;

/// The two tables that hold the points of shared corpora: one of points, which every tenant of the service reads and nobody
/// but the role that publishes writes, and one that says whether a corpus may still have points.
///
/// The points are to be declared as a global table, which is one that the service's role reads. The second table is out of
/// its reach.
///
/// ```
/// use tenancy_pg::{Declaration, RowKeyType, TenantTable};
/// use tenancy_vector::Schema;
/// use tenancy_vector::pgvector::PgCorpusTables;
///
/// let tables = PgCorpusTables::new("public", "statute", &Schema::hybrid(768)?)?;
/// let declaration = Declaration::builder()
///     .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid)?)
///     .global_table("public", "statute")
///     .build()?;
/// let sql = tables.migration_sql(&declaration, "app", "vector_publisher")?; // for the owner to run
/// assert!(sql.contains(r#"GRANT SELECT ON "public"."statute" TO "app""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PgCorpusTables {
    pub(super) pair: Pair,
    schema: String,
    table: String,
}

impl PgCorpusTables {
    /// Tables in a schema of the database: `<table>`, and `<table>_life`. They hold any number of corpora with these vectors.
    ///
    /// # Errors
    /// [`PgVectorError`] for names that Postgres can't hold, and dimensions that pgvector does not keep.
    pub fn new(schema: &str, table: &str, vectors: &Schema) -> Result<Self, PgVectorError> {
        let pair = Pair::new(Whose::Corpora, schema, table, vectors)?;
        Ok(Self { pair, schema: schema.to_owned(), table: table.to_owned() })
    }

    /// Whether the points are among the declared global tables.
    #[must_use]
    pub fn is_declared(&self, declaration: &Declaration) -> bool {
        let same = |ours: &Relation| (ours.schema(), ours.table()) == (self.schema.as_str(), self.table.as_str());
        declaration.global_tables().iter().any(same)
    }

    /// The statements that make the tables where they are not there, and protect them: row level security enabled and
    /// forced, with one policy for the service's role, which reads every corpus where a tenant is in scope, and one for the
    /// role that publishes, which reads and writes the one corpus that its own setting names.
    ///
    /// For the owner, in a migration; neither role may be the owner, and the one that publishes has no other rights in the
    /// database. The extension `vector` must be there, and its schema on the search path. Idempotent; a table that is there
    /// keeps its columns, and [`prepare`](crate::SharedVectors::prepare) says whether they fit.
    ///
    /// # Errors
    /// [`PgVectorError::CorporaNotDeclared`] and [`PgVectorError::SameRole`].
    pub fn migration_sql(
        &self,
        declaration: &Declaration,
        app_role: &str,
        publisher_role: &str,
    ) -> Result<String, PgVectorError> {
        self.ensure_declared(declaration)?;
        if app_role == publisher_role {
            return Err(PgVectorError::SameRole { role: app_role.to_owned(), task: "publishes" });
        }
        let Pair { points, lives, namespace, .. } = &self.pair;
        let (app, publisher) = (quoted(app_role), quoted(publisher_role));
        let (scope, bound) = (reader(declaration).sql, publishing());
        let mut sql = self.pair.create_sql();
        sql += &format!(
            "GRANT USAGE ON SCHEMA {namespace} TO {app}, {publisher};
REVOKE ALL ON {points}, {lives} FROM PUBLIC, {app}, {publisher};
GRANT SELECT ON {points} TO {app};
GRANT SELECT, INSERT, UPDATE, DELETE ON {points} TO {publisher};
GRANT SELECT, INSERT, UPDATE (open) ON {lives} TO {publisher};
DROP POLICY IF EXISTS {READER} ON {points};
CREATE POLICY {READER} ON {points} FOR SELECT TO {app} USING ({scope});
"
        );
        for relation in [points, lives] {
            sql += &format!(
                "ALTER TABLE {relation} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {relation} FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS {PUBLISHER} ON {relation};
CREATE POLICY {PUBLISHER} ON {relation} FOR ALL TO {publisher} USING ({bound}) WITH CHECK ({bound});
"
            );
        }
        Ok(sql)
    }

    /// Says how the points are to be declared, where they are not.
    ///
    /// # Errors
    /// [`PgVectorError::CorporaNotDeclared`].
    pub fn ensure_declared(&self, declaration: &Declaration) -> Result<(), PgVectorError> {
        if self.is_declared(declaration) {
            return Ok(());
        }
        Err(PgVectorError::CorporaNotDeclared { entries: self.to_toml() })
    }

    /// What to declare, as an entry of `global-tables` in the `[database]` section of `tenancy.toml`.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // A basic string of TOML is one of JSON, but for one character.
        let quoted = |name: &str| Value::from(name).to_string().replace('\u{7f}', "\\u007f");
        let (schema, table) = (quoted(&self.schema), quoted(&self.table));
        if self.schema == "public" {
            format!("{{ table = {table} }}")
        } else {
            format!("{{ schema = {schema}, table = {table} }}")
        }
    }

    /// The statement that makes the index of one corpus on a dense vector, approximate as such indexes are: how many points
    /// come is never less for it, and a query that is to be exact does not use it. For the owner, outside of a transaction.
    ///
    /// `None` for a vector that is not dense, or has more than 2,000 dimensions.
    #[must_use]
    pub fn index_sql(&self, corpus: &Corpus, vector: &VectorName) -> Option<String> {
        self.pair.index_sql(&Key::of_corpus(corpus.life()), vector)
    }

    /// The statement that takes the index away again.
    #[must_use]
    pub fn drop_index_sql(&self, corpus: &Corpus, vector: &VectorName) -> Option<String> {
        self.pair.drop_index_sql(&Key::of_corpus(corpus.life()), vector)
    }
}

/// A condition as it is written, and as the catalog prints it.
pub(super) struct Written {
    pub(super) sql: String,
    pub(super) printed: String,
}

/// That a tenant is in scope.
pub(super) fn reader(declaration: &Declaration) -> Written {
    let keys = declaration.tenant_tables().first().map(TenantTable::key);
    if let Some(function) = keys.filter(|_| declaration.signed()).and_then(verifier) {
        return Written {
            sql: format!("(SELECT tenancy.{function}()) IS NOT NULL"),
            printed: format!("(( SELECT tenancy.{function}() AS {function}) IS NOT NULL)"),
        };
    }
    let setting = quoted_text(declaration.setting());
    Written {
        sql: format!("NULLIF(current_setting({setting}, true), '') IS NOT NULL"),
        printed: format!(
            "(NULLIF(current_setting('{}'::text, true), ''::text) IS NOT NULL)",
            declaration.setting().replace('\'', "''")
        ),
    }
}

fn verifier(key: RowKeyType) -> Option<&'static str> {
    match key {
        RowKeyType::Uuid => Some("signed_row_key_uuid"),
        RowKeyType::BigInt => Some("signed_row_key_bigint"),
        RowKeyType::Text => Some("signed_row_key_text"),
        // A kind that this version does not know has no seal either.
        _later => None,
    }
}

/// That a row is of the corpus which is being published.
fn publishing() -> String {
    let [setting, _] = Whose::Corpora.settings();
    format!("corpus = nullif(current_setting('{setting}', true), '')::uuid")
}

/// The policies of the role that publishes, as the catalog prints them to it or to another.
pub(super) fn published_by(is_ours: bool) -> [Wanted; 2] {
    let [setting, _] = Whose::Corpora.settings();
    let bound = format!("(corpus = (NULLIF(current_setting('{setting}'::text, true), ''::text))::uuid)");
    [true, false].map(|on_points| Wanted {
        on_points,
        name: PUBLISHER,
        command: "*",
        is_ours,
        reads: bound.clone(),
        writes: Some(bound.clone()),
    })
}

/// What the role that publishes is to have.
pub(super) const PUBLISHES: rights::Wanted =
    rights::Wanted { points: &["SELECT", "INSERT", "UPDATE", "DELETE"], lives: &["SELECT", "INSERT", "UPDATE (open)"] };

pub(super) const READER: &str = "tenancy_corpus_reader";
const PUBLISHER: &str = "tenancy_corpus_publisher";
