//! The executor: from a name and a text of the model to an answer, or to a typed refusal on record.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tenancy_core::{Breakers, Denial, Entered, Gate, Life, Pass, Realm, Region, StoreName, TenantContext};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::arguments::{self, Refusal};
use crate::erased::Registered;
use crate::error::ToolsError;
use crate::files::{FilesGate, FilesRoot, TenantFiles};
use crate::lanes::Lanes;
use crate::limits::Limits;
use crate::registry::{AllowedField, Closed, ToolRegistry};
use crate::scope::ToolScope;
use crate::tool::{ToolOutput, ToolSpec};

/// The tools of a realm. Can call none of them: see [`scoped`](Self::scoped).
#[derive(Clone)]
pub struct Tools {
    gate: Gate,
    files: FilesGate,
    shared: Arc<Shared>,
}

struct Shared {
    tools: BTreeMap<&'static str, Registered>,
    allowed: Vec<AllowedField>,
    allowed_names: HashSet<String>,
    limits: Limits,
    breakers: Breakers,
    lanes: Lanes,
    /// The lives for which the exceptions are on record.
    noted: Mutex<HashSet<Life>>,
}

impl Tools {
    /// The tools of a closed registry, with the default [`Limits`].
    #[must_use]
    pub fn new(realm: &Realm, registry: ToolRegistry<Closed>, files: FilesRoot) -> Self {
        Self::with_limits(realm, registry, files, Limits::default())
    }

    /// The tools of a closed registry, with limits of your own.
    #[must_use]
    pub fn with_limits(realm: &Realm, registry: ToolRegistry<Closed>, files: FilesRoot, limits: Limits) -> Self {
        let (tools, allowed, allowed_names) = registry.into_parts();
        let shared = Shared {
            tools,
            allowed,
            allowed_names,
            limits,
            breakers: Breakers::new(limits.breaker),
            lanes: Lanes::new(limits.calls),
            noted: Mutex::default(),
        };
        Self { gate: Gate::new(realm, STORE), files: FilesGate::new(realm, files), shared: Arc::new(shared) }
    }

    /// Says that the tools and the files stand in another region than the realm's own.
    #[must_use]
    pub fn in_region(mut self, region: Region) -> Self {
        self.gate = self.gate.in_region(region.clone());
        self.files = self.files.in_region(region);
        self
    }

    /// The tools for one tenant. The first time that this value, or a clone of it, is scoped for a life, each exception
    /// of the registry is put on the life's record with its reason.
    ///
    /// # Errors
    /// As [`Gate::scoped`].
    pub fn scoped(&self, context: &TenantContext) -> Result<TenantTools, Denial> {
        let pass = self.gate.scoped(context)?;
        let files = self.files.scoped(context)?;
        self.shared.note_exceptions(&pass);
        let lane = self.shared.lanes.of(context.life());
        Ok(TenantTools { shared: Arc::clone(&self.shared), pass, files, lane })
    }
}

impl Shared {
    fn note_exceptions(&self, pass: &Pass) {
        if self.allowed.is_empty() {
            return;
        }
        let first = self.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(pass.context().life());
        for field in self.allowed.iter().filter(|_| first) {
            pass.note("allow_domain_field", format!("{}: {}", field.name, field.reason));
        }
    }
}

/// The tools for one tenant. Cheap to clone.
#[derive(Clone)]
pub struct TenantTools {
    shared: Arc<Shared>,
    pass: Pass,
    files: TenantFiles,
    lane: Arc<Semaphore>,
}

