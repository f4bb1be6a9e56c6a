//! Placements that were lost in the middle of a move, or brought back from a copy that was made in one.

use std::collections::BTreeMap;
use std::time::Duration;

use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::tiers::{MemoryTiers, Mover, Tier, TieredBackend};
use tenancy_vector::{
    Change, DenseVector, Filter, Input, PayloadKey, Scroll, Select, TenantVectors, Vector, VectorError, VectorName,
    VectorStore,
};

use crate::cases;
use crate::house::{House, PATIENCE, all, in_time, numbered};
use crate::stops::{Stops, Watched};

/// What they say the life is in the middle of, and where it lives in truth since.
const COPIES: [(&str, Tier); 5] = [
    (r#""Begun""#, Tier::Dedicated),
    (r#"{"Copying":null}"#, Tier::Dedicated),
    (r#""CatchingUp""#, Tier::Dedicated),
    (r#""Paused""#, Tier::Dedicated),
    (r#""Clearing""#, Tier::Shared),
];

/// Which of both ways the move is then asked to go, and whether writes have given it up before.
const ASKED: [(Tier, bool); 3] = [(Tier::Shared, false), (Tier::Dedicated, false), (Tier::Shared, true)];

#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_moved_since_the_middle_of_a_move_was_copied_is_not_cleared() {
    for (stop, truth) in COPIES {
        let cases = ASKED.map(|(to, is_given_up)| {
            in_time(async move {
                let what = format!("{stop}, to {to:?}, given up: {is_given_up}");
                let house = House::new().await;
                let acme = house.tenants.context("acme").await;
                house
                    .of("acme")
                    .await
                    .upsert((1..4).map(|n| numbered(&format!("doc:{n}"), 1)).collect())
                    .await
                    .unwrap();
                // As they were while the life was on its way, with a write of that time noted.
                let stops = Stops::default();
                let older = Watched::new(&stops);
                let then = TieredBackend::new(ReferenceBackend::new(), ReferenceBackend::new(), older.clone());
                let then = then.patience(PATIENCE);
                stops.stop_at(stop);
                let mover = Mover::new(house.tenants.realm(), then.clone(), cases::schema()).scoped(&acme).unwrap();
                assert!(mover.move_to(Tier::Dedicated, |_| {}).await.is_err(), "{what}");
                stops.stop_at("");
                let then = VectorStore::new(house.tenants.realm(), then, cases::schema());
                cases::of(&house.tenants, &then, "acme").await.upsert(vec![numbered("doc:1", 0)]).await.unwrap();
                // And then it went on.
                house.move_to("acme", Tier::Dedicated).await.unwrap();
                house.move_to("acme", truth).await.unwrap();

                let restored = TieredBackend::new(house.shared.clone(), house.dedicated.clone(), older);
                let restored = restored.patience(PATIENCE);
                let store = VectorStore::new(house.tenants.realm(), restored.clone(), cases::schema());
                let mine = cases::of(&house.tenants, &store, "acme").await;
                mine.upsert(vec![numbered("doc:9", 2)]).await.unwrap();
                if is_given_up {
                    tokio::time::sleep(PATIENCE * 20 + Duration::from_millis(50)).await;
                    mine.upsert(vec![numbered("doc:9", 2)]).await.unwrap();
                }
                let counts = if truth == Tier::Shared { (3, 1) } else { (1, 3) };
                assert_eq!(house.counts("acme").await, counts, "positive control: {what}");
                let mover = Mover::new(house.tenants.realm(), restored, cases::schema()).scoped(&acme).unwrap();
                for _again in 0..2 {
                    let refused = mover.move_to(to, |_| {}).await;
                    assert!(matches!(refused, Err(VectorError::Misplaced)), "{what}: {refused:?}");
                    assert_eq!(house.counts("acme").await, counts, "nothing was cleared: {what}");
                }
                let three = (1..4).map(|n| (format!("doc:{n}"), 1)).collect::<BTreeMap<_, _>>();
                assert_eq!(all(&house.of("acme").await).await, three, "nor written over: {what}");
            })
        });
        futures_util::future::join_all(cases).await;
    }
}

/// What is written once reads have turned, before what they turned from is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Nothing,
    Payload,
    Vectors,
}

async fn write(mine: &TenantVectors, written: Written) {
    match written {
        Written::Nothing => {}
        Written::Payload => mine.upsert(vec![numbered("doc:1", 2)]).await.unwrap(),
        Written::Vectors => {
            let dense = Input::Vector(Vector::Dense(DenseVector::new(vec![0.0, 1.0, 0.0, 0.0]).unwrap()));
            let change = Change::SetVectors(vec![(cases::id("doc:1"), vec![(VectorName::dense(), dense)])]);
            mine.change(vec![change]).await.unwrap();
        }
    }
}

/// Moves the life by placements that know nothing of it.
async fn move_without_placements(
    house: &House<ReferenceBackend, ReferenceBackend, Watched>,
) -> Result<(), VectorError> {
    let lost = TieredBackend::new(house.shared.clone(), house.dedicated.clone(), MemoryTiers::new());
    let lost = Mover::new(house.tenants.realm(), lost.patience(PATIENCE), cases::schema());
    lost.scoped(&house.tenants.context("acme").await).unwrap().move_to(Tier::Dedicated, |_| {}).await.map(drop)
}

/// Both back ends have each of its points then: the one that is said to be read has them as they were.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_newer_where_a_life_is_not_said_to_be_is_not_cleared() {
    for written in [Written::Nothing, Written::Payload, Written::Vectors] {
        in_time(async {
            let stops = Stops::default();
            let house = House::plain(Watched::new(&stops)).await;
            let mine = house.of("acme").await;
            mine.upsert(vec![numbered("doc:1", 1), numbered("doc:2", 1)]).await.unwrap();
            stops.stop_at(r#""Clearing""#);
            assert!(house.move_to("acme", Tier::Dedicated).await.is_err(), "reads have turned");
            stops.stop_at("");
            write(&mine, written).await;
            assert_eq!(house.counts("acme").await, (2, 2), "positive control: {written:?}");

            let moved = move_without_placements(&house).await;
            if written == Written::Nothing {
                moved.expect("what is the same here and there may go");
                assert_eq!(house.counts("acme").await, (0, 2));
            } else {
                assert!(matches!(moved, Err(VectorError::Misplaced)), "{written:?}: {moved:?}");
                assert_eq!(house.counts("acme").await, (2, 2), "nothing was cleared: {written:?}");
            }
        })
        .await;
    }
}

/// What differs is on the last page of the back end where the life is not said to be; those before it are the same.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_newer_on_a_later_page_is_not_cleared() {
    in_time(async {
        let stops = Stops::default();
        let house = House::plain(Watched::new(&stops)).await;
        let mine = house.of("acme").await;
        let many = 600;
        for from in (0..many).step_by(100) {
            mine.upsert((from..from + 100).map(|n| numbered(&format!("doc:{n}"), 1)).collect()).await.unwrap();
        }
        stops.stop_at(r#""Clearing""#);
        assert!(house.move_to("acme", Tier::Dedicated).await.is_err(), "reads have turned");
        stops.stop_at("");
        let (mut last, mut from) = (None, None);
        loop {
            let page = mine.scroll(&Scroll::new(), from.as_ref()).await.unwrap();
            from = page.next().cloned();
            last = page.into_points().pop().map(|point| point.id().as_str().to_owned()).or(last);
            if from.is_none() {
                break;
            }
        }
        mine.upsert(vec![numbered(&last.unwrap(), 2)]).await.unwrap();
        assert_eq!(house.counts("acme").await, (many, many), "positive control");
        let moved = move_without_placements(&house).await;
        assert!(matches!(moved, Err(VectorError::Misplaced)), "{moved:?}");
        assert_eq!(house.counts("acme").await, (many, many), "nothing was cleared");
    })
    .await;
}

/// A move that was given up, or had turned the reads, and points that were taken out since: they are not missed.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_out_since_a_move_stopped_is_not_missed() {
    for stop in [r#"{"Copying":""#, r#""CatchingUp""#, r#""Clearing""#] {
        let cases = [false, true].map(|is_late| {
            in_time(async move {
                let what = format!("{stop}, after the lease: {is_late}");
                let stops = Stops::default();
                let house = House::plain(Watched::new(&stops)).await;
                let mine = house.of("acme").await;
                mine.upsert((0..300).map(|n| numbered(&format!("doc:{n}"), n % 3)).collect()).await.unwrap();
                stops.stop_at(stop);
                assert!(house.move_to("acme", Tier::Dedicated).await.is_err(), "{what}");
                stops.stop_at("");
                if is_late {
                    mine.upsert(vec![numbered("doc:1", 1)]).await.unwrap();
                    tokio::time::sleep(PATIENCE * 20 + Duration::from_millis(50)).await;
                    mine.upsert(vec![numbered("doc:1", 1)]).await.unwrap();
                }
                // By their ids, by what they hold, and in one call with a point that takes the place of one.
                let gone = mine.delete(&[cases::id("doc:0"), cases::id("doc:4")]).await.unwrap();
                assert_eq!(gone.removed(), 2, "{what}");
                let n = PayloadKey::parse("n").unwrap();
                let two = Filter::Equals(n, 2.into());
                mine.change(vec![Change::Delete(Select::Matching(two)), Change::Upsert(vec![numbered("doc:2", 7)])])
                    .await
                    .unwrap();
                let served = all(&mine).await;
                assert_eq!(served.len(), 300 - 2 - 100 + 1, "{what}");
                house.move_to("acme", Tier::Shared).await.unwrap();
                assert_eq!((all(&mine).await, stops.notes()), (served, 0), "{what}");
                assert_eq!(house.counts("acme").await, (199, 0), "{what}");
            })
        });
        futures_util::future::join_all(cases).await;
    }
}
