//! The twin of `fail/pg_bulk_column_of_arrays.rs`: one line differs.

use tenancy_pg::BulkInsert;

fn fill(rows: BulkInsert, values: &[i32]) {
    let _rows = rows.column("tags", values);
}

fn main() {
    let _ = fill;
}
