//! The torture of dropped futures once more, on a network that is slow, cuts connections and holds answers back.

use std::time::Duration;

use tenancy_testkit::drop_at_every_poll;
use tenancy_testkit::proxy::{After, Direction, Fault, Traffic};

use crate::acts::ACTS;
use crate::place::{Place, WAYS};
use crate::torture::{Random, scale};

/// Acts, dropped after every number of polls while bytes are on their way. Each way has other acts, all of them at a
/// scale of [`SHARE`].
#[tokio::test]
async fn a_future_dropped_on_a_slow_network_leaves_the_next_borrower_clean() {
    let share = SHARE.saturating_sub(scale() as usize - 1).max(1);
    for (nth, way) in WAYS.into_iter().enumerate() {
        let place = Place::behind_a_proxy(way, 1).await;
        let proxy = place.proxy.as_ref().unwrap();
        for (_, act) in ACTS.iter().enumerate().filter(|(at, act)| (at + nth) % share == 0 && act.goes(way)) {
            let polled = drop_at_every_poll(
                || async {
                    for direction in DIRECTIONS {
                        proxy.delay(direction, LATENCY);
                    }
                    act.run(&place).await.unwrap();
                },
                async |polls, _ended| {
                    proxy.resume();
                    place.next_is_clean(&format!("{}, slow, dropped after poll {polls}", act.name)).await.unwrap();
                },
            )
            .await;
            assert!(polled > 2, "{way:?}: {} waited for the network", act.name);
            assert_eq!(place.halves().await, 0, "{way:?}: {}", act.name);
        }
    }
}

/// A connection ends, or an answer is held back and its caller gives up, after any number of messages either way. The
/// caller may be told an error and never somebody else's row.
#[tokio::test]
async fn a_connection_cut_at_any_message_leaves_the_next_borrower_clean() {
    let (mut cut, mut gave_up) = (0, 0);
    for (seed, way) in WAYS.into_iter().enumerate() {
        let place = Place::behind_a_proxy(way, 2).await;
        let proxy = place.proxy.as_ref().unwrap();
        let mut random = Random(seed as u64);
        for _time in 0..CUTS_PER_WAY * scale() {
            let act = &ACTS[random.below(ACTS.len() as u64) as usize];
            let direction = DIRECTIONS[random.below(2) as usize];
            let fault = [Fault::Close, Fault::Reset, Fault::HalfClose, Fault::Stall][random.below(4) as usize];
            let after = random.below(14);
            if !act.goes(way) {
                continue;
            }
            let before = proxy.traffic();
            let stalled = |traffic: &Traffic| {
                traffic.flow(direction).held > 0 && traffic.since(&before).flow(direction).messages() >= after
            };
            proxy.plan(direction, After::Messages(after), fault);
            tokio::select! {
                ended = act.run(&place) => cut += u64::from(ended.is_err()),
                () = proxy.wait_until(stalled), if fault == Fault::Stall => gave_up += 1,
            }
            proxy.resume();
            let what = format!("{}, {fault:?} {direction:?} after {after}", act.name);
            served(&place, &what).await;
            assert_eq!(place.halves().await, 0, "{way:?}: {what}");
        }
    }
    assert!(cut > 0 && gave_up > 0, "{cut} were cut, {gave_up} gave up");
}

/// A connection that the network cut while it lay idle, or was being cleaned, is found out by whoever gets it.
async fn served(place: &Place, what: &str) {
    let mut last = Ok(());
    for _cut_before in 0..3 {
        last = place.next_is_clean(what).await;
        if last.is_ok() {
            break;
        }
    }
    last.unwrap_or_else(|error| panic!("{:?}: {what}: {error}", place.way));
}

const DIRECTIONS: [Direction; 2] = [Direction::ToServer, Direction::ToClient];
const LATENCY: Duration = Duration::from_millis(1);
/// One act of so many.
const SHARE: usize = 10;
const CUTS_PER_WAY: u64 = 6;
