//! The twin of `fail/core_context_parsed.rs`: one line differs.

type Made = String;

fn main() {
    let _made = "acme".parse::<Made>();
}
