//! The twin of `fail/core_entry_ended_twice.rs`: one line differs.

use tenancy_core::{Denial, Entered};

fn end(entered: Entered<'_>) -> Denial {
    let denial = entered.deny(Denial::NotVisible);
    let _rule = denial.rule();
    denial
}

fn main() {
    let _ = end;
}
