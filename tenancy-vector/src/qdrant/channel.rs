//! The connections: so many requests at a time, each bounded in time and counted, and a share of them for each life.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::collections_client::CollectionsClient;
use qdrant_client::qdrant::points_client::PointsClient;
use qdrant_client::qdrant::qdrant_client::QdrantClient;
use secrecy::ExposeSecret;
use tenancy_core::{BoxError, Reason, Redacted};
use tokio::time::{Instant, sleep, timeout};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Response, Status};

use super::breaker::Breakers;
use super::error::{QdrantError, Version};
use super::options::QdrantOptions;
use crate::error::BackendError;
use crate::turns::Turns;

/// The generated clients on a channel of our own. Those of the client's high level send every request again on their
/// own, writes too, trust the system's authorities alone, and print.
#[derive(Clone)]
pub(super) struct Clients(Service);

impl Clients {
    pub(super) fn points(self) -> PointsClient<Service> {
        PointsClient::new(self.0).max_decoding_message_size(MAX_ANSWER)
    }

    pub(super) fn collections(self) -> CollectionsClient<Service> {
        CollectionsClient::new(self.0)
    }
}

type Service = InterceptedService<Channel, ApiKey>;

/// Puts the API key on every request. It has no `Debug`.
#[derive(Clone)]
pub(super) struct ApiKey(Option<MetadataValue<Ascii>>);

impl Interceptor for ApiKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("api-key", key.clone());
        }
        Ok(request)
    }
}

/// A server, and how it has been doing.
pub(super) struct Link {
    /// Taken in turns: what many requests share on one connection is a lock, and its place behind the largest answer.
    connections: Vec<Connection>,
    next: AtomicUsize,
    turns: Turns,
    collections: Breakers,
    lives: Breakers,
    timeout: Duration,
    retries: u32,
}

/// One connection. Behind one address there may be several servers, so each has to show its version on its own.
struct Connection {
    clients: Clients,
    /// When the server last said which version it is.
    seen: Mutex<Option<Instant>>,
}

/// Whether a request may be sent again when nobody knows whether it was done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    May,
    MustNot,
}

/// What a request is about: a collection, and a life in it unless it is about all of them.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) collection: &'a str,
    pub(super) life: Option<&'a str>,
}

/// Why a request came to nothing.
pub(super) enum Failure {
    /// Asked too often in vain.
    BreakerOpen,
    TimedOut,
    Status(Status),
    Error(QdrantError),
}

impl Link {
    /// Connects and looks at the version.
    pub(super) async fn open(options: &QdrantOptions) -> Result<Self, QdrantError> {
        let (endpoint, key) = (endpoint(options)?, api_key(options)?);
        let connection = || Connection {
            clients: Clients(InterceptedService::new(endpoint.connect_lazy(), key.clone())),
            seen: Mutex::default(),
        };
        let link = Self {
            connections: std::iter::repeat_with(connection).take(options.connections).collect(),
            next: AtomicUsize::new(0),
            turns: Turns::new(options.concurrency),
            collections: Breakers::new(options.failures, options.open_for),
            lives: Breakers::new(options.failures, options.open_for),
            timeout: options.timeout,
            retries: options.retries,
        };
        match timeout(link.timeout, link.connection().ensure_version()).await {
            Err(_) => Err(QdrantError::TimedOut),
            Ok(seen) => seen.map_err(Failure::into_error).map(|()| link),
        }
    }

    fn connection(&self) -> &Connection {
        &self.connections[self.next.fetch_add(1, Ordering::Relaxed) % self.connections.len()]
    }

    /// How long the server may take, in whole seconds.
    pub(super) fn seconds(&self) -> u64 {
        self.timeout.as_secs() + u64::from(self.timeout.subsec_nanos() > 0)
    }

    /// Sends a request. Where it may, again when the connection broke, after a while that grows and is
    /// not the same for two.
    pub(super) async fn call<Q: Clone + Send, A: Send, F>(
        &self,
        about: About<'_>,
        again: Again,
        request: Q,
        send: impl Fn(Clients, Request<Q>) -> F + Send + Sync,
    ) -> Result<A, Failure>
    where
        F: Future<Output = Result<Response<A>, Status>> + Send,
    {
        let mut tried = 0;
        loop {
            let failure = match self.attempt(about, request.clone(), &send).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if again == Again::MustNot || tried == self.retries || !failure.is_broken_connection() {
                return Err(failure);
            }
            sleep(pause(tried)).await;
            tried += 1;
        }
    }

