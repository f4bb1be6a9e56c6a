//! Who inside a tenant shares a kept result, and who does not.

use secrecy::ExposeSecret;
use tenancy_core::Visibility::{Roles, Subject, Tenant};
use tenancy_core::permission::ManageKeys;
use tenancy_core::{Credential, Fields, SubjectId, TenantContext, Visibility};
use tenancy_testkit::TestTenants;

#[tokio::test]
async fn roles_of_two_issuers_share_no_view_though_they_share_a_name() {
    let tenants = TestTenants::new().await;
    let acme = tenants.context("acme").await;
    let manage = acme.authorize::<ManageKeys>().unwrap();
    let bot = SubjectId::parse("ci-bot").unwrap();
    let issued = tenants.realm().issue_api_key(&manage, bot, &["reader"], None).unwrap();
    tenants.directory().put_api_key(issued.record().clone());
    let key = Credential::api_key(issued.secret().expose_secret());
    let by_key = tenants.realm().authenticate(&key).await.unwrap();
    let by_login = tenants.context_of("acme", "reader-1", &["reader"]).await;
    let colleague = tenants.context_of("acme", "reader-2", &["reader"]).await;
    let view = |visibility: Visibility, ctx: &TenantContext| {
        let mut fields = Fields::new();
        visibility.encode(ctx, &mut fields);
        fields.as_bytes().to_vec()
    };
    assert_eq!(by_key.roles(), by_login.roles(), "the names are the same");
    assert_ne!(view(Roles, &by_key), view(Roles, &by_login));
    assert_eq!(view(Roles, &colleague), view(Roles, &by_login), "and colleagues of one issuer share");
    assert_ne!(view(Subject, &colleague), view(Subject, &by_login));
    let namesake = tenants.context_of("acme", "ci-bot", &["reader"]).await;
    assert_eq!(by_key.subject(), namesake.subject());
    assert_ne!(view(Subject, &by_key), view(Subject, &namesake), "nor do two subjects of one name");
    assert_eq!(view(Tenant, &by_key), view(Tenant, &by_login));
}
