//! What a subject may do inside its tenant, as types.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::context::TenantContext;
use crate::denial::Denial;

/// An action that needs permission. Services define their own.
pub trait Permission: Send + Sync + 'static {
    /// The name by which the directory's role mapping grants it.
    const NAME: &'static str;
}

macro_rules! permissions {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        #[non_exhaustive]
        pub struct $name;
        impl Permission for $name { const NAME: &'static str = $text; }
    )*};
}

permissions! {
    /// Ask a model.
    UseModel = "use-model";
    /// Add or change documents.
    Ingest = "ingest";
    /// Train an adapter.
    FineTune = "fine-tune";
    /// Publish an adapter.
    PublishAdapter = "publish-adapter";
    /// Change the tenant's settings.
    Configure = "configure";
    /// Issue and revoke API keys.
    ManageKeys = "manage-keys";
    /// Read the tenant's own audit records.
    ReadAudit = "read-audit";
}

/// Proof that the subject of one context may do `P`. Made by [`TenantContext::authorize`] only; a function that takes
/// `&Authorized<P>` can't be called with the proof of another permission.
pub struct Authorized<P: Permission> {
    context: TenantContext,
    permission: PhantomData<fn() -> P>,
}

impl<P: Permission> Authorized<P> {
    pub(crate) const fn new(context: TenantContext) -> Self {
        Self { context, permission: PhantomData }
    }

    /// The context it was given in. A function that takes the proof takes the tenant from it too, so that the proof of
    /// one tenant can't be shown beside another's context.
    #[must_use]
    pub const fn context(&self) -> &TenantContext {
        &self.context
    }

    /// Checks that the proof still holds: the deadline and the tenant's standing.
    ///
    /// # Errors
    /// [`Denial`] as for any use of the context.
    pub fn check(&self) -> Result<(), Denial> {
        self.context.ensure()
    }
}

impl<P: Permission> fmt::Debug for Authorized<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authorized<{}>({:?})", P::NAME, self.context.life())
    }
}

/// The permissions of a context, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PermissionSet(Arc<BTreeSet<Arc<str>>>);

impl PermissionSet {
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }

    /// What both hold.
    pub(crate) fn within(&self, ceiling: &Self) -> Self {
        self.0.intersection(&ceiling.0).cloned().collect()
    }
}

impl FromIterator<Arc<str>> for PermissionSet {
    fn from_iter<I: IntoIterator<Item = Arc<str>>>(names: I) -> Self {
        Self(Arc::new(names.into_iter().collect()))
    }
}
