//! The role that reads reports: does it read the declared columns, as far as a grant reaches, and nothing else?
//!
//! It is looked at as the service's role is, on a connection of its own, by the same rules where these are about roles,
//! functions and what a new database leaves open. Its own are here: it may have no right beyond the declared columns, what
//! it reads must be held by policies, and the one policy that does not bind the tenant is the generated one.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;
use sqlx::{Connection, Executor};

use super::actors::Command;
use super::catalog::Catalog;
use super::codes::Code;
use super::reach::is_reach;
use super::report::{Finding, Severity};
use super::{SNAPSHOT, definer, helpers, objects, open_to_all, probes, roles, server, settings, signed, tables};
use crate::declaration::{Declaration, Relation, ReportRelation, TenantTable};
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::options::PgOptions;
use crate::signed::REACH_SETTING;

/// What was found about the role that reads reports and not already about the service's.
pub(super) async fn findings(
    options: &PgOptions,
    declaration: &Declaration,
    service: &str,
    hardening: [Severity; 2],
    known: &[Finding],
) -> Result<Vec<Finding>, PgError> {
    let mut connection = options.session(declaration.setting()).await?;
    // Nobody answers for what a function gives to a report.
    let strict = declaration.trusting_nothing();
    let looked = look(&mut connection, &strict, service, hardening).await;
    let _closed = connection.close().await;
    let (role, mut found) = looked?;
    found.retain(|finding| !known.contains(finding));
    for finding in &mut found {
        finding.why = format!("For {role}, which reads reports: {}", finding.why);
    }
    Ok(found)
}

async fn look(
    connection: &mut PgConnection,
    declaration: &Declaration,
    service: &str,
    [shared_objects, hardening]: [Severity; 2],
) -> Result<(String, Vec<Finding>), PgError> {
    connection.execute(SNAPSHOT).await?;
    let session = server::session(connection).await?;
    let role = quote_ident(&session.session_user);
    let catalog = Catalog::load(connection, declaration).await?;
    let mut found = roles::findings(&session, &catalog.roles);
    found.extend(of_its_own(connection, service, &role).await?);
    for setting in [declaration.setting(), REACH_SETTING] {
        found.extend(settings::findings(connection, setting).await?);
    }
    found.extend(tables::findings(&catalog));
    found.extend(helpers::findings(&catalog.helpers));
    found.extend(rights(connection, &catalog, &role).await?);
    found.extend(policies(&catalog, &role, &session.session_user));
    found.extend(definer::findings(connection, &catalog).await?);
    found.extend(objects::findings(connection, &catalog, shared_objects).await?);
    found.extend(open_to_all::findings(connection, &catalog, hardening).await?);
    found.extend(signed::findings(connection, &catalog, true).await?);
    // That nothing was shown of an empty table is said for the service already.
    let probed = probes::findings(connection, &catalog).await?;
    found.extend(probed.into_iter().filter(|finding| finding.code == Code::ProbeSawRows));
    Ok((role, found))
}

/// Neither may become the other: the service would reach every tenant, or a report whatever the service may.
async fn of_its_own(connection: &mut PgConnection, service: &str, role: &str) -> Result<Vec<Finding>, PgError> {
    let (same, becomes, is_become): (bool, bool, bool) =
        sqlx::query_as(OF_ITS_OWN).bind(service).fetch_one(connection).await?;
    let service = quote_ident(service);
    let found = |why: &str, fix: String| {
        let why = format!(
            "{why} What keeps a report from writing, and the service from reading across, is that they are two."
        );
        vec![Finding::fatal(Code::ReportRole, role, why, fix)]
    };
    Ok(match (same, becomes, is_become) {
        (true, ..) => found(
            "It is the service's own role.",
            "-- log in as another role: CREATE ROLE reports LOGIN NOSUPERUSER NOBYPASSRLS;".to_owned(),
        ),
        (false, true, _) => found("It can become the service's role.", format!("REVOKE {service} FROM {role};")),
        (false, false, true) => found("The service can become this role.", format!("REVOKE {role} FROM {service};")),
        (false, false, false) => Vec::new(),
    })
}

/// What a role within reach may do with a relation or sequence of somebody's.
#[derive(sqlx::FromRow)]
struct Reached {
    oid: Oid,
    schema: String,
    name: String,
    kind: String,
    /// A view that reads in the name of whoever asks.
    invoker: bool,
    /// Rights other than reading.
    beyond: Vec<String>,
    /// Whether it may read all of it, with the columns that come later.
    whole: bool,
    /// The columns that it may read, by name.
    columns: Vec<String>,
}

