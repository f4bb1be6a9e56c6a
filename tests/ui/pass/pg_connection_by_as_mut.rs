//! The twin of `fail/pg_connection_by_as_mut.rs`: one line differs.

type Tx = sqlx::Transaction<'static, sqlx::Postgres>;

fn raw(tx: &mut Tx) -> &mut sqlx::PgConnection {
    AsMut::as_mut(tx)
}

fn main() {
    let _ = raw;
}
