//! What a store says of an erasure reaches the operator and the record, and what a driver said does not.

use std::time::Duration;

use async_trait::async_trait;
use tenancy_core::{
    Credential, Denial, EraseError, Eraser, ErasureScope, Outcome, Reach, StoreName, StoreVerdict, TenantId,
};
use tenancy_testkit::TestTenants;

/// A store that answers as it is told.
struct Store {
    erases: fn() -> Result<(), EraseError>,
    finds: fn() -> Result<StoreVerdict, EraseError>,
}

#[async_trait]
impl Eraser for Store {
    fn store(&self) -> StoreName {
        StoreName::new("scripted")
    }

    async fn erase(&self, _: ErasureScope<'_>) -> Result<(), EraseError> {
        (self.erases)()
    }

    async fn verify(&self, _: ErasureScope<'_>) -> Result<StoreVerdict, EraseError> {
        (self.finds)()
    }
}

#[tokio::test]
async fn why_an_erasure_failed_is_told_and_on_record() {
    let tenants = TestTenants::new().await;
    let (life, reach) = (tenants.life("acme"), Reach::One(TenantId::parse("acme").unwrap()));
    let operator = Credential::bearer(tenants.operator_token());
    let minute = Duration::from_secs(60);
    let grant = tenants.realm().operators().open(&operator, "offboarding", "CASE-1", reach, minute).await.unwrap();
    tenants.erase("acme");
    let driver = || Err(EraseError::new(std::io::Error::other("DETAIL: key (acme's secret)")));
    let kept = || Ok(StoreVerdict::RetainedByPolicy { why: "a hold".to_owned() });
    let cases: [(Store, Outcome, Option<&str>); 7] = [
        (Store { erases: || Ok(()), finds: || Ok(StoreVerdict::Verified) }, Outcome::Done, None),
        (Store { erases: || Ok(()), finds: kept }, Outcome::Done, Some("a hold")),
        (
            Store { erases: || Ok(()), finds: || Ok(StoreVerdict::failed("rows are left")) },
            Outcome::Failed,
            Some("rows are left"),
        ),
        (Store { erases: || Err(EraseError::because("no login")), finds: kept }, Outcome::Failed, Some("no login")),
        (
            Store { erases: || Err(EraseError::told(Denial::ForeignRealm)), finds: kept },
            Outcome::Failed,
            Some("the value belongs to another realm"),
        ),
        (
            Store { erases: || Ok(()), finds: || Err(EraseError::because("no answer")) },
            Outcome::Failed,
            Some("no answer"),
        ),
        (Store { erases: driver, finds: kept }, Outcome::Failed, Some("Error (text withheld)")),
    ];
    for (store, outcome, why) in cases {
        let verdict = tenants.realm().erase_store(&grant, life, &store).await.unwrap();
        assert_eq!((verdict.why(), verdict.is_failed()), (why, outcome == Outcome::Failed), "{verdict:?}");
        let records = tenants.audit().await;
        let record = records.iter().rfind(|record| record.action() == "erase").unwrap();
        // What a store calls another verdict is for the operator who asked: it may be any text.
        let recorded = why.filter(|_| outcome == Outcome::Failed);
        assert_eq!((record.outcome(), record.reason()), (outcome, recorded), "{verdict:?}");
    }
}