impl Reached {
    fn object(&self) -> String {
        format!("{}.{}", quote_ident(&self.schema), quote_ident(&self.name))
    }

    fn is(&self, relation: &Relation) -> bool {
        relation.schema() == self.schema && relation.table() == self.name
    }

    /// Policies hold tables, and a view that reads as whoever asks is held by those of what it reads.
    fn is_held(&self, catalog: &Catalog<'_>) -> bool {
        let table = catalog.table(self.oid).is_some_and(|table| table.with_policies().is_some());
        table || (self.kind == "v" && self.invoker)
    }
}

async fn rights(connection: &mut PgConnection, catalog: &Catalog<'_>, role: &str) -> Result<Vec<Finding>, PgError> {
    let reached: Vec<Reached> = sqlx::query_as(REACHED).bind(&catalog.reach).fetch_all(connection).await?;
    let reports = catalog.declaration.report_relations();
    let mut found = Vec::new();
    for relation in &reached {
        match reports.iter().find(|report| relation.is(report.relation())) {
            None => found.push(undeclared(catalog, relation)),
            Some(report) => {
                found.extend(beyond(catalog, relation, report, role));
                if !relation.is_held(catalog) {
                    found.push(unheld(catalog, report));
                }
            }
        }
    }
    for report in reports {
        let readable = reached.iter().find(|relation| relation.is(report.relation()));
        let reads = |column| readable.is_some_and(|relation| relation.columns.iter().any(|known| known == column));
        if !report.columns().all(reads) {
            found.push(not_granted(report, role));
        }
    }
    Ok(found)
}

fn undeclared(catalog: &Catalog<'_>, reached: &Reached) -> Finding {
    let why = "It may use this, and it is not declared as a report. A statement with a grant reaches it, whose ever its rows are.";
    let (object, kind) = (reached.object(), if reached.kind == "S" { "SEQUENCE" } else { "TABLE" });
    let fix = format!("REVOKE ALL ON {kind} {object} FROM {};", catalog.grantees());
    Finding::fatal(Code::ReportRight, object, why, fix)
}

/// A right that is more than reading the declared columns.
fn beyond(catalog: &Catalog<'_>, reached: &Reached, report: &ReportRelation, role: &str) -> Option<Finding> {
    let named = |column: &String| report.columns().any(|name| name == column);
    let more: Vec<&String> = reached.columns.iter().filter(|column| !named(column)).collect();
    if reached.beyond.is_empty() && !reached.whole && more.is_empty() {
        return None;
    }
    let what = if reached.beyond.is_empty() {
        "It may read more of this than the declared columns.".to_owned()
    } else {
        format!("It may {} here, and a report reads.", reached.beyond.join(", "))
    };
    let why = format!("{what} What is not declared is not what a grant was thought to open.");
    let object = reached.object();
    let fix = format!("REVOKE ALL ON TABLE {object} FROM {};\n{}", catalog.grantees(), grant(report, role));
    Some(Finding::fatal(Code::ReportRight, object, why, fix))
}

fn unheld(catalog: &Catalog<'_>, report: &ReportRelation) -> Finding {
    let why = "It is declared as a report, and is neither a declared tenant table nor a view with security_invoker over such. \
               No policy holds it, so a grant for one tenant reads every tenant's rows.";
    let relation = report.relation().to_string();
    let fix = format!("REVOKE ALL ON TABLE {relation} FROM {};", catalog.grantees());
    Finding::fatal(Code::ReportRelation, relation, why, fix)
}

fn not_granted(report: &ReportRelation, role: &str) -> Finding {
    let why = "It is declared as a report and is not there, or its declared columns can't be read. Every statement on it is \
               refused.";
    Finding::warning(Code::ReportRight, report.relation().to_string(), why, grant(report, role))
}

fn grant(report: &ReportRelation, role: &str) -> String {
    let (relation, columns) = (report.relation(), report.columns_sql());
    format!(
        "GRANT USAGE ON SCHEMA {} TO {role};\nGRANT SELECT ({columns}) ON TABLE {relation} TO {role};",
        relation.schema.quoted()
    )
}

