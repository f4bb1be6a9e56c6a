//! Where the servers are, and how patient to be with them.

use std::fmt;
use std::time::Duration;

use redis::io::tcp::TcpSettings;
use redis::{ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo};
use secrecy::SecretString;
use tenancy_core::{BoxError, Redacted, Tellable};

/// Settings of a [`RedisBackend`](super::RedisBackend).
#[derive(Clone)]
pub struct RedisOptions {
    pub(super) nodes: Vec<ConnectionInfo>,
    pub(super) is_cluster: bool,
    pub(super) login: Option<(Option<String>, SecretString)>,
    pub(super) connect_timeout: Duration,
    pub(super) response_timeout: Duration,
}

impl RedisOptions {
    /// One server: `redis://host:6379`, with `/1` after it for another database than the first.
    ///
    /// # Errors
    /// [`RedisError::BadAddress`].
    pub fn new(address: &str) -> Result<Self, RedisError> {
        Ok(Self::of(vec![parse(address)?], false))
    }

    /// A cluster, by some of its nodes.
    ///
    /// # Errors
    /// [`RedisError::BadAddress`].
    pub fn cluster<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Result<Self, RedisError> {
        let nodes: Vec<_> = addresses.into_iter().map(parse).collect::<Result<_, _>>()?;
        if nodes.is_empty() {
            return Err(RedisError::BadAddress("names no node"));
        }
        if nodes.iter().any(|node| node.redis_settings().db() != 0) {
            return Err(RedisError::BadAddress("names a database: a cluster has one"));
        }
        Ok(Self::of(nodes, true))
    }

    fn of(nodes: Vec<ConnectionInfo>, is_cluster: bool) -> Self {
        let (connect_timeout, response_timeout) = (Duration::from_secs(1), Duration::from_millis(100));
        Self { nodes, is_cluster, login: None, connect_timeout, response_timeout }
    }

    /// Logs in as a user, or as the default one with `None`. The password is printed nowhere.
    #[must_use]
    pub fn login(mut self, user: Option<&str>, password: SecretString) -> Self {
        self.login = Some((user.map(str::to_owned), password));
        self
    }

    /// Sets how long an attempt to connect may take; 1 s unless set. No call waits for one but the first.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout.max(Duration::from_millis(1));
        self
    }

    /// Sets how long a server may take to answer; 100 ms unless set. Shorter than
    /// [`CacheSettings::patience`](crate::CacheSettings::patience), or a silent server is never noticed to be one.
    #[must_use]
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout.max(Duration::from_millis(1));
        self
    }
}

fn parse(address: &str) -> Result<ConnectionInfo, RedisError> {
    let bad = RedisError::BadAddress;
    if !["redis://", "rediss://"].iter().any(|scheme| address.starts_with(scheme)) {
        return Err(bad("does not begin with redis:// or rediss://"));
    }
    let info = address.into_connection_info().map_err(|_| bad("is no url"))?;
    let redis = info.redis_settings();
    if redis.username().is_some() || redis.password().is_some() {
        return Err(bad("has a user in it: the login is an option of its own"));
    }
    match info.addr() {
        ConnectionAddr::Tcp(..) => {}
        ConnectionAddr::TcpTls { insecure: false, .. } => {}
        _other => return Err(bad("is neither a host nor one with TLS")),
    }
    let redis = redis.clone().set_skip_set_lib_name();
    Ok(info.set_redis_settings(redis).set_tcp_settings(at_once()))
}

/// One connection carries everybody's questions: held back until what was asked before is acknowledged, as the client has it
/// by default, a question would wait for another tenant's answer.
pub(super) fn at_once() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

impl fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RedisOptions");
        shown.field("nodes", &self.nodes.len()).field("is_cluster", &self.is_cluster);
        shown.field("has_login", &self.login.is_some()).field("response_timeout", &self.response_timeout);
        shown.finish_non_exhaustive()
    }
}

/// Why Redis can't be used. What a server said is kept for the operator and not printed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisError {
    /// The address is none of a Redis.
    #[error("the address {0}")]
    BadAddress(&'static str),
    /// Nobody answers there, or not in time.
    #[error("Redis does not answer: is it running, and is this its port?")]
    Unreachable(#[source] Redacted<BoxError>),
    /// It was not reachable lately and is being tried again.
    #[error("Redis is not connected")]
    NotConnected,
    /// The server does not let this user in, or do this.
    #[error("Redis refuses the login or the command: see the access rules in the guide")]
    Refused(#[source] Redacted<BoxError>),
    /// The server has no room and drives nothing out.
    #[error("Redis is full")]
    Full,
    /// The server does not say which process and data it is, or is no primary.
    #[error("Redis does not say that it is a primary, and which: INFO must be allowed")]
    NoHistory,
    /// The server failed.
    #[error("Redis failed ({0:?})")]
    Server(String, #[source] Redacted<BoxError>),
    /// The answer has not the form of one.
    #[error("Redis answered with something else")]
    BadAnswer,
}

impl Tellable for RedisError {}

impl RedisError {
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl From<redis::RedisError> for RedisError {
    fn from(error: redis::RedisError) -> Self {
        let code = error.code().unwrap_or_default().to_owned();
        let is_refusal = matches!(code.as_str(), "NOPERM" | "NOAUTH" | "WRONGPASS")
            || error.kind() == ErrorKind::AuthenticationFailed;
        let is_gone = error.is_io_error() || error.is_timeout() || error.is_connection_dropped();
        let source = |error| Redacted::new(BoxError::from(error));
        match code.as_str() {
            "OOM" => Self::Full,
            _refused if is_refusal => Self::Refused(source(error)),
            _gone if is_gone => Self::Unreachable(source(error)),
            _other => Self::Server(code, source(error)),
        }
    }
}
