//! Tools have nothing to offer a model before they are scoped.

type Handle = tenancy_tools::Tools;

fn offer(handle: &Handle) -> usize {
    handle.specs().len()
}

fn main() {
    let _ = offer;
}
