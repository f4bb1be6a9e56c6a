//! Files of a tenant, reached through a directory handle.
//!
//! No path of a caller is ever compared with another path: comparing is what let `/data/acme-evil` pass for
//! `/data/acme` (CVE-2025-53110). The root is opened once; a path is resolved by the kernel beneath the tenant's own
//! directory handle, where leaving it is an error and not a resolution (CVE-2025-53109), and what was opened is judged by
//! its handle, so there is nothing to swap between the check and the use.

mod error;
mod handle;
mod ops;
mod path;
mod root;

pub use error::FilesError;
pub use handle::{Entry, EntryKind, FileStat, Listing, TenantFiles};
pub use root::FilesRoot;

pub(crate) use handle::FilesGate;
