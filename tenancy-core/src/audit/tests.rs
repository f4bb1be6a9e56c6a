//! The log as the rest of core uses it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::sink::{AuditBatch, AuditError, AuditSink, MemorySink};
use super::verify::verify_log;
use super::{AuditEvent, AuditRecord, AuditSettings, Auditor, JsonlSink, Lane, Outcome};
use crate::clock::{Clock, SystemClock};
use crate::denial::Denial;
use crate::id::{Life, RealmName, SubjectId};

/// Wall time stands; the monotonic side moves when told.
#[derive(Debug, Default)]
struct StillClock(Mutex<Duration>);

impl StillClock {
    fn advance(&self, by: Duration) {
        *self.0.lock().unwrap() += by;
    }
}

impl Clock for StillClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        *self.0.lock().unwrap()
    }
}

/// Fails, panics or dawdles when told, and counts its batches.
#[derive(Clone, Default)]
struct BadSink {
    kept: MemorySink,
    failing: Arc<AtomicBool>,
    batches: Arc<AtomicUsize>,
    panicking: bool,
    pause: Duration,
}

impl AuditSink for BadSink {
    fn append(&self, batch: &AuditBatch<'_>) -> Result<(), AuditError> {
        assert!(!self.panicking, "told to");
        thread::sleep(self.pause);
        self.batches.fetch_add(1, Ordering::SeqCst);
        if self.failing.load(Ordering::SeqCst) { Err(AuditError::sink("told to")) } else { self.kept.append(batch) }
    }

    fn list(&self, _: Life) -> Result<Vec<AuditRecord>, AuditError> {
        Err(AuditError::sink("told to"))
    }
}

fn start(sink: impl AuditSink, clock: impl Clock, settings: AuditSettings) -> Auditor {
    Auditor::start(Arc::new(sink), RealmName::parse("test").unwrap(), Arc::new(clock), settings).unwrap()
}

fn start_plain(sink: impl AuditSink, settings: AuditSettings) -> Auditor {
    start(sink, SystemClock::new(), settings)
}

fn denied(subject: &str) -> AuditEvent {
    let subject = Some(SubjectId::parse(subject).unwrap());
    AuditEvent { subject, ..AuditEvent::denied("query", Denial::NotVisible, SystemTime::now()) }
}

fn changed() -> AuditEvent {
    AuditEvent::new("query", Outcome::Changed, SystemTime::now())
}

/// What was recorded through the lanes, without what the log says of itself.
fn events(records: &[AuditRecord]) -> Vec<(&str, Outcome, u64)> {
    let said = |r: &&AuditRecord| r.outcome() != Outcome::Lifecycle;
    records.iter().filter(said).map(|r| (r.action(), r.outcome(), r.count())).collect()
}

/// However slow the machine is, the writer does not begin a round before it has rested from the one before.
#[tokio::test]
async fn accesses_gather() {
    let sink = BadSink::default();
    let log = start_plain(sink.clone(), AuditSettings::default());
    log.flush().await.unwrap();
    let (before, start) = (sink.batches.load(Ordering::SeqCst), Instant::now());
    for _ in 0..60 {
        log.record(Lane::Operators, AuditEvent::new("query", Outcome::Accessed, SystemTime::now()));
        thread::sleep(Duration::from_millis(1));
    }
    let (batches, most) = (sink.batches.load(Ordering::SeqCst) - before, start.elapsed().as_millis() / 5 + 2);
    assert!(batches as u128 <= most, "{batches} batches, {most} would do");
    log.flush().await.unwrap();
    let accessed = sink.kept.records().into_iter().filter(|record| record.outcome() == Outcome::Accessed).count();
    assert_eq!(accessed, 60);
}

#[tokio::test]
async fn nothing_is_lost_from_the_counts_under_a_flood() {
    const THREADS: usize = 8;
    const EACH: usize = 5000;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let settings = AuditSettings::default().capacity(3).distinct(4).share(2);
    let auditor = start_plain(JsonlSink::open(&path).unwrap(), settings);
    let lives = [Life::random(), Life::random()];
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let auditor = &auditor;
            let lane = Lane::Life(lives[thread % 2]);
            scope.spawn(move || {
                for n in 0..EACH {
                    let event = match n % 4 {
                        0 => denied(&format!("{thread}-{n}")),
                        1 => changed(),
                        _ => denied("same"),
                    };
                    match auditor.try_reserve(lane) {
                        Ok(slot) => slot.settle(event),
                        Err(_) => auditor.record(lane, event),
                    }
                }
            });
        }
    });
    auditor.close().await.unwrap();
    let report = verify_log(&path).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.events, (THREADS * EACH + 2) as u64, "with one record of the start and one of the end");
    assert_eq!(report.chains, 3);
    // Every event was about one of two lives, counted ones too.
    let listed: u64 = lives.iter().flat_map(|life| auditor.list(*life).unwrap()).map(|r| r.count()).sum();
    assert_eq!(listed, (THREADS * EACH) as u64);
}

