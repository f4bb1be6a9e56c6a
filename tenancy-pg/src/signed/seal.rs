//! The seal: what a signed transaction's setting holds.
//!
//! ```text
//! <key id: 8><life: 36><MAC: 64 hex><row key>
//! MAC = HMAC-SHA256(key, key id | type | row key | life | nonce), each as four bytes of length and its bytes
//! ```
//!
//! The nonce is the server's own account of where and when the transaction runs. The verifier computes it again and
//! never takes it from the seal, so there is nothing to replay: another database, backend or transaction has another
//! one. The type keeps a seal over the text `5` from being one over the number.
//!
//! An operator's grant for every tenant has a seal of its own, in a setting of its own, with a word in the place of the
//! type that no type has; so has what shows, before anybody is served, that the database knows the key:
//!
//! ```text
//! <key id: 8><MAC: 64 hex>
//! MAC = HMAC-SHA256(key, key id | word | nonce)
//! ```

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tenancy_core::{Life, RowKey, Zeroizing};

use super::keys::SigningKey;
use crate::declaration::RowKeyType;
use crate::error::PgError;

/// The setting that carries the seal. Local to the transaction.
pub(crate) const SEAL_SETTING: &str = "tenancy.seal";

/// The setting that says that a report reaches every tenant: this word, or in signed mode the seal of it. Local to the
/// transaction.
pub(crate) const REACH_SETTING: &str = "tenancy.reach";
/// What the setting holds in the plain modes, and what the seal is made over.
pub(crate) const EVERY: &str = "every";
/// What a seal is made over that shows no more than who made it.
pub(super) const KNOWN: &str = "known";

/// The SQL expression, of type text, that the opening batch returns and the verifier computes again: database, backend
/// and start of the transaction.
///
/// The start has microseconds and the backend runs one transaction at a time, so no two share one unless the clock is
/// set back between them. `SQL_ASCII` takes the bytes of a name as they are, in a database of any encoding. Every name
/// is qualified: in the opening batch no search path is pinned.
pub(crate) const NONCE: &str = "pg_catalog.encode(\
    pg_catalog.convert_to(pg_catalog.current_database()::pg_catalog.text, 'SQL_ASCII') operator(pg_catalog.||) \
    pg_catalog.int4send(pg_catalog.pg_backend_pid()) operator(pg_catalog.||) \
    pg_catalog.timestamptz_send(pg_catalog.transaction_timestamp()), 'hex')";

/// Seals a row key for the transaction that returned the nonce.
pub(super) fn seal(key: &SigningKey, row_key: &RowKey, life: Life, nonce: &str) -> Result<Zeroizing<String>, PgError> {
    let row_key_type = RowKeyType::of(row_key).ok_or(PgError::RowKeyType)?;
    let row_key = match row_key {
        RowKey::Uuid(id) => id.hyphenated().to_string(),
        RowKey::BigInt(number) => number.to_string(),
        RowKey::Text(text) => text.as_str().to_owned(),
        _unknown => return Err(PgError::RowKeyType),
    };
    let life = life.uuid().hyphenated().to_string();
    let mac = mac(key.secret(), [key.id().as_str(), row_key_type.sql(), &row_key, &life, nonce]);
    Ok(Zeroizing::new(format!("{}{life}{}{row_key}", key.id(), HEXLOWER.encode(&mac))))
}

/// Seals one of the words for the transaction that returned the nonce.
pub(super) fn seal_word(key: &SigningKey, word: &str, nonce: &str) -> Zeroizing<String> {
    let mac = mac(key.secret(), [key.id().as_str(), word, nonce]);
    Zeroizing::new(format!("{}{}", key.id(), HEXLOWER.encode(&mac)))
}

fn mac<const N: usize>(secret: &[u8; 32], fields: [&str; N]) -> [u8; 32] {
    // Keys shorter than the hash's block are filled up with zeros (RFC 2104).
    let mut block = Zeroizing::new([0; 64]);
    block[..secret.len()].copy_from_slice(secret);
    let mut mac = Hmac::<Sha256>::new((&*block).into());
    for field in fields {
        // A field is a few hundred bytes at most.
        mac.update(&u32::try_from(field.len()).unwrap_or(u32::MAX).to_be_bytes());
        mac.update(field.as_bytes());
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgConnection;
    use sqlx::{AssertSqlSafe, Connection, Executor};
    use tenancy_core::TenantId;
    use tenancy_testkit::{APP, OWNER, ThrowawayPostgres};
    use uuid::Uuid;

    use super::*;
    use crate::{Declaration, SigningKeys, TenantTable, signed_schema_sql, signing_key_sql};

    /// What this file writes is what the verifier takes: every type, and keys at the edges of each.
    #[tokio::test]
    async fn the_server_takes_what_is_sealed_here() {
        let server = ThrowawayPostgres::shared().await;
        let text = |text: &str| RowKey::Text(TenantId::parse(text).unwrap());
        for row_keys in [
            vec![RowKey::Uuid(Uuid::nil()), RowKey::Uuid(Uuid::max()), RowKey::Uuid(Uuid::new_v4())],
            [0, 7, -1, i64::MIN, i64::MAX].map(RowKey::BigInt).to_vec(),
            vec![text("5"), text("a-b_C"), text(&"x".repeat(128))],
        ] {
            let row_key_type = RowKeyType::of(&row_keys[0]).unwrap();
            let declaration = Declaration::builder()
                .tenant_table(TenantTable::new("public", "t", "tenant", row_key_type).unwrap())
                .build()
                .unwrap();
            let database = server.fresh_database().await;
            let key = SigningKey::generate();
            database.run(&signed_schema_sql(&declaration, OWNER, &[APP])).await;
            database.run(secrecy::ExposeSecret::expose_secret(&signing_key_sql(&key))).await;
            let mut app = PgConnection::connect_with(&database.app_options()).await.unwrap();
            for row_key in row_keys {
                let life = Life::random();
                let plain = match &row_key {
                    RowKey::Uuid(id) => id.to_string(),
                    RowKey::BigInt(number) => number.to_string(),
                    RowKey::Text(text) => text.as_str().to_owned(),
                    _unknown => unreachable!(),
                };
                database.run(&format!("insert into tenancy.tenant values ('{plain}', '{}')", life.uuid())).await;
                app.execute("begin").await.unwrap();
                let nonce: String =
                    sqlx::query_scalar(AssertSqlSafe(format!("select {NONCE}"))).fetch_one(&mut app).await.unwrap();
                let seal = SigningKeys::new(key.clone()).seal(&row_key, life, &nonce).unwrap();
                app.execute(AssertSqlSafe(format!("set local {SEAL_SETTING} = '{}'", *seal))).await.unwrap();
                let call = super::super::verifier::Verifier::RowKey(row_key_type).call();
                let found: String = sqlx::query_scalar(AssertSqlSafe(format!("select {call}::text")))
                    .fetch_one(&mut app)
                    .await
                    .unwrap();
                assert_eq!(found, plain);
                app.execute("commit").await.unwrap();
            }
        }
    }
}
