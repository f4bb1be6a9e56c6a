//! The one directory under which every tenant has its own.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt};
use tenancy_core::{Denial, Fields, TenantContext, purpose};

use super::FilesError;

/// The directory under which every tenant has its own. Opened once, when the service starts, and never resolved again:
/// a root behind a link keeps working (mcp servers#3254), and renaming it later changes nothing.
///
/// It has no method that reaches a file.
#[derive(Clone)]
pub struct FilesRoot {
    dir: Arc<Dir>,
    pub(super) limits: FilesLimits,
}

/// Bounds of a file operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilesLimits {
    pub(super) file_bytes: u64,
    pub(super) entries: usize,
}

impl FilesRoot {
    /// Opens the directory, making it when it is not there. Blocks; call it at start-up.
    ///
    /// Give it a directory that only this service writes to, on one file system: a mount inside is followed.
    ///
    /// # Errors
    /// [`FilesError::Io`] when it can't be made or opened.
    pub fn provision(path: impl AsRef<Path>) -> Result<Self, FilesError> {
        let open = || -> io::Result<Dir> {
            Dir::create_ambient_dir_all(&path, ambient_authority())?;
            Dir::open_ambient_dir(&path, ambient_authority())
        };
        let dir = open().map_err(|error| FilesError::Io { kind: error.kind(), source: error.into() })?;
        let limits = FilesLimits { file_bytes: 8 * 1024 * 1024, entries: 1000 };
        Ok(Self { dir: Arc::new(dir), limits })
    }

    /// The most bytes a file may have to be read or written. Default 8 MiB.
    #[must_use]
    pub const fn file_bytes(mut self, limit: u64) -> Self {
        self.limits.file_bytes = limit;
        self
    }

    /// The most entries of a listing. Default 1000.
    #[must_use]
    pub const fn entries(mut self, limit: usize) -> Self {
        self.limits.entries = limit;
        self
    }

    /// The name of a life's directory: a keyed digest, so that no two tenants' names can collide by case, by
    /// normalisation or by a trailing dot, and so that a listing of the root tells nothing.
    pub(super) fn name(context: &TenantContext) -> Result<String, Denial> {
        let mut fields = Fields::new();
        fields.text(1, "files");
        Ok(context.derive::<purpose::Directory>(&fields)?.to_hex())
    }

    /// Opens a life's directory. It must be one itself: a link of that name, to another life's say, is refused by
    /// comparing what the name is with what was opened.
    pub(super) fn open(&self, name: &str) -> Result<Dir, FilesError> {
        let named = self.dir.symlink_metadata(name)?;
        let dir = self.dir.open_dir(name)?;
        let opened = dir.dir_metadata()?;
        let same = named.is_dir() && named.ino() == opened.ino() && named.dev() == opened.dev();
        if same { Ok(dir) } else { Err(Denial::OutOfReach.into()) }
    }

    /// As [`open`](Self::open), making it when it is not there.
    pub(super) fn open_or_create(&self, name: &str) -> Result<Dir, FilesError> {
        match self.dir.create_dir(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.into()),
            _ => self.open(name),
        }
    }
}

impl fmt::Debug for FilesRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilesRoot").field("limits", &self.limits).finish_non_exhaustive()
    }
}