    async fn attempt<Q: Send, A: Send, F>(
        &self,
        about: About<'_>,
        request: Q,
        send: impl Fn(Clients, Request<Q>) -> F + Send + Sync,
    ) -> Result<A, Failure>
    where
        F: Future<Output = Result<Response<A>, Status>> + Send,
    {
        let About { collection, life } = about;
        if !self.collections.admits(collection) || !life.is_none_or(|life| self.lives.admits(life)) {
            return Err(Failure::BreakerOpen);
        }
        let until = Instant::now() + self.timeout;
        // A turn that did not come is nobody's failure. What concerns all lives waits in a lane of its own.
        let turn = tokio::time::timeout_at(until, self.turns.take_as(life.unwrap_or_default())).await;
        let Ok(_turn) = turn else { return Err(Failure::TimedOut) };
        let connection = self.connection();
        let work = async {
            connection.ensure_version().await?;
            // One timer, ours. The server reads its time in the request, and sees when we hang up; a time in the header
            // would start another timer on each side.
            let answer = send(connection.clients.clone(), Request::new(request)).await;
            answer.map(Response::into_inner).map_err(Failure::Status)
        };
        let answer = tokio::time::timeout_at(until, work).await.unwrap_or(Err(Failure::TimedOut));
        match &answer {
            Ok(_) => {
                self.collections.worked(collection);
                life.iter().for_each(|life| self.lives.worked(life));
            }
            // What one tenant asks can be too much for its time, and must not close the door to others.
            Err(Failure::TimedOut) => life.iter().for_each(|life| self.lives.failed(life)),
            Err(failure) if failure.is_broken_connection() => {
                // The others may lead to what broke it, and lead on to another server.
                self.connections.iter().for_each(|each| *each.lock() = None);
                self.collections.failed(collection);
            }
            // The server answered.
            Err(_) => self.collections.worked(collection),
        }
        answer
    }
}

impl Connection {
    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks which version the server is, unless it said so lately: there may be another one by now.
    async fn ensure_version(&self) -> Result<(), Failure> {
        let seen = *self.lock();
        if seen.is_some_and(|seen| seen.elapsed() < BELIEVED) {
            return Ok(());
        }
        let reply = QdrantClient::new(self.clients.0.clone()).health_check(pb::HealthCheckRequest {}).await;
        let reply = reply.map_err(Failure::Status)?.into_inner();
        let found = Version::parse(&reply.version).ok_or(Failure::Error(QdrantError::NoVersion))?;
        if found < Version::FLOOR {
            return Err(Failure::Error(QdrantError::TooOld { found, least: Version::FLOOR }));
        }
        *self.lock() = Some(Instant::now());
        Ok(())
    }
}

impl Failure {
    /// Whether the connection broke or was never made, so that nobody knows whether the request was done.
    fn is_broken_connection(&self) -> bool {
        match self {
            Self::Status(status) => matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Cancelled),
            Self::BreakerOpen | Self::TimedOut | Self::Error(_) => false,
        }
    }

    /// There is no such collection, or shard of it.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Status(status) if status.code() == Code::NotFound)
    }

    /// It is there already. Older servers say so in words alone.
    pub(super) fn is_there(&self) -> bool {
        match self {
            Self::Status(status) => {
                status.code() == Code::AlreadyExists
                    || status.code() == Code::InvalidArgument && status.message().contains("already exists")
            }
            Self::BreakerOpen | Self::TimedOut | Self::Error(_) => false,
        }
    }

    pub(super) fn into_error(self) -> QdrantError {
        match self {
            Self::BreakerOpen => QdrantError::BreakerOpen,
            Self::TimedOut => QdrantError::TimedOut,
            Self::Status(status) => of_status(status),
            Self::Error(error) => error,
        }
    }
}

impl From<Failure> for BackendError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::BreakerOpen => Self::BreakerOpen,
            failure @ (Failure::TimedOut | Failure::Status(_) | Failure::Error(_)) => failure.into_error().into(),
        }
    }
}

impl From<QdrantError> for BackendError {
    fn from(error: QdrantError) -> Self {
        match error {
            QdrantError::Drift(drift) => Self::Unfit(Reason::told(drift)),
            QdrantError::BreakerOpen => Self::BreakerOpen,
            other => Self::Failed(Reason::told(other)),
        }
    }
}

