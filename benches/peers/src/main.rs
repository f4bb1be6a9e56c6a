//! The peers: how others scope a statement to a tenant. `peers URL FILE`, where the file has a row key a line.

use std::sync::Arc;

use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tenaxum::pool::scope_tenant;
use tenaxum::{Tenancy, TenantId};
use uuid::Uuid;

include!("../../shared/work.rs");
include!("../../shared/rounds.rs");

struct Peers {
    tenancy: Tenancy,
    /// Sets the tenant for the session when a connection is taken, and resets it when it is given back.
    hooked: PgPool,
    bare: PgPool,
    keys: Vec<Uuid>,
}

impl Peers {
    async fn call(&self, way: &str, work: Work, tenant: usize) {
        let key = self.keys[tenant];
        let id = TenantId::from(key.to_string());
        let query = sqlx::query(work.sql()).bind(key).bind(first_note(tenant));
        let rows = match way {
            "tenaxum_hooks" => scope_tenant(id, query.fetch_all(&self.hooked)).await.expect("rows"),
            "tenaxum_transaction" => {
                let mut tx = self.tenancy.begin_tenant(&self.bare, &id).await.expect("a transaction");
                let rows = query.fetch_all(&mut *tx).await.expect("rows");
                tx.commit().await.expect("a commit");
                rows
            }
            other => panic!("no such way: {other}"),
        };
        assert_eq!(rows.len(), work.rows());
    }
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (url, file) = (arguments.next().expect("a URL"), arguments.next().expect("a file"));
    let keys = std::fs::read_to_string(file).expect("row keys");
    let keys = keys.lines().map(|line| line.parse().expect("a row key")).collect();
    // The policies of the database read this setting.
    let tenancy = Tenancy::new().guc("tenancy.row_key");
    let pool = || PgPoolOptions::new().max_connections(16);
    let hooked = tenancy.with_tenant_hooks(pool()).connect(&url).await.expect("a pool");
    let bare = pool().connect(&url).await.expect("a pool");
    let peers = Arc::new(Peers { tenancy, hooked, bare, keys });
    say("{}");
    let mut commands = commands();
    while let Some(line) = commands.recv().await {
        let mut words = line.split_whitespace();
        let (Some("round"), Some(way), Some(work)) = (words.next(), words.next(), words.next()) else {
            panic!("not a command: {line}")
        };
        let (way, work, peers) = (way.to_owned(), Work::parse(work), peers.clone());
        let times = Round::parse(&mut words).run(|_| std::future::ready(()), move |tenant, ()| {
            let (peers, way) = (peers.clone(), way.clone());
            async move { peers.call(&way, work, tenant).await }
        });
        say(&answer(&times.await));
    }
}
