//! `tenancy vectors`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenancy_pg::Declaration;
use tenancy_vector::pgvector::{PgCorpusTables, PgVectorError, PgVectorTables};
use tenancy_vector::{Schema, VectorName};

use crate::args::{Declared, row_key};
use crate::failure::Failure;
use crate::output::print;
use crate::verdict::Verdict;

/// Tables of vectors in Postgres, with pgvector. The extension `vector` is to be there, which a superuser makes.
#[derive(Subcommand)]
pub(crate) enum Options {
    /// Print the migration that makes the tables of tenants' vectors, TABLE and TABLE_life, and protects them. Both are to
    /// be declared as tenant tables. For the owner.
    Tables {
        #[command(flatten)]
        made: Made,
        /// The role that drops the vectors of a tenant that ends: a login of its own.
        #[arg(long, value_name = "ROLE")]
        eraser: String,
    },
    /// Print the migration that makes the tables of shared corpora, TABLE and TABLE_life, and protects them. TABLE is to be
    /// declared as a global table. For the owner.
    Corpora {
        #[command(flatten)]
        made: Made,
        /// The role that publishes: a login of its own, without any other right.
        #[arg(long, value_name = "ROLE")]
        publisher: String,
    },
    /// Print the statement that makes the index of one large tenant on a dense vector. For the owner, outside of a
    /// transaction.
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
            made.print(&tables.migration_sql(&declaration, &made.app, eraser), "tenant-tables")?;
        }
        Options::Corpora { made, publisher } => {
            let (declaration, tables) = made.table.of_corpora()?;
            made.print(&tables.migration_sql(&declaration, &made.app, publisher), "global-tables")?;
        }
        Options::Index { table, row_key: text, vector, drop } => {
            let (declaration, tables) = table.of_tenants()?;
            let vector = VectorName::parse(vector).map_err(|error| argument("--vector", &error))?;
            let key = row_key("--row-key", text, &declaration)?;
            let sql = if *drop { tables.drop_index_sql(&key, &vector) } else { tables.index_sql(&key, &vector) };
            print(sql.ok_or_else(|| {
                let why = "an index is made on a dense vector of at most 2,000 dimensions".to_owned();
                Failure::Argument { name: "--vector", why }
            })?)?;
        }
    }
    Ok(Verdict::PASSED)
}

impl Made {
    fn print(&self, sql: &str, kind: &str) -> Result<(), Failure> {
        if !self.json {
            return print(sql);
        }
        let (schema, table) = self.table.names();
        let named = |table: String| json!({ "schema": schema, "table": table });
        let declared: Value = match kind {
            "tenant-tables" => json!([named(table.to_owned()), named(format!("{table}_life"))]),
            _global => json!([named(table.to_owned())]),
        };
        print(format_args!("{:#}\n", json!({ kind: declared, "up": sql })))
    }
}

impl Table {
    fn names(&self) -> (&str, &str) {
        self.table.split_once('.').unwrap_or(("public", &self.table))
    }

    fn of_tenants(&self) -> Result<(Declaration, PgVectorTables), Failure> {
        let (declaration, (schema, table)) = (self.declared.read()?, self.names());
        let mut tables =
            PgVectorTables::new(schema, table, &self.vectors.schema()?).map_err(|error| of_tables(&error))?;
        if let Some(points) = declaration.tenant_tables().iter().find(|t| (t.schema(), t.table()) == (schema, table)) {
            tables = tables.with_row_keys(points.key()).map_err(|error| of_tables(&error))?;
        }
        if tables.are_declared(&declaration) {
            return Ok((declaration, tables));
        }
        let why = format!(
            "declare {table} and {table}_life as tenant tables, column = 'tenant_id', with one type of row keys: without \
             that no policy is made"
        );
        Err(Failure::Argument { name: "--table", why })
    }

    fn of_corpora(&self) -> Result<(Declaration, PgCorpusTables), Failure> {
        let (declaration, (schema, table)) = (self.declared.read()?, self.names());
        let tables = PgCorpusTables::new(schema, table, &self.vectors.schema()?).map_err(|error| of_tables(&error))?;
        if tables.is_declared(&declaration) {
            return Ok((declaration, tables));
        }
        let why = format!("declare {table} as a global table: without that the inspection finds it");
        Err(Failure::Argument { name: "--table", why })
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
    argument("--table", error)
}
