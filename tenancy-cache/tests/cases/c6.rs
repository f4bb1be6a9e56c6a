//! C6: a removal takes exactly what a put wrote, and what began before it is not found after it.

use tenancy_cache::{
    Bypass, EmbeddingParts, EntryParts, Lookup, Put, ResponseParts, RetrievalParts, TenantCaches, TenantLayer,
};
use tenancy_core::Visibility;
use tenancy_testkit::poll_times;

use super::{House, Place};
use crate::look::{Look, begin_write};
use crate::samples;

pub(crate) async fn c6(place: &impl Place) {
    let house = House::on(place).await;
    exactly_what_was_put(&house).await;
    of_one_subject(&house).await;
    while_it_is_computed(&house).await;
    in_another_process(&house, place).await;
    while_a_document_is_written(&house).await;
    of_everything(&house).await;
    that_is_dropped(&house).await;
}

async fn exactly_what_was_put(house: &House) {
    let (mine, theirs) = (house.of("acme").await, house.of("globex").await);
    let parts = samples::response();
    let others = [
        ResponseParts { endpoint: "other".into(), ..parts.clone() },
        ResponseParts { inputs: Vec::new(), ..parts.clone() },
        ResponseParts { visibility: Visibility::Subject, ..parts.clone() },
        ResponseParts { visibility: Visibility::Roles, ..parts.clone() },
    ];
    removes(house, &mine.response(), &theirs.response(), &parts, &others).await;
    let parts = samples::retrieval();
    let others = [
        RetrievalParts { limit: 6, ..parts.clone() },
        RetrievalParts { filter: Vec::new(), ..parts.clone() },
        RetrievalParts { visibility: Visibility::Subject, ..parts.clone() },
    ];
    removes(house, &mine.retrieval(), &theirs.retrieval(), &parts, &others).await;
    let parts = samples::embedding();
    let others = [
        EmbeddingParts { dimensions: 3, ..parts.clone() },
        EmbeddingParts { instruction: Some(String::new()), ..parts.clone() },
        EmbeddingParts { visibility: Visibility::Roles, ..parts.clone() },
    ];
    removes(house, &mine.embedding(), &theirs.embedding(), &parts, &others).await;
    // The layers that were emptied first have what was put since.
    assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some("again"), "{}", house.place);
    assert_eq!(mine.retrieval().hit(&samples::retrieval()).await.as_deref(), Some("again"), "{}", house.place);
}

/// Of one layer, beside other questions of it and another tenant's same one.
async fn removes<P: EntryParts>(
    house: &House,
    mine: &TenantLayer<P, String>,
    theirs: &TenantLayer<P, String>,
    parts: &P,
    others: &[P],
) {
    let of = format!("{}, {:?}", house.place, P::LAYER);
    mine.invalidate(parts).await.unwrap();
    assert_eq!(mine.hit(parts).await, None, "{of}: what was never put");
    mine.fill(parts, "mine").await;
    theirs.fill(parts, "theirs").await;
    for other in others {
        mine.fill(other, "other").await;
    }
    for times in ["once", "twice"] {
        mine.invalidate(parts).await.unwrap();
        assert_eq!(mine.hit(parts).await, None, "{of}, {times}");
        assert_eq!(theirs.hit(parts).await.as_deref(), Some("theirs"), "{of}, {times}");
        for other in others {
            assert_eq!(mine.hit(other).await.as_deref(), Some("other"), "{of}, {times}");
        }
    }
    mine.fill(parts, "again").await;
    assert_eq!(mine.hit(parts).await.as_deref(), Some("again"), "{of}: and it is a cache again");
}

async fn of_one_subject(house: &House) {
    let private = ResponseParts { visibility: Visibility::Subject, endpoint: "own".into(), ..samples::response() };
    let (ann, bob) = (house.of_user("ann", &["editor"]).await, house.of_user("bob", &["editor"]).await);
    ann.response().fill(&private, "for ann").await;
    bob.response().fill(&private, "for bob").await;
    bob.response::<String>().invalidate(&private).await.unwrap();
    assert_eq!(bob.response::<String>().hit(&private).await, None, "{}", house.place);
    assert_eq!(ann.response().hit(&private).await.as_deref(), Some("for ann"), "{}", house.place);
}

