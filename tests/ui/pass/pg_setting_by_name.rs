//! The twin of `fail/pg_setting_by_name.rs`: one line differs.

use tenancy_pg::{TxOptions, TxSettings};

fn main() {
    let options = TxOptions::new();
    let _ = TxSettings::new();
    let _ = options.settings(TxSettings::new().work_mem(1 << 30));
}
