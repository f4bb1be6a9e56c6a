//! What the types must not be able to do, whatever the compiler's messages say. The twins in `tests/ui` show the
//! messages.

use static_assertions::{assert_impl_all, assert_not_impl_any};
use tenancy_core::{
    Authorized, Credential, CrossTenantGrant, Entered, JobKind, JobTicket, Pass, Realm, Scoped, TenantContext,
    TicketUse, Verified, permission::UseModel,
};

struct Work;
impl JobKind for Work {
    const NAME: &'static str = "work";
    const QUEUE: &'static str = "work";
    const MAX_TTL: std::time::Duration = std::time::Duration::from_secs(1);
    const USE: TicketUse = TicketUse::Once;
}

assert_impl_all!(TenantContext: Clone, Send, Sync);
assert_impl_all!(Realm: Clone, Send, Sync);
assert_impl_all!(Pass: Clone, Send, Sync);
assert_not_impl_any!(TenantContext: Default, From<String>, From<&'static str>, std::str::FromStr, serde::Serialize, serde::de::DeserializeOwned, std::ops::Deref);
assert_not_impl_any!(Verified: Default, Clone, serde::Serialize, serde::de::DeserializeOwned);
assert_not_impl_any!(CrossTenantGrant: Default, Clone, serde::Serialize, serde::de::DeserializeOwned);
assert_not_impl_any!(Authorized<UseModel>: Default, serde::Serialize, serde::de::DeserializeOwned);
assert_not_impl_any!(Entered<'static>: Clone, Default);
assert_not_impl_any!(Credential: Clone, serde::Serialize, serde::de::DeserializeOwned);
assert_not_impl_any!(Scoped<String>: std::ops::Deref, AsRef<String>, serde::Serialize);
assert_not_impl_any!(JobTicket<Work>: Clone, Default, serde::Serialize, serde::de::DeserializeOwned);

#[test]
fn debug_says_nothing_of_a_credential() {
    let shown = format!("{:?} {:?}", Credential::bearer("secret-token"), Credential::api_key("secret-key"));
    assert!(!shown.contains("secret"), "{shown}");
}
