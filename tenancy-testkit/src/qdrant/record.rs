//! What came in.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tonic::metadata::MetadataMap;

/// A request as it arrived, decoded: nothing of it was dropped yet that an older version would drop.
#[derive(Clone)]
pub struct WireRequest {
    method: &'static str,
    headers: MetadataMap,
    message: Arc<dyn Message>,
}

trait Message: Any + fmt::Debug + Send + Sync {}

impl<T: Any + fmt::Debug + Send + Sync> Message for T {}

impl WireRequest {
    /// The service and the method: `Points/Upsert`.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// The message, if it is of this type (`qdrant_client::qdrant::UpsertPoints` and so on).
    #[must_use]
    pub fn message<T: 'static>(&self) -> Option<&T> {
        let message: &dyn Any = &*self.message;
        message.downcast_ref()
    }

    /// The text of a header (`api-key`), if it was sent.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

impl fmt::Debug for WireRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireRequest")
            .field("method", &self.method)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}

/// All requests so far, in order of arrival.
#[derive(Default)]
pub(super) struct Record(Mutex<Vec<WireRequest>>);

impl Record {
    pub(super) fn add<T>(&self, method: &'static str, headers: MetadataMap, message: T)
    where
        T: fmt::Debug + Send + Sync + 'static,
    {
        let request = WireRequest { method, headers, message: Arc::new(message) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    }

    pub(super) fn all(&self) -> Vec<WireRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
