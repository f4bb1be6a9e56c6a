//! What a move leaves.

use std::collections::BTreeMap;

use tenancy_vector::conformance;
use tenancy_vector::tiers::Tier;
use tenancy_vector::{Change, Select, VectorError, VectorStore};

use crate::cases;
use crate::house::{House, all, in_time, numbered};

/// Both tenants are moved before, so that all of it is asked of the one or the other.
#[tokio::test(flavor = "multi_thread")]
async fn it_conforms_wherever_the_life_is() {
    for tier in [Tier::Shared, Tier::Dedicated] {
        in_time(async {
            let house = House::new().await;
            house.move_to("acme", tier).await.unwrap();
            house.move_to("globex", tier).await.unwrap();
            let (one, two) = (house.tenants.context("acme").await, house.tenants.context("globex").await);
            conformance::run(house.tenants.realm(), house.tiered(), &one, &two).await.unwrap();
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_life_is_in_one_place_after_a_move_and_nobody_else_is_moved() {
    in_time(async {
        let house = House::new().await;
        let (mine, theirs) = (house.of("acme").await, house.of("globex").await);
        for n in 0..3 {
            let points = (0..300).map(|at| numbered(&format!("doc:{}", n * 300 + at), 1));
            mine.upsert(points.collect()).await.unwrap();
        }
        theirs.upsert(vec![numbered("doc:1", 2)]).await.unwrap();
        let before = all(&mine).await;
        for (tier, copied, counts) in [
            (Tier::Dedicated, 900, (0, 900)),
            (Tier::Dedicated, 0, (0, 900)),
            (Tier::Shared, 900, (900, 0)),
            (Tier::Dedicated, 900, (0, 900)),
        ] {
            assert_eq!(house.move_to("acme", tier).await.unwrap(), copied, "{tier:?}");
            assert_eq!(house.counts("acme").await, counts, "{tier:?}");
            assert_eq!(all(&mine).await, before, "{tier:?}");
            assert_eq!(mine.query(&cases::near().limit(1000).unwrap()).await.unwrap().len(), 900);
            assert_eq!((house.counts("globex").await, all(&theirs).await.len()), ((1, 0), 1), "{tier:?}");
        }
        assert_eq!(house.move_to("globex", Tier::Shared).await.unwrap(), 0, "nothing to do");
        mine.change(vec![Change::Delete(Select::All)]).await.unwrap();
        assert_eq!((house.counts("acme").await, house.counts("globex").await), ((0, 0), (1, 0)));
    })
    .await;
}

/// V9: what is not where it is said to be is not looked for elsewhere, and never among others'.
#[tokio::test(flavor = "multi_thread")]
async fn v9_a_life_is_read_where_it_is_said_to_be_alone() {
    in_time(async {
        let house = House::new().await;
        let (mine, theirs) = (house.of("acme").await, house.of("globex").await);
        mine.upsert(vec![numbered("doc:1", 1)]).await.unwrap();
        theirs.upsert(vec![numbered("doc:1", 2), numbered("doc:2", 2)]).await.unwrap();
        house.move_to("acme", Tier::Dedicated).await.unwrap();
        // What somebody wrote to the other back end by hand, as if a late write had left it.
        let by_hand = VectorStore::new(house.tenants.realm(), house.shared.clone(), cases::schema());
        let by_hand = cases::of(&house.tenants, &by_hand, "acme").await;
        by_hand.upsert(vec![numbered("doc:3", 3)]).await.unwrap();
        assert_eq!(all(&mine).await, BTreeMap::from([("doc:1".to_owned(), 1)]));
        assert_eq!(mine.query(&cases::near()).await.unwrap().len(), 1);
        assert_eq!((mine.count(None).await.unwrap(), theirs.count(None).await.unwrap()), (1, 2));
        assert!(mine.get(&[cases::id("doc:3")]).await.unwrap()[0].point().is_none());
        assert_eq!(mine.delete(&[cases::id("doc:3"), cases::id("doc:2")]).await.unwrap().removed(), 0);
        assert_eq!(house.counts("globex").await, (2, 0));
        // Nor does it come back with a move, or go with one: it might be wanted, and nobody but an operator can tell.
        let refused = house.move_to("acme", Tier::Shared).await;
        assert!(matches!(refused, Err(VectorError::Misplaced)), "{refused:?}");
        assert_eq!((house.counts("acme").await, all(&mine).await.len()), ((1, 1), 1));
        assert_eq!(by_hand.delete(&[cases::id("doc:3")]).await.unwrap().removed(), 1);
        house.move_to("acme", Tier::Shared).await.unwrap();
        assert_eq!(all(&mine).await, BTreeMap::from([("doc:1".to_owned(), 1)]));
    })
    .await;
}
