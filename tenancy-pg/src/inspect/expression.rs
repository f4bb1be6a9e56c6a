//! Does an expression of a policy bind the tenant?
//!
//! Read as a syntax tree from what `pg_get_expr` prints with a search path of `pg_catalog` alone, where a function,
//! operator or type of somebody else's shows its schema and every operation stands in parentheses. What does not parse
//! or is not understood does not bind: a right policy in an unknown shape stops the start, a wrong one never passes.
//!
//! ```text
//! column = VALUE, VALUE = column, column = ANY (ARRAY[VALUE, ..]), column IN (SELECT VALUE)      see `value`
//! a AND b       binds if one of them does
//! a OR b        binds if both do
//! ```
//!
//! NOT, CASE, COALESCE, IS NULL, EXISTS and all others do not bind, whatever is inside.

use sqlparser::ast::{BinaryOperator, Expr, InTarget, Query, SetExpr};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer, Word};

use super::helpers::Helper;
use super::value::{self, Read};
use crate::declaration::RowKeyType;

/// What an expression does for the tenant's boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Only rows of the tenant in the setting.
    Binds,
    /// As [`Binds`](Self::Binds), but it fails where the setting is empty.
    BindsWithoutNullif,
    /// Anything else.
    Unbound(Why),
}

/// Why an expression does not bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Our parser does not read it.
    Unreadable,
    /// An OR one side of which does not bind, so that side is enough.
    Or,
    /// Compares with a setting of another name, which any statement can set.
    OtherSetting,
    /// Compares with a user, whom all tenants of a pool share.
    User,
    /// Not one of the known shapes.
    Unknown,
}

/// What must be compared with what.
#[derive(Clone, Copy)]
pub(super) struct Bound<'a> {
    pub(super) column: &'a str,
    pub(super) key: RowKeyType,
    pub(super) setting: &'a str,
    /// Whether the row key comes from the signed scope; the plain setting is then anybody's to set and does not bind.
    pub(super) signed: bool,
    /// The functions that the policy calls.
    pub(super) helpers: &'a [Helper],
}

impl Bound<'_> {
    pub(super) fn shape(&self, expression: &str) -> Shape {
        let Some(tree) = parse(expression) else { return Shape::Unbound(Why::Unreadable) };
        // An invisible cast or operator of somebody else's could give `=` or `::` another meaning.
        if self.helpers.iter().any(|helper| !names(expression, &helper.name)) {
            return Shape::Unbound(Why::Unknown);
        }
        match self.of(&tree) {
            Shape::Unbound(Why::Unknown) if self.reads_other_setting(expression) => Shape::Unbound(Why::OtherSetting),
            Shape::Unbound(Why::Unknown) if reads_user(expression) => Shape::Unbound(Why::User),
            shape => shape,
        }
    }

    /// Whether it calls `current_setting` for a name that is not ours, or one that can't be told.
    pub(super) fn reads_other_setting(&self, expression: &str) -> bool {
        tokens(expression).windows(3).any(|three| match three {
            [Token::Word(call), Token::LParen, name] if is_name(call, "current_setting") => {
                !matches!(name, Token::SingleQuotedString(name) if name.eq_ignore_ascii_case(self.setting))
            }
            _other => false,
        })
    }

    fn of(&self, tree: &Expr) -> Shape {
        match tree {
            Expr::Nested(inner) => self.of(inner),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => self.of(left).better(self.of(right)),
            Expr::BinaryOp { left, op: BinaryOperator::Or, right } => self.of(left).worse(self.of(right)).after_or(),
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                match (self.is_column(left), self.is_column(right)) {
                    (true, false) => self.value(right),
                    (false, true) => self.value(left),
                    _other => Shape::Unbound(Why::Unknown),
                }
            }
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, is_some: false } if self.is_column(left) => {
                self.each(right)
            }
            Expr::In { expr, target: InTarget::Subquery(query), negated: false, global: false }
                if self.is_column(expr) =>
            {
                only_selected(query).map_or(Shape::Unbound(Why::Unknown), |inner| self.value(&inner))
            }
            _not_understood => Shape::Unbound(Why::Unknown),
        }
    }

    /// Every element of `ARRAY[..]`.
    fn each(&self, tree: &Expr) -> Shape {
        match tree {
            Expr::Nested(inner) => self.each(inner),
            Expr::Array(array) if array.named => {
                let shapes = array.elem.iter().map(|element| self.value(element));
                shapes.reduce(Shape::worse).unwrap_or(Shape::Unbound(Why::Unknown))
            }
            _other => Shape::Unbound(Why::Unknown),
        }
    }

    fn is_column(&self, tree: &Expr) -> bool {
        match tree {
            Expr::Nested(inner) => self.is_column(inner),
            Expr::Identifier(name) => name.value == self.column,
            _other => false,
        }
    }

    fn value(&self, tree: &Expr) -> Shape {
        match value::read(self, tree) {
            Some(Read { kind, nullif: true }) if kind == self.key.sql() => Shape::Binds,
            Some(Read { kind, nullif: false }) if kind == self.key.sql() => Shape::BindsWithoutNullif,
            _other => Shape::Unbound(Why::Unknown),
        }
    }
}

