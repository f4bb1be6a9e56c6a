//! Whose tokens a realm accepts, and what it reads from them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::claims::{self, Claims};
use super::jwks::Jwks;
use super::key_cache::KeyCache;
use crate::denial::CredentialFault;
use crate::id::SubjectId;

/// An issuer whose tokens speak for tenants' users. It never yields an operator's grant.
#[derive(Debug)]
pub struct TenantIssuer {
    rules: TokenRules,
    tenant: TenantClaim,
    roles: Option<String>,
    actor: bool,
}

impl TenantIssuer {
    /// Accepts tokens whose `iss` is exactly `issuer` and whose `aud` is or holds `audience`.
    ///
    /// The tenant is read from the claim `tenant`, roles from none, tokens live up to 24 hours with 30 s of leeway.
    #[must_use]
    pub fn new(issuer: &str, audience: &str, keys: Jwks) -> Self {
        Self {
            rules: TokenRules::new(issuer, audience, keys, TENANT_MAX_AGE),
            tenant: TenantClaim::One("tenant".to_owned()),
            roles: None,
            actor: false,
        }
    }

    /// Reads the tenant, or the tenants, from this claim.
    #[must_use]
    pub fn tenant_claim(mut self, claim: TenantClaim) -> Self {
        self.tenant = claim;
        self
    }

    /// Reads role names from this claim, a list of texts. The directory maps them; a token without it has none.
    #[must_use]
    pub fn roles_claim(mut self, claim: &str) -> Self {
        self.roles = Some(claim.to_owned());
        self
    }

    /// Refuses tokens issued longer ago than this, whatever their `exp` says. 24 hours by default.
    #[must_use]
    pub const fn max_age(mut self, age: Duration) -> Self {
        self.rules.max_age = age;
        self
    }

    /// How far the issuer's clock may be off: 30 s by default, at most 60 s.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.rules.leeway = leeway.min(MAX_LEEWAY);
        self
    }

    /// Requires this `typ` in the header, such as `at+jwt` (RFC 9068), so that an ID token is no access token. Any
    /// type passes by default.
    #[must_use]
    pub fn token_type(mut self, typ: &str) -> Self {
        self.rules.token_type = Some(typ.to_owned());
        self
    }

    /// Accepts tokens in which somebody acts for the subject (`act`, RFC 8693). Refused by default.
    #[must_use]
    pub const fn allow_actor(mut self) -> Self {
        self.actor = true;
        self
    }

    pub(crate) const fn rules(&self) -> &TokenRules {
        &self.rules
    }

    pub(super) fn memberships(&self, claims: &Claims) -> Result<Vec<String>, CredentialFault> {
        self.tenant.read(claims)
    }

    pub(super) fn roles(&self, claims: &Claims) -> Result<Vec<String>, CredentialFault> {
        match self.roles.as_ref().and_then(|claim| claims.get(claim)) {
            Some(roles) => claims::names(roles).ok_or(CredentialFault::Malformed),
            None => Ok(Vec::new()),
        }
    }

    pub(super) fn actor(&self, claims: &Claims) -> Result<Option<SubjectId>, CredentialFault> {
        claims::actor(claims, &self.rules.issuer, self.actor)
    }
}

/// An issuer whose tokens speak for the operator's staff. It never yields a membership.
#[derive(Debug)]
pub struct OperatorIssuer {
    rules: TokenRules,
}

impl OperatorIssuer {
    /// Accepts tokens whose `iss` is exactly `issuer` and whose `aud` is or holds `audience`, for up to one hour with
    /// 30 s of leeway.
    #[must_use]
    pub fn new(issuer: &str, audience: &str, keys: Jwks) -> Self {
        Self { rules: TokenRules::new(issuer, audience, keys, OPERATOR_MAX_AGE) }
    }

    /// Refuses tokens issued longer ago than this, whatever their `exp` says. One hour by default.
    #[must_use]
    pub const fn max_age(mut self, age: Duration) -> Self {
        self.rules.max_age = age;
        self
    }

    /// How far the issuer's clock may be off: 30 s by default, at most 60 s.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.rules.leeway = leeway.min(MAX_LEEWAY);
        self
    }

    /// Requires this `typ` in the header. Any type passes by default.
    #[must_use]
    pub fn token_type(mut self, typ: &str) -> Self {
        self.rules.token_type = Some(typ.to_owned());
        self
    }

    pub(crate) const fn rules(&self) -> &TokenRules {
        &self.rules
    }
}

