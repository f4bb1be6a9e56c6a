//! A cache has no data method before it is scoped.

type Handle = tenancy_cache::Caches;

fn responses(handle: &Handle) {
    let _layer = handle.response::<String>();
}

fn main() {
    let _ = responses;
}
