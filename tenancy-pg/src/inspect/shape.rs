//! Does an expression of a policy bind the tenant?
//!
//! Read from what `pg_get_expr` prints with a search path of `pg_catalog` alone, where a function or operator of
//! somebody else's shows its schema. Only known right shapes are accepted; whatever is not understood does not bind.
//! That is the safe side: a right policy in an unknown shape stops the start, a wrong one never passes.
//!
//! ```text
//! column = NULLIF(current_setting('..', true), '')::type     both operand orders, with or without a (SELECT ..) around
//!                                                            the right side or part of it
//! bound AND anything                                         at the top, as long as no other setting is read
//! ```

use super::tokens::{Token, tokens};

/// What an expression does for the tenant's boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Only rows of the tenant in the setting.
    Binds,
    /// As [`Binds`](Self::Binds), but it fails where the setting is empty.
    BindsWithoutNullif,
    /// Anything else.
    Unbound(Why),
}

/// Why an expression does not bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Reads a setting of another name, which any statement can set.
    OtherSetting,
    /// An OR at the top: one side is enough.
    Or,
    /// Not one of the known shapes.
    Unknown,
}

/// What must be compared with what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<'a> {
    pub(crate) column: &'a str,
    pub(crate) key: &'a str,
    pub(crate) setting: &'a str,
}

impl Bound<'_> {
    pub(crate) fn shape(&self, expression: &str) -> Shape {
        let Some(all) = tokens(expression) else { return Shape::Unbound(Why::Unknown) };
        if !self.reads_no_other_setting(&all) {
            return Shape::Unbound(Why::OtherSetting);
        }
        let inner = unwrapped(&all);
        if at_top(inner).any(|token| token.is_word("or")) {
            return Shape::Unbound(Why::Or);
        }
        let Some(conjuncts) = conjuncts(inner) else { return Shape::Unbound(Why::Unknown) };
        let shapes = conjuncts.into_iter().map(|part| self.comparison(unwrapped(part)));
        shapes.min_by_key(Shape::rank).unwrap_or(Shape::Unbound(Why::Unknown))
    }

    /// Every call of `current_setting` must name ours, as a plain text. Without parentheses the word is a column's name.
    fn reads_no_other_setting(&self, all: &[Token]) -> bool {
        all.windows(3).all(|three| match three {
            [call, Token::Open, name] if call.is_word("current_setting") => {
                matches!(name, Token::Text(name) if name.eq_ignore_ascii_case(self.setting))
            }
            _other => true,
        })
    }

    fn comparison(&self, part: &[Token]) -> Shape {
        let equals: Vec<usize> = positions_at_top(part, |token| token.is_operator("="));
        let [at] = equals[..] else { return Shape::Unbound(Why::Unknown) };
        let (left, right) = (&part[..at], &part[at + 1..]);
        match (self.is_column(left), self.is_column(right)) {
            (true, false) => self.value(right),
            (false, true) => self.value(left),
            _other => Shape::Unbound(Why::Unknown),
        }
    }

    fn is_column(&self, side: &[Token]) -> bool {
        matches!(unwrapped(side), [Token::Word { text, .. }] if text == self.column)
    }

    /// The setting's value, with the cast and the wraps peeled off.
    fn value(&self, side: &[Token]) -> Shape {
        let mut rest = side;
        let mut cast = "text";
        loop {
            let peeled = unselected(unwrapped(rest));
            match uncast(peeled) {
                Some((inner, to)) if cast == "text" => (rest, cast) = (inner, to),
                Some(_twice) => return Shape::Unbound(Why::Unknown),
                None if peeled.len() == rest.len() => break,
                None => rest = peeled,
            }
        }
        if cast != self.key {
            return Shape::Unbound(Why::Unknown);
        }
        match rest {
            [nullif, Token::Open, inner @ .., Token::Comma, empty, Token::Cast, text, Token::Close]
                if nullif.is_word("nullif") && *empty == Token::Text(String::new()) && text.is_word("text") =>
            {
                if self.is_setting(inner) { Shape::Binds } else { Shape::Unbound(Why::Unknown) }
            }
            plain if self.is_setting(plain) => Shape::BindsWithoutNullif,
            _other => Shape::Unbound(Why::Unknown),
        }
    }

    /// `current_setting('..'::text)` or `current_setting('..'::text, true)`.
    fn is_setting(&self, part: &[Token]) -> bool {
        let [call, Token::Open, Token::Text(name), Token::Cast, text, rest @ ..] = part else { return false };
        let missing_ok = match rest {
            [Token::Close] => true,
            [Token::Comma, flag, Token::Close] => flag.is_word("true"),
            _other => false,
        };
        call.is_word("current_setting") && name.eq_ignore_ascii_case(self.setting) && text.is_word("text") && missing_ok
    }
}

