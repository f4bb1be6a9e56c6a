//! The tenants' tables, and the statements that make them.

use std::fmt::Write;

use tenancy_core::RowKey;
use tenancy_pg::{Declaration, RowKeyType, TenantTable};

use super::error::PgVectorError;
use super::key::{Key, KeyKind};
use super::pair::{Pair, Whose, names, quoted};
use super::policies::Wanted;
use super::rights;
use crate::name::VectorName;
use crate::schema::Schema;

/// The two tables that hold the vectors of all tenants: one of points, and one of lives, which says whether a life may
/// still have points. Both are tenant tables, to be declared as such, the lives as
/// [`append_only`](TenantTable::append_only): a statement that a tenant smuggles in must not close, open or remove one.
///
/// ```
/// use tenancy_pg::Declaration;
/// use tenancy_vector::Schema;
/// use tenancy_vector::pgvector::PgVectorTables;
///
/// let tables = PgVectorTables::new("public", "chunk", &Schema::hybrid(768)?)?;
/// let [points, lives] = tables.tenant_tables();
/// let declaration = Declaration::builder().tenant_table(points).tenant_table(lives).build()?;
/// let sql = tables.migration_sql(&declaration, "app", "vector_eraser")?; // for the owner to run
/// assert!(sql.contains(r#"FORCE ROW LEVEL SECURITY"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PgVectorTables {
    pub(super) pair: Pair,
    declared: [TenantTable; 2],
}

impl PgVectorTables {
    /// Tables in a schema of the database: `<table>`, and `<table>_life`.
    ///
    /// # Errors
    /// [`PgVectorError`] for names that Postgres can't hold, and dimensions that pgvector does not keep.
    pub fn new(schema: &str, table: &str, vectors: &Schema) -> Result<Self, PgVectorError> {
        let pair = Pair::new(Whose::Tenants, schema, table, vectors)?;
        Ok(Self { declared: names(Whose::Tenants, schema, table, pair.keys)?, pair })
    }

    /// With row keys of another type than uuids: those of the database's other tenant tables, since a tenant has one row key.
    ///
    /// # Errors
    /// [`PgVectorError::RowKeys`] for a type that this version does not know.
    pub fn with_row_keys(mut self, keys: RowKeyType) -> Result<Self, PgVectorError> {
        self.pair.keys = KeyKind::of(keys).ok_or(PgVectorError::RowKeys)?;
        let [points, _] = &self.declared;
        self.declared = names(Whose::Tenants, points.schema(), points.table(), self.pair.keys)?;
        Ok(self)
    }

    /// What to declare: the points, and the lives.
    pub fn tenant_tables(&self) -> [TenantTable; 2] {
        self.declared.clone()
    }

    /// Whether both are among the declared tenant tables, as what they are: of these row keys, and the lives, and they alone, as
    /// append-only.
    #[must_use]
    pub fn are_declared(&self, declaration: &Declaration) -> bool {
        declaration.tenant_tables().iter().filter(|table| self.is_ours(table)).count() == self.declared.len()
    }

    /// The statements that make the tables where they are not there, and protect them: row level security enabled and
    /// forced with the declaration's policy, the rights of the service's role, and those of the role that drops lives.
    ///
    /// For the owner, in a migration; the service's role must not be the owner. The extension `vector` must be there, and
    /// its schema on the search path. Idempotent; a table that is there keeps its columns, and
    /// [`prepare`](crate::VectorStore::prepare) says whether they fit. In signed mode the role that drops lives belongs
    /// among the roles of [`signed_schema_sql`](tenancy_pg::signed_schema_sql).
    ///
    /// # Errors
    /// [`PgVectorError::NotDeclared`] for tables without a policy or with too many rights, as they would be then, and
    /// [`PgVectorError::SameRole`].
    pub fn migration_sql(
        &self,
        declaration: &Declaration,
        app_role: &str,
        eraser_role: &str,
    ) -> Result<String, PgVectorError> {
        self.ensure_declared(declaration)?;
        if app_role == eraser_role {
            return Err(PgVectorError::SameRole { role: app_role.to_owned(), task: "drops lives" });
        }
        let mut sql = self.pair.create_sql();
        for table in declaration.tenant_tables().iter().filter(|table| self.is_ours(table)) {
            sql += &table.policy_sql();
        }
        Ok(sql + &self.rights_sql(&quoted(app_role), &quoted(eraser_role)))
    }

    /// Says how they are to be declared, where they are not.
    ///
    /// # Errors
    /// [`PgVectorError::NotDeclared`].
    pub fn ensure_declared(&self, declaration: &Declaration) -> Result<(), PgVectorError> {
        if self.are_declared(declaration) {
            return Ok(());
        }
        let [points, lives] = self.declared.each_ref().map(TenantTable::to_toml);
        Err(PgVectorError::NotDeclared { entries: format!("{points}, {lives}") })
    }

