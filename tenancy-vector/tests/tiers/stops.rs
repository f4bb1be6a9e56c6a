//! Moves that stop, wherever it is.

use std::collections::{BTreeSet, HashSet};
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::tiers::{MemoryTiers, Note, Notes, Placement, Tier, Tiers};
use tenancy_vector::{BackendError, DropScope, PointKey, VectorError, VectorScope, WriteRequest, WriteScope};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::cases;
use crate::fake::{Fake, Hooks};
use crate::house::{House, all, in_time, numbered};

/// What a test wants to know of placements and notes, and where it stops a move.
#[derive(Clone, Default)]
pub(crate) struct Stops(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    stop: String,
    notes: HashSet<Uuid>,
    closed: usize,
    /// The most points of one note.
    longest: usize,
    /// The next note is kept when the move is over.
    late: Option<Arc<Notify>>,
}

impl Stops {
    /// A placement with this text in it is set, and whoever set it is told that it failed.
    pub(crate) fn stop_at(&self, stop: &str) {
        stop.clone_into(&mut self.0.lock().unwrap().stop);
    }

    /// How many notes were closed, and how many points the longest of all has.
    pub(crate) fn closed_and_longest(&self) -> (usize, usize) {
        let inner = self.0.lock().unwrap();
        (inner.closed, inner.longest)
    }

    /// The next note waits for the end of the move, and tells when it does.
    pub(crate) fn late_note(&self) -> Arc<Notify> {
        let waits = Arc::new(Notify::new());
        self.0.lock().unwrap().late = Some(Arc::clone(&waits));
        waits
    }

    /// How many notes are kept.
    pub(crate) fn notes(&self) -> usize {
        self.0.lock().unwrap().notes.len()
    }
}

/// Placements in memory that a test watches.
#[derive(Clone)]
pub(crate) struct Watched {
    tiers: MemoryTiers,
    stops: Stops,
}

impl Watched {
    pub(crate) fn new(stops: &Stops) -> Self {
        Self { tiers: MemoryTiers::new(), stops: stops.clone() }
    }
}

#[async_trait]
impl Tiers for Watched {
    async fn placement(&self, scope: &VectorScope<'_>) -> Result<Placement, BackendError> {
        self.tiers.placement(scope).await
    }

    async fn replace(&self, scope: &WriteScope<'_>, from: Placement, to: Placement) -> Result<bool, BackendError> {
        let set = self.tiers.replace(scope, from, to).await?;
        let mut inner = self.stops.0.lock().unwrap();
        if set && !to.is_moving() {
            inner.notes.clear();
        }
        let stops = !inner.stop.is_empty() && serde_json::to_string(&to).unwrap().contains(&inner.stop);
        if stops { Err(BackendError::because("stopped")) } else { Ok(set) }
    }

    async fn note(&self, scope: &WriteScope<'_>, note: Note) -> Result<(), BackendError> {
        let kept = Note::kept(note.id(), &note.to_bytes()).unwrap();
        let late = self.stops.0.lock().unwrap().late.take();
        if let Some(waits) = late {
            waits.notify_one();
            while self.tiers.placement(scope).await?.is_moving() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        self.tiers.note(scope, kept).await?;
        let mut inner = self.stops.0.lock().unwrap();
        inner.notes.insert(note.id());
        inner.longest = inner.longest.max(note.to_bytes().len() / 32);
        Ok(())
    }

    async fn close(&self, scope: &WriteScope<'_>, note: Uuid) -> Result<(), BackendError> {
        self.tiers.close(scope, note).await?;
        self.stops.0.lock().unwrap().closed += 1;
        Ok(())
    }

    async fn notes(&self, scope: &VectorScope<'_>, age: Duration) -> Result<Notes, BackendError> {
        self.tiers.notes(scope, age).await
    }

    async fn noted(&self, scope: &VectorScope<'_>, keys: &[PointKey]) -> Result<Vec<PointKey>, BackendError> {
        self.tiers.noted(scope, keys).await
    }

    async fn forget(&self, scope: &WriteScope<'_>, notes: &[Uuid]) -> Result<(), BackendError> {
        self.tiers.forget(scope, notes).await?;
        self.stops.0.lock().unwrap().notes.retain(|note| !notes.contains(note));
        Ok(())
    }

    async fn drop_life(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        self.tiers.drop_life(scope).await?;
        self.stops.0.lock().unwrap().notes.clear();
        Ok(())
    }
}

/// A move that was dropped at any await leaves a life that is served, and goes on when it is called again.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_can_be_dropped_anywhere() {
    let names: BTreeSet<_> = (0..600).map(|n| format!("doc:{n}")).collect();
    for stop_at in 0.. {
        let over = in_time(async {
            let house = House::new().await;
            let mine = house.of("acme").await;
            for chunk in Vec::from_iter(&names).chunks(300) {
                mine.upsert(chunk.iter().map(|name| numbered(name, 1)).collect()).await.unwrap();
            }
            let mover = house.mover("acme").await;
            let mut moving = Box::pin(mover.move_to(Tier::Dedicated, |_| {}));
            let mut polls = 0;
            let over = poll_fn(|context| {
                if polls == stop_at {
                    return Poll::Ready(false);
                }
                polls += 1;
                moving.as_mut().poll(context).map(|moved| moved.is_ok())
            })
            .await;
            drop(moving);
            goes_on(&house, stop_at % 2 == 0).await;
            over
        })
        .await;
        if over {
            assert!(stop_at > 0);
            break;
        }
    }
}

