//! Letting go of everything a tenant has, when that is much and when it is little.

use std::time::{Duration, Instant};

use redis::{cmd, pipe};
use tenancy_cache::{CacheSettings, Caches, EmbeddingParts, Lookup, MemoryBackend, TenantLayer};
use tenancy_core::chat::ModelIdentity;
use tenancy_core::{TenantContext, Visibility};
use tenancy_testkit::{TestTenants, ThrowawayRedis};

use crate::{Arc, Round, commands, say, server, turns};

/// A server with a tenant on it.
struct Server {
    caches: Caches,
    _server: ThrowawayRedis,
}

/// `turns . flush ..`, as in benches/cache/turns.rs: of two servers one has ten entries, the other so many. What is flushed
/// stays in a Redis until its time is up, so each deletion meets as many as the first.
///
/// They are written by the plain client, under names of that life and with nothing in them that opens: a deletion looks at
/// none.
pub(crate) async fn on_redis(entries: usize) {
    let tenants = TestTenants::new().await;
    let (few, many) = (Server::fill(&tenants, FEW).await, Server::fill(&tenants, entries).await);
    let servers = Arc::new([few, many]);
    say("{}");
    let mut commands = commands();
    while let Some(line) = commands.recv().await {
        let mut words = line.split_whitespace();
        let (Some("turns"), Some(_), Some("flush")) = (words.next(), words.next(), words.next()) else {
            panic!("not a command: {line}");
        };
        let round = Round::parse(&mut words);
        let context = tenants.context(TENANT).await;
        let (first, second) = ((servers.clone(), context.clone()), (servers.clone(), context));
        let before = move |way, _| {
            let (servers, context) = first.clone();
            async move { servers[usize::from(way == "many")].look_everywhere(&context).await }
        };
        let call = move |way, _, ()| {
            let (servers, context) = second.clone();
            async move { servers[usize::from(way == "many")].caches.scoped(&context).unwrap().flush().await.unwrap() }
        };
        say(&turns::measure(&["few", "many"], round, before, call).await);
    }
}

impl Server {
    async fn fill(tenants: &TestTenants, entries: usize) -> Self {
        let server = server::start().await;
        let mut plain = server::plain(&server).await;
        let context = tenants.context(TENANT).await;
        let tag = [*context.realm().as_bytes(), *context.life().uuid().as_bytes()].concat();
        let tag = data_encoding::HEXLOWER.encode(&tag);
        for first in (0..entries).step_by(BATCH) {
            let mut pipeline = pipe();
            for number in first..entries.min(first + BATCH) {
                let digest = blake3::hash(&number.to_le_bytes()).to_hex();
                let name = format!("tc1:{{{tag}.{}}}:response:{digest}", &digest[..1]);
                pipeline.cmd("SET").arg(name).arg([7u8; VALUE].as_slice()).arg("PX").arg(3_600_000).ignore();
            }
            let () = pipeline.query_async(&mut plain).await.unwrap();
        }
        let kept: usize = cmd("DBSIZE").query_async(&mut plain).await.unwrap();
        assert_eq!(kept, entries);
        Self { caches: server::caches(&server, tenants), _server: server }
    }

    /// Looks until each part of the life has an epoch again, which a deletion takes away.
    async fn look_everywhere(&self, context: &TenantContext) {
        let layer = self.caches.scoped(context).unwrap().embedding::<String>();
        for number in 0..LOOKS {
            assert!(matches!(layer.lookup(&question(number)).await.unwrap(), Lookup::Miss(_)));
        }
    }
}

/// `run`: fills a tenant anew and deletes it and one with little in it, in turns. A deletion gives back the memory.
pub(crate) async fn in_memory(entries: usize) {
    let tenants = TestTenants::builder().tenant("few").tenant("warm").build().await;
    let settings = CacheSettings::new().patience(Duration::from_secs(10));
    let caches = Caches::with_settings(tenants.realm(), MemoryBackend::with_budget(8 << 30, 8), settings);
    say("{}");
    let mut commands = commands();
    let mut many_first = false;
    while let Some(line) = commands.recv().await {
        assert_eq!(line, "run", "not a command");
        fill(&caches, &tenants.context(TENANT).await, entries).await;
        let mut order = [("few", 0.0), (TENANT, 0.0)];
        if many_first {
            order.reverse();
        }
        many_first = !many_first;
        for (tenant, time) in &mut order {
            if *tenant != TENANT {
                fill(&caches, &tenants.context(tenant).await, FEW).await;
            }
            // Both find the way that they go as warm, their tenant in use, and nothing that waits to be given back.
            for _ in 0..3 {
                let warm = tenants.context("warm").await;
                fill(&caches, &warm, FEW).await;
                caches.scoped(&warm).unwrap().flush().await.unwrap();
            }
            let mine = caches.scoped(&tenants.context(tenant).await).unwrap();
            for number in 0..FEW {
                assert!(matches!(mine.embedding::<String>().lookup(&question(number)).await.unwrap(), Lookup::Hit(_)));
            }
            let start = Instant::now();
            mine.flush().await.unwrap();
            *time = start.elapsed().as_secs_f64() * 1e6;
            // The memory is given back behind the scenes.
            tokio::time::sleep(GIVEN_BACK).await;
        }
        let of = |name| order.iter().find(|(tenant, _)| *tenant == name).map_or(0.0, |(_, time)| *time);
        say(&format!("{{\"few\":{:.2},\"many\":{:.2}}}", of("few"), of(TENANT)));
    }
}

async fn fill(caches: &Caches, context: &TenantContext, entries: usize) {
    let halves = [0, 1].map(|half| {
        let layer: TenantLayer<EmbeddingParts, String> = caches.scoped(context).unwrap().embedding();
        tokio::spawn(async move {
            for number in (half..entries).step_by(2) {
                let Lookup::Miss(slot) = layer.lookup(&question(number)).await.unwrap() else { panic!("is there") };
                slot.put(&String::from("a short value")).await.unwrap();
            }
            for number in (half..entries).step_by(2 * entries.div_ceil(1_000)) {
                assert!(matches!(layer.lookup(&question(number)).await.unwrap(), Lookup::Hit(_)), "{number}");
            }
        })
    });
    for half in halves {
        half.await.unwrap();
    }
}

fn question(number: usize) -> EmbeddingParts {
    EmbeddingParts {
        text: number.to_string(),
        model: ModelIdentity { id: "minilm".into(), version: "2".into(), adapter: None },
        dimensions: 384,
        instruction: None,
        visibility: Visibility::Tenant,
    }
}

const TENANT: &str = "acme";
const FEW: usize = 10;
const BATCH: usize = 10_000;
const VALUE: usize = 64;
/// With so many it is one in five hundred that one of the sixteen parts is not looked at.
const LOOKS: usize = 150;
const GIVEN_BACK: Duration = Duration::from_secs(3);