async fn while_it_is_computed(house: &House) {
    let mine = house.of("acme").await;
    let parts = EmbeddingParts { text: "computed meanwhile".into(), ..samples::embedding() };
    let before = mine.embedding::<String>().slot(&parts).await;
    mine.embedding::<String>().invalidate(&parts).await.unwrap();
    let after = mine.embedding::<String>().slot(&parts).await;
    assert_eq!(before.put(&"old".to_owned()).await.unwrap(), Put::Skipped(Bypass::Invalidated), "{}", house.place);
    assert_eq!(mine.embedding::<String>().hit(&parts).await, None, "{}", house.place);
    assert_eq!(after.put(&"new".to_owned()).await.unwrap(), Put::Stored, "{}", house.place);
    assert_eq!(mine.embedding().hit(&parts).await.as_deref(), Some("new"), "{}", house.place);
}

async fn in_another_process(house: &House, place: &impl Place) {
    let mine = house.of("acme").await;
    let there = place.process(&house.tenants).scoped(mine.context()).unwrap();
    let parts = EmbeddingParts { text: "of two processes".into(), ..samples::embedding() };
    mine.embedding().fill(&parts, "kept").await;
    assert_eq!(there.embedding().hit(&parts).await.as_deref(), Some("kept"), "{}: the positive control", house.place);
    there.embedding::<String>().invalidate(&parts).await.unwrap();
    for caches in [&mine, &there] {
        assert_eq!(caches.embedding::<String>().hit(&parts).await, None, "{}", house.place);
    }
}

async fn while_a_document_is_written(house: &House) {
    let mine = house.of("acme").await;
    let parts = ResponseParts { endpoint: "written meanwhile".into(), ..samples::response() };
    mine.response().fill(&parts, "old").await;
    let write = begin_write(&house.tenants, mine.context()).await;
    mine.response::<String>().invalidate(&parts).await.unwrap();
    let looked = mine.response::<String>().lookup(&parts).await.unwrap();
    assert!(matches!(looked, Lookup::Bypass(Bypass::CorpusWrite)), "{}: {looked:?}", house.place);
    write.settle().await.unwrap();
    assert_eq!(mine.response::<String>().hit(&parts).await, None, "{}", house.place);
}

async fn of_everything(house: &House) {
    let (mine, theirs) = (house.of("acme").await, house.of("globex").await);
    let all = async |caches: &TenantCaches| {
        let parts = (samples::response(), samples::retrieval(), samples::embedding());
        let (response, retrieval) = (caches.response().hit(&parts.0).await, caches.retrieval().hit(&parts.1).await);
        [response, retrieval, caches.embedding().hit(&parts.2).await].into_iter().flatten().collect::<Vec<String>>()
    };
    mine.flush().await.unwrap();
    mine.response().fill(&samples::response(), "old").await;
    mine.retrieval().fill(&samples::retrieval(), "old").await;
    mine.embedding().fill(&samples::embedding(), "old").await;
    let neighbour = all(&theirs).await;
    assert_eq!((all(&mine).await.len(), neighbour.len()), (3, 3), "{}: the positive control", house.place);
    let salt = mine.engine_salt(&samples::engine()).await.unwrap();
    mine.flush().await.unwrap();
    assert!(all(&mine).await.is_empty(), "{}", house.place);
    assert!(mine.engine_salt(&samples::engine()).await.unwrap() != salt, "{}: another salt", house.place);
    assert_eq!(all(&theirs).await, neighbour, "{}", house.place);
}

/// Whoever gives up in the middle has removed it, or the layer stands aside until somebody has.
async fn that_is_dropped(house: &House) {
    let mine = house.of("acme").await;
    let (layer, parts) =
        (mine.embedding::<String>(), EmbeddingParts { text: "dropped".into(), ..samples::embedding() });
    for polls in 1..6 {
        layer.fill(&parts, "kept").await;
        if poll_times(layer.invalidate(&parts), polls).await.is_none() {
            let looked = layer.lookup(&parts).await.unwrap();
            assert!(matches!(looked, Lookup::Bypass(Bypass::InvalidationOwed)), "{}, {polls}: {looked:?}", house.place);
            layer.invalidate(&parts).await.unwrap();
        }
        assert_eq!(layer.hit(&parts).await, None, "{}, {polls}", house.place);
    }
}
