//! Every refusal, typed: what happened for the operator, one face for the caller.

use std::error::Error;

/// Why an access was refused.
///
/// Each denial has a stable [`rule`](Self::rule) that the audit log holds, and a [`face`](Self::face): all a caller
/// may learn. A foreign object and one that never existed are the same denial, [`Denial::NotVisible`], because nobody
/// looks across the boundary to tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Denial {
    /// No credential came with the request.
    #[error("no credential was presented")]
    CredentialMissing,
    /// A credential came and was refused.
    #[error("the credential was refused: {0}")]
    Credential(#[from] CredentialFault),
    /// The verified credential names no tenant that the directory knows.
    #[error("the credential names no known tenant")]
    TenantUnknown,
    /// The tenant is suspended.
    #[error("the tenant is suspended")]
    TenantSuspended,
    /// The tenant is being erased or is gone.
    #[error("the tenant is erased")]
    TenantErased,
    /// Several memberships were verified and none, or one that is not among them, was selected.
    #[error("no verified membership was selected")]
    NotAMember,
    /// The directory did not answer.
    #[error("the tenant directory is unavailable")]
    DirectoryUnavailable,
    /// No fresh answer about the tenant's standing within the stated bound.
    #[error("the tenant's standing is not known freshly enough")]
    FenceStale,
    /// The context's deadline has passed.
    #[error("the deadline has passed")]
    DeadlinePassed,
    /// A context, token or value of another realm.
    #[error("the value belongs to another realm")]
    ForeignRealm,
    /// A value that carries another life of this realm.
    #[error("the value belongs to another life")]
    WrongLife,
    /// Not among what this context can see. The same for a foreign id and for one that never existed.
    #[error("not visible")]
    NotVisible,
    /// The subject's roles do not give the permission.
    #[error("the permission is missing")]
    PermissionMissing,
    /// The tenant is placed in another region, or no cell of the store is in its region.
    #[error("the store is not in the tenant's region")]
    WrongRegion,
    /// A job ticket was refused.
    #[error("the job ticket was refused: {0}")]
    Ticket(#[from] TicketFault),
    /// A sealed value, cursor or ticket did not open.
    #[error("the sealed value was refused: {0}")]
    Seal(#[from] SealFault),
    /// A key is destroyed.
    #[error("the tenant's key is destroyed")]
    KeyDestroyed,
    /// A key can't be had at the moment.
    #[error("the tenant's key is unavailable")]
    KeyUnavailable,
    /// The denial or access could not be recorded, so it did not happen.
    #[error("the audit log is unavailable")]
    AuditUnavailable,
    /// An operator's grant was refused.
    #[error("the cross-tenant grant was refused: {0}")]
    Grant(#[from] GrantFault),
    /// The circuit breaker of this tenant and target is open.
    #[error("the circuit breaker is open")]
    BreakerOpen,
    /// An argument tried to name a scope.
    #[error("an argument tried to name a scope")]
    ScopeArgument,
    /// The path, host or statement is outside what the tenant may reach.
    #[error("outside the tenant's reach")]
    OutOfReach,
    /// The store ignored its own second check, or answered with another tenant's data.
    #[error("the store answered out of scope")]
    StoreBreach,
    /// The realm is closed.
    #[error("the realm is closed")]
    RealmClosed,
}

impl Denial {
    /// The stable name of the rule, as the audit log and the tests know it.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::CredentialMissing => "credential.missing",
            Self::Credential(fault) => fault.rule(),
            Self::TenantUnknown => "tenant.unknown",
            Self::TenantSuspended => "tenant.suspended",
            Self::TenantErased => "tenant.erased",
            Self::NotAMember => "selection.not_a_member",
            Self::DirectoryUnavailable => "directory.unavailable",
            Self::FenceStale => "fence.stale",
            Self::DeadlinePassed => "deadline.passed",
            Self::ForeignRealm => "scope.foreign_realm",
            Self::WrongLife => "scope.wrong_life",
            Self::NotVisible => "scope.not_visible",
            Self::PermissionMissing => "permission.missing",
            Self::WrongRegion => "placement.wrong_region",
            Self::Ticket(fault) => fault.rule(),
            Self::Seal(fault) => fault.rule(),
            Self::KeyDestroyed => "key.destroyed",
            Self::KeyUnavailable => "key.unavailable",
            Self::AuditUnavailable => "audit.unavailable",
            Self::Grant(fault) => fault.rule(),
            Self::BreakerOpen => "breaker.open",
            Self::ScopeArgument => "scope_argument_supplied",
            Self::OutOfReach => "scope.out_of_reach",
            Self::StoreBreach => "store.breach",
            Self::RealmClosed => "realm.closed",
        }
    }

    /// What the caller may learn.
    #[must_use]
    pub const fn face(&self) -> Face {
        match self {
            // The token may be good; it is the issuer that can't be reached.
            Self::Credential(CredentialFault::KeysUnavailable) => Face::Unavailable,
            Self::CredentialMissing
            | Self::Credential(_)
            | Self::TenantUnknown
            | Self::TenantSuspended
            | Self::TenantErased
            | Self::NotAMember
            | Self::DeadlinePassed => Face::Unauthenticated,
            // Whose an object is, of this realm or another, is for the operator alone.
            Self::NotVisible | Self::ForeignRealm | Self::WrongLife | Self::OutOfReach | Self::Seal(_) => {
                Face::NotFound
            }
            Self::PermissionMissing | Self::Ticket(_) | Self::Grant(_) => Face::Forbidden,
            Self::ScopeArgument => Face::Invalid,
            Self::DirectoryUnavailable
            | Self::FenceStale
            | Self::WrongRegion
            | Self::KeyDestroyed
            | Self::KeyUnavailable
            | Self::AuditUnavailable
            | Self::BreakerOpen
            | Self::StoreBreach
            | Self::RealmClosed => Face::Unavailable,
        }
    }

    /// Finds the denial in an error or in the chain of its sources.
    #[must_use]
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(current) = next {
            if let Some(denial) = current.downcast_ref::<Self>() {
                return Some(*denial);
            }
            next = current.source();
        }
        None
    }
}

