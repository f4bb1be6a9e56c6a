//! A network that lies, in front of a Redis.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use super::relay::relay;
use super::resp::{array, items, text};

/// A proxy on a port of 127.0.0.1 that cuts what a Redis answers into replies, and lies about some of them.
///
/// Honest until [`rate`](Self::rate) is called. One number is drawn for each reply, from a sequence that a seed and the number
/// of the connection make: the nth reply of the mth connection meets the same fate in every run. It is gone with this value
/// together with its connections.
pub struct LyingProxy {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What may become of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lie {
    /// It comes up to 150 ms later, and so does all that follows it.
    Late,
    /// Half of it comes, and the connection ends.
    Cut,
    /// The next one comes before it, if there is one within 20 ms.
    Swapped,
    /// It does not come, and whatever follows takes its place.
    Lost,
    /// The last value of a reply to `MGET` is one that an earlier reply had under another name.
    OtherValue,
    /// A reply to `MGET` is an earlier one, to a question of as many names whose last was another.
    OtherReply,
}

pub(super) struct Shared {
    pub(super) server: SocketAddr,
    seed: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rates: [u64; Lie::ALL.len()],
    told: [u64; Lie::ALL.len()],
    connections: u64,
    /// What was answered lately to `MGET`, with the last name that was asked for.
    heard: VecDeque<(Vec<u8>, Vec<u8>)>,
}

impl LyingProxy {
    /// Starts a proxy that is honest yet.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(server: SocketAddr, seed: u64) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared { server, seed, state: Mutex::default() });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { port, shared, accepting })
    }

    /// The port of 127.0.0.1 that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Lies so about so many of ten thousand replies, from now on.
    pub fn rate(&self, lie: Lie, of_ten_thousand: u32) {
        self.shared.lock().rates[lie as usize] = u64::from(of_ten_thousand);
    }

    /// Tells no more lies.
    pub fn be_honest(&self) {
        self.shared.lock().rates = Default::default();
    }

    /// How often it has lied so. A reply that could not be lied about so is none.
    #[must_use]
    pub fn told(&self, lie: Lie) -> u64 {
        self.shared.lock().told[lie as usize]
    }
}

impl Lie {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Late, Self::Cut, Self::Swapped, Self::Lost, Self::OtherValue, Self::OtherReply];
}

impl Drop for LyingProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl fmt::Debug for LyingProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = Lie::ALL.map(|lie| (lie, self.told(lie)));
        f.debug_struct("LyingProxy").field("port", &self.port).field("told", &told).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The seed of a new connection.
    pub(super) fn seed_of_next(&self) -> u64 {
        let mut state = self.lock();
        state.connections += 1;
        self.seed.wrapping_add(state.connections)
    }

    /// What is to become of a reply.
    pub(super) fn draw(&self, number: u64) -> Option<Lie> {
        self.lock().draw(number)
    }

    /// Another reply, or this one with another's last value.
    pub(super) fn other(&self, lie: Lie, name: &[u8], reply: &[u8], number: u64) -> Option<Vec<u8>> {
        self.lock().other(lie, name, reply, number)
    }

    /// Remembers a reply to `MGET`.
    pub(super) fn hear(&self, name: Vec<u8>, reply: Vec<u8>) {
        self.lock().hear(name, reply);
    }

    pub(super) fn count(&self, lie: Lie) {
        self.lock().told[lie as usize] += 1;
    }
}

impl State {
    fn draw(&self, number: u64) -> Option<Lie> {
        let mut left = number % WHOLE;
        Lie::ALL.into_iter().find(|lie| {
            let rate = self.rates[*lie as usize];
            let drawn = left < rate;
            left = left.saturating_sub(rate);
            drawn
        })
    }

    fn other(&self, lie: Lie, name: &[u8], reply: &[u8], number: u64) -> Option<Vec<u8>> {
        let own = items(reply);
        let start = number as usize % self.heard.len().max(1);
        let heard = self.heard.iter().skip(start).chain(self.heard.iter().take(start));
        let found = heard.filter(|(other, _)| other != name).find_map(|(_, earlier)| {
            let theirs = items(earlier);
            match (lie, theirs.last()) {
                (Lie::OtherReply, _) if theirs.len() == own.len() => Some(earlier.clone()),
                (Lie::OtherValue, Some(value)) if own.len() > 1 && text(value).is_some() => {
                    Some(array(&[&own[..own.len() - 1], &[*value]].concat()))
                }
                _ => None,
            }
        });
        found.filter(|other| other != reply)
    }

    fn hear(&mut self, name: Vec<u8>, reply: Vec<u8>) {
        if self.heard.len() == MEMORY {
            self.heard.pop_front();
        }
        self.heard.push_back((name, reply));
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and its connections with it.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // The peers see the end; there is nobody else to tell.
            let _io = relay(client, &shared).await;
        });
    }
}

const WHOLE: u64 = 10_000;
/// So many earlier replies there are to lie with.
const MEMORY: usize = 512;
