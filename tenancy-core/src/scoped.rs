//! A value that carries the life it belongs to.

use std::fmt;

use crate::context::TenantContext;
use crate::denial::Denial;
use crate::id::Life;
use crate::names::Names;
use crate::purpose::DataPurpose;
use crate::realm::RealmTag;

/// A value of one tenant, opened only with a context of the same realm and life.
///
/// For values that leave the request: queues, maps shared between requests, results of spawned work.
#[must_use]
pub struct Scoped<T> {
    realm: RealmTag,
    life: Life,
    value: T,
}

impl<T> Scoped<T> {
    pub(crate) const fn new(realm: RealmTag, life: Life, value: T) -> Self {
        Self { realm, life, value }
    }

    /// Takes the value out.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`] or [`Denial::WrongLife`] for a context of somebody else (recorded), or what
    /// [`TenantContext::ensure`] says. The value is dropped then.
    pub fn open(self, context: &TenantContext) -> Result<T, Denial> {
        context.compare("scoped.open", self.realm, self.life)?;
        Ok(self.value)
    }

    /// Looks at the value.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn peek(&self, context: &TenantContext) -> Result<&T, Denial> {
        context.compare("scoped.open", self.realm, self.life)?;
        Ok(&self.value)
    }

    /// Looks at a value that names of data are derived from: this and [`TenantContext::names`] after one check.
    ///
    /// # Errors
    /// As both.
    pub fn peek_and_name<'c, P: DataPurpose>(&self, context: &'c TenantContext) -> Result<(&T, Names<'c, P>), Denial> {
        let names = context.names()?;
        context.compare_only("scoped.open", self.realm, self.life)?;
        Ok((&self.value, names))
    }
}

impl<T> fmt::Debug for Scoped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scoped({:?}, ..)", self.life)
    }
}

/// Who inside the tenant may see a thing: an explicit choice wherever a result is kept.
///
/// It holds no names. Who the subject is and what roles were verified is read from the context, so a caller can't claim
/// somebody else's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Visibility {
    /// The subject of the context alone.
    Subject,
    /// Subjects of the tenant with exactly the same verified roles.
    Roles,
    /// Everybody in the tenant.
    Tenant,
}

impl Visibility {
    /// Adds the choice and what it stands for in this context to an encoding.
    pub fn encode(self, context: &TenantContext, fields: &mut crate::encode::Fields) {
        match self {
            Self::Tenant => fields.u64(1, 1),
            // Roles of two issuers, API keys' among them, share nothing but their names.
            Self::Roles => fields.u64(1, 2).text(2, context.issuer()).list(3, context.roles(), |f, role| {
                f.text(1, role);
            }),
            Self::Subject => fields.u64(1, 3).text(3, context.issuer()).text(4, context.subject().as_str()),
        };
    }
}
