//! Calls that are under way when a life moves: each is held where it hurts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tenancy_core::Denial;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::tiers::{MemoryTiers, Tier};
use tenancy_vector::{
    BackendError, Change, Filter, PayloadKey, Select, TenantVectors, VectorError, VectorName, WriteRequest,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::cases;
use crate::fake::{Fake, Hooks};
use crate::house::{House, PATIENCE, all, in_time, numbered};
use crate::stops::{Stops, Watched};

/// Where a call is held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Point {
    BeforeWrite,
    /// All reads but a scroll.
    BeforeRead,
    After,
}

/// Holds the next call at a point, once, until it is let go.
#[derive(Clone, Default)]
struct Holds {
    at: Arc<Mutex<Option<Point>>>,
    held: Arc<Notify>,
    go_on: Arc<Notify>,
}

impl Holds {
    fn hold(&self, at: Point) {
        *self.at.lock().unwrap() = Some(at);
    }

    async fn pass(&self, here: Point) {
        let is_held = self.at.lock().unwrap().take_if(|at| *at == here).is_some();
        if is_held {
            self.held.notify_one();
            self.go_on.notified().await;
        }
    }
}

#[async_trait]
impl Hooks for Holds {
    async fn before_write(&self, _request: &WriteRequest) -> Result<bool, BackendError> {
        self.pass(Point::BeforeWrite).await;
        Ok(true)
    }

    async fn before_read(&self, name: &'static str) -> Result<(), BackendError> {
        if name != "scroll" {
            self.pass(Point::BeforeRead).await;
        }
        Ok(())
    }

    async fn after(&self) {
        self.pass(Point::After).await;
    }
}

type Held = House<Fake<Holds>, Fake<Holds>>;

async fn house() -> (Held, Holds, Holds) {
    let (shared, dedicated) = (Holds::default(), Holds::default());
    let house = House::on(Fake::new(shared.clone()), Fake::new(dedicated.clone()), MemoryTiers::new()).await;
    house.of("acme").await.upsert(vec![numbered("doc:1", 1), numbered("doc:2", 1)]).await.unwrap();
    (house, shared, dedicated)
}

/// A write that looked where the life is before the move began, and comes to the back end when pages could be copied.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_from_before_the_move_is_waited_for() {
    in_time(async {
        let (house, shared, _) = house().await;
        let mine = house.of("acme").await;
        shared.hold(Point::BeforeWrite);
        let late = tokio::spawn({
            let mine = mine.clone();
            async move { mine.upsert(vec![numbered("doc:1", 2)]).await }
        });
        shared.held.notified().await;
        let moving = house.move_to("acme", Tier::Dedicated);
        let let_go = async {
            tokio::time::sleep(PATIENCE / 4).await;
            shared.go_on.notify_one();
        };
        let (moved, ()) = tokio::join!(moving, let_go);
        assert_eq!((moved.unwrap(), late.await.unwrap().is_ok()), (2, true));
        assert_eq!(all(&mine).await["doc:1"], 2);
    })
    .await;
}

/// A write that was noted, and is under way when writes are let wait: by ids and by what its points hold.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_noted_is_waited_for() {
    for by_filter in [false, true] {
        in_time(async {
            let (house, shared, dedicated) = house().await;
            let mine = house.of("acme").await;
            // The move is held at its first page, after it has emptied the other back end.
            let mover = house.mover("acme").await;
            let moving = tokio::spawn(async move { mover.move_to(Tier::Dedicated, |_| {}).await });
            tokio::time::sleep(PATIENCE / 2).await;
            dedicated.hold(Point::BeforeWrite);
            dedicated.held.notified().await;
            shared.hold(Point::BeforeWrite);
            let late = tokio::spawn({
                let mine = mine.clone();
                async move {
                    let n = PayloadKey::parse("n").unwrap();
                    let select = if by_filter { Select::Matching(Filter::Equals(n, 1.into())) } else { Select::All };
                    mine.change(vec![
                        Change::SetPayload(select, cases::object(serde_json::json!({ "n": 2 })), None),
                        Change::Upsert(vec![numbered("doc:2", 3)]),
                    ])
                    .await
                }
            });
            shared.held.notified().await;
            dedicated.go_on.notify_one();
            tokio::time::sleep(PATIENCE / 20).await;
            shared.go_on.notify_one();
            moving.await.unwrap().unwrap();
            late.await.unwrap().unwrap();
            let wanted = BTreeMap::from([("doc:1".to_owned(), 2), ("doc:2".to_owned(), 3)]);
            assert_eq!(all(&mine).await, wanted, "{by_filter}");
            assert_eq!(house.counts("acme").await, (0, 2), "{by_filter}");
        })
        .await;
    }
}

