//! Formulas that score again.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::expression::Variant;
use qdrant_edge::{DecayKind, Expression, Formula};
use tonic::Status;

use super::filter::condition;
use super::value::json;
use super::{geo_point, missing, path};

pub(crate) fn formula(formula: pb::Formula) -> Result<Formula, Status> {
    let defaults = formula.defaults.into_iter().map(|(key, value)| Ok((key, json(value)?)));
    Ok(Formula { formula: required(formula.expression)?, defaults: defaults.collect::<Result<_, Status>>()? })
}

fn required(expression: Option<pb::Expression>) -> Result<Expression, Status> {
    self::expression(expression.ok_or_else(|| missing("an expression"))?)
}

fn expression(expression: pb::Expression) -> Result<Expression, Status> {
    let all =
        |expressions: Vec<pb::Expression>| expressions.into_iter().map(self::expression).collect::<Result<_, _>>();
    let one = |inner: Box<pb::Expression>| self::expression(*inner).map(Box::new);
    let operand = |inner: Option<Box<pb::Expression>>| one(inner.ok_or_else(|| missing("an operand"))?);
    Ok(match expression.variant.ok_or_else(|| missing("an expression"))? {
        Variant::Constant(number) => Expression::Constant(number),
        Variant::Variable(name) => Expression::Variable(name),
        Variant::Condition(inner) => {
            let kind = inner.condition_one_of.ok_or_else(|| missing("a condition"))?;
            Expression::Condition(Box::new(condition(kind)?))
        }
        Variant::GeoDistance(distance) => {
            Expression::GeoDistance { origin: geo_point(distance.origin)?, to: path(&distance.to)? }
        }
        Variant::Datetime(text) => Expression::Datetime(text),
        Variant::DatetimeKey(key) => Expression::DatetimeKey(path(&key)?),
        Variant::Mult(terms) => Expression::Mult(all(terms.mult)?),
        Variant::Sum(terms) => Expression::Sum(all(terms.sum)?),
        Variant::Div(division) => Expression::Div {
            left: operand(division.left)?,
            right: operand(division.right)?,
            by_zero_default: division.by_zero_default,
        },
        Variant::Neg(inner) => Expression::Neg(one(inner)?),
        Variant::Abs(inner) => Expression::Abs(one(inner)?),
        Variant::Sqrt(inner) => Expression::Sqrt(one(inner)?),
        Variant::Pow(power) => Expression::Pow { base: operand(power.base)?, exponent: operand(power.exponent)? },
        Variant::Exp(inner) => Expression::Exp(one(inner)?),
        Variant::Log10(inner) => Expression::Log10(one(inner)?),
        Variant::Ln(inner) => Expression::Ln(one(inner)?),
        Variant::ExpDecay(params) => decay(DecayKind::Exp, *params)?,
        Variant::GaussDecay(params) => decay(DecayKind::Gauss, *params)?,
        Variant::LinDecay(params) => decay(DecayKind::Lin, *params)?,
        Variant::Acosh(_) | Variant::Max(_) | Variant::Min(_) => {
            return Err(Status::unimplemented("the engine has no acosh, max and min"));
        }
    })
}

fn decay(kind: DecayKind, params: pb::DecayParamsExpression) -> Result<Expression, Status> {
    let pb::DecayParamsExpression { x, target, scale, midpoint } = params;
    let x = expression(*x.ok_or_else(|| missing("the x of a decay"))?)?;
    let target = target.map(|target| expression(*target)).transpose()?.map(Box::new);
    Ok(Expression::Decay { kind, x: Box::new(x), target, midpoint, scale })
}
