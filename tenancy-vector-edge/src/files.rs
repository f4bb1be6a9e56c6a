//! The directory of a shard: when it counts as there, and how it goes.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use tenancy_vector::Schema;

use crate::options::EdgeError;

/// The directory of one partition.
///
/// It counts as a shard once it holds the manifest, which is written last when a shard is made and removed first when
/// it is dropped. A crash in between leaves a directory that is as good as none, and is cleared before the next use.
#[derive(Clone, Debug)]
pub(crate) struct ShardFiles {
    directory: PathBuf,
}

impl ShardFiles {
    pub(crate) fn new(root: &Path, partition: &str) -> Self {
        Self { directory: root.join(partition) }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The schema the shard was made for; `None` where there is no shard.
    pub(crate) fn manifest(&self) -> io::Result<Option<Schema>> {
        let text = match fs::read(self.manifest_path()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let manifest: serde_json::Value = serde_json::from_slice(&text)?;
        match manifest.get("format").and_then(serde_json::Value::as_u64) {
            Some(FORMAT) => {}
            other => return Err(io::Error::new(io::ErrorKind::Unsupported, OtherFormat(other))),
        }
        let schema = manifest.get("schema").and_then(Schema::from_json);
        schema.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Makes an empty directory, clearing what a crash left.
    pub(crate) fn make(&self) -> io::Result<()> {
        self.remove()?;
        private_directory().create(&self.directory)
    }

    /// Declares the shard made, durably.
    pub(crate) fn write_manifest(&self, schema: &Schema) -> io::Result<()> {
        let manifest = json!({"format": FORMAT, "schema": schema.to_json()});
        let draft = self.directory.join("manifest.draft");
        let mut file = File::create(&draft)?;
        file.write_all(manifest.to_string().as_bytes())?;
        file.sync_all()?;
        fs::rename(draft, self.manifest_path())?;
        File::open(&self.directory)?.sync_all()?;
        self.sync_root()
    }

    /// Removes everything, the manifest first. Nothing there is fine.
    pub(crate) fn remove(&self) -> io::Result<()> {
        if !self.exists()? {
            return Ok(());
        }
        absent_is_fine(fs::remove_file(self.manifest_path()))?;
        File::open(&self.directory)?.sync_all()?;
        absent_is_fine(fs::remove_dir_all(&self.directory))?;
        self.sync_root()
    }

    /// Whether anything is there, a shard or the rest of one.
    pub(crate) fn exists(&self) -> io::Result<bool> {
        self.directory.try_exists()
    }

    fn manifest_path(&self) -> PathBuf {
        self.directory.join("manifest.json")
    }

    fn sync_root(&self) -> io::Result<()> {
        self.directory.parent().map_or(Ok(()), |root| File::open(root)?.sync_all())
    }
}

/// Makes the root directory, for this user alone, and takes its lock. The lock is held as long as the file is open.
pub(crate) fn lock_root(root: &Path) -> Result<File, EdgeError> {
    if !root.is_dir() {
        private_directory().recursive(true).create(root)?;
    }
    let file = File::create(root.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(EdgeError::Locked),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

fn private_directory() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// A manifest that another version of this crate wrote.
#[derive(Debug, thiserror::Error)]
#[error("the shard has format {0:?}, and this version reads format {FORMAT}: write its points into a new one")]
struct OtherFormat(Option<u64>);

/// Format 1 knew one dense vector and one sparse one, by the names `dense` and `sparse`.
const FORMAT: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_there_from_its_manifest_on() {
        let root = tempfile::tempdir().unwrap();
        let files = ShardFiles::new(root.path(), "p");
        assert_eq!(files.manifest().unwrap(), None);
        files.make().unwrap();
        fs::write(files.directory().join("half"), "made").unwrap();
        assert_eq!(files.manifest().unwrap(), None, "what a crash left is no shard");
        files.make().unwrap();
        assert!(!files.directory().join("half").exists(), "and is cleared");
        files.write_manifest(&Schema::hybrid(3).unwrap()).unwrap();
        assert_eq!(files.manifest().unwrap(), Some(Schema::hybrid(3).unwrap()));
        files.remove().unwrap();
        assert!(!files.exists().unwrap());
        files.remove().unwrap();
    }

    #[test]
    fn a_manifest_of_another_format_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let files = ShardFiles::new(root.path(), "p");
        files.make().unwrap();
        let schema = r#""schema":{"vectors":{"dense":["dense",0,"cosine"]},"indexes":{}}"#;
        for (bad, kind) in [
            ("{}".to_owned(), io::ErrorKind::Unsupported),
            (r#"{"format":1,"dimension":3,"sparse":true}"#.to_owned(), io::ErrorKind::Unsupported),
            (format!(r#"{{"format":3,{schema}}}"#), io::ErrorKind::Unsupported),
            (format!(r#"{{"format":2,{schema}}}"#), io::ErrorKind::InvalidData),
            (r#"{"format":2}"#.to_owned(), io::ErrorKind::InvalidData),
        ] {
            fs::write(files.manifest_path(), &bad).unwrap();
            assert_eq!(files.manifest().unwrap_err().kind(), kind, "{bad}");
        }
    }

    #[test]
    fn a_root_has_one_owner() {
        let root = tempfile::tempdir().unwrap();
        let first = lock_root(root.path()).unwrap();
        assert!(matches!(lock_root(root.path()), Err(EdgeError::Locked)));
        drop(first);
        assert!(lock_root(root.path()).is_ok());
    }
}
