//! An issuer whose keys are made for the test.

use std::time::{Duration, SystemTime};

use data_encoding::BASE64URL_NOPAD;
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePrivateKey;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tenancy_core::{Jwks, OperatorIssuer, TenantIssuer};

/// Signs tokens with an Ed25519 key that exists as long as this value.
pub struct TestIssuer {
    issuer: String,
    audience: String,
    kid: String,
    key: SigningKey,
}

impl TestIssuer {
    /// An issuer of this name with a new key.
    #[must_use]
    pub fn new(issuer: &str, audience: &str) -> Self {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).expect("the operating system gives random bytes");
        let key = SigningKey::from_bytes(&seed);
        Self { issuer: issuer.to_owned(), audience: audience.to_owned(), kid: "key-1".to_owned(), key }
    }

    /// The issuer's name.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The audience its tokens name.
    #[must_use]
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// The public keys, as an issuer would publish them.
    #[must_use]
    pub fn jwks(&self) -> String {
        let x = BASE64URL_NOPAD.encode(self.key.verifying_key().as_bytes());
        json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": self.kid, "x": x }] })
            .to_string()
    }

    /// This issuer in a realm's configuration, for tenants.
    #[must_use]
    pub fn for_tenants(&self) -> TenantIssuer {
        TenantIssuer::new(&self.issuer, &self.audience, Jwks::memory(&self.jwks()).expect("a set of one key"))
            .roles_claim("roles")
    }

    /// This issuer in a realm's configuration, for operators.
    #[must_use]
    pub fn for_operators(&self) -> OperatorIssuer {
        OperatorIssuer::new(&self.issuer, &self.audience, Jwks::memory(&self.jwks()).expect("a set of one key"))
    }

    /// The claims of a good token of ten minutes: change them and [`sign`](Self::sign).
    #[must_use]
    pub fn claims(&self, subject: &str, tenant: Option<&str>, roles: &[&str], now: SystemTime) -> Value {
        let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let mut claims = json!({
            "iss": self.issuer, "aud": self.audience, "sub": subject,
            "iat": seconds, "exp": seconds + 600, "roles": roles,
        });
        if let Some(tenant) = tenant {
            claims["tenant"] = json!(tenant);
        }
        claims
    }

    /// Signs any claims.
    #[must_use]
    pub fn sign(&self, claims: &Value) -> String {
        let pem = self.key.to_pkcs8_der().expect("an Ed25519 key has a PKCS #8 form");
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(self.kid.clone());
        jsonwebtoken::encode(&header, claims, &EncodingKey::from_ed_der(pem.as_bytes())).expect("claims that serialise")
    }
}

impl std::fmt::Debug for TestIssuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TestIssuer({})", self.issuer)
    }
}
