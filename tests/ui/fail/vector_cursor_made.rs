//! A cursor is not made of a position.

use tenancy_vector::Cursor;

fn cursor(text: String) -> Cursor {
    Cursor(text)
}

fn main() {
    let _ = cursor;
}
