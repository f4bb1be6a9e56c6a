//! A proxy that does what networks do, when a test says so.
//!
//! It stands in front of any server that speaks over a byte stream, and every connection through it obeys a script that
//! the test changes while it runs: [`stall`](FaultProxy::stall) and [`resume`](FaultProxy::resume), latency, an end on
//! demand or at an exact byte or message. It counts what passes ([`Traffic`]), so a test waits for *an event on the wire*
//! ([`FaultProxy::wait_until`]) instead of sleeping and hoping.
//!
//! # Reordering
//!
//! A byte stream has one order and no network can change it: bytes of one direction of one connection arrive in order
//! or not at all. What a network does reorder is *between* streams: connections overtake each other, and the two
//! directions of one connection are independent. So to reorder, stall one ([`ProxiedConnection::stall`]) and let the
//! others go on.
//!
//! # Lies
//!
//! What stands between, a broken middlebox or who means it, can do worse: [`LyingProxy`] knows where the replies of a Redis
//! end, and swaps, loses and exchanges them.

mod liar;
mod messages;
mod pump;
mod relay;
mod resp;
mod script;
mod traffic;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub use self::liar::{Lie, LyingProxy};
use self::pump::Link;
pub use self::script::{After, Direction, Fault};
use self::script::{End, Script};
pub use self::traffic::{Flow, Traffic};

/// A proxy on a port of 127.0.0.1, gone with this value together with its connections.
///
/// What is said to it holds for every connection, those to come included; what is said to one [`ProxiedConnection`]
/// holds for that one.
#[derive(Debug)]
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// Where the server is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Upstream {
    /// At an address.
    Tcp(SocketAddr),
    /// At a socket file.
    Unix(PathBuf),
}

/// What the bytes mean, as far as the proxy cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Nothing: bytes and turns are counted.
    Bytes,
    /// Postgres's, without TLS: messages are counted by type too.
    Postgres,
}

/// One connection through the proxy.
#[derive(Clone, Debug)]
pub struct ProxiedConnection(Arc<Link>);

#[derive(Debug)]
struct Shared {
    upstream: Upstream,
    protocol: Protocol,
    state: Mutex<State>,
    /// Counts up with every event.
    events: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// What new connections start with.
    script: Script,
    refusing: bool,
    links: Vec<Arc<Link>>,
}

impl FaultProxy {
    /// Starts a proxy that does nothing yet but count.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(upstream: Upstream, protocol: Protocol) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let (events, _) = watch::channel(0);
        let shared = Arc::new(Shared { upstream, protocol, state: Mutex::default(), events });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self { port, shared, accepting })
    }

    /// The port of 127.0.0.1 that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Everything that passed, all connections together.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.connections().iter().map(ProxiedConnection::traffic).sum()
    }

    /// The connections in the order in which they came, those that have ended included.
    #[must_use]
    pub fn connections(&self) -> Vec<ProxiedConnection> {
        self.state(|state| state.links.iter().cloned().map(ProxiedConnection).collect())
    }

    /// Waits until the traffic is as `wanted`.
    ///
    /// # Panics
    /// After ten seconds.
    pub async fn wait_until(&self, wanted: impl Fn(&Traffic) -> bool + Send + Sync) {
        let mut events = self.shared.events.subscribe();
        let waiting = async {
            while !wanted(&self.traffic()) {
                let _closed_never = events.changed().await;
            }
        };
        let done = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(done.is_ok(), "the traffic is not as wanted after {PATIENCE:?}: {:?}", self.traffic());
    }

    /// Holds back whatever goes this way, until [`resume`](Self::resume).
    pub fn stall(&self, direction: Direction) {
        self.change(|script, _| script.way_mut(direction).stalled = true);
    }

    /// Ends every stall, delay and plan. What has ended stays so.
    pub fn resume(&self) {
        self.change(|script, _| script.resume());
    }

    /// Whatever goes this way arrives so much later. Each read waits in turn, so a long stream becomes slow as well.
    pub fn delay(&self, direction: Direction, latency: Duration) {
        self.change(|script, _| script.way_mut(direction).delay = latency);
    }

    /// Does something to each connection once so much more has gone this way: exactly so much, and nothing after it;
    /// at once for nothing more. One plan a direction; a new one replaces it.
    pub fn plan(&self, direction: Direction, after: After, fault: Fault) {
        self.change(|script, traffic| script.plan(direction, after, fault, traffic));
    }

    /// Ends every connection: what is held back is lost, both sides read an end.
    pub fn close(&self) {
        self.each(|link| link.end(End::Closed));
    }

    /// Breaks every connection: what is held back is lost, the client reads "connection reset".
    pub fn reset(&self) {
        self.each(|link| link.end(End::Reset));
    }

    /// Ends one direction of every connection: the receiver reads an end there, the other direction goes on.
    pub fn half_close(&self, direction: Direction) {
        self.each(|link| link.change(|script, _| script.way_mut(direction).closed = true));
    }

    /// Whether new connections are closed as soon as they come.
    pub fn refuse(&self, refusing: bool) {
        self.state(|state| state.refusing = refusing);
    }

    fn change(&self, change: impl Fn(&mut Script, &Traffic)) {
        self.state(|state| {
            change(&mut state.script, &Traffic::default());
            state.links.iter().for_each(|link| link.change(&change));
        });
    }

    fn each(&self, act: impl Fn(&Link)) {
        self.state(|state| state.links.iter().for_each(|link| act(link)));
    }

    fn state<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        self.shared.state(act)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ProxiedConnection {
    /// What passed here.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.0.traffic()
    }

    /// As [`FaultProxy::stall`], here alone.
    pub fn stall(&self, direction: Direction) {
        self.0.change(|script, _| script.way_mut(direction).stalled = true);
    }

    /// As [`FaultProxy::resume`], here alone.
    pub fn resume(&self) {
        self.0.change(|script, _| script.resume());
    }

    /// As [`FaultProxy::delay`], here alone.
    pub fn delay(&self, direction: Direction, latency: Duration) {
        self.0.change(|script, _| script.way_mut(direction).delay = latency);
    }

    /// As [`FaultProxy::plan`], here alone.
    pub fn plan(&self, direction: Direction, after: After, fault: Fault) {
        self.0.change(|script, traffic| script.plan(direction, after, fault, traffic));
    }

    /// As [`FaultProxy::close`], here alone.
    pub fn close(&self) {
        self.0.end(End::Closed);
    }

    /// As [`FaultProxy::reset`], here alone.
    pub fn reset(&self) {
        self.0.end(End::Reset);
    }

    /// As [`FaultProxy::half_close`], here alone.
    pub fn half_close(&self, direction: Direction) {
        self.0.change(|script, _| script.way_mut(direction).closed = true);
    }
}

impl Shared {
    fn state<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A link for a new connection, or `None` when it is to be refused.
    fn link(&self) -> Option<Arc<Link>> {
        self.state(|state| {
            let link = Arc::new(Link::new(self.protocol, state.script.clone(), self.events.clone()));
            (!state.refusing).then(|| state.links.push(link.clone()))?;
            Some(link)
        })
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and its connections with it.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        if let Some(link) = shared.link() {
            connections.spawn(pump::relay(client, shared.upstream.clone(), link));
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
