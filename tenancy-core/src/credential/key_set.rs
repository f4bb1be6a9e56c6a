//! A parsed JSON Web Key Set (RFC 7517): verification keys by key id, each with its one algorithm.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use jsonwebtoken::crypto::rust_crypto;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;

use super::jwks::JwksError;
use super::strict_json::parse_object;
use crate::denial::CredentialFault;

/// The keys of one issuer at one time. Never empty.
pub(super) struct KeySet {
    by_id: HashMap<String, Arc<VerificationKey>>,
    only: Option<Arc<VerificationKey>>,
}

impl KeySet {
    /// Parses a set. Keys that can't verify signatures here are left out: symmetric ones, ones for encryption, unknown
    /// types, curves and algorithms, RSA under 2048 bits.
    pub(super) fn parse(json: &str) -> Result<Self, JwksError> {
        let set = parse_object(json.as_bytes()).ok_or(JwksError::Malformed)?;
        let set: JwkSet = serde_json::from_value(set.into()).map_err(|_| JwksError::Malformed)?;

        let mut ids = HashSet::new();
        if !set.keys.iter().filter_map(|jwk| jwk.kid.as_deref()).all(|id| ids.insert(id)) {
            return Err(JwksError::DuplicateKeyId);
        }
        let usable: Vec<_> =
            set.keys.iter().filter_map(|jwk| Some((jwk.kid.clone(), Arc::new(jwk.verification_key()?)))).collect();
        let only = match &*usable {
            [] => return Err(JwksError::NoUsableKey),
            [(_, key)] => Some(Arc::clone(key)),
            _ => None,
        };
        Ok(Self { by_id: usable.into_iter().filter_map(|(id, key)| Some((id?, key))).collect(), only })
    }

    /// The key of this id; for a token without one, the only key there is.
    pub(super) fn find(&self, id: Option<&str>) -> Option<Arc<VerificationKey>> {
        match id {
            Some(id) => self.by_id.get(id),
            None => self.only.as_ref(),
        }
        .cloned()
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet({} key ids)", self.by_id.len())
    }
}

/// A public key and the one algorithm it verifies.
pub(super) struct VerificationKey {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl VerificationKey {
    /// Verifies a signature that claims to be of `algorithm`.
    ///
    /// The provider is called by name. `jsonwebtoken::decode` takes a process-wide one, which panics once another
    /// crate of the build enables a second backend, and which any crate may replace.
    pub(super) fn verify(
        &self,
        algorithm: Algorithm,
        message: &[u8],
        signature: Vec<u8>,
    ) -> Result<(), CredentialFault> {
        if algorithm != self.algorithm {
            return Err(CredentialFault::Algorithm);
        }
        (rust_crypto::DEFAULT_PROVIDER.verifier_factory)(&self.algorithm, &self.key)
            .map_err(|_| CredentialFault::Signature)?
            .verify(message, &signature)
            .map_err(|_| CredentialFault::Signature)
    }
}

/// The algorithms a token may be signed with. The symmetric ones are not here: who could verify could also sign.
pub(super) fn asymmetric_algorithm(name: &str) -> Option<Algorithm> {
    Some(match name {
        "RS256" => Algorithm::RS256,
        "RS384" => Algorithm::RS384,
        "RS512" => Algorithm::RS512,
        "PS256" => Algorithm::PS256,
        "PS384" => Algorithm::PS384,
        "PS512" => Algorithm::PS512,
        "ES256" => Algorithm::ES256,
        "ES384" => Algorithm::ES384,
        "EdDSA" => Algorithm::EdDSA,
        _ => return None,
    })
}

#[derive(Deserialize)]
struct JwkSet {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Jwk {
    fn verification_key(&self) -> Option<VerificationKey> {
        let for_signatures = self.usage.as_deref().is_none_or(|usage| usage == "sig")
            && self.key_ops.as_ref().is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        if !for_signatures {
            return None;
        }
        let (algorithms, key) = self.material()?;
        let algorithm = match &self.alg {
            Some(name) => asymmetric_algorithm(name).filter(|algorithm| algorithms.contains(algorithm))?,
            None => *algorithms.first()?,
        };
        // Building a verifier once shows whether the bytes are a key of this algorithm, a point on its curve.
        (rust_crypto::DEFAULT_PROVIDER.verifier_factory)(&algorithm, &key).ok()?;
        Some(VerificationKey { algorithm, key })
    }

