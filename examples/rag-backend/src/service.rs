//! The service: a realm, its stores, and who embeds and answers.

use std::fmt;
use std::sync::{Arc, Weak};

use tenancy_stack::{Realm, Stores};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::answer::Answerer;
use crate::embed::Embedder;
use crate::ingest::{self, Queue};
use crate::login::Logins;

/// The running service. Cheap to clone; it is the router's state.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

/// A service that may be gone: for what is part of the service, or works for it, and must not keep it.
#[derive(Clone, Debug)]
pub(crate) struct WeakService(Weak<Shared>);

struct Shared {
    realm: Realm,
    stores: Stores,
    logins: Logins,
    embedder: Box<dyn Embedder>,
    answerer: Box<dyn Answerer>,
    queue: Queue,
}

/// What a service is made of.
#[expect(clippy::exhaustive_structs, reason = "a service has all of its parts")]
pub struct ServiceParts {
    /// The root of trust.
    pub realm: Realm,
    /// The stores.
    pub stores: Stores,
    /// Who may log in.
    pub logins: Logins,
    /// Who embeds.
    pub embedder: Box<dyn Embedder>,
    /// Who answers.
    pub answerer: Box<dyn Answerer>,
}

impl Service {
    /// Starts the service and its worker. When the last clone of the service is gone, the worker finishes the job at
    /// hand and ends; jobs still queued are gone with the service. A clone of its [`queue`](Self::queue) that lives on
    /// puts the end off until the next job, which is not done.
    #[must_use]
    pub fn start(parts: ServiceParts) -> (Self, JoinHandle<()>) {
        let ServiceParts { realm, stores, logins, embedder, answerer } = parts;
        let (queue, jobs) = mpsc::channel(QUEUE_LENGTH);
        let shared = Shared { realm, stores, logins, embedder, answerer, queue };
        let service = Self { shared: Arc::new(shared) };
        let worker = tokio::spawn(ingest::work(service.downgrade(), jobs));
        (service, worker)
    }

    /// The realm.
    #[must_use]
    pub fn realm(&self) -> &Realm {
        &self.shared.realm
    }

    /// The stores, unscoped: without a data method.
    #[must_use]
    pub fn stores(&self) -> &Stores {
        &self.shared.stores
    }

    /// The queue's end that takes jobs.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.shared.queue
    }

    pub(crate) fn downgrade(&self) -> WeakService {
        WeakService(Arc::downgrade(&self.shared))
    }

    pub(crate) fn logins(&self) -> &Logins {
        &self.shared.logins
    }

    pub(crate) fn embedder(&self) -> &dyn Embedder {
        &*self.shared.embedder
    }

    pub(crate) fn answerer(&self) -> &dyn Answerer {
        &*self.shared.answerer
    }
}

impl WeakService {
    pub(crate) fn upgrade(&self) -> Option<Service> {
        self.0.upgrade().map(|shared| Service { shared })
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service({:?})", self.shared.realm)
    }
}

impl fmt::Debug for ServiceParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceParts")
    }
}

impl axum::extract::FromRef<Service> for Stores {
    fn from_ref(service: &Service) -> Self {
        service.stores().clone()
    }
}

const QUEUE_LENGTH: usize = 256;
