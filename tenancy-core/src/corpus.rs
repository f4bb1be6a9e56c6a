//! Versions of a tenant's documents, for cache keys that must change when the documents do.
//!
//! An answer found before a document was added must not be given after it (LightRAG 2643). A version read before a
//! write and a fill made after it would do just that, so a write is announced first: between `begin` and `settle` there
//! is no version and caches are bypassed; afterwards there is a new random one. Random and not counted: a counter that
//! is lost with its store starts again and brings back what it named before.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::clock::unix_seconds;
use crate::denial::Denial;
use crate::id::Life;
use crate::keys::random_bytes;
use crate::realm::RealmTag;
use crate::redacted::{BoxError, Redacted};

/// The version of one tenant's documents: 16 random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CorpusVersion([u8; 16]);

impl CorpusVersion {
    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// A version that a store kept.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// A new random version.
    #[must_use]
    pub fn random() -> Self {
        Self(random_bytes())
    }
}

/// One write in progress.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WriteId([u8; 16]);

impl WriteId {
    pub(crate) fn random() -> Self {
        Self(random_bytes())
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// Whose documents. Built by this crate only.
#[derive(Clone, Copy)]
pub struct CorpusScope<'a> {
    realm: RealmTag,
    life: Life,
    borrowed: std::marker::PhantomData<&'a ()>,
}

impl CorpusScope<'_> {
    pub(crate) const fn new(realm: RealmTag, life: Life) -> Self {
        Self { realm, life, borrowed: std::marker::PhantomData }
    }

    /// A name for the pair of realm and life, fit for a file or a key.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}-{}", data_encoding::HEXLOWER.encode(self.realm.as_bytes()), self.life.uuid().simple())
    }
}

impl fmt::Debug for CorpusScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CorpusScope({:?})", self.life)
    }
}

