//! The walk. It knows nothing of how requests are built.

use pb::condition::ConditionOneOf;
use pb::r#match::MatchValue;
use pb::points_selector::PointsSelectorOneOf;
use pb::points_update_operation::Operation;
use pb::query::Variant;
use pb::vector_input::Variant as Input;
use qdrant_client::qdrant as pb;

/// Where a request is to be at home, and what it is, for whoever reads why it is not.
pub(super) struct Walk<'a> {
    pub(super) collection: &'a str,
    pub(super) shard_key: Option<&'a str>,
    pub(super) life: &'a str,
    pub(super) shown: &'a str,
}

impl Walk<'_> {
    pub(super) fn query(&self, query: &pb::QueryPoints) {
        self.root(&query.collection_name, query.filter.as_ref(), query.shard_key_selector.as_ref());
        assert!(query.lookup_from.is_none(), "another collection is looked into: {}", self.shown);
        self.node(query.query.as_ref(), query.params.as_ref());
        query.prefetch.iter().for_each(|prefetch| self.prefetch(prefetch));
        let payload = query.with_payload.as_ref().and_then(|selector| selector.selector_options.as_ref());
        let whole = pb::with_payload_selector::SelectorOptions::Enable(true);
        assert_eq!(payload, Some(&whole), "a hit without its tag can't be checked: {}", self.shown);
    }

    fn prefetch(&self, prefetch: &pb::PrefetchQuery) {
        self.filter(prefetch.filter.as_ref());
        assert!(prefetch.lookup_from.is_none(), "another collection is looked into: {}", self.shown);
        self.node(prefetch.query.as_ref(), prefetch.params.as_ref());
        prefetch.prefetch.iter().for_each(|prefetch| self.prefetch(prefetch));
    }

    pub(super) fn root(&self, collection: &str, filter: Option<&pb::Filter>, shard: Option<&pb::ShardKeySelector>) {
        assert_eq!(collection, self.collection, "{}", self.shown);
        self.shard(shard);
        self.filter(filter);
    }

    pub(super) fn operation(&self, operation: &pb::PointsUpdateOperation) {
        #[expect(deprecated, reason = "they are named to be refused")]
        match operation.operation.as_ref().expect("an operation") {
            Operation::Upsert(list) => {
                self.filter(list.update_filter.as_ref());
                self.shard(list.shard_key_selector.as_ref());
            }
            Operation::UpdateVectors(list) => {
                self.filter(list.update_filter.as_ref());
                self.shard(list.shard_key_selector.as_ref());
            }
            Operation::SetPayload(op) => self.selected(op.points_selector.as_ref(), op.shard_key_selector.as_ref()),
            Operation::OverwritePayload(op) => {
                self.selected(op.points_selector.as_ref(), op.shard_key_selector.as_ref());
            }
            Operation::DeletePayload(op) => self.selected(op.points_selector.as_ref(), op.shard_key_selector.as_ref()),
            Operation::DeleteVectors(op) => self.selected(op.points_selector.as_ref(), op.shard_key_selector.as_ref()),
            Operation::DeletePoints(op) => self.selected(op.points.as_ref(), op.shard_key_selector.as_ref()),
            // It takes the tag with the rest.
            Operation::ClearPayload(_) | Operation::ClearPayloadDeprecated(_) | Operation::DeleteDeprecated(_) => {
                panic!("an operation that is never sent: {}", self.shown)
            }
        }
    }

    fn selected(&self, selector: Option<&pb::PointsSelector>, shard: Option<&pb::ShardKeySelector>) {
        self.shard(shard);
        match selector.and_then(|selector| selector.points_selector_one_of.as_ref()) {
            Some(PointsSelectorOneOf::Filter(filter)) => self.filter(Some(filter)),
            Some(PointsSelectorOneOf::Points(_)) => panic!("a list of ids reaches anybody's: {}", self.shown),
            None => panic!("no selector: {}", self.shown),
        }
    }

    /// Everything that a node scores is a vector, and where one is sparse terms are counted over the life alone.
    fn node(&self, query: Option<&pb::Query>, params: Option<&pb::SearchParams>) {
        let query = query.and_then(|query| query.variant.as_ref()).expect("a query");
        let corpus = params.and_then(|params| params.idf.as_ref());
        let mut sparse = false;
        for input in inputs(query) {
            match input.variant.as_ref().expect("an input") {
                Input::Dense(_) | Input::MultiDense(_) => {}
                Input::Sparse(_) => sparse = true,
                Input::Id(_) => panic!("an id is looked up without a filter: {}", self.shown),
                Input::Document(_) | Input::Image(_) | Input::Object(_) => panic!("not a vector: {}", self.shown),
            }
        }
        if sparse {
            let corpus = corpus.expect("terms are counted over everybody's points");
            self.filter(corpus.corpus.as_ref());
            assert_eq!(corpus.corpus.as_ref().unwrap().must.len(), 1, "the whole life: {}", self.shown);
        }
        if let Some(corpus) = corpus {
            self.filter(corpus.corpus.as_ref());
        }
    }

    /// The life in `must`, first; beside it at most one condition, the caller's; nothing in another list.
    fn filter(&self, filter: Option<&pb::Filter>) {
        let filter = filter.unwrap_or_else(|| panic!("no filter: {}", self.shown));
        assert!(
            filter.should.is_empty() && filter.must_not.is_empty() && filter.min_should.is_none(),
            "{}",
            self.shown
        );
        let life = pb::Condition::matches("tenancy.life", self.life.to_owned());
        assert_eq!(filter.must.first(), Some(&life), "the life is not there: {}", self.shown);
        for beside in &filter.must[1..] {
            assert!(matches!(beside.condition_one_of, Some(ConditionOneOf::Filter(_))), "merged: {}", self.shown);
            keys(beside, &|key| assert!(!key.starts_with("tenancy.life"), "the caller names the life: {}", self.shown));
        }
        assert!(filter.must.len() <= 2, "merged: {}", self.shown);
    }

    fn shard(&self, shard: Option<&pb::ShardKeySelector>) {
        let key = |name: &str| pb::ShardKey { key: Some(pb::shard_key::Key::Keyword(name.to_owned())) };
        let keys = shard.map_or(&[][..], |shard| &shard.shard_keys);
        assert_eq!(keys, self.shard_key.map(key).as_slice(), "all shards are asked, or another's: {}", self.shown);
        assert!(shard.is_none_or(|shard| shard.fallback.is_none()), "a fallback is another's shard: {}", self.shown);
        assert_eq!(shard.is_some(), self.shard_key.is_some(), "{}", self.shown);
    }
}

