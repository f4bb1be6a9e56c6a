//! Logins of the demo: users with passwords, and tokens signed with keys that are made at start.
//!
//! A real service has an identity provider here. What matters is that the tenant in a token comes from the user's
//! record and from nothing that the request says.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use data_encoding::BASE64URL_NOPAD;
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePrivateKey;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tenancy_stack::core::{ConfigError, Jwks, OperatorIssuer, TenantIssuer};

/// The issuer of the demo's tokens and the users it knows.
pub struct Logins {
    signer: Signer,
    users: HashMap<String, User>,
}

/// The issuer of operators' tokens.
pub struct OperatorLogin {
    signer: Signer,
}

struct User {
    tenant: String,
    role: &'static str,
    password: SecretString,
}

struct Signer {
    issuer: &'static str,
    audience: &'static str,
    key: SigningKey,
}

impl Logins {
    /// An issuer with a new key and no users.
    #[must_use]
    pub fn new() -> Self {
        Self { signer: Signer::new("https://login.demo", "rag-backend"), users: HashMap::new() }
    }

    /// The issuer's name.
    #[must_use]
    pub const fn issuer(&self) -> &'static str {
        self.signer.issuer
    }

    /// Adds a user of a tenant and returns the password that was made for it.
    pub fn add(&mut self, user: &str, tenant: &str, role: &'static str) -> SecretString {
        let password = SecretString::from(BASE64URL_NOPAD.encode(&random::<18>()));
        self.users.insert(user.to_owned(), User { tenant: tenant.to_owned(), role, password: password.clone() });
        password
    }

    /// A token for a user who gives the right password.
    #[must_use]
    pub fn login(&self, user: &str, password: &SecretString) -> Option<SecretString> {
        // Unknown users take the same comparison as known ones.
        let nobody = User { tenant: String::new(), role: "", password: SecretString::from("x".repeat(24)) };
        let known = self.users.get(user);
        let User { tenant, role, password: right } = known.unwrap_or(&nobody);
        let same = same_bytes(password.expose_secret().as_bytes(), right.expose_secret().as_bytes());
        (same && known.is_some()).then(|| {
            let claims = json!({ "sub": user, "tenant": tenant, "roles": [role] });
            self.signer.sign(claims, Duration::from_secs(3600))
        })
    }

    /// This issuer in a realm's configuration.
    ///
    /// # Errors
    /// [`ConfigError`] when the key set can't be read, which does not happen.
    pub fn for_tenants(&self) -> Result<TenantIssuer, ConfigError> {
        Ok(TenantIssuer::new(self.signer.issuer, self.signer.audience, self.signer.jwks()?).roles_claim("roles"))
    }
}

impl Default for Logins {
    fn default() -> Self {
        Self::new()
    }
}

impl OperatorLogin {
    /// An issuer with a new key.
    #[must_use]
    pub fn new() -> Self {
        Self { signer: Signer::new("https://staff.demo", "rag-backend-operators") }
    }

    /// A token of an operator, for half an hour.
    #[must_use]
    pub fn token(&self, operator: &str) -> SecretString {
        self.signer.sign(json!({ "sub": operator }), Duration::from_secs(1800))
    }

    /// This issuer in a realm's configuration.
    ///
    /// # Errors
    /// As [`Logins::for_tenants`].
    pub fn for_operators(&self) -> Result<OperatorIssuer, ConfigError> {
        Ok(OperatorIssuer::new(self.signer.issuer, self.signer.audience, self.signer.jwks()?))
    }
}

impl Default for OperatorLogin {
    fn default() -> Self {
        Self::new()
    }
}

impl Signer {
    fn new(issuer: &'static str, audience: &'static str) -> Self {
        Self { issuer, audience, key: SigningKey::from_bytes(&random()) }
    }

    fn jwks(&self) -> Result<Jwks, ConfigError> {
        let x = BASE64URL_NOPAD.encode(self.key.verifying_key().as_bytes());
        let set = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": KID, "x": x }] });
        Jwks::memory(&set.to_string()).map_err(|e| ConfigError::Other(e.to_string()))
    }

    fn sign(&self, mut claims: serde_json::Value, ttl: Duration) -> SecretString {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        claims["iss"] = json!(self.issuer);
        claims["aud"] = json!(self.audience);
        claims["iat"] = json!(now);
        claims["exp"] = json!(now + ttl.as_secs());
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(KID.to_owned());
        let signed = self
            .key
            .to_pkcs8_der()
            .ok()
            .and_then(|der| jsonwebtoken::encode(&header, &claims, &EncodingKey::from_ed_der(der.as_bytes())).ok());
        // An empty text is no token: whoever gets it is refused.
        SecretString::from(signed.unwrap_or_default())
    }
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Logins({} users)", self.users.len())
    }
}

impl fmt::Debug for OperatorLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorLogin")
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[expect(clippy::expect_used, reason = "without randomness there is no demo")]
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Looks at every byte, whatever the first ones are.
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |different, (x, y)| different | (x ^ y)) == 0
}

const KID: &str = "demo-1";
