//! Entries in Redis: one server, or a cluster.
//!
//! ```text
//! tc1:{TAG.B}:epoch               32 bytes: a random word, and the history of the server that it was made on
//! tc1:{TAG.B}:LAYER:DIGEST        an entry
//! tc1:{TAG.B}:LAYER:DIGEST:gone   a random word, since the entry was removed
//! tc1:{TAG.0}:salts               as an epoch, of what is kept elsewhere
//! ```
//!
//! TAG is [`CacheScope::tag`], and B one of sixteen parts of a life, by the first hex digit of the digest: in a cluster one
//! slot each, so that a large tenant is not one node's.
//!
//! # Nothing comes back
//!
//! An entry counts while the word that it was sealed under stands: the epoch of its part, and the word of its removal if
//! there was one. Both are read in the command that reads the entry. So
//!
//! - a flush deletes seventeen keys, and whatever is put later under the old word is not found;
//! - a removal writes a word, and a fill in another process that had begun before it is not found when it lands;
//! - a server that was restarted, restored from a snapshot or promoted has another history, and epochs of
//!   before are none to it: it begins cold, whatever it has.

mod history;
mod line;
mod options;
mod repair;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use redis::{Cmd, cmd};
use tenancy_core::StoreVerdict;

use self::line::Line;
pub use self::options::{RedisError, RedisOptions};
use self::repair::Repairs;
use crate::backend::{CacheBackend, CacheScope, Found, StoreKey};
use crate::epoch::Epoch;
use crate::error::BackendError;

/// Keeps entries in Redis 7 or later. Cheap to share; nothing is sent before the first call, and a server that is not there
/// is a cache that stands aside until it is.
///
/// One connection, or one to each node of a cluster, which is made anew when it breaks or is silent, by a task of its own.
/// Every call may be dropped at any await: a look changes nothing but a missing epoch, and of a removal or a flush it is open
/// then whether it happened, of which the layers take care.
///
/// What it rests on: a primary that was cut off and does not know yet that another has taken over answers with what it has,
/// in a cluster for its `cluster-node-timeout`. Where an eviction policy may drop the word of a removal before the entry, a
/// fill that was under way during the removal can be found after it; the keys of a cache are best evicted by `volatile-ttl`
/// or not at all.
pub struct RedisBackend {
    line: Line,
    repairs: Repairs,
}

impl RedisBackend {
    /// A back end on the servers of these options.
    ///
    /// # Errors
    /// [`RedisError::BadAddress`].
    pub fn new(options: &RedisOptions) -> Result<Self, RedisError> {
        Ok(Self { line: Line::new(options)?, repairs: Repairs::default() })
    }

    /// Connects, and says what is wrong: for a start-up that wants to know.
    ///
    /// # Errors
    /// [`RedisError::Unreachable`], [`RedisError::Refused`], [`RedisError::NoHistory`].
    pub async fn check(&self) -> Result<(), RedisError> {
        self.line.check("tc1:{check}:epoch").await
    }

    /// Looks again, makes an epoch if there still is none that counts, and takes the one that is there then: another process
    /// may have made one at the same time.
    async fn make_epoch(&self, name: &str) -> Result<Epoch, RedisError> {
        let (history, found) = self.line.look_one(name).await?;
        if let Some(epoch) = found.and_then(|bytes| history.epoch(&bytes)) {
            return Ok(epoch);
        }
        let made = history.with(Epoch::random());
        self.line.order(cmd("SET").arg(name).arg(made.as_slice()).arg("PX").arg(millis(EPOCH_TTL))).await?;
        let (history, found) = self.line.look_one(name).await?;
        found.and_then(|bytes| history.epoch(&bytes)).ok_or(RedisError::NoHistory)
    }

    /// A command for each of the keys that hold a life's epochs.
    async fn each_epoch(&self, scope: &CacheScope<'_>, command: &str) -> Result<u64, RedisError> {
        let names = (0..PARTS).map(|part| epoch_name(scope, part)).chain([salts_name(scope)]);
        let commands = names.map(|name| async move { self.line.count(cmd(command).arg(name)).await });
        Ok(try_join_all(commands).await?.into_iter().fold(0, u64::saturating_add))
    }
}

