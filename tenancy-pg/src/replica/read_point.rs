//! What another process must see.

use std::fmt;

use tenancy_core::{Denial, Fields, TenantContext};

use super::point::Point;

/// How far a tenant's reads must see: made by [`TenantTx::commit_at`](crate::TenantTx::commit_at), and taken by
/// [`TenantDb::read_after`](crate::TenantDb::read_after) in any process of the realm that opens the same database.
///
/// An opaque text that the client may keep, in a cookie say. It is sealed: it tells nothing of how much others write, and
/// it is of use to the same subject of the same tenant only.
#[derive(Clone, PartialEq, Eq)]
pub struct ReadPoint(String);

impl ReadPoint {
    /// From the text that [`Display`](fmt::Display) gave. Whether it is one shows where it is used.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn seal(context: &TenantContext, point: Point) -> Result<Self, Denial> {
        context.cursor(&place(), &point.to_bytes()).map(Self)
    }

    pub(crate) fn open(&self, context: &TenantContext) -> Result<Option<Point>, Denial> {
        Ok(Point::from_bytes(&context.open_cursor(&place(), &self.0)?))
    }
}

fn place() -> Fields {
    let mut place = Fields::new();
    place.text(1, "pg.read_point");
    place
}

impl fmt::Display for ReadPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ReadPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadPoint(..)")
    }
}
