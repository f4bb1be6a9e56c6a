//! The keys of tickets and API keys have purposes that can't be named outside the core.

use tenancy_core::purpose::RealmPurpose as Purpose;

fn main() {
    let _ = std::any::type_name::<Purpose>();
}