fn of_status(status: Status) -> QdrantError {
    let code = status.code();
    let source = Redacted::new(BoxError::from(status));
    match code {
        Code::DeadlineExceeded => QdrantError::TimedOut,
        Code::Unavailable | Code::Unknown | Code::Cancelled => QdrantError::Unreachable(source),
        Code::Unauthenticated | Code::PermissionDenied => QdrantError::Unauthorized(source),
        Code::InvalidArgument | Code::FailedPrecondition => QdrantError::Refused(source),
        _other => QdrantError::Server { code: format!("{code:?}"), source },
    }
}

fn endpoint(options: &QdrantOptions) -> Result<Endpoint, QdrantError> {
    let endpoint = Endpoint::from(options.uri.clone())
        .connect_timeout(options.connect_timeout)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .keep_alive_while_idle(true);
    if !options.is_encrypted() {
        return Ok(endpoint);
    }
    let tls = match &options.authority {
        None => ClientTlsConfig::new().with_native_roots(),
        Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
    };
    let bad = |error| QdrantError::BadCertificate(Redacted::new(BoxError::from(error)));
    endpoint.tls_config(tls).map_err(bad)
}

fn api_key(options: &QdrantOptions) -> Result<ApiKey, QdrantError> {
    let Some(key) = &options.api_key else { return Ok(ApiKey(None)) };
    if !options.is_encrypted() && !options.is_this_machine() {
        return Err(QdrantError::KeyInTheOpen);
    }
    let mut key: MetadataValue<Ascii> = key.expose_secret().parse().map_err(|_| QdrantError::BadKey)?;
    key.set_sensitive(true);
    Ok(ApiKey(Some(key)))
}

/// Between nothing and 100 ms, 200 ms, 400 ms and so on: what failed together does not come back together.
fn pause(tried: u32) -> Duration {
    let longest = FIRST_PAUSE.saturating_mul(1 << tried.min(6));
    let mut random = [0; 2];
    // Without chance the longest pause is the best one.
    match getrandom::fill(&mut random) {
        Ok(()) => longest.mul_f64(f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX)),
        Err(_) => longest,
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const BELIEVED: Duration = Duration::from_secs(60);
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// A thousand hits with the largest payload, and room for their vectors.
const MAX_ANSWER: usize = 512 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_key_goes_over_https_or_to_this_machine() {
        for (address, good) in [
            ("https://qdrant.example:6334", true),
            ("http://localhost:6334", true),
            ("http://127.0.0.1:6334", true),
            ("http://[::1]:6334", true),
            ("http://qdrant.example:6334", false),
            ("http://10.0.0.1:6334", false),
            ("http://localhost.example:6334", false),
        ] {
            let options = QdrantOptions::new(address).unwrap().api_key("key".into());
            assert_eq!(api_key(&options).is_ok(), good, "{address}");
        }
        let options = QdrantOptions::new("https://h").unwrap().api_key("two\nlines".into());
        assert!(matches!(api_key(&options), Err(QdrantError::BadKey)));
    }

    #[test]
    fn a_failure_says_what_can_be_done_about_it_and_nothing_of_the_servers() {
        for (code, told) in [
            (Code::DeadlineExceeded, "in time"),
            (Code::Unavailable, "gRPC port"),
            (Code::Cancelled, "gRPC port"),
            (Code::Unauthenticated, "api key"),
            (Code::PermissionDenied, "api key"),
            (Code::InvalidArgument, "was the store prepared"),
            (Code::Internal, "the server failed (Internal)"),
            (Code::ResourceExhausted, "the server failed (ResourceExhausted)"),
        ] {
            let error = of_status(Status::new(code, "acme's secret"));
            assert!(error.to_string().contains(told), "{code:?}: {error}");
            assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        }
    }

    #[test]
    fn pauses_grow_and_differ() {
        let longest = |tried| (0..64).map(|_| pause(tried)).max().unwrap();
        assert!(longest(0) <= FIRST_PAUSE && longest(3) > FIRST_PAUSE && longest(40) <= FIRST_PAUSE * 64);
        assert_ne!(pause(6), pause(6));
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for (text, good) in [
            ("1.19.0", true),
            ("1.19.0-dev", true),
            ("v1.20", true),
            ("1.100.2", true),
            ("2.0.0", true),
            ("1.18.9", false),
            ("1.15.0", false),
            ("0.99", false),
        ] {
            assert_eq!(Version::parse(text).unwrap() >= Version::FLOOR, good, "{text}");
        }
        for bad in ["", "1", "one.two", "1.x", "-1.19"] {
            assert!(Version::parse(bad).is_none(), "{bad}");
        }
    }
}
