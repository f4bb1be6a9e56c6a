//! Redis for a test: a server, or a cluster of six.

mod cluster;
mod server;

// The public interface is:
pub use cluster::ThrowawayRedisCluster;
pub use server::{RedisUnavailable, ThrowawayRedis};
