//! Payloads that try to be, to change or to lose the tag of a point.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use tenancy_vector::{Change, PayloadKey, Point, Select, VectorError, VectorName};

use crate::cases::{id, object, terms};
use crate::house::{House, POINTS, key, near, scan};

/// They are the caller's, on every way in, and come back as they went.
pub(crate) async fn keys_that_only_look_like_the_tag(house: House) {
    let theirs = house.theirs().await;
    let life = house.tenants.life("globex").uuid().to_string();
    for name in [
        "Tenancy",
        "TENANCY",
        "tenancy ",
        " tenancy",
        "tenancy\0",
        "\u{feff}tenancy",
        "tenan\u{200b}cy",
        "t\u{435}nancy",
        "\u{ff54}enancy",
        "tenancy/life",
        "tenancy life",
        "tenancy:life",
        "tenancy\\.life",
        "$.tenancy.life",
        "[tenancy]",
        "[\"tenancy\"]",
        "'tenancy'",
        "\"tenancy",
        "tenancy\"",
        "\"tenancy\"x",
        "\"\"tenancy\"\"",
        "`tenancy`",
        "tenancy_life",
        "tenancy-",
        "$tenancy",
        "/tenancy/life",
        "tenancy*",
        "#>>{tenancy,life}",
        "",
        "\"\"",
        ".tenancy",
        "x.tenancy.life",
    ] {
        let tag = json!({ "life": life, "digest": "00", "id": "secret" });
        let payload = Map::from_iter([("owner".to_owned(), json!("acme")), (name.to_owned(), tag)]);
        let point = |text| Point::hybrid(id(text), vec![1.0; 4], terms(&[99]), payload.clone()).unwrap();
        let ways = vec![
            Change::Upsert(vec![point("doc:0")]),
            Change::Insert(vec![point("new")]),
            Change::Update(vec![point("doc:1")], None),
            Change::SetPayload(Select::Ids(vec![id("doc:2")]), payload.clone(), None),
            Change::SetPayload(Select::Ids(vec![id("doc:3")]), payload.clone(), Some(key("deep.er"))),
            Change::OverwritePayload(vec![(id("doc:4"), payload.clone())]),
        ];
        house.acme.change(ways).await.unwrap();
        let ids = ["doc:0", "new", "doc:1", "doc:2", "doc:3", "doc:4"].map(id);
        let found = house.acme.get(&ids).await.unwrap();
        for (at, found) in found.iter().enumerate() {
            let point = found.point().unwrap_or_else(|| panic!("{name:?} took point {at} out of the tenant"));
            let kept = if at == 4 { point.payload()["deep"]["er"].as_object().unwrap() } else { point.payload() };
            assert_eq!(kept[name], payload[name], "{name:?}, point {at}");
        }
        assert_eq!(house.acme.count(None).await.unwrap(), u64::from(POINTS) + 1, "{name:?}");
        assert_eq!(house.acme.query(&near()).await.unwrap().len(), usize::from(POINTS) + 1, "{name:?}");
        assert_eq!(house.acme.delete(&[id("new")]).await.unwrap().removed(), 1, "{name:?}");
    }
    assert_eq!(house.theirs().await, theirs);
}

