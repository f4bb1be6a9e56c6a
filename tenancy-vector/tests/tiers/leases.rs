//! Moves that nobody goes on with.

use std::collections::BTreeMap;
use std::time::Duration;

use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::tiers::Tier;

use crate::cases;
use crate::house::{House, all, in_time, numbered};
use crate::stops::{Stops, Watched};

const PATIENCE: Duration = Duration::from_millis(100);

/// Wherever a move stopped, writes are noted for it for a while and then no more. The life is where it was, whole, and can be
/// moved.
#[tokio::test(flavor = "multi_thread")]
async fn writes_are_not_noted_for_ever() {
    for stop in [r#""Begun""#, r#"{"Copying":null}"#, r#""CatchingUp""#] {
        in_time(async {
            let stops = Stops::default();
            let house =
                House::patient(ReferenceBackend::new(), ReferenceBackend::new(), Watched::new(&stops), PATIENCE);
            let house = house.await;
            let (mine, theirs) = (house.of("acme").await, house.of("globex").await);
            mine.upsert(vec![numbered("doc:1", 1), numbered("doc:2", 1)]).await.unwrap();
            stops.stop_at(stop);
            assert!(house.move_to("acme", Tier::Dedicated).await.is_err(), "{stop}");
            stops.stop_at("");
            mine.upsert(vec![numbered("doc:1", 2)]).await.unwrap();
            assert_eq!(stops.closed_and_longest().0, 1, "positive control: {stop}");
            tokio::time::sleep(PATIENCE * 20 + PATIENCE).await;
            theirs.upsert(vec![numbered("doc:1", 7)]).await.unwrap();
            for n in 3..6 {
                mine.upsert(vec![numbered("doc:2", n)]).await.unwrap();
            }
            assert_eq!(stops.closed_and_longest().0, 1, "not noted any more: {stop}");
            mine.upsert(vec![numbered("doc:3", 1)]).await.unwrap();
            assert_eq!(mine.delete(&[cases::id("doc:3")]).await.unwrap().removed(), 1);
            assert_eq!(stops.closed_and_longest().0, 2, "but what is taken out: {stop}");
            let placement = house.mover("acme").await.placement().await.unwrap();
            assert_eq!(placement.tier(), Tier::Shared, "{stop}");
            let wanted = BTreeMap::from([("doc:1".to_owned(), 2), ("doc:2".to_owned(), 5)]);
            assert_eq!(all(&mine).await, wanted, "{stop}");
            house.move_to("acme", Tier::Dedicated).await.unwrap();
            assert_eq!((all(&mine).await, stops.notes()), (wanted, 0), "{stop}");
            assert_eq!((house.counts("acme").await, house.counts("globex").await), ((0, 2), (1, 0)), "{stop}");
        })
        .await;
    }
}
