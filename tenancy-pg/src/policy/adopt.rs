//! Adopting a schema that knew no tenants, while it is in use.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};
use tenancy_core::{RowKey, TenantRecord};

use super::cut_off::{self, CutOff};
use super::fault::PlanFault;
use super::live::{self, LiveTable, SNAPSHOT};
use super::migration::Migration;
use super::names::{NOT_NULL, REGISTRY_KEY};
use super::registry::{REGISTRY, references_sql, registry_step};
use super::roles::Roles;
use super::step::{Locks, Run, Step};
use super::{diff, indexes, isolation, keys, known, reports, rights};
use crate::declaration::{Declaration, RowKeyType, TenantTable};
use crate::error::PgError;
use crate::ident::{quote_ident, quote_text};
use crate::options::quiet;

impl Migration {
    /// Plans how tables that knew no tenants come to the declaration while readers and writers go on: every row that is
    /// there becomes `tenant`'s, and so does every row that a declared legacy role still inserts without a tenant.
    ///
    /// No step holds a lock that stops readers or writers for longer than a change of the catalog takes, none waits for
    /// one longer than half a second, and each says what it locks ([`Step::locks`]): columns come with a default and
    /// without a rewrite, rows that have no tenant yet get theirs in batches, `NOT NULL` and foreign keys are added
    /// unvalidated and validated after it, indexes are built `CONCURRENTLY`. Policies come last, those of the legacy roles
    /// among them. Exceptions, which the steps' locks show: indexes of partitioned tables, and foreign keys of tables
    /// that have FORCE already.
    ///
    /// Nothing is changed yet, nor by dropping it half-way: [`Migration::run`] does it. Whatever is done already is left
    /// out, so after a failure, or a half-way stop, plan and run again. When the legacy roles are gone from the declaration,
    /// the same plan drops their policies. Keys without the tenant column (`composite_keys`) are left to [`Migration::diff`].
    ///
    /// Logins that use the tables and that nobody mentioned would see no rows and get no error. The plan names them
    /// ([`cut_off`](Self::cut_off)), and `run` refuses to begin: declare them as legacy roles, or say [`Roles::cut_off`].
    ///
    /// # Errors
    /// [`PgError::Plan`] where it can't be planned: a role or relation is not there, a legacy role's day is past by the
    /// server's clock, reports are declared and their role is not named, or the service would get a legacy role's policy.
    /// [`PgError::RowKeyType`] when the tenant's row key is not of the tables' type; [`PgError`] when the owner can't
    /// connect or look.
    pub async fn adopt(
        owner: PgConnectOptions,
        declaration: &Declaration,
        roles: &Roles,
        tenant: &TenantRecord,
    ) -> Result<Self, PgError> {
        if !declaration.takes(tenant.row_key()) {
            return Err(PgError::RowKeyType);
        }
        let mut connection = PgConnection::connect_with(&quiet(owner)).await?;
        let plan = plan(&mut connection, declaration, roles, tenant).await;
        let _closed = connection.close().await;
        let (steps, cut_off) = plan?;
        Ok(Self::planned(steps.into_iter().map(impatient).collect(), cut_off).careful())
    }
}

