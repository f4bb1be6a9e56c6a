//! An entry does not outlive the pass it was made with.

use tenancy_core::{Denial, Entered, Pass};

async fn keep(pass: &'static Pass, own: Pass) -> Result<Entered<'static>, Denial> {
    let _ = (pass, &own);
    own.enter("read").await
}

fn main() {
    let _ = keep;
}
