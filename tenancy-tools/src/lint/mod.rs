//! The schema lint: refuses a tool whose arguments could name a tenant, in whatever disguise.
//!
//! It is a heuristic, made to catch mistakes and tricks at start-up. The boundary is the executor: a tool gets handles
//! that are scoped already, so a name that slips through names nothing.
//!
//! It looks at the schema *as emitted* to the model, not at the struct: in home-generative-agent#630 a fallback path
//! emitted an unfiltered one.

mod glyphs;
mod names;
mod object;
mod walk;

use std::fmt;

use serde_json::Value;

pub(crate) use names::{fold, judge};
pub(crate) use object::close;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Refused unless the field is declared with
    /// [`allow_domain_field`](crate::ToolRegistry::allow_domain_field).
    Ambiguous,
    /// Refused.
    Deny,
}

/// Something the lint found in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Where: a JSON pointer into the schema.
    pub pointer: String,
    /// How bad.
    pub severity: Severity,
    /// What is wrong.
    pub reason: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// The name as it reads, words joined by `_`, when a name is what is wrong.
    pub name: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.pointer, self.reason, self.fix)
    }
}

/// Looks through a schema of tool arguments. An empty list: nothing was found.
///
/// Follows every keyword that holds schemas and every local `$ref`; never fetches anything. Sources of the rules:
/// camunda#46208 (a tenant as a tool parameter), SEP-2243 (`x-mcp-header` promotes an argument to a routing header),
/// jsonschema's default of fetching a `$ref` over HTTP.
#[must_use]
pub fn lint(schema: &Value) -> Vec<Finding> {
    walk::Walk::over(schema)
}
