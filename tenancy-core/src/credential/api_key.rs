//! API keys of this realm: issued once, kept as a keyed hash, looked up by their public id.
//!
//! ```text
//! tk1_<id: 16 hex>_<secret: 32 bytes as 43 base64url characters>_<checksum: 8 hex>
//! ```
//!
//! The checksum catches typing mistakes and lets scanners of leaked secrets tell a key from noise; it protects nothing.
//! A secret of 256 random bits needs no slow hash. The tenant comes from the stored record alone.

use std::fmt;
use std::time::SystemTime;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::api_key_record::{ApiKeyId, ApiKeyRecord, at_second};
use crate::clock::unix_seconds;
use crate::denial::CredentialFault;
use crate::encode::Fields;
use crate::id::{Life, SubjectId};
use crate::keys::random_bytes;

/// A new API key. Its secret is shown once: nothing that is stored brings it back.
pub struct IssuedApiKey {
    record: ApiKeyRecord,
    secret: SecretString,
}

impl IssuedApiKey {
    /// What to store.
    #[must_use]
    pub const fn record(&self) -> &ApiKeyRecord {
        &self.record
    }

    /// The whole key, as its holder presents it.
    #[must_use]
    pub const fn secret(&self) -> &SecretString {
        &self.secret
    }
}

impl fmt::Debug for IssuedApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IssuedApiKey({})", self.record.id)
    }
}

/// Makes a key. Times are kept to the second.
pub(crate) fn issue_api_key(
    pepper: &[u8; 32],
    life: Life,
    subject: SubjectId,
    roles: Vec<String>,
    created: SystemTime,
    expires: Option<SystemTime>,
) -> IssuedApiKey {
    let id = ApiKeyId(HEXLOWER.encode(&random_bytes::<8>()).into());
    let key = PresentedApiKey { id, secret: Zeroizing::new(random_bytes()) };
    let secret = key.text();
    let record = ApiKeyRecord {
        hash: *key.hash(pepper).as_bytes(),
        id: key.id,
        life,
        subject,
        roles,
        created: at_second(unix_seconds(created)).unwrap_or(SystemTime::UNIX_EPOCH),
        expires: expires.and_then(|time| at_second(unix_seconds(time))),
        revoked: false,
    };
    IssuedApiKey { record, secret }
}

/// An API key of the right form, of which nothing is believed yet.
pub(crate) struct PresentedApiKey {
    id: ApiKeyId,
    secret: Zeroizing<[u8; 32]>,
}

/// Takes a key apart.
pub(crate) fn parse_api_key(text: &SecretString) -> Result<PresentedApiKey, CredentialFault> {
    PresentedApiKey::parse(text.expose_secret()).ok_or(CredentialFault::Malformed)
}

/// Checks a presented key against the record found under its id.
///
/// A wrong secret and an unknown id are one fault and the same work: one keyed hash and one comparison in constant
/// time. Whether a key is revoked or expired is told only to who holds its secret.
pub(crate) fn check_api_key(
    pepper: &[u8; 32],
    presented: &PresentedApiKey,
    found: Option<&ApiKeyRecord>,
    now: SystemTime,
) -> Result<(), CredentialFault> {
    let stored = found.map_or(&NO_HASH, |record| &record.hash);
    let matches = bool::from(presented.hash(pepper).as_bytes().ct_eq(stored));
    match found {
        Some(record) if matches => {
            if record.revoked {
                return Err(CredentialFault::ApiKeyRevoked);
            }
            if record.expires.is_some_and(|expires| expires <= now) {
                return Err(CredentialFault::ApiKeyExpired);
            }
            Ok(())
        }
        _ => Err(CredentialFault::ApiKey),
    }
}

impl PresentedApiKey {
    pub(crate) const fn id(&self) -> &ApiKeyId {
        &self.id
    }

    fn parse(text: &str) -> Option<Self> {
        let (body, sum) = text.split_at_checked(text.len().checked_sub(CHECKSUM_CHARS)?)?;
        if sum != checksum(body) {
            return None;
        }
        let (id, secret) = body.strip_prefix(PREFIX)?.strip_suffix('_')?.split_once('_')?;
        let secret = Zeroizing::new(BASE64URL_NOPAD.decode(secret.as_bytes()).ok()?);
        Some(Self { id: ApiKeyId::parse(id).ok()?, secret: Zeroizing::new(secret.as_slice().try_into().ok()?) })
    }

    fn text(&self) -> SecretString {
        let secret = Zeroizing::new(BASE64URL_NOPAD.encode(&*self.secret));
        let body = Zeroizing::new(format!("{PREFIX}{}_{}_", self.id, *secret));
        let sum = checksum(&body);
        Zeroizing::new([body.as_str(), &sum].concat()).as_str().into()
    }

    fn hash(&self, pepper: &[u8; 32]) -> blake3::Hash {
        let mut fields = Fields::new();
        fields.text(1, self.id.as_str()).bytes(2, &*self.secret);
        blake3::keyed_hash(pepper, fields.as_bytes())
    }
}

