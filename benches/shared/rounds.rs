// How it is measured: commands on standard input, one line of JSON each on standard output.
//
// `round WAY WORK CALLERS TENANTS PAUSE MILLISECONDS` answers with the times of one round of so many milliseconds, with a
// pause of so many between two calls of a caller. Whoever sends the commands takes turns between the programs, so that
// whatever else the machine does falls on all ways alike.

use std::future::Future;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

/// What a round is.
#[derive(Clone, Copy, Debug)]
struct Round {
    callers: usize,
    tenants: usize,
    pause: Duration,
    time: Duration,
}

impl Round {
    fn parse<'a>(words: &mut impl Iterator<Item = &'a str>) -> Self {
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).expect("a number");
        let (callers, tenants) = (number() as usize, number() as usize);
        let (pause, time) = (Duration::from_millis(number()), Duration::from_millis(number()));
        Self { callers, tenants, pause, time }
    }

    /// Calls for as long as the round lasts, each caller with its own sequence of tenants. What comes before a call is not
    /// in its time.
    async fn run<T, B, C, Before, Call>(self, before: B, call: C) -> Vec<Duration>
    where
        T: Send,
        B: Fn(usize) -> Before + Clone + Send + 'static,
        Before: Future<Output = T> + Send,
        C: Fn(usize, T) -> Call + Clone + Send + 'static,
        Call: Future<Output = ()> + Send,
    {
        let callers = (0..self.callers).map(|caller| {
            let (before, call) = (before.clone(), call.clone());
            tokio::spawn(async move {
                let (mut times, mut number) = (Vec::new(), caller as u64);
                let end = Instant::now() + self.time;
                while Instant::now() < end {
                    number = mix(number);
                    let tenant = (number % self.tenants as u64) as usize;
                    let ready = before(tenant).await;
                    let start = Instant::now();
                    call(tenant, ready).await;
                    times.push(start.elapsed());
                    if !self.pause.is_zero() {
                        tokio::time::sleep(self.pause).await;
                    }
                }
                times
            })
        });
        let mut all = Vec::new();
        for caller in callers.collect::<Vec<_>>() {
            all.extend(caller.await.expect("a caller"));
        }
        all.sort_unstable();
        all
    }
}

/// SplitMix64: which tenant comes next.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Microseconds at the middle and at the tail.
fn answer(times: &[Duration]) -> String {
    let at = |part: f64| times.get((times.len() as f64 * part) as usize).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    format!("{{\"calls\":{},\"p50\":{:.2},\"p99\":{:.2}}}", times.len(), at(0.5), at(0.99))
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody listens");
}

/// The commands, until there are no more. They are read on a thread of their own.
fn commands() -> tokio::sync::mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if line.map(|line| sender.send(line)).is_err() {
                return;
            }
        }
    });
    receiver
}
