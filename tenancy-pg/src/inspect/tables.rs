//! The declared tenant tables and their partitions and children.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::append_only;
use super::catalog::Catalog;
use super::codes::Code;
use super::report::Finding;
use crate::declaration::{Declaration, Relation, TenantTable};
use crate::error::PgError;
use crate::ident::{Name, quote_ident};
use crate::policy::POLICY;
use crate::unnamed;

/// A tenant table and what the catalog says of it.
pub(super) struct Table {
    /// For a child, what is declared of its parent, under the child's name.
    pub(super) declared: TenantTable,
    /// The declared table above it, for a partition or child.
    pub(super) parent: Option<String>,
    /// `None`: not there.
    pub(super) found: Option<Found>,
}

#[derive(sqlx::FromRow)]
pub(super) struct Found {
    /// Its place in the declaration, or its parent's.
    place: i64,
    pub(super) oid: Oid,
    schema: String,
    name: String,
    is_child: bool,
    kind: String,
    owner: String,
    schema_owner_reachable: bool,
    rls: bool,
    forced: bool,
    active: bool,
    column_type: Option<String>,
    column_not_null: Option<bool>,
    collation_deterministic: Option<bool>,
    /// Whether the acting role may read it.
    pub(super) is_readable: bool,
    /// Whether it or a partition of it takes up room: an empty table proves nothing.
    pub(super) has_pages: bool,
    /// `TRUNCATE`, `REFERENCES`, `TRIGGER`, `MAINTAIN`, as far as they are granted.
    beyond: Vec<String>,
}

impl Table {
    /// Its row in the catalog, if it can have policies: only ordinary and partitioned tables can.
    pub(super) fn with_policies(&self) -> Option<&Found> {
        self.found.as_ref().filter(|found| matches!(found.kind.as_str(), "r" | "p"))
    }
}

/// All of them, in one query: the declared first, each in its place.
pub(super) async fn load(
    connection: &mut PgConnection,
    declaration: &Declaration,
    reach: &[Oid],
) -> Result<Vec<Table>, PgError> {
    let declared = declaration.tenant_tables();
    let names = |name: fn(&TenantTable) -> &str| declared.iter().map(|t| name(t).to_owned()).collect::<Vec<_>>();
    let rows: Vec<Found> = unnamed::query_as(TABLES)
        .bind(names(TenantTable::schema))
        .bind(names(TenantTable::table))
        .bind(names(TenantTable::column))
        .bind(reach)
        .fetch_all(connection)
        .await?;
    let mut tables: Vec<Table> =
        declared.iter().map(|declared| Table { declared: declared.clone(), parent: None, found: None }).collect();
    for found in rows {
        let Some(at) = usize::try_from(found.place).ok().filter(|at| *at < declared.len()) else { continue };
        if !found.is_child {
            tables[at].found = Some(found);
            continue;
        }
        let (Ok(schema), Ok(table)) = (Name::parse(&found.schema), Name::parse(&found.name)) else { continue };
        let child = TenantTable { relation: Relation { schema, table }, ..declared[at].clone() };
        // Declared itself, it is judged as what it is declared to be.
        if !declared.iter().any(|other| other.relation == child.relation) {
            let parent = Some(declared[at].relation.to_string());
            tables.push(Table { declared: child, parent, found: Some(found) });
        }
    }
    Ok(tables)
}

pub(super) fn findings(catalog: &Catalog) -> Vec<Finding> {
    let of = |table: &Table| match (&table.found, &table.parent) {
        (None, _) => vec![missing(&table.declared)],
        (Some(_), None) if table.with_policies().is_none() => vec![not_a_table(&table.declared)],
        (Some(found), None) => of_table(catalog, &table.declared, found),
        (Some(found), Some(parent)) => of_child(catalog, table, found, parent),
    };
    catalog.tables.iter().flat_map(of).collect()
}

