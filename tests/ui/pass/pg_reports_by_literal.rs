//! The twin of `fail/pg_reports_by_literal.rs`: one line differs.

use tenancy_pg::Reports;

fn forge(other: Reports<'_>) -> Reports<'_> {
    other
}

fn main() {
    let _ = forge;
}
