//! The schema `tenancy`: the registry of tenants, the signing keys, the verifiers.

use super::verifier::{SCHEMA, Verifier};
use crate::declaration::{Declaration, RowKeyType};
use crate::ident::quote_role;

/// What signed mode needs in the database: the schema `tenancy` with its owner, the registry of tenants, the table of
/// signing keys, the verifiers for the declared type of row key and for the key itself, and where a report is declared the
/// one for its reach.
///
/// For a superuser, before the policies of the tables. Idempotent. `owner` is the role that owns the tenant tables and
/// runs their migrations: it may refer to the registry and name the verifiers in policies. Each role of `apps` may run
/// the verifiers, which a statement under such a policy does in its own name: the service's role is one, and where reports
/// are declared the role that reads them another. Nobody else may do anything in there,
/// the owner included: a migration of data that it runs without a scope fails loudly.
///
/// The schema belongs to the role `tenancy_owner`, which can't log in and owns nothing else. No role of the service may
/// be a member of it.
#[must_use]
pub fn signed_schema_sql(declaration: &Declaration, owner: &str, apps: &[&str]) -> String {
    let row_key_type = declaration.row_key_type().unwrap_or(RowKeyType::Uuid);
    let owner = quote_role(owner);
    let mut sql = format!(
        "{MAKE_OWNER}\
         CREATE SCHEMA IF NOT EXISTS {SCHEMA};\n\
         CREATE TABLE IF NOT EXISTS {SCHEMA}.tenant (\n    row_key {} PRIMARY KEY,\n    life uuid NOT NULL UNIQUE,\n    \
         live boolean NOT NULL DEFAULT true\n);\n\
         {SIGNING_KEY}",
        row_key_type.sql()
    );
    for object in [format!("SCHEMA {SCHEMA}"), format!("TABLE {SCHEMA}.tenant"), format!("TABLE {SCHEMA}.signing_key")]
    {
        sql += &format!("ALTER {object} OWNER TO {OWNER_ROLE};\nREVOKE ALL ON {object} FROM PUBLIC;\n");
    }
    sql +=
        &format!("GRANT USAGE ON SCHEMA {SCHEMA} TO {owner};\nGRANT REFERENCES ON TABLE {SCHEMA}.tenant TO {owner};\n");
    sql += &verifier_sql(&Verifier::RowKey(row_key_type), apps);
    sql += &verifier_sql(&Verifier::Known, apps);
    if !declaration.report_relations().is_empty() {
        sql += &verifier_sql(&Verifier::Every, apps);
    }
    sql
}

fn verifier_sql(verifier: &Verifier, apps: &[&str]) -> String {
    let call = verifier.call();
    let mut sql = verifier.create_sql();
    sql += &format!("ALTER FUNCTION {call} OWNER TO {OWNER_ROLE};\nREVOKE ALL ON FUNCTION {call} FROM PUBLIC;\n");
    for app in apps {
        let app = quote_role(app);
        sql += &format!("GRANT USAGE ON SCHEMA {SCHEMA} TO {app};\nGRANT EXECUTE ON FUNCTION {call} TO {app};\n");
    }
    sql
}

/// What the role that keeps the registry needs: to enter tenants and to fence them (`live = false`), and no more. For a
/// superuser, after [`signed_schema_sql`].
///
/// It is the directory's role. The service's own must not be it: whoever can lift a fence is not held by it.
#[must_use]
pub fn registrar_sql(role: &str) -> String {
    let role = quote_role(role);
    format!(
        "GRANT USAGE ON SCHEMA {SCHEMA} TO {role};\n\
         GRANT SELECT, INSERT, UPDATE (live) ON TABLE {SCHEMA}.tenant TO {role};\n"
    )
}

/// The role that owns the schema, in every database of the cluster.
pub(crate) const OWNER_ROLE: &str = "tenancy_owner";

/// Roles are the cluster's, so another database may be at it as well.
const MAKE_OWNER: &str = "DO $tenancy$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'tenancy_owner') THEN
        CREATE ROLE tenancy_owner NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $tenancy$;
";

/// Two places, so at most two keys are live. A retired key has none and keeps its id alone, so that no migration that is
/// run again brings it back. The pads are the key as HMAC uses it.
const SIGNING_KEY: &str = "CREATE TABLE IF NOT EXISTS tenancy.signing_key (
    kid text COLLATE \"C\" PRIMARY KEY CHECK (octet_length(kid) = 8),
    place smallint UNIQUE CHECK (place IN (1, 2)),
    ipad bytea CHECK (octet_length(ipad) = 64),
    opad bytea CHECK (octet_length(opad) = 64),
    CONSTRAINT at_most_two_keys_are_live CHECK ((place IS NULL) = (ipad IS NULL) AND (ipad IS NULL) = (opad IS NULL))
);
";
