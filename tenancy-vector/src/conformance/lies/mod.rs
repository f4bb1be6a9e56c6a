//! Back ends that get one thing wrong: each is told by the check that asks about it.

mod reads;
mod writes;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use tenancy_core::{Life, StoreVerdict};
use tenancy_testkit::TestTenants;

use super::{Check, Nonconformance, ReferenceBackend};
use crate::backend::{ScoredPayload, StoredPayload, VectorBackend};
use crate::error::{BackendError, VectorError};
use crate::filter::{Condition, FilterValue};
use crate::id::PointKey;
use crate::request::{
    CountRequest, FacetRequest, Find, QueryRequest, ScrollRequest, Search, Selector, UpsertMode, Write, WriteRequest,
};
use crate::schema::Schema;
use crate::scope::{DropScope, Partition, VectorScope, WriteScope};

/// What is done to calls and answers on their way: nothing, unless it is said.
#[derive(Clone, Copy)]
struct Lie {
    write: fn(&mut Write),
    writes: fn(&mut Vec<Write>),
    search: fn(&mut Search),
    request: fn(&mut QueryRequest),
    hit: fn(&mut ScoredPayload),
    hits: fn(&mut Vec<ScoredPayload>),
    batch: fn(&mut Vec<Vec<ScoredPayload>>),
    facet: fn(&mut FacetRequest),
    values: fn(&mut Vec<(FilterValue, u64)>),
    scroll: fn(&mut ScrollRequest),
    page: fn(&mut Vec<StoredPayload>),
    found: fn(&mut Vec<StoredPayload>),
    count: fn(&mut CountRequest),
    /// Calls, and kinds of writes, that reach the points of the other life too, in a place that both share.
    reaches: &'static [&'static str],
    /// Kinds of writes that take the last byte of a digest for the one before it.
    shortens: &'static [&'static str],
    /// What is not done.
    skips: &'static [&'static str],
}

const HONEST: Lie = Lie {
    write: |_| {},
    writes: |_| {},
    search: |_| {},
    request: |_| {},
    hit: |_| {},
    hits: |_| {},
    batch: |_| {},
    facet: |_| {},
    values: |_| {},
    scroll: |_| {},
    page: |_| {},
    found: |_| {},
    count: |_| {},
    reaches: &[],
    shortens: &[],
    skips: &[],
};

