//! Reading single claims: a claim is what its type says, or it is refused. Nothing of the wrong type counts as absent.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use crate::denial::CredentialFault;
use crate::id::SubjectId;

/// The payload of a token.
pub(super) type Claims = Map<String, Value>;

/// A `NumericDate` (RFC 7519, section 2): seconds since 1970, fractions allowed.
///
/// `None` for anything else, for times before 1970, and past the year 9999, so that later sums can't overflow.
pub(super) fn time(value: &Value) -> Option<SystemTime> {
    let seconds = value.as_f64().filter(|s| (0.0..=END_OF_9999).contains(s))?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(seconds).ok()?)
}

/// A name: a text of 1 to 256 bytes without control characters.
pub(super) fn name(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| (1..=MAX_NAME_BYTES).contains(&text.len()) && !text.chars().any(char::is_control))
}

/// A list of at most 256 names.
pub(super) fn names(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array().filter(|list| list.len() <= MAX_NAMES)?;
    list.iter().map(|item| name(item).map(str::to_owned)).collect()
}

/// The subject of a token or of its actor.
pub(super) fn subject(value: Option<&Value>) -> Option<SubjectId> {
    SubjectId::parse(value?.as_str()?).ok()
}

/// Whether `aud` is `ours`, or a list of texts among which `ours` is.
pub(super) fn is_for(audience: Option<&Value>, ours: &str) -> bool {
    match audience {
        Some(Value::String(one)) => one == ours,
        Some(Value::Array(list)) => list.iter().all(Value::is_string) && list.iter().any(|one| one == ours),
        _ => false,
    }
}

/// Who acts for the subject (RFC 8693, section 4.1): one actor of the same issuer, without a chain of earlier ones.
pub(super) fn actor(claims: &Claims, issuer: &str, allowed: bool) -> Result<Option<SubjectId>, CredentialFault> {
    let Some(act) = claims.get("act") else { return Ok(None) };
    let act = act.as_object().filter(|_| allowed).ok_or(CredentialFault::Actor)?;
    if act.contains_key("act") || act.get("iss").is_some_and(|iss| iss != issuer) {
        return Err(CredentialFault::Actor);
    }
    subject(act.get("sub")).map(Some).ok_or(CredentialFault::Actor)
}

const END_OF_9999: f64 = 253_402_300_799.0;
const MAX_NAME_BYTES: usize = 256;
const MAX_NAMES: usize = 256;
