//! One connection through the proxy that lies.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep, sleep_until};

use super::liar::{Lie, Shared};
use super::resp::{Values, is_push, items, text};

pub(super) async fn relay(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut server = TcpStream::connect(shared.server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
    let dice = Dice::new(shared.seed_of_next());
    let asked = Mutex::default();
    let liar = Liar { shared, asked: &asked, dice, to_client, held: None };
    tokio::select! {
        done = pass(from_client, to_server, &asked) => done,
        done = liar.run(from_server) => done,
    }
}

/// For each question that has no answer yet, the last name of an `MGET`.
type Asked = Mutex<VecDeque<Option<Vec<u8>>>>;

/// Passes questions on, and remembers what they ask for.
async fn pass(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, asked: &Asked) -> io::Result<()> {
    let (mut buffer, mut questions) = (vec![0; BUFFER], Values::default());
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        questions.feed(&buffer[..count]);
        while let Some(question) = questions.next() {
            let words: Vec<_> = items(&question).into_iter().filter_map(text).collect();
            let is_mget = words.first().is_some_and(|word| word.eq_ignore_ascii_case(b"mget"));
            let name = words.last().filter(|_| is_mget).map(|name| name.to_vec());
            asked.lock().unwrap_or_else(PoisonError::into_inner).push_back(name);
            to.write_all(&question).await?;
        }
    }
}

/// One connection's way back.
struct Liar<'c> {
    shared: &'c Shared,
    asked: &'c Asked,
    dice: Dice,
    to_client: WriteHalf<'c>,
    /// A reply that is to come after the next one, and until when it waits for it.
    held: Option<(Vec<u8>, Instant)>,
}

impl Liar<'_> {
    async fn run(mut self, mut from: ReadHalf<'_>) -> io::Result<()> {
        let (mut buffer, mut replies) = (vec![0; BUFFER], Values::default());
        loop {
            let until = self.held.as_ref().map(|(_, until)| *until);
            let count = tokio::select! {
                read = from.read(&mut buffer) => read?,
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                    let held = self.held.take();
                    self.say(&held.map(|(reply, _)| reply).unwrap_or_default()).await?;
                    continue;
                }
            };
            if count == 0 {
                return Ok(());
            }
            replies.feed(&buffer[..count]);
            while let Some(reply) = replies.next() {
                self.answer(reply).await?;
            }
        }
    }

    /// An error ends the connection.
    async fn answer(&mut self, reply: Vec<u8>) -> io::Result<()> {
        if is_push(&reply) {
            return self.say(&reply).await;
        }
        let name = self.asked.lock().unwrap_or_else(PoisonError::into_inner).pop_front().flatten();
        let lie = self.shared.draw(self.dice.roll());
        let number = self.dice.roll();
        let told = match (lie, &name) {
            (Some(lie @ (Lie::OtherValue | Lie::OtherReply)), Some(name)) => {
                self.shared.other(lie, name, &reply, number)
            }
            _ => None,
        };
        if let Some(name) = name {
            self.shared.hear(name, reply.clone());
        }
        match lie {
            Some(Lie::Late) => {
                self.count(Lie::Late);
                sleep(LATEST * (number % 100) as u32 / 100).await;
                self.say(&reply).await
            }
            Some(Lie::Cut) => {
                self.count(Lie::Cut);
                self.held = None;
                self.say(&reply[..reply.len() / 2]).await?;
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            Some(Lie::Lost) => {
                self.count(Lie::Lost);
                Ok(())
            }
            Some(Lie::Swapped) if self.held.is_none() => {
                self.held = Some((reply, Instant::now() + HELD));
                Ok(())
            }
            Some(lie @ (Lie::OtherValue | Lie::OtherReply)) if told.is_some() => {
                self.count(lie);
                self.say(&told.unwrap_or_default()).await
            }
            _ => self.say(&reply).await,
        }
    }

    /// Says it, and after it what was to come after the next reply.
    async fn say(&mut self, reply: &[u8]) -> io::Result<()> {
        self.to_client.write_all(reply).await?;
        if let Some((held, _)) = self.held.take() {
            self.count(Lie::Swapped);
            self.to_client.write_all(&held).await?;
        }
        Ok(())
    }

    fn count(&self, lie: Lie) {
        self.shared.count(lie);
    }
}

/// A sequence of numbers that a seed makes (splitmix64).
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        // Seeds that are neighbours would make one sequence, a step apart.
        Self(Self(seed).roll())
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

const LATEST: Duration = Duration::from_millis(150);
const HELD: Duration = Duration::from_millis(20);
const BUFFER: usize = 16 * 1024;
