//! What is kept: the epoch in the clear, and sealed to the key, when it was kept and the value's JSON.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenancy_core::purpose::CacheValue;
use tenancy_core::{Entered, TenantContext, Zeroizing};

use crate::backend::{CacheScope, Found};
use crate::caches::Scope;
use crate::epoch::Epoch;
use crate::error::{Bypass, CacheError};
use crate::key::{CacheKey, Name, VALUE_SCHEMA};
use crate::stats::Outcome;
use crate::tenant_layer::is_integrity;

/// A value in plain bytes: when it was made, in seconds, and its JSON. Zeroised, also what it grew out of.
#[derive(Clone)]
pub(crate) struct Plain(Zeroizing<Vec<u8>>);

/// What was found under a name.
pub(crate) struct Kept<V> {
    pub(crate) value: V,
    /// How long ago it was made.
    pub(crate) age: Duration,
}

impl Plain {
    /// Of nothing yet.
    pub(crate) fn new(context: &TenantContext) -> Self {
        let seconds = context.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Self(Zeroizing::new(seconds.to_be_bytes().to_vec()))
    }

    /// Of a whole value.
    pub(crate) fn of<V: Serialize>(context: &TenantContext, value: &V) -> Result<Self, CacheError> {
        let mut plain = Self::new(context);
        plain.add(value)?;
        Ok(plain)
    }

    /// With a value's JSON behind what is there.
    pub(crate) fn add<V: Serialize>(&mut self, value: &V) -> Result<(), CacheError> {
        serde_json::to_writer(self, value).map_err(|_| CacheError::Value)
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let needed = self.0.len() + bytes.len();
        if needed > self.0.capacity() {
            // A vector that grows by itself leaves what it held behind.
            let mut larger = Zeroizing::new(Vec::with_capacity(needed.next_power_of_two()));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no JSON in it yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == size_of::<u64>()
    }

    /// The value, if it has this form.
    pub(crate) fn value<V: DeserializeOwned>(&self) -> Option<V> {
        read(&self.0).and_then(|(_, json)| serde_json::from_slice(json).ok())
    }

    /// What to keep under a key until then.
    pub(crate) fn seal(
        &self,
        context: &TenantContext,
        key: &CacheKey,
        expires: SystemTime,
    ) -> Result<Vec<u8>, CacheError> {
        let sealed = context.seal::<CacheValue>(VALUE_SCHEMA, &key.place(), Some(expires), &self.0)?;
        Ok([key.epoch().as_bytes(), sealed.as_bytes()].concat())
    }
}

impl io::Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The epoch of a name's entries, and the value under it if there is one that opens and is of that epoch.
///
/// A value says its epoch in the clear. It is opened under the one it names: what does not open was not kept here, and what
/// opens and is of another epoch was flushed.
pub(crate) async fn find<V: DeserializeOwned>(
    scope: &Scope,
    entered: &Entered<'_>,
    name: &Name,
) -> Result<(Epoch, Option<Kept<V>>), CacheError> {
    let tag = &scope.state.tag;
    let (of_call, key) = (CacheScope::entered(entered, tag), tag.key(name));
    let Found { epoch, bytes } = scope.ask(scope.backend().get(&of_call, &key)).await.map_err(|_| Bypass::Backend)?;
    let Some(bytes) = bytes else { return Ok((epoch, None)) };
    let (named, sealed) = bytes.split_first_chunk().unwrap_or((&[0; 16], &[]));
    let named = Epoch::from_bytes(*named);
    let context = entered.context();
    match context.open::<CacheValue>(VALUE_SCHEMA, &name.at(named).place(), sealed) {
        Ok(plain) if named == epoch => Ok((epoch, kept(context, &plain))),
        Ok(_flushed) => Ok((epoch, None)),
        Err(denial) if is_integrity(&denial) => {
            scope.count(name.layer(), Outcome::IntegrityMiss);
            Ok((epoch, None))
        }
        Err(denial) => Err(denial.into()),
    }
}

/// A value of an older form of `V` is no value.
fn kept<V: DeserializeOwned>(context: &TenantContext, plain: &[u8]) -> Option<Kept<V>> {
    let (made, json) = read(plain)?;
    let age = context.now().duration_since(made).unwrap_or_default();
    Some(Kept { value: serde_json::from_slice(json).ok()?, age })
}

fn read(plain: &[u8]) -> Option<(SystemTime, &[u8])> {
    let (seconds, json) = plain.split_first_chunk()?;
    Some((UNIX_EPOCH.checked_add(Duration::from_secs(u64::from_be_bytes(*seconds)))?, json))
}

#[cfg(test)]
mod tests {
    use tenancy_testkit::TestTenants;

    use super::*;

    #[tokio::test]
    async fn a_value_comes_back_from_its_bytes_however_they_were_put_together() {
        let context = TestTenants::new().await.context("acme").await;
        let list: Vec<String> = (0..200).map(|n| format!("part {n} \u{1F511}")).collect();
        let whole = Plain::of(&context, &list).unwrap();
        let mut parts = Plain::new(&context);
        for (number, part) in list.iter().enumerate() {
            parts.push(if number == 0 { b"[" } else { b"," });
            parts.add(part).unwrap();
        }
        parts.push(b"]");
        assert_eq!(parts.value::<Vec<String>>().as_ref(), Some(&list));
        assert_eq!(parts.0[8..], whole.0[8..]);
        assert_eq!(whole.value::<u32>(), None, "of another form");
        let old = kept::<Vec<String>>(&context, &[&[0; 8], &whole.0[8..]].concat()).unwrap();
        assert!(old.age > Duration::from_secs(1_000_000_000) && old.value == list);
        let ahead = kept::<Vec<String>>(&context, &[&[0, 0xff, 0, 0, 0, 0, 0, 0], &whole.0[8..]].concat());
        assert_eq!(ahead.map(|kept| kept.age), Some(Duration::ZERO), "another process's clock may be ahead");
        for bytes in [&[][..], &[0; 7], &[0xff; 8]] {
            assert!(kept::<Vec<String>>(&context, bytes).is_none(), "{bytes:?}");
        }
    }
}
