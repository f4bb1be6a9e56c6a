//! The twin of `fail/core_seal_as_a_cursor.rs`: one line differs.

use tenancy_core::purpose::Document as Purpose;

fn main() {
    let _ = std::any::type_name::<Purpose>();
}