/// Where a tenant issuer's tokens name the tenant. Names are compared byte for byte: `Tenant` is not `tenant`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TenantClaim {
    /// The claim of this name holds one text.
    One(String),
    /// The claim of this name holds a list of 1 to 256 distinct texts, of which the request selects one.
    Many(String),
}

impl TenantClaim {
    fn read(&self, claims: &Claims) -> Result<Vec<String>, CredentialFault> {
        let (Self::One(claim) | Self::Many(claim)) = self;
        let value = claims.get(claim).ok_or(CredentialFault::TenantClaimMissing)?;
        match self {
            Self::One(_) => claims::name(value).map(|tenant| vec![tenant.to_owned()]),
            Self::Many(_) => claims::names(value).filter(|tenants| !tenants.is_empty() && all_distinct(tenants)),
        }
        .ok_or(CredentialFault::TenantClaimMalformed)
    }
}

/// What both kinds of issuers ask of a token.
#[derive(Debug)]
pub(crate) struct TokenRules {
    issuer: Arc<str>,
    audience: String,
    keys: KeyCache,
    max_age: Duration,
    leeway: Duration,
    token_type: Option<String>,
}

impl TokenRules {
    fn new(issuer: &str, audience: &str, keys: Jwks, max_age: Duration) -> Self {
        Self {
            issuer: issuer.into(),
            audience: audience.to_owned(),
            keys: KeyCache::new(keys),
            max_age,
            leeway: DEFAULT_LEEWAY,
            token_type: None,
        }
    }

    /// The exact `iss`.
    pub(crate) const fn issuer(&self) -> &Arc<str> {
        &self.issuer
    }

    pub(super) const fn keys(&self) -> &KeyCache {
        &self.keys
    }

    /// Checks the header's `typ`, a media type that may leave out `application/` (RFC 7515, section 4.1.9).
    pub(super) fn check_type(&self, typ: Option<&str>) -> Result<(), CredentialFault> {
        let Some(wanted) = &self.token_type else { return Ok(()) };
        let same = typ.is_some_and(|typ| short_type(typ).eq_ignore_ascii_case(short_type(wanted)));
        if same { Ok(()) } else { Err(CredentialFault::TokenType) }
    }

    /// Checks audience and times of a payload whose signature is verified, and returns the earliest moment at which it
    /// may have been issued and the last at which it is accepted: the issuer's clock may be off by the leeway, either
    /// way.
    pub(super) fn check_claims(
        &self,
        claims: &Claims,
        now: SystemTime,
    ) -> Result<(SystemTime, SystemTime), CredentialFault> {
        if self.audience.is_empty() || !claims::is_for(claims.get("aud"), &self.audience) {
            return Err(CredentialFault::Audience);
        }
        let expires = claims.get("exp").and_then(claims::time).ok_or(CredentialFault::ExpiryMissing)? + self.leeway;
        if expires <= now {
            return Err(CredentialFault::Expired);
        }
        let latest_start = now + self.leeway;
        if let Some(not_before) = claims.get("nbf")
            && claims::time(not_before).is_none_or(|start| start > latest_start)
        {
            return Err(CredentialFault::NotYetValid);
        }
        let issued = claims.get("iat").and_then(claims::time).ok_or(CredentialFault::IssuedAtMissing)?;
        if issued > latest_start {
            return Err(CredentialFault::NotYetValid);
        }
        if now.duration_since(issued).is_ok_and(|age| age > self.max_age.saturating_add(self.leeway)) {
            return Err(CredentialFault::TooOld);
        }
        Ok((issued.checked_sub(self.leeway).unwrap_or(issued), expires))
    }
}

fn short_type(typ: &str) -> &str {
    match typ.split_at_checked(APPLICATION.len()) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case(APPLICATION) => rest,
        _ => typ,
    }
}

fn all_distinct(texts: &[String]) -> bool {
    let mut seen = HashSet::new();
    texts.iter().all(|text| seen.insert(text))
}

const APPLICATION: &str = "application/";
const TENANT_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
const OPERATOR_MAX_AGE: Duration = Duration::from_secs(60 * 60);
const DEFAULT_LEEWAY: Duration = Duration::from_secs(30);
const MAX_LEEWAY: Duration = Duration::from_secs(60);
