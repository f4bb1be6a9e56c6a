//! The rights that the service's role has, one way or another, and should or should not.

use sqlx::postgres::PgConnection;

use super::live::{DECLARED, declared};
use super::roles::Roles;
use super::step::{Locks, Step};
use super::views;
use crate::declaration::{Declaration, Relation};
use crate::error::PgError;
use crate::ident::{quote_ident, quote_role};

/// A right on a relation of somebody's schema that the service's role has, or gets through a role or PUBLIC.
#[derive(Debug, sqlx::FromRow)]
struct Right {
    schema: String,
    name: String,
    /// Quoted, or `PUBLIC`.
    grantee: String,
    right: String,
    /// Quoted; of a right on one column.
    column: Option<String>,
    grantable: bool,
    /// A partition or child of a declared table.
    child: bool,
}

/// Which rights the service is to have on a relation.
fn wanted(declaration: &Declaration, relation: &Relation) -> &'static [&'static str] {
    if let Some(table) = declaration.tenant_tables().iter().find(|table| table.relation == *relation) {
        table.rights()
    } else if declaration.global_tables().contains(relation) {
        &["SELECT"]
    } else {
        &[]
    }
}

pub(super) async fn steps(
    connection: &mut PgConnection,
    declaration: &Declaration,
    roles: &Roles,
) -> Result<Vec<Step>, PgError> {
    let [schemas, names, columns] = declared(declaration);
    let rights: Vec<Right> = sqlx::query_as(sqlx::AssertSqlSafe(format!("{DECLARED}{RIGHTS}")))
        .bind(schemas)
        .bind(names)
        .bind(columns)
        .bind(roles.app())
        .fetch_all(&mut *connection)
        .await?;
    let views = views::over_declared(connection, declaration).await?;
    let mut steps = Vec::new();
    for right in &rights {
        let Ok(relation) = Relation::parse(&right.schema, &right.name) else { continue };
        let wanted = wanted(declaration, &relation);
        let shows_declared = right.right == "SELECT" && views.contains(&relation);
        if !wanted.contains(&right.right.as_str()) && !shows_declared {
            steps.push(revoke(right, &relation, !wanted.is_empty()));
        }
    }
    for (relation, needs) in declaration
        .tenant_tables()
        .iter()
        .map(|table| &table.relation)
        .chain(declaration.global_tables())
        .map(|relation| (relation, wanted(declaration, relation)))
    {
        let has = |need: &&&str| {
            let whole = |r: &&Right| r.column.is_none() && r.schema == relation.schema() && r.name == relation.table();
            rights.iter().filter(whole).any(|right| right.right == **need)
        };
        let missing: Vec<&str> = needs.iter().filter(|need| !has(need)).copied().collect();
        if !missing.is_empty() {
            steps.push(grant(relation, &missing.join(", "), roles.app()));
        }
    }
    steps.extend(on_schemas(connection, declaration, roles).await?);
    Ok(steps)
}

fn revoke(right: &Right, relation: &Relation, declared: bool) -> Step {
    let column = right.column.as_ref().map_or_else(String::new, |column| format!(" ({column})"));
    let what = format!("{}{column} ON TABLE {relation}", right.right);
    let (grantee, option) = (&right.grantee, if right.grantable { " WITH GRANT OPTION" } else { "" });
    let why = match (right.child, declared, right.right.as_str()) {
        (true, _, _) => "the policies of the parent do not hold a statement that names the partition",
        (false, true, "INSERT" | "UPDATE" | "DELETE") => "the declaration keeps it back",
        (false, true, _) => "policies do not hold this right",
        (false, false, _) => "nobody declared the relation, so nothing says whose its rows are",
    };
    Step::new(
        Locks::Catalog,
        format!("{} on {relation} goes: {why}", right.right),
        format!("REVOKE {what} FROM {grantee};\n"),
        format!("GRANT {what} TO {grantee}{option};\n"),
    )
}

