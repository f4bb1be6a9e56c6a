//! Is an expression the row key of the scope, and nothing else?
//!
//! ```text
//! NULLIF(current_setting('..', true), '')::type        casts and a (SELECT ..) around any part of it are looked through
//! schema.helper()                                      a function of SQL that returns one of these
//! tenancy.signed_row_key_uuid()                        where the declaration is signed, and nothing else there
//! ```

use sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Value,
};

use super::expression::{Bound, only_selected};

/// The row key as an expression gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    /// `text`, or the type it was cast to.
    pub(super) kind: String,
    /// Whether the empty setting becomes NULL.
    pub(super) nullif: bool,
}

pub(super) fn read(bound: &Bound<'_>, tree: &Expr) -> Option<Read> {
    match tree {
        Expr::Nested(inner) => read(bound, inner),
        Expr::Subquery(query) => read(bound, &only_selected(query)?),
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, format: None } => {
            cast(bound, read(bound, expr)?, data_type)
        }
        Expr::Function(call) => called(bound, call),
        _other => None,
    }
}

/// From text to the row key's type, or to what it is already. Through a third type other keys could become this one.
fn cast(bound: &Bound<'_>, inner: Read, to: &DataType) -> Option<Read> {
    let to = type_name(to);
    (to == inner.kind || (to == bound.key.sql() && inner.kind == "text")).then_some(Read { kind: to, ..inner })
}

fn called(bound: &Bound<'_>, call: &Function) -> Option<Read> {
    let name = names(&call.name)?;
    let arguments = arguments(call)?;
    match (name.as_slice(), arguments.as_slice()) {
        (["nullif"], [inner, empty]) if is_empty_text(empty) => {
            let inner = read(bound, inner)?;
            (inner.kind == "text").then_some(Read { nullif: true, ..inner })
        }
        (["current_setting"] | ["pg_catalog", "current_setting"], [setting, rest @ ..])
            if !bound.signed && is_text(setting, bound.setting) && is_missing_ok(rest) =>
        {
            Some(Read { kind: "text".to_owned(), nullif: false })
        }
        ([schema, function], []) => {
            let helper = bound.helpers.iter().find(|helper| helper.schema == *schema && helper.name == *function)?;
            if bound.signed {
                return helper.is_verifier(bound.key).then(|| Read { kind: bound.key.sql().to_owned(), nullif: true });
            }
            // A helper is asked about the setting alone: what it calls in turn is not looked into.
            let inner = read(&Bound { helpers: &[], ..*bound }, &helper.body()?)?;
            (inner.kind == helper.returns).then_some(inner)
        }
        _other => None,
    }
}

/// The parts of a name. The server prints NULLIF in upper case, and people write what they like in a function's text.
fn names(name: &ObjectName) -> Option<Vec<&str>> {
    let parts: Vec<&str> = name.0.iter().map(|part| Some(part.as_ident()?.value.as_str())).collect::<Option<_>>()?;
    let known = ["nullif", "current_setting"].into_iter();
    Some(match parts.as_slice() {
        [only] => known.filter(|known| known.eq_ignore_ascii_case(only)).chain([*only]).take(1).collect(),
        _several => parts,
    })
}

/// Plain arguments. Printed back the call must be name and arguments and nothing else: no FILTER, OVER, DISTINCT.
fn arguments(call: &Function) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = &call.args else { return None };
    let all: Vec<&Expr> = list.args.iter().map(plain).collect::<Option<_>>()?;
    let printed: Vec<String> = all.iter().map(ToString::to_string).collect();
    (call.to_string() == format!("{}({})", call.name, printed.join(", "))).then_some(all)
}

fn plain(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) => Some(inner),
        _named_or_wildcard => None,
    }
}

fn is_missing_ok(rest: &[&Expr]) -> bool {
    match rest {
        [] => true,
        [Expr::Value(flag)] => flag.value == Value::Boolean(true),
        _other => false,
    }
}

fn is_empty_text(tree: &Expr) -> bool {
    is_text(tree, "")
}

/// `'..'`, as it stands or with the cast that the server prints. Names of settings have no case.
fn is_text(tree: &Expr, wanted: &str) -> bool {
    match tree {
        Expr::Cast { kind: CastKind::DoubleColon, expr, data_type, format: None } if type_name(data_type) == "text" => {
            is_text(expr, wanted)
        }
        Expr::Value(text) => {
            matches!(&text.value, Value::SingleQuotedString(text) if text.eq_ignore_ascii_case(wanted))
        }
        _other => false,
    }
}

fn type_name(of: &DataType) -> String {
    of.to_string().to_ascii_lowercase()
}
