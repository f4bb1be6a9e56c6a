//! An answer with the direction of its question: what is alike is found out here, and not believed of an index.

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

/// What is kept under a question's name.
#[derive(Serialize, Deserialize)]
pub(super) struct Answered<V> {
    /// The question's vector, each number in four bytes, little end first.
    at: String,
    pub(super) answer: V,
}

impl<V> Answered<V> {
    pub(super) fn new(vector: &[f32], answer: V) -> Self {
        let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
        Self { at: BASE64.encode(&bytes), answer }
    }

    /// The cosine of the angle to another vector of the dimension; no number for any other.
    pub(super) fn cosine_to(&self, other: &[f32]) -> f32 {
        let bytes = BASE64.decode(self.at.as_bytes()).unwrap_or_default();
        let (own, rest) = bytes.as_chunks();
        if !rest.is_empty() || own.len() != other.len() {
            return f32::NAN;
        }
        let own: Vec<_> = own.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        (dot(&own, other) / (dot(&own, &own).sqrt() * dot(other, other).sqrt())) as f32
    }
}

/// In doubles, in which no square of a number runs over.
fn dot(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_angle_is_measured_to_what_was_kept() {
        let kept = serde_json::to_string(&Answered::new(&[3.0, 0.0, 4.0], "a")).unwrap();
        let kept: Answered<String> = serde_json::from_str(&kept).unwrap();
        for (other, cosine) in [
            ([3.0, 0.0, 4.0], 1.0),
            ([6e30, 0.0, 8e30], 1.0),
            ([6e-38, 0.0, 8e-38], 1.0),
            ([-3.0, 0.0, -4.0], -1.0),
            ([0.0, 9.0, 0.0], 0.0),
            ([1.0, 0.0, 0.0], 0.6),
        ] {
            assert!((kept.cosine_to(&other) - cosine).abs() < 1e-6, "{other:?}: {}", kept.cosine_to(&other));
        }
        for other in [&[0.0; 3][..], &[3.0, 0.0], &[3.0, 0.0, 4.0, 0.0], &[f32::NAN; 3], &[]] {
            assert!(kept.cosine_to(other).is_nan(), "{other:?}");
        }
        let bent = Answered { at: "AAAA".to_owned(), answer: () };
        assert!(bent.cosine_to(&[]).is_nan());
    }
}
