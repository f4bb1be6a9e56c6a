//! Servers and collections that are not used.

use tenancy_vector::qdrant::{Drift, QdrantBackend, QdrantError, Version};
use tenancy_vector::{Distance, Schema, VectorError, VectorKind, VectorName};

use crate::{Layout, Wire, cases, tenants};

/// V8: an old server would drop the newer fields of a request without a word.
#[tokio::test(flavor = "multi_thread")]
async fn v8_a_server_that_is_too_old_is_refused() {
    let wire = Wire::start(Layout::Shared).await;
    for old in ["1.15.0", "1.18.9", "1.9.0", "1.2", "0.11.8", "1.14.1-dev"] {
        wire.server.set_version(old);
        wire.server.clear_requests();
        let refused = QdrantBackend::connect(wire.options(), wire.layout.clone()).await.map(drop);
        assert!(matches!(refused, Err(QdrantError::TooOld { least: Version::FLOOR, .. })), "{old}: {refused:?}");
        assert_eq!(wire.server.requests().len(), 1, "{old}: nothing but the version is asked for");
    }
    for new in ["1.19.0", "1.19.3", "1.20.1-rc1", "1.100.0", "2.0.0"] {
        wire.server.set_version(new);
        assert!(QdrantBackend::connect(wire.options(), wire.layout.clone()).await.is_ok(), "{new}");
    }
}

/// V8: behind the same address there is an older server after a while, such as when an upgrade was rolled back.
#[tokio::test(flavor = "multi_thread")]
async fn v8_a_server_that_became_too_old_is_not_asked() {
    let (wire, tenants) = (Wire::start(Layout::Shared).await, tenants().await);
    let backend = wire.connect(wire.options().retries(0), &cases::schema()).await;
    let store = tenancy_vector::VectorStore::new(tenants.realm(), backend, cases::schema());
    let mine = cases::of(&tenants, &store, "acme").await;
    mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
    wire.server.set_version("1.15.0");
    wire.server.fail("Points/Query", 1, tenancy_testkit::qdrant::WireFault::CutBefore);
    assert!(matches!(mine.query(&cases::near()).await, Err(VectorError::Backend(_))), "the connection broke");
    wire.server.clear_requests();
    assert!(matches!(mine.query(&cases::near()).await, Err(VectorError::Backend(_))));
    assert!(matches!(mine.upsert(vec![cases::point("A2", 0.5, "a")]).await, Err(VectorError::Backend(_))));
    let methods: Vec<_> = wire.server.requests().iter().map(|request| request.method()).collect();
    assert!(methods.iter().all(|method| *method == "Qdrant/HealthCheck"), "{methods:?}");
    wire.server.set_version("1.19.1");
    assert_eq!(mine.query(&cases::near()).await.unwrap().len(), 1, "positive control");
}

