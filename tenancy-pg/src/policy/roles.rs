//! Whom the generated rights are for.

use super::cut_off::CutOff;
use super::fault::PlanFault;
use super::grants::grant_sql;
use super::step::{Locks, Step};
use crate::declaration::{Declaration, Relation, ReportRelation};
use crate::ident::{quote_ident, quote_role};

/// The roles that a migration names: the service's, and those that it has beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Roles {
    app: String,
    report: Option<String>,
    registrar: Option<String>,
    cut_off: Vec<String>,
}

impl Roles {
    /// The service's own role, as the catalog holds its name.
    pub fn new(app: &str) -> Self {
        Self { app: app.to_owned(), report: None, registrar: None, cut_off: Vec::new() }
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

    /// A login that may lose its rows when its tables are adopted, because nobody works with it: [`Migration::run`] refuses
    /// to cut off one that is not named here, see [`Migration::cut_off`]. `public` stands for every login, by what was
    /// granted to `PUBLIC`.
    ///
    /// [`Migration::run`]: crate::Migration::run
    /// [`Migration::cut_off`]: crate::Migration::cut_off
    pub fn cut_off(mut self, role: &str) -> Self {
        self.cut_off.push(role.to_owned());
        self
    }

    /// Whether somebody is meant to see no rows.
    pub(super) fn means(&self, cut_off: &CutOff) -> bool {
        self.cut_off.iter().any(|role| role == cut_off.role())
    }

    /// A legacy role's policy lets every row through, so the roles that serve tenants must not have one.
    pub(super) fn apart_from_legacy(&self, declaration: &Declaration) -> Result<(), PlanFault> {
        let legacy = |role: &str| declaration.legacy_roles().iter().any(|legacy| legacy.role() == role);
        match self.serving().find(|(role, _task)| legacy(role)) {
            Some((role, task)) => Err(PlanFault::LegacyService { role: quote_ident(role), task }),
            None => Ok(()),
        }
    }

    /// The roles that policies hold to tenants, and what each is.
    pub(super) fn serving(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let report = self.report_role().map(|role| (role, "the role that reads reports"));
        std::iter::once((self.app(), "the service's role")).chain(report)
    }

    /// Every role that is granted something.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.serving().map(|(role, _task)| role).chain(self.registrar_role())
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