#[async_trait]
impl CacheBackend for RedisBackend {
    async fn epoch(&self, scope: &CacheScope<'_>) -> Result<Epoch, BackendError> {
        let name = salts_name(scope);
        let (history, found) = self.line.look_one(&name).await?;
        match found.and_then(|bytes| history.epoch(&bytes)) {
            Some(epoch) => Ok(epoch),
            None => Ok(self.repairs.make(&name, || self.make_epoch(&name)).await?),
        }
    }

    async fn get(&self, scope: &CacheScope<'_>, key: &StoreKey) -> Result<Found, BackendError> {
        if !key.is_of(scope) {
            return Ok(Found::new(self.epoch(scope).await?, None));
        }
        let (epoch_name, gone) = (epoch_name(scope, key.part()), gone_name(key));
        let (history, found) = self.line.look(&[&epoch_name, &gone, key.as_str()]).await?;
        let [epoch, gone, bytes] = <[_; 3]>::try_from(found).map_err(|_| RedisError::BadAnswer)?;
        let (epoch, bytes) = match epoch.and_then(|bytes| history.epoch(&bytes)) {
            Some(epoch) => (epoch, bytes),
            // Whatever is there is of an epoch that counts no more.
            None => (self.repairs.make(&epoch_name, || self.make_epoch(&epoch_name)).await?, None),
        };
        let word = match gone {
            None => epoch,
            Some(word) => epoch.and(word.try_into().map_err(|_| RedisError::BadAnswer)?),
        };
        Ok(Found::new(word, bytes))
    }

    async fn put(
        &self,
        scope: &CacheScope<'_>,
        key: &StoreKey,
        sealed: Vec<u8>,
        ttl: Duration,
    ) -> Result<(), BackendError> {
        if key.is_of(scope) {
            self.line.order(cmd("SET").arg(key.as_str()).arg(sealed).arg("PX").arg(millis(ttl))).await?;
        }
        Ok(())
    }

    async fn remove(&self, scope: &CacheScope<'_>, key: &StoreKey, late: Duration) -> Result<(), BackendError> {
        if !key.is_of(scope) {
            return Ok(());
        }
        let word = Epoch::random();
        let gone = gone_name(key);
        let fence = self.line.order(cmd("SET").arg(&gone).arg(word.as_bytes()).arg("PX").arg(millis(late))).await;
        match fence {
            Ok(()) => {}
            // Full, and nothing may be driven out. Deleting is always possible: the part of the life it is, then.
            Err(RedisError::Full) => drop(self.line.count(&unlink(&epoch_name(scope, key.part()))).await?),
            Err(error) => return Err(error.into()),
        }
        // It can't be found any more; that the bytes stay until their time is up is no failure.
        let _tidied = self.line.count(&unlink(key.as_str())).await;
        Ok(())
    }

    async fn forget(&self, scope: &CacheScope<'_>) -> Result<(), BackendError> {
        self.each_epoch(scope, "UNLINK").await?;
        Ok(())
    }

    /// Entries stay until their time is up, where nobody finds them.
    async fn left(&self, scope: &CacheScope<'_>) -> Result<StoreVerdict, BackendError> {
        let left = self.each_epoch(scope, "EXISTS").await?;
        Ok(if left == 0 { StoreVerdict::LogicalOnly } else { StoreVerdict::failed("the life has epochs in Redis") })
    }
}

impl fmt::Debug for RedisBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBackend").field("line", &self.line).finish_non_exhaustive()
    }
}

fn epoch_name(scope: &CacheScope<'_>, part: u8) -> String {
    format!("tc1:{{{}.{part:x}}}:epoch", scope.tag())
}

fn salts_name(scope: &CacheScope<'_>) -> String {
    format!("tc1:{{{}.0}}:salts", scope.tag())
}

fn gone_name(key: &StoreKey) -> String {
    [key.as_str(), ":gone"].concat()
}

fn unlink(name: &str) -> Cmd {
    let mut command = cmd("UNLINK");
    command.arg(name);
    command
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}

const PARTS: u8 = 16;
/// Longer than entries live. An epoch that is gone leaves them unfindable, no more.
const EPOCH_TTL: Duration = Duration::from_secs(400 * 24 * 3600);
