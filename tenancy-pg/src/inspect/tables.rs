//! The declared tenant tables.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::report::{Code, Finding};
use super::roles::Role;
use crate::declaration::{Declaration, TenantTable};
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::policy::POLICY;

/// A declared table and what the catalog says of it.
pub(super) struct Table<'d> {
    pub(super) declared: &'d TenantTable,
    /// `None`: not there.
    pub(super) found: Option<Found>,
}

#[derive(sqlx::FromRow)]
pub(super) struct Found {
    pub(super) oid: Oid,
    kind: String,
    owner: String,
    schema_owner_reachable: bool,
    rls: bool,
    forced: bool,
    active: bool,
    column_type: Option<String>,
    column_not_null: Option<bool>,
    collation_deterministic: Option<bool>,
    pub(super) may_select: bool,
    pub(super) may_insert: bool,
    pub(super) may_update: bool,
    pub(super) may_delete: bool,
    /// `TRUNCATE`, `REFERENCES`, `TRIGGER`, `MAINTAIN`, as far as they are granted.
    beyond: Vec<String>,
}

impl Found {
    /// Only an ordinary or partitioned table can have policies.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.kind.as_str(), "r" | "p")
    }
}

pub(super) async fn load<'d>(
    connection: &mut PgConnection,
    declaration: &'d Declaration,
) -> Result<Vec<Table<'d>>, PgError> {
    let mut tables = Vec::new();
    for declared in declaration.tenant_tables() {
        let found = sqlx::query_as(TABLE)
            .bind(declared.schema())
            .bind(declared.table())
            .bind(declared.column())
            .fetch_optional(&mut *connection)
            .await?;
        tables.push(Table { declared, found });
    }
    Ok(tables)
}

pub(super) fn findings(tables: &[Table<'_>], roles: &[Role]) -> Vec<Finding> {
    tables
        .iter()
        .flat_map(|table| match &table.found {
            None => vec![missing(table.declared)],
            Some(found) if !found.is_table() => vec![not_a_table(table.declared)],
            Some(found) => of_table(table.declared, found, roles),
        })
        .collect()
}

fn missing(declared: &TenantTable) -> Finding {
    let why = "The declaration names it and the database does not have it. A service that starts without it would \
               find out in the middle of a request.";
    Finding::fatal(
        Code::TableMissing,
        declared.relation.to_string(),
        why,
        "run the migrations, or remove it from the declaration",
    )
}

fn not_a_table(declared: &TenantTable) -> Finding {
    let why = "It is a view, a materialized view or a foreign table. Row level security holds ordinary and partitioned \
               tables only.";
    Finding::fatal(
        Code::NotATable,
        declared.relation.to_string(),
        why,
        "declare the table behind it, and revoke this one",
    )
}

fn of_table(declared: &TenantTable, found: &Found, roles: &[Role]) -> Vec<Finding> {
    let table = declared.relation.to_string();
    let fatal = |code, why: &str, fix: String| Finding::fatal(code, table.clone(), why, fix);
    let mut all = Vec::new();
    if let Some(owner) = roles.iter().find(|role| role.name == found.owner) {
        let why = format!(
            "The service is, or can become, the owner {}. An owner can switch row level security off at any time.",
            owner.label()
        );
        let fix = match owner.out_of_reach() {
            revoke if revoke.starts_with("REVOKE") => revoke,
            _own => format!("ALTER TABLE {table} OWNER TO another_role; and GRANT the service what it needs"),
        };
        all.push(fatal(Code::Ownership, &why, fix));
    }
    if found.schema_owner_reachable {
        let schema = declared.relation.schema.quoted();
        let why = "The service can act as the owner of the schema. That owner can drop the table and put another in its place.";
        all.push(fatal(Code::Ownership, why, format!("ALTER SCHEMA {schema} OWNER TO another_role;")));
    }
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
        all.push(fatal(Code::NotActive, why, "mend the findings about roles first".to_owned()));
    }
    all.extend(of_column(declared, found));
    for right in &found.beyond {
        let why = match right.as_str() {
            "TRUNCATE" => "TRUNCATE empties the table for all tenants. Policies do not hold it.",
            "TRIGGER" => "A trigger that the service makes runs for every tenant's rows. Policies do not hold it.",
            "REFERENCES" => "A foreign key checks past policies. It tells whether another tenant's row exists.",
            _maintain => "The right is about the whole table, for all tenants. Policies do not hold it.",
        };
        all.push(fatal(
            Code::TableRight,
            why,
            format!("REVOKE {right} ON TABLE {table} FROM the service's role and PUBLIC;"),
        ));
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
                "declare it as it is, or: ALTER TABLE {table} ALTER COLUMN {column} TYPE {wanted} USING {column}::{wanted};"
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
const TABLE: &str = "
with recursive me(u) as (
    select oid from pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_auth_members m on m.member = me.u
)
select c.oid, c.relkind::text as kind, pg_get_userbyid(c.relowner)::text as owner,
       exists (select from me where pg_has_role(u, n.nspowner, 'MEMBER')) as schema_owner_reachable,
       c.relrowsecurity as rls, c.relforcerowsecurity as forced, row_security_active(c.oid) as active,
       format_type(a.atttypid, a.atttypmod) as column_type, a.attnotnull as column_not_null,
       co.collisdeterministic as collation_deterministic,
       exists (select from me where has_any_column_privilege(u, c.oid, 'SELECT')) as may_select,
       exists (select from me where has_any_column_privilege(u, c.oid, 'INSERT')) as may_insert,
       exists (select from me where has_any_column_privilege(u, c.oid, 'UPDATE')) as may_update,
       exists (select from me where has_table_privilege(u, c.oid, 'DELETE')) as may_delete,
       array(select r from unnest(array['TRUNCATE', 'TRIGGER', 'REFERENCES']
                                  || case when current_setting('server_version_num')::int4 >= 170000
                                          then array['MAINTAIN'] else array[]::text[] end) as r
             where exists (select from me where has_table_privilege(u, c.oid, r))
                or (r = 'REFERENCES' and exists (select from me where has_any_column_privilege(u, c.oid, r)))) as beyond
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
left join pg_attribute a on a.attrelid = c.oid and a.attname = $3 and a.attnum > 0 and not a.attisdropped
left join pg_collation co on co.oid = a.attcollation
where n.nspname = $1 and c.relname = $2";
