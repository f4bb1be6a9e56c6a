//! What a tool is.

use std::fmt;
use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ToolError;
use crate::scope::ToolScope;

/// Something a model may call.
///
/// The model's arguments and the scope never meet in one value: the arguments are `Args`, whose schema the registry
/// refuses when it could name a tenant, and what belongs to the tenant comes as handles from the [`ToolScope`].
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use tenancy_tools::{Effect, Tool, ToolError, ToolOutput, ToolScope};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct ReadArgs {
///     /// Relative path of the file.
///     path: String,
/// }
///
/// struct ReadFile;
///
/// impl Tool for ReadFile {
///     type Args = ReadArgs;
///     const NAME: &'static str = "read_file";
///     const VERSION: &'static str = "1";
///     const DESCRIPTION: &'static str = "Reads a text file";
///     const EFFECT: Effect = Effect::ReadOnly;
///
///     async fn call(&self, scope: &ToolScope<'_>, args: ReadArgs) -> Result<ToolOutput, ToolError> {
///         let bytes = scope.files().read(&args.path).await?;
///         Ok(ToolOutput::text(String::from_utf8_lossy(&bytes)))
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// What the model supplies. Take [`NoArguments`] for a tool without any.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;

    /// The name, unique in a registry: 1 to 64 of `[a-z0-9_-]`. It is the action of the call's audit record.
    const NAME: &'static str;
    /// The version: change it with the schema or the meaning.
    const VERSION: &'static str;
    /// What the model is told.
    const DESCRIPTION: &'static str;
    /// Whether a call can change anything. A tool that says [`Effect::ReadOnly`] gets handles that only read.
    const EFFECT: Effect;

    /// One call.
    ///
    /// It runs as a task of its own: a panic ends the call and nothing else. It is aborted at its next await when the
    /// caller is gone or the time is up, so work that must not stop half-way belongs into a job.
    ///
    /// # Errors
    /// [`ToolError`].
    fn call(
        &self,
        scope: &ToolScope<'_>,
        args: Self::Args,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// Whether a call can change anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only looks.
    ReadOnly,
    /// It changes something.
    Writes,
}

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct NoArguments {}

/// What a tool answers: a text for the model. `Debug` shows its length only.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolOutput {
    text: String,
}

impl ToolOutput {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// A value as JSON text.
    #[must_use]
    pub fn json(value: &Value) -> Self {
        Self { text: value.to_string() }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }
}

impl fmt::Debug for ToolOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolOutput({} bytes)", self.text.len())
    }
}

/// A tool as a model is told about it. Serialises as such.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name.
    pub name: &'static str,
    /// The version.
    pub version: &'static str,
    /// What it does.
    pub description: &'static str,
    /// Whether a call can change anything.
    pub effect: Effect,
    /// The JSON schema of the arguments: the text that the lint looked at and that calls are checked against.
    pub schema: String,
}