impl Shape {
    const fn rank(&self) -> u8 {
        match self {
            Self::Binds => 0,
            Self::BindsWithoutNullif => 1,
            Self::Unbound(_) => 2,
        }
    }
}

/// Without the parentheses that stand around the whole.
fn unwrapped(part: &[Token]) -> &[Token] {
    match part {
        [Token::Open, inner @ .., Token::Close] if closes_at_end(part) => unwrapped(inner),
        _other => part,
    }
}

/// Whether the first parenthesis is the partner of the last.
fn closes_at_end(part: &[Token]) -> bool {
    let mut depth = 0_usize;
    if part.first() != Some(&Token::Open) {
        return false;
    }
    for (at, token) in part.iter().enumerate() {
        match token {
            Token::Open => depth += 1,
            Token::Close if depth == 1 => return at + 1 == part.len(),
            Token::Close => depth = depth.saturating_sub(1),
            _other => {}
        }
    }
    false
}

/// Without `SELECT .. AS "name"`.
fn unselected(part: &[Token]) -> &[Token] {
    match part {
        [select, inner @ .., r#as, Token::Word { .. }] if select.is_word("select") && r#as.is_word("as") => inner,
        [select, inner @ ..] if select.is_word("select") => inner,
        _other => part,
    }
}

/// `(..)::type` in two.
fn uncast(part: &[Token]) -> Option<(&[Token], &str)> {
    match part {
        [inner @ .., Token::Cast, Token::Word { text, .. }] if closes_at_end(inner) || inner.len() == 1 => {
            Some((inner, text))
        }
        _other => None,
    }
}

/// The parts between top-level ANDs. `None` where a part is not closed in itself: a CASE, say, whose branches would
/// otherwise read like conjuncts.
fn conjuncts(part: &[Token]) -> Option<Vec<&[Token]>> {
    let ands = positions_at_top(part, |token| token.is_word("and"));
    if ands.is_empty() {
        return Some(vec![part]);
    }
    let mut parts = Vec::new();
    let mut from = 0;
    for at in ands.into_iter().chain([part.len()]) {
        let one = &part[from..at];
        if !is_closed(one) {
            return None;
        }
        parts.push(one);
        from = at + 1;
    }
    Some(parts)
}

/// A group in parentheses, a single word, or a call.
fn is_closed(part: &[Token]) -> bool {
    match part {
        [Token::Word { .. }] => true,
        [Token::Word { .. }, call @ ..] | call => closes_at_end(call),
    }
}

fn at_top(part: &[Token]) -> impl Iterator<Item = &Token> {
    let mut depth = 0_usize;
    part.iter().filter(move |token| {
        let top = depth == 0;
        match token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            _other => {}
        }
        top
    })
}

