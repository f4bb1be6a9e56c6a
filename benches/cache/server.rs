//! A Redis, ours on it, and the plain client.

use std::time::Duration;

use redis::Client;
use redis::aio::MultiplexedConnection;
use tenancy_cache::redis::{RedisBackend, RedisOptions};
use tenancy_cache::{CacheSettings, Caches};
use tenancy_testkit::{TestTenants, ThrowawayRedis};

pub(crate) async fn start() -> ThrowawayRedis {
    ThrowawayRedis::start().await.unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn caches(server: &ThrowawayRedis, tenants: &TestTenants) -> Caches {
    let options = RedisOptions::new(&server.url()).unwrap().response_timeout(PATIENCE);
    let settings = CacheSettings::new().patience(PATIENCE * 2);
    Caches::with_settings(tenants.realm(), RedisBackend::new(&options).unwrap(), settings)
}

pub(crate) async fn plain(server: &ThrowawayRedis) -> MultiplexedConnection {
    Client::open(server.url()).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// A busy machine is not a silent server.
const PATIENCE: Duration = Duration::from_secs(5);
