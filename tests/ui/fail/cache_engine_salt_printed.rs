//! An engine's salt has no text to print.

type Salt = tenancy_cache::EngineSalt;

fn show(salt: &Salt) -> String {
    format!("salt {salt}")
}

fn main() {
    let _ = show;
}