type Row = (&'static str, Check, Lie);

struct Liar {
    honest: ReferenceBackend,
    lie: Lie,
    lives: [Life; 2],
    place: Partition,
    /// Whose points are said to be dropped, and are not.
    kept: OnceLock<Life>,
}

impl Liar {
    fn new(tenants: &TestTenants, lie: Lie) -> Self {
        let lives = [tenants.life("acme"), tenants.life("globex")];
        let place = Partition::new(tenants.realm().tag(), lives[0]);
        Self { honest: ReferenceBackend::new(), lie, lives, place, kept: OnceLock::new() }
    }

    /// The scopes that a call reaches, one's own first.
    fn scopes<'s>(&'s self, call: &str, scope: &'s VectorScope<'_>) -> Vec<VectorScope<'s>> {
        let place = (!self.lie.reaches.is_empty()).then_some(&self.place);
        let reaches = call == "write" || self.lie.reaches.contains(&call);
        let others = self.lives.into_iter().filter(|life| *life != scope.life() && reaches);
        std::iter::once(scope.life()).chain(others).map(|life| scope.mistaken(life, place)).collect()
    }

    fn skips(&self, what: &str) -> bool {
        self.lie.skips.contains(&what)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorBackend for Liar {
    async fn prepare(&self, schema: &Schema) -> Result<(), BackendError> {
        if self.skips("prepare") {
            Err(BackendError::because("it is there already"))
        } else {
            self.honest.prepare(schema).await
        }
    }

    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        let (schema, mut writes) = request.into_parts();
        writes.iter_mut().for_each(self.lie.write);
        (self.lie.writes)(&mut writes);
        let schema = if self.skips("schema") { super::schema().map_err(BackendError::failed)? } else { schema };
        writes.iter_mut().filter(|write| self.lie.shortens.contains(&kind(write))).for_each(shorten);
        if self.kept.get() == Some(&scope.life()) {
            return Err(BackendError::Dropped);
        }
        let reaching = |write: &Write| self.lie.reaches.contains(&kind(write));
        for scope in self.scopes("write", scope) {
            let (scope, request) =
                (WriteScope::mistaken(scope), WriteRequest { schema: schema.clone(), writes: writes.clone() });
            let written = self.honest.write(&scope, request).await;
            match written {
                Err(BackendError::Collision) if self.skips("collision") || writes.iter().any(reaching) => {}
                Err(BackendError::Dropped) if self.skips("late") => {}
                written => written?,
            }
            writes.retain(reaching);
        }
        Ok(())
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        let mut requests = requests.to_vec();
        for request in &mut requests {
            (self.lie.request)(request);
            each(&mut request.search, self.lie.search);
        }
        let mut all = vec![Vec::new(); requests.len()];
        for scope in self.scopes("query", scope) {
            let found = self.honest.query(&scope, &requests).await?;
            all.iter_mut().zip(found).for_each(|(all, found)| all.extend(found));
        }
        for hits in &mut all {
            hits.iter_mut().for_each(self.lie.hit);
            (self.lie.hits)(hits);
        }
        (self.lie.batch)(&mut all);
        Ok(all)
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        mut request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        (self.lie.facet)(&mut request);
        let mut values = Vec::new();
        for scope in self.scopes("facet", scope) {
            values.extend(self.honest.facet(&scope, request.clone()).await?);
        }
        (self.lie.values)(&mut values);
        Ok(values)
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        mut request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        (self.lie.scroll)(&mut request);
        let mut page = Vec::new();
        for scope in self.scopes("scroll", scope) {
            page.extend(self.honest.scroll(&scope, request.clone()).await?);
        }
        (self.lie.page)(&mut page);
        Ok(page)
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        let mut found = Vec::new();
        for scope in self.scopes("retrieve", scope) {
            found.extend(self.honest.retrieve(&scope, keys.clone(), vectors).await?);
        }
        (self.lie.found)(&mut found);
        Ok(found)
    }

    async fn count(&self, scope: &VectorScope<'_>, mut request: CountRequest) -> Result<u64, BackendError> {
        if self.kept.get() == Some(&scope.life()) && self.skips("count what is dropped") {
            return Ok(0);
        }
        (self.lie.count)(&mut request);
        let mut count = 0;
        for scope in self.scopes("count", scope) {
            count += self.honest.count(&scope, request.clone()).await?;
        }
        Ok(count)
    }

    async fn vacate(&self, scope: &WriteScope<'_>) -> Result<(), BackendError> {
        if self.skips("look whether it is empty") {
            let writes = vec![Write::Delete(Selector::Matching(None))];
            let schema = super::schema().map_err(BackendError::failed)?;
            return self.honest.write(scope, WriteRequest { schema, writes }).await;
        }
        if self.skips("come back") && self.honest.count(scope, CountRequest { condition: None }).await? == 0 {
            let gone = DropScope::mistaken(scope.mistaken(scope.life(), None));
            return self.honest.drop_partition(&gone).await;
        }
        self.honest.vacate(scope).await
    }

    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        if self.skips("delete what is dropped") {
            let _life = self.kept.get_or_init(|| scope.life());
            return Ok(());
        }
        if self.skips("drop") { Ok(()) } else { self.honest.drop_partition(scope).await }
    }

    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        if self.kept.get().is_some() {
            return Ok(StoreVerdict::Verified);
        }
        let verdict = self.honest.verify_dropped(scope).await?;
        Ok(if self.skips("verify") { StoreVerdict::failed("said so") } else { verdict })
    }
}

/// What a write is, to lie about it alone.
const fn kind(write: &Write) -> &'static str {
    match write {
        Write::Upsert { mode: UpsertMode::Replace | UpsertMode::Insert, .. } => "upsert",
        Write::Upsert { mode: UpsertMode::Update(None), .. } => "update",
        Write::Upsert { mode: UpsertMode::Update(Some(_)), .. } => "update by a filter",
        Write::SetVectors(_) => "new vectors",
        Write::DeleteVectors(Selector::Keys(_), _) => "vectors deleted by key",
        Write::DeleteVectors(Selector::Matching(_), _) => "vectors deleted by a filter",
        Write::SetPayload(Selector::Keys(_), ..) => "keys set by key",
        Write::SetPayload(Selector::Matching(_), ..) => "keys set by a filter",
        Write::OverwritePayload(..) => "a payload replaced",
        Write::DeletePayload(Selector::Keys(_), _) => "keys deleted by key",
        Write::DeletePayload(Selector::Matching(_), _) => "keys deleted by a filter",
        Write::Delete(Selector::Keys(_)) => "a deletion by key",
        Write::Delete(Selector::Matching(_)) => "a deletion by a filter",
    }
}

