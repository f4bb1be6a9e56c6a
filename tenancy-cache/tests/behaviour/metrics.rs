//! What leaves the process: counts by layer, outcome and service class.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tenancy_cache::CacheSettings;
use tenancy_core::{Life, Metric, Plan, Recorder, ServiceClass, TenantId, TenantRecord};
use tenancy_testkit::TestTenants;

use crate::rig::{Look, World};
use crate::samples;

#[derive(Clone, Default)]
struct Tally(Arc<Mutex<BTreeMap<String, u64>>>);

impl Recorder for Tally {
    fn count(&self, metric: Metric) {
        let word = match metric {
            Metric::Look { store, part, outcome, class } => {
                format!("{} {part} {outcome} {class:?}", store.as_str())
            }
            other => format!("{other:?}"),
        };
        *self.0.lock().unwrap().entry(word).or_default() += 1;
    }
}

#[tokio::test]
async fn looks_are_counted_by_layer_outcome_and_class_and_by_nothing_else() {
    let tally = Tally::default();
    let tenants = TestTenants::builder().build_with(|ready| ready.metrics(tally.clone())).await;
    let issuer = tenants.issuer().issuer();
    let born = SystemTime::now() - Duration::from_secs(3600);
    let trial = TenantRecord::new(TenantId::parse("initech").unwrap(), Life::random(), born)
        .claim(issuer, "initech")
        .role(issuer, "editor", ["use-model"])
        .plan_of(Plan::new("trial", ServiceClass::Free));
    tenants.directory().add(trial).unwrap();
    let world = World::over(tenants, Arc::default(), CacheSettings::new().patience(Duration::from_secs(10)));
    let (acme, initech) = (world.of("acme").await, world.of("initech").await);
    for (mine, looks) in [(&acme, 3), (&initech, 1)] {
        mine.response().fill(&samples::response(), "kept").await;
        for _ in 0..looks {
            mine.response().hit(&samples::response()).await.unwrap();
        }
    }
    world.rig.lie(vec![7; 100]);
    acme.response().hit(&samples::response()).await;
    world.rig.down.store(true, std::sync::atomic::Ordering::SeqCst);
    drop(initech.tool::<String>().lookup(&samples::tool()).await.unwrap());
    acme.count_engine(0);
    acme.count_engine(640);
    let seen = tally.0.lock().unwrap().clone();
    let wanted = [
        ("Denied { rule: \"seal.malformed\" }", 1),
        ("cache engine hit Standard", 1),
        ("cache engine miss Standard", 1),
        ("cache response hit Free", 1),
        ("cache response hit Standard", 3),
        ("cache response integrity_miss Standard", 1),
        ("cache response miss Free", 1),
        ("cache response miss Standard", 2),
        ("cache tool bypass Free", 1),
    ];
    assert_eq!(seen, wanted.map(|(word, count)| (word.to_owned(), count)).into());
}
