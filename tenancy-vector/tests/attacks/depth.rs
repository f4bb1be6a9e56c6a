//! Payloads as deep as can be.

use serde_json::{Value, json};
use tenancy_vector::{Change, Point, Scroll, Select, VectorError};

use crate::cases::{id, object, terms};
use crate::house::{House, key};

/// What can be written can be read: the deepest payloads that are allowed, and no deeper.
pub(crate) async fn payloads_at_the_edge_of_the_depth(house: House) {
    for what in ["lists", "objects"] {
        let fold = |inner: Value| if what == "lists" { json!([inner]) } else { json!({ "b": inner }) };
        for levels in [30, 31, 32] {
            let deep = (0..levels).fold(json!(1), |inner, _| fold(inner));
            let payload = object(json!({ "owner": "acme", "deep": deep }));
            let stored = match Point::hybrid(id("deep"), vec![1.0; 4], terms(&[1]), payload) {
                Ok(point) => house.acme.upsert(vec![point]).await,
                Err(error) => Err(error),
            };
            assert_eq!(stored.is_ok(), levels <= 31, "{levels} levels of {what}: {stored:?}");
            assert!(matches!(stored, Ok(()) | Err(VectorError::PayloadTooLarge { .. })), "{stored:?}");
            let found = house.acme.get(&[id("deep")]).await;
            assert!(found.is_ok(), "{levels} levels of {what}: {found:?}");
        }
    }
}

/// A value at a path is as deep as both together.
pub(crate) async fn a_path_can_be_read_again(house: House) {
    let one = || object(json!({ "v": 1 }));
    let deep = || object(json!({ "v": (0..31).fold(json!(1), |inner, _| json!({ "b": inner })) }));
    for (steps, values, fits) in [
        (16, one(), true),
        (31, one(), true),
        (32, one(), false),
        (96, one(), false),
        (128, one(), false),
        (1, deep(), false),
        (128, deep(), false),
    ] {
        let path = key(&vec!["a"; steps].join("."));
        let set = Change::SetPayload(Select::Ids(vec![id("doc:0")]), values, Some(path));
        let set = house.acme.change(vec![set]).await;
        assert_eq!(set.is_ok(), fits, "{steps}: {set:?}");
        assert!(matches!(set, Ok(()) | Err(VectorError::PayloadTooLarge { .. })), "{set:?}");
        let found = house.acme.get(&[id("doc:0")]).await;
        let all = house.acme.scroll(&Scroll::new(), None).await.map(drop);
        assert!(found.is_ok() && all.is_ok(), "{steps}: {found:?} {all:?}");
    }
}
