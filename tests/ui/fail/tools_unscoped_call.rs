//! Tools can't be called before they are scoped.

type Handle = tenancy_tools::Tools;

async fn call(handle: &Handle) -> bool {
    handle.call("read_file", "{}").await.is_ok()
}

fn main() {
    let _ = call;
}
