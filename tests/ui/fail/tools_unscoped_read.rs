//! The root of all tenants' files has no method that reads one.

type Handle = tenancy_tools::FilesRoot;

async fn read(handle: &Handle) -> bool {
    handle.read("notes.txt").await.is_ok()
}

fn main() {
    let _ = read;
}
