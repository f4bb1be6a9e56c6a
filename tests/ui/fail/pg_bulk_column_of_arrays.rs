//! A column of arrays is not filled in bulk, where they would be flattened.

use tenancy_pg::BulkInsert;

fn fill(rows: BulkInsert, values: &[Vec<i32>]) {
    let _rows = rows.column("tags", values);
}

fn main() {
    let _ = fill;
}
