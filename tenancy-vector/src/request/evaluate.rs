//! What an expression comes to, for back ends that compute it themselves.

use std::time::UNIX_EPOCH;

use serde_json::{Map, Value};

use super::expression::{Decay, Expression};
use crate::filter::{Condition, Place};
use crate::id::PointKey;
use crate::payload::PayloadKey;

impl Expression<PointKey> {
    /// The number for a point with this payload, to which the arms gave these scores. Whether it meets a condition
    /// says `holds`, which is given those of [`conditions`](Self::conditions).
    #[must_use]
    pub fn evaluate(&self, payload: &Map<String, Value>, scores: &[f32], holds: &dyn Fn(&Condition) -> bool) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "a score is an f32")]
        let score = self.precise(payload, scores, holds) as f32;
        score
    }

    /// The conditions in it.
    #[must_use]
    pub fn conditions(&self) -> Vec<&Condition> {
        match self {
            Self::When(condition) => vec![&**condition],
            Self::Number(_) | Self::Score(_) | Self::Value(..) | Self::Datetime(..) | Self::Distance(..) => Vec::new(),
            Self::Sum(all) | Self::Product(all) => all.iter().flat_map(Self::conditions).collect(),
            Self::Quotient(one, two, _) => [one, two].into_iter().flat_map(|inner| inner.conditions()).collect(),
            Self::Negative(inner) | Self::Absolute(inner) | Self::Decay { of: inner, .. } => inner.conditions(),
        }
    }

    fn precise(&self, payload: &Map<String, Value>, scores: &[f32], holds: &dyn Fn(&Condition) -> bool) -> f64 {
        let inner = |inner: &Self| inner.precise(payload, scores, holds);
        let found = |key: &PayloadKey| key.find(payload).into_iter().next();
        match self {
            Self::Number(number) => f64::from(*number),
            Self::Score(arm) => scores.get(*arm).copied().map_or(0.0, f64::from),
            Self::Value(key, or) => found(key).and_then(Value::as_f64).unwrap_or(f64::from(*or)),
            Self::When(condition) => f64::from(u8::from(holds(condition))),
            Self::Datetime(key, or) => found(key).and_then(seconds).unwrap_or(f64::from(*or)),
            Self::Distance(from, key, or) => {
                found(key).and_then(Place::of).map_or(f64::from(*or), |place| from.distance(place))
            }
            Self::Sum(all) => all.iter().map(inner).sum(),
            Self::Product(all) => all.iter().map(inner).product(),
            Self::Quotient(one, two, or) => {
                let (one, two) = (inner(one), inner(two));
                if two == 0.0 { f64::from(*or) } else { one / two }
            }
            Self::Negative(one) => -inner(one),
            Self::Absolute(one) => inner(one).abs(),
            Self::Decay { decay, of, target, scale, midpoint } => {
                let away = (inner(of) - f64::from(*target)).abs();
                let (scale, midpoint) = (f64::from(*scale), f64::from(*midpoint));
                match decay {
                    Decay::Linear => (1.0 - (1.0 - midpoint) * away / scale).max(0.0),
                    Decay::Exponential => (midpoint.ln() * away / scale).exp(),
                    Decay::Gauss => (midpoint.ln() * (away / scale).powi(2)).exp(),
                }
            }
        }
    }
}

/// Seconds since 1970.
fn seconds(value: &Value) -> Option<f64> {
    let time = humantime::parse_rfc3339(value.as_str()?).ok()?;
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64())
}
