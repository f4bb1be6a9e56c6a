//! The name of an entry in a back end is not made from a text.

type Name = tenancy_cache::StoreKey;

fn main() {
    let _name: Name = "tc1:{acme}:response:42".into();
}
