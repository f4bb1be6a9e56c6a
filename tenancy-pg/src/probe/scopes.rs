//! What puts a statement into somebody's scope: a row key or, in signed mode, a seal over it.

use tenancy_core::{Life, RowKey, Zeroizing};

use super::report::Party;
use crate::declaration::{Declaration, RowKeyType};
use crate::error::PgError;
use crate::ident::{quote_ident, quote_text};
use crate::scope::text_of;
use crate::signed::{NONCE, SCHEMA, SEAL_SETTING, SigningKeys, Verifier};

/// The scopes of the two tenants, and nobody's.
pub(super) struct Scopes {
    setting: String,
    /// What the setting holds for each of the tenants in this transaction.
    values: [Zeroizing<String>; 2],
    sealed: Option<Sealed>,
}

/// Seals are good in one transaction.
struct Sealed {
    keys: SigningKeys,
    tenants: [(RowKey, Life); 2],
    /// The seals of the transaction before.
    stale: [Zeroizing<String>; 2],
}

impl Scopes {
    pub(super) fn new(
        declaration: &Declaration,
        keys: Option<&SigningKeys>,
        lives: Option<[Life; 2]>,
        [a, b]: [&RowKey; 2],
    ) -> Result<Self, PgError> {
        let Some(keys) = keys else {
            let values = [Zeroizing::new(text_of(a)?), Zeroizing::new(text_of(b)?)];
            return Ok(Self { setting: declaration.setting().to_owned(), values, sealed: None });
        };
        let [life_a, life_b] = match (lives, a, b) {
            (Some(lives), _, _) => lives,
            (None, RowKey::Uuid(a), RowKey::Uuid(b)) => [life_of(a)?, life_of(b)?],
            (None, _, _) => return Err(PgError::NeedsLife),
        };
        let tenants = [(a.clone(), life_a), (b.clone(), life_b)];
        let sealed = Sealed { keys: keys.clone(), tenants, stale: Default::default() };
        Ok(Self { setting: SEAL_SETTING.to_owned(), values: Default::default(), sealed: Some(sealed) })
    }

    /// Makes the seals of the transaction that returned this nonce.
    pub(super) fn seal(&mut self, nonce: &str) -> Result<(), PgError> {
        if let Some(Sealed { keys, tenants: [(a, life_a), (b, life_b)], stale }) = &mut self.sealed {
            let fresh = [keys.seal(a, *life_a, nonce)?, keys.seal(b, *life_b, nonce)?];
            *stale = std::mem::replace(&mut self.values, fresh);
        }
        Ok(())
    }

    /// A query that is refused where the seal is not good.
    pub(super) fn verify(&self) -> Option<String> {
        let (key, _) = self.sealed.as_ref()?.tenants.first()?;
        Some(format!("select {}", Verifier::RowKey(RowKeyType::of(key)?).call()))
    }

    /// The setting that says whose scope it is.
    pub(super) fn setting(&self) -> &str {
        &self.setting
    }

    /// The statement that puts what follows into the scope of somebody.
    pub(super) fn enter(&self, party: Party) -> String {
        self.set(match party {
            Party::Nobody => "",
            Party::A => &self.values[0],
            Party::B => &self.values[1],
        })
    }

    pub(super) fn set(&self, value: &str) -> String {
        format!("set local {} = {}", quote_ident(&self.setting), quote_text(value))
    }

    /// Seals of a tenant's that nobody who has no key can make good: the one of another transaction, one without a MAC, and
    /// one with the MAC of the other tenant's. And a query for one that is good, for whoever can read the keys.
    pub(super) fn forged(&self, of: Party) -> Option<(Vec<String>, String)> {
        let Sealed { keys, tenants, stale } = self.sealed.as_ref()?;
        let (at, others) = if of == Party::A { (0, 1) } else { (1, 0) };
        let (key, life) = &tenants[at];
        let kid = keys.current();
        let (key_type, key) = (RowKeyType::of(key)?.sql(), text_of(key).ok()?);
        let life = life.uuid().hyphenated().to_string();
        let with = |mac: &str| format!("{kid}{life}{mac}{key}");
        let seals = vec![stale[at].to_string(), with(&"0".repeat(64)), with(self.values[others].get(MAC)?)];
        let field = |text: &str| format!("int4send(octet_length({text})) || convert_to({text}, 'SQL_ASCII')");
        let fields: Vec<String> = ["k.kid", &quote_text(key_type), &quote_text(&key), &quote_text(&life), NONCE]
            .into_iter()
            .map(|text| field(&format!("({text})::text")))
            .collect();
        let made = format!(
            "select k.kid || {life} || encode(sha256(k.opad || sha256(k.ipad || {})), 'hex') || {key} \
             from {SCHEMA}.signing_key k where k.place is not null limit 1",
            fields.join(" || "),
            life = quote_text(&life),
            key = quote_text(&key),
        );
        Some((seals, made))
    }
}

/// Of a tenant whose row key it is, unless it was said otherwise.
fn life_of(key: &uuid::Uuid) -> Result<Life, PgError> {
    Life::parse(&key.hyphenated().to_string()).map_err(|_nil| PgError::NeedsLife)
}

/// Where a seal has its MAC, in bytes: behind the key's id and the life.
const MAC: std::ops::Range<usize> = 44..108;