fn checksum(body: &str) -> String {
    HEXLOWER.encode(&blake3::hash(body.as_bytes()).as_bytes()[..CHECKSUM_CHARS / 2])
}

const PREFIX: &str = "tk1_";
const CHECKSUM_CHARS: usize = 8;
/// Compared with when no record was found, for the work alone.
const NO_HASH: [u8; 32] = [0; 32];

#[cfg(test)]
mod tests {
    use super::*;

    const PEPPER: &[u8; 32] = &[7; 32];

    fn at(seconds: u64) -> SystemTime {
        at_second(seconds).unwrap()
    }

    fn issue(expires: Option<u64>) -> (PresentedApiKey, ApiKeyRecord) {
        let subject = SubjectId::parse("svc-ingest").unwrap();
        let issued = issue_api_key(PEPPER, Life::random(), subject, vec!["writer".into()], at(10), expires.map(at));
        (parse_api_key(issued.secret()).unwrap(), issued.record().clone())
    }

    fn malformed(text: &str) -> bool {
        matches!(parse_api_key(&text.into()), Err(CredentialFault::Malformed))
    }

    #[test]
    fn every_fault_of_a_key_is_told_apart_only_to_its_holder() {
        let (key, record) = issue(Some(100));
        let (_, foreign) = issue(None);
        let mut revoked = record.clone();
        revoked.revoke();
        let mut wrong = PresentedApiKey { id: key.id.clone(), secret: key.secret.clone() };
        wrong.secret[31] ^= 1;
        let swapped = PresentedApiKey { id: foreign.id.clone(), secret: key.secret.clone() };

        let check = |key, found, now| check_api_key(PEPPER, key, found, at(now)).err();
        assert_eq!(check(&key, Some(&record), 99), None);
        assert_eq!(check(&key, Some(&record), 100), Some(CredentialFault::ApiKeyExpired));
        assert_eq!(check(&key, Some(&revoked), 99), Some(CredentialFault::ApiKeyRevoked));
        for (key, found) in [
            (&key, None),
            (&wrong, Some(&record)),
            (&wrong, Some(&revoked)),
            (&key, Some(&foreign)),
            (&swapped, Some(&record)),
        ] {
            assert_eq!(check(key, found, 200), Some(CredentialFault::ApiKey));
        }
        assert_eq!(check_api_key(&[8; 32], &key, Some(&record), at(0)), Err(CredentialFault::ApiKey));
    }

    #[test]
    fn a_key_has_one_spelling() {
        let subject = SubjectId::parse("svc").unwrap();
        let issued = issue_api_key(PEPPER, Life::random(), subject, Vec::new(), at(0), None);
        let text = issued.secret().expose_secret().to_owned();
        assert_eq!(text.len(), 73);
        assert!(text.starts_with(&format!("tk1_{}_", issued.record().id())));
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] ^= 1;
            assert!(malformed(&String::from_utf8(altered).unwrap()), "{at}");
            assert!(malformed(&text[..at]), "{at}");
        }
        let resum = |body: &str| format!("{body}{}", checksum(body));
        assert!(!malformed(&resum(&text[..65])));
        for body in [text[..65].to_uppercase(), text[..64].to_owned(), text[..65].replace("tk1_", "tk2_")] {
            assert!(malformed(&resum(&body)));
        }
        assert!(malformed("é") && malformed(&"é".repeat(40)) && malformed(""));
    }

    #[test]
    fn the_stored_form_comes_back_and_is_no_key() {
        let (key, record) = issue(Some(100));
        let json = serde_json::to_string(&record).unwrap();
        let back: ApiKeyRecord = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), json);
        assert_eq!(check_api_key(PEPPER, &key, Some(&back), at(50)), Ok(()));

        let forged = PresentedApiKey { id: key.id.clone(), secret: Zeroizing::new(record.hash) };
        assert_eq!(check_api_key(PEPPER, &forged, Some(&record), at(50)), Err(CredentialFault::ApiKey));

        for (from, to) in [
            (record.id.as_str(), "../../etc/passwd"),
            ("svc-ingest", ""),
            (&*record.life.uuid().to_string(), "00000000-0000-0000-0000-000000000000"),
            ("\"revoked\":false", "\"revoked\":false,\"more\":1"),
        ] {
            assert!(serde_json::from_str::<ApiKeyRecord>(&json.replace(from, to)).is_err(), "{to}");
        }
    }

    #[test]
    fn nothing_secret_is_printed() {
        let subject = SubjectId::parse("svc-ingest").unwrap();
        let issued = issue_api_key(PEPPER, Life::random(), subject, Vec::new(), at(0), None);
        let shown = format!("{issued:?} {:?}", issued.record());
        assert!(!shown.contains(&issued.secret().expose_secret()[21..64]), "{shown}");
        assert!(!shown.contains(&HEXLOWER.encode(&issued.record.hash)) && !shown.contains("svc-ingest"), "{shown}");
    }
}
