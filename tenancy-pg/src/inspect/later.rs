//! What waits to matter, and what can be told without a row: rights on tables to come, rows that leave by replication,
//! sequences, large objects by reference, and plans over many partitions.

use sqlx::postgres::PgConnection;

use super::catalog::Catalog;
use super::codes::Code;
use super::report::Finding;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::unnamed;

pub(super) async fn findings(connection: &mut PgConnection, catalog: &Catalog<'_>) -> Result<Vec<Finding>, PgError> {
    let (oids, _columns) = catalog.oids_and_columns();
    let defaults: Vec<(String, Option<String>, String)> =
        unnamed::query_as(DEFAULT_RIGHTS).bind(&catalog.reach).fetch_all(&mut *connection).await?;
    let sequences: Vec<String> =
        unnamed::query_scalar(SEQUENCES).bind(&catalog.reach).fetch_all(&mut *connection).await?;
    let columns: Vec<(String, String)> = unnamed::query_as(REFERENCES).bind(&oids).fetch_all(&mut *connection).await?;
    let published: Vec<(String, String, String, String)> =
        unnamed::query_as(PUBLISHED).bind(&oids).fetch_all(connection).await?;
    let mut all: Vec<Finding> = Vec::new();
    all.extend(defaults.into_iter().map(|(owner, schema, grantee)| default_right(&owner, schema.as_deref(), &grantee)));
    all.extend(sequences.into_iter().map(|sequence| readable(catalog, sequence)));
    all.extend(columns.into_iter().map(|(table, column)| reference(&table, &column)));
    all.extend(
        published.into_iter().map(|(publication, table, schema, how)| leaves(&publication, &table, &schema, &how)),
    );
    all.extend(many_partitions(catalog));
    Ok(all)
}

fn default_right(owner: &str, schema: Option<&str>, grantee: &str) -> Finding {
    let of = quote_ident(owner);
    let within = schema.map(|schema| format!(" IN SCHEMA {}", quote_ident(schema))).unwrap_or_default();
    let to = if grantee == "PUBLIC" { grantee.to_owned() } else { quote_ident(grantee) };
    let why = "Every table that this role makes is at once within reach of the service. Until somebody has put a policy on it, \
               nothing holds its rows.";
    let fix = format!("ALTER DEFAULT PRIVILEGES FOR ROLE {of}{within} REVOKE ALL ON TABLES FROM {to};");
    Finding::warning(Code::DefaultRight, format!("{of}{within} TO {to}"), why, fix)
}

fn readable(catalog: &Catalog<'_>, sequence: String) -> Finding {
    let why = "The service may read or set this sequence, which counts the rows of all tenants. A tenant learns how many the \
               others add, or repeats their numbers.";
    let fix = format!("REVOKE SELECT, UPDATE ON SEQUENCE {sequence} FROM {};", catalog.grantees());
    Finding::warning(Code::ReadableSequence, sequence, why, fix)
}

fn reference(table: &str, column: &str) -> Finding {
    let column = quote_ident(column);
    let why = "The column can hold references to large objects. Policies hold the reference and not the object, which every \
               tenant of the service reads by its number.";
    let fix = format!("ALTER TABLE {table} ALTER COLUMN {column} TYPE bytea USING pg_catalog.lo_get({column});");
    Finding::warning(Code::LargeObjectColumn, format!("{table}.{column}"), why, fix)
}

fn leaves(publication: &str, table: &str, schema: &str, how: &str) -> Finding {
    let name = quote_ident(publication);
    let why = "Rows of this tenant table leave by logical replication, past the policies. Whoever subscribes gets every \
               tenant's.";
    let fix = match how {
        "all" => format!("DROP PUBLICATION {name};"),
        "schema" => format!("ALTER PUBLICATION {name} DROP TABLES IN SCHEMA {};", quote_ident(schema)),
        _table => format!("ALTER PUBLICATION {name} DROP TABLE {table};"),
    };
    Finding::warning(Code::Published, format!("{table} IN {name}"), why, fix)
}

/// P19: 500 partitions took 30 to 70 ms of planning and 1,005 locks, and 0.2 ms with the row key in the statement.
fn many_partitions(catalog: &Catalog<'_>) -> Vec<Finding> {
    let of = |table: &super::tables::Table| {
        let relation = table.declared.relation.to_string();
        let count = catalog.tables.iter().filter(|child| child.parent.as_ref() == Some(&relation)).count();
        (table.parent.is_none() && count >= MANY).then(|| {
            let why = format!(
                "It has {count} partitions and children, and the planner can't choose by the setting that the policy reads. \
                 Each statement plans and locks all of them unless it names the row key itself."
            );
            let column = table.declared.column.quoted();
            let fix = format!("-- name {column} in statements too, with TenantTable::row_key_is");
            Finding::warning(Code::ManyPartitions, relation.clone(), why, fix)
        })
    };
    catalog.tables.iter().filter_map(of).collect()
}

/// From here on planning takes longer than a keyed read.
const MANY: usize = 64;

const DEFAULT_RIGHTS: &str = "
select distinct pg_get_userbyid(d.defaclrole)::text, n.nspname::text,
       case when a.grantee = 0 then 'PUBLIC' else pg_get_userbyid(a.grantee)::text end
from pg_default_acl d cross join lateral aclexplode(d.defaclacl) a left join pg_namespace n on n.oid = d.defaclnamespace
where d.defaclobjtype = 'r' and a.grantee <> d.defaclrole and (a.grantee = 0 or a.grantee = any($1))
order by 1, 2, 3";

const SEQUENCES: &str = "
select format('%I.%I', n.nspname, c.relname)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'S' and n.nspname !~ '^pg_'
  and exists (select from unnest($1::oid[]) u where has_sequence_privilege(u, c.oid, 'SELECT, UPDATE'))
order by 1";

const REFERENCES: &str = "
select format('%I.%I', n.nspname, c.relname), a.attname::text
from unnest($1::oid[]) t join pg_class c on c.oid = t join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped join pg_type y on y.oid = a.atttypid
where y.oid = 'oid'::regtype or y.typbasetype = 'oid'::regtype
order by 1, 2";

const PUBLISHED: &str = "
select distinct p.pubname::text, format('%I.%I', n.nspname, c.relname), n.nspname::text,
       case when p.puballtables then 'all'
            when exists (select from pg_publication_rel r where r.prpubid = p.oid and r.prrelid = c.oid) then 'table'
            else 'schema' end
from unnest($1::oid[]) t join pg_class c on c.oid = t join pg_namespace n on n.oid = c.relnamespace
join pg_publication_tables v on v.schemaname = n.nspname and v.tablename = c.relname
join pg_publication p on p.pubname = v.pubname
order by 1, 2";
