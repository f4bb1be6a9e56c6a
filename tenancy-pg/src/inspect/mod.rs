//! Does this database keep tenants apart, for the role that connects?
//!
//! The types can't see a login that is a superuser, a table without FORCE or a policy that lets everything through. The
//! inspection can: it asks the catalog, as the role that the service uses, before the first tenant is served.
//!
//! Some rules that are told elsewhere are wrong and are not here: a policy without `WITH CHECK` uses its `USING` for
//! writes, so its absence is no leak (rowsecurity.c, `add_security_quals`). And one that is believed right is wrong:
//! `pg_read_all_data` does not go past row level security on a table, but it reads the TOAST table beneath it.

mod actors;
mod append_only;
mod beneath;
mod binding;
mod catalog;
mod codes;
mod definer;
mod expression;
mod foreign_keys;
mod helpers;
mod indexes;
mod judge;
mod later;
mod legacy;
mod objects;
mod open_to_all;
mod policies;
mod probes;
mod reach;
mod report;
mod reports;
mod roles;
mod sarif;
mod server;
mod settings;
mod signed;
mod tables;
mod value;
mod views;
mod world;

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};

pub use codes::{Code, Effect};
pub use report::{Finding, Inspection, Severity};

pub(crate) use self::binding::{Binding, Helpers, binding};
use self::catalog::Catalog;
pub(crate) use self::reach::is_reach;
use self::views::Views;
use crate::declaration::Declaration;
use crate::error::PgError;
use crate::options::PgOptions;
use crate::pooler::Pooler;

/// Severities that a service may choose.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct InspectPolicy {
    server_floor: Severity,
    shared_objects: Severity,
    hardening: Option<Severity>,
}

impl InspectPolicy {
    /// An old server and large objects within reach are warnings; everything else that is found is fatal unless it says
    /// otherwise.
    pub const fn new() -> Self {
        Self { server_floor: Severity::Warning, shared_objects: Severity::Warning, hardening: None }
    }

    /// What a server below the minimum minor release means.
    pub const fn server_floor(mut self, severity: Severity) -> Self {
        self.server_floor = severity;
        self
    }

    /// What it means that the database is not hardened ([`hardening_sql`](crate::hardening_sql)). Unless said otherwise a
    /// warning, and fatal where the declaration is signed and behind [`Pooler::Transaction`](crate::Pooler): nobody sees
    /// there who has a session next, so that nothing can be left on one is all the proof there is.
    pub const fn hardening(mut self, severity: Severity) -> Self {
        self.hardening = Some(severity);
        self
    }

    /// What it means that the service may use large objects. Every role may in a new database, until
    /// [`hardening_sql`](crate::hardening_sql) was run there.
    pub const fn shared_objects(mut self, severity: Severity) -> Self {
        self.shared_objects = severity;
        self
    }
}

impl InspectPolicy {
    /// Of large objects and of what else the hardening closes.
    fn of_shared(self, declaration: &Declaration, pooler: Pooler) -> [Severity; 2] {
        let needed = declaration.signed() || !pooler.keeps_sessions();
        let hardening = self.hardening.unwrap_or(if needed { Severity::Fatal } else { Severity::Warning });
        // Large objects are among what the hardening closes.
        [if needed { hardening } else { self.shared_objects }, hardening]
    }
}

impl Default for InspectPolicy {
    fn default() -> Self {
        Self::new()
    }
}

/// Looks at everything in one read-only snapshot, on a connection of its own made the way the pool makes them, and once
/// more as the role that reads reports where the options have one. For a command line or a check in a pipeline: it needs
/// no realm and gives no handle.
///
/// The number of statements does not depend on the number of tables. Nothing is changed: what is tried is rolled back.
/// Dropping the future closes the connection.
///
/// # Errors
/// [`PgError`] when it can't look. What it finds is no error, however bad.
pub async fn inspect(
    options: &PgOptions,
    declaration: &Declaration,
    policy: InspectPolicy,
) -> Result<Inspection, PgError> {
    let severities = policy.of_shared(declaration, options.pooler_of());
    let mut connection = options.session(declaration.setting()).await?;
    let inspection = look(&mut connection, declaration, policy, severities).await;
    // The report is worth more than a polite good-bye.
    let _closed = connection.close().await;
    let mut inspection = inspection?;
    if let Some(reports) = options.of_reports() {
        let (service, known) = (inspection.session_user.as_str(), inspection.findings.as_slice());
        let found = reports::findings(&reports, declaration, service, severities, known).await?;
        inspection.findings.extend(found);
        inspection.findings.sort_by_key(|finding| finding.severity);
    }
    Ok(inspection)
}

async fn look(
    connection: &mut PgConnection,
    declaration: &Declaration,
    policy: InspectPolicy,
    [shared_objects, hardening]: [Severity; 2],
) -> Result<Inspection, PgError> {
    connection.execute(SNAPSHOT).await?;
    let session = server::session(connection).await?;
    let mut findings = Vec::from_iter(server::findings(&session, policy.server_floor));
    let catalog = Catalog::load(connection, declaration).await?;
    findings.extend(roles::findings(&session, &catalog.roles));
    findings.extend(settings::findings(connection, declaration.setting()).await?);
    findings.extend(legacy::findings(connection, declaration).await?);
    findings.extend(tables::findings(&catalog));
    findings.extend(policies::findings(&catalog));
    findings.extend(helpers::findings(&catalog.helpers));
    findings.extend(foreign_keys::findings(connection, &catalog).await?);
    findings.extend(indexes::findings(connection, &catalog).await?);
    let views = Views::load(connection).await?;
    let reached = world::reached(connection, &catalog).await?;
    findings.extend(world::findings(&catalog, &views, &reached));
    findings.extend(append_only::findings(connection, &catalog).await?);
    findings.extend(definer::findings(connection, &catalog).await?);
    findings.extend(beneath::findings(connection, &catalog).await?);
    findings.extend(objects::findings(connection, &catalog, shared_objects).await?);
    findings.extend(open_to_all::findings(connection, &catalog, hardening).await?);
    findings.extend(later::findings(connection, &catalog).await?);
    findings.extend(probes::findings(connection, &catalog).await?);
    findings.extend(signed::findings(connection, &catalog, false).await?);
    findings.sort_by_key(|finding| finding.severity);
    Ok(Inspection {
        server_version: session.version,
        session_user: session.session_user,
        current_user: session.current_user,
        findings,
    })
}

/// With this search path the catalog prints every name that is not its own with its schema. Some of the queries look
/// expensive enough to be compiled, and are over before that pays.
const SNAPSHOT: &str = "begin isolation level repeatable read read only; set local search_path = pg_catalog; \
                        set local jit = off";
