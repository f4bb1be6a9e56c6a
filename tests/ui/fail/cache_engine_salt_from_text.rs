//! An engine's salt is not made from a text.

type Salt = tenancy_cache::EngineSalt;

fn main() {
    let _salt: Salt = "s1_acme".into();
}