/// Within a value the words are the caller's, and at the top no path and no spelling leads to the tag.
pub(crate) async fn the_tag_under_another_roof(house: House) {
    let theirs = house.theirs().await;
    let tag = || object(json!({"life": "x", "digest": null}));
    let one = || Select::Ids(vec![id("doc:0")]);
    let changes = vec![
        Change::SetPayload(one(), tag(), Some(key("x.tenancy"))),
        Change::SetPayload(one(), tag(), Some(key("lang.tenancy.life"))),
        Change::SetPayload(one(), tag(), Some(key("Tenancy"))),
        Change::DeletePayload(one(), vec![key("x.tenancy.life"), key("Tenancy.digest"), key("tenancy-.life")]),
    ];
    house.acme.change(changes).await.unwrap();
    let found = house.acme.get(&[id("doc:0")]).await.unwrap();
    let payload = found[0].point().unwrap().payload();
    assert_eq!(payload["lang"]["tenancy"]["life"]["life"], json!("x"), "what stood in the way is gone");
    assert_eq!(payload["Tenancy"], json!({"life": "x"}));

    for path in [
        "tenancy",
        "tenancy.life",
        "tenancy.digest",
        "tenancy.id",
        "tenancy[]",
        "tenancy[0]",
        "tenancy[].life",
        "tenancy[0].life",
        "tenancy.life[]",
        "tenancy..life",
        "tenancy.",
        "\"tenancy\"",
        "\"tenancy\".life",
        "\"tenancy\"[]",
        "\"tenancy\".\"life\"",
        "tenancy.\"life\"",
        "tenancy[][]",
        "tenancy[*]",
    ] {
        assert!(matches!(PayloadKey::parse(path), Err(VectorError::ReservedKey)), "{path}");
        let values = Map::from_iter([(path.to_owned(), json!(null))]);
        for (way, change) in [
            ("set", Change::SetPayload(Select::All, values.clone(), None)),
            ("set at a path", Change::SetPayload(Select::All, values.clone(), Some(key("x")))),
            ("overwrite", Change::OverwritePayload(vec![(id("doc:0"), values.clone())])),
        ] {
            let refused = house.acme.change(vec![change]).await;
            assert!(matches!(refused, Err(VectorError::ReservedKey)), "{path}, {way}");
        }
    }
    for path in [
        "$tenancy",
        ".tenancy",
        "[].tenancy",
        "$score[0]",
        "/tenancy",
        "tenancy ",
        " tenancy",
        "te\\nancy",
        "tenancy\0",
    ] {
        assert!(matches!(PayloadKey::parse(path), Err(VectorError::BadKey)), "{path:?}");
    }
    assert_eq!(house.acme.count(None).await.unwrap(), u64::from(POINTS), "nothing was lost");
    assert_eq!(house.theirs().await, theirs);
}

/// A point without its tag would be nobody's: not in a count, and not in an erasure.
pub(crate) async fn a_payload_emptied_in_every_way_keeps_its_tag(house: House) {
    let one = |n: u16| Select::Ids(vec![id(&format!("doc:{n}"))]);
    let names = ["owner", "lang", "year", "tags", "parts"];
    let nulls = || names.iter().map(|name| ((*name).to_owned(), Value::Null)).collect::<Map<_, _>>();
    let bare = Point::new(id("doc:3"), Map::new()).unwrap();
    let changes = vec![
        Change::SetPayload(one(0), nulls(), None),
        Change::DeletePayload(one(1), names.iter().map(|name| key(name)).collect()),
        Change::OverwritePayload(vec![(id("doc:2"), Map::new())]),
        Change::Upsert(vec![bare]),
        Change::DeleteVectors(one(4), vec![VectorName::dense(), VectorName::sparse()]),
        Change::OverwritePayload(vec![(id("nobody's"), Map::new()), (id("secret"), Map::new())]),
    ];
    house.acme.change(changes).await.unwrap();
    let all = (0..POINTS).map(|n| format!("doc:{n}")).collect::<BTreeSet<_>>();
    assert_eq!(scan(&house.acme, None).await, all, "each is still the tenant's own");
    let found = house.acme.get(&[id("doc:0"), id("doc:1"), id("doc:2"), id("doc:3")]).await.unwrap();
    assert!(found.iter().all(|found| found.point().unwrap().payload().is_empty()), "{found:?}");
    house.acme.change(vec![Change::Delete(Select::All)]).await.unwrap();
    assert_eq!(house.acme.count(None).await.unwrap(), 0);
    assert_eq!(house.theirs().await.len(), usize::from(POINTS) + 1);
}
