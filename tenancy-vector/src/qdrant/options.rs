//! Where the server is, and how patient to be with it.

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;
use tonic::transport::Uri;

use super::error::QdrantError;

/// Settings of a [`QdrantBackend`](super::QdrantBackend).
#[derive(Clone)]
pub struct QdrantOptions {
    pub(super) uri: Uri,
    pub(super) api_key: Option<SecretString>,
    pub(super) authority: Option<Vec<u8>>,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) connections: usize,
    pub(super) concurrency: usize,
    pub(super) retries: u32,
    pub(super) failures: u32,
    pub(super) open_for: Duration,
}

impl QdrantOptions {
    /// The server's gRPC port: `https://host:6334`, or `http` for one on this machine or without an API key.
    ///
    /// # Errors
    /// [`QdrantError::BadAddress`].
    pub fn new(address: &str) -> Result<Self, QdrantError> {
        let bad = |why| Err(QdrantError::BadAddress(why));
        let Ok(uri) = address.parse::<Uri>() else { return bad("is no url") };
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return bad("does not begin with http:// or https://");
        }
        if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return bad("has a user in it: the api key is an option of its own");
        }
        if !matches!(uri.path_and_query().map_or("", |rest| rest.as_str()), "" | "/") {
            return bad("has a path or a query");
        }
        Ok(Self {
            uri,
            api_key: None,
            authority: None,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            connections: 3,
            concurrency: 64,
            retries: 2,
            failures: 5,
            open_for: Duration::from_secs(10),
        })
    }

    /// Sets the API key, which is sent with every request and printed nowhere.
    #[must_use]
    pub fn api_key(mut self, key: SecretString) -> Self {
        self.api_key = Some(key);
        self
    }

    /// Trusts the certificates of this authority (PEM) and no others. Unless set, those that the system trusts.
    #[must_use]
    pub fn authority(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.authority = Some(pem.into());
        self
    }

    /// Sets how long one attempt may take, the wait for its turn included; 30 s unless set, and at least 1 ms.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.max(Duration::from_millis(1));
        self
    }

    /// Sets how many connections the requests take in turns; 3 unless set, as the server's own client has, and at least 1.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections.clamp(1, 1_000);
        self
    }

    /// Sets how many requests are under way at most; 64 unless set, and at least 1. A life has no more of them than are
    /// free: at most half, and one is left for whoever comes next. See [`Turns`](crate::turns::Turns).
    #[must_use]
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests.clamp(1, 10_000);
        self
    }

    /// Sets how often a request is sent again when the connection broke; twice unless set. Only reads and such writes as
    /// change nothing when they are done twice.
    #[must_use]
    pub fn retries(mut self, times: u32) -> Self {
        self.retries = times.min(10);
        self
    }

    /// Sets after how many failures in a row a partition or a collection is not asked any more, and for how long; 5 and
    /// 10 s unless set.
    #[must_use]
    pub fn breaker(mut self, failures: u32, open_for: Duration) -> Self {
        (self.failures, self.open_for) = (failures.max(1), open_for);
        self
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    pub(super) fn is_this_machine(&self) -> bool {
        let host = self.uri.host().unwrap_or_default();
        let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Debug for QdrantOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("QdrantOptions");
        shown.field("encrypted", &self.is_encrypted()).field("has_api_key", &self.api_key.is_some());
        shown.field("timeout", &self.timeout).field("connections", &self.connections);
        shown.field("concurrency", &self.concurrency).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in ["http://localhost:6334", "https://qdrant.example", "https://[::1]:6334/"] {
            assert!(QdrantOptions::new(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", "is no url"),
            ("http://", "is no url"),
            ("localhost:6334", "does not begin with http"),
            ("ftp://h", "does not begin with http"),
            ("https://user:pass@h:1", "has a user"),
            ("https://h/path", "has a path or a query"),
            ("https://h/?api-key=1", "has a path or a query"),
        ] {
            let refused = QdrantOptions::new(bad).unwrap_err();
            assert!(matches!(refused, QdrantError::BadAddress(_)), "{bad}: {refused:?}");
            let said = refused.to_string();
            assert!(said.contains(why) && !said.contains("pass") && !said.contains("api-key"), "{bad}: {said}");
        }
    }

    #[test]
    fn nothing_of_a_secret_or_an_address_is_printed() {
        let options = QdrantOptions::new("https://internal.example:6334").unwrap().api_key("s3cret".into());
        let shown = format!("{options:?}");
        assert!(!shown.contains("s3cret") && !shown.contains("internal"), "{shown}");
    }
}
