//! A setting of a transaction is not given by its name.

use tenancy_pg::{TxOptions, TxSettings};

fn main() {
    let options = TxOptions::new();
    let _ = TxSettings::new();
    let _ = options.settings("work_mem = '1GB'");
}