/// The vectors of a query, of whichever kind.
fn inputs(query: &Variant) -> Vec<&pb::VectorInput> {
    match query {
        Variant::Nearest(input) => vec![input],
        Variant::NearestWithMmr(mmr) => mmr.nearest.iter().collect(),
        Variant::Recommend(recommend) => recommend.positive.iter().chain(&recommend.negative).collect(),
        Variant::Discover(discover) => {
            discover.target.iter().chain(discover.context.iter().flat_map(of_context)).collect()
        }
        Variant::Context(context) => of_context(context).collect(),
        Variant::OrderBy(_) | Variant::Fusion(_) | Variant::Rrf(_) | Variant::Sample(_) | Variant::Formula(_) => {
            Vec::new()
        }
        Variant::RelevanceFeedback(_) | Variant::Text(_) => panic!("a query that is never sent"),
    }
}

fn of_context(context: &pb::ContextInput) -> impl Iterator<Item = &pb::VectorInput> {
    context.pairs.iter().flat_map(|pair| pair.positive.iter().chain(&pair.negative))
}

/// Every key that a condition names.
fn keys(condition: &pb::Condition, see: &impl Fn(&str)) {
    match condition.condition_one_of.as_ref().expect("a condition: an empty one is dropped, and its list is everything")
    {
        ConditionOneOf::Field(field) => see(&field.key),
        ConditionOneOf::IsEmpty(empty) => see(&empty.key),
        ConditionOneOf::IsNull(null) => see(&null.key),
        // Within an object keys begin at it.
        ConditionOneOf::Nested(nested) => see(&nested.key),
        ConditionOneOf::Filter(filter) => {
            let least = filter.min_should.iter().flat_map(|least| &least.conditions);
            let all = filter.must.iter().chain(&filter.should).chain(&filter.must_not).chain(least);
            let count = all.map(|inner| keys(inner, see)).count();
            assert!(count > 0, "a list of nothing is everything");
        }
        ConditionOneOf::HasId(_) | ConditionOneOf::HasVector(_) => {}
        ConditionOneOf::Slice(_) => panic!("a condition that is never sent"),
    }
}

/// Whether a filter compares digests beside ids.
pub(super) fn has_digests(condition: &pb::Condition) -> bool {
    let Some(ConditionOneOf::Filter(filter)) = &condition.condition_one_of else { return false };
    let digests = |condition: &pb::Condition| match &condition.condition_one_of {
        Some(ConditionOneOf::Field(field)) if field.key == "tenancy.digest" => {
            matches!(&field.r#match, Some(pb::Match { match_value: Some(MatchValue::Keywords(list)) }) if list.strings.len() == 2)
        }
        _other => false,
    };
    filter.must.len() == 2
        && matches!(filter.must[0].condition_one_of, Some(ConditionOneOf::HasId(_)))
        && digests(&filter.must[1])
}
