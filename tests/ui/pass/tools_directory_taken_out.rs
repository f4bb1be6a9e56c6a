//! The twin of `fail/tools_directory_taken_out.rs`: one line differs.

use tenancy_tools::FilesRoot;

fn raw(root: &FilesRoot) {
    let _root = root;
}

fn main() {
    let _ = raw;
}
