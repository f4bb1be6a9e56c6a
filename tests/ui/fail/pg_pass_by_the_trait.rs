//! The pass of a tenant's handle is not taken out through the trait of such handles.

use tenancy_pg::Scoped;

fn raw<S: Scoped>(mine: &S) {
    let _pass = mine.pass();
}

fn main() {}
