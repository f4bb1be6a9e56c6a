//! Scores that the server computes.

use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::expression::Variant;
use serde_json::{Value, json};

use super::error::QdrantError;
use super::{filter, value};
use crate::filter::{Condition, Filter, Place};
use crate::id::PointKey;
use crate::payload::PayloadKey;
use crate::request::{Decay, Expression};

/// A formula whose every variable has a default: one point without the value fails the whole query otherwise.
///
/// The server has one default for a variable in all of a formula, and for a place or a time none that is a number. So
/// the default is always 0 in its type, and what the caller gave is added where the key is empty.
pub(super) fn formula(score: &Expression<PointKey>) -> Result<pb::Formula, QdrantError> {
    let mut defaults = Defaults(HashMap::new());
    let expression = Some(defaults.lower(score)?);
    let defaults = value::payload(defaults.0.into_iter().collect());
    Ok(pb::Formula { expression, defaults })
}

struct Defaults(HashMap<String, Value>);

impl Defaults {
    fn lower(&mut self, expression: &Expression<PointKey>) -> Result<pb::Expression, QdrantError> {
        let variant = match expression {
            Expression::Number(number) => Variant::Constant(*number),
            // The server has 0 for a point that the arm did not find.
            Expression::Score(arm) => Variant::Variable(format!("$score[{arm}]")),
            Expression::Value(key, or) => {
                self.zero(key, json!(0.0))?;
                return Ok(or_else(key, Variant::Variable(key.as_str().to_owned()), *or));
            }
            Expression::When(condition) => when(condition),
            Expression::Datetime(key, or) => {
                let start = humantime::format_rfc3339(UNIX_EPOCH + Duration::ZERO).to_string();
                self.zero(key, Value::String(start))?;
                return Ok(or_else(key, Variant::DatetimeKey(key.as_str().to_owned()), *or));
            }
            Expression::Distance(from, key, or) => {
                self.zero(key, json!({ "lon": from.lon(), "lat": from.lat() }))?;
                return Ok(or_else(key, distance(*from, key), *or));
            }
            Expression::Sum(all) => Variant::Sum(pb::SumExpression { sum: self.each(all)? }),
            Expression::Product(all) => Variant::Mult(pb::MultExpression { mult: self.each(all)? }),
            Expression::Quotient(one, two, or) => Variant::Div(Box::new(pb::DivExpression {
                left: Some(self.boxed(one)?),
                right: Some(self.boxed(two)?),
                by_zero_default: Some(*or),
            })),
            Expression::Negative(one) => Variant::Neg(self.boxed(one)?),
            Expression::Absolute(one) => Variant::Abs(self.boxed(one)?),
            Expression::Decay { decay, of, target, scale, midpoint } => {
                let params = Box::new(pb::DecayParamsExpression {
                    x: Some(self.boxed(of)?),
                    target: Some(Box::new(variant(Variant::Constant(*target)))),
                    scale: Some(*scale),
                    midpoint: Some(*midpoint),
                });
                match decay {
                    Decay::Linear => Variant::LinDecay(params),
                    Decay::Exponential => Variant::ExpDecay(params),
                    Decay::Gauss => Variant::GaussDecay(params),
                }
            }
        };
        Ok(self::variant(variant))
    }

    fn each(&mut self, all: &[Expression<PointKey>]) -> Result<Vec<pb::Expression>, QdrantError> {
        all.iter().map(|one| self.lower(one)).collect()
    }

    fn boxed(&mut self, one: &Expression<PointKey>) -> Result<Box<pb::Expression>, QdrantError> {
        self.lower(one).map(Box::new)
    }

    /// A key that is a number here and a time or another place there has no default that is good for both.
    fn zero(&mut self, key: &PayloadKey, zero: Value) -> Result<(), QdrantError> {
        match self.0.insert(key.as_str().to_owned(), zero.clone()) {
            Some(other) if other != zero => Err(QdrantError::NoForm),
            Some(_) | None => Ok(()),
        }
    }
}

/// The value, which is 0 where the key is empty, and there the other number.
fn or_else(key: &PayloadKey, value: Variant, or: f32) -> pb::Expression {
    let missing = when(&Filter::IsEmpty(key.clone()));
    let other = Variant::Mult(pb::MultExpression { mult: vec![variant(missing), variant(Variant::Constant(or))] });
    variant(Variant::Sum(pb::SumExpression { sum: vec![variant(value), variant(other)] }))
}

fn when(condition: &Condition) -> Variant {
    Variant::Condition(filter::lower(condition))
}

fn distance(from: Place, key: &PayloadKey) -> Variant {
    Variant::GeoDistance(pb::GeoDistance { origin: Some(filter::spot(from)), to: key.as_str().to_owned() })
}

const fn variant(variant: Variant) -> pb::Expression {
    pb::Expression { variant: Some(variant) }
}
