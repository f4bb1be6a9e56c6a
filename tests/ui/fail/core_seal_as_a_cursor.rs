//! The purpose of cursors can't be named outside the core.

use tenancy_core::purpose::Cursor as Purpose;

fn main() {
    let _ = std::any::type_name::<Purpose>();
}
