//! The twin of `fail/pg_transaction_new.rs`: one line differs.

use tenancy_pg::TenantTx;

fn main() {
    let _method = TenantTx::commit;
}
