//! Decimals without floating point: what is equal to a person is equal in a key.

use std::fmt;

use serde::de::{Deserializer, Error as _, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A decimal in millionths: `1.0`, `1.00` and `1` are one value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Decimal(i64);

impl Decimal {
    /// From millionths.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// In millionths.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Parses `[-]digits[.digits]`.
    ///
    /// # Errors
    /// [`DecimalError`] for any other form, more than six decimal places that are not zero, or a value beyond ±9e12.
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let numeric = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !numeric(whole) || !numeric(fraction) {
            return Err(DecimalError::Form);
        }
        let (kept, rest) = fraction.split_at(fraction.len().min(PLACES));
        if rest.bytes().any(|b| b != b'0') {
            return Err(DecimalError::TooFine);
        }
        let whole: i64 = whole.parse().map_err(|_| DecimalError::TooLarge)?;
        // At most six digits, checked above to be digits.
        let fraction = kept.bytes().fold(0i64, |n, b| n * 10 + i64::from(b - b'0'));
        let scale = 10i64.pow((PLACES - kept.len()) as u32);
        let micros = whole
            .checked_mul(1_000_000)
            .and_then(|n| n.checked_add(fraction * scale))
            .filter(|n| *n <= LIMIT)
            .ok_or(DecimalError::TooLarge)?;
        Ok(Self(if negative { -micros } else { micros }))
    }

    /// The nearest decimal to a finite number: what a JSON body holds.
    ///
    /// # Errors
    /// [`DecimalError`] for NaN, an infinity or a value beyond ±9e12.
    pub fn from_f64(value: f64) -> Result<Self, DecimalError> {
        if !value.is_finite() {
            return Err(DecimalError::Form);
        }
        let micros = (value * 1e6).round();
        if micros.abs() > LIMIT as f64 {
            return Err(DecimalError::TooLarge);
        }
        Ok(Self(micros as i64))
    }

    /// As a floating-point number, for the engine's body.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, fraction) = (self.0.unsigned_abs() / 1_000_000, self.0.unsigned_abs() % 1_000_000);
        let text = format!("{sign}{whole}.{fraction:06}");
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.to_f64())
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Decimal;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a finite number")
            }

            fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<Decimal, E> {
                Decimal::from_f64(n).map_err(E::custom)
            }

            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Decimal, E> {
                n.checked_mul(1_000_000)
                    .filter(|m| m.abs() <= LIMIT)
                    .map(Decimal)
                    .ok_or_else(|| E::custom(DecimalError::TooLarge))
            }

            fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Decimal, E> {
                i64::try_from(n).map_err(|_| E::custom(DecimalError::TooLarge)).and_then(|n| self.visit_i64(n))
            }
        }
        from.deserialize_any(Number).map_err(D::Error::custom)
    }
}

/// Why a text is not a decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecimalError {
    /// Not `[-]digits[.digits]`, or not finite.
    #[error("not a decimal number")]
    Form,
    /// More than six decimal places.
    #[error("more than six decimal places")]
    TooFine,
    /// Too large.
    #[error("the number is too large")]
    TooLarge,
}

const PLACES: usize = 6;
const LIMIT: i64 = 9_000_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_equal_however_they_are_written() {
        for text in ["1", "1.0", "1.00", "01.000000", "1.00000000"] {
            assert_eq!(Decimal::parse(text), Ok(Decimal::from_micros(1_000_000)), "{text}");
        }
        assert_eq!(Decimal::parse("-0"), Decimal::parse("0"));
        assert_eq!(Decimal::from_f64(0.1 + 0.2), Decimal::parse("0.3"));
        assert_eq!(Decimal::from_f64(-0.0), Ok(Decimal::from_micros(0)));
        assert_eq!(Decimal::parse("-2.5").unwrap().to_string(), "-2.5");
        assert_eq!(Decimal::parse("-0").unwrap().to_string(), "0");
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        for (text, why) in [
            ("", DecimalError::Form),
            ("1.", DecimalError::Form),
            (".5", DecimalError::Form),
            ("1e3", DecimalError::Form),
            ("NaN", DecimalError::Form),
            ("--1", DecimalError::Form),
            ("1.0000001", DecimalError::TooFine),
            ("9999999999999999999", DecimalError::TooLarge),
        ] {
            assert_eq!(Decimal::parse(text), Err(why), "{text:?}");
        }
        for n in [f64::NAN, f64::INFINITY, 1e300] {
            assert!(Decimal::from_f64(n).is_err());
        }
    }
}