    /// The public key, and the algorithms it may be for: first the one that a key without `alg` is for.
    ///
    /// Lengths are checked here: jsonwebtoken 12 panics on a short Ed25519 key and cuts off a long one.
    fn material(&self) -> Option<(&'static [Algorithm], DecodingKey)> {
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => {
                let (modulus, exponent) = (bytes(&self.n)?, bytes(&self.e)?);
                let long_enough = (MIN_RSA_BITS..=MAX_RSA_BITS).contains(&bits(&modulus));
                long_enough.then(|| (RSA, DecodingKey::from_rsa_raw_components(&modulus, &exponent)))
            }
            ("EC", Some("P-256")) => Some((&[Algorithm::ES256], self.point(P256_BYTES)?)),
            ("EC", Some("P-384")) => Some((&[Algorithm::ES384], self.point(P384_BYTES)?)),
            ("OKP", Some("Ed25519")) => {
                let key = bytes(&self.x).filter(|key| key.len() == ED25519_BYTES)?;
                Some((&[Algorithm::EdDSA], DecodingKey::from_ed_der(&key)))
            }
            _ => None,
        }
    }

    /// The point (x, y) in its uncompressed form, each coordinate of full length.
    fn point(&self, coordinate: usize) -> Option<DecodingKey> {
        let (x, y) = (bytes(&self.x)?, bytes(&self.y)?);
        let full = x.len() == coordinate && y.len() == coordinate;
        full.then(|| DecodingKey::from_ec_der(&[&[UNCOMPRESSED][..], &x, &y].concat()))
    }
}

fn bytes(field: &Option<String>) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(field.as_ref()?.as_bytes()).ok()
}

/// The length of a big-endian number in bits, leading zeroes not counted.
fn bits(number: &[u8]) -> usize {
    let zero_bytes = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zero_bytes).map_or(0, |first| (number.len() - zero_bytes) * 8 - first.leading_zeros() as usize)
}

const RSA: &[Algorithm] =
    &[Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::PS256, Algorithm::PS384, Algorithm::PS512];
/// The tag of an uncompressed point (SEC 1, section 2.3.3).
const UNCOMPRESSED: u8 = 4;
const P256_BYTES: usize = 32;
const P384_BYTES: usize = 48;
const ED25519_BYTES: usize = 32;
const MIN_RSA_BITS: usize = 2048;
/// Verification takes time with the square of the length.
const MAX_RSA_BITS: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    const ED: &str = r#""kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#;

    fn error(keys: &str) -> Option<String> {
        KeySet::parse(&format!(r#"{{"keys":[{keys}]}}"#)).err().map(|e| format!("{e:?}"))
    }

    #[test]
    fn a_set_with_a_repeated_key_id_is_refused_whole() {
        assert_eq!(error(&format!(r#"{{"kid":"a",{ED}}},{{"kid":"b",{ED}}}"#)), None);
        assert_eq!(error(&format!(r#"{{"kid":"a",{ED}}},{{"kid":"a",{ED}}}"#)).unwrap(), "DuplicateKeyId");
        assert_eq!(error(&format!(r#"{{"kid":"a","kid":"b",{ED}}}"#)).unwrap(), "Malformed");
    }

    #[test]
    fn keys_that_can_not_verify_here_are_left_out() {
        let n = |bytes: usize| BASE64URL_NOPAD.encode(&vec![0xff; bytes]);
        assert_eq!(error(&format!(r#"{{"kty":"RSA","n":"{}","e":"AQAB"}}"#, n(256))), None);
        for key in [
            r#"{"kty":"oct","kid":"a","k":"c2VjcmV0"}"#.to_owned(),
            format!(r#"{{"kid":"a","use":"enc",{ED}}}"#),
            format!(r#"{{"kid":"a","key_ops":["encrypt"],{ED}}}"#),
            format!(r#"{{"kid":"a","alg":"HS256",{ED}}}"#),
            format!(r#"{{"kid":"a","alg":"RS256",{ED}}}"#),
            r#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#.to_owned(),
            format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, n(33)),
            format!(r#"{{"kty":"OKP","crv":"X25519","x":"{}"}}"#, n(32)),
            r#"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#.to_owned(),
            format!(r#"{{"kty":"EC","crv":"P-256","x":"{0}","y":"{0}"}}"#, n(32)),
            format!(r#"{{"kty":"EC","crv":"P-521","x":"{0}","y":"{0}"}}"#, n(66)),
            format!(r#"{{"kty":"RSA","n":"{}","e":"AQAB"}}"#, n(128)),
            format!(r#"{{"kty":"RSA","n":"{}{}","e":"AQAB"}}"#, "A".repeat(172), n(129)),
        ] {
            assert_eq!(error(&key).as_deref(), Some("NoUsableKey"), "{key}");
        }
    }
}
