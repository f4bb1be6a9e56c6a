//! The twin of `fail/core_context_from_text.rs`: one line differs.

type Made = String;

fn main() {
    let _made: Made = "acme".into();
}
