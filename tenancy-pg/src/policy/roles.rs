//! Whom the generated rights are for.

use super::grants::grant_sql;
use super::step::{Locks, Step};
use crate::declaration::{Declaration, Relation};
use crate::ident::quote_ident;

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

    /// The role that reads the declared report relations.
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
        let app = quote_ident(&self.app);
        let all = declaration.tenant_tables().iter().map(|table| &table.relation).chain(declaration.global_tables());
        let mut up = grant_sql(declaration, &self.app);
        let mut down: String = all.map(|relation| revoke(relation, &app)).collect();
        for relation in declaration.report_relations() {
            let Some(role) = self.report.as_deref().map(quote_ident) else { break };
            up += &format!(
                "GRANT USAGE ON SCHEMA {} TO {role};\nGRANT SELECT ON TABLE {relation} TO {role};\n",
                relation.schema.quoted()
            );
            down += &revoke(relation, &role);
        }
        Step::new(Locks::Catalog, "the service reads and writes as a plain role", up, down)
    }
}

fn revoke(relation: &Relation, role: &str) -> String {
    format!(
        "REVOKE ALL ON TABLE {relation} FROM {role};\nREVOKE USAGE ON SCHEMA {} FROM {role};\n",
        relation.schema.quoted()
    )
}