async fn plan(
    connection: &mut PgConnection,
    declaration: &Declaration,
    roles: &Roles,
    tenant: &TenantRecord,
) -> Result<(Vec<Step>, Vec<CutOff>), PgError> {
    connection.execute(SNAPSHOT).await?;
    if let Some(legacy) = known::look(connection, declaration, roles).await?.first() {
        let (role, until) = (quote_ident(legacy.role()), legacy.until().to_owned());
        return Err(PlanFault::LegacyEnded { role, until }.into());
    }
    let tables = live::tables(connection, declaration, roles).await?;
    let policies = live::policies(connection, &tables, roles).await?;
    let all: Vec<(TenantTable, &LiveTable)> =
        tables.iter().filter_map(|live| Some((live.declaration(declaration)?, live))).collect();
    let declared = || all.iter().filter(|(_, live)| !live.child && live.is_table());
    let Some(kind) = RowKeyType::of(tenant.row_key()) else { return Err(PgError::RowKeyType) };
    let key = literal(tenant.row_key(), kind);
    if let Some((table, _)) = declared().find(|(_, live)| live.is_anothers(&key_text(tenant.row_key()), kind)) {
        return Err(PlanFault::OtherTenant { relation: table.relation.to_string() }.into());
    }
    let mut steps = Vec::new();
    for (table, live) in declared() {
        steps.extend(column(table, live, &key));
    }
    for (table, live) in all.iter().filter(|(_, live)| live.kind == "r" && !live.not_null) {
        steps.extend(backfill(table, live, &key));
    }
    for (table, live) in declared() {
        steps.extend(not_null(table, live));
        if !live.led_index {
            steps.extend(index(table, live));
        }
    }
    steps.extend(keys::online(declaration, &keys::foreign(connection, declaration).await?));
    steps.extend(registry(connection, declaration, roles, tenant, &key).await?);
    for (table, live) in declared().filter(|(_, live)| declaration.registry() && live.registry_key != Some(true)) {
        steps.extend(registry_key(table, live));
    }
    for (table, live) in all.iter().filter(|(_, live)| live.is_table()) {
        steps.extend(diff::owner(table, live));
        steps.extend(isolation::steps(table, live, (&policies.0, &policies.1), declaration, roles));
    }
    steps.extend(rights::steps(connection, declaration, roles).await?);
    steps.extend(reports::steps(connection, declaration, roles).await?);
    let cut_off = cut_off::logins(connection, &tables, declaration, roles).await?;
    connection.execute("rollback").await?;
    Ok((steps, cut_off))
}

/// A constant default costs no rewrite: rows that are there have it from the catalog.
fn column(table: &TenantTable, live: &LiveTable, key: &str) -> Option<Step> {
    let (relation, column, kind) = (&table.relation, table.column.quoted(), table.key.sql());
    match (&live.column_type, &live.default) {
        (None, _) => Some(Step::new(
            Locks::Instant,
            format!(
                "every row of {relation} that is there, and every one without a tenant that comes, is the adopted tenant's"
            ),
            format!("ALTER TABLE {relation} ADD COLUMN {column} {kind} DEFAULT {key};\n"),
            format!("ALTER TABLE {relation} DROP COLUMN {column};\n"),
        )),
        (Some(_), None) if !live.not_null => Some(Step::new(
            Locks::Instant,
            format!("every row without a tenant that comes into {relation} is the adopted tenant's"),
            format!("ALTER TABLE {relation} ALTER COLUMN {column} SET DEFAULT {key};\n"),
            format!("ALTER TABLE {relation} ALTER COLUMN {column} DROP DEFAULT;\n"),
        )),
        (Some(_), _) => None,
    }
}

/// Only for a column that was there before: a new one has its default in every row.
fn backfill(table: &TenantTable, live: &LiveTable, key: &str) -> Option<Step> {
    live.column_type.as_ref()?;
    let (relation, column) = (&table.relation, table.column.quoted());
    let mut step = Step::new(
        Locks::Rows,
        format!("rows of {relation} that have no tenant yet are the adopted tenant's"),
        format!(
            "UPDATE ONLY {relation} SET {column} = {key}\n    \
             WHERE {column} IS NULL AND ctid >= $1::text::tid AND ctid < $2::text::tid;\n"
        ),
        String::new(),
    );
    step.run = Run::InBatches {
        left: format!("SELECT count(*) FROM ONLY {relation} WHERE {column} IS NULL"),
        pages: format!(
            "SELECT pg_catalog.pg_relation_size({}::regclass) / current_setting('block_size')::bigint",
            quote_text(&relation.to_string())
        ),
    };
    Some(step)
}

/// A validated check spares `SET NOT NULL` its scan under the strongest lock.
fn not_null(table: &TenantTable, live: &LiveTable) -> Vec<Step> {
    if live.not_null {
        return Vec::new();
    }
    let (relation, column, check) = (&table.relation, table.column.quoted(), quote_ident(NOT_NULL));
    let drop = format!("ALTER TABLE {relation} DROP CONSTRAINT {check};\n");
    let why = format!("a row of {relation} without a tenant would be found by none and erased with none");
    let mut steps = Vec::new();
    if live.not_null_check.is_none() {
        let add = format!("ALTER TABLE {relation} ADD CONSTRAINT {check} CHECK ({column} IS NOT NULL) NOT VALID;\n");
        steps.push(Step::new(Locks::Instant, why.clone(), add, drop.clone()));
    }
    if live.not_null_check != Some(true) {
        let validate = format!("ALTER TABLE {relation} VALIDATE CONSTRAINT {check};\n");
        steps.push(Step::new(Locks::Nobody, format!("{why}: the rows that are there"), validate, String::new()));
    }
    steps.push(Step::new(
        Locks::Instant,
        format!("{why}: from now on"),
        format!("ALTER TABLE {relation} ALTER COLUMN {column} SET NOT NULL;\n{drop}"),
        format!(
            "ALTER TABLE {relation} ADD CONSTRAINT {check} CHECK ({column} IS NOT NULL) NOT VALID;\n\
             ALTER TABLE {relation} ALTER COLUMN {column} DROP NOT NULL;\n"
        ),
    ));
    steps
}

