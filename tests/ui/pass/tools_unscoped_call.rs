//! The twin of `fail/tools_unscoped_call.rs`: one line differs.

type Handle = tenancy_tools::TenantTools;

async fn call(handle: &Handle) -> bool {
    handle.call("read_file", "{}").await.is_ok()
}

fn main() {
    let _ = call;
}
