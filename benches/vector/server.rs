//! The server, in a process of its own: `clear` forgets the requests that it keeps, `memory` says what it takes.

use tenancy_testkit::qdrant::QdrantServer;

use crate::{commands, say};

pub(crate) async fn serve() {
    let server = QdrantServer::start().await;
    say(&format!("{{\"url\":\"{}\"}}", server.url()));
    let mut commands = commands();
    while let Some(line) = commands.recv().await {
        assert_eq!(line, "clear", "not a command");
        server.clear_requests();
        say("{}");
    }
}
