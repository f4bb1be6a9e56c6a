//! `tenancy vectors`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenancy_pg::{Declaration, TenantTable};
use tenancy_vector::pgvector::{PgCorpusTables, PgVectorError, PgVectorTables};
use tenancy_vector::{Schema, VectorName};

use crate::args::{Declared, row_key};
use crate::around::Around;
use crate::failure::Failure;
use crate::output::print;
use crate::verdict::Verdict;

/// Tables of vectors in Postgres, with pgvector. The extension `vector` is to be there, which a superuser makes.
#[derive(Subcommand)]
pub(crate) enum Options {
    /// Print the migration that makes the tables of tenants' vectors, TABLE and TABLE_life, and protects them. Both are to
    /// be declared as tenant tables, TABLE_life as append-only. For the owner.
    #[command(after_help = TABLES)]
    Tables {
        #[command(flatten)]
        made: Made,
        /// The role that drops the vectors of a tenant that ends: a login of its own.
        #[arg(long, value_name = "ROLE")]
        eraser: String,
    },
    /// Print the migration that makes the tables of shared corpora, TABLE and TABLE_life, and protects them. TABLE is to be
    /// declared as a global table. For the owner.
    #[command(after_help = CORPORA)]
    Corpora {
        #[command(flatten)]
        made: Made,
        /// The role that publishes: a login of its own, without any other right.
        #[arg(long, value_name = "ROLE")]
        publisher: String,
    },
    /// Print the statement that makes the index of one large tenant on a dense vector. For the owner, outside of a
    /// transaction.
    #[command(after_help = INDEX)]
    Index {
        #[command(flatten)]
        table: Table,
        /// The tenant's row key.
        #[arg(long, value_name = "KEY")]
        row_key: String,
        /// The vector.
        #[arg(long, value_name = "NAME", default_value = "dense")]
        vector: String,
        /// The statement that takes it away again.
        #[arg(long)]
        drop: bool,
    },
}

#[derive(Args)]
pub(crate) struct Made {
    #[command(flatten)]
    table: Table,
    /// The service's role.
    #[arg(long, value_name = "ROLE")]
    app: String,
    /// The migration and what is to be declared, as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Table {
    #[command(flatten)]
    declared: Declared,
    /// The table of points, in `public` unless a schema is named.
    #[arg(long, value_name = "[SCHEMA.]TABLE")]
    table: String,
    #[command(flatten)]
    vectors: Vectors,
}

/// Which vectors a point has.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Vectors {
    /// One dense vector of so many dimensions, by cosine.
    #[arg(long, value_name = "DIMENSION")]
    dense: Option<usize>,
    /// A dense one and a sparse one.
    #[arg(long, value_name = "DIMENSION")]
    hybrid: Option<usize>,
    /// What `Schema::to_json` gives, in a file.
    #[arg(long, value_name = "FILE")]
    vectors: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<Verdict, Failure> {
    match options {
        Options::Tables { made, eraser } => {
            let (declaration, tables) = made.table.of_tenants()?;
            let sql = tables.migration_sql(&declaration, &made.app, eraser);
            let around =
                Around { declaration: &declaration, app: &made.app, other: (eraser, "drops lives"), of_tenants: true };
            let declared = tables.tenant_tables();
            let entries = declared.iter().map(|table| (table.to_toml(), entry(table))).collect();
            made.print(&around, &sql.map_err(|error| of_tables(&error))?, "tenant-tables", entries)?;
        }
        Options::Corpora { made, publisher } => {
            let (declaration, tables) = made.table.of_corpora()?;
            let sql = tables.migration_sql(&declaration, &made.app, publisher);
            let around = Around {
                declaration: &declaration,
                app: &made.app,
                other: (publisher, "publishes"),
                of_tenants: false,
            };
            let (schema, table) = made.table.names();
            let entries = vec![(tables.to_toml(), json!({ "schema": schema, "table": table }))];
            made.print(&around, &sql.map_err(|error| of_tables(&error))?, "global-tables", entries)?;
        }
        Options::Index { table, row_key: text, vector, drop } => {
            let (declaration, tables) = table.of_tenants()?;
            let vector = VectorName::parse(vector).map_err(|error| argument("--vector", &error))?;
            let key = row_key("--row-key", text, &declaration)?;
            let sql = if *drop { tables.drop_index_sql(&key, &vector) } else { tables.index_sql(&key, &vector) };
            let sql = sql.ok_or_else(|| {
                let why = "an index is made on a dense vector of at most 2,000 dimensions".to_owned();
                Failure::Argument { name: "--vector", why }
            })?;
            print(format_args!("{ALONE}{sql}"))?;
        }
    }
    Ok(Verdict::PASSED)
}