/// The five things a caller can be told. Status, body and headers follow from the face alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Face {
    /// 401: who are you?
    Unauthenticated,
    /// 403: you may not.
    Forbidden,
    /// 404: no such thing for you.
    NotFound,
    /// 400: the request is wrong in itself.
    Invalid,
    /// 503: not now.
    Unavailable,
}

impl Face {
    /// The HTTP status code.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Invalid => 400,
            Self::Unavailable => 503,
        }
    }

    /// The word in the body.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Invalid => "invalid",
            Self::Unavailable => "unavailable",
        }
    }
}

macro_rules! faults {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $rule:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* #[error($text)] $variant,)*
        }

        impl $name {
            /// The stable name of the rule.
            #[must_use]
            pub const fn rule(&self) -> &'static str {
                match self { $(Self::$variant => $rule,)* }
            }
        }
    };
}

faults! {
    /// What was wrong with a credential. For the operator; the caller sees one face for all of them.
    CredentialFault {
        /// Not of the form of any credential.
        Malformed => "credential.malformed", "malformed";
        /// A job ticket at the edge.
        TicketAtEdge => "credential.ticket_at_edge", "a job ticket is not a credential";
        /// An algorithm other than the key's own.
        Algorithm => "credential.algorithm", "algorithm not allowed for the key";
        /// No `iss`, or not a plain text.
        IssuerMissing => "credential.issuer_missing", "issuer missing or not a text";
        /// An issuer this realm does not know.
        IssuerUnknown => "credential.issuer_unknown", "issuer unknown";
        /// A key id the issuer does not have, or none.
        KeyUnknown => "credential.key_unknown", "key unknown";
        /// The issuer's keys can't be had.
        KeysUnavailable => "credential.keys_unavailable", "issuer keys unavailable";
        /// The signature does not verify.
        Signature => "credential.signature", "signature refused";
        /// No `aud`, or not ours.
        Audience => "credential.audience", "audience missing or not ours";
        /// No `exp`, or not a number.
        ExpiryMissing => "credential.expiry_missing", "expiry missing or not a number";
        /// Past its expiry and leeway.
        Expired => "credential.expired", "expired";
        /// Before its `nbf` or `iat`.
        NotYetValid => "credential.not_yet_valid", "not yet valid";
        /// `iat` missing or not a number.
        IssuedAtMissing => "credential.issued_at_missing", "issue time missing or not a number";
        /// Older than the issuer's tokens may be.
        TooOld => "credential.too_old", "older than allowed";
        /// Issued before the tenant's present life began.
        BeforeLife => "credential.before_life", "issued before the tenant's life began";
        /// No `sub`, or not usable.
        Subject => "credential.subject", "subject missing or unusable";
        /// The tenant claim is missing.
        TenantClaimMissing => "credential.tenant_claim_missing", "tenant claim missing";
        /// The tenant claim is not one well-formed name.
        TenantClaimMalformed => "credential.tenant_claim_malformed", "tenant claim malformed";
        /// An `act` claim where none is allowed, or a nested one.
        Actor => "credential.actor", "actor claim not allowed";
        /// A token type other than the configured one.
        TokenType => "credential.token_type", "token type refused";
        /// A critical header we do not understand.
        Critical => "credential.critical_header", "critical header not understood";
        /// An API key that is unknown or whose secret is wrong.
        ApiKey => "credential.api_key", "API key refused";
        /// An API key past its expiry.
        ApiKeyExpired => "credential.api_key_expired", "API key expired";
        /// A revoked API key.
        ApiKeyRevoked => "credential.api_key_revoked", "API key revoked";
    }
}

