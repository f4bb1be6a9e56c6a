//! A role of before the adoption, for as long as it is still needed.

use std::time::{Duration, SystemTime};

use super::error::{DeclarationError, name};
use crate::ident::Name;

/// A login of the service as it was before it knew of tenants: until a day, it reads and writes every row.
///
/// The generated policy ends by itself on that day; nobody has to remember to drop it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyRole {
    pub(crate) role: Name,
    /// `YYYY-MM-DD`, checked.
    until: String,
    ends: SystemTime,
    reason: String,
}

impl LegacyRole {
    pub(super) fn parse(role: &str, until: &str, reason: &str) -> Result<Self, DeclarationError> {
        let refused = |why| DeclarationError::LegacyRole { role: role.to_owned(), why };
        let ends = midnight(until).ok_or_else(|| refused("needs the day of its end, as in 2027-03-31"))?;
        if matches!(role, "public" | "none") {
            return Err(refused("is no role"));
        }
        if reason.trim().is_empty() {
            return Err(refused("needs a reason"));
        }
        Ok(Self { role: name(role, "role")?, until: until.to_owned(), ends, reason: reason.to_owned() })
    }

    /// The role's name.
    #[must_use]
    pub fn role(&self) -> &str {
        self.role.as_str()
    }

    /// The day, as `YYYY-MM-DD`, at whose beginning in UTC the right ends.
    #[must_use]
    pub fn until(&self) -> &str {
        &self.until
    }

    /// The moment at which the right ends.
    #[must_use]
    pub const fn ends(&self) -> SystemTime {
        self.ends
    }

    /// That moment, as the server prints it in UTC.
    pub(crate) fn ends_at(&self) -> String {
        format!("{} 00:00:00+00", self.until)
    }

    /// Why it is still needed.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// The beginning of a day in UTC, from 1970 to 9999.
fn midnight(day: &str) -> Option<SystemTime> {
    let digits_and_dashes = day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _digit => byte.is_ascii_digit(),
    });
    if day.len() != 10 || !digits_and_dashes {
        return None;
    }
    let part = |range: std::ops::Range<usize>| day.get(range)?.parse::<u64>().ok();
    let (year, month, of_month) = (part(0..4)?, part(5..7)?, part(8..10)?);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = |month| match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u64::from(leap(year)),
        _long => 31,
    };
    if year < 1970 || !(1..=12).contains(&month) || !(1..=length(month)).contains(&of_month) {
        return None;
    }
    let years: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
    let months: u64 = (1..month).map(length).sum();
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs((years + months + of_month - 1) * 86_400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_and_nonsense_is_not() {
        for (day, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2026-11-29", 1_795_910_400),
            ("2027-03-31", 1_806_451_200),
            ("9999-12-31", 253_402_214_400),
        ] {
            assert_eq!(midnight(day), Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), "{day}");
        }
        for day in ["", "2027-02-29", "2100-02-29", "2027-13-01", "2027-00-01", "2027-04-31", "2027-4-01", "+027-04-01"]
        {
            assert_eq!(midnight(day), None, "{day}");
        }
    }
}
