//! A schema is not built as a struct literal, past its checks.

use tenancy_vector::Schema;

fn forge(other: Schema) -> Schema {
    Schema { ..other }
}

fn main() {
    let _ = forge;
}
