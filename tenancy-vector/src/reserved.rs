//! The tag that every point carries, for those who write a back end.
//!
//! ```json
//! { "tenancy": { "life": "<uuid>", "digest": "<64 hex digits>", "id": "<external id>" }, "...": "the caller's" }
//! ```
//!
//! A back end puts the condition "`tenancy.life` is the scope's life" as a `must` on everything it asks its engine:
//! never as a `should`, which engines merge with others, and never left to the separation of partitions alone.

use serde_json::{Map, Value};
use tenancy_core::Life;

/// The one key of a payload that is not the caller's.
pub const KEY: &str = "tenancy";

/// The life, as [`life`] writes it.
pub const LIFE: &str = "life";

/// The point's whole [`digest`](crate::PointKey::digest).
pub const DIGEST: &str = "digest";

/// The external id.
pub const ID: &str = "id";

/// The JSON path of the life, for the condition on it.
pub const LIFE_PATH: &str = "tenancy.life";

/// The one form in which a life is stored: lower case, with hyphens. Engines compare texts, not uuids.
#[must_use]
pub fn life(life: Life) -> String {
    life.uuid().hyphenated().to_string()
}

/// A text of a payload's tag, if the payload has a tag with that text.
#[must_use]
pub fn text<'a>(payload: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    payload.get(KEY)?.as_object()?.get(name)?.as_str()
}
