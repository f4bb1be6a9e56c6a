//! A service's stores hand out no store before they are scoped.

type Handle = tenancy_stack::Stores;

fn database(handle: &Handle) -> bool {
    handle.database().is_ok()
}

fn main() {
    let _ = database;
}
