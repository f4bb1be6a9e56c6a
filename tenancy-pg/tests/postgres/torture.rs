//! Futures dropped at any place, in every way to be served, while the server ends sessions: whoever comes next finds
//! nothing.
#![expect(clippy::future_not_send, reason = "acts stay on the thread of their test")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use tenancy_testkit::{drop_at_every_poll, poll_times};

use crate::acts::ACTS;
use crate::common::scalar;
use crate::place::{Place, WAYS, Way, assert_acmes, bodies};

/// Every act, dropped after every number of polls, on a pool of one. The proxy does nothing but run on this thread, so no
/// answer is there before the future has waited for it: on any machine it is dropped at each of its round-trips.
async fn dropped_after_any_poll(way: Way) {
    let place = Place::behind_a_proxy(way, 1).await;
    for act in ACTS.iter().filter(|act| act.goes(way)) {
        let polled = drop_at_every_poll(
            || async { act.run(&place).await.unwrap() },
            async |polls, _ended| {
                place.next_is_clean(&format!("{}, dropped after poll {polls}", act.name)).await.unwrap();
            },
        )
        .await;
        assert!(polled > 2, "{way:?}: {} was dropped before its end", act.name);
        assert_eq!(place.halves().await, 0, "{way:?}: {}", act.name);
    }
    place.is_at_rest(1).await;
}

#[tokio::test]
async fn a_future_dropped_after_any_poll_leaves_nothing_local() {
    dropped_after_any_poll(Way::Local).await;
}

#[tokio::test]
async fn a_future_dropped_after_any_poll_leaves_nothing_sticky() {
    dropped_after_any_poll(Way::Sticky).await;
}

#[tokio::test]
async fn a_future_dropped_after_any_poll_leaves_nothing_signed() {
    dropped_after_any_poll(Way::Signed).await;
}

#[tokio::test]
async fn a_future_dropped_after_any_poll_leaves_nothing_signed_and_sticky() {
    dropped_after_any_poll(Way::SignedAndSticky).await;
}

#[tokio::test]
async fn a_future_dropped_after_any_poll_leaves_nothing_behind_a_session_pooler() {
    dropped_after_any_poll(Way::BehindASessionPooler).await;
}

#[tokio::test]
async fn a_future_dropped_after_any_poll_leaves_nothing_behind_a_transaction_pooler() {
    dropped_after_any_poll(Way::BehindATransactionPooler).await;
}

/// Many at a time, dropped anywhere, on a few connections that a superuser ends meanwhile. With `TENANCY_TEST_SCALE` at
/// 100 it is more than a hundred thousand futures; what is printed is in `docs/quality.md`.
#[tokio::test]
async fn dropped_futures_and_ended_sessions_show_nobody_anything() {
    for way in WAYS {
        let place = Place::new(way, CONNECTIONS).await;
        let all = FUTURES_PER_WAY * scale();
        let (began, left, finished) = (Instant::now(), Cell::new(all), Cell::new(0_u64));
        let (looked, killed) = (Cell::new(0_u64), Cell::new(0_u64));
        let callers = (1..=CALLERS).map(|caller| {
            let (place, left, finished, looked) = (&place, &left, &finished, &looked);
            async move {
                let mut random = Random(caller);
                while left.get() > 0 {
                    left.set(left.get() - 1);
                    let act = &ACTS[random.below(ACTS.len() as u64) as usize];
                    if !act.goes(way) {
                        continue;
                    }
                    // What a killed session answers is an error; what it must not be is somebody else's row.
                    if poll_times(act.run(place), random.below(MOST_POLLS) as usize + 1).await.is_some() {
                        finished.set(finished.get() + 1);
                    }
                    if random.below(6) == 0 && place.next_is_clean("between").await.is_ok() {
                        looked.set(looked.get() + 1);
                    }
                }
            }
        });
        let callers = futures_util::future::join_all(callers);
        let killer = async {
            let mut superuser = PgConnection::connect_with(&place.server.superuser_options()).await.unwrap();
            // The last part is served in peace.
            while left.get() > all / 4 {
                killed.set(killed.get() + superuser.execute(KILL_ONE).await.unwrap().rows_affected());
            }
        };
        tokio::join!(callers, killer);
        assert!(looked.get() > 0 && killed.get() > 0, "{way:?}: somebody was served, and somebody was not");
        let mut settled = Err(sqlx::Error::PoolClosed);
        for _killed_before in 0..8 {
            settled = place.next_is_clean("at the end").await;
            if settled.is_ok() {
                break;
            }
        }
        settled.unwrap();
        assert_acmes(&bodies(&place.acme).await.unwrap());
        assert_eq!(place.halves().await, 0, "{way:?}: half a transaction was committed");
        place.is_at_rest(CONNECTIONS).await;
        println!(
            "{way:?}: {all} futures in {:?}, {} of them to their end; {} sessions killed; {} looks of a neighbour, none \
             saw anything; {:?}",
            began.elapsed(),
            finished.get(),
            killed.get(),
            looked.get(),
            place.pool_events(),
        );
        tokio::time::timeout(Duration::from_secs(20), place.database.close()).await.expect("no permit is lost");
    }
}

impl Place {
    /// Nobody's transaction is open on the server, and there are as many connections to be had as were allowed.
    pub(crate) async fn is_at_rest(&self, most: u32) {
        let mut open = i64::MAX;
        for _wait in 0..200 {
            open = scalar(&self.server.superuser_options(), IN_A_TRANSACTION).await;
            if open == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        assert_eq!(open, 0, "{:?}: transactions are left open", self.way);
        let mut held = Vec::new();
        for _one in 0..most {
            held.push(self.acme.begin().await.unwrap());
        }
        let one_more = tokio::time::timeout(Duration::from_millis(100), self.acme.begin()).await;
        assert!(one_more.is_err(), "{:?}: more connections than allowed", self.way);
        for tx in held {
            tx.rollback().await.unwrap();
        }
    }

    fn pool_events(&self) -> BTreeMap<String, u64> {
        self.tally.all().into_iter().filter(|(word, _)| word.starts_with("postgres pool")).collect()
    }
}

/// How many times as much as usual.
pub(crate) fn scale() -> u64 {
    std::env::var("TENANCY_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

/// Reproducible: a failure comes again.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

const CALLERS: u64 = 8;
const CONNECTIONS: u32 = 3;
const FUTURES_PER_WAY: u64 = 170;
const MOST_POLLS: u64 = 24;
const KILL_ONE: &str = "select pg_terminate_backend(pid), pg_sleep(0.01) from pg_stat_activity
                        where usename = 'app' and datname = current_database() order by random() limit 1";
const IN_A_TRANSACTION: &str = "select count(*) from pg_stat_activity
                                where usename = 'app' and datname = current_database() and xact_start is not null";