/// Who takes a move over meets nothing of what the other had sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_mover_that_was_taken_over_does_not_come_late() {
    in_time(async {
        let (house, _, dedicated) = house().await;
        let mine = house.of("acme").await;
        let mover = house.mover("acme").await;
        let first = tokio::spawn({
            let mover = mover.clone();
            async move { mover.move_to(Tier::Dedicated, |_| {}).await }
        });
        tokio::time::sleep(PATIENCE / 2).await;
        dedicated.hold(Point::BeforeWrite);
        dedicated.held.notified().await; // it empties the other back end
        dedicated.hold(Point::BeforeWrite);
        dedicated.go_on.notify_one();
        dedicated.held.notified().await; // and has read a page
        mine.upsert(vec![numbered("doc:1", 2)]).await.unwrap();
        mover.move_to(Tier::Dedicated, |_| {}).await.unwrap();
        dedicated.go_on.notify_one();
        let first = first.await.unwrap();
        assert!(matches!(first, Err(VectorError::Busy)), "{first:?}");
        assert_eq!(all(&mine).await["doc:1"], 2);
    })
    .await;
}

/// A read that is held before the back end answers, and the life is moved away meanwhile. How many points it finds.
async fn read_across_a_move(house: &Held, shared: &Holds, mine: &TenantVectors) -> JoinHandle<usize> {
    shared.hold(Point::BeforeRead);
    let mine = mine.clone();
    let slow = tokio::spawn(async move { mine.query(&cases::near()).await.unwrap().len() });
    shared.held.notified().await;
    house.move_to("acme", Tier::Dedicated).await.unwrap();
    slow
}

/// A read that began before a move and comes to the emptied back end after it looks where the points are now.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_read_finds_what_was_moved_meanwhile() {
    in_time(async {
        let (house, shared, _) = house().await;
        let mine = house.of("acme").await;
        let slow = read_across_a_move(&house, &shared, &mine).await;
        shared.go_on.notify_one();
        assert_eq!(slow.await.unwrap(), 2);
    })
    .await;
}

/// A read that was answered by the emptied back end, and looks where the points are when they are back there.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_read_finds_what_was_moved_there_and_back_meanwhile() {
    in_time(async {
        let (house, shared, _) = house().await;
        let mine = house.of("acme").await;
        let slow = read_across_a_move(&house, &shared, &mine).await;
        shared.hold(Point::After);
        shared.go_on.notify_one();
        shared.held.notified().await;
        house.move_to("acme", Tier::Shared).await.unwrap();
        shared.go_on.notify_one();
        assert_eq!(slow.await.unwrap(), 2);
    })
    .await;
}

/// A tenant that is erased while a back end answers the mover: nothing is written of it any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_mover_writes_nothing_of_an_erased_life() {
    in_time(async {
        let (house, _, dedicated) = house().await;
        let mover = house.mover("acme").await;
        let moving = tokio::spawn(async move { mover.move_to(Tier::Dedicated, |_| {}).await });
        tokio::time::sleep(PATIENCE / 2).await;
        dedicated.hold(Point::After);
        dedicated.held.notified().await;
        dedicated.hold(Point::BeforeWrite);
        house.tenants.erase("acme");
        dedicated.go_on.notify_one();
        let moved = moving.await.unwrap();
        assert!(matches!(moved, Err(VectorError::Denied(Denial::TenantErased))), "{moved:?}");
        assert!(dedicated.at.lock().unwrap().is_some(), "no write came to the other back end");
    })
    .await;
}

