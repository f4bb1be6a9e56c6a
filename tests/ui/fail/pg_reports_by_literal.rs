//! Reports are not built as a struct literal.

use tenancy_pg::Reports;

fn forge(other: Reports<'_>) -> Reports<'_> {
    Reports { ..other }
}

fn main() {
    let _ = forge;
}