/// V8: behind one address there are several servers, and the second connection may lead to an older one than the first did.
#[tokio::test(flavor = "multi_thread")]
async fn v8_each_connection_shows_its_version_before_it_is_used() {
    let (wire, tenants) = (Wire::start(Layout::Shared).await, tenants().await);
    // One to connect with; one that finds an old server; one that finds a new one again.
    let backend = QdrantBackend::connect(wire.options().connections(3).retries(0), wire.layout.clone()).await.unwrap();
    let store = tenancy_vector::VectorStore::new(tenants.realm(), backend, cases::schema());
    let mine = cases::of(&tenants, &store, "acme").await;
    wire.server.set_version("1.18.0");
    wire.server.clear_requests();
    assert!(matches!(mine.count(None).await, Err(VectorError::Backend(_))));
    let methods: Vec<_> = wire.server.requests().iter().map(|request| request.method()).collect();
    assert_eq!(methods, ["Qdrant/HealthCheck"], "nothing but the version is asked for");
    wire.server.set_version("1.19.0");
    store.prepare().await.unwrap();
    for _each in 0..3 {
        assert_eq!(mine.count(None).await.unwrap(), 0, "positive control");
    }
    let asked = wire.server.requests();
    let checks = asked.iter().filter(|request| request.method() == "Qdrant/HealthCheck").count();
    assert_eq!(checks, 3, "one in vain, and one for each connection that had not been used: {asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_is_on_every_request_and_in_no_error() {
    let (wire, tenants) = (Wire::start(Layout::Shared).await, tenants().await);
    wire.server.require_key("secret-key");
    for options in [wire.options(), wire.options().api_key("another".into())] {
        let refused = QdrantBackend::connect(options, wire.layout.clone()).await.unwrap_err();
        assert!(matches!(refused, QdrantError::Unauthorized(_)), "{refused:?}");
        let shown = format!("{refused} {refused:?} {:?}", std::error::Error::source(&refused).map(ToString::to_string));
        assert!(!shown.contains("another") && !shown.contains("API key or"), "{shown}");
    }
    wire.server.clear_requests();
    let backend = wire.connect(wire.options().api_key("secret-key".into()), &cases::schema()).await;
    assert!(!format!("{backend:?}").contains("secret"));
    let store = tenancy_vector::VectorStore::new(tenants.realm(), backend, cases::schema());
    let mine = cases::of(&tenants, &store, "acme").await;
    mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
    assert_eq!(mine.query(&cases::near()).await.unwrap().len(), 1);
    assert!(wire.server.requests().iter().all(|request| request.header("api-key") == Some("secret-key")));
    wire.server.fail("Points/Query", 1, tenancy_testkit::qdrant::WireFault::Refuse(tonic::Code::Internal));
    let failed = mine.query(&cases::near()).await.unwrap_err();
    let shown = format!("{failed} {failed:?}");
    assert!(!shown.contains("secret") && !shown.contains("globex"), "what the server said is not repeated: {shown}");
    assert!(shown.contains("the server failed (Internal)"), "but what kind of failure it was: {shown}");
}

/// Whoever sets it up learns why it does not work, through the store as well.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_server_is_said() {
    let nobody = tenancy_vector::qdrant::QdrantOptions::new("http://127.0.0.1:1").unwrap().retries(0);
    let wire = Wire::start(Layout::Shared).await;
    let refused = QdrantBackend::connect(nobody, wire.layout.clone()).await.unwrap_err();
    assert!(matches!(refused, QdrantError::Unreachable(_)), "{refused:?}");

    let tenants = tenants().await;
    let store = |backend, schema| tenancy_vector::VectorStore::new(tenants.realm(), backend, schema);
    let connect = || QdrantBackend::connect(wire.options(), wire.layout.clone());
    let unprepared = store(connect().await.unwrap(), cases::schema());
    let mine = cases::of(&tenants, &unprepared, "acme").await;
    let failed = mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap_err().to_string();
    assert!(failed.contains("no such collection"), "{failed}");
    unprepared.prepare().await.unwrap();
    let other = store(connect().await.unwrap(), Schema::hybrid(3).unwrap());
    let unfit = other.prepare().await.unwrap_err();
    assert!(matches!(unfit, VectorError::Unfit(_)), "{unfit:?}");
    let said = unfit.to_string();
    assert!(said.starts_with("the store can't be used: the vector \"dense\" has "), "{said}");
    assert!(said.ends_with(" dimensions there and 3 in the schema"), "{said}");
}

/// What is there for another schema is told apart before a point is served.
#[tokio::test(flavor = "multi_thread")]
async fn a_collection_of_another_schema_is_refused() {
    let wire = Wire::start(Layout::Shared).await;
    let named = |text| VectorName::parse(text).unwrap();
    let dense = |dimension, distance| {
        Schema::new().with(VectorName::dense(), VectorKind::Dense { dimension, distance }).unwrap()
    };
    let backend = wire.connect(wire.options(), &dense(4, Distance::Cosine)).await;
    let multi = VectorKind::Multi { dimension: 4, distance: Distance::Cosine };
    let vector = VectorName::dense();
    for (mechanism, schema, wanted) in [
        ("a dimension", dense(5, Distance::Cosine), Drift::Dimension { vector: vector.clone(), found: 4, wanted: 5 }),
        ("a distance", dense(4, Distance::Dot), Drift::Distance { vector: vector.clone(), wanted: Distance::Dot }),
        (
            "another name",
            Schema::new().with(named("d"), VectorKind::Dense { dimension: 4, distance: Distance::Cosine }).unwrap(),
            Drift::NoVector(named("d")),
        ),
        (
            "one more vector",
            dense(4, Distance::Cosine).with(named("more"), VectorKind::Sparse).unwrap(),
            Drift::NoVector(named("more")),
        ),
        (
            "several of a point",
            Schema::new().with(VectorName::dense(), multi).unwrap(),
            Drift::Multivector(vector.clone()),
        ),
    ] {
        let found = backend.ensure_schema(&schema).await;
        assert!(matches!(&found, Err(QdrantError::Drift(drift)) if *drift == wanted), "{mechanism}: {found:?}");
    }
    backend.ensure_schema(&dense(4, Distance::Cosine)).await.unwrap();
}
