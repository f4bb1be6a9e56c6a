//! The policies that a table is to have.

use super::names::{FLOOR, POLICY, REPORT, legacy_policy};
use super::roles::Roles;
use crate::declaration::{Declaration, LegacyRole, TenantTable};

/// A policy that is to be there.
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) create: String,
    /// Empty for PUBLIC.
    pub(super) roles: Vec<String>,
    /// The moment of its end, as the server prints it.
    pub(super) until: Option<String>,
}

/// The row key's policy, and the floor, the legacy roles' and the report's where they are declared.
pub(super) fn policies(table: &TenantTable, declaration: &Declaration, roles: &Roles) -> Vec<Wanted> {
    let public = |name: &str, create| Wanted { name: name.to_owned(), create, roles: Vec::new(), until: None };
    let mut all = vec![public(POLICY, table.create_policy_sql())];
    if table.floor {
        all.push(public(FLOOR, table.create_floor_sql()));
    }
    all.extend(past(table, declaration, roles));
    all
}

/// The policies of the roles that read past the tenants' boundary.
pub(super) fn past(table: &TenantTable, declaration: &Declaration, roles: &Roles) -> Vec<Wanted> {
    let of_legacy = |legacy: &LegacyRole| Wanted {
        name: legacy_policy(legacy),
        create: table.create_legacy_sql(legacy),
        roles: vec![legacy.role().to_owned()],
        until: Some(legacy.ends_at()),
    };
    let mut all: Vec<Wanted> = declaration.legacy_roles().iter().map(of_legacy).collect();
    if let Some(role) = roles.report_role().filter(|_| declaration.report_of(&table.relation).is_some()) {
        let (create, roles) = (table.create_report_sql(role), vec![role.to_owned()]);
        all.push(Wanted { name: REPORT.to_owned(), create, roles, until: None });
    }
    all
}
