//! Tools on their way in: open for registration, then closed.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde_json::Value;

use crate::erased::{Registered, emit};
use crate::lint::{Finding, Severity, fold, judge, lint};
use crate::tool::Tool;

/// A registry that takes tools.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Open;

/// A registry that is complete, and that [`Tools`](crate::Tools) can be built from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Closed;

/// The tools of a service.
///
/// ```
/// # use tenancy_tools::*;
/// # struct Ping;
/// # impl Tool for Ping {
/// #     type Args = NoArguments;
/// #     const NAME: &'static str = "ping";
/// #     const VERSION: &'static str = "1";
/// #     const DESCRIPTION: &'static str = "Answers";
/// #     const EFFECT: Effect = Effect::ReadOnly;
/// #     async fn call(&self, _: &ToolScope<'_>, _: NoArguments) -> Result<ToolOutput, ToolError> {
/// #         Ok(ToolOutput::text("pong"))
/// #     }
/// # }
/// let mut registry = ToolRegistry::new();
/// registry.register(Ping)?;
/// let registry = registry.close();
/// # Ok::<(), RegistryError>(())
/// ```
pub struct ToolRegistry<S> {
    tools: BTreeMap<&'static str, Registered>,
    allowed: Vec<AllowedField>,
    state: S,
}

/// A field whose name could be a tenant's, and why it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllowedField {
    /// The name as it reads, words joined by `_`.
    pub name: String,
    /// Why it is no scope.
    pub reason: &'static str,
}

/// Why a tool or an exception is not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The name is taken.
    #[error("a tool named {tool} is registered already")]
    Twice {
        /// The tool.
        tool: &'static str,
    },
    /// Not a name of a tool.
    #[error("{tool:?} is not a name of a tool")]
    Name {
        /// The tool.
        tool: &'static str,
    },
    /// The lint found something in the schema as emitted.
    #[error("the schema of {tool} is refused: {}", Joined(findings))]
    Schema {
        /// The tool.
        tool: &'static str,
        /// What was found, each with a JSON pointer and a fix.
        findings: Vec<Finding>,
    },
    /// The schema can't be checked against.
    #[error("the schema of {tool} can't be compiled")]
    Unusable {
        /// The tool.
        tool: &'static str,
    },
    /// The field can't be allowed: it names a tenant beyond doubt, or nothing that needs allowing.
    #[error("the field {name:?} can't be allowed: only ambiguous names can")]
    NotAmbiguous {
        /// The field.
        name: String,
    },
    /// An exception without a reason.
    #[error("a field is allowed with a reason only")]
    ReasonMissing,
}

impl ToolRegistry<Open> {
    /// No tools yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { tools: BTreeMap::new(), allowed: Vec::new(), state: Open }
    }

    /// Takes a tool, unless its schema as emitted could name a tenant.
    ///
    /// Objects that leave undeclared names open are closed before the lint looks.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub fn register<T: Tool>(&mut self, tool: T) -> Result<&mut Self, RegistryError> {
        if !is_tool_name(T::NAME) {
            return Err(RegistryError::Name { tool: T::NAME });
        }
        if self.tools.contains_key(T::NAME) {
            return Err(RegistryError::Twice { tool: T::NAME });
        }
        let schema = emit::<T>();
        let findings = self.unexcused(&schema);
        if !findings.is_empty() {
            return Err(RegistryError::Schema { tool: T::NAME, findings });
        }
        self.tools.insert(T::NAME, Registered::new(tool, &schema)?);
        Ok(self)
    }

    /// Declares that a field of this name, in whatever spelling, is a word of the domain and no scope. Call it before
    /// registering the tools that have it.
    ///
    /// # Cross-tenant access
    /// The executor does not take the field for an attack any more. A tool that looks something up by it must do so
    /// through scoped handles. The first time that [`Tools`](crate::Tools) are scoped for a tenant, a record is written
    /// with the reason.
    ///
    /// # Errors
    /// [`RegistryError::NotAmbiguous`] and [`RegistryError::ReasonMissing`].
    pub fn allow_domain_field(&mut self, name: &str, reason: &'static str) -> Result<&mut Self, RegistryError> {
        if reason.trim().is_empty() {
            return Err(RegistryError::ReasonMissing);
        }
        if judge(name).map(|judged| judged.severity) != Some(Severity::Ambiguous) {
            return Err(RegistryError::NotAmbiguous { name: name.to_owned() });
        }
        self.allowed.push(AllowedField { name: fold(name), reason });
        Ok(self)
    }

    /// No more tools.
    #[must_use]
    pub fn close(self) -> ToolRegistry<Closed> {
        ToolRegistry { tools: self.tools, allowed: self.allowed, state: Closed }
    }

    fn unexcused(&self, schema: &Value) -> Vec<Finding> {
        let excused = |finding: &Finding| match (finding.severity, &finding.name) {
            (Severity::Ambiguous, Some(name)) => self.allowed.iter().any(|field| field.name == *name),
            (Severity::Ambiguous, None) | (Severity::Deny, _) => false,
        };
        lint(schema).into_iter().filter(|finding| !excused(finding)).collect()
    }
}

impl Default for ToolRegistry<Open> {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolRegistry<Closed> {
    pub(crate) fn into_parts(self) -> (BTreeMap<&'static str, Registered>, Vec<AllowedField>, HashSet<String>) {
        let Self { tools, allowed, state: Closed } = self;
        let names = allowed.iter().map(|field| field.name.clone()).collect();
        (tools, allowed, names)
    }
}

impl<S> ToolRegistry<S> {
    /// The exceptions, with their reasons.
    pub fn allowed_fields(&self) -> &[AllowedField] {
        &self.allowed
    }
}

fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}

struct Joined<'a>(&'a [Finding]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{finding}")?;
        }
        Ok(())
    }
}

impl<S: fmt::Debug> fmt::Debug for ToolRegistry<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRegistry")
            .field("state", &self.state)
            .field("tools", &self.tools.keys())
            .field("allowed", &self.allowed)
            .finish()
    }
}