/// Named itself, a child is held by its own policies alone. Out of reach it needs none.
fn of_child(catalog: &Catalog, table: &Table, found: &Found, parent: &str) -> Vec<Finding> {
    if found.beyond.is_empty() && !catalog.accesses(found.oid).any(|access| access.may_anything()) {
        return Vec::new();
    }
    if found.rls && table.with_policies().is_some() && catalog.holds_reach(found.oid) {
        return of_table(catalog, &table.declared, found);
    }
    let object = table.declared.relation.to_string();
    let why = format!(
        "It is a partition or child of {parent}, whose policies do not hold it when it is named itself. A statement \
         that names it reads every tenant's rows in it."
    );
    let fix = catalog.revoke_all(&object);
    vec![Finding::fatal(Code::ChildReachable, object, why, fix)]
}

fn missing(declared: &TenantTable) -> Finding {
    let why = "The declaration names it and the database does not have it. A service that starts without it would \
               find out in the middle of a request.";
    Finding::fatal(
        Code::TableMissing,
        declared.relation.to_string(),
        why,
        "-- run the migrations, or remove it from the declaration",
    )
}

fn not_a_table(declared: &TenantTable) -> Finding {
    let why = "It is a view, a materialized view or a foreign table. Row level security holds ordinary and partitioned \
               tables only.";
    Finding::fatal(
        Code::NotATable,
        declared.relation.to_string(),
        why,
        "-- declare the table behind it instead; a view with security_invoker over declared tables needs no declaration, and \
         anything else is to be revoked",
    )
}

fn of_table(catalog: &Catalog<'_>, declared: &TenantTable, found: &Found) -> Vec<Finding> {
    let mut all = of_owner(catalog, declared, found);
    all.extend(of_row_level_security(declared, found));
    all.extend(of_column(declared, found));
    let table = &declared.relation;
    for right in &found.beyond {
        let why = match right.as_str() {
            "TRUNCATE" => "TRUNCATE empties the table for all tenants. Policies do not hold it.",
            "TRIGGER" => "A trigger that the service makes runs for every tenant's rows. Policies do not hold it.",
            "REFERENCES" => "A foreign key checks past policies. It tells whether another tenant's row exists.",
            _maintain => "The right is about the whole table, for all tenants. Policies do not hold it.",
        };
        let fix = format!("REVOKE {right} ON TABLE {table} FROM {};", catalog.grantees());
        all.push(Finding::fatal(Code::TableRight, table.to_string(), why, fix));
    }
    all.extend(append_only::of_table(catalog, declared, found));
    all
}

fn of_owner(catalog: &Catalog<'_>, declared: &TenantTable, found: &Found) -> Vec<Finding> {
    let table = &declared.relation;
    let fatal = |why: &str, fix: String| Finding::fatal(Code::Ownership, table.to_string(), why, fix);
    let mut all = Vec::new();
    if let Some(owner) = catalog.roles.iter().find(|role| role.name == found.owner) {
        let why = format!(
            "The service is, or can become, the owner {}. An owner can switch row level security off at any time.",
            owner.label()
        );
        let fix = match owner.out_of_reach() {
            revoke if revoke.starts_with("REVOKE") => revoke,
            _own => format!("ALTER TABLE {table} OWNER TO CURRENT_USER; -- and GRANT the service what it needs"),
        };
        all.push(fatal(&why, fix));
    }
    if found.schema_owner_reachable {
        let schema = declared.relation.schema.quoted();
        let why = "The service can act as the owner of the schema. That owner can drop the table and put another in its place.";
        all.push(fatal(why, format!("ALTER SCHEMA {schema} OWNER TO CURRENT_USER;")));
    }
    all
}

fn of_row_level_security(declared: &TenantTable, found: &Found) -> Vec<Finding> {
    let table = &declared.relation;
    let fatal = |code, why: &str, fix: String| Finding::fatal(code, table.to_string(), why, fix);
    let mut all = Vec::new();
    if !found.rls {
        let why = "Policies are not looked at while row level security is off. Every tenant reads every row.";
        all.push(fatal(Code::RlsDisabled, why, format!("ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;")));
    }
    if !found.forced {
        let why = "Without FORCE the owner reads past every policy. So does whoever becomes the owner, and every view \
                   and function of the owner.";
        all.push(fatal(Code::NotForced, why, format!("ALTER TABLE {table} FORCE ROW LEVEL SECURITY;")));
    }
    if found.rls && !found.active {
        let why = "Postgres itself says that policies do not hold this role on this table. The reason is among the \
                   findings about roles.";
        all.push(fatal(Code::NotActive, why, "-- mend the findings about roles first".to_owned()));
    }
    all
}