fn shorten(write: &mut Write) {
    let short = |key: &mut PointKey| {
        let mut bytes = key.to_bytes();
        bytes[31] = bytes[30];
        *key = PointKey::of_bytes(bytes);
    };
    match write {
        Write::Upsert { points, mode } => {
            points.iter_mut().for_each(|point| short(&mut point.key));
            if let UpsertMode::Update(Some(Condition::HasId(keys))) = mode {
                keys.iter_mut().for_each(short);
            }
        }
        Write::SetVectors(points) => points.iter_mut().for_each(|point| short(&mut point.key)),
        Write::OverwritePayload(key, _) => short(key),
        Write::DeleteVectors(those, _)
        | Write::SetPayload(those, ..)
        | Write::DeletePayload(those, _)
        | Write::Delete(those) => {
            if let Selector::Keys(keys) = those {
                keys.iter_mut().for_each(short);
            }
        }
    }
}

fn each(search: &mut Search, act: fn(&mut Search)) {
    act(search);
    if let Find::Fuse { arms, .. } | Find::Rescore { arms, .. } | Find::Refine { arms, .. } = &mut search.find {
        arms.iter_mut().for_each(|arm| each(arm, act));
    }
}

async fn told(tenants: &TestTenants, check: Check, lie: Lie) -> Result<(), Nonconformance> {
    let (one, two) = (tenants.context("acme").await, tenants.context("globex").await);
    let backend: Arc<dyn VectorBackend> = Arc::new(Liar::new(tenants, lie));
    check.run(tenants.realm(), &backend, &one, &two).await
}

#[tokio::test]
async fn each_lie_is_told_by_the_check_that_asks_about_it() {
    let tenants = TestTenants::new().await;
    let mut unseen = Vec::new();
    for (what, check, lie) in reads::lies().into_iter().chain(writes::lies()).chain(writes::of_lives()) {
        match told(&tenants, check, lie).await {
            Ok(()) => unseen.push(what),
            Err(error) => assert!(error.to_string().starts_with(check.name()), "{what}: {error}"),
        }
    }
    assert!(unseen.is_empty(), "{unseen:#?}");
}

/// All that a lie changes is what it says: without one, in a place for both lives too, each check is passed.
#[tokio::test]
async fn without_a_lie_each_check_is_passed() {
    let tenants = TestTenants::new().await;
    for check in Check::ALL {
        told(&tenants, *check, HONEST).await.unwrap();
        // A shared place is not dropped with one of its lives.
        if !matches!(check, Check::Dropping | Check::Vacating) {
            told(&tenants, *check, Lie { reaches: &["nothing"], ..HONEST }).await.unwrap();
        }
    }
}

/// The error names the check, what was asked and how far off the answer is.
#[tokio::test]
async fn an_error_says_where_to_look() {
    let tenants = TestTenants::new().await;
    let told = async |check, lie| told(&tenants, check, lie).await.unwrap_err();
    let one_too_few = told(Check::Ranking, Lie { hits: |hits| drop(hits.pop()), ..HONEST }).await;
    assert_eq!(
        one_too_few.to_string(),
        "ranking: hits are as many as an exhaustive search has: 0 instead of 1 (asked: dense, 1 at most, filter: no filter)"
    );
    let louder = told(Check::Ranking, Lie { hit: |hit| hit.score *= 2.0, ..HONEST }).await;
    let Nonconformance::Broken { check, rule, asked, differs: Some(differs) } = &louder else { panic!("{louder:?}") };
    assert_eq!((*check, *rule), ("ranking", "scores are those of an exhaustive search"));
    assert_eq!((asked.as_str(), differs.place), ("dense, 1 at most, filter: no filter", Some(1)));
    assert!((differs.found - 2.0 * differs.wanted).abs() < 1e-6, "{differs:?}");
    let unfiltered = told(Check::Counts, Lie { count: |request| request.condition = None, ..HONEST }).await;
    assert_eq!(
        unfiltered.to_string(),
        "counts: points that meet a filter are counted: 40 instead of 20 (asked: a count, filter: a truth value)"
    );
    let failed = told(Check::Prepare, Lie { skips: &["prepare"], ..HONEST }).await;
    assert!(matches!(failed, Nonconformance::Failed { check: "prepare", source: VectorError::Backend(_), .. }));
    let why = "the vector back end failed: it is there already";
    assert_eq!(failed.to_string(), format!("prepare: the call failed: {why} (asked: to prepare)"));
}
