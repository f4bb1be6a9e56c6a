//! The twin of `fail/core_context_by_default.rs`: one line differs.

type Made = tenancy_core::Fields;

fn main() {
    let _made: Made = Default::default();
}
