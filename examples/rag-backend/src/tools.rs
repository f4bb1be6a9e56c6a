//! The tools a model may call: search the tenant's documents, read and write its files. None of their arguments could
//! name a tenant: the registry refuses a schema in which one does.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Deserialize;
use tenancy_stack::Denial;
use tenancy_stack::tools::{Closed, Effect, RegistryError, Tool, ToolError, ToolOutput, ToolRegistry, ToolScope};

use crate::ask::{find, verified};
use crate::error::ServiceError;
use crate::service::{Service, WeakService};

/// The service that tools reach, once it has started. The tools are part of its stores, so they don't keep it.
#[derive(Clone, Debug, Default)]
pub struct LateService(Arc<OnceLock<WeakService>>);

impl LateService {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the tools reach the service. Only the first call counts.
    pub fn set(&self, service: &Service) {
        let _first = self.0.set(service.downgrade());
    }

    fn reach(&self) -> Option<Service> {
        self.0.get().and_then(WeakService::upgrade)
    }
}

/// The service's tools, closed.
///
/// # Errors
/// [`RegistryError`] when a schema would let the model name a tenant, which none does.
pub fn registry(service: LateService) -> Result<ToolRegistry<Closed>, RegistryError> {
    let mut open = ToolRegistry::new();
    open.register(SearchDocuments { service })?.register(ReadFile)?.register(WriteFile)?;
    Ok(open.close())
}

pub(crate) struct SearchDocuments {
    service: LateService,
}

/// What to search for.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Search {
    /// The words to look for.
    query: String,
}

impl Tool for SearchDocuments {
    type Args = Search;

    const NAME: &'static str = "search_documents";
    const VERSION: &'static str = "1";
    const DESCRIPTION: &'static str = "Finds passages in the company's documents.";
    const EFFECT: Effect = Effect::ReadOnly;

    async fn call(&self, scope: &ToolScope<'_>, Search { query }: Search) -> Result<ToolOutput, ToolError> {
        let service = self.service.reach().ok_or_else(|| ToolError::failed("the service is starting or gone"))?;
        let mine = service.stores().scoped(scope.context()).map_err(refused)?;
        let found = find(&service, &mine, &query, 3).await.map_err(refused)?;
        let found = verified(&mine, found).await.map_err(refused)?;
        let lines: Vec<String> = found.iter().map(|c| format!("{}: {}", c.document, c.passage)).collect();
        Ok(ToolOutput::text(lines.join("\n")))
    }
}

struct ReadFile;

/// Which file to read.
#[derive(Deserialize, JsonSchema)]
struct Read {
    /// Its path below the company's own folder.
    path: String,
}

impl Tool for ReadFile {
    type Args = Read;

    const NAME: &'static str = "read_file";
    const VERSION: &'static str = "1";
    const DESCRIPTION: &'static str = "Reads a text file of the company.";
    const EFFECT: Effect = Effect::ReadOnly;

    async fn call(&self, scope: &ToolScope<'_>, Read { path }: Read) -> Result<ToolOutput, ToolError> {
        let bytes = scope.files().read(&path).await?;
        let text = String::from_utf8(bytes).map_err(|_| ToolError::declined("the file is no text"))?;
        Ok(ToolOutput::text(text))
    }
}

struct WriteFile;

/// What to write where.
#[derive(Deserialize, JsonSchema)]
struct Write {
    /// The file's path below the company's own folder.
    path: String,
    /// The whole new text.
    text: String,
}

impl Tool for WriteFile {
    type Args = Write;

    const NAME: &'static str = "write_file";
    const VERSION: &'static str = "1";
    const DESCRIPTION: &'static str = "Writes a text file of the company.";
    const EFFECT: Effect = Effect::Writes;

    async fn call(&self, scope: &ToolScope<'_>, Write { path, text }: Write) -> Result<ToolOutput, ToolError> {
        scope.files().write(&path, text).await?;
        Ok(ToolOutput::text("written"))
    }
}

/// A denial stays a denial; of anything else the model learns only that it failed.
fn refused(error: impl Into<ServiceError>) -> ToolError {
    let error = error.into();
    Denial::of(&error).map_or_else(|| ToolError::failed("the search failed"), ToolError::from)
}
