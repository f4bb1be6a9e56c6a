//! The twin of `fail/vector_cursor_made.rs`: one line differs.

use tenancy_vector::Cursor;

fn cursor(text: String) -> Cursor {
    Cursor::from(text)
}

fn main() {
    let _ = cursor;
}
