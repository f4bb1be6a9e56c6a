//! What every back end must do, and every case of the handle, in each layout.

use tenancy_testkit::qdrant::QdrantServer;
use tenancy_vector::conformance;
use tenancy_vector::qdrant::{QdrantBackend, QdrantOptions};
use tenancy_vector::{Schema, SharedVectors, VectorStore};

use crate::{Layout, cases, handle, shared, sweep, tenants};

/// The server of `QDRANT_URL`, or one of our own that has to be kept.
struct Server {
    options: QdrantOptions,
    _own: Option<QdrantServer>,
}

impl Server {
    async fn start() -> Self {
        match std::env::var("QDRANT_URL") {
            Ok(url) => {
                let options = QdrantOptions::new(&url).unwrap();
                let key = std::env::var("QDRANT_API_KEY").ok();
                Self { options: key.map_or(options.clone(), |key| options.api_key(key.into())), _own: None }
            }
            Err(_) => {
                let own = QdrantServer::start().await;
                Self { options: QdrantOptions::new(&own.url()).unwrap(), _own: Some(own) }
            }
        }
    }

    /// A back end with a collection that no other test and no earlier run has.
    async fn connect(&self, layout: Layout) -> QdrantBackend {
        let name = format!("tenancy-test-{}", uuid::Uuid::new_v4().simple());
        QdrantBackend::connect(self.options.clone(), layout.named(&name)).await.unwrap()
    }

    async fn backend(&self, layout: Layout, schema: &Schema) -> QdrantBackend {
        let backend = self.connect(layout).await;
        backend.ensure_schema(schema).await.unwrap();
        backend
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_conforms_in_each_layout() {
    for layout in Layout::ALL {
        let (server, tenants) = (Server::start().await, tenants().await);
        let backend = server.connect(layout).await;
        let (one, two) = (tenants.context("acme").await, tenants.context("globex").await);
        let done = conformance::run(tenants.realm(), backend, &one, &two).await;
        assert!(done.is_ok(), "{layout:?}: {done:?}");
        shared::it_conforms(&tenants, server.connect(layout).await).await;
    }
}

macro_rules! in_each_layout {
    ($schema:expr; $($module:ident::$case:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $case() {
            for layout in Layout::ALL {
                let (server, tenants) = (Server::start().await, tenants().await);
                let schema = $schema;
                let store = VectorStore::new(tenants.realm(), server.backend(layout, &schema).await, schema);
                $module::$case(&tenants, &store).await;
            }
        }
    )*};
}

in_each_layout! {
    cases::schema();
    cases::ids_do_not_collide;
    cases::spellings_stay_apart;
    cases::lists_of_ids_reach_ones_own;
    cases::payloads_bring_no_tag;
    cases::filters_only_narrow;
    cases::wrong_calls_write_nothing;
}

in_each_layout! {
    handle::schema();
    handle::reads_without_a_filter_see_ones_own;
    handle::pages_have_every_point_once;
    handle::examples_are_ones_own;
    handle::batches_keep_their_places;
    handle::every_kind_of_query_finds_ones_own;
    handle::groups_have_ones_own;
    handle::changes_reach_ones_own;
    handle::updates_are_judged_by_what_is_there;
    handle::uploads_are_acknowledged_batch_by_batch;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_corpus_is_read_beside_ones_own() {
    for layout in Layout::ALL {
        let (server, tenants) = (Server::start().await, tenants().await);
        let backend = std::sync::Arc::new(server.backend(layout, &cases::schema()).await);
        let own = VectorStore::new(tenants.realm(), std::sync::Arc::clone(&backend), cases::schema());
        let corpus = |name| {
            SharedVectors::new(tenants.realm(), &shared::name(name), std::sync::Arc::clone(&backend), cases::schema())
        };
        shared::every_read_is_of_the_corpus(&tenants, &own, &corpus("handbook")).await;
        shared::one_id_is_two_points(&tenants, &own, &corpus("statutes")).await;
        shared::an_erased_corpus_takes_nothing_along(&tenants, &own, &corpus("gazette"), &corpus("almanac")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_leaves_the_store_whole() {
    let server = Server::start().await;
    let backend = std::sync::Arc::new(server.backend(Layout::Shared, &cases::schema()).await);
    sweep::dropped_calls_leave_the_store_whole(|realm| {
        VectorStore::new(realm, std::sync::Arc::clone(&backend), cases::schema())
    })
    .await;
}
