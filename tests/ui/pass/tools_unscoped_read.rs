//! The twin of `fail/tools_unscoped_read.rs`: one line differs.

type Handle = tenancy_tools::TenantFiles;

async fn read(handle: &Handle) -> bool {
    handle.read("notes.txt").await.is_ok()
}

fn main() {
    let _ = read;
}
