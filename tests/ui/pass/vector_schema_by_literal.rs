//! The twin of `fail/vector_schema_by_literal.rs`: one line differs.

use tenancy_vector::Schema;

fn forge(other: Schema) -> Schema {
    other
}

fn main() {
    let _ = forge;
}
