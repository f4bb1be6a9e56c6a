//! A tenant that attacks and one that is attacked, in one store.

use std::any::Any;
use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tenancy_core::Denial;
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{
    Filter, Found, IndexKind, PayloadKey, Point, Schema, Scroll, TenantVectors, VectorError, VectorQuery, VectorStore,
};

use crate::cases::{self, id, object, of, terms};

/// Acme attacks, globex has the same ids in the same store. Alone has what acme has, in a store without neighbours.
pub(crate) struct House {
    pub(crate) tenants: TestTenants,
    pub(crate) store: VectorStore,
    pub(crate) acme: TenantVectors,
    pub(crate) globex: TenantVectors,
    pub(crate) alone: TenantVectors,
    _server: Option<Box<dyn Any + Send + Sync>>,
}

impl House {
    pub(crate) async fn plain() -> Self {
        let tenants = TestTenants::new().await;
        let store = VectorStore::new(tenants.realm(), ReferenceBackend::new(), schema());
        Self::on(tenants, store, None).await
    }

    #[cfg(feature = "qdrant")]
    pub(crate) async fn wire() -> Self {
        use tenancy_vector::qdrant::{CollectionName, QdrantBackend, QdrantLayout, QdrantOptions};
        let (tenants, server) = (TestTenants::new().await, tenancy_testkit::qdrant::QdrantServer::start().await);
        let layout = QdrantLayout::Shared { collection: CollectionName::parse("docs").unwrap() };
        let backend = QdrantBackend::connect(QdrantOptions::new(&server.url()).unwrap(), layout).await.unwrap();
        backend.ensure_schema(&schema()).await.unwrap();
        let store = VectorStore::new(tenants.realm(), backend, schema());
        Self::on(tenants, store, Some(Box::new(server))).await
    }

    async fn on(tenants: TestTenants, store: VectorStore, server: Option<Box<dyn Any + Send + Sync>>) -> Self {
        let alone = VectorStore::new(tenants.realm(), ReferenceBackend::new(), schema());
        let alone = of(&tenants, &alone, "acme").await;
        let (acme, globex) = (of(&tenants, &store, "acme").await, of(&tenants, &store, "globex").await);
        acme.upsert(library("acme")).await.unwrap();
        alone.upsert(library("acme")).await.unwrap();
        let theirs = library("globex").into_iter().chain([cases::point("secret", 1.0, "globex")]);
        globex.upsert(theirs.collect()).await.unwrap();
        Self { tenants, store, acme, globex, alone, _server: server }
    }

    /// Everything globex has.
    pub(crate) async fn theirs(&self) -> Vec<Found> {
        let ids: Vec<_> = (0..POINTS).map(|n| id(&format!("doc:{n}"))).chain([id("secret")]).collect();
        assert_eq!(self.globex.count(None).await.unwrap(), ids.len() as u64);
        let found = self.globex.get_with_vectors(&ids).await.unwrap();
        assert!(found.iter().all(|found| found.point().is_some()));
        found
    }
}

pub(crate) const POINTS: u16 = 9;

pub(crate) fn schema() -> Schema {
    Schema::hybrid(4).unwrap().index(key("lang"), IndexKind::Keyword).index(key("year"), IndexKind::Integer)
}

pub(crate) fn key(text: &str) -> PayloadKey {
    PayloadKey::parse(text).unwrap()
}

pub(crate) fn library(owner: &str) -> Vec<Point> {
    let point = |n: u16| {
        let lang = ["en", "de", "fr"][usize::from(n % 3)];
        let parts = json!([{"n": n, "kind": lang}, {"n": n + 1, "kind": "x"}]);
        let payload = json!({"owner": owner, "lang": lang, "year": 2000 + n, "tags": [n % 2, "x"], "parts": parts});
        let dense = vec![1.0, 0.1 * f32::from(n), 0.0, 0.0];
        Point::hybrid(id(&format!("doc:{n}")), dense, terms(&[u32::from(n), 99]), object(payload)).unwrap()
    };
    (0..POINTS).map(point).collect()
}

pub(crate) fn near() -> VectorQuery {
    VectorQuery::dense(vec![1.0, 0.0, 0.0, 0.0]).unwrap().limit(100).unwrap()
}

pub(crate) fn lang(text: &str) -> Filter {
    Filter::Equals(key("lang"), text.into())
}

pub(crate) fn nothing() -> Filter {
    Filter::AnyOf(key("lang"), vec![])
}

/// The ids of a tenant's points that meet a filter, by a scan.
pub(crate) async fn scan(mine: &TenantVectors, filter: Option<Filter>) -> BTreeSet<String> {
    let scroll = filter.into_iter().fold(Scroll::new(), Scroll::filter);
    let page = mine.scroll(&scroll, None).await.unwrap();
    page.points().iter().map(|point| point.id().as_str().to_owned()).collect()
}

pub(crate) fn is_denied<T>(result: &Result<T, VectorError>, denial: Denial) -> bool {
    matches!(result, Err(VectorError::Denied(found)) if *found == denial)
}

pub(crate) async fn in_time<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), test).await.unwrap()
}
