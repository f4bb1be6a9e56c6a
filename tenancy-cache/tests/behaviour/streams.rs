//! Answers that come piece by piece: kept when they are whole, and never otherwise.

use futures_util::stream::{self, Stream, StreamExt};
use tenancy_cache::{CacheSettings, Layer, Lookup, Slot};
use tenancy_testkit::TestTenants;

use crate::rig::{Look, World};
use crate::samples;

type Piece = Result<String, &'static str>;

async fn slot(world: &World) -> Slot<Vec<String>> {
    match world.of("acme").await.response().lookup(&samples::response()).await.unwrap() {
        Lookup::Miss(slot) => slot,
        other => panic!("a miss, not {other:?}"),
    }
}

async fn kept(world: &World) -> Option<Vec<String>> {
    match world.of("acme").await.response().lookup(&samples::response()).await.unwrap() {
        Lookup::Hit(pieces) => Some(pieces),
        Lookup::Miss(_) => None,
        Lookup::Bypass(reason) => panic!("no bypass: {reason}"),
    }
}

fn pieces(pieces: &[&'static str]) -> Vec<Piece> {
    pieces.iter().map(|piece| if *piece == "cut" { Err("cut") } else { Ok((*piece).to_owned()) }).collect()
}

fn record(slot: Slot<Vec<String>>, answer: &[&'static str]) -> impl Stream<Item = Piece> + Send {
    slot.record(stream::iter(pieces(answer)), |piece: &String| piece == "[DONE]")
}

#[tokio::test]
async fn a_whole_answer_is_passed_on_and_replayed_piece_by_piece() {
    for answer in [&["At", " noon \"sharp\"", ".", "[DONE]"][..], &["[DONE]"], &["", "\u{1F35D}", "[DONE]"]] {
        let world = World::new().await;
        let passed: Vec<_> = record(slot(&world).await, answer).collect().await;
        assert_eq!(passed, pieces(answer));
        assert_eq!(kept(&world).await, Some(answer.iter().map(|piece| (*piece).to_owned()).collect()));
        assert!(matches!(
            world.of("globex").await.response::<Vec<String>>().lookup(&samples::response()).await.unwrap(),
            Lookup::Miss(_)
        ));
    }
}

#[tokio::test]
async fn what_is_not_whole_is_passed_on_and_not_kept() {
    for answer in [
        &["At", " noon"][..],
        &[],
        &["At", "cut"],
        &["cut", "[DONE]"],
        &["At", "cut", " noon", "[DONE]"],
        &["At", "[DONE]", "cut"],
        &["At", "[DONE]", " or later"],
    ] {
        let world = World::new().await;
        let passed: Vec<_> = record(slot(&world).await, answer).collect().await;
        assert_eq!(passed, pieces(answer), "{answer:?}");
        assert_eq!((kept(&world).await, world.rig.puts.lock().unwrap().len()), (None, 0), "{answer:?}");
    }
}

#[tokio::test]
async fn a_reader_that_goes_away_keeps_nothing() {
    let answer = ["At", " noon", "[DONE]"];
    for read in 0..=answer.len() {
        let world = World::new().await;
        let mut stream = Box::pin(record(slot(&world).await, &answer));
        for _ in 0..read {
            stream.next().await.unwrap().unwrap();
        }
        drop(stream);
        assert_eq!(kept(&world).await, None, "{read} pieces were read, and not the end");
    }
}

#[tokio::test]
async fn what_was_asked_before_an_invalidation_is_not_kept_when_it_ends_after_it() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let mut stream = Box::pin(record(slot(&world).await, &["At", " noon", "[DONE]"]));
    stream.next().await.unwrap().unwrap();
    mine.response::<Vec<String>>().invalidate(&samples::response()).await.unwrap();
    assert_eq!(stream.by_ref().collect::<Vec<_>>().await.len(), 2, "it is passed on all the same");
    assert_eq!(kept(&world).await, None);
    mine.response::<String>().fill(&samples::response(), "the layer goes on").await;
}

#[tokio::test]
async fn an_answer_larger_than_the_layer_takes_is_passed_on_and_not_kept() {
    let settings = CacheSettings::new().max_bytes(Layer::Response, 2000).patience(std::time::Duration::from_secs(10));
    let world = World::over(TestTenants::new().await, std::sync::Arc::default(), settings);
    for (pieces, is_kept) in [(1000, false), (10, true)] {
        let answer = stream::iter((0..pieces).map(|n| Ok::<_, ()>(format!("piece {n}"))));
        let end = move |piece: &String| *piece == format!("piece {}", pieces - 1);
        assert_eq!(slot(&world).await.record(answer, end).collect::<Vec<_>>().await.len(), pieces);
        assert_eq!(kept(&world).await.is_some(), is_kept, "{pieces}");
    }
}

#[tokio::test]
async fn a_back_end_that_fails_takes_nothing_from_the_reader() {
    let world = World::new().await;
    let stream = record(slot(&world).await, &["At", " noon", "[DONE]"]);
    world.rig.down.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(stream.collect::<Vec<_>>().await, pieces(&["At", " noon", "[DONE]"]));
    world.rig.down.store(false, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(kept(&world).await, None);
}