fn of_column(declared: &TenantTable, found: &Found) -> Option<Finding> {
    let (table, column, wanted) = (&declared.relation, declared.column.quoted(), declared.key.sql());
    let fatal =
        |why: String, fix: String| Some(Finding::fatal(Code::TenantColumn, format!("{table}.{column}"), why, fix));
    if found.collation_deterministic == Some(false) {
        return fatal(
            "The column's collation holds different texts for equal, upper and lower case say. Two tenants whose keys it \
             does not tell apart read each other's rows."
                .to_owned(),
            format!(
                "DROP POLICY IF EXISTS {} ON {table};\n\
                 ALTER TABLE {table} ALTER COLUMN {column} TYPE {wanted} COLLATE \"C\";\n{}",
                quote_ident(POLICY),
                declared.policy_sql()
            ),
        );
    }
    match (&found.column_type, found.column_not_null) {
        (Some(present), _) if present != wanted => fatal(
            format!(
                "The column is {present} and declared as {wanted}. A comparison would convert it and lose its index."
            ),
            format!(
                "-- or declare it as it is\nALTER TABLE {table} ALTER COLUMN {column} TYPE {wanted} USING {column}::{wanted};"
            ),
        ),
        (Some(_), Some(true)) => None,
        (Some(_), _) => fatal(
            "The column may be null. A row that is nobody's is found by no tenant and erased with none.".to_owned(),
            format!("ALTER TABLE {table} ALTER COLUMN {column} SET NOT NULL;"),
        ),
        (None, _) => fatal(
            "The tenant column is not there. Nothing says whose a row is.".to_owned(),
            format!("ALTER TABLE {table} ADD COLUMN {column} {wanted} NOT NULL;"),
        ),
    }
}

/// Rights count for every role within reach, and for a column of the table as for all of it.
const TABLES: &str = "
with recursive declared as (
    select d.place - 1 as place, c.oid, d.col
    from unnest($1::text[], $2::text[], $3::text[]) with ordinality as d(schema, name, col, place)
    join pg_namespace n on n.nspname = d.schema join pg_class c on c.relnamespace = n.oid and c.relname = d.name
), all_of_them(place, oid, col, is_child) as (
    select place, oid, col, false from declared
    union
    select a.place, i.inhrelid, a.col, true from all_of_them a join pg_inherits i on i.inhparent = a.oid
)
select t.place, c.oid, n.nspname::text as schema, c.relname::text as name, t.is_child,
       c.relkind::text as kind, pg_get_userbyid(c.relowner)::text as owner,
       n.nspowner = any($4) as schema_owner_reachable,
       c.relrowsecurity as rls, c.relforcerowsecurity as forced, row_security_active(c.oid) as active,
       format_type(a.atttypid, a.atttypmod) as column_type, a.attnotnull as column_not_null,
       co.collisdeterministic as collation_deterministic,
       has_any_column_privilege(c.oid, 'SELECT') as is_readable,
       bool_or(c.relkind in ('r', 'm') and pg_relation_size(c.oid) > 0) over (partition by t.place) as has_pages,
       array(select r from unnest(array['TRUNCATE', 'TRIGGER', 'REFERENCES']
                                  || case when current_setting('server_version_num')::int4 >= 170000
                                          then array['MAINTAIN'] else array[]::text[] end) as r
             where exists (select from unnest($4::oid[]) u where has_table_privilege(u, c.oid, r))
                or (r = 'REFERENCES'
                    and exists (select from unnest($4::oid[]) u where has_any_column_privilege(u, c.oid, r)))) as beyond
from all_of_them t
join pg_class c on c.oid = t.oid
join pg_namespace n on n.oid = c.relnamespace
left join pg_attribute a on a.attrelid = c.oid and a.attname = t.col and a.attnum > 0 and not a.attisdropped
left join pg_collation co on co.oid = a.attcollation
order by t.is_child, t.place, n.nspname, c.relname";