    /// The statement that makes the index of one large tenant on a dense vector: it holds no other tenant's points, so no
    /// other's density shows in it, and none takes the place of the tenant's own. For the owner, outside of a transaction.
    ///
    /// From how many points on it pays depends on the server; without one, each search looks at all of the tenant's points.
    /// `None` for a vector that is not dense, or has more than 2,000 dimensions, and for a row key of another type.
    #[must_use]
    pub fn index_sql(&self, row_key: &RowKey, vector: &VectorName) -> Option<String> {
        self.pair.index_sql(&Key::of(row_key)?, vector)
    }

    /// The statement that takes the index away again.
    #[must_use]
    pub fn drop_index_sql(&self, row_key: &RowKey, vector: &VectorName) -> Option<String> {
        self.pair.drop_index_sql(&Key::of(row_key)?, vector)
    }

    /// The statements that let the role that drops lives see which of them the registry of tenants still has, so that its
    /// verdict does not hang on who erased first. For the owner of the registry after the one that makes it, in signed mode
    /// for a superuser. Idempotent. The role learns lives, which name nobody, and no row keys.
    #[must_use]
    pub fn registry_sql(eraser_role: &str) -> String {
        let eraser = quoted(eraser_role);
        format!("GRANT USAGE ON SCHEMA tenancy TO {eraser};\nGRANT SELECT (life) ON tenancy.tenant TO {eraser};\n")
    }

    pub(super) fn is_ours(&self, table: &TenantTable) -> bool {
        let same = |ours: &TenantTable| {
            (ours.schema(), ours.table(), ours.column(), ours.key(), ours.is_append_only())
                == (table.schema(), table.table(), table.column(), table.key(), table.is_append_only())
        };
        self.declared.iter().any(same)
    }

    /// The policies of the role that drops lives, as the catalog prints them to it.
    pub(super) fn erased_by(&self) -> [Wanted; 3] {
        let [erasing, erasing_life] = Whose::Tenants.settings();
        let bound = |column: &str, setting: &str, kind: &str| {
            let key = format!("NULLIF(current_setting('{setting}'::text, true), ''::text)");
            if kind == "text" { format!("({column} = {key})") } else { format!("({column} = ({key})::{kind})") }
        };
        let [of_owner, of_life] =
            [bound(self.pair.owner(), erasing, self.pair.keys.sql()), bound("life", erasing_life, "uuid")];
        let all = |on_points, bound: &str| Wanted {
            on_points,
            name: ERASER,
            command: "*",
            is_ours: true,
            reads: bound.to_owned(),
            writes: Some(bound.to_owned()),
        };
        let verifier = Wanted { name: VERIFIER, command: "r", writes: None, ..all(true, &of_life) };
        [all(true, &of_owner), verifier, all(false, &of_life)]
    }

    fn rights_sql(&self, app: &str, eraser: &str) -> String {
        let Pair { points, lives, namespace, .. } = &self.pair;
        let [erasing, erasing_life] = Whose::Tenants.settings();
        let mut sql = format!("GRANT USAGE ON SCHEMA {namespace} TO {app}, {eraser};\n");
        let key = self.pair.keys.sql();
        for (relation, of_app, of_eraser, bound) in [
            (points, "SELECT, INSERT, UPDATE, DELETE", "SELECT, DELETE", ("tenant_id", erasing, key)),
            (lives, "SELECT, INSERT", "SELECT, INSERT, UPDATE (open)", ("life", erasing_life, "uuid")),
        ] {
            let (column, setting, kind) = bound;
            let bound = format!("{column} = nullif(current_setting('{setting}', true), '')::{kind}");
            // Writing to a string does not fail.
            let _infallible = write!(
                sql,
                "REVOKE ALL ON {relation} FROM {app}, {eraser};
GRANT {of_app} ON {relation} TO {app};
GRANT {of_eraser} ON {relation} TO {eraser};
DROP POLICY IF EXISTS {ERASER} ON {relation};
CREATE POLICY {ERASER} ON {relation} FOR ALL TO {eraser} USING ({bound}) WITH CHECK ({bound});
"
            );
        }
        // Points of a life whose row among the lives is gone, to be counted.
        let of_life = format!("life = nullif(current_setting('{erasing_life}', true), '')::uuid");
        sql + &format!(
            "DROP POLICY IF EXISTS {VERIFIER} ON {points};
CREATE POLICY {VERIFIER} ON {points} FOR SELECT TO {eraser} USING ({of_life});
"
        )
    }
}

/// What the role that drops lives is to have.
pub(super) const ERASES: rights::Wanted =
    rights::Wanted { points: &["SELECT", "DELETE"], lives: &["SELECT", "INSERT", "UPDATE (open)"] };

const ERASER: &str = "tenancy_vector_eraser";
const VERIFIER: &str = "tenancy_vector_verifier";