/// Each report that is a tenant table: every policy binds the tenant, but for the generated one, which must be there and
/// take effect, or counts over every tenant would be zero without a word.
fn policies(catalog: &Catalog<'_>, role: &str, name: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for table in catalog.tables.iter().filter(|table| table.parent.is_none()) {
        let Some(there) = table.with_policies() else { continue };
        if catalog.declaration.report_of(&table.declared.relation).is_none() {
            continue;
        }
        let judge = catalog.judge(table);
        let mut reaches = false;
        for access in catalog.accesses(there.oid).filter(|access| access.may(Command::Select)) {
            for open in judge.open(Command::Select, access.actor) {
                let using = open.policy.expression(open.side);
                if using.is_some_and(|using| is_reach(using, catalog.declaration.signed())) {
                    reaches = true;
                    continue;
                }
                let finding = unbound(&table.declared, &open.policy.name, name);
                if !found.contains(&finding) {
                    found.push(finding);
                }
            }
        }
        if !reaches {
            let why = format!(
                "No policy lets {role} read every tenant's rows where a grant reaches them, or a restrictive one stops it. \
                 A report over all tenants is then empty, and looks like an answer."
            );
            let fix = remake(&table.declared, name);
            found.push(Finding::fatal(Code::PolicyMissing, format!("{} reports", table.declared.relation), why, fix));
        }
    }
    found
}

fn unbound(table: &TenantTable, policy: &str, name: &str) -> Finding {
    let policy = quote_ident(policy);
    let why = "It neither binds the tenant nor asks how far the grant reaches. A grant for one tenant reads every tenant's rows \
               through it.";
    let fix = format!("DROP POLICY {policy} ON {};\n{}", table.relation, remake(table, name));
    Finding::fatal(Code::PolicyUnbound, format!("{policy} ON {}", table.relation), why, fix)
}

fn remake(table: &TenantTable, role: &str) -> String {
    let policy = quote_ident(crate::policy::REPORT);
    format!("DROP POLICY IF EXISTS {policy} ON {};\n{}", table.relation, table.create_report_sql(role))
}

/// Membership counts with whatever options.
const OF_ITS_OWN: &str = "
with recursive mine(u) as (
    select oid from pg_roles where rolname in (session_user, current_user)
    union select m.roleid from mine join pg_auth_members m on m.member = mine.u
), theirs(u) as (
    select oid from pg_roles where rolname = $1
    union select m.roleid from theirs join pg_auth_members m on m.member = theirs.u
)
select session_user = $1 or current_user = $1,
       exists (select from mine join pg_roles r on r.oid = mine.u where r.rolname = $1),
       exists (select from theirs join pg_roles r on r.oid = theirs.u where r.rolname in (session_user, current_user))";

/// Rights count for every role within reach and for PUBLIC. A superuser, who may do everything, is found elsewhere.
const REACHED: &str = "
with u(u) as (
    select r.oid from pg_roles r where r.oid = any($1) and not r.rolsuper
), relation as (
    select c.oid, n.nspname::text as schema, c.relname::text as name, c.relkind::text as kind,
           exists (select from pg_options_to_table(c.reloptions) o where o.option_name = 'security_invoker'
                   and lower(o.option_value) in ('true', 'on', 'yes', '1')) as invoker,
           array(select r from unnest(array['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']
                                      || case when current_setting('server_version_num')::int4 >= 170000
                                              then array['MAINTAIN'] else array[]::text[] end) as r
                 where c.relkind <> 'S' and exists (select from u where has_table_privilege(u, c.oid, r)
                       or (r in ('INSERT', 'UPDATE', 'REFERENCES') and has_any_column_privilege(u, c.oid, r)))) as beyond,
           c.relkind <> 'S' and exists (select from u where has_table_privilege(u, c.oid, 'SELECT')) as whole,
           array(select a.attname::text from pg_attribute a
                 where c.relkind <> 'S' and a.attrelid = c.oid and not a.attisdropped
                   and (a.attnum > 0 or not exists (select from u where has_table_privilege(u, c.oid, 'SELECT')))
                   and exists (select from u where has_column_privilege(u, c.oid, a.attnum, 'SELECT'))
                 order by a.attname) as columns,
           c.relkind = 'S' and exists (select from u where has_sequence_privilege(u, c.oid, 'USAGE, SELECT, UPDATE')) as counts
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
)
select oid, schema, name, kind, invoker, beyond, whole, columns from relation
where counts or whole or cardinality(beyond) > 0 or cardinality(columns) > 0
order by schema, name";
