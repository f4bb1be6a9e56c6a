//! A database in signed mode, and seals made by a second hand: any seal, right or wrong.

use hmac::{Hmac, KeyInit, Mac};
use secrecy::ExposeSecret;
use sha2::Sha256;
use tenancy_core::Life;
use tenancy_pg::{
    Declaration, RowKeyType, SigningKey, TenantTable, grant_sql, hardening_sql, policy_sql, signed_schema_sql,
    signing_key_sql,
};
use tenancy_testkit::{APP, OWNER, TestDatabase, TestTenants, ThrowawayPostgres};

use crate::wire::{Reply, Wire};

/// `note(tenant_id, id, body)`, led by the row key: two rows of acme, three of globex.
pub(crate) struct Sealed {
    pub(crate) tenants: TestTenants,
    pub(crate) server: TestDatabase,
    pub(crate) declaration: Declaration,
    pub(crate) key: SigningKey,
}

impl Sealed {
    /// Hardened: as a service is served.
    pub(crate) async fn new() -> Self {
        Self::of(TestTenants::new().await).await
    }

    /// As [`new`](Self::new), with a realm of the test's own.
    pub(crate) async fn of(tenants: TestTenants) -> Self {
        let sealed = Self::made(tenants, ThrowawayPostgres::shared().await).await;
        sealed.server.run(&hardening_sql()).await;
        sealed
    }

    /// The construction alone.
    pub(crate) async fn not_hardened() -> Self {
        Self::made(TestTenants::new().await, ThrowawayPostgres::shared().await).await
    }

    /// As [`not_hardened`](Self::not_hardened), on a server of the test's own.
    pub(crate) async fn on(server: &ThrowawayPostgres) -> Self {
        Self::made(TestTenants::new().await, server).await
    }

    async fn made(tenants: TestTenants, server: &ThrowawayPostgres) -> Self {
        let server = server.fresh_database().await;
        let note = TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid).unwrap();
        let declaration = Declaration::builder().tenant_table(note).signed().build().unwrap();
        let sealed = Self { tenants, server, declaration, key: SigningKey::generate() };
        sealed.furnish(&sealed.server).await;
        sealed
    }

    /// Makes the same in a database: schema, key, registry, table, rows.
    pub(crate) async fn furnish(&self, database: &TestDatabase) {
        database.run(&signed_schema_sql(&self.declaration, OWNER, &[APP])).await;
        database.run(signing_key_sql(&self.key).expose_secret()).await;
        let (acme, globex) = (self.life("acme").uuid(), self.life("globex").uuid());
        database
            .run(&format!(
                "insert into tenancy.tenant values ('{acme}', '{acme}'), ('{globex}', '{globex}');
                 set role {OWNER};
                 create table note (tenant_id uuid not null, id int, body text not null, primary key (tenant_id, id));
                 insert into note values ('{acme}', 1, 'acme one'), ('{acme}', 2, 'acme two'),
                   ('{globex}', 3, 'globex one'), ('{globex}', 4, 'globex two'), ('{globex}', 5, 'globex three');
                 {}{}",
                policy_sql(&self.declaration),
                grant_sql(&self.declaration, APP)
            ))
            .await;
    }

    pub(crate) fn life(&self, tenant: &str) -> Life {
        self.tenants.life(tenant)
    }

    /// The right seal for a tenant of this world, in the transaction with this nonce.
    pub(crate) fn seal(&self, tenant: &str, nonce: &str) -> String {
        let life = self.life(tenant).uuid().to_string();
        Parts { row_key_type: "uuid", row_key: &life, life: &life, nonce }.seal(&self.key)
    }

    /// A transaction in a tenant's scope on a connection of its own.
    pub(crate) async fn begun(&self, tenant: &str) -> (Wire, String) {
        let mut wire = Wire::connect(&self.server).await;
        let seal = self.begin(&mut wire, tenant).await;
        (wire, seal)
    }

    /// Opens a transaction in a tenant's scope as the service does. Returns its seal.
    pub(crate) async fn begin(&self, wire: &mut Wire, tenant: &str) -> String {
        let nonce = begin(wire).await;
        let seal = self.seal(tenant, &nonce);
        wire.run(&set(&seal)).await;
        seal
    }
}

/// Begins a transaction and asks for its nonce.
pub(crate) async fn begin(wire: &mut Wire) -> String {
    parts_of_nonce(wire).await.text()
}

/// Begins a transaction and asks for what its nonce is made of.
pub(crate) async fn parts_of_nonce(wire: &mut Wire) -> Nonce {
    let reply = wire.run(&format!("begin; select {DATABASE}, {BACKEND}, {START}")).await;
    let [database, backend, start] = [0, 1, 2].map(|at| reply.rows[0][at].clone().unwrap());
    Nonce { database, backend, start }
}

/// Where and when a transaction runs, each part in hex.
#[derive(Clone)]
pub(crate) struct Nonce {
    pub(crate) database: String,
    pub(crate) backend: String,
    pub(crate) start: String,
}

impl Nonce {
    pub(crate) fn text(&self) -> String {
        format!("{}{}{}", self.database, self.backend, self.start)
    }
}

/// The statement that puts a seal on.
pub(crate) fn set(seal: &str) -> String {
    format!("set local tenancy.seal = '{}'", seal.replace('\'', "''"))
}

/// What a transaction sees of the notes.
pub(crate) async fn look(wire: &mut Wire) -> Reply {
    wire.query("select body from public.note order by id").await
}

/// What a MAC is made over.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) row_key_type: &'a str,
    pub(crate) row_key: &'a str,
    pub(crate) life: &'a str,
    pub(crate) nonce: &'a str,
}

impl Parts<'_> {
    pub(crate) fn seal(&self, key: &SigningKey) -> String {
        let Self { row_key_type, row_key, life, nonce } = *self;
        let id = key.id().as_str();
        let mac = hex(&mac(key, &[id, row_key_type, row_key, life, nonce]));
        format!("{id}{life}{mac}{row_key}")
    }
}

/// HMAC as the documentation of the seal says, from the key's own text.
pub(crate) fn mac(key: &SigningKey, fields: &[&str]) -> Vec<u8> {
    let text = key.expose();
    let digits = text.expose_secret().split_once('.').unwrap().1;
    let secret: Vec<u8> =
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect();
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret).unwrap();
    for field in fields {
        mac.update(&u32::try_from(field.len()).unwrap().to_be_bytes());
        mac.update(field.as_bytes());
    }
    mac.finalize().into_bytes().to_vec()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const DATABASE: &str = "encode(convert_to(current_database()::text, 'SQL_ASCII'), 'hex')";
const BACKEND: &str = "encode(int4send(pg_backend_pid()), 'hex')";
const START: &str = "encode(timestamptz_send(transaction_timestamp()), 'hex')";
