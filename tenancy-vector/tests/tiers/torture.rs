//! Writers of every kind and readers, while the life goes there and back: compared with a plain model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tenancy_vector::tiers::{MemoryTiers, Tier};
use tenancy_vector::{
    BackendError, Change, Filter, PayloadKey, Point, Scroll, Select, TenantVectors, VectorStore, WriteRequest,
};

use crate::cases;
use crate::fake::{Fake, Hooks};
use crate::house::{House, in_time};

/// Numbers that look random, and are the same again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Takes a little while for each call, never the same.
#[derive(Clone)]
struct Jitter(Arc<AtomicU64>);

impl Jitter {
    fn new(seed: u64) -> Fake<Self> {
        Fake::new(Self(Arc::new(AtomicU64::new(seed))))
    }

    async fn wait(&self) {
        let dice = Dice(self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)).below(8);
        match dice {
            0 => tokio::time::sleep(Duration::from_millis(2)).await,
            1..4 => tokio::task::yield_now().await,
            _ => {}
        }
    }
}

#[async_trait]
impl Hooks for Jitter {
    async fn before_write(&self, _request: &WriteRequest) -> Result<bool, BackendError> {
        self.wait().await;
        Ok(true)
    }

    async fn before_read(&self, _name: &'static str) -> Result<(), BackendError> {
        self.wait().await;
        Ok(())
    }

    async fn after(&self) {
        self.wait().await;
    }
}

/// What a writer's points hold, by their ids.
type Model = BTreeMap<String, Map<String, Value>>;

/// Writes its own points, and knows what it wrote.
struct Writer {
    number: u64,
    mine: TenantVectors,
    dice: Dice,
    model: Model,
    stamp: u64,
}

impl Writer {
    fn name(&mut self) -> String {
        format!("{}:{}", self.number, self.dice.below(60))
    }

    fn payload(&mut self) -> Map<String, Value> {
        self.stamp += 1;
        cases::object(json!({ "w": self.number, "n": self.stamp, "k": self.dice.below(4) }))
    }

    /// The writer's own points of a kind.
    fn kind(&mut self) -> (Filter, u64) {
        let k = self.dice.below(4);
        let is = |key: &str, value: u64| Filter::Equals(PayloadKey::parse(key).unwrap(), value.cast_signed().into());
        (Filter::All(vec![is("w", self.number), is("k", k)]), k)
    }

    fn point(name: &str, payload: &Map<String, Value>) -> Point {
        Point::hybrid(cases::id(name), vec![1.0, 0.5, 0.0, 0.0], cases::terms(&[7]), payload.clone()).unwrap()
    }

    /// One change, and the same to the model.
    fn change(&mut self) -> Change {
        let (name, payload) = (self.name(), self.payload());
        let point = Self::point(&name, &payload);
        let of_kind = |k: u64| move |payload: &Map<String, Value>| payload.get("k") == Some(&json!(k));
        match self.dice.below(10) {
            0..3 => {
                self.model.insert(name, payload);
                Change::Upsert(vec![point])
            }
            3 => {
                self.model.entry(name).or_insert(payload);
                Change::Insert(vec![point])
            }
            4 => {
                let (filter, k) = self.kind();
                if let Some(there) = self.model.get_mut(&name).filter(|there| of_kind(k)(there)) {
                    *there = payload;
                }
                Change::Update(vec![point], Some(filter))
            }
            5 => {
                self.model.remove(&name);
                Change::Delete(Select::Ids(vec![cases::id(&name)]))
            }
            6 => {
                let (filter, k) = self.kind();
                self.model.retain(|_, payload| !of_kind(k)(payload));
                Change::Delete(Select::Matching(filter))
            }
            7 => {
                let (filter, k) = self.kind();
                let set = cases::object(json!({ "k": self.dice.below(4), "n": self.stamp }));
                for payload in self.model.values_mut().filter(|payload| of_kind(k)(payload)) {
                    payload.extend(set.clone());
                }
                Change::SetPayload(Select::Matching(filter), set, None)
            }
            8 => {
                if let Some(there) = self.model.get_mut(&name) {
                    *there = payload.clone();
                }
                Change::OverwritePayload(vec![(cases::id(&name), payload)])
            }
            _ => {
                if let Some(there) = self.model.get_mut(&name) {
                    there.remove("n");
                }
                let select = Select::Ids(vec![cases::id(&name)]);
                Change::DeletePayload(select, vec![PayloadKey::parse("n").unwrap()])
            }
        }
    }

