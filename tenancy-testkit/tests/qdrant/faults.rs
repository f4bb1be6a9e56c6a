//! Calls go wrong when, and only when, a test says so.

use std::time::{Duration, Instant};

use qdrant_client::qdrant as pb;
use tenancy_testkit::qdrant::WireFault;
use tonic::{Code, Request};

use crate::{House, point, upsert};

fn one(id: u64) -> pb::UpsertPoints {
    pb::UpsertPoints { points: vec![point(id, "a", [1.0, 0.0], &[])], wait: Some(true), ..upsert() }
}

#[tokio::test]
async fn the_call_that_is_named_fails_and_no_other() {
    let mut house = House::with_collection().await;
    house.server.fail("Points/Upsert", 2, WireFault::Refuse(Code::ResourceExhausted));
    let mut codes = Vec::new();
    for id in 1..=3 {
        codes.push(house.points.upsert(one(id)).await.map_or_else(|status| status.code(), |_| Code::Ok));
        // Another method is another count.
        house.count(None).await;
    }
    assert_eq!(codes, [Code::Ok, Code::ResourceExhausted, Code::Ok]);
    assert_eq!(house.count(None).await, 2, "what was refused was not done");
}

#[tokio::test]
async fn a_connection_is_cut_before_or_after_the_work_and_the_next_call_connects_again() {
    for (fault, done) in [(WireFault::CutBefore, 0), (WireFault::CutAfter, 1)] {
        let mut house = House::with_collection().await;
        house.server.fail("Points/Upsert", 1, fault.clone());
        let cut = house.points.upsert(one(1)).await.unwrap_err();
        assert_ne!(cut.code(), Code::Internal, "not an answer: {cut:?}");
        assert_eq!(house.count(None).await, done, "{fault:?}");
    }
}

#[tokio::test]
async fn a_delay_is_a_delay() {
    let mut house = House::with_collection().await;
    let time = Duration::from_millis(50);
    house.server.fail("Points/Count", 1, WireFault::Delay(time));
    let start = Instant::now();
    house.count(None).await;
    assert!(start.elapsed() >= time);
    // Longer than its caller waits: whether the work was done is not for the caller to know.
    house.server.fail("Points/Upsert", 1, WireFault::Delay(Duration::from_secs(3600)));
    let mut request = Request::new(one(1));
    request.set_timeout(time);
    assert!(matches!(house.points.upsert(request).await.unwrap_err().code(), Code::Cancelled | Code::DeadlineExceeded));
}

#[tokio::test]
async fn a_write_is_answered_with_another_status() {
    use pb::UpdateStatus::{Acknowledged, ClockRejected, WaitTimeout};
    for (status, done) in [(Acknowledged, 1), (WaitTimeout, 1), (ClockRejected, 0)] {
        let mut house = House::with_collection().await;
        house.server.answer_with("Points/Upsert", status);
        let answer = house.points.upsert(one(1)).await.unwrap().into_inner();
        assert_eq!(answer.result.unwrap().status(), status);
        assert_eq!(house.count(None).await, done, "{status:?}");
    }
    let mut house = House::with_collection().await;
    let answer = house.points.upsert(pb::UpsertPoints { wait: None, ..one(1) }).await.unwrap().into_inner();
    assert_eq!(answer.result.unwrap().status(), Acknowledged, "who does not ask to wait is not told");
}

#[tokio::test]
async fn a_request_is_kept_with_its_headers_and_a_key_can_be_asked_for() {
    let mut house = House::with_collection().await;
    house.server.clear_requests();
    house.server.require_key("right");
    for (key, code) in
        [(None, Code::Unauthenticated), (Some("wrong"), Code::Unauthenticated), (Some("right"), Code::Ok)]
    {
        let mut request = Request::new(one(1));
        if let Some(key) = key {
            request.metadata_mut().insert("api-key", key.parse().unwrap());
        }
        let answer = house.points.upsert(request).await.map_or_else(|status| status.code(), |_| Code::Ok);
        assert_eq!(answer, code);
        let kept = house.server.requests();
        let last = kept.last().unwrap();
        assert_eq!((last.method(), last.header("api-key")), ("Points/Upsert", key));
        assert_eq!(last.message(), Some(&one(1)));
        assert_eq!(last.message::<pb::CountPoints>(), None);
    }
    assert_eq!(house.server.messages::<pb::UpsertPoints>().len(), 3);
}

#[tokio::test]
#[should_panic(expected = "has no status")]
async fn a_read_has_no_status_to_change() {
    House::empty().await.server.answer_with("Points/Count", pb::UpdateStatus::Acknowledged);
}

#[tokio::test]
#[should_panic(expected = "is not served")]
async fn what_is_not_served_can_not_be_made_to_fail() {
    House::empty().await.server.fail("Points/Search", 1, WireFault::CutBefore);
}

#[tokio::test]
async fn a_stopped_server_is_gone() {
    let mut house = House::with_collection().await;
    house.server.stop();
    let gone = house.points.count(pb::CountPoints { collection_name: "c".into(), ..Default::default() }).await;
    assert!(matches!(gone.unwrap_err().code(), Code::Unavailable | Code::Unknown));
}
