//! Places in a primary's write-ahead log.

use std::fmt;

use sqlx::Row;
use sqlx::postgres::PgRow;

/// How far the log had come at some moment. Only places of one timeline can be compared: the next one begins where a
/// standby was promoted, and numbers of the old one go on past that place without being a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(super) timeline: u32,
    pub(super) lsn: u64,
}

impl Point {
    /// From the columns of [`POINT`].
    pub(crate) fn of(row: &PgRow) -> Option<Self> {
        let (timeline, lsn): (&str, &str) = (row.try_get(0).ok()?, row.try_get(1).ok()?);
        Self::parse(timeline, lsn)
    }

    fn parse(timeline: &str, lsn: &str) -> Option<Self> {
        let hex = |text: &str| u32::from_str_radix(text, 16).ok();
        let (high, low) = lsn.split_once('/')?;
        Some(Self { timeline: hex(timeline)?, lsn: u64::from(hex(high)?) << 32 | u64::from(hex(low)?) })
    }

    pub(super) fn to_bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.timeline.to_be_bytes());
        bytes[4..].copy_from_slice(&self.lsn.to_be_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (timeline, lsn) = bytes.split_first_chunk()?;
        Some(Self { timeline: u32::from_be_bytes(*timeline), lsn: u64::from_be_bytes(lsn.try_into().ok()?) })
    }
}

/// The number, as the server writes it.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.lsn >> 32, self.lsn & u64::from(u32::MAX))
    }
}

/// Asks a primary how far its log has come. Behind a commit it is past that commit, whether that is on disk already or
/// not: where the next record will be put, and not what was written out or flushed, which with `synchronous_commit = off`
/// may be less. The first eight digits of a log file's name are the timeline.
pub(crate) const POINT: &str = "select pg_catalog.left(pg_catalog.pg_walfile_name(lsn), 8), lsn::pg_catalog.text \
                                from pg_catalog.pg_current_wal_insert_lsn() as lsn";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_and_written_as_the_server_does() {
        let point = Point::parse("0000000A", "16/B374D848").unwrap();
        assert_eq!(point, Point { timeline: 10, lsn: 0x16_B374_D848 });
        assert_eq!(point.to_string(), "16/B374D848");
        assert_eq!(Point::from_bytes(&point.to_bytes()), Some(point));
        for (timeline, lsn) in [("", "0/0"), ("1", "0"), ("1", "/1"), ("x", "0/1"), ("1", "0/1ffffffff")] {
            assert_eq!(Point::parse(timeline, lsn), None, "{timeline} {lsn}");
        }
        assert_eq!(Point::from_bytes(&[0; 11]), None);
        assert_eq!(Point::from_bytes(&[0; 13]), None);
    }
}