impl Made {
    /// The entries are what is declared, as a line of `tenancy.toml` and for programs.
    fn print(&self, around: &Around<'_>, sql: &str, kind: &str, entries: Vec<(String, Value)>) -> Result<(), Failure> {
        let (lines, values): (Vec<String>, Vec<Value>) = entries.into_iter().unzip();
        if self.json {
            print(format_args!("{:#}\n", json!({ kind: values, "up": sql })))
        } else {
            print(around.text(sql, kind, &lines))
        }
    }
}

fn entry(table: &TenantTable) -> Value {
    let mut entry = json!({
        "schema": table.schema(), "table": table.table(), "column": table.column(), "type": table.key(),
    });
    if table.is_append_only() {
        entry["append-only"] = Value::Bool(true);
    }
    entry
}

impl Table {
    fn names(&self) -> (&str, &str) {
        self.table.split_once('.').unwrap_or(("public", &self.table))
    }

    fn of_tenants(&self) -> Result<(Declaration, PgVectorTables), Failure> {
        let (declaration, (schema, table)) = (self.declared.read()?, self.names());
        let mut tables =
            PgVectorTables::new(schema, table, &self.vectors.schema()?).map_err(|error| of_tables(&error))?;
        let all = declaration.tenant_tables();
        let points = all.iter().find(|t| (t.schema(), t.table()) == (schema, table));
        if let Some(like) = points.or(all.first()) {
            tables = tables.with_row_keys(like.key()).map_err(|error| of_tables(&error))?;
        }
        tables.ensure_declared(&declaration).map_err(|error| of_tables(&error))?;
        Ok((declaration, tables))
    }

    fn of_corpora(&self) -> Result<(Declaration, PgCorpusTables), Failure> {
        let (declaration, (schema, table)) = (self.declared.read()?, self.names());
        let tables = PgCorpusTables::new(schema, table, &self.vectors.schema()?).map_err(|error| of_tables(&error))?;
        tables.ensure_declared(&declaration).map_err(|error| of_tables(&error))?;
        Ok((declaration, tables))
    }
}

impl Vectors {
    fn schema(&self) -> Result<Schema, Failure> {
        match (self.dense, self.hybrid, &self.vectors) {
            (Some(dimension), _, _) => Schema::dense(dimension).map_err(|error| argument("--dense", &error)),
            (None, Some(dimension), _) => Schema::hybrid(dimension).map_err(|error| argument("--hybrid", &error)),
            (None, None, Some(path)) => {
                let failed = |why: String| Failure::Config { place: path.display().to_string(), why };
                let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
                let value: Value = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
                Schema::from_json(&value).ok_or_else(|| failed("this is no schema of vectors".to_owned()))
            }
            // The command line asks for one of them.
            (None, None, None) => Ok(Schema::new()),
        }
    }
}

fn argument(name: &'static str, error: &dyn std::error::Error) -> Failure {
    Failure::Argument { name, why: error.to_string() }
}

fn of_tables(error: &PgVectorError) -> Failure {
    let name = if matches!(error, PgVectorError::SameRole { .. }) { "--app" } else { "--table" };
    argument(name, error)
}

const TABLES: &str = "What has to be there before, and what comes after, stands in the text as comments.

Examples:
  tenancy vectors tables --table chunk --hybrid 768 --app app --eraser vector_eraser > vectors.sql
  psql --single-transaction -v ON_ERROR_STOP=1 -f vectors.sql postgres://owner@db.internal/rag

tenancy.toml says of these tables:
  [database]
  tenant-tables = [
      { table = \"chunk\", column = \"tenant_id\", type = \"uuid\" },
      { table = \"chunk_life\", column = \"tenant_id\", type = \"uuid\", append-only = true },
  ]";

const CORPORA: &str = "What has to be there before, and what comes after, stands in the text as comments.

Examples:
  tenancy vectors corpora --table statute --hybrid 768 --app app --publisher vector_publisher > corpora.sql
  psql --single-transaction -v ON_ERROR_STOP=1 -f corpora.sql postgres://owner@db.internal/rag

tenancy.toml says of the table:
  [database]
  global-tables = [{ table = \"statute\" }]";

const INDEX: &str = "Examples:
  tenancy vectors index --table chunk --hybrid 768 --row-key 0b5bd7a4-5a3c-4d0e-9a51-6a5f5b7f0a11 \\
      | psql -v ON_ERROR_STOP=1 postgres://owner@db.internal/rag
  tenancy vectors index --table chunk --hybrid 768 --row-key 0b5bd7a4-5a3c-4d0e-9a51-6a5f5b7f0a11 --drop";

const ALONE: &str = "-- As the owner of the table, in no transaction: psql without --single-transaction.\n";
