//! Back ends that don't answer what they were asked, when a move asks whether a point is in one of them alone.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tenancy_core::Denial;
use tenancy_vector::tiers::{MemoryTiers, Tier};
use tenancy_vector::{ScoredPayload, Scroll, TenantVectors, VectorError, VectorStore};

use crate::cases;
use crate::fake::{Fake, Hooks};
use crate::house::{House, in_time, numbered};

type Lie = fn(honest: Vec<ScoredPayload>, kept: &[ScoredPayload]) -> Vec<ScoredPayload>;

/// Answers something else once it is told to, and keeps what it said before.
#[derive(Clone, Default)]
struct Liar(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    lie: Option<Lie>,
    counted: Option<u64>,
    kept: Vec<ScoredPayload>,
}

impl Liar {
    fn tell(&self, lie: Option<Lie>, counted: Option<u64>) {
        let mut told = self.0.lock().unwrap();
        (told.lie, told.counted) = (lie, counted);
    }
}

#[async_trait]
impl Hooks for Liar {
    fn answers(&self, honest: Vec<ScoredPayload>) -> Vec<ScoredPayload> {
        let mut told = self.0.lock().unwrap();
        match told.lie {
            Some(lie) => lie(honest, &told.kept),
            None => {
                told.kept.extend(honest.iter().cloned());
                honest
            }
        }
    }

    fn counted(&self, honest: u64) -> u64 {
        self.0.lock().unwrap().counted.unwrap_or(honest)
    }
}

struct Case {
    what: &'static str,
    here: Option<Lie>,
    there: Option<Lie>,
    counted: Option<u64>,
    /// Whether it is seen that something else was answered.
    is_seen: bool,
}

const HONEST: Case = Case { what: "all is true", here: None, there: None, counted: None, is_seen: false };

fn also(mut honest: Vec<ScoredPayload>, more: &ScoredPayload) -> Vec<ScoredPayload> {
    honest.push(more.clone());
    honest
}

/// The placements were lost, and a point is in the back end that a move would clear, and nowhere else.
#[tokio::test(flavor = "multi_thread")]
async fn a_back_end_is_not_believed_to_have_a_point() {
    let cases = [
        HONEST,
        Case {
            what: "what was not asked for",
            here: Some(|honest, kept| also(honest, &kept[0])),
            is_seen: true,
            ..HONEST
        },
        Case { what: "what is another's", here: Some(|honest, kept| also(honest, &kept[1])), is_seen: true, ..HONEST },
        Case { what: "one twice", here: Some(|honest, _| [honest.clone(), honest].concat()), is_seen: true, ..HONEST },
        Case { what: "short pages", there: Some(|honest, _| honest.into_iter().take(1).collect()), ..HONEST },
        Case { what: "no page", there: Some(|_, _| Vec::new()), ..HONEST },
        Case { what: "one page for ever", there: Some(|_, kept| kept.to_vec()), is_seen: true, ..HONEST },
        Case { what: "that it is empty", counted: Some(0), ..HONEST },
    ];
    for Case { what, here, there, counted, is_seen } in cases {
        in_time(async {
            let (shared, dedicated) = (Liar::default(), Liar::default());
            let house = House::on(Fake::new(shared.clone()), Fake::new(dedicated.clone()), MemoryTiers::new()).await;
            let (mine, theirs) = (house.of("acme").await, house.of("globex").await);
            theirs.upsert(vec![numbered("doc:2", 1)]).await.unwrap();
            mine.upsert(vec![numbered("doc:9", 1)]).await.unwrap();
            for of in [&mine, &theirs] {
                of.scroll(&Scroll::new(), None).await.unwrap();
            }
            mine.upsert(vec![numbered("doc:1", 1)]).await.unwrap();
            let there_alone = VectorStore::new(house.tenants.realm(), house.dedicated.clone(), cases::schema());
            let there_alone = cases::of(&house.tenants, &there_alone, "acme").await;
            there_alone.upsert(vec![numbered("doc:1", 1)]).await.unwrap();
            there_alone.scroll(&Scroll::new(), None).await.unwrap();
            // Behind `doc:1` in the order of pages, so that a page that ends early does not show it.
            let behind = behind(&there_alone).await;
            assert_eq!(house.counts("acme").await, (2, 2), "{what}");

            shared.tell(here, None);
            dedicated.tell(there, counted);
            let moved = house.move_to("acme", Tier::Dedicated).await;
            match is_seen {
                true => assert!(matches!(moved, Err(VectorError::Denied(Denial::StoreBreach))), "{what}: {moved:?}"),
                false => assert!(matches!(moved, Err(VectorError::Misplaced)), "{what}: {moved:?}"),
            }
            shared.tell(None, None);
            dedicated.tell(None, None);
            assert_eq!(house.counts("acme").await, (2, 2), "nothing was cleared: {what}");
            assert!(there_alone.get(&[cases::id(&behind)]).await.unwrap()[0].point().is_some(), "{what}");
        })
        .await;
    }
}

/// Writes a point that comes after the one that is there, and none besides.
async fn behind(there: &TenantVectors) -> String {
    for n in 2.. {
        let name = format!("doc:{n}");
        there.upsert(vec![numbered(&name, 1)]).await.unwrap();
        let page = there.scroll(&Scroll::new(), None).await.unwrap();
        if page.into_points().last().is_some_and(|point| point.id().as_str() == name) && n != 9 {
            return name;
        }
        assert_eq!(there.delete(&[cases::id(&name)]).await.unwrap().removed(), 1);
    }
    unreachable!("one of them is")
}
