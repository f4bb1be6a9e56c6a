//! The server itself: a port, what it remembers, and what it is told.

use std::collections::HashMap;
use std::fmt;
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use futures_util::stream::unfold;
use qdrant_client::qdrant::UpdateStatus;
use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::QdrantServer as HealthServer;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tonic::Status;
use tonic::metadata::MetadataMap;
use tonic::transport::Server;

use super::fault::{Faults, WireFault};
use super::record::{Record, WireRequest};
use super::service::{SERVED, Service};
use super::store::Store;
use super::version::{self, NEWEST, Version};

/// One Qdrant server for a test, on a port of the loopback. It goes, with everything stored, when it is dropped.
///
/// [What it is and what it is not](super).
pub struct QdrantServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl QdrantServer {
    /// Starts one, empty, of version 1.19, on the current runtime.
    ///
    /// # Panics
    ///
    /// When no port can be had, or outside a runtime.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port of the loopback");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared::new());
        let service = Service(Arc::clone(&shared));
        let accepted = unfold((listener, Arc::clone(&shared)), |(listener, shared)| async move {
            let stream = listener.accept().await.and_then(|(stream, peer)| shared.keep(stream, peer));
            Some((stream, (listener, shared)))
        });
        let serving = Server::builder()
            .add_service(PointsServer::new(service.clone()).max_decoding_message_size(usize::MAX))
            .add_service(CollectionsServer::new(service.clone()).max_decoding_message_size(usize::MAX))
            .add_service(HealthServer::new(service))
            .serve_with_incoming(accepted);
        let task = tokio::spawn(serving).abort_handle();
        Self { address, shared, task }
    }

    /// Where it is: `http://127.0.0.1:...`, as a client takes it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Reports this version from now on (`1.15.3`), and reads requests as a server of that version does: without the
    /// fields and the kinds that came later.
    ///
    /// # Panics
    ///
    /// When it does not begin with two numbers.
    pub fn set_version(&self, version: &str) {
        assert!(version::parse(version).is_some(), "a version is two or three numbers: {version}");
        version.clone_into(&mut lock(&self.shared.version));
    }

    /// Refuses, from now on, every request without this key in `api-key`, as UNAUTHENTICATED.
    pub fn require_key(&self, key: &str) {
        *lock(&self.shared.key) = Some(key.to_owned());
    }

    /// Everything that came in, refused requests too, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<WireRequest> {
        self.shared.record.all()
    }

    /// The messages of one type that came in, whatever the method.
    #[must_use]
    pub fn messages<T: Clone + 'static>(&self) -> Vec<T> {
        self.requests().iter().filter_map(|request| request.message().cloned()).collect()
    }

    /// Forgets what came in so far. What is stored stays.
    pub fn clear_requests(&self) {
        self.shared.record.clear();
    }

    /// Lets a call of a method (`Points/Upsert`) go wrong: the next is 1, the one after it 2. It goes wrong once.
    ///
    /// # Panics
    ///
    /// When the method is not in [`SERVED`], for call 0, and for a status that the method's answer does not have.
    pub fn fail(&self, method: &str, call: usize, fault: WireFault) {
        let served = SERVED.into_iter().flatten().find(|served| **served == method);
        let served = served.unwrap_or_else(|| panic!("{method} is not served"));
        let has_status = !matches!(fault, WireFault::Answer(_)) || is_write(served);
        assert!(has_status, "an answer of {method} has no status");
        self.shared.faults.plan(served, call, fault);
    }

    /// Answers the next call of a write with this status: short for [`QdrantServer::fail`].
    ///
    /// # Panics
    ///
    /// As [`QdrantServer::fail`] does.
    pub fn answer_with(&self, method: &str, status: UpdateStatus) {
        self.fail(method, 1, WireFault::Answer(status));
    }

    /// Closes every connection and takes none from now on.
    pub fn stop(&self) {
        self.task.abort();
        self.shared.cut_all();
    }
}

impl Drop for QdrantServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for QdrantServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QdrantServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What all connections share.
pub(super) struct Shared {
    store: RwLock<Store>,
    pub(super) record: Record,
    pub(super) faults: Faults,
    version: Mutex<String>,
    key: Mutex<Option<String>>,
    /// A second handle on each open connection, to close it with.
    sockets: Mutex<HashMap<SocketAddr, std::net::TcpStream>>,
}

impl Shared {
    fn new() -> Self {
        Self {
            store: RwLock::new(Store::new()),
            record: Record::default(),
            faults: Faults::default(),
            version: Mutex::new(NEWEST.to_owned()),
            key: Mutex::default(),
            sockets: Mutex::default(),
        }
    }

    pub(super) fn reading(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn writing(&self) -> RwLockWriteGuard<'_, Store> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn version(&self) -> String {
        lock(&self.version).clone()
    }

    pub(super) fn version_numbers(&self) -> Version {
        version::parse(&self.version()).unwrap_or_default()
    }

    pub(super) fn admit(&self, headers: &MetadataMap) -> Result<(), Status> {
        match &*lock(&self.key) {
            Some(key) if headers.get("api-key").is_none_or(|sent| sent.as_bytes() != key.as_bytes()) => {
                Err(Status::unauthenticated("Must provide an API key or an Authorization bearer token"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Closes the connection of a caller.
    pub(super) fn cut(&self, peer: Option<SocketAddr>) {
        if let Some(socket) = peer.and_then(|peer| lock(&self.sockets).remove(&peer)) {
            // One that its other side has closed is closed enough.
            let _closed = socket.shutdown(Shutdown::Both);
        }
    }

    fn cut_all(&self) {
        for (_, socket) in lock(&self.sockets).drain() {
            let _closed = socket.shutdown(Shutdown::Both);
        }
    }

    fn keep(&self, stream: TcpStream, peer: SocketAddr) -> std::io::Result<TcpStream> {
        // Or each answer waits for the acknowledgement of the one before.
        stream.set_nodelay(true)?;
        let stream = stream.into_std()?;
        lock(&self.sockets).insert(peer, stream.try_clone()?);
        TcpStream::from_std(stream)
    }
}

fn is_write(method: &str) -> bool {
    let reads = ["Points/Get", "Points/Scroll", "Points/Count", "Points/Query", "Points/QueryBatch", "Points/Facet"];
    method.starts_with("Points/") && !reads.contains(&method)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
