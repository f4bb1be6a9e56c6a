//! Migrations as files.

use super::cut_off::CutOff;
use super::fault::PlanFault;
use super::names::REGISTRY_KEY;
use super::registry::{references_sql, registry_step};
use super::roles::Roles;
use super::step::{Locks, Run, Step};
use super::{indexes, led, partitions};
use crate::declaration::{Declaration, TenantTable};
use crate::ident::quote_ident;

/// Generated statements that bring a database to a [`Declaration`], and those that take it back.
///
/// ```
/// use tenancy_pg::{Declaration, Migration, Roles};
///
/// # let toml = "[database]\ntenant-tables = [{ table = 'note', column = 'tenant_id', type = 'uuid' }]";
/// let declaration = Declaration::from_toml(toml)?;
/// let migration = Migration::of(&declaration, &Roles::new("app"))?;
/// for file in migration.files(20270101000000, "tenancy") {
///     println!("{}:\n{}", file.name, file.text); // 20270101000000_tenancy.up.sql and its down
/// }
/// # Ok::<(), tenancy_pg::PgError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    steps: Vec<Step>,
    cut_off: Vec<CutOff>,
    /// Not to be begun while it cuts somebody off.
    careful: bool,
}

/// A file for the folder that `sqlx::migrate!` reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationFile {
    /// `<version>_<name>.up.sql` or `.down.sql`.
    pub name: String,
    /// SQL.
    pub text: String,
}

impl Migration {
    /// What protects tables that were just made, without a look at a database: row level security enabled and forced,
    /// policies, the registry and the keys to it, an index led by the row key, the rights of the service's role.
    ///
    /// Idempotent; for the owner of the tables. In signed mode the schema `tenancy` must be there before, which a
    /// superuser makes. Keys that are to be led by the row key
    /// ([`TenantTable::composite_keys`](crate::TenantTable::composite_keys)) are written in `CREATE TABLE`: this looks whether
    /// they are and fails in the database, naming the key, where one is not. [`Migration::diff`] sees them and changes them.
    ///
    /// # Errors
    /// [`PlanFault::LegacyService`] where a role that serves tenants is declared as a legacy role.
    pub fn of(declaration: &Declaration, roles: &Roles) -> Result<Self, PlanFault> {
        roles.apart_from_legacy(declaration)?;
        let mut steps = Vec::new();
        steps.extend(registry_step(declaration, roles));
        for table in declaration.tenant_tables() {
            steps.extend(of_table(table, declaration, roles));
        }
        steps.push(roles.grants_step(declaration));
        Ok(Self::planned(steps, Vec::new()))
    }

    pub(super) const fn planned(steps: Vec<Step>, cut_off: Vec<CutOff>) -> Self {
        Self { steps, cut_off, careful: false }
    }

    pub(super) fn careful(self) -> Self {
        Self { careful: true, ..self }
    }

    /// Fails where running it would take the rows of somebody whom nobody mentioned.
    pub(super) fn may_begin(&self) -> Result<(), PlanFault> {
        if self.careful && !self.cut_off.is_empty() { Err(PlanFault::CutsOff(self.cut_off.clone())) } else { Ok(()) }
    }

    /// Who will see no rows once it has run, without any error: logins that use a table which gets its policies now and
    /// that are neither among the roles nor declared as legacy roles, the owner as well; and declared legacy roles whose day
    /// is past. Always empty of [`Migration::of`], which looks at no database.
    #[must_use]
    pub fn cut_off(&self) -> &[CutOff] {
        &self.cut_off
    }

    /// The steps, in their order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Every step's statements, each with its reason.
    #[must_use]
    pub fn up(&self) -> String {
        self.steps.iter().map(|step| commented(step, &step.up)).collect()
    }

    /// What takes every step back, the last one first.
    #[must_use]
    pub fn down(&self) -> String {
        self.steps.iter().rev().map(|step| commented(step, &step.down)).collect()
    }

    /// The files for `sqlx::migrate!`, with versions from the given one on: one pair for everything that can share a
    /// transaction, and between them one pair for each step that can be in none, marked `-- no-transaction`.
    ///
    /// A step that runs in batches is a file of one batch and can't be more: run those with [`Migration::run`].
    #[must_use]
    pub fn files(&self, version: i64, name: &str) -> Vec<MigrationFile> {
        let together = |one: &Step, next: &Step| one.run == Run::InTransaction && next.run == Run::InTransaction;
        let mut files = Vec::new();
        for (version, steps) in (version..).zip(self.steps.chunk_by(together)) {
            let part = Self::planned(steps.to_vec(), Vec::new());
            let head = if steps.iter().any(|step| step.run == Run::Alone) { NO_TRANSACTION } else { "" };
            for (suffix, text) in [("up", part.up()), ("down", part.down())] {
                files.push(MigrationFile {
                    name: format!("{version}_{name}.{suffix}.sql"),
                    text: format!("{head}{text}"),
                });
            }
        }
        files
    }
}

fn of_table(table: &TenantTable, declaration: &Declaration, roles: &Roles) -> Vec<Step> {
    let relation = &table.relation;
    let mut steps = vec![if table.composite_keys { led::check(table) } else { indexes::plain(table) }];
    if declaration.registry() {
        let key = quote_ident(REGISTRY_KEY);
        steps.push(Step::new(
            Locks::Scan,
            format!("a late writer of an erased tenant must fail in {relation}"),
            format!(
                "ALTER TABLE {relation} DROP CONSTRAINT IF EXISTS {key};\n\
                 ALTER TABLE {relation} ADD CONSTRAINT {key} {};\n",
                references_sql(table)
            ),
            format!("ALTER TABLE {relation} DROP CONSTRAINT IF EXISTS {key};\n"),
        ));
    }
    let (create, drop) = policies(table, declaration, roles);
    steps.push(Step::new(
        Locks::Instant,
        format!("policies hold every role in {relation}, its owner too"),
        format!(
            "ALTER TABLE {relation} ENABLE ROW LEVEL SECURITY;\nALTER TABLE {relation} FORCE ROW LEVEL SECURITY;\n\
             {drop}{create}"
        ),
        format!(
            "{drop}ALTER TABLE {relation} NO FORCE ROW LEVEL SECURITY;\nALTER TABLE {relation} DISABLE ROW LEVEL SECURITY;\n"
        ),
    ));
    if table.partitioned {
        steps.push(partitions::all(table, roles));
    }
    steps
}

/// What makes the policies of a table, and what drops them if they are there.
fn policies(table: &TenantTable, declaration: &Declaration, roles: &Roles) -> (String, String) {
    let wanted = super::wanted::policies(table, declaration, roles);
    let create = wanted.iter().map(|policy| policy.create.as_str()).collect();
    let drop = wanted
        .iter()
        .map(|policy| format!("DROP POLICY IF EXISTS {} ON {};\n", quote_ident(&policy.name), table.relation))
        .collect();
    (create, drop)
}

/// Reasons hold names, and a name may hold the end of a line.
fn commented(step: &Step, sql: &str) -> String {
    let reason = step.reason.replace(['\n', '\r'], " ");
    format!("-- {reason}\n-- {}\n{sql}\n", step.locks)
}

const NO_TRANSACTION: &str = "-- no-transaction\n";
