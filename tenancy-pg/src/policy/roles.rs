//! Whom the generated rights are for.

use super::grants::grant_sql;
use super::step::{Locks, Step};
use crate::declaration::{Declaration, Relation, ReportRelation};
use crate::ident::quote_role;

/// The roles that a migration names: the service's, and those that it has beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Roles {
    app: String,
    report: Option<String>,
    registrar: Option<String>,
}

impl Roles {
    /// The service's own role, as the catalog holds its name.
    pub fn new(app: &str) -> Self {
        Self { app: app.to_owned(), report: None, registrar: None }
    }

    /// The role that reads the declared report relations, and that nothing else is granted to.
    pub fn report(mut self, role: &str) -> Self {
        self.report = Some(role.to_owned());
        self
    }

    /// The role that enters tenants into the registry and takes them out of it: the directory's.
    pub fn registrar(mut self, role: &str) -> Self {
        self.registrar = Some(role.to_owned());
        self
    }

    pub(super) fn app(&self) -> &str {
        &self.app
    }

    pub(super) fn report_role(&self) -> Option<&str> {
        self.report.as_deref()
    }

    pub(super) fn registrar_role(&self) -> Option<&str> {
        self.registrar.as_deref()
    }

    pub(super) fn grants_step(&self, declaration: &Declaration) -> Step {
        let app = quote_role(&self.app);
        let all = declaration.tenant_tables().iter().map(|table| &table.relation).chain(declaration.global_tables());
        let mut up = grant_sql(declaration, &self.app);
        let mut down: String = all.map(|relation| revoke(relation, &app)).collect();
        for report in declaration.report_relations() {
            let Some(role) = self.report.as_deref() else { break };
            up += &usage_sql("GRANT", "TO", report, role);
            up += &report_grant_sql(report, role);
            down += &revoke(&report.relation, &quote_role(role));
        }
        Step::new(Locks::Catalog, "the service reads and writes as a plain role", up, down)
    }
}

/// Rights on the declared columns, and no other: taking those on the table away takes those on columns with them.
pub(super) fn report_grant_sql(report: &ReportRelation, role: &str) -> String {
    let (relation, columns, role) = (&report.relation, report.columns_sql(), quote_role(role));
    format!("REVOKE ALL ON TABLE {relation} FROM {role};\nGRANT SELECT ({columns}) ON TABLE {relation} TO {role};\n")
}

/// `GRANT .. TO`, or `REVOKE .. FROM`.
pub(super) fn usage_sql(give: &str, to: &str, report: &ReportRelation, role: &str) -> String {
    format!("{give} USAGE ON SCHEMA {} {to} {};\n", report.relation.schema.quoted(), quote_role(role))
}

fn revoke(relation: &Relation, role: &str) -> String {
    format!(
        "REVOKE ALL ON TABLE {relation} FROM {role};\nREVOKE USAGE ON SCHEMA {} FROM {role};\n",
        relation.schema.quoted()
    )
}
