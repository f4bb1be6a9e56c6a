//! Rights: what roles need, and what every new database gives them beyond it.

use crate::declaration::Declaration;
use crate::ident::quote_role;

/// What the service's role needs: reading and writing in tenant tables, where they are
/// [`append_only`](crate::TenantTable::append_only) reading and inserting, reading in global ones, and nothing that goes past
/// row level security (`TRUNCATE`, `REFERENCES`, `TRIGGER`). Identity columns need no more; a sequence of its own does.
#[must_use]
pub fn grant_sql(declaration: &Declaration, role: &str) -> String {
    let role = quote_role(role);
    let mut sql = String::new();
    let tenant = declaration.tenant_tables().iter().map(|table| (&table.relation, table.rights().join(", ")));
    let global = declaration.global_tables().iter().map(|relation| (relation, "SELECT".to_owned()));
    for (relation, rights) in tenant.chain(global) {
        sql += &format!(
            "GRANT USAGE ON SCHEMA {} TO {role};\nREVOKE ALL ON TABLE {relation} FROM {role};\n\
             GRANT {rights} ON TABLE {relation} TO {role};\n",
            relation.schema.quoted()
        );
    }
    sql
}

/// The statements that close what every new database leaves open to every role: large objects, which have no policies;
/// on servers before 15 the right to create in `public`; temporary objects, which a later statement of the same session
/// meets in front of tables; new plpgsql code, that is `DO` blocks; `set_config`; functions that run a text as SQL
/// (`query_to_xml` and its like, `ts_stat`, `ts_rewrite` of a text); and ending or interrupting other sessions, which
/// share the role.
///
/// For a superuser, once in each database of the service: neither the service's role nor the owner of its tables may
/// revoke them. Idempotent. Functions and triggers that exist run on as before, whoever calls them, and so do extensions.
/// Roles that are not the service's may need some of it: see [`hardening_sql_keeping`].
#[must_use]
pub fn hardening_sql() -> String {
    hardening_sql_keeping(&[])
}

/// As [`hardening_sql`], and these roles keep all of it but large objects, by name: the owner of the tables, whose
/// migrations have `DO` blocks and temporary tables, or one that runs `pg_dump`, which calls `set_config`.
///
/// Names as the catalog holds them. Nobody keeps it through a role that is not named, and `public`, which is no role,
/// keeps nothing. Never name the service's role, or one that it can become: the inspection finds it. A role that is no
/// longer named keeps what it was granted until that is revoked from it.
///
/// ```
/// let sql = tenancy_pg::hardening_sql_keeping(&["own"]);
/// assert!(sql.contains("REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;"));
/// assert!(sql.contains("GRANT USAGE ON LANGUAGE plpgsql TO \"own\";"));
/// ```
#[must_use]
pub fn hardening_sql_keeping(roles: &[&str]) -> String {
    let functions: Vec<String> = LARGE_OBJECTS.iter().map(|function| format!("    pg_catalog.{function}")).collect();
    format!(
        "REVOKE EXECUTE ON FUNCTION\n{}\nFROM PUBLIC;\nREVOKE CREATE ON SCHEMA public FROM PUBLIC;\n{}",
        functions.join(",\n"),
        crate::signed::hardening_sql(roles)
    )
}

/// What makes, reads, changes or removes large objects; closing and seeking do nothing without them.
pub(crate) const LARGE_OBJECTS: [&str; 15] = [
    "lo_creat(integer)",
    "lo_create(oid)",
    "lo_from_bytea(oid, bytea)",
    "lo_get(oid)",
    "lo_get(oid, bigint, integer)",
    "lo_put(oid, bigint, bytea)",
    "lo_open(oid, integer)",
    "loread(integer, integer)",
    "lowrite(integer, bytea)",
    "lo_truncate(integer, integer)",
    "lo_truncate64(integer, bigint)",
    "lo_unlink(oid)",
    "lo_import(text)",
    "lo_import(text, oid)",
    "lo_export(oid, text)",
];