    /// One to three changes in one call, and a look at what came of it.
    async fn turn(&mut self) {
        let changes: Vec<_> = (0..=self.dice.below(3)).map(|_| self.change()).collect();
        let said = format!("{changes:?}");
        self.mine.change(changes).await.unwrap();
        if self.dice.below(8) == 0 {
            assert_eq!(all(&self.mine, self.number).await, self.model, "one reads what one wrote: {said}");
        } else {
            let name = self.name();
            let found = self.mine.get(&[cases::id(&name)]).await.unwrap();
            let payload = found[0].point().map(|point| point.payload().clone());
            assert_eq!(payload.as_ref(), self.model.get(&name), "one reads what one wrote: {said}");
            let (filter, k) = self.kind();
            let wanted = self.model.values().filter(|payload| payload.get("k") == Some(&json!(k))).count() as u64;
            assert_eq!(self.mine.count(Some(&filter)).await.unwrap(), wanted, "{said}");
        }
    }
}

/// The points of a writer, none twice.
async fn all(mine: &TenantVectors, writer: u64) -> Model {
    let (mut all, mut from) = (Model::new(), None);
    loop {
        let page = mine.scroll(&Scroll::new(), from.as_ref()).await.unwrap();
        from = page.next().cloned();
        for point in page.into_points().into_iter().filter(|point| point.payload().get("w") == Some(&json!(writer))) {
            let name = point.id().as_str().to_owned();
            assert!(all.insert(name, point.payload().clone()).is_none(), "a point comes once");
        }
        if from.is_none() {
            return all;
        }
    }
}

/// Each writer is a process of its own; another moves the life, and what no writer touches is always there.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_point_is_lost_or_doubled_while_a_life_moves() {
    for seed in [1, 2] {
        in_time(async {
            let (shared, dedicated) = (Jitter::new(seed), Jitter::new(seed + 7));
            let house = House::patient(shared, dedicated, MemoryTiers::new(), Duration::from_secs(1)).await;
            let mine = house.of("acme").await;
            let still = |n: u64| Writer::point(&format!("9:{n}"), &cases::object(json!({ "w": 9, "n": n })));
            mine.upsert((0..300).map(still).collect()).await.unwrap();
            let stop = Arc::new(AtomicBool::new(false));
            let mut writers = Vec::new();
            for number in 0..3 {
                let store = VectorStore::new(house.tenants.realm(), house.tiered(), cases::schema());
                let mine = cases::of(&house.tenants, &store, "acme").await;
                let dice = Dice(seed * 1000 + number);
                let mut writer = Writer { number, mine, dice, model: Model::new(), stamp: 0 };
                let stop = Arc::clone(&stop);
                writers.push(tokio::spawn(async move {
                    while !stop.load(Ordering::Relaxed) {
                        writer.turn().await;
                    }
                    writer
                }));
            }
            let reader = tokio::spawn({
                let (mine, stop) = (mine.clone(), Arc::clone(&stop));
                async move {
                    let mut looks = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let is_still = Filter::Equals(PayloadKey::parse("w").unwrap(), 9.into());
                        assert_eq!(mine.count(Some(&is_still)).await.unwrap(), 300);
                        assert_eq!(all(&mine, 9).await.len(), 300);
                        let near = cases::near().limit(1000).unwrap().filter(is_still).unwrap();
                        assert_eq!(mine.query(&near).await.unwrap().len(), 300);
                        looks += 1;
                    }
                    looks
                }
            });
            for tier in [Tier::Dedicated, Tier::Shared, Tier::Dedicated] {
                house.move_to("acme", tier).await.unwrap();
            }
            stop.store(true, Ordering::Relaxed);
            let (mut points, mut writes) = (300, 0);
            for writer in writers {
                let writer = writer.await.unwrap();
                assert_eq!(all(&mine, writer.number).await, writer.model, "{seed}");
                points += writer.model.len() as u64;
                writes += writer.stamp;
            }
            assert_eq!(house.counts("acme").await, (0, points), "and nowhere else: {seed}");
            let looks = reader.await.unwrap();
            assert!(writes > 200 && looks > 10, "{writes} writes, {looks} looks");
        })
        .await;
    }
}
