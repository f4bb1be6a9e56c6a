//! The rights of the role that reads reports: the declared columns and nothing else.

use sqlx::postgres::PgConnection;

use super::roles::{Roles, report_grant_sql, usage_sql};
use super::step::{Locks, Step};
use crate::declaration::{Declaration, Relation, ReportRelation};
use crate::error::PgError;
use crate::ident::{quote_ident, quote_role};

/// What the role was granted on one relation.
#[derive(sqlx::FromRow)]
struct Granted {
    schema: String,
    name: String,
    /// `TABLE`, or `SEQUENCE`.
    kind: String,
    /// On all of it.
    whole: Vec<String>,
    /// The columns that it may read.
    columns: Vec<String>,
    /// Another right on a column.
    more: bool,
    /// The statements that grant it again.
    again: String,
}

impl Granted {
    fn is(&self, relation: &Relation) -> bool {
        relation.schema() == self.schema && relation.table() == self.name
    }

    fn is_as_declared(&self, report: &ReportRelation) -> bool {
        self.whole.is_empty() && !self.more && self.columns.iter().map(String::as_str).eq(report.columns())
    }
}

/// Brings what the role was granted to the declaration. What it has through another role or PUBLIC the inspection finds.
pub(super) async fn steps(
    connection: &mut PgConnection,
    declaration: &Declaration,
    roles: &Roles,
) -> Result<Vec<Step>, PgError> {
    let Some(role) = roles.report_role() else { return Ok(Vec::new()) };
    let granted: Vec<Granted> = sqlx::query_as(GRANTED).bind(role).fetch_all(&mut *connection).await?;
    let usable: Vec<String> = sqlx::query_scalar(USABLE).bind(role).fetch_all(connection).await?;
    let reports = declaration.report_relations();
    let mut steps = Vec::new();
    for report in reports {
        if !usable.iter().any(|schema| schema == report.relation.schema()) {
            steps.push(Step::new(
                Locks::Catalog,
                format!("reports look up {}, as {}", report.relation, quote_role(role)),
                usage_sql("GRANT", "TO", report, role),
                usage_sql("REVOKE", "FROM", report, role),
            ));
        }
        let there = granted.iter().find(|granted| granted.is(&report.relation));
        if there.is_some_and(|granted| granted.is_as_declared(report)) {
            continue;
        }
        let relation = &report.relation;
        let again = there.map_or("", |granted| granted.again.as_str());
        steps.push(Step::new(
            Locks::Catalog,
            format!("reports read the declared columns of {relation}, as {}", quote_role(role)),
            report_grant_sql(report, role),
            format!("REVOKE ALL ON TABLE {relation} FROM {};\n{again}", quote_role(role)),
        ));
    }
    for granted in granted.iter().filter(|granted| !reports.iter().any(|report| granted.is(&report.relation))) {
        let Granted { schema, name, kind, again, .. } = granted;
        let relation = format!("{}.{}", quote_ident(schema), quote_ident(name));
        steps.push(Step::new(
            Locks::Catalog,
            format!("nobody declared {relation} as a report"),
            format!("REVOKE ALL ON {kind} {relation} FROM {};\n", quote_role(role)),
            again.clone(),
        ));
    }
    Ok(steps)
}

const USABLE: &str = "
select n.nspname::text from pg_namespace n, pg_roles r
where r.rolname = $1 and has_schema_privilege(r.oid, n.oid, 'USAGE')";

/// An owner's own rights are left: the owner is what is wrong then.
const GRANTED: &str = "
with acl as (
    select c.oid, a.privilege_type as p, a.is_grantable as g, null::text as col
    from pg_class c, aclexplode(c.relacl) a
    where a.grantee = (select oid from pg_roles where rolname = $1) and a.grantee <> c.relowner
    union all
    select c.oid, a.privilege_type, a.is_grantable, t.attname::text
    from pg_class c join pg_attribute t on t.attrelid = c.oid and not t.attisdropped, aclexplode(t.attacl) a
    where a.grantee = (select oid from pg_roles where rolname = $1) and a.grantee <> c.relowner
), named as (
    select acl.*, n.nspname, c.relname, case c.relkind when 'S' then 'SEQUENCE' else 'TABLE' end as kind
    from acl join pg_class c on c.oid = acl.oid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
)
select nspname::text as schema, relname::text as name, kind,
       coalesce(array_agg(p order by p) filter (where col is null), '{}') as whole,
       coalesce(array_agg(col order by col collate \"C\") filter (where col is not null and p = 'SELECT'), '{}') as columns,
       coalesce(bool_or(col is not null and (p <> 'SELECT' or g)), false) as more,
       string_agg(format(E'GRANT %s%s ON %s %I.%I TO %I%s;\\n', p, '(' || quote_ident(col) || ')', kind, nspname, relname,
                         $1::text, case when g then ' WITH GRANT OPTION' else '' end), '' order by col, p) as again
from named group by 1, 2, 3 order by 1, 2";
