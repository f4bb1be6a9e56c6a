//! A network that lies, under load: nobody is given what is not his, or what is gone.

mod oracle;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use tenancy_cache::redis::{RedisBackend, RedisOptions};
use tenancy_cache::{Bypass, CacheError, Caches, EmbeddingParts, Layer, LayerStats, Lookup, Put, TenantCaches};
use tenancy_testkit::proxy::{Lie, LyingProxy};
use tenancy_testkit::{TestTenants, ThrowawayRedis};

use self::oracle::{Oracle, Spot};
use crate::{question, samples};

/// Two processes, each with one connection through the network that lies.
struct World {
    tenants: TestTenants,
    caches: [Caches; 2],
    oracle: Oracle,
    /// Calls that are yet to be made.
    left: AtomicU64,
    counted: Counted,
}

/// What came of them, as their callers saw it.
#[derive(Default)]
struct Counted {
    calls: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    bypasses: AtomicU64,
    puts: AtomicU64,
    puts_skipped: AtomicU64,
    removals: AtomicU64,
    removals_failed: AtomicU64,
    /// Looks after a removal that failed, with no other removal about.
    owed: AtomicU64,
    salts: AtomicU64,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_lies_yields_misses_and_never_a_wrong_value() {
    let server = crate::server().await;
    let proxy = LyingProxy::start(([127, 0, 0, 1], server.port()).into(), SEED).await.unwrap();
    let world = Arc::new(World::new(&proxy).await);
    for (lie, of_ten_thousand) in RATES {
        proxy.rate(lie, of_ten_thousand);
    }
    let tasks: Vec<_> = (0..TASKS).map(|number| tokio::spawn(act(Arc::clone(&world), number))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    world.report(&proxy);
    world.every_lie_shows(&proxy);
    proxy.be_honest();
    world.is_well(&server).await;
}

impl World {
    async fn new(proxy: &LyingProxy) -> Self {
        let tenants = TestTenants::builder().tenant(TENANTS[2]).tenant(TENANTS[3]).build().await;
        let options = RedisOptions::new(&format!("redis://127.0.0.1:{}", proxy.port())).unwrap();
        let process = || Caches::new(tenants.realm(), RedisBackend::new(&options).unwrap());
        let caches = [process(), process()];
        let scale = std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
        let (oracle, left) = (Oracle::new(TENANTS.len(), QUESTIONS), AtomicU64::new(CALLS * scale));
        Self { tenants, caches, oracle, left, counted: Counted::default() }
    }

    async fn of(&self, process: usize, tenant: usize) -> TenantCaches {
        self.caches[process].scoped(&self.tenants.context(TENANTS[tenant]).await).unwrap()
    }

    fn begins(&self) -> bool {
        self.counted.calls.fetch_add(1, SeqCst);
        self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
    }

    /// Looks, and fills what is not there.
    async fn look(&self, mine: &TenantCaches, spot: Spot, pause: u64) {
        let floor = self.oracle.floor(spot);
        match look(mine, spot.question).await.unwrap() {
            Lookup::Hit(value) => {
                self.oracle.check(spot, floor, &value);
                self.counted.hits.fetch_add(1, SeqCst);
            }
            Lookup::Miss(slot) => {
                self.counted.misses.fetch_add(1, SeqCst);
                let value = self.oracle.value(spot);
                for _ in 0..pause % 50 {
                    tokio::task::yield_now().await;
                }
                self.begins();
                let counter = match slot.put(&value).await.unwrap() {
                    Put::Stored => &self.counted.puts,
                    _skipped => &self.counted.puts_skipped,
                };
                counter.fetch_add(1, SeqCst);
            }
            Lookup::Bypass(_) => {
                self.counted.bypasses.fetch_add(1, SeqCst);
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
        }
    }

    async fn compute(&self, mine: &TenantCaches, spot: Spot) {
        let floor = self.oracle.floor(spot);
        let compute = || async {
            let value = self.oracle.value(spot);
            tokio::task::yield_now().await;
            Ok::<_, CacheError>(value)
        };
        let value = if spot.is_response() {
            mine.response().get_or_try_compute(&question(spot.question), compute).await
        } else {
            mine.embedding().get_or_try_compute(&embedding(spot.question), compute).await
        };
        self.oracle.check(spot, floor, &value.unwrap());
    }

    /// Removes, again and again until it is known to have happened, as whoever removes has to.
    async fn remove(&self, mine: &TenantCaches, spot: Spot, all: bool) {
        loop {
            let removal = self.oracle.begin(spot, all);
            let outcome = match (all, spot.is_response()) {
                (true, _) => mine.flush().await,
                (false, true) => mine.response::<String>().invalidate(&question(spot.question)).await,
                (false, false) => mine.embedding::<String>().invalidate(&embedding(spot.question)).await,
            };
            let alone = self.oracle.end(&removal, outcome.is_ok());
            match outcome {
                Ok(()) => {
                    self.counted.removals.fetch_add(1, SeqCst);
                    return;
                }
                Err(CacheError::Invalidate(_)) => {}
                Err(other) => panic!("{other:?}"),
            }
            self.counted.removals_failed.fetch_add(1, SeqCst);
            let looked = look(mine, spot.question).await.unwrap();
            if alone && self.oracle.is_alone_since(&removal) {
                assert!(matches!(looked, Lookup::Bypass(Bypass::InvalidationOwed)), "{looked:?}");
                self.counted.owed.fetch_add(1, SeqCst);
            }
            self.begins();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn salt(&self, mine: &TenantCaches, spot: Spot) {
        match mine.engine_salt(&samples::engine()).await {
            Ok(salt) => {
                self.oracle.check_salt(spot, salt.as_str());
                self.counted.salts.fetch_add(1, SeqCst);
            }
            Err(CacheError::Bypassed(Bypass::Backend)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    fn stats(&self) -> LayerStats {
        let mut all = LayerStats::default();
        for one in self.caches.iter().flat_map(|caches| {
            let stats = caches.stats();
            [stats.of(Layer::Response), stats.of(Layer::Embedding)]
        }) {
            all.hits += one.hits;
            all.misses += one.misses;
            all.bypasses += one.bypasses;
            all.integrity_misses += one.integrity_misses;
        }
        all
    }

    fn report(&self, proxy: &LyingProxy) {
        let Counted { calls, hits, misses, bypasses, puts, puts_skipped, removals, removals_failed, owed, salts } =
            &self.counted;
        println!("{proxy:?}\n{:?}", self.stats());
        println!(
            "{calls:?} calls, looks: {hits:?} hits {misses:?} misses {bypasses:?} bypasses; puts: {puts:?}, {puts_skipped:?} skipped"
        );
        println!("removals: {removals:?}, {removals_failed:?} failed, {owed:?} seen to be owed; {salts:?} salts");
    }

    /// What reached a client shows in a counter.
    fn every_lie_shows(&self, proxy: &LyingProxy) {
        let (stats, counted) = (self.stats(), |counter: &AtomicU64| counter.load(SeqCst));
        for lie in Lie::ALL {
            assert!(proxy.told(lie) > 20, "{lie:?}: {}", proxy.told(lie));
        }
        let aside = stats.bypasses + counted(&self.counted.puts_skipped) + counted(&self.counted.removals_failed);
        assert!(aside >= proxy.told(Lie::Cut) + proxy.told(Lie::Lost), "{aside} stood aside");
        assert!(stats.integrity_misses >= proxy.told(Lie::OtherValue) / 2, "{stats:?}");
        assert!(stats.misses >= stats.integrity_misses, "{stats:?}");
        let calls = counted(&self.counted.calls);
        assert!(calls >= CALLS && stats.hits > calls / 5, "{calls} calls, {stats:?}");
        for some in [&self.counted.removals, &self.counted.removals_failed, &self.counted.owed, &self.counted.salts] {
            assert!(counted(some) > 20, "{some:?}");
        }
    }

    /// The cache is one again, in both processes and in one that never met a lie.
    async fn is_well(&self, server: &ThrowawayRedis) {
        for (process, caches) in self.caches.iter().enumerate() {
            for (tenant, name) in TENANTS.iter().enumerate() {
                let layer = crate::of(caches, &self.tenants, name).await;
                crate::history::recovered(&layer).await;
                let mine = self.of(process, tenant).await;
                for question in 0..QUESTIONS {
                    self.look(&mine, Spot { process, tenant, question }, 0).await;
                }
            }
        }
        let other = crate::process(&self.tenants, crate::on(server));
        for (tenant, name) in TENANTS.iter().enumerate() {
            let (here, there) = (self.of(0, tenant).await, other.scoped(&self.tenants.context(name).await).unwrap());
            for question in 0..QUESTIONS {
                let spot = Spot { process: 0, tenant, question };
                for mine in [&here, &there] {
                    let floor = self.oracle.floor(spot);
                    let Lookup::Hit(value) = look(mine, question).await.unwrap() else { panic!("{name}, {question}") };
                    self.oracle.check(spot, floor, &value);
                }
            }
        }
    }
}

/// One caller: a tenant's, in one of the processes, with contexts of its own.
async fn act(world: Arc<World>, number: usize) {
    let (process, tenant) = (number % 2, number / 2 % TENANTS.len());
    let mut dice = SEED ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut roll = |faces: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % faces
    };
    loop {
        let mine = world.of(process, tenant).await;
        for _request in 0..200 {
            if !world.begins() {
                return;
            }
            let spot = Spot { process, tenant, question: roll(QUESTIONS as u64) as usize };
            match roll(1000) {
                0..5 => world.remove(&mine, spot, true).await,
                5..45 => world.remove(&mine, spot, false).await,
                45..55 => world.salt(&mine, spot).await,
                55..250 => world.compute(&mine, spot).await,
                _ => world.look(&mine, spot, roll(100)).await,
            }
        }
    }
}

async fn look(mine: &TenantCaches, number: usize) -> Result<Lookup<String>, CacheError> {
    if oracle::is_response(number) {
        mine.response().lookup(&question(number)).await
    } else {
        mine.embedding().lookup(&embedding(number)).await
    }
}

fn embedding(number: usize) -> EmbeddingParts {
    EmbeddingParts { text: number.to_string(), ..samples::embedding() }
}

/// So many calls, times `TENANCY_TEST_SCALE`.
const CALLS: u64 = 200_000;
const TASKS: usize = 32;
const TENANTS: [&str; 4] = ["acme", "globex", "initech", "umbrella"];
const QUESTIONS: usize = 12;
const SEED: u64 = 0x7e5a_11e5;
/// Of ten thousand replies.
const RATES: [(Lie, u32); 6] =
    [(Lie::Late, 5), (Lie::Cut, 5), (Lie::Swapped, 30), (Lie::Lost, 5), (Lie::OtherValue, 100), (Lie::OtherReply, 100)];
