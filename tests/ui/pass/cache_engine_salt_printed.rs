//! The twin of `fail/cache_engine_salt_printed.rs`: one line differs.

type Salt = String;

fn show(salt: &Salt) -> String {
    format!("salt {salt}")
}

fn main() {
    let _ = show;
}