impl Shape {
    pub(super) const fn binds(self) -> bool {
        matches!(self, Self::Binds | Self::BindsWithoutNullif)
    }

    fn better(self, other: Self) -> Self {
        if other.rank() < self.rank() { other } else { self }
    }

    fn worse(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }

    const fn after_or(self) -> Self {
        match self {
            Self::Unbound(_) => Self::Unbound(Why::Or),
            Self::Binds | Self::BindsWithoutNullif => self,
        }
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Binds => 0,
            Self::BindsWithoutNullif => 1,
            Self::Unbound(_) => 2,
        }
    }
}

/// One expression and nothing behind it.
pub(super) fn parse(expression: &str) -> Option<Expr> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(expression).ok()?;
    let tree = parser.parse_expr().ok()?;
    (parser.peek_token().token == Token::EOF).then_some(tree)
}

/// What `SELECT expression [AS name]` selects. Printed back it must be that and nothing else: no FROM, no WHERE, no
/// LIMIT, and no clause that a later version of the parser knows.
pub(super) fn only_selected(query: &Query) -> Option<Expr> {
    use sqlparser::ast::SelectItem::{ExprWithAlias, UnnamedExpr};
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let [item] = select.projection.as_slice() else { return None };
    let (UnnamedExpr(inner) | ExprWithAlias { expr: inner, .. }) = item else { return None };
    (query.to_string() == format!("SELECT {item}")).then(|| inner.clone())
}

/// Whether it reads who is connected, whom all tenants of a pool share.
pub(super) fn reads_user(expression: &str) -> bool {
    let users = ["current_user", "session_user", "user", "current_role"];
    tokens(expression).iter().any(|token| match token {
        Token::Word(word) => {
            word.quote_style.is_none() && users.iter().any(|user| word.value.eq_ignore_ascii_case(user))
        }
        _other => false,
    })
}

/// Whether it calls a function of this name.
fn names(expression: &str, function: &str) -> bool {
    tokens(expression)
        .windows(2)
        .any(|two| matches!(two, [Token::Word(word), Token::LParen] if is_name(word, function)))
}

fn is_name(word: &Word, name: &str) -> bool {
    match word.quote_style {
        Some(_) => word.value == name,
        None => word.value.eq_ignore_ascii_case(name),
    }
}

