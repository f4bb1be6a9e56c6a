//! A throwaway cluster.

use std::time::{Duration, Instant};

use super::server::{RedisUnavailable, ThrowawayRedis};
use crate::keeper::free_port;

/// A real cluster on 127.0.0.1, gone with this value: three primaries, and a replica of each. A node that does not answer
/// for a second counts as down, and its replica takes over.
#[derive(Debug)]
pub struct ThrowawayRedisCluster {
    nodes: Vec<ThrowawayRedis>,
}

impl ThrowawayRedisCluster {
    /// Starts six servers and joins them.
    ///
    /// # Errors
    /// As [`ThrowawayRedis::start`].
    pub async fn start() -> Result<Self, RedisUnavailable> {
        let mut nodes = Vec::new();
        for _node in 0..NODES {
            let bus = free_port()?.to_string();
            let settings = [
                ("cluster-enabled", "yes"),
                ("cluster-port", &bus),
                ("cluster-node-timeout", "1000"),
                // A replica that is behind takes over all the same: a cache can lose what it has.
                ("cluster-replica-validity-factor", "0"),
                ("repl-diskless-sync-delay", "0"),
            ];
            nodes.push(ThrowawayRedis::start_with(&settings).await?);
        }
        let cluster = Self { nodes };
        let addresses: Vec<_> = cluster.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        let mut create = vec!["--cluster", "create"];
        create.extend(addresses.iter().map(String::as_str));
        create.extend(["--cluster-replicas", "1", "--cluster-yes"]);
        if cluster.nodes[0].try_command(&create).await.is_none() {
            return Err(cluster.failed().await);
        }
        cluster.wait_until_whole().await?;
        Ok(cluster)
    }

    /// Where its nodes are, as `redis://127.0.0.1:PORT`.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(ThrowawayRedis::url).collect()
    }

    /// Its nodes, of which some are primaries.
    #[must_use]
    pub fn nodes(&self) -> &[ThrowawayRedis] {
        &self.nodes
    }

    /// A node, to be killed or started again.
    ///
    /// # Panics
    /// Beyond the sixth.
    pub fn node(&mut self, number: usize) -> &mut ThrowawayRedis {
        &mut self.nodes[number]
    }

    /// The number of the node that is the primary of a key now, or that takes over within twenty seconds.
    ///
    /// # Panics
    /// When there is none.
    pub async fn primary_of(&self, key: &str) -> usize {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            for node in &self.nodes {
                if let Some(port) = port_by(node, key).await {
                    return self.nodes.iter().position(|node| node.port() == port).expect("one of ours");
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("nobody is the primary of {key}");
    }

    /// Waits until every slot has a primary and every primary a replica, as far as each living node knows.
    ///
    /// # Errors
    /// [`RedisUnavailable::Failed`] after twenty seconds.
    pub async fn wait_until_whole(&self) -> Result<(), RedisUnavailable> {
        let deadline = Instant::now() + PATIENCE;
        while !self.is_whole().await {
            if Instant::now() > deadline {
                return Err(self.failed().await);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    async fn is_whole(&self) -> bool {
        for node in &self.nodes {
            let Some(info) = node.try_command(&["cluster", "info"]).await else { continue };
            let Some(role) = node.try_command(&["info", "replication"]).await else { continue };
            let linked = role.contains("role:master") || role.contains("master_link_status:up");
            if !linked || !info.contains("cluster_state:ok") || !info.contains("cluster_known_nodes:6") {
                return false;
            }
        }
        true
    }

    async fn failed(&self) -> RedisUnavailable {
        let mut log = String::new();
        for node in &self.nodes {
            log += &node.try_command(&["cluster", "nodes"]).await.unwrap_or_else(|| "no answer".to_owned());
            log += "\n";
        }
        RedisUnavailable::Failed { log }
    }
}

/// The port of a key's primary, as a node knows it.
async fn port_by(node: &ThrowawayRedis, key: &str) -> Option<u16> {
    let slot = node.try_command(&["cluster", "keyslot", key]).await?.parse().ok()?;
    node.try_command(&["cluster", "nodes"]).await?.lines().find_map(|line| port_of_primary(line, slot))
}

/// Of a line of `cluster nodes`: `ID 127.0.0.1:PORT@BUS FLAGS .. FIRST-LAST ..`.
fn port_of_primary(line: &str, slot: u16) -> Option<u16> {
    let mut words = line.split_whitespace();
    let address = words.nth(1)?;
    let flags = words.next()?;
    if !flags.split(',').any(|flag| flag == "master") || flags.contains("fail") {
        return None;
    }
    let owns = words.skip(5).any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Ok(first), Ok(last)) = (first.parse::<u16>(), last.parse::<u16>()) else { return false };
        (first..=last).contains(&slot)
    });
    owns.then(|| address.split([':', '@']).nth(1)?.parse().ok()).flatten()
}

const NODES: usize = 6;
const PATIENCE: Duration = Duration::from_secs(20);
