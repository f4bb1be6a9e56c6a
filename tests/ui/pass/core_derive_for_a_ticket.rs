//! The twin of `fail/core_derive_for_a_ticket.rs`: one line differs.

use tenancy_core::purpose::CacheKey as Purpose;

fn main() {
    let _ = std::any::type_name::<Purpose>();
}
