//! The twin of `fail/tools_unscoped_files.rs`: one line differs.

type Handle = tenancy_tools::TenantTools;

fn files(handle: &Handle) {
    let _files = handle.files();
}

fn main() {
    let _ = files;
}