faults! {
    /// What was wrong with a job ticket.
    TicketFault {
        /// Not a ticket of this realm, or altered.
        Altered => "ticket.altered", "altered or not ours";
        /// Past its expiry.
        Expired => "ticket.expired", "expired";
        /// For another kind of job.
        WrongKind => "ticket.wrong_kind", "for another kind of job";
        /// For another queue.
        WrongQueue => "ticket.wrong_queue", "for another queue";
        /// For other payload bytes.
        WrongPayload => "ticket.wrong_payload", "for another payload";
        /// Used before, and asked to be used once.
        Replayed => "ticket.replayed", "already used";
        /// Single use was asked and no ledger is there to promise it.
        LedgerUnavailable => "ticket.ledger_unavailable", "the ledger of used tickets is unavailable";
        /// A longer life than the kind or the parent ticket allows.
        TooLong => "ticket.too_long", "longer than allowed";
        /// Made by another realm.
        ForeignRealm => "ticket.foreign_realm", "of another realm";
    }
}

faults! {
    /// What was wrong with a sealed value.
    SealFault {
        /// Not of the form of a sealed value.
        Malformed => "seal.malformed", "malformed";
        /// Sealed for another use, schema or place, or altered.
        Refused => "seal.refused", "altered, or sealed for another place";
        /// Past its expiry.
        Expired => "seal.expired", "expired";
        /// Sealed under a key that is not known any more.
        KeyUnknown => "seal.key_unknown", "key unknown";
    }
}

faults! {
    /// What was wrong with an operator's request to cross the boundary.
    GrantFault {
        /// No reason, or too short a one.
        ReasonMissing => "grant.reason_missing", "a reason is required";
        /// No case reference.
        CaseMissing => "grant.case_missing", "a case reference is required";
        /// Longer than a grant may live, or no time at all.
        TooLong => "grant.too_long", "time to live out of bounds";
        /// Past its expiry.
        Expired => "grant.expired", "expired";
        /// Ended before its time.
        Revoked => "grant.revoked", "revoked";
        /// The grant reaches another tenant.
        OutOfReach => "grant.out_of_reach", "the grant does not reach this tenant";
        /// A tenant's credential where an operator's is needed.
        NotAnOperator => "grant.not_an_operator", "not an operator's credential";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Denial);

    #[test]
    fn a_denial_is_found_through_the_source_chain() {
        assert_eq!(Denial::of(&Outer(Denial::NotVisible)), Some(Denial::NotVisible));
        assert_eq!(Denial::of(&std::io::Error::other("x")), None);
    }

    #[test]
    fn every_authentication_failure_wears_one_face() {
        for denial in [
            Denial::CredentialMissing,
            CredentialFault::Signature.into(),
            CredentialFault::ApiKeyRevoked.into(),
            Denial::TenantUnknown,
            Denial::TenantSuspended,
            Denial::TenantErased,
        ] {
            assert_eq!(denial.face(), Face::Unauthenticated, "{denial:?}");
        }
    }

    #[test]
    fn whose_an_object_is_can_not_be_told_from_outside() {
        for denial in [Denial::WrongLife, Denial::ForeignRealm, SealFault::Refused.into(), SealFault::Malformed.into()]
        {
            assert_eq!(denial.face(), Denial::NotVisible.face(), "{denial:?}");
        }
    }
}
