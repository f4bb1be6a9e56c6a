//! A signing key has no text to print.

type Shown = tenancy_pg::SigningKey;

fn show(key: &Shown) -> String {
    format!("{key}")
}

fn main() {
    let _ = show;
}
