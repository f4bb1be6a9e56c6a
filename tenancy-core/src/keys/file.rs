//! Wrapped keys in a directory: one file a key, made atomically.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use async_trait::async_trait;

use super::{KeySlot, KeyStore, KeyStoreError, WrappedKey};

/// Keeps each wrap in a file of its own below a directory that only its owner can read.
///
/// A wrap is written beside its place, flushed, and linked into the place only if that is still empty, so a crash
/// leaves the old state or the new one, and of two processes racing for an empty slot both use the winner's key.
/// Destroying a life writes the tombstone first: from then on no reader and no late writer gets a key, whatever of the
/// deletion is still to do. Calls block on the file system for the time of a flush.
#[derive(Debug)]
pub struct FileKeyStore {
    root: PathBuf,
}

impl FileKeyStore {
    /// Opens the directory, making it with mode 0700 if it is not there.
    ///
    /// # Errors
    /// [`KeyStoreError::Unavailable`] when it can't be made, or is open to others.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, KeyStoreError> {
        let root = root.into();
        make_private_directory(&root).map_err(KeyStoreError::unavailable)?;
        Ok(Self { root })
    }

    fn owner(&self, slot: KeySlot<'_>) -> PathBuf {
        let owner = slot.life().map_or_else(|| "realm".to_owned(), |life| life.uuid().simple().to_string());
        self.root.join(slot.realm().as_str()).join(owner)
    }

    fn file(&self, slot: KeySlot<'_>) -> PathBuf {
        self.owner(slot).join(format!("{}.json", slot.usage()))
    }
}

#[async_trait]
impl KeyStore for FileKeyStore {
    async fn load(&self, slot: KeySlot<'_>) -> Result<Option<WrappedKey>, KeyStoreError> {
        // The tombstone is looked for after the key: a key read before the destruction began may be used, one read
        // after it may not.
        let found = match fs::read(self.file(slot)) {
            Ok(bytes) => Some(serde_json::from_slice(&bytes).map_err(KeyStoreError::unavailable)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(KeyStoreError::unavailable(e)),
        };
        if self.owner(slot).join(TOMBSTONE).exists() {
            return Err(KeyStoreError::Destroyed);
        }
        Ok(found)
    }

    async fn insert(&self, slot: KeySlot<'_>, key: WrappedKey) -> Result<WrappedKey, KeyStoreError> {
        if let Some(present) = self.load(slot).await? {
            return Ok(present);
        }
        let bytes = serde_json::to_vec(&key).map_err(KeyStoreError::unavailable)?;
        place(&self.owner(slot), &self.file(slot), &bytes).map_err(KeyStoreError::unavailable)?;
        self.load(slot).await?.ok_or_else(|| KeyStoreError::unavailable(io::Error::from(io::ErrorKind::NotFound)))
    }

    async fn destroy(&self, owner: KeySlot<'_>) -> Result<u64, KeyStoreError> {
        if owner.life().is_none() {
            return Ok(0);
        }
        let directory = self.owner(owner);
        place(&directory, &directory.join(TOMBSTONE), b"{}").map_err(KeyStoreError::unavailable)?;
        let mut deleted = 0;
        for entry in fs::read_dir(&directory).map_err(KeyStoreError::unavailable)? {
            let entry = entry.map_err(KeyStoreError::unavailable)?;
            if entry.file_name() != TOMBSTONE {
                fs::remove_file(entry.path()).map_err(KeyStoreError::unavailable)?;
                deleted += 1;
            }
        }
        sync_directory(&directory).map_err(KeyStoreError::unavailable)?;
        Ok(deleted)
    }
}

/// Writes a file beside its place, flushes it, and links it in unless the place is taken.
fn place(directory: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut draft = tempfile::NamedTempFile::new_in(directory)?;
    draft.write_all(bytes)?;
    draft.as_file().sync_all()?;
    match draft.persist_noclobber(file) {
        Ok(_) => sync_directory(directory),
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e.error),
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

pub(crate) fn make_private_directory(root: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        if fs::metadata(root)?.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the directory is open to others: chmod 700"));
        }
        Ok(())
    }
    #[cfg(not(unix))]
    fs::create_dir_all(root)
}

const TOMBSTONE: &str = "destroyed";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Life, RealmName};

    #[tokio::test]
    async fn a_wrap_survives_and_the_first_writer_wins() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("keys");
        let realm = RealmName::parse("test").unwrap();
        let slot = KeySlot::new(&realm, Some(Life::random()), "names");
        let store = FileKeyStore::open(&root).unwrap();
        assert_eq!(store.load(slot).await.unwrap(), None);
        let first = WrappedKey::new("r1", vec![1, 2, 3]);
        assert_eq!(store.insert(slot, first.clone()).await.unwrap(), first);
        let second = FileKeyStore::open(&root).unwrap();
        assert_eq!(second.insert(slot, WrappedKey::new("r1", vec![9])).await.unwrap(), first);
    }

    #[tokio::test]
    async fn a_destroyed_life_takes_no_new_key() {
        let dir = tempfile::tempdir().unwrap();
        let realm = RealmName::parse("test").unwrap();
        let life = Life::random();
        let (names, values) = (KeySlot::new(&realm, Some(life), "names"), KeySlot::new(&realm, Some(life), "values"));
        let store = FileKeyStore::open(dir.path().join("keys")).unwrap();
        store.insert(names, WrappedKey::new("r1", vec![1])).await.unwrap();
        assert_eq!(store.destroy(names).await.unwrap(), 1);
        assert_eq!(store.destroy(names).await.unwrap(), 0);
        for slot in [names, values] {
            assert!(matches!(store.load(slot).await, Err(KeyStoreError::Destroyed)));
            assert!(matches!(store.insert(slot, WrappedKey::new("r", vec![])).await, Err(KeyStoreError::Destroyed)));
        }
        let other = KeySlot::new(&realm, Some(Life::random()), "names");
        assert_eq!(store.load(other).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_half_written_draft_is_never_read() {
        let dir = tempfile::tempdir().unwrap();
        let realm = RealmName::parse("test").unwrap();
        let slot = KeySlot::new(&realm, None, "ticket");
        let store = FileKeyStore::open(dir.path().join("keys")).unwrap();
        fs::create_dir_all(store.owner(slot)).unwrap();
        fs::write(store.owner(slot).join(".tmpABC"), b"{\"root\":").unwrap();
        assert_eq!(store.load(slot).await.unwrap(), None);
    }
}
