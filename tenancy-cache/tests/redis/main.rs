//! The back end on a real Redis, and on a real cluster of three primaries with a replica each.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../cases/mod.rs"]
mod cases;
mod conforms;
mod faults;
mod history;
mod isolation;
mod late;
#[path = "../behaviour/look.rs"]
mod look;
mod mixed;
mod same;
#[path = "../behaviour/samples.rs"]
mod samples;
mod torture;

use std::sync::Arc;
use std::time::Duration;

use tenancy_cache::redis::{RedisBackend, RedisOptions};
use tenancy_cache::{CacheError, CacheSettings, Caches, EntryParts, Lookup, ResponseParts, TenantLayer};
use tenancy_testkit::{TestTenants, ThrowawayRedis, ThrowawayRedisCluster};
use tokio::sync::OnceCell;

use crate::look::Look;

/// The cluster that the tests share which do not break it.
async fn cluster() -> &'static ThrowawayRedisCluster {
    static CLUSTER: OnceCell<ThrowawayRedisCluster> = OnceCell::const_new();
    CLUSTER.get_or_init(|| async { ThrowawayRedisCluster::start().await.unwrap_or_else(|e| panic!("{e}")) }).await
}

async fn server() -> ThrowawayRedis {
    ThrowawayRedis::start().await.unwrap_or_else(|e| panic!("{e}"))
}

/// A busy machine is not a silent server.
fn patient(options: RedisOptions) -> RedisBackend {
    RedisBackend::new(&options.response_timeout(Duration::from_secs(5))).unwrap()
}

fn on(server: &ThrowawayRedis) -> RedisBackend {
    patient(RedisOptions::new(&server.url()).unwrap())
}

fn on_cluster(cluster: &ThrowawayRedisCluster) -> RedisBackend {
    patient(RedisOptions::cluster(cluster.urls().iter().map(String::as_str)).unwrap())
}

/// A server, or the cluster.
enum Store {
    Server(ThrowawayRedis),
    Cluster(&'static ThrowawayRedisCluster),
}

impl Store {
    async fn both() -> [Self; 2] {
        [Self::Server(server().await), Self::Cluster(cluster().await)]
    }

    fn backend(&self) -> RedisBackend {
        match self {
            Self::Server(server) => on(server),
            Self::Cluster(cluster) => on_cluster(cluster),
        }
    }
}

/// What a process has.
fn process(tenants: &TestTenants, backend: RedisBackend) -> Caches {
    let settings = CacheSettings::new().patience(Duration::from_secs(10));
    Caches::with_settings(tenants.realm(), Arc::new(backend), settings)
}

async fn of(caches: &Caches, tenants: &TestTenants, tenant: &str) -> TenantLayer<ResponseParts, String> {
    caches.scoped(&tenants.context(tenant).await).unwrap().response()
}

/// The nth question.
fn question(number: usize) -> ResponseParts {
    ResponseParts { inputs: vec![number.to_be_bytes().to_vec()], ..samples::response() }
}

/// A look that may come to nothing, and the value if there is one.
async fn seen<P: EntryParts>(layer: &TenantLayer<P, String>, parts: &P) -> Result<Option<String>, CacheError> {
    Ok(match layer.lookup(parts).await? {
        Lookup::Hit(value) => Some(value),
        Lookup::Miss(_) | Lookup::Bypass(_) => None,
    })
}
