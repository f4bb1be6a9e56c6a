//! What a server of an older version does not see: a field that it does not know is dropped when it reads a message, and
//! nobody is told. A filter that a write was to be bound by is then no filter.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::points_update_operation::Operation;
use qdrant_client::qdrant::query::Variant;

/// Major and minor.
pub(super) type Version = (u32, u32);

/// The version that a server reports unless told otherwise.
pub(super) const NEWEST: &str = "1.19.0";

const TEXT_PHRASE: Version = (1, 15);
const MMR: Version = (1, 15);
const FORMULA: Version = (1, 14);
const HAS_VECTOR: Version = (1, 13);
const TEXT_ANY: Version = (1, 16);
const UPDATE_FILTER: Version = (1, 16);
const FALLBACK: Version = (1, 16);
const METADATA: Version = (1, 16);
const RANK_CONSTANT: Version = (1, 16);
const ACORN: Version = (1, 16);
const UPDATE_MODE: Version = (1, 17);
const RANK_WEIGHTS: Version = (1, 17);
const FEEDBACK: Version = (1, 17);
const CORPUS: Version = (1, 19);
const SLICE: Version = (1, 20);
const TEXT_QUERY: Version = (1, 20);
const PREFIX: Version = (1, 20);

pub(super) fn parse(version: &str) -> Option<Version> {
    let mut parts = version.split('.');
    let mut number = || parts.next()?.parse().ok();
    Some((number()?, number()?))
}

/// A message as a server of a version reads it.
pub(super) trait Forget {
    fn forget(&mut self, version: Version);
}

impl<T: Forget> Forget for Option<T> {
    fn forget(&mut self, version: Version) {
        if let Some(inner) = self {
            inner.forget(version);
        }
    }
}

impl<T: Forget> Forget for Vec<T> {
    fn forget(&mut self, version: Version) {
        self.iter_mut().for_each(|inner| inner.forget(version));
    }
}

/// Messages whose fields are all old enough, or that hold nothing but such with newer fields.
macro_rules! forget {
    ($($message:ty { $($field:ident),* })*) => {$(
        impl Forget for $message {
            fn forget(&mut self, _version: Version) {
                $(self.$field.forget(_version);)*
            }
        }
    )*};
}

forget! {
    pb::HealthCheckRequest {}
    pb::DeleteCollection {}
    pb::GetCollectionInfoRequest {}
    pb::CollectionExistsRequest {}
    pb::ListCollectionsRequest {}
    pb::CollectionClusterInfoRequest {}
    pb::CreateShardKeyRequest {}
    pb::DeleteShardKeyRequest {}
    pb::ListShardKeysRequest {}
    pb::CreateFieldIndexCollection {}
    pb::DeleteFieldIndexCollection {}
    pb::UpdateCollectionClusterSetupRequest {}
    pb::DeletePoints { points, shard_key_selector }
    pb::GetPoints { shard_key_selector }
    pb::DeletePointVectors { points_selector, shard_key_selector }
    pb::SetPayloadPoints { points_selector, shard_key_selector }
    pb::DeletePayloadPoints { points_selector, shard_key_selector }
    pb::ClearPayloadPoints { points, shard_key_selector }
    pb::UpdateBatchPoints { operations }
    pb::QueryPoints { prefetch, query, filter, params, shard_key_selector }
    pb::PrefetchQuery { prefetch, query, filter, params }
    pb::QueryBatchPoints { query_points }
    pb::ScrollPoints { filter, shard_key_selector }
    pb::CountPoints { filter, shard_key_selector }
    pb::FacetCounts { filter, shard_key_selector }
    pb::PointsSelector { points_selector_one_of }
    pb::Filter { should, must, must_not, min_should }
    pb::MinShould { conditions }
    pb::points_update_operation::SetPayload { points_selector, shard_key_selector }
    pb::points_update_operation::OverwritePayload { points_selector, shard_key_selector }
    pb::points_update_operation::DeletePayload { points_selector, shard_key_selector }
    pb::points_update_operation::ClearPayload { points, shard_key_selector }
    pb::points_update_operation::DeletePoints { points, shard_key_selector }
    pb::points_update_operation::DeleteVectors { points_selector, shard_key_selector }
}

/// Sets fields to nothing that came later than the version.
macro_rules! drop_fields {
    ($version:ident, $($since:ident: $($field:expr),+;)+) => {
        $(if $version < $since { $($field = Default::default();)+ })+
    };
}

impl Forget for pb::CreateCollection {
    fn forget(&mut self, version: Version) {
        drop_fields!(version, METADATA: self.metadata;);
    }
}

impl Forget for pb::UpdateCollection {
    fn forget(&mut self, version: Version) {
        drop_fields!(version, METADATA: self.metadata;);
    }
}

impl Forget for pb::UpsertPoints {
    fn forget(&mut self, version: Version) {
        drop_fields!(version, UPDATE_FILTER: self.update_filter; UPDATE_MODE: self.update_mode;);
        self.update_filter.forget(version);
        self.shard_key_selector.forget(version);
    }
}