impl TenantTools {
    /// What a model is told. The same for every tenant.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.shared.tools.values().map(|tool| tool.spec.clone()).collect()
    }

    /// The tenant's files, as the tools see them.
    #[must_use]
    pub const fn files(&self) -> &TenantFiles {
        &self.files
    }

    /// Calls a tool with arguments as the model wrote them.
    ///
    /// Dropped, it aborts the tool at its next await and leaves a `cancelled` record.
    ///
    /// # Errors
    /// [`ToolsError`]; each leaves a record of the call that says which.
    pub async fn call(&self, name: &str, arguments: &str) -> Result<ToolOutput, ToolsError> {
        let tool = self.shared.tools.get(name);
        let entered = self.pass.enter(tool.map_or("call", |tool| tool.spec.name)).await?;
        let outcome = match tool {
            Some(tool) => self.attempt(tool, arguments).await,
            None => Err(ToolsError::UnknownTool),
        };
        end(entered, outcome).await
    }

    async fn attempt(&self, tool: &Registered, arguments: &str) -> Result<ToolOutput, ToolsError> {
        let Limits { time, argument_bytes, .. } = self.shared.limits;
        let arguments = arguments::read(arguments, &self.shared.allowed_names, argument_bytes)?;
        let arguments = tool.check(arguments)?;
        let time = time.min(self.pass.context().remaining());
        let deadline = Instant::now() + time;
        let place = timeout_at(deadline, Arc::clone(&self.lane).acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(ToolsError::Busy) };

        let permit = self.shared.breakers.permit(&self.pass, tool.spec.name)?;
        let outcome = self.isolated(tool, arguments, place, deadline, time).await;
        match &outcome {
            Err(error) if error.is_fault() => permit.failure(),
            // Says nothing about the tool.
            Err(ToolsError::Denied(_)) => drop(permit),
            _ => permit.success(),
        }
        outcome
    }

    /// Runs the tool as a task of its own. The task holds the place, so a tool that does not let go of its thread keeps
    /// it until it does.
    async fn isolated(
        &self,
        tool: &Registered,
        arguments: Value,
        place: OwnedSemaphorePermit,
        deadline: Instant,
        time: Duration,
    ) -> Result<ToolOutput, ToolsError> {
        let run = Arc::clone(&tool.run);
        let files = if tool.writes() { self.files.clone() } else { self.files.read_only() };
        let mut task = Aborting(tokio::spawn(async move {
            let outcome = run.run(ToolScope::new(&files), arguments).await;
            drop(place);
            outcome
        }));
        let limit = self.shared.limits.output_bytes;
        match timeout_at(deadline, &mut task.0).await {
            Err(_) => Err(ToolsError::TimedOut { limit: time }),
            Ok(Err(_)) => Err(ToolsError::Panicked),
            Ok(Ok(Ok(output))) if output.as_str().len() > limit => Err(ToolsError::OutputTooLarge { limit }),
            Ok(Ok(outcome)) => outcome,
        }
    }
}

/// Ends the call's record. The tenant may have been stopped meanwhile: then there is no answer.
async fn end(entered: Entered<'_>, outcome: Result<ToolOutput, ToolsError>) -> Result<ToolOutput, ToolsError> {
    let outcome = match outcome {
        Ok(output) => entered.check_fresh().await.map(|()| output).map_err(ToolsError::from),
        error => error,
    };
    match outcome {
        Ok(output) => {
            entered.performed();
            Ok(output)
        }
        Err(ToolsError::Denied(denial)) => Err(entered.deny(denial).into()),
        Err(error) => {
            entered.failed_as(error.rule());
            Err(error)
        }
    }
}

impl From<Refusal> for ToolsError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Scope => Self::Denied(Denial::ScopeArgument),
            Refusal::Invalid(invalid) => Self::Invalid(invalid),
        }
    }
}

/// A task that does not outlive whoever waits for it.
struct Aborting<T>(JoinHandle<T>);

impl<T> Drop for Aborting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools").field("tools", &self.shared.tools.keys()).finish_non_exhaustive()
    }
}

impl fmt::Debug for TenantTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantTools({:?})", self.pass.context())
    }
}

/// The name under which placements name cells of this store, and audit records the store.
pub const STORE: StoreName = StoreName::new("tools");
