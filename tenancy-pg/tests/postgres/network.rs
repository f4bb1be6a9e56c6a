//! The torture of dropped futures once more, on a network that is slow, cuts connections and holds answers back.

use std::time::Duration;

use tenancy_testkit::drop_at_every_poll;
use tenancy_testkit::proxy::{After, Direction, Fault, Traffic};

use crate::torture::{ACTS, Place, Random, scale};

/// Acts, dropped after every number of polls while bytes are on their way. Each mode has other acts, all of them at a
/// scale of [`SHARE`].
#[tokio::test]
async fn a_future_dropped_on_a_slow_network_leaves_the_next_borrower_clean() {
    let share = SHARE.saturating_sub(scale() as usize - 1).max(1);
    for (mode, (proxy, place)) in Place::behind_proxies(1).await.into_iter().enumerate() {
        for act in (0..ACTS).filter(|act| (act + mode) % share == 0) {
            let polled = drop_at_every_poll(
                || async {
                    for direction in WAYS {
                        proxy.delay(direction, LATENCY);
                    }
                    place.act(act).await.unwrap();
                },
                async |polls, _ended| {
                    proxy.resume();
                    place.next_is_clean(&format!("act {act}, slow, dropped after poll {polls}")).await.unwrap();
                },
            )
            .await;
            assert!(polled > 2, "{}: act {act} waited for the network", place.what);
            assert_eq!(place.halves().await, 0, "{}: act {act}", place.what);
        }
    }
}

/// A connection ends, or an answer is held back and its caller gives up, after any number of messages either way. The
/// caller may be told an error and never somebody else's row.
#[tokio::test]
async fn a_connection_cut_at_any_message_leaves_the_next_borrower_clean() {
    let (mut cut, mut gave_up) = (0, 0);
    for (seed, (proxy, place)) in Place::behind_proxies(2).await.into_iter().enumerate() {
        let mut random = Random(seed as u64);
        for _time in 0..CUTS_PER_MODE * scale() {
            let act = random.below(ACTS as u64) as usize;
            let way = WAYS[random.below(2) as usize];
            let fault = [Fault::Close, Fault::Reset, Fault::HalfClose, Fault::Stall][random.below(4) as usize];
            let after = random.below(14);
            let before = proxy.traffic();
            let stalled =
                |traffic: &Traffic| traffic.flow(way).held > 0 && traffic.since(&before).flow(way).messages() >= after;
            proxy.plan(way, After::Messages(after), fault);
            tokio::select! {
                ended = place.act(act) => cut += u64::from(ended.is_err()),
                () = proxy.wait_until(stalled), if fault == Fault::Stall => gave_up += 1,
            }
            proxy.resume();
            let what = format!("act {act}, {fault:?} {way:?} after {after}");
            served(&place, &what).await;
            assert_eq!(place.halves().await, 0, "{}: {what}", place.what);
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
    last.unwrap_or_else(|error| panic!("{}: {what}: {error}", place.what));
}

const WAYS: [Direction; 2] = [Direction::ToServer, Direction::ToClient];
const LATENCY: Duration = Duration::from_millis(1);
/// One act of so many.
const SHARE: usize = 10;
const CUTS_PER_MODE: u64 = 6;