fn tokens(expression: &str) -> Vec<Token> {
    let all = Tokenizer::new(&PostgreSqlDialect {}, expression).tokenize().unwrap_or_default();
    all.into_iter().filter(|token| !matches!(token, Token::Whitespace(_))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound<'static> =
        Bound { column: "tenant_id", key: RowKeyType::Uuid, setting: "tenancy.row_key", signed: false, helpers: &[] };
    const OURS: &str = "(tenant_id = (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid)";

    /// Every text here was printed by a server.
    #[test]
    fn the_right_shapes_bind() {
        for text in [
            OURS,
            "((NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid = tenant_id)",
            "(( SELECT (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid AS \"nullif\") = tenant_id)",
            "(tenant_id = (( SELECT NULLIF(current_setting('tenancy.row_key'::text, true), ''::text) AS \"nullif\"))::uuid)",
            "((tenant_id = (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid) AND active)",
            "(true AND (tenant_id = (NULLIF(current_setting('tenancy.row_key'::text), ''::text))::uuid))",
            "((tenant_id = (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid) AND ((a >= 1) OR (NOT b)) AND (lower(x) = 'a b'::text))",
            "(tenant_id = ANY (ARRAY[(NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid]))",
            "(tenant_id IN ( SELECT (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid AS \"nullif\"))",
            "(tenant_id = (NULLIF(current_setting('TENANCY.Row_Key'::text, true), ''::text))::uuid)",
            &format!("(({OURS} AND active) OR ({OURS} AND (body ~~ 'x%'::text)))"),
            &format!("({OURS} AND (EXISTS ( SELECT 1\n   FROM public.t z\n  WHERE (z.id = note.id))))"),
            &format!("({OURS} AND (current_setting('app.admin'::text, true) = 'on'::text))"),
        ] {
            assert_eq!(BOUND.shape(text), Shape::Binds, "{text}");
        }
        let text = "(x = NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))";
        assert_eq!(Bound { column: "x", key: RowKeyType::Text, ..BOUND }.shape(text), Shape::Binds);
        let text = "(\"Tén ant\" = (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::bigint)";
        assert_eq!(Bound { column: "Tén ant", key: RowKeyType::BigInt, ..BOUND }.shape(text), Shape::Binds);
        assert_eq!(Bound { signed: true, ..BOUND }.shape(OURS), Shape::Unbound(Why::Unknown), "anybody sets it");
    }

    #[test]
    fn without_nullif_it_binds_and_fails() {
        for text in [
            "(tenant_id = (current_setting('tenancy.row_key'::text, true))::uuid)",
            "(tenant_id = (( SELECT current_setting('tenancy.row_key'::text, true) AS current_setting))::uuid)",
            &format!("({OURS} OR (tenant_id = (current_setting('tenancy.row_key'::text, true))::uuid))"),
        ] {
            assert_eq!(BOUND.shape(text), Shape::BindsWithoutNullif, "{text}");
        }
    }

    #[test]
    fn everything_else_does_not_bind() {
        for (text, why) in [
            ("true".to_owned(), Why::Unknown),
            (String::new(), Why::Unreadable),
            (format!("({OURS} OR active)"), Why::Or),
            (format!("({OURS} OR (tenant_id IS NULL))"), Why::Or),
            (format!("(({OURS} AND a) OR b OR ({OURS} AND c))"), Why::Or),
            (format!("(NOT {OURS})"), Why::Unknown),
            (format!("({OURS} IS NOT FALSE)"), Why::Unknown),
            (format!("({OURS} IS NOT TRUE)"), Why::Unknown),
            (format!("({OURS} = false)"), Why::Unknown),
            (format!("COALESCE({OURS}, true)"), Why::Unknown),
            (format!("(EXISTS ( SELECT 1\n FROM public.t z\n WHERE {OURS}))"), Why::Unknown),
            (format!("\nCASE\n WHEN active THEN (true AND {OURS})\n ELSE true\nEND"), Why::Unknown),
            (format!("\nCASE\n WHEN active THEN {OURS} AND {OURS} ELSE true\nEND"), Why::Unknown),
            (OURS.replace("tenant_id", "other_id"), Why::Unknown),
            (OURS.replace("tenant_id", "\"TENANT_ID\""), Why::Unknown),
            (OURS.replace(" = ", " <> "), Why::Unknown),
            (OURS.replace(" = ", " OPERATOR(public.=) "), Why::Unknown),
            (OURS.replace(" = ", " IS NOT DISTINCT FROM "), Why::Unknown),
            (OURS.replace("current_setting", "public.current_setting"), Why::Unknown),
            (OURS.replace("NULLIF", "public.nullif"), Why::Unknown),
            (OURS.replace("tenancy.row_key", "app.tenant_id"), Why::OtherSetting),
            (OURS.replace("NULLIF(", "COALESCE("), Why::Unknown),
            (OURS.replace("''::text", "'x'::text"), Why::Unknown),
            (OURS.replace("::uuid", "::integer"), Why::Unknown),
            (OURS.replace("::uuid", "::public.uuid"), Why::Unknown),
            (
                "((tenant_id)::text = NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))".to_owned(),
                Why::Unknown,
            ),
            ("(tenant_id = tenant_id)".to_owned(), Why::Unknown),
            ("((CURRENT_USER)::text = owner)".to_owned(), Why::User),
            (
                "(tenant_id = (NULLIF(current_setting(('tenancy.row_'::text || 'key'::text), true), ''::text))::uuid)"
                    .to_owned(),
                Why::OtherSetting,
            ),
            (
                "(tenant_id = ANY (ARRAY[(NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid, '0'::uuid]))"
                    .to_owned(),
                Why::Unknown,
            ),
            (format!("(tenant_id IN ( SELECT x FROM public.t WHERE {OURS}))"), Why::Unknown),
            (format!("(tenant_id = ( SELECT tenant_id FROM public.t WHERE {OURS}))"), Why::Unknown),
            (format!("({OURS}"), Why::Unreadable),
            (format!("{OURS} {OURS}"), Why::Unreadable),
            (format!("{OURS}; true"), Why::Unreadable),
        ] {
            assert_eq!(BOUND.shape(&text), Shape::Unbound(why), "{text}");
        }
    }
}
