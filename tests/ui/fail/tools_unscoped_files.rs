//! Tools hand out no files before they are scoped.

type Handle = tenancy_tools::Tools;

fn files(handle: &Handle) {
    let _files = handle.files();
}

fn main() {
    let _ = files;
}
