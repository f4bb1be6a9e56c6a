//! Directories that go with a test.

use std::path::Path;

use tempfile::TempDir;

/// A directory that is removed when the handle is dropped. In memory, where the system keeps some for files: an engine
/// that has each write synced spends its time waiting for the disk, which no test looks at.
#[must_use]
pub fn scratch_directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.or_else(|_read_only| tempfile::tempdir()).expect("a temporary directory")
}
