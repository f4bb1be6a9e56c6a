//! The registry of tenants, which tenant tables refer to.

use super::roles::Roles;
use super::step::{Locks, Step};
use crate::declaration::{Declaration, TenantTable};
use crate::ident::quote_role;

/// Makes the registry, where one is declared. In signed mode it belongs to another owner, and a superuser makes it.
pub(super) fn registry_step(declaration: &Declaration, roles: &Roles) -> Option<Step> {
    let key = declaration.row_key_type().filter(|_| declaration.registry() && !declaration.signed())?;
    let mut up = format!(
        "CREATE SCHEMA IF NOT EXISTS tenancy;\nREVOKE ALL ON SCHEMA tenancy FROM PUBLIC;\n\
         CREATE TABLE IF NOT EXISTS {REGISTRY} (\n    row_key {} PRIMARY KEY,\n    life uuid NOT NULL UNIQUE,\n    \
         live boolean NOT NULL DEFAULT true\n);\nREVOKE ALL ON TABLE {REGISTRY} FROM PUBLIC;\n",
        key.sql()
    );
    if let Some(role) = roles.registrar_role().map(quote_role) {
        up += &format!(
            "GRANT USAGE ON SCHEMA tenancy TO {role};\nGRANT SELECT, INSERT, UPDATE, DELETE ON TABLE {REGISTRY} TO {role};\n"
        );
    }
    // Without CASCADE: what else lies in the schema is somebody's.
    let down = format!("DROP TABLE {REGISTRY};\nDROP SCHEMA tenancy;\n");
    Some(Step::new(Locks::Catalog, "tenant tables refer to the tenants that there are", up, down))
}

/// The foreign key of a tenant table. Its check runs as the registry's owner, so that nobody needs a right there.
pub(super) fn references_sql(table: &TenantTable) -> String {
    format!("FOREIGN KEY ({}) REFERENCES {REGISTRY} (row_key)", table.column.quoted())
}

/// The registry.
pub(super) const REGISTRY: &str = "tenancy.tenant";
