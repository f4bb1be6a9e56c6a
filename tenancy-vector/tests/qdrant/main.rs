//! The cases over the wire, in each layout: on a server that speaks Qdrant's protocol over the real engine, and on a real
//! one where `QDRANT_URL` names it.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on must stop")]

#[path = "../cases/mod.rs"]
mod cases;
#[path = "../cases/crowded.rs"]
mod crowded;
#[path = "../cases/handle.rs"]
mod handle;
#[path = "../cases/shared.rs"]
mod shared;
#[path = "../cases/cancel.rs"]
mod sweep;
#[path = "../../src/qdrant/tests/walk.rs"]
#[expect(dead_code, reason = "the tests of what is built look at more")]
mod walk;

mod alone;
mod conforms;
mod crowds;
mod failures;
mod moved_away;
mod neighbours;
mod recorded;
mod refusals;
mod tiered;
mod unreadable;

use tenancy_testkit::TestTenants;
use tenancy_testkit::qdrant::QdrantServer;
use tenancy_vector::qdrant::{CollectionName, QdrantBackend, QdrantLayout, QdrantOptions};
use tenancy_vector::{Schema, VectorStore};

/// The name of a layout, to make one of a collection that nobody else has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Shared,
    Collections,
    ShardKeys,
}

impl Layout {
    const ALL: [Self; 3] = [Self::Shared, Self::Collections, Self::ShardKeys];

    fn named(self, name: &str) -> QdrantLayout {
        let collection = CollectionName::parse(name).unwrap();
        match self {
            Self::Shared => QdrantLayout::Shared { collection },
            Self::Collections => QdrantLayout::Collections { prefix: collection },
            Self::ShardKeys => QdrantLayout::ShardKeys { collection },
        }
    }
}

/// A server of the test's own.
struct Wire {
    server: QdrantServer,
    layout: QdrantLayout,
}

impl Wire {
    async fn start(layout: Layout) -> Self {
        Self { server: QdrantServer::start().await, layout: layout.named("docs") }
    }

    fn options(&self) -> QdrantOptions {
        QdrantOptions::new(&self.server.url()).unwrap()
    }

    async fn connect(&self, options: QdrantOptions, schema: &Schema) -> QdrantBackend {
        let backend = QdrantBackend::connect(options, self.layout.clone()).await.unwrap();
        backend.ensure_schema(schema).await.unwrap();
        backend
    }

    async fn store(&self, tenants: &TestTenants, schema: Schema) -> VectorStore {
        let backend = self.connect(self.options(), &schema).await;
        VectorStore::new(tenants.realm(), backend, schema)
    }
}

async fn tenants() -> TestTenants {
    cases::MORE_TENANTS.into_iter().fold(TestTenants::builder(), |builder, name| builder.tenant(name)).build().await
}

/// How much more than usual is tried: `TENANCY_TEST_SCALE`.
fn scale() -> usize {
    std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}
