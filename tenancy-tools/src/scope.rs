//! What a tool is given of the tenant.

use std::fmt;

use tenancy_core::TenantContext;

use crate::files::TenantFiles;

/// The tenant's side of a call: handles that are scoped already. Only the executor makes one, for one call.
pub struct ToolScope<'a> {
    files: &'a TenantFiles,
}

impl<'a> ToolScope<'a> {
    pub(crate) const fn new(files: &'a TenantFiles) -> Self {
        Self { files }
    }

    /// The tenant's files.
    #[must_use]
    pub const fn files(&self) -> &'a TenantFiles {
        self.files
    }

    /// Who is asking, for scoping further clients that the tool holds: `database.scoped(scope.context())`.
    #[must_use]
    pub const fn context(&self) -> &'a TenantContext {
        self.files.context()
    }
}

impl fmt::Debug for ToolScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolScope({:?})", self.context())
    }
}