#[tokio::test]
async fn equal_denials_within_a_second_are_one_record_and_a_count() {
    let (sink, clock) = (MemorySink::new(), Arc::new(StillClock::default()));
    let auditor = Auditor::start(
        Arc::new(sink.clone()),
        RealmName::parse("test").unwrap(),
        clock.clone(),
        AuditSettings::default(),
    )
    .unwrap();
    let lane = Lane::Life(Life::random());
    for _ in 0..5 {
        auditor.record(lane, denied("ann"));
    }
    auditor.record(lane, denied("bob"));
    auditor.record(lane, changed());
    auditor.record(lane, changed());
    while events(&sink.records()).len() < 4 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(sink.records().iter().all(|r| r.count() == 1), "the window is still open");
    clock.advance(Duration::from_secs(1));
    // The writer wakes by itself.
    while events(&sink.records()).len() < 5 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let records = sink.records();
    let count = records.last().unwrap();
    assert_eq!((count.subject(), count.count(), count.rule()), (Some("ann"), 4, Some("scope.not_visible")));
    assert_eq!(count.request(), None);
    auditor.record(lane, denied("ann"));
    auditor.flush().await.unwrap();
    assert_eq!(sink.records().last().unwrap().count(), 1, "a new window begins with a record");
}

#[tokio::test]
async fn denials_about_two_lives_are_never_counted_as_one() {
    let sink = MemorySink::new();
    let auditor = start(sink.clone(), StillClock::default(), AuditSettings::default());
    let (one, other) = (Life::random(), Life::random());
    for life in [one, other, one] {
        auditor.record(Lane::Anonymous, AuditEvent { life: Some(life), ..denied("ann") });
    }
    auditor.flush().await.unwrap();
    let seen = |life| auditor.list(life).unwrap().iter().map(AuditRecord::count).sum::<u64>();
    assert_eq!((seen(one), seen(other)), (2, 1));
}

#[tokio::test]
async fn a_tenant_sees_its_own_and_what_reaches_everyone() {
    let auditor = start(MemorySink::new(), StillClock::default(), AuditSettings::default());
    let (mine, theirs) = (Life::random(), Life::random());
    let operator = |life, everyone| AuditEvent { life, everyone, ..changed() };
    auditor.record(Lane::Life(mine), changed());
    auditor.record(Lane::Life(theirs), changed());
    auditor.durable(Lane::Operators, operator(Some(mine), false)).await.unwrap();
    auditor.durable(Lane::Operators, operator(Some(theirs), false)).await.unwrap();
    auditor.durable(Lane::Operators, operator(None, true)).await.unwrap();
    auditor.flush().await.unwrap();
    let listed = auditor.list(mine).unwrap();
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|r| r.life() == Some(mine) || r.everyone()));
}

#[tokio::test]
async fn a_flood_in_one_lane_does_not_stop_another() {
    let sink = BadSink { pause: Duration::from_millis(2), ..BadSink::default() };
    let auditor = start_plain(sink, AuditSettings::default().capacity(16).share(4));
    let stop = Arc::new(AtomicBool::new(false));
    let flood = thread::spawn({
        let (auditor, stop) = (auditor.clone(), Arc::clone(&stop));
        move || {
            let lane = Lane::Life(Life::random());
            while !stop.load(Ordering::Relaxed) {
                auditor.record(lane, changed());
            }
        }
    });
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(auditor.durable(Lane::Operators, changed()).await, Ok(()));
        // Two rounds, each a pause long; the rest is for a busy machine.
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    flood.join().unwrap();
}

#[tokio::test]
async fn a_failing_sink_closes_the_door_and_loses_nothing() {
    let sink = BadSink::default();
    sink.failing.store(true, Ordering::SeqCst);
    let patience = Duration::from_millis(60);
    let auditor = start_plain(sink.clone(), AuditSettings::default().capacity(2).share(1).patience(patience));
    let lane = Lane::Life(Life::random());
    let mut taken = 0;
    let refusal = loop {
        match auditor.reserve(lane).await {
            Ok(slot) => slot.settle(changed()),
            Err(denial) => break denial,
        }
        taken += 1;
        assert!(taken < 10, "the lane is bounded");
    };
    assert_eq!(refusal, Denial::AuditUnavailable);
    assert_eq!(auditor.durable(Lane::Operators, changed()).await, Err(Denial::AuditUnavailable));
    assert_eq!(auditor.flush().await, Err(Denial::AuditUnavailable));
    assert!(sink.kept.records().is_empty());
    auditor.record(lane, changed());

    sink.failing.store(false, Ordering::SeqCst);
    while auditor.flush().await.is_err() {}
    assert!(auditor.reserve(lane).await.is_ok());
    let records = sink.kept.records();
    let all: u64 = events(&records).iter().map(|(_, _, count)| count).sum();
    assert_eq!(all, taken + 2, "those taken, the one that was not waited for, and the one that found no place");
    assert_eq!(records.iter().map(AuditRecord::sequence).collect::<HashSet<_>>().len(), records.len());
    assert_eq!(auditor.list(Life::random()).unwrap_err(), Denial::AuditUnavailable);
}

