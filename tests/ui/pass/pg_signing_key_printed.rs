//! The twin of `fail/pg_signing_key_printed.rs`: one line differs.

type Shown = tenancy_pg::SigningKeyId;

fn show(key: &Shown) -> String {
    format!("{key}")
}

fn main() {
    let _ = show;
}
