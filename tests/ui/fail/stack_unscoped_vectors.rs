//! A service's stores hand out no vectors before they are scoped.

type Handle = tenancy_stack::Stores;

fn vectors(handle: &Handle) -> bool {
    handle.vectors().is_ok()
}

fn main() {
    let _ = vectors;
}
