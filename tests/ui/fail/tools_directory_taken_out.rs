//! A raw directory is not taken out of the root of all tenants' files.

use tenancy_tools::FilesRoot;

fn raw(root: &FilesRoot) {
    let _raw = &root.dir;
}

fn main() {
    let _ = raw;
}