/// A move that ended because it could not tell whether a placement was set, at each of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_can_fail_at_each_placement() {
    for stop in
        [r#""Begun""#, r#"{"Copying":null}"#, r#"{"Copying":""#, r#""CatchingUp""#, r#""Paused""#, r#""Clearing""#]
    {
        for goes_on_there in [true, false] {
            in_time(async {
                let stops = Stops::default();
                let house = House::plain(Watched::new(&stops)).await;
                let mine = house.of("acme").await;
                for n in 0..2 {
                    let points = (0..300).map(|at| numbered(&format!("doc:{}", n * 300 + at), 1));
                    mine.upsert(points.collect()).await.unwrap();
                }
                stops.stop_at(stop);
                let stopped = house.move_to("acme", Tier::Dedicated).await;
                assert!(matches!(stopped, Err(VectorError::Backend(_))), "{stop}: {stopped:?}");
                stops.stop_at("");
                goes_on(&house, goes_on_there).await;
                assert_eq!(stops.notes(), 0, "{stop}");
            })
            .await;
        }
    }
}

/// The 600 points of a life whose move stopped are served and written, and it goes there or is given up.
async fn goes_on<T: Tiers + Clone>(house: &House<ReferenceBackend, ReferenceBackend, T>, there: bool) {
    let mine = house.of("acme").await;
    mine.upsert(vec![numbered("doc:1", 2), numbered("new", 2)]).await.unwrap();
    assert_eq!(mine.delete(&[cases::id("doc:2")]).await.unwrap().removed(), 1);
    let served = all(&mine).await;
    assert_eq!((served.len(), served["doc:1"], served["new"]), (600, 2, 2));
    let (tier, counts) = if there { (Tier::Dedicated, (0, 600)) } else { (Tier::Shared, (600, 0)) };
    house.move_to("acme", tier).await.unwrap();
    assert_eq!(house.counts("acme").await, counts);
    assert_eq!(all(&mine).await, served);
}

/// Lets a number of writes through, and then none until it is told to.
#[derive(Clone)]
pub(crate) struct Fails(pub(crate) Arc<AtomicU64>);

#[async_trait]
impl Hooks for Fails {
    async fn before_write(&self, _request: &WriteRequest) -> Result<bool, BackendError> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map(|_| true).map_err(|_| BackendError::because("away"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_back_end_that_goes_away_stops_the_move_and_no_life() {
    for lets in 0..5 {
        in_time(async {
            let left = Arc::new(AtomicU64::new(lets));
            let dedicated = Fake::new(Fails(Arc::clone(&left)));
            let house = House::on(ReferenceBackend::new(), dedicated, MemoryTiers::new()).await;
            let mine = house.of("acme").await;
            for n in 0..3 {
                mine.upsert((0..300).map(|at| numbered(&format!("{n}:{at}"), 1)).collect()).await.unwrap();
            }
            let moved = house.move_to("acme", Tier::Dedicated).await;
            assert!(matches!(moved, Err(VectorError::Backend(_))), "{lets}: {moved:?}");
            assert_eq!(all(&mine).await.len(), 900, "it is read where it was: {lets}");
            mine.upsert(vec![numbered("new", 1)]).await.expect("it is written where it was");
            assert_eq!(mine.delete(&[cases::id("0:0")]).await.unwrap().removed(), 1, "{lets}");
            left.store(u64::MAX, Ordering::Relaxed);
            house.move_to("acme", Tier::Dedicated).await.unwrap();
            assert_eq!(house.counts("acme").await, (0, 900), "{lets}");
            let there = all(&mine).await;
            assert!(there.contains_key("new") && !there.contains_key("0:0"), "{lets}");
        })
        .await;
    }
}