/// A back end that takes its time keeps the move waiting, and writes for a moment only.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_target_holds_up_no_write() {
    in_time(async {
        let (house, _, dedicated) = house().await;
        let mine = house.of("acme").await;
        let mover = house.mover("acme").await;
        let moving = tokio::spawn(async move { mover.move_to(Tier::Dedicated, |_| {}).await });
        tokio::time::sleep(PATIENCE / 2).await;
        dedicated.hold(Point::BeforeWrite);
        dedicated.held.notified().await;
        for n in 0..20 {
            let write = mine.upsert(vec![numbered("doc:1", n)]);
            tokio::time::timeout(Duration::from_secs(5), write).await.unwrap().unwrap();
        }
        let moved = moving.await.unwrap();
        assert!(matches!(moved, Err(VectorError::Busy)), "the move gives way: {moved:?}");
        house.move_to("acme", Tier::Dedicated).await.unwrap();
        assert_eq!(all(&mine).await["doc:1"], 19);
    })
    .await;
}

/// Two who move the same life: one goes on, the other stops, and nothing is lost.
#[tokio::test(flavor = "multi_thread")]
async fn two_movers_of_one_life_do_not_undo_each_other() {
    in_time(async {
        let house = House::new().await;
        let mine = house.of("acme").await;
        for n in 0..4 {
            mine.upsert((0..250).map(|at| numbered(&format!("{n}:{at}"), 1)).collect()).await.unwrap();
        }
        for _ in 0..3 {
            let (one, two) =
                tokio::join!(house.move_to("acme", Tier::Dedicated), house.move_to("acme", Tier::Dedicated));
            for moved in [&one, &two] {
                assert!(matches!(moved, Ok(_) | Err(VectorError::Busy)), "{moved:?}");
            }
            assert!(one.is_ok() || two.is_ok());
            assert_eq!((all(&mine).await.len(), house.counts("acme").await), (1000, (0, 1000)));
            house.move_to("acme", Tier::Shared).await.unwrap();
        }
    })
    .await;
}

/// One moves it there and the other holds on to where it is: whoever comes last has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_is_given_up_for_another() {
    in_time(async {
        let house: House<ReferenceBackend, ReferenceBackend> = House::new().await;
        let mine = house.of("acme").await;
        mine.upsert((0..600).map(|n| numbered(&format!("doc:{n}"), 1)).collect()).await.unwrap();
        let there = house.mover("acme").await;
        let moving = tokio::spawn(async move { there.move_to(Tier::Dedicated, |_| {}).await });
        tokio::time::sleep(PATIENCE / 2).await;
        house.move_to("acme", Tier::Shared).await.unwrap();
        let moved = moving.await.unwrap();
        assert!(matches!(moved, Err(VectorError::Busy) | Ok(())), "{moved:?}");
        let _there = house.move_to("acme", Tier::Shared).await.unwrap();
        assert_eq!((all(&mine).await.len(), house.counts("acme").await), (600, (600, 0)));
        mine.change(vec![Change::DeleteVectors(Select::All, vec![VectorName::dense()])]).await.unwrap();
        assert_eq!(mine.count(None).await.unwrap(), 600);
    })
    .await;
}

/// A write that looked before the end of the move, and whose note comes after it: nothing is left of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_comes_after_the_move_is_taken_away() {
    in_time(async {
        let (shared, stops) = (Holds::default(), Stops::default());
        let dedicated = Fake::new(Holds::default());
        let house = House::on(Fake::new(shared.clone()), dedicated, Watched::new(&stops)).await;
        let mine = house.of("acme").await;
        mine.upsert(vec![numbered("doc:1", 1), numbered("doc:2", 1)]).await.unwrap();
        shared.hold(Point::BeforeWrite);
        let mover = house.mover("acme").await;
        let moving = tokio::spawn(async move { mover.move_to(Tier::Dedicated, |_| {}).await });
        shared.held.notified().await;
        let late = stops.late_note();
        let deleting = {
            let mine = mine.clone();
            tokio::spawn(async move { mine.delete(&[cases::id("doc:2")]).await })
        };
        late.notified().await;
        shared.go_on.notify_one();
        moving.await.unwrap().unwrap();
        assert_eq!(deleting.await.unwrap().unwrap().removed(), 1);
        assert_eq!((stops.notes(), house.counts("acme").await), (0, (0, 1)));
    })
    .await;
}
