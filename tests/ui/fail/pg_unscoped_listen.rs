//! Nobody listens to a channel through a database that is not scoped.

type Handle = tenancy_pg::Database<tenancy_pg::Inspected>;

async fn listen(handle: &Handle) -> bool {
    handle.listen("news").await.is_ok()
}

fn main() {
    let _ = listen;
}
