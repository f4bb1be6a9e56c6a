//! What is taken of the heap, counted. Driven by `cargo xtask bench cache`; answers with one line of JSON.
#![expect(clippy::unwrap_used, reason = "a measurement that can't go on must stop")]

mod parts;

use std::alloc::System;
use std::hint::black_box;

use moka::future::Cache;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tenancy_cache::{Caches, Layer, Lookup, MemoryBackend, derive};
use tenancy_testkit::TestTenants;

use crate::parts::{by_hand, encoding, numbered, parts, text};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// On one thread, so that what is counted is what was called.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let tenants = (0..LIVES).fold(TestTenants::builder(), |builder, number| builder.tenant(&tenant(number)));
    let tenants = tenants.build().await;
    let rows = [
        ("key_allocations", key_allocations(&tenants).await),
        ("get_allocations", get_allocations(&tenants).await),
        ("bytes_of_an_entry", bytes_of_an_entry(&tenants).await),
        ("bytes_of_a_life", bytes_of_a_life(&tenants).await),
    ];
    let rows = rows.map(|(id, [ours, against])| format!("\"{id}\":{{\"ours\":{ours:.3},\"against\":{against:.3}}}"));
    println!("{{{}}}", rows.join(","));
}

/// Of a key, and of one that is written by hand.
async fn key_allocations(tenants: &TestTenants) -> [f64; 2] {
    let caches = Caches::new(tenants.realm(), MemoryBackend::new());
    let context = tenants.context("acme").await;
    let moment = caches.scoped(&context).unwrap().moment(Layer::Response, &[]).await.unwrap();
    let parts = parts();
    assert!((4000..4608).contains(&encoding(&context, &parts).len()), "four kibibytes");
    let (mut ours, mut against) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let counted = Region::new(HEAP);
        for _ in 0..TIMES {
            let _key = black_box(derive(&context, &moment, black_box(&parts)).unwrap());
        }
        ours.push(allocations(&counted));
        let counted = Region::new(HEAP);
        for _ in 0..TIMES {
            drop(black_box(by_hand("acme", black_box(&parts))));
        }
        against.push(allocations(&counted));
    }
    [middle(ours), middle(against)]
}

/// Of a look that hits, in this process.
async fn get_allocations(tenants: &TestTenants) -> [f64; 2] {
    let caches = Caches::new(tenants.realm(), MemoryBackend::new());
    let mine = caches.scoped(&tenants.context("acme").await).unwrap().response::<String>();
    let (parts, plain, name) = (parts(), Cache::new(1_000), by_hand("acme", &parts()));
    let Lookup::Miss(slot) = mine.lookup(&parts).await.unwrap() else { panic!("a cold cache") };
    slot.put(&text(VALUE)).await.unwrap();
    plain.insert(name.clone(), text(VALUE)).await;
    let (mut ours, mut against) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let counted = Region::new(HEAP);
        for _ in 0..TIMES {
            assert!(matches!(mine.lookup(&parts).await.unwrap(), Lookup::Hit(_)));
        }
        ours.push(allocations(&counted));
        let counted = Region::new(HEAP);
        for _ in 0..TIMES {
            assert!(plain.get(&name).await.is_some());
        }
        against.push(allocations(&counted));
    }
    [middle(ours), middle(against)]
}

/// With a value of two kibibytes, its key included; and in a plain concurrent map.
async fn bytes_of_an_entry(tenants: &TestTenants) -> [f64; 2] {
    let caches = Caches::new(tenants.realm(), MemoryBackend::with_budget(1 << 30, 8));
    let mine = caches.scoped(&tenants.context("acme").await).unwrap().response::<String>();
    drop(mine.lookup(&parts()).await.unwrap());
    let before = live();
    for number in 0..ENTRIES {
        let Lookup::Miss(slot) = mine.lookup(&numbered(number)).await.unwrap() else { panic!("a cold cache") };
        slot.put(&text(VALUE)).await.unwrap();
    }
    let ours = live() - before;
    let plain = Cache::builder().max_capacity(1 << 30).weigher(|_, value: &String| value.len() as u32).build();
    let before = live();
    for number in 0..ENTRIES {
        plain.insert(format!("answer:{number:064}"), text(VALUE)).await;
    }
    [ours, live() - before].map(|bytes| bytes / ENTRIES as f64)
}

/// That has looked and has nothing; and an empty concurrent map.
async fn bytes_of_a_life(tenants: &TestTenants) -> [f64; 2] {
    let caches = Caches::new(tenants.realm(), MemoryBackend::with_budget(8 << 20, LIVES));
    let parts = parts();
    let mut contexts = Vec::new();
    for number in 0..LIVES {
        contexts.push(tenants.context(&tenant(number)).await);
    }
    let before = live();
    for context in &contexts {
        drop(caches.scoped(context).unwrap().response::<String>().lookup(&parts).await.unwrap());
    }
    let ours = live() - before;
    let before = live();
    let plain: Vec<Cache<String, String>> = (0..LIVES).map(|_| Cache::new(1_000)).collect();
    let against = live() - before;
    drop(plain);
    [ours, against].map(|bytes| bytes / LIVES as f64)
}

fn allocations(counted: &Region<'_, System>) -> f64 {
    let change = counted.change();
    (change.allocations + change.reallocations) as f64 / TIMES as f64
}

/// The run in the middle: who writes the audit log takes something of the heap now and then as well.
fn middle(mut runs: Vec<f64>) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs[runs.len() / 2]
}

/// Bytes that are in use.
fn live() -> f64 {
    let stats = HEAP.stats();
    stats.bytes_allocated as f64 - stats.bytes_deallocated as f64
}

fn tenant(number: usize) -> String {
    format!("tenant-{number}")
}

const RUNS: usize = 11;
const TIMES: usize = 1_000;
const ENTRIES: usize = 20_000;
const LIVES: usize = 1_000;
/// Words of a value: two kibibytes.
const VALUE: usize = 341;
