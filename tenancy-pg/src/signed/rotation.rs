//! Signing keys, as the database holds them.

use secrecy::SecretString;

use super::keys::{SigningKey, SigningKeyId};

/// The statement that makes the database accept a key, for a superuser or a member of `tenancy_owner`.
///
/// Idempotent. It fails when two other keys are live, when the id is known with another key, and when the key was
/// retired. A change of keys without a gap:
///
/// 1. this statement, with the new key: the database accepts both;
/// 2. the new key to every instance of the service ([`SigningKeys::sign_with`](crate::SigningKeys::sign_with), or a
///    restart);
/// 3. [`retire_key_sql`] with the old id: whatever still signs with the old key is refused from its next statement on.
///
/// The text holds the key. Keep it out of files, and out of the server's log: `SET log_statement = 'none'`,
/// `SET log_min_duration_statement = -1` and `SET log_min_error_statement = 'panic'` come first.
#[must_use]
pub fn signing_key_sql(key: &SigningKey) -> SecretString {
    let id = key.id();
    let (ipad, opad) = (pad_sql(key.secret(), 0x36), pad_sql(key.secret(), 0x5c));
    // One INSERT and no DO block: extensions that gather statements take the values out of the one and keep the other
    // whole. Of an id without a key, or with another one, the text that says so is
    // cast to a number, and fails.
    format!(
        "INSERT INTO tenancy.signing_key AS k (kid, place, ipad, opad)\n\
         SELECT '{id}', coalesce(\n    \
             (SELECT place FROM tenancy.signing_key WHERE kid = '{id}'),\n    \
             (SELECT min(free) FROM generate_series(1, 2) AS free\n     \
              WHERE NOT EXISTS (SELECT FROM tenancy.signing_key WHERE place = free))), {ipad}, {opad}\n\
         ON CONFLICT (kid) DO UPDATE SET kid = CASE WHEN k.ipad = excluded.ipad THEN k.kid\n    \
         ELSE ('the id ' || k.kid || ' is retired for good, or another key has it: make a new key')::int4::text END;\n"
    )
    .into()
}

/// The statements that make the database forget a key and refuse its id for good, for a superuser or a member of
/// `tenancy_owner`.
///
/// Idempotent. They fail for an id that was never there, and for the last live key: with none the service stands still.
#[must_use]
pub fn retire_key_sql(id: &SigningKeyId) -> String {
    format!(
        "DO $tenancy$ BEGIN
    LOCK TABLE tenancy.signing_key IN SHARE ROW EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM tenancy.signing_key WHERE kid = '{id}') THEN
        RAISE EXCEPTION 'there is no signing key {id}';
    END IF;
    IF NOT EXISTS (SELECT FROM tenancy.signing_key WHERE kid <> '{id}' AND place IS NOT NULL) THEN
        RAISE EXCEPTION 'no other signing key is live: add the next one first';
    END IF;
    UPDATE tenancy.signing_key SET place = NULL, ipad = NULL, opad = NULL WHERE kid = '{id}';
END $tenancy$;
"
    )
}

/// The key, filled up with zeros to the block of the hash, each byte changed by the pad's (RFC 2104).
fn pad_sql(secret: &[u8; 32], with: u8) -> String {
    let mut block = [with; 64];
    for (byte, secret) in block.iter_mut().zip(secret) {
        *byte ^= secret;
    }
    format!("decode('{}', 'hex')", data_encoding::HEXLOWER.encode(&block))
}
