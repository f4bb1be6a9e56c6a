//! Passing bytes on.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;

use super::messages::Messages;
use super::script::{After, Direction, End, Plan, Script, Way};
use super::traffic::Traffic;
use super::{Protocol, Upstream};

/// One connection: its script and what passed.
#[derive(Debug)]
pub(super) struct Link {
    protocol: Protocol,
    script: watch::Sender<Script>,
    traffic: Mutex<Counter>,
    events: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Counter {
    traffic: Traffic,
    /// Whether the client has spoken and has no answer yet.
    asked: bool,
}

impl Link {
    pub(super) fn new(protocol: Protocol, script: Script, events: watch::Sender<u64>) -> Self {
        let traffic = Traffic { connections: 1, ..Traffic::default() };
        let traffic = Mutex::new(Counter { traffic, asked: false });
        Self { protocol, script: watch::Sender::new(script), traffic, events }
    }

    pub(super) fn traffic(&self) -> Traffic {
        self.counter(|counter| counter.traffic.clone())
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Script, &Traffic)) {
        // The script's lock is outside: a plan that counts from now must not miss what passes meanwhile.
        self.script.send_modify(|script| change(script, &self.traffic()));
    }

    pub(super) fn end(&self, end: End) {
        self.change(|script, _| script.end = script.end.or(Some(end)));
    }

    /// Bytes have come. Counted before they are passed on, so that an answer to them can only be counted later.
    fn arrived(&self, direction: Direction, bytes: usize) {
        self.counter(|counter| {
            counter.traffic.flow_mut(direction).held += bytes as u64;
            let answered = direction == Direction::ToClient && counter.asked && bytes > 0;
            counter.traffic.round_trips += u64::from(answered);
            counter.asked = direction == Direction::ToServer && bytes > 0 || counter.asked && !answered;
        });
        self.events.send_modify(|count| *count += 1);
    }

    /// Bytes have gone on.
    fn passed(&self, direction: Direction, bytes: &[u8], messages: &mut Option<Messages>) {
        self.counter(|counter| {
            let flow = counter.traffic.flow_mut(direction);
            flow.held -= bytes.len() as u64;
            flow.bytes += bytes.len() as u64;
            if let Some(messages) = messages {
                messages.read(bytes, u64::MAX, |byte| flow.count(byte));
            }
        });
        self.events.send_modify(|count| *count += 1);
    }

    /// Bytes will never go on.
    fn lost(&self, direction: Direction, bytes: usize) {
        self.counter(|counter| counter.traffic.flow_mut(direction).held -= bytes as u64);
        self.events.send_modify(|count| *count += 1);
    }

    fn counter<T>(&self, act: impl FnOnce(&mut Counter) -> T) -> T {
        act(&mut self.traffic.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Connects to the server and passes bytes until both ways are over or the script ends them.
pub(super) async fn relay(client: TcpStream, upstream: Upstream, link: Arc<Link>) {
    let _without_it_small_packets_wait = client.set_nodelay(true);
    let result = match upstream {
        Upstream::Tcp(address) => match TcpStream::connect(address).await {
            Ok(server) => {
                let _as_above = server.set_nodelay(true);
                between(client, server, &link).await
            }
            Err(error) => Err(error),
        },
        Upstream::Unix(path) => match UnixStream::connect(path).await {
            Ok(server) => between(client, server, &link).await,
            Err(error) => Err(error),
        },
    };
    // The peers see the end; there is nobody else to tell.
    let _io = result;
}

async fn between(mut client: TcpStream, server: impl AsyncRead + AsyncWrite, link: &Link) -> io::Result<()> {
    let (from_server, to_server) = tokio::io::split(server);
    let (from_client, to_client) = client.split();
    let mut script = link.script.subscribe();
    let ended = async { script.wait_for(|script| script.end.is_some()).await.map(|script| script.end) };
    let there = Pump::new(link, Direction::ToServer).run(from_client, to_server);
    let back = Pump::new(link, Direction::ToClient).run(from_server, to_client);
    let end = tokio::select! {
        // First, so that nothing passes once it is over.
        biased;
        end = ended => end.ok().flatten(),
        done = async { tokio::try_join!(there, back) } => return done.map(|((), ())| ()),
    };
    if end == Some(End::Reset) {
        client.set_zero_linger()?;
    }
    Ok(())
}

/// One way of a connection.
struct Pump<'a> {
    link: &'a Link,
    direction: Direction,
    messages: Option<Messages>,
    script: watch::Receiver<Script>,
}

impl<'a> Pump<'a> {
    fn new(link: &'a Link, direction: Direction) -> Self {
        let messages = match link.protocol {
            Protocol::Bytes => None,
            Protocol::Postgres => Some(Messages::new(direction)),
        };
        Self { link, direction, messages, script: link.script.subscribe() }
    }

    /// Reads, waits as the script says, and passes on, until the sender's end has been passed on too.
    async fn run(mut self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        // What was read and not passed on; an end of the stream that was read is passed on after it.
        let (mut rest, mut at_end, mut open) = (0..0, false, true);
        loop {
            let way = self.way();
            if let Some(plan) = way.plan.filter(|plan| self.until(plan, &[0]) == 0) {
                self.link.change(|script, _| script.carry_out(self.direction, plan.fault));
                // A connection that is over is dropped here.
                tokio::task::yield_now().await;
            } else if way.closed && open {
                open = false;
                to.shutdown().await?;
            } else if rest.is_empty() && !at_end {
                tokio::select! {
                    read = from.read(&mut buffer) => {
                        rest = 0..read?;
                        at_end = rest.is_empty();
                        self.link.arrived(self.direction, rest.len());
                        tokio::time::sleep(way.delay).await;
                    }
                    _changed = self.script.changed() => {}
                }
            } else if !open {
                self.link.lost(self.direction, rest.len());
                rest = 0..0;
                if at_end {
                    return Ok(());
                }
            } else if way.stalled {
                let _changed = self.script.changed().await;
            } else if at_end {
                return to.shutdown().await;
            } else {
                let bytes = &buffer[rest.clone()];
                let part = way.plan.map_or(bytes.len(), |plan| self.until(&plan, bytes));
                to.write_all(&bytes[..part]).await?;
                self.link.passed(self.direction, &bytes[..part], &mut self.messages);
                rest.start += part;
            }
        }
    }

    fn way(&mut self) -> Way {
        self.script.borrow_and_update().way(self.direction).clone()
    }

    /// How many of these bytes pass before the plan is due.
    fn until(&self, plan: &Plan, bytes: &[u8]) -> usize {
        let traffic = self.link.traffic();
        let flow = traffic.flow(self.direction);
        match (plan.at, &self.messages) {
            (After::Bytes(at), _) => bytes.len().min(at.saturating_sub(flow.bytes) as usize),
            (After::Messages(_), None) => bytes.len(),
            (After::Messages(at), Some(messages)) => {
                messages.clone().read(bytes, at.saturating_sub(flow.messages()), |_| {})
            }
        }
    }
}

const BUFFER: usize = 16 * 1024;
