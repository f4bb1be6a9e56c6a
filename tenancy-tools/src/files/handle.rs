//! The scoped handle on a tenant's files.

use std::fmt;
use std::sync::{Arc, OnceLock};

use cap_std::fs::Dir;
use tenancy_core::{Denial, Entered, Gate, Pass, Realm, Redacted, Region, StoreName, TenantContext};

use super::path::RelPath;
use super::root::FilesLimits;
use super::{FilesError, FilesRoot, ops};

/// The root behind its gate.
#[derive(Clone, Debug)]
pub(crate) struct FilesGate {
    gate: Gate,
    root: FilesRoot,
}

impl FilesGate {
    pub(crate) fn new(realm: &Realm, root: FilesRoot) -> Self {
        Self { gate: Gate::new(realm, StoreName::new("files")), root }
    }

    pub(crate) fn in_region(mut self, region: Region) -> Self {
        self.gate = self.gate.in_region(region);
        self
    }

    pub(crate) fn scoped(&self, context: &TenantContext) -> Result<TenantFiles, Denial> {
        let shelf = Shelf { root: self.root.clone(), dir: OnceLock::new() };
        Ok(TenantFiles { pass: self.gate.scoped(context)?, shelf: Arc::new(shelf), writable: true })
    }
}

/// The files of one tenant. Cheap to clone.
///
/// Paths are relative to the tenant's own directory, and `.` is that directory. Links that stay inside are followed;
/// whatever leads outside is [`Denial::OutOfReach`], and what names nothing is [`Denial::NotVisible`]: both on record,
/// with one face. A hard link to elsewhere is refused by its count of names. There is no verb that makes a link.
///
/// Every verb may be dropped: a `cancelled` record stays, and a change that had begun is made as a whole or not at all.
#[derive(Clone)]
pub struct TenantFiles {
    pass: Pass,
    shelf: Arc<Shelf>,
    writable: bool,
}

/// The open directory of the life, once there is one.
struct Shelf {
    root: FilesRoot,
    dir: OnceLock<Dir>,
}

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. Where to is not told.
    Link,
    /// A pipe, a socket or a device: listed, never opened.
    Other,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What a directory holds, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Whether there are more than a listing may hold.
    pub truncated: bool,
}

/// What is known about a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileStat {
    /// What it is.
    pub kind: EntryKind,
    /// The size of a file in bytes; 0 for a directory.
    pub bytes: u64,
}

impl TenantFiles {
    /// Reads a file.
    ///
    /// # Errors
    /// [`FilesError`].
    pub async fn read(&self, path: &str) -> Result<Vec<u8>, FilesError> {
        self.look("files.read", path, Missing::Stays, ops::read).await
    }

    /// Writes a file as a whole, replacing the one that is there. Its directory must exist.
    ///
    /// # Errors
    /// [`FilesError`].
    pub async fn write(&self, path: &str, bytes: impl Into<Vec<u8>> + Send) -> Result<(), FilesError> {
        let bytes = bytes.into();
        self.change("files.write", path, move |dir, path, limits| ops::write(dir, path, &bytes, limits)).await
    }

    /// Lists a directory.
    ///
    /// # Errors
    /// [`FilesError`].
    pub async fn list(&self, path: &str) -> Result<Listing, FilesError> {
        // A tenant's own root is there, empty, before anything was written.
        self.look("files.list", path, Missing::IsMade, ops::list).await
    }

    /// Says what a path names and how large it is.
    ///
    /// # Errors
    /// [`FilesError`].
    pub async fn stat(&self, path: &str) -> Result<FileStat, FilesError> {
        self.look("files.stat", path, Missing::Stays, |dir, path, _| ops::stat(dir, path)).await
    }

    /// Removes a file, a link or an empty directory.
    ///
    /// # Errors
    /// [`FilesError`].
    pub async fn delete(&self, path: &str) -> Result<(), FilesError> {
        self.change("files.delete", path, |dir, path, _| ops::delete(dir, path)).await
    }

    /// Makes a directory and those above it. One that is there already is no error.
    ///
    /// # Errors
    /// [`FilesError`].
    pub async fn create_dir(&self, path: &str) -> Result<(), FilesError> {
        self.change("files.create_dir", path, |dir, path, _| ops::create_dir(dir, path)).await
    }

    /// The same files for a tool that only reads.
    pub(crate) fn read_only(&self) -> Self {
        Self { writable: false, ..self.clone() }
    }

    pub(crate) const fn context(&self) -> &TenantContext {
        self.pass.context()
    }

    async fn look<T: Send + 'static>(
        &self,
        action: &'static str,
        path: &str,
        missing: Missing,
        verb: impl FnOnce(&Dir, &RelPath, FilesLimits) -> Result<T, FilesError> + Send + 'static,
    ) -> Result<T, FilesError> {
        let entered = self.pass.enter(action).await?;
        match self.on_shelf(&entered, path, missing, verb).await {
            Ok(value) => {
                entered.done();
                Ok(value)
            }
            Err(error) => Err(end(entered, error)),
        }
    }

    async fn change(
        &self,
        action: &'static str,
        path: &str,
        verb: impl FnOnce(&Dir, &RelPath, FilesLimits) -> Result<(), FilesError> + Send + 'static,
    ) -> Result<(), FilesError> {
        let entered = self.pass.enter(action).await?;
        let outcome = if self.writable {
            self.on_shelf(&entered, path, Missing::IsMade, verb).await
        } else {
            Err(FilesError::ReadOnly)
        };
        match outcome {
            Ok(()) => {
                entered.changed();
                Ok(())
            }
            Err(error) => Err(end(entered, error)),
        }
    }

    /// Runs a verb where blocking is allowed. It runs to its end even when nobody waits for it any more.
    async fn on_shelf<T: Send + 'static>(
        &self,
        entered: &Entered<'_>,
        path: &str,
        missing: Missing,
        verb: impl FnOnce(&Dir, &RelPath, FilesLimits) -> Result<T, FilesError> + Send + 'static,
    ) -> Result<T, FilesError> {
        let path = RelPath::parse(path)?;
        let name = FilesRoot::name(entered.context())?;
        let shelf = Arc::clone(&self.shelf);
        let work = move || verb(shelf.dir(&name, missing)?, &path, shelf.root.limits);
        tokio::task::spawn_blocking(work).await.map_err(|error| FilesError::Io {
            kind: std::io::ErrorKind::Other,
            source: Redacted::new(std::io::Error::other(error)),
        })?
    }
}

/// What to do when the tenant has no directory yet.
#[derive(Clone, Copy)]
enum Missing {
    Stays,
    IsMade,
}

impl Shelf {
    fn dir(&self, name: &str, missing: Missing) -> Result<&Dir, FilesError> {
        if let Some(dir) = self.dir.get() {
            return Ok(dir);
        }
        let dir = match missing {
            Missing::Stays => self.root.open(name)?,
            Missing::IsMade => self.root.open_or_create(name)?,
        };
        Ok(self.dir.get_or_init(|| dir))
    }
}

fn end(entered: Entered<'_>, error: FilesError) -> FilesError {
    match error {
        FilesError::Denied(denial) => entered.deny(denial).into(),
        error => {
            entered.failed();
            error
        }
    }
}

impl fmt::Debug for TenantFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantFiles({:?})", self.context())
    }
}