/// Keeps the versions. Implemented by users; called through the gates only. Must be shared by all processes that share
/// a cache.
#[async_trait]
pub trait CorpusVersions: Send + Sync + 'static {
    /// The version, or `None` while a write is under way. A scope never seen gets a version now. A write older than
    /// [`WRITE_LEASE`] counts as crashed: the scope gets a new version and is settled.
    ///
    /// # Errors
    /// [`CorpusError`].
    async fn current(&self, scope: CorpusScope<'_>) -> Result<Option<CorpusVersion>, CorpusError>;

    /// Notes a write, durably, before it returns.
    ///
    /// # Errors
    /// [`CorpusError`].
    async fn begin(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<(), CorpusError>;

    /// Ends a write and sets a new random version, which counts once no other write is under way.
    ///
    /// # Errors
    /// [`CorpusError`].
    async fn settle(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<CorpusVersion, CorpusError>;
}

#[async_trait]
impl<V: CorpusVersions + ?Sized> CorpusVersions for Arc<V> {
    async fn current(&self, scope: CorpusScope<'_>) -> Result<Option<CorpusVersion>, CorpusError> {
        (**self).current(scope).await
    }

    async fn begin(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<(), CorpusError> {
        (**self).begin(scope, write).await
    }

    async fn settle(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<CorpusVersion, CorpusError> {
        (**self).settle(scope, write).await
    }
}

/// After this time a write that was not settled counts as crashed.
pub const WRITE_LEASE: Duration = Duration::from_secs(60);

/// The versions can't be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the corpus versions are unavailable")]
pub struct CorpusError(#[source] Redacted<BoxError>);

impl CorpusError {
    /// Wraps a driver's error.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(Redacted::new(error.into()))
    }

    pub(crate) fn into_denial(self) -> Denial {
        Denial::DirectoryUnavailable
    }
}

/// What is kept of one scope.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    version: [u8; 16],
    /// Writes under way and when each began, in seconds since 1970.
    writes: HashMap<String, u64>,
}

impl State {
    fn fresh() -> Self {
        Self { version: random_bytes(), writes: HashMap::new() }
    }

    /// Forgets crashed writes. True when one was forgotten.
    fn expire(&mut self, now: u64) -> bool {
        let before = self.writes.len();
        self.writes.retain(|_, began| now < began.saturating_add(WRITE_LEASE.as_secs()));
        let crashed = self.writes.len() < before;
        if crashed {
            self.version = random_bytes();
        }
        crashed
    }

    fn begin(&mut self, write: WriteId, now: u64) {
        self.writes.insert(data_encoding::HEXLOWER.encode(&write.0), now);
    }

    fn settle(&mut self, write: WriteId) -> CorpusVersion {
        self.writes.remove(&data_encoding::HEXLOWER.encode(&write.0));
        self.version = random_bytes();
        CorpusVersion(self.version)
    }

    fn current(&self) -> Option<CorpusVersion> {
        self.writes.is_empty().then_some(CorpusVersion(self.version))
    }
}

/// Versions in this process: for caches that live in it too.
#[derive(Debug, Default)]
pub struct MemoryCorpusVersions {
    states: Mutex<HashMap<(RealmTag, Life), State>>,
}

impl MemoryCorpusVersions {
    /// No versions yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with<T>(&self, scope: CorpusScope<'_>, act: impl FnOnce(&mut State, u64) -> T) -> T {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.entry((scope.realm, scope.life)).or_insert_with(State::fresh);
        let now = unix_seconds(SystemTime::now());
        state.expire(now);
        act(state, now)
    }
}

#[async_trait]
impl CorpusVersions for MemoryCorpusVersions {
    async fn current(&self, scope: CorpusScope<'_>) -> Result<Option<CorpusVersion>, CorpusError> {
        Ok(self.with(scope, |state, _| state.current()))
    }

    async fn begin(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<(), CorpusError> {
        self.with(scope, |state, now| state.begin(write, now));
        Ok(())
    }

    async fn settle(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<CorpusVersion, CorpusError> {
        Ok(self.with(scope, |state, _| state.settle(write)))
    }
}

/// Versions in a directory, one file a scope, replaced atomically under a lock that all processes of a machine honour.
///
/// The files are read and written on threads that may block. A scope has a lock of its own, so that a process that was
/// stopped while it held one keeps no other tenant waiting, and a version is read without it.
#[derive(Clone, Debug)]
pub struct FileCorpusVersions {
    root: Arc<PathBuf>,
}

impl FileCorpusVersions {
    /// Opens the directory, making it with mode 0700 if it is not there.
    ///
    /// # Errors
    /// [`CorpusError`] when it can't be made or is open to others.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, CorpusError> {
        let root = root.into();
        crate::keys::make_private_directory(&root).map_err(CorpusError::new)?;
        Ok(Self { root: Arc::new(root) })
    }

    async fn blocking<T: Send + 'static>(
        &self,
        scope: CorpusScope<'_>,
        act: impl FnOnce(StateFile) -> io::Result<T> + Send + 'static,
    ) -> Result<T, CorpusError> {
        let file = StateFile { root: Arc::clone(&self.root), name: scope.name() };
        let done = tokio::task::spawn_blocking(move || act(file)).await;
        done.map_err(CorpusError::new)?.map_err(CorpusError::new)
    }
}

/// The file of one scope.
struct StateFile {
    root: Arc<PathBuf>,
    name: String,
}

impl StateFile {
    fn read(&self) -> io::Result<Option<State>> {
        match fs::read(self.root.join(&self.name)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads, changes and replaces the state.
    fn change<T>(&self, act: impl FnOnce(&mut State, u64) -> T) -> io::Result<T> {
        let lock = fs::File::create(self.root.join(format!("{}.lock", self.name)))?;
        lock.lock()?;
        let mut state = self.read()?.unwrap_or_else(State::fresh);
        let now = unix_seconds(SystemTime::now());
        state.expire(now);
        let result = act(&mut state, now);
        let mut draft = tempfile::NamedTempFile::new_in(&*self.root)?;
        draft.write_all(&serde_json::to_vec(&state)?)?;
        draft.as_file().sync_all()?;
        draft.persist(self.root.join(&self.name))?;
        fs::File::open(&*self.root)?.sync_all()?;
        Ok(result)
    }

    fn current(&self) -> io::Result<Option<CorpusVersion>> {
        if let Some(mut state) = self.read()?
            && !state.expire(unix_seconds(SystemTime::now()))
        {
            return Ok(state.current());
        }
        self.change(|state, _| state.current())
    }
}

#[async_trait]
impl CorpusVersions for FileCorpusVersions {
    async fn current(&self, scope: CorpusScope<'_>) -> Result<Option<CorpusVersion>, CorpusError> {
        self.blocking(scope, |file| file.current()).await
    }

    async fn begin(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<(), CorpusError> {
        self.blocking(scope, move |file| file.change(|state, now| state.begin(write, now))).await
    }

    async fn settle(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<CorpusVersion, CorpusError> {
        self.blocking(scope, move |file| file.change(|state, _| state.settle(write))).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(life: Life) -> CorpusScope<'static> {
        CorpusScope::new(RealmTag::of_bytes([1; 16]), life)
    }

    async fn behaves(versions: &dyn CorpusVersions) {
        let (a, b) = (scope(Life::random()), scope(Life::random()));
        let first = versions.current(a).await.unwrap().unwrap();
        assert_eq!(versions.current(a).await.unwrap(), Some(first));
        let other = versions.current(b).await.unwrap();
        assert_ne!(other, Some(first));
        let (one, two) = (WriteId::random(), WriteId::random());
        versions.begin(a, one).await.unwrap();
        versions.begin(a, two).await.unwrap();
        assert_eq!(versions.current(a).await.unwrap(), None);
        versions.settle(a, one).await.unwrap();
        assert_eq!(versions.current(a).await.unwrap(), None, "another write is still under way");
        let settled = versions.settle(a, two).await.unwrap();
        assert_eq!(versions.current(a).await.unwrap(), Some(settled));
        assert_ne!(settled, first);
        assert_eq!(versions.current(b).await.unwrap(), other, "the neighbour's version stays");
    }

    #[tokio::test]
    async fn memory_and_file_behave_alike() {
        behaves(&MemoryCorpusVersions::new()).await;
        let dir = tempfile::tempdir().unwrap();
        behaves(&FileCorpusVersions::open(dir.path().join("versions")).unwrap()).await;
    }

    #[tokio::test]
    async fn a_file_version_survives_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let a = scope(Life::random());
        let root = dir.path().join("versions");
        let first = FileCorpusVersions::open(&root).unwrap().current(a).await.unwrap();
        assert_eq!(FileCorpusVersions::open(&root).unwrap().current(a).await.unwrap(), first);
    }

    #[test]
    fn a_crashed_write_settles_by_itself_with_a_new_version() {
        let mut state = State::fresh();
        let before = state.version;
        state.begin(WriteId::random(), 1000);
        assert!(!state.expire(1000 + WRITE_LEASE.as_secs() - 1));
        assert_eq!(state.current(), None);
        assert!(state.expire(1000 + WRITE_LEASE.as_secs()));
        assert!(state.current().is_some_and(|now| now.0 != before));
    }
}
