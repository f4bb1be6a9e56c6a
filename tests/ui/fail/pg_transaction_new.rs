//! A tenant's transaction has no constructor that a user can call.

use tenancy_pg::TenantTx;

fn main() {
    let _method = TenantTx::new;
}