fn grant(relation: &Relation, rights: &str, app: &str) -> Step {
    let app = quote_role(app);
    Step::new(
        Locks::Catalog,
        format!("the service uses {relation}, as {app}"),
        format!("GRANT {rights} ON TABLE {relation} TO {app};\n"),
        format!("REVOKE {rights} ON TABLE {relation} FROM {app};\n"),
    )
}

/// A schema's right, of the roles that the service's is or can become.
#[derive(sqlx::FromRow)]
struct SchemaRight {
    schema: String,
    usage: bool,
    /// Through whom it may create: quoted, or `PUBLIC`.
    create: Vec<String>,
    declared: bool,
}

async fn on_schemas(
    connection: &mut PgConnection,
    declaration: &Declaration,
    roles: &Roles,
) -> Result<Vec<Step>, PgError> {
    let tenant = declaration.tenant_tables().iter().map(|table| &table.relation);
    let schemas: Vec<&str> = tenant.chain(declaration.global_tables()).map(Relation::schema).collect();
    let rights: Vec<SchemaRight> =
        sqlx::query_as(SCHEMAS).bind(schemas).bind(roles.app()).fetch_all(connection).await?;
    let app = quote_role(roles.app());
    let mut steps = Vec::new();
    for SchemaRight { schema, usage, create, declared } in rights {
        let schema = quote_ident(&schema);
        if declared && !usage {
            steps.push(Step::new(
                Locks::Catalog,
                format!("the service looks up names in {schema}"),
                format!("GRANT USAGE ON SCHEMA {schema} TO {app};\n"),
                format!("REVOKE USAGE ON SCHEMA {schema} FROM {app};\n"),
            ));
        }
        for grantee in create {
            steps.push(Step::new(
                Locks::Catalog,
                format!("what the service creates in {schema} would have no policies"),
                format!("REVOKE CREATE ON SCHEMA {schema} FROM {grantee};\n"),
                format!("GRANT CREATE ON SCHEMA {schema} TO {grantee};\n"),
            ));
        }
    }
    Ok(steps)
}

/// An owner's own rights are left: the owner is what is wrong then.
const RIGHTS: &str = ", app(u) as (
    select oid from pg_roles where rolname = $4
    union select m.roleid from app join pg_auth_members m on m.member = app.u
), grantee(u) as (
    select u from app union select 0
), tree(oid) as (
    select oid from declared
    union select i.inhrelid from tree join pg_inherits i on i.inhparent = tree.oid
), acl as (
    select c.oid, a.grantee, a.privilege_type, a.is_grantable, null::text as col
    from pg_class c, aclexplode(c.relacl) a where a.grantee <> c.relowner
    union all
    select c.oid, a.grantee, a.privilege_type, a.is_grantable, quote_ident(t.attname)
    from pg_class c join pg_attribute t on t.attrelid = c.oid and t.attnum > 0 and not t.attisdropped,
         aclexplode(t.attacl) a where a.grantee <> c.relowner
)
select n.nspname::text as schema, c.relname::text as name,
       case acl.grantee when 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(acl.grantee)) end as grantee,
       acl.privilege_type as right, acl.col as column, acl.is_grantable as grantable,
       c.oid in (select oid from tree) and c.oid not in (select oid from declared) as child
from acl join pg_class c on c.oid = acl.oid join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and acl.grantee in (select u from grantee)
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
order by 1, 2, 3, 5 nulls first, 4";

const SCHEMAS: &str = "
with recursive app(u) as (
    select oid from pg_roles where rolname = $2
    union select m.roleid from app join pg_auth_members m on m.member = app.u
)
select n.nspname::text as schema, n.nspname = any($1) as declared,
       exists (select from app where has_schema_privilege(u, n.oid, 'USAGE')) as usage,
       array(select case a.grantee when 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(a.grantee)) end
             from aclexplode(n.nspacl) a
             where a.privilege_type = 'CREATE' and a.grantee <> n.nspowner
               and (a.grantee = 0 or a.grantee in (select u from app))) as create
from pg_namespace n where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
order by 1";
