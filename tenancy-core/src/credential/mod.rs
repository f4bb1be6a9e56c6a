//! Credentials: signed tokens of configured issuers, and API keys of this realm.
//!
//! What others got wrong, and the rule here that answers it:
//!
//! - The token chose its own algorithm (`none`, or HS256 with the public RSA key as the secret): one algorithm per key,
//!   asymmetric ones only, and never from the header.
//! - The token chose where its keys come from (`jku`, `x5u`, an unverified `iss`): `iss` is compared with the configured
//!   issuers before any key is looked up, and key addresses are the operator's configuration.
//! - A claim of the wrong type counted as absent (CVE-2026-25537), or a list where a text belongs matched by any of its
//!   entries: every claim is read by our own parser, which also refuses a repeated name at any depth.
//! - A burst of made-up key ids became a burst of fetches: one refresh per issuer in ten seconds, whoever asks.
//!
//! A verified credential still opens nothing. It becomes a context only through the realm, which asks the directory.

mod api_key;
mod api_key_record;
mod claims;
#[cfg(feature = "fetch")]
mod fetch;
mod issuer;
mod jwks;
mod key_cache;
mod key_set;
mod strict_json;
#[cfg(test)]
mod tests;
mod token;

use std::fmt;

use secrecy::SecretString;
use zeroize::Zeroizing;

pub use api_key::IssuedApiKey;
pub(crate) use api_key::{check_api_key, issue_api_key, parse_api_key};
pub use api_key_record::{ApiKeyId, ApiKeyRecord};
pub use issuer::{OperatorIssuer, TenantClaim, TenantIssuer};
pub use jwks::{Jwks, JwksError, JwksSource};
pub(crate) use token::{verify_operator_token, verify_tenant_token};

/// What a caller presented, unverified.
///
/// It can't be cloned, compared or printed; its text is zeroised when dropped.
pub struct Credential(Kind);

impl Credential {
    /// A signed token: its text, or a whole `Bearer ...` header value.
    #[must_use]
    pub fn bearer(token: impl Into<String>) -> Self {
        let text = Zeroizing::new(token.into());
        let token = match text.split_once(' ') {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case(BEARER) => rest.trim_matches(' '),
            _ => &text,
        };
        Self(Kind::Bearer(token.into()))
    }

    /// An API key that this realm issued.
    #[must_use]
    pub fn api_key(key: impl Into<String>) -> Self {
        let text = Zeroizing::new(key.into());
        Self(Kind::ApiKey(text.as_str().into()))
    }

    /// Reads the one `Authorization` header of a request, of the scheme `Bearer` or `ApiKey`.
    ///
    /// # Errors
    /// [`Denial::CredentialMissing`] without such a header, [`CredentialFault::Malformed`] for two of them (a proxy and
    /// the service could each believe another one), another scheme, or a value that is not one visible ASCII word.
    ///
    /// [`Denial::CredentialMissing`]: crate::denial::Denial::CredentialMissing
    /// [`CredentialFault::Malformed`]: crate::denial::CredentialFault::Malformed
    #[cfg(feature = "tower")]
    pub fn from_headers(headers: &http::HeaderMap) -> Result<Self, crate::denial::Denial> {
        use crate::denial::{CredentialFault, Denial};

        let mut values = headers.get_all(http::header::AUTHORIZATION).iter();
        let value = values.next().ok_or(Denial::CredentialMissing)?;
        if values.next().is_some() {
            return Err(CredentialFault::Malformed.into());
        }
        let text = value.to_str().map_err(|_| CredentialFault::Malformed)?;
        let (scheme, rest) = text.split_once(' ').ok_or(CredentialFault::Malformed)?;
        let word = rest.trim_matches(' ');
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(CredentialFault::Malformed.into());
        }
        if scheme.eq_ignore_ascii_case(BEARER) {
            Ok(Self(Kind::Bearer(word.into())))
        } else if scheme.eq_ignore_ascii_case(API_KEY) {
            Ok(Self(Kind::ApiKey(word.into())))
        } else {
            Err(CredentialFault::Malformed.into())
        }
    }

    pub(crate) fn kind(&self) -> CredentialKind<'_> {
        match &self.0 {
            Kind::Bearer(token) => CredentialKind::Bearer(token),
            Kind::ApiKey(key) => CredentialKind::ApiKey(key),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Bearer(_) => "Credential(bearer)",
            Kind::ApiKey(_) => "Credential(api key)",
        })
    }
}

/// Which verifier a credential goes to.
pub(crate) enum CredentialKind<'a> {
    /// A signed token.
    Bearer(&'a SecretString),
    /// An API key.
    ApiKey(&'a SecretString),
}

enum Kind {
    Bearer(SecretString),
    ApiKey(SecretString),
}

const BEARER: &str = "bearer";
#[cfg(feature = "tower")]
const API_KEY: &str = "apikey";
