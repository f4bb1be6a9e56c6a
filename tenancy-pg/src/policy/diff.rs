//! The smallest migration that brings a live database to a declaration.

use sqlx::Connection;
use sqlx::Executor;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::cut_off::{self, CutOff};
use super::live::{self, LiveTable, SNAPSHOT};
use super::migration::Migration;
use super::names::REGISTRY_KEY;
use super::registry::{references_sql, registry_step};
use super::roles::Roles;
use super::step::{Locks, Step};
use super::{indexes, isolation, keys, known, reports, rights};
use crate::declaration::{Declaration, TenantTable};
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::options::quiet;

impl Migration {
    /// Compares a database with the declaration, as the owner of its tables, and gives the smallest migration that brings
    /// it there, each step with its reason. Nothing is changed, nor by dropping it half-way.
    ///
    /// Empty on a database that is there already: policies of your own that bind the tenant stay, and those that do not
    /// get a floor under them.
    ///
    /// A step that rows stand in the way of (a tenant column missing in a table that has rows) fails when it runs and
    /// changes nothing; see [`Migration::adopt`] for such a table. What is wrong with roles (a superuser, an
    /// owner's member) is nothing that an owner can mend, and the inspection names it.
    ///
    /// Whom it cuts off from rows, [`cut_off`](Self::cut_off) says; it runs all the same.
    ///
    /// # Errors
    /// [`PgError::Plan`] where it can't be planned: a role or relation is not there, reports are declared and their role is
    /// not named, or the service would get a legacy role's policy. [`PgError`] when it can't connect or look.
    pub async fn diff(owner: PgConnectOptions, declaration: &Declaration, roles: &Roles) -> Result<Self, PgError> {
        let mut connection = PgConnection::connect_with(&quiet(owner)).await?;
        let plan = compare(&mut connection, declaration, roles).await;
        let _closed = connection.close().await;
        let (steps, cut_off) = plan?;
        Ok(Self::planned(steps, cut_off))
    }
}

async fn compare(
    connection: &mut PgConnection,
    declaration: &Declaration,
    roles: &Roles,
) -> Result<(Vec<Step>, Vec<CutOff>), PgError> {
    connection.execute(SNAPSHOT).await?;
    let ended = known::look(connection, declaration, roles).await?;
    let tables = live::tables(connection, declaration, roles).await?;
    let (policies, helpers) = live::policies(connection, &tables, roles).await?;
    let mut steps: Vec<Step> = Vec::new();
    if needs_registry(connection).await? {
        steps.extend(registry_step(declaration, roles));
    }
    let declared = || tables.iter().filter_map(|live| Some((live.declaration(declaration)?, live)));
    for (table, live) in declared() {
        steps.extend(owner(&table, live));
        if !live.child && live.is_table() {
            steps.extend(column(&table, live));
        }
    }
    let unique = keys::unique(connection, declaration).await?;
    let (of_keys, leads) = keys::steps(declaration, &keys::foreign(connection, declaration).await?, &unique);
    steps.extend(of_keys);
    for (table, live) in declared().filter(|(_, live)| live.is_table()) {
        if !live.child {
            if !live.led_index && !leads.contains(&live.place) {
                steps.push(indexes::plain(&table));
            }
            if declaration.registry() && live.registry_key.is_none() {
                steps.push(registry_key(&table, live));
            }
        }
        steps.extend(isolation::steps(&table, live, (&policies, &helpers), declaration, roles));
    }
    steps.extend(rights::steps(connection, declaration, roles).await?);
    steps.extend(reports::steps(connection, declaration, roles).await?);
    let mut cut_off = cut_off::logins(connection, &tables, declaration, roles).await?;
    cut_off.extend(ended.into_iter().map(CutOff::ended));
    connection.execute("rollback").await?;
    Ok((steps, cut_off))
}

pub(super) async fn needs_registry(connection: &mut PgConnection) -> Result<bool, PgError> {
    Ok(sqlx::query_scalar("select to_regclass('tenancy.tenant') is null").fetch_one(connection).await?)
}

/// A service that owns its tables can switch everything off. Whoever runs the migration takes them.
pub(super) fn owner(table: &TenantTable, live: &LiveTable) -> Option<Step> {
    let relation = &table.relation;
    live.owned_by_app.then(|| {
        Step::new(
            Locks::Instant,
            format!("an owner can switch row level security off, and the service is or can become that of {relation}"),
            format!("ALTER TABLE {relation} OWNER TO CURRENT_USER;\n"),
            format!("ALTER TABLE {relation} OWNER TO {};\n", quote_ident(&live.owner)),
        )
    })
}

fn column(table: &TenantTable, live: &LiveTable) -> Option<Step> {
    let (relation, column, key) = (&table.relation, table.column.quoted(), table.key.sql());
    match (&live.column_type, live.not_null) {
        (None, _) => Some(Step::new(
            Locks::Instant,
            format!("nothing says whose a row of {relation} is; with rows in it, adopt the table instead"),
            format!("ALTER TABLE {relation} ADD COLUMN {column} {key} NOT NULL;\n"),
            format!("ALTER TABLE {relation} DROP COLUMN {column};\n"),
        )),
        (Some(_), false) => Some(Step::new(
            Locks::Scan,
            format!("a row of {relation} without a tenant would be found by none and erased with none"),
            format!("ALTER TABLE {relation} ALTER COLUMN {column} SET NOT NULL;\n"),
            format!("ALTER TABLE {relation} ALTER COLUMN {column} DROP NOT NULL;\n"),
        )),
        (Some(_), true) => None,
    }
}

pub(super) fn registry_key(table: &TenantTable, live: &LiveTable) -> Step {
    let (relation, key) = (&table.relation, quote_ident(REGISTRY_KEY));
    let force =
        |word| if live.forced { format!("ALTER TABLE {relation} {word} ROW LEVEL SECURITY;\n") } else { String::new() };
    Step::new(
        Locks::Scan,
        format!("a late writer of an erased tenant must fail in {relation}"),
        format!(
            "{}ALTER TABLE {relation} ADD CONSTRAINT {key} {};\n{}",
            force("NO FORCE"),
            references_sql(table),
            force("FORCE")
        ),
        format!("ALTER TABLE {relation} DROP CONSTRAINT {key};\n"),
    )
}
