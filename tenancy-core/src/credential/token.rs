//! Verification of signed tokens (JWT, RFC 7519, after the advice of RFC 8725).
//!
//! The order is the defence: form, algorithm family, critical headers, issuer by exact text, token type, key by
//! (issuer, key id), the key's own algorithm, signature, and only then the claims. A key is looked up, and perhaps
//! fetched, for a known issuer only.

use std::sync::Arc;
use std::time::SystemTime;

use data_encoding::BASE64URL_NOPAD;
use jsonwebtoken::Algorithm;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::claims::{self, Claims};
use super::issuer::{OperatorIssuer, TenantIssuer, TokenRules};
use super::key_set;
use super::strict_json::parse_object;
use crate::clock::Clock;
use crate::denial::CredentialFault;
use crate::id::SubjectId;

/// What a verified token says. Its memberships are claims of the issuer, not yet tenants. Not
/// printable: they are names of customers.
pub(crate) struct VerifiedToken {
    /// The configured issuer, byte for byte the token's `iss`.
    pub(crate) issuer: Arc<str>,
    /// The subject, unique within the issuer.
    pub(crate) subject: SubjectId,
    /// Who acts for the subject, where the issuer's rules allow it.
    pub(crate) actor: Option<SubjectId>,
    /// The tenants the token names; empty for an operator's.
    pub(crate) memberships: Vec<String>,
    /// The roles the token names, for the directory to map.
    pub(crate) roles: Vec<String>,
    /// `iat` less the leeway: the earliest moment at which it may have been issued.
    pub(crate) issued: SystemTime,
    /// `exp` and the leeway.
    pub(crate) expires: SystemTime,
}

/// Verifies a token of one of `issuers`.
///
/// Cancel-safe: a key refresh that was begun goes on without the caller.
pub(crate) async fn verify_tenant_token(
    issuers: &[TenantIssuer],
    token: &SecretString,
    clock: &dyn Clock,
) -> Result<VerifiedToken, CredentialFault> {
    let token = UnverifiedToken::parse(token.expose_secret())?;
    let issuer = choose(issuers, TenantIssuer::rules, token.issuer()?)?;
    let (claims, verified) = token.verify(issuer.rules(), clock).await?;
    Ok(VerifiedToken {
        actor: issuer.actor(&claims)?,
        memberships: issuer.memberships(&claims)?,
        roles: issuer.roles(&claims)?,
        ..verified
    })
}

/// Verifies an operator's token. It names no memberships, and nobody acts through it.
///
/// Cancel-safe like [`verify_tenant_token`].
pub(crate) async fn verify_operator_token(
    issuers: &[OperatorIssuer],
    token: &SecretString,
    clock: &dyn Clock,
) -> Result<VerifiedToken, CredentialFault> {
    let token = UnverifiedToken::parse(token.expose_secret())?;
    let issuer = choose(issuers, OperatorIssuer::rules, token.issuer()?)?;
    let (claims, verified) = token.verify(issuer.rules(), clock).await?;
    claims::actor(&claims, &verified.issuer, false)?;
    Ok(verified)
}

fn choose<'a, I>(issuers: &'a [I], rules: fn(&I) -> &TokenRules, iss: &str) -> Result<&'a I, CredentialFault> {
    issuers.iter().find(|issuer| &**rules(issuer).issuer() == iss).ok_or(CredentialFault::IssuerUnknown)
}

/// A token of the right form, of which nothing is believed yet.
struct UnverifiedToken<'a> {
    header: Header,
    claims: Claims,
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> UnverifiedToken<'a> {
    fn parse(token: &'a str) -> Result<Self, CredentialFault> {
        if token.starts_with(TICKET_PREFIX) {
            return Err(CredentialFault::TicketAtEdge);
        }
        if token.len() > MAX_TOKEN_BYTES {
            return Err(CredentialFault::Malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(CredentialFault::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(CredentialFault::Malformed)?;
        Ok(Self {
            header: Header::parse(&decode(header)?)?,
            claims: parse_object(&decode(payload)?).ok_or(CredentialFault::Malformed)?,
            signed,
            signature: decode(signature)?,
        })
    }

    /// The unverified `iss`, good for one thing: choosing among the configured issuers.
    fn issuer(&self) -> Result<&str, CredentialFault> {
        self.claims
            .get("iss")
            .and_then(Value::as_str)
            .filter(|iss| !iss.is_empty())
            .ok_or(CredentialFault::IssuerMissing)
    }

    async fn verify(self, rules: &TokenRules, clock: &dyn Clock) -> Result<(Claims, VerifiedToken), CredentialFault> {
        let Self { header, claims, signed, signature } = self;
        rules.check_type(header.typ.as_deref())?;
        let key = rules.keys().find(header.key_id.as_deref(), clock.monotonic()).await?;
        key.verify(header.algorithm, signed.as_bytes(), signature)?;

        let (issued, expires) = rules.check_claims(&claims, clock.now())?;
        let verified = VerifiedToken {
            issuer: Arc::clone(rules.issuer()),
            subject: claims::subject(claims.get("sub")).ok_or(CredentialFault::Subject)?,
            actor: None,
            memberships: Vec::new(),
            roles: Vec::new(),
            issued,
            expires,
        };
        Ok((claims, verified))
    }
}

/// The header fields that count. `jku`, `x5u`, `jwk` and `x5c` are not among them: a token does not bring its own key.
struct Header {
    algorithm: Algorithm,
    key_id: Option<String>,
    typ: Option<String>,
}

impl Header {
    fn parse(json: &[u8]) -> Result<Self, CredentialFault> {
        let mut fields = parse_object(json).ok_or(CredentialFault::Malformed)?;
        let algorithm = fields
            .get("alg")
            .and_then(Value::as_str)
            .and_then(key_set::asymmetric_algorithm)
            .ok_or(CredentialFault::Algorithm)?;
        if fields.contains_key("crit") {
            return Err(CredentialFault::Critical);
        }
        let key_id = match fields.remove("kid") {
            None => None,
            Some(Value::String(kid)) if (1..=MAX_KEY_ID_BYTES).contains(&kid.len()) => Some(kid),
            Some(Value::String(_)) => return Err(CredentialFault::KeyUnknown),
            Some(_) => return Err(CredentialFault::Malformed),
        };
        let typ = fields.get("typ").and_then(Value::as_str).map(str::to_owned);
        Ok(Self { algorithm, key_id, typ })
    }
}

/// Decodes one part, in its one canonical form: no padding, no stray bits.
fn decode(part: &str) -> Result<Vec<u8>, CredentialFault> {
    match BASE64URL_NOPAD.decode(part.as_bytes()) {
        Ok(bytes) if !bytes.is_empty() => Ok(bytes),
        _ => Err(CredentialFault::Malformed),
    }
}

const TICKET_PREFIX: &str = "tkt1.";
const MAX_TOKEN_BYTES: usize = 16 * 1024;
const MAX_KEY_ID_BYTES: usize = 256;
