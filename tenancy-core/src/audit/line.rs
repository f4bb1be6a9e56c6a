//! The fields of a record: their order, their hash, and their form in JSON.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::event::Outcome;
use crate::encode::Fields;
use crate::id::{Life, RequestId};

/// All fields, in the order in which they are written and hashed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) realm: String,
    /// The lane, whose records of one writer and boot are a chain: `anonymous`, `operators`, or a life.
    pub(super) lane: String,
    pub(super) life: Option<Life>,
    pub(super) everyone: bool,
    #[serde(with = "hex")]
    pub(super) writer: [u8; 8],
    pub(super) boot: Uuid,
    pub(super) seq: u64,
    #[serde(with = "hex")]
    pub(super) prev: [u8; 32],
    pub(super) global: u64,
    #[serde(with = "hex")]
    pub(super) global_prev: [u8; 32],
    pub(super) count: u64,
    pub(super) actor: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) store: Option<Cow<'static, str>>,
    pub(super) action: Cow<'static, str>,
    #[serde(with = "outcome")]
    pub(super) outcome: Outcome,
    pub(super) rule: Option<Cow<'static, str>>,
    pub(super) request: Option<RequestId>,
    pub(super) reason: Option<String>,
    #[serde(with = "moment")]
    pub(super) at: Millis,
    #[serde(with = "hex")]
    pub(super) hash: [u8; 32],
}

impl Line {
    /// The hash of everything but the hash. Destructured, so that a field that is added can't be left out of it.
    pub(super) fn digest(&self) -> [u8; 32] {
        let Self {
            realm,
            lane,
            life,
            everyone,
            writer,
            boot,
            seq,
            prev,
            global,
            global_prev,
            count,
            actor,
            subject,
            store,
            action,
            outcome,
            rule,
            request,
            reason,
            at,
            hash: _,
        } = self;
        let mut fields = Fields::new();
        fields
            .text(1, realm)
            .text(2, lane)
            .opt_text(3, life.map(|life| life.uuid().to_string()).as_deref())
            .bool(4, *everyone)
            .bytes(5, writer)
            .uuid(6, *boot)
            .u64(7, *seq)
            .bytes(8, prev)
            .u64(9, *global)
            .bytes(10, global_prev)
            .u64(11, *count)
            .opt_text(12, actor.as_deref())
            .opt_text(13, subject.as_deref())
            .opt_text(14, store.as_deref())
            .text(15, action)
            .text(16, outcome.as_str())
            .opt_text(17, rule.as_deref())
            .opt_text(18, request.map(|request| request.to_string()).as_deref())
            .opt_text(19, reason.as_deref())
            .u64(20, at.0);
        blake3::derive_key(HASH_CONTEXT, fields.as_bytes())
    }
}

/// Milliseconds since 1970: what both the hash and the written time hold, so that neither says more than the other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Millis(u64);

impl Millis {
    /// Times before 1970 or after 9999, which have no written form, become the nearest that has.
    pub(super) fn of(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX).min(END_OF_9999))
    }

    pub(super) fn time(self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.0)
    }
}

mod moment {
    use serde::de::{Deserializer, Error as _};
    use serde::{Deserialize as _, Serializer};

    use super::{Cow, Millis};

    pub(super) fn serialize<S: Serializer>(at: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_rfc3339_millis(at.time()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text).map(Millis::of).map_err(|_| D::Error::custom("not a time"))
    }
}

mod outcome {
    use serde::de::{Deserializer, Error as _};
    use serde::{Deserialize as _, Serializer};

    use super::{Cow, Outcome};

    pub(super) fn serialize<S: Serializer>(outcome: &Outcome, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(outcome.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Outcome, D::Error> {
        let word = Cow::<str>::deserialize(deserializer)?;
        Outcome::parse(&word).ok_or_else(|| D::Error::custom("not an outcome"))
    }
}

mod hex {
    use data_encoding::HEXLOWER;
    use serde::de::{Deserializer, Error as _};
    use serde::{Deserialize as _, Serializer};

    use super::Cow;

    pub(super) fn serialize<S: Serializer, const N: usize>(bytes: &[u8; N], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&HEXLOWER.encode_display(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(deserializer: D) -> Result<[u8; N], D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| D::Error::custom("not hex digits"))?;
        bytes.try_into().map_err(|_| D::Error::custom("a wrong number of hex digits"))
    }
}

const HASH_CONTEXT: &str = "tenancy 2026-11-29 audit record v1";
const END_OF_9999: u64 = 253_402_300_799_999;