/// Postgres builds no index of a partitioned table concurrently.
fn index(table: &TenantTable, live: &LiveTable) -> Vec<Step> {
    if live.kind == "p" { vec![indexes::plain(table)] } else { indexes::concurrent(table, live.broken_index) }
}

async fn registry(
    connection: &mut PgConnection,
    declaration: &Declaration,
    roles: &Roles,
    tenant: &TenantRecord,
    key: &str,
) -> Result<Vec<Step>, PgError> {
    if !declaration.registry() || declaration.signed() {
        // In signed mode the registry is somebody else's, who enters the tenant.
        return Ok(Vec::new());
    }
    let there = !diff::needs_registry(connection).await?;
    let mut steps = Vec::from_iter(registry_step(declaration, roles).filter(|_| !there));
    let life = quote_text(&tenant.life().uuid().to_string());
    let known = format!("SELECT EXISTS (SELECT FROM {REGISTRY} WHERE row_key = {key})");
    if !there || !sqlx::query_scalar::<_, bool>(sqlx::AssertSqlSafe(known)).fetch_one(connection).await? {
        steps.push(Step::new(
            Locks::Catalog,
            "the adopted tenant's rows refer to it, those that a legacy role writes too",
            format!(
                "INSERT INTO {REGISTRY} (row_key, life) VALUES ({key}, {life}) ON CONFLICT (row_key) DO NOTHING;\n"
            ),
            format!("DELETE FROM {REGISTRY} WHERE row_key = {key};\n"),
        ));
    }
    Ok(steps)
}

fn registry_key(table: &TenantTable, live: &LiveTable) -> Vec<Step> {
    if live.forced || live.kind == "p" {
        // Under FORCE a validation sees no row and finds all well; and a partitioned table takes no unvalidated key.
        return Vec::from_iter(live.registry_key.is_none().then(|| diff::registry_key(table, live)));
    }
    let (relation, key) = (&table.relation, quote_ident(REGISTRY_KEY));
    let why = format!("a late writer of an erased tenant must fail in {relation}");
    let mut steps = Vec::new();
    if live.registry_key.is_none() {
        steps.push(Step::new(
            Locks::InstantForWriters,
            why.clone(),
            format!("ALTER TABLE {relation} ADD CONSTRAINT {key} {} NOT VALID;\n", references_sql(table)),
            format!("ALTER TABLE {relation} DROP CONSTRAINT {key};\n"),
        ));
    }
    let validate = format!("ALTER TABLE {relation} VALIDATE CONSTRAINT {key};\n");
    steps.push(Step::new(Locks::Nobody, format!("{why}: the rows that are there"), validate, String::new()));
    steps
}

/// Behind a step that waits for a lock everybody else waits too, so it does not wait for long.
fn impatient(mut step: Step) -> Step {
    if step.run == Run::InTransaction {
        let timeout = format!("SET LOCAL lock_timeout = {};\n", LOCK_TIMEOUT.as_millis());
        step.up.insert_str(0, &timeout);
        if !step.down.is_empty() {
            step.down.insert_str(0, &timeout);
        }
    }
    step
}

/// The row key as SQL.
fn literal(key: &RowKey, kind: RowKeyType) -> String {
    format!("{}::{}", quote_text(&key_text(key)), kind.sql())
}

/// The row key as the setting holds it.
pub(crate) fn key_text(key: &RowKey) -> String {
    match key {
        RowKey::Uuid(uuid) => uuid.to_string(),
        RowKey::BigInt(number) => number.to_string(),
        RowKey::Text(text) => text.as_str().to_owned(),
        // Whoever asks has compared the key with the declaration, which has no further type.
        _unknown => String::new(),
    }
}

/// How long a step waits for a lock: less than the server's `deadlock_timeout` of a second, so that where it and a reader
/// wait for each other the step gives way, and the reader is not what the server ends.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