#[tokio::test]
async fn a_sink_that_panics_is_dead() {
    let auditor = start_plain(BadSink { panicking: true, ..BadSink::default() }, AuditSettings::default());
    assert_eq!(auditor.durable(Lane::Operators, changed()).await, Err(Denial::AuditUnavailable));
    assert_eq!(auditor.close().await, Err(Denial::AuditUnavailable));
    assert_eq!(auditor.reserve(Lane::Anonymous).await.unwrap_err(), Denial::AuditUnavailable);
}

#[tokio::test]
async fn a_place_comes_back_however_its_slot_ends() {
    let auditor = start(MemorySink::new(), StillClock::default(), AuditSettings::default().capacity(1));
    let lane = Lane::Life(Life::random());
    let free = || auditor.try_reserve(lane);
    let slot = free().unwrap();
    assert_eq!(free().unwrap_err(), Denial::AuditUnavailable);
    assert!(auditor.try_reserve(Lane::Anonymous).is_ok(), "another lane has its own");
    drop(slot);
    free().unwrap().waive();
    free().unwrap().settle(denied("ann"));
    auditor.flush().await.unwrap();
    free().unwrap().settle(denied("ann"));
    assert!(free().is_ok(), "a repetition is counted and needs no place");
}

#[tokio::test]
async fn who_waits_gets_the_place_that_is_freed() {
    let auditor = start_plain(MemorySink::new(), AuditSettings::default().capacity(1));
    let lane = Lane::Anonymous;
    let slot = auditor.reserve(lane).await.unwrap();
    let (waiting, ()) = tokio::join!(auditor.reserve(lane), async {
        tokio::task::yield_now().await;
        slot.waive();
    });
    assert!(waiting.is_ok());
}

#[tokio::test]
async fn a_flush_waits_for_all_that_was_recorded_before_it() {
    let sink = BadSink { pause: Duration::from_millis(2), ..BadSink::default() };
    let auditor = start_plain(sink.clone(), AuditSettings::default().share(1));
    for _ in 0..10 {
        auditor.record(Lane::Anonymous, changed());
    }
    auditor.flush().await.unwrap();
    assert_eq!(events(&sink.kept.records()).len(), 10);
}

#[tokio::test]
async fn closing_writes_all_and_is_idempotent() {
    let sink = MemorySink::new();
    let auditor = start_plain(sink.clone(), AuditSettings::default());
    let lane = Lane::Life(Life::random());
    for _ in 0..3 {
        auditor.record(lane, denied("ann"));
    }
    let late = auditor.reserve(lane).await.unwrap();
    let (closed, ()) = tokio::join!(auditor.close(), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(auditor.reserve(lane).await.unwrap_err(), Denial::RealmClosed);
        late.settle(changed());
    });
    assert_eq!(closed, Ok(()));
    assert_eq!(auditor.close().await, Ok(()));
    assert_eq!(auditor.flush().await, Ok(()));
    assert_eq!(auditor.try_reserve(lane).unwrap_err(), Denial::RealmClosed);
    assert_eq!(auditor.durable(lane, changed()).await, Err(Denial::RealmClosed));
    let records = sink.records();
    let all: u64 = events(&records).iter().map(|(_, _, count)| count).sum();
    assert_eq!(all, 4);
    assert_eq!(records.first().unwrap().action(), "audit.start");
    assert_eq!(records.last().unwrap().action(), "audit.close");
}

#[test]
fn a_log_that_is_dropped_is_written_out() {
    let sink = MemorySink::new();
    let auditor = start_plain(sink.clone(), AuditSettings::default());
    auditor.record(Lane::Anonymous, denied("ann"));
    auditor.record(Lane::Anonymous, denied("ann"));
    drop(auditor);
    let began = Instant::now();
    while sink.records().last().is_none_or(|last| last.action() != "audit.close") {
        assert!(began.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(events(&sink.records()).iter().map(|(_, _, count)| count).sum::<u64>(), 2);
}

#[tokio::test]
async fn a_closed_log_can_be_opened_again_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    for _ in 0..50 {
        let auditor = start_plain(JsonlSink::open(&path).unwrap(), AuditSettings::default());
        auditor.close().await.unwrap();
    }
    let report = verify_log(&path).unwrap();
    assert!(report.is_clean());
    assert_eq!((report.records, report.chains), (100, 50));
}

#[tokio::test]
async fn what_was_cut_off_is_the_first_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    std::fs::write(&path, "{\"realm\"").unwrap();
    let auditor = start_plain(JsonlSink::open(&path).unwrap(), AuditSettings::default());
    auditor.close().await.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let first = AuditRecord::parse(text.lines().next().unwrap()).unwrap();
    assert_eq!((first.outcome(), first.reason()), (Outcome::Recovered, Some("a torn tail of 8 bytes was cut off")));
}
