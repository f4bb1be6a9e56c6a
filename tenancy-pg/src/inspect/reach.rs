//! Is an expression of a policy the one that lets a report reach every tenant?
//!
//! Read as the other policies are, from what the catalog prints with a search path of `pg_catalog` alone, where somebody
//! else's function or operator shows its schema. Nothing but what is generated passes.

use sqlparser::ast::Expr;

use super::expression::{only_selected, parse};
use crate::signed::{EVERY, REACH_SETTING, Verifier};

/// Whether it holds exactly where the scope reaches every tenant.
pub(crate) fn is_reach(expression: &str, signed: bool) -> bool {
    let Some(tree) = parse(expression) else { return false };
    if signed { is_verified(&tree) } else { tree.to_string() == plain() }
}

fn is_verified(tree: &Expr) -> bool {
    match tree {
        Expr::Nested(inner) => is_verified(inner),
        Expr::Subquery(query) => only_selected(query).is_some_and(|call| call.to_string() == Verifier::Every.call()),
        _other => false,
    }
}

fn plain() -> String {
    format!("(current_setting('{REACH_SETTING}'::TEXT, true) = '{EVERY}'::TEXT)")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text here was printed by a server.
    #[test]
    fn nothing_but_what_is_generated_is_a_reach() {
        let (plain, signed) = (
            "(current_setting('tenancy.reach'::text, true) = 'every'::text)",
            "( SELECT tenancy.signed_reach_every() AS signed_reach_every)",
        );
        assert!(is_reach(plain, false));
        assert!(is_reach(signed, true));
        for text in [
            "true".to_owned(),
            signed.to_owned(),
            format!("({plain} OR true)"),
            format!("({plain} IS NOT FALSE)"),
            format!("(NOT {plain})"),
            plain.replace(" = ", " <> "),
            plain.replace(" = ", " OPERATOR(public.=) "),
            plain.replace("reach", "row_key"),
            plain.replace("every", ""),
            plain.replace("current_setting", "public.current_setting"),
            format!("COALESCE({plain}, true)"),
            String::new(),
        ] {
            assert!(!is_reach(&text, false), "{text}");
        }
        for text in [
            plain.to_owned(),
            signed.replace("tenancy.", "public."),
            signed.replace("tenancy.", ""),
            signed.replace("()", "(1)"),
            format!("(NOT {signed})"),
            format!("({signed} OR true)"),
            signed.replace(" AS signed_reach_every", " AS x FROM public.t"),
        ] {
            assert!(!is_reach(&text, true), "{text}");
        }
    }
}