fn positions_at_top(part: &[Token], wanted: impl Fn(&Token) -> bool) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, token) in part.iter().enumerate() {
        match token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            other if depth == 0 && wanted(other) => found.push(at),
            _other => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound<'static> = Bound { column: "tenant_id", key: "uuid", setting: "tenancy.row_key" };

    /// Every text here was printed by a server.
    #[test]
    fn the_right_shapes_bind() {
        for text in [
            "(tenant_id = (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid)",
            "((NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid = tenant_id)",
            "(( SELECT (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid AS \"nullif\") = tenant_id)",
            "(tenant_id = (( SELECT NULLIF(current_setting('tenancy.row_key'::text, true), ''::text) AS \"nullif\"))::uuid)",
            "((tenant_id = (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid) AND active)",
            "(true AND (tenant_id = (NULLIF(current_setting('tenancy.row_key'::text), ''::text))::uuid))",
            "((tenant_id = (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid) AND ((a >= 1) OR (NOT b)) AND (lower(x) = 'a b'::text))",
        ] {
            assert_eq!(BOUND.shape(text), Shape::Binds, "{text}");
        }
        let text = "(x = NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))";
        assert_eq!(Bound { column: "x", key: "text", ..BOUND }.shape(text), Shape::Binds);
        let text = "(\"Tén ant\" = (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::bigint)";
        assert_eq!(Bound { column: "Tén ant", key: "bigint", ..BOUND }.shape(text), Shape::Binds);
    }

    #[test]
    fn without_nullif_it_binds_and_fails() {
        for text in [
            "(tenant_id = (current_setting('tenancy.row_key'::text, true))::uuid)",
            "(tenant_id = (( SELECT current_setting('tenancy.row_key'::text, true) AS current_setting))::uuid)",
        ] {
            assert_eq!(BOUND.shape(text), Shape::BindsWithoutNullif, "{text}");
        }
    }

    #[test]
    fn everything_else_does_not_bind() {
        let ours = "(tenant_id = (NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))::uuid)";
        for (text, why) in [
            ("true".to_owned(), Why::Unknown),
            (String::new(), Why::Unknown),
            (format!("({ours} OR active)"), Why::Or),
            (format!("({ours} OR (tenant_id IS NULL))"), Why::Or),
            (format!("({ours} AND (current_setting('app.admin'::text, true) = 'on'::text))"), Why::OtherSetting),
            (format!("(NOT {ours})"), Why::Unknown),
            (format!("({ours} IS NOT FALSE)"), Why::Unknown),
            (format!("({ours} = false)"), Why::Unknown),
            (format!("(EXISTS ( SELECT 1\n FROM public.t z\n WHERE {ours}))"), Why::Unknown),
            (format!("\nCASE\n WHEN active THEN (true AND {ours})\n ELSE true\nEND"), Why::Unknown),
            (format!("\nCASE\n WHEN active THEN {ours} AND {ours} ELSE true\nEND"), Why::Unknown),
            (ours.replace("tenant_id", "other_id"), Why::Unknown),
            (ours.replace("tenant_id", "\"TENANT_ID\""), Why::Unknown),
            (ours.replace(" = ", " <> "), Why::Unknown),
            (ours.replace(" = ", " OPERATOR(public.=) "), Why::Unknown),
            (ours.replace("current_setting", "public.current_setting"), Why::Unknown),
            (ours.replace("NULLIF", "public.nullif"), Why::Unknown),
            (ours.replace("tenancy.row_key", "app.tenant_id"), Why::OtherSetting),
            (ours.replace("NULLIF(", "COALESCE("), Why::Unknown),
            (ours.replace("''::text", "'x'::text"), Why::Unknown),
            (ours.replace("::uuid", "::integer"), Why::Unknown),
            (
                "((tenant_id)::text = NULLIF(current_setting('tenancy.row_key'::text, true), ''::text))".to_owned(),
                Why::Unknown,
            ),
            ("(tenant_id = tenant_id)".to_owned(), Why::Unknown),
            (
                "(tenant_id = (NULLIF(current_setting(('tenancy.row_'::text || 'key'::text), true), ''::text))::uuid)"
                    .to_owned(),
                Why::OtherSetting,
            ),
            (format!("({ours}"), Why::Unknown),
            (format!("{ours} -- ) AND true"), Why::Unknown),
        ] {
            assert_eq!(BOUND.shape(&text), Shape::Unbound(why), "{text}");
        }
    }
}