impl Forget for pb::points_update_operation::PointStructList {
    fn forget(&mut self, version: Version) {
        drop_fields!(version, UPDATE_FILTER: self.update_filter; UPDATE_MODE: self.update_mode;);
        self.update_filter.forget(version);
        self.shard_key_selector.forget(version);
    }
}

impl Forget for pb::UpdatePointVectors {
    fn forget(&mut self, version: Version) {
        drop_fields!(version, UPDATE_FILTER: self.update_filter;);
        self.update_filter.forget(version);
        self.shard_key_selector.forget(version);
    }
}

impl Forget for pb::points_update_operation::UpdateVectors {
    fn forget(&mut self, version: Version) {
        drop_fields!(version, UPDATE_FILTER: self.update_filter;);
        self.update_filter.forget(version);
        self.shard_key_selector.forget(version);
    }
}

impl Forget for pb::ShardKeySelector {
    fn forget(&mut self, version: Version) {
        drop_fields!(version, FALLBACK: self.fallback;);
    }
}

impl Forget for pb::SearchParams {
    fn forget(&mut self, version: Version) {
        drop_fields!(version, ACORN: self.acorn; CORPUS: self.idf;);
        if let Some(idf) = &mut self.idf {
            idf.corpus.forget(version);
        }
    }
}

impl Forget for pb::PointsUpdateOperation {
    #[expect(deprecated, reason = "a server still reads them")]
    fn forget(&mut self, version: Version) {
        match &mut self.operation {
            None => {}
            Some(Operation::Upsert(inner)) => inner.forget(version),
            Some(Operation::SetPayload(inner)) => inner.forget(version),
            Some(Operation::OverwritePayload(inner)) => inner.forget(version),
            Some(Operation::DeletePayload(inner)) => inner.forget(version),
            Some(Operation::UpdateVectors(inner)) => inner.forget(version),
            Some(Operation::DeleteVectors(inner)) => inner.forget(version),
            Some(Operation::DeletePoints(inner)) => inner.forget(version),
            Some(Operation::ClearPayload(inner)) => inner.forget(version),
            Some(Operation::DeleteDeprecated(inner) | Operation::ClearPayloadDeprecated(inner)) => {
                inner.forget(version)
            }
        }
    }
}

impl Forget for pb::points_selector::PointsSelectorOneOf {
    fn forget(&mut self, version: Version) {
        match self {
            Self::Points(_) => {}
            Self::Filter(filter) => filter.forget(version),
        }
    }
}

impl Forget for pb::Query {
    fn forget(&mut self, version: Version) {
        let since = match &mut self.variant {
            Some(Variant::NearestWithMmr(_)) => MMR,
            Some(Variant::Formula(_)) => FORMULA,
            Some(Variant::RelevanceFeedback(_)) => FEEDBACK,
            Some(Variant::Text(_)) => TEXT_QUERY,
            Some(Variant::Rrf(rrf)) => {
                drop_fields!(version, RANK_WEIGHTS: rrf.weights;);
                RANK_CONSTANT
            }
            Some(
                Variant::Nearest(_)
                | Variant::Recommend(_)
                | Variant::Discover(_)
                | Variant::Context(_)
                | Variant::OrderBy(_)
                | Variant::Fusion(_)
                | Variant::Sample(_),
            )
            | None => return,
        };
        if version < since {
            self.variant = None;
        }
    }
}

impl Forget for pb::Condition {
    fn forget(&mut self, version: Version) {
        let since = match &mut self.condition_one_of {
            Some(ConditionOneOf::Slice(_)) => SLICE,
            Some(ConditionOneOf::HasVector(_)) => HAS_VECTOR,
            Some(ConditionOneOf::Filter(filter)) => return filter.forget(version),
            Some(ConditionOneOf::Nested(nested)) => return nested.filter.forget(version),
            Some(ConditionOneOf::Field(field)) => return field.r#match.forget(version),
            Some(ConditionOneOf::IsEmpty(_) | ConditionOneOf::IsNull(_) | ConditionOneOf::HasId(_)) | None => return,
        };
        if version < since {
            self.condition_one_of = None;
        }
    }
}

impl Forget for pb::Match {
    fn forget(&mut self, version: Version) {
        let since = match &self.match_value {
            Some(MatchValue::Phrase(_)) => TEXT_PHRASE,
            Some(MatchValue::TextAny(_)) => TEXT_ANY,
            Some(MatchValue::Prefix(_) | MatchValue::Substring(_)) => PREFIX,
            Some(
                MatchValue::Keyword(_)
                | MatchValue::Integer(_)
                | MatchValue::Boolean(_)
                | MatchValue::Text(_)
                | MatchValue::Keywords(_)
                | MatchValue::Integers(_)
                | MatchValue::ExceptIntegers(_)
                | MatchValue::ExceptKeywords(_),
            )
            | None => return,
        };
        if version < since {
            self.match_value = None;
        }
    }
}
