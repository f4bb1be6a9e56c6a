//! C3: what must differ is kept apart, and what is the same is found.

use tenancy_cache::{CacheKey, Layer, Moment, TenantCaches, derive};

use super::pairs::{Parts, must_be_equal, must_differ};
use super::{House, Place};
use crate::look::{Look, begin_write};
use crate::samples;

impl Parts {
    /// Under one moment of one tenant, so that the parts alone make the difference.
    fn key(&self, mine: &TenantCaches, moment: &Moment) -> CacheKey {
        match self {
            Self::Response(parts) => derive(mine.context(), moment, parts),
            Self::Retrieval(parts) => derive(mine.context(), moment, parts),
            Self::Embedding(parts) => derive(mine.context(), moment, parts),
            Self::Tool(parts) => derive(mine.context(), moment, parts),
            Self::Semantic(parts) => derive(mine.context(), moment, parts),
        }
        .unwrap()
    }

    async fn fill(&self, mine: &TenantCaches, value: &str) {
        match self {
            Self::Response(parts) => mine.response().fill(parts, value).await,
            Self::Retrieval(parts) => mine.retrieval().fill(parts, value).await,
            Self::Embedding(parts) => mine.embedding().fill(parts, value).await,
            Self::Tool(_) | Self::Semantic(_) => {}
        }
    }

    async fn hit(&self, mine: &TenantCaches) -> Option<String> {
        match self {
            Self::Response(parts) => mine.response().hit(parts).await,
            Self::Retrieval(parts) => mine.retrieval().hit(parts).await,
            Self::Embedding(parts) => mine.embedding().hit(parts).await,
            Self::Tool(_) | Self::Semantic(_) => None,
        }
    }

    /// Whether there is a cache for it here, and not a key alone.
    const fn is_kept(&self) -> bool {
        match self {
            Self::Response(_) | Self::Retrieval(_) | Self::Embedding(_) => true,
            Self::Tool(_) | Self::Semantic(_) => false,
        }
    }
}

pub(crate) async fn c3(place: &impl Place) {
    let house = House::on(place).await;
    let (mine, of) = (house.of("acme").await, house.place);
    let moment = mine.moment(Layer::Response, &[]).await.unwrap();
    for (mechanism, one, two) in must_differ() {
        assert!(one.key(&mine, &moment) != two.key(&mine, &moment), "{of}: {mechanism}");
        mine.flush().await.unwrap();
        one.fill(&mine, "one").await;
        assert_eq!(two.hit(&mine).await, None, "{of}: {mechanism}");
        two.fill(&mine, "two").await;
        let kept = one.is_kept();
        assert_eq!(one.hit(&mine).await.as_deref(), kept.then_some("one"), "{of}: {mechanism}");
        assert_eq!(two.hit(&mine).await.as_deref(), kept.then_some("two"), "{of}: {mechanism}");
    }
    for (mechanism, one, two) in must_be_equal() {
        assert!(one.key(&mine, &moment) == two.key(&mine, &moment), "{of}: {mechanism}");
        mine.flush().await.unwrap();
        one.fill(&mine, "one").await;
        assert_eq!(two.hit(&mine).await.as_deref(), one.is_kept().then_some("one"), "{of}: {mechanism}");
    }
    two_versions_of_the_documents(&house).await;
    the_same_bytes_in_every_layer(&house).await;
}

/// Corpus versions 7 and 8.
async fn two_versions_of_the_documents(house: &House) {
    let (mine, theirs, of) = (house.of("acme").await, house.of("globex").await, house.place);
    mine.flush().await.unwrap();
    for caches in [&mine, &theirs] {
        caches.response().fill(&samples::response(), "old").await;
        caches.retrieval().fill(&samples::retrieval(), "old").await;
        caches.embedding().fill(&samples::embedding(), "vector").await;
    }
    begin_write(&house.tenants, mine.context()).await.settle().await.unwrap();
    assert_eq!(mine.response::<String>().hit(&samples::response()).await, None, "{of}: an answer follows");
    assert_eq!(mine.retrieval::<String>().hit(&samples::retrieval()).await, None, "{of}: so do hits");
    assert_eq!(mine.embedding().hit(&samples::embedding()).await.as_deref(), Some("vector"), "{of}: a vector does not");
    assert_eq!(theirs.response().hit(&samples::response()).await.as_deref(), Some("old"), "{of}: nor a neighbour");
    mine.response().fill(&samples::response(), "new").await;
    assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some("new"), "{of}");
}

async fn the_same_bytes_in_every_layer(house: &House) {
    let (mine, of) = (house.of("acme").await, house.place);
    mine.flush().await.unwrap();
    mine.response().fill(&samples::response(), "answer").await;
    assert_eq!(mine.retrieval::<String>().hit(&samples::retrieval()).await, None, "{of}");
    mine.retrieval().fill(&samples::retrieval(), "hits").await;
    assert_eq!(mine.embedding::<String>().hit(&samples::embedding()).await, None, "{of}");
    mine.embedding().fill(&samples::embedding(), "vector").await;
    assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some("answer"), "{of}");
    assert_eq!(mine.retrieval().hit(&samples::retrieval()).await.as_deref(), Some("hits"), "{of}");
    assert_eq!(mine.embedding().hit(&samples::embedding()).await.as_deref(), Some("vector"), "{of}");
}
