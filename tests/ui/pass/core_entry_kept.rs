//! The twin of `fail/core_entry_kept.rs`: one line differs.

use tenancy_core::{Denial, Entered, Pass};

async fn keep(pass: &'static Pass, own: Pass) -> Result<Entered<'static>, Denial> {
    let _ = (pass, &own);
    pass.enter("read").await
}

fn main() {
    let _ = keep;
}
