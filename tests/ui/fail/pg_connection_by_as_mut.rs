//! A tenant's transaction does not turn into a raw connection.

type Tx = tenancy_pg::TenantTx<'static>;

fn raw(tx: &mut Tx) -> &mut sqlx::PgConnection {
    AsMut::as_mut(tx)
}

fn main() {
    let _ = raw;
}
