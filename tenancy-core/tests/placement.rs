//! Regions, cells and breakers: one tenant's placement and failures are nobody else's.

#![expect(clippy::unwrap_used, reason = "a test stops where it can't go on")]

use std::time::{Duration, SystemTime};

use tenancy_core::{
    BreakerSettings, Breakers, CellName, Cells, Denial, Gate, Life, Placement, Region, StoreName, TenantContext,
    TenantId, TenantRecord,
};
use tenancy_testkit::TestTenants;

const STORE: StoreName = StoreName::new("vectors");

async fn placed(tenants: &TestTenants, name: &str, placement: Placement) -> TenantContext {
    let born = SystemTime::now() - Duration::from_secs(60);
    let record = TenantRecord::new(TenantId::parse(name).unwrap(), Life::random(), born)
        .claim(tenants.issuer().issuer(), name)
        .placed(placement);
    tenants.directory().add(record).unwrap();
    tenants.context(name).await
}

fn region(name: &str) -> Region {
    Region::parse(name).unwrap()
}

fn cell(name: &str) -> CellName {
    CellName::parse(name).unwrap()
}

#[tokio::test]
async fn a_tenant_is_served_in_its_own_region_only() {
    let tenants = TestTenants::new().await;
    let at_home = tenants.context("acme").await;
    let abroad = placed(&tenants, "umbrella", Placement::in_region(region("eu-west"))).await;
    let home = Gate::new(tenants.realm(), STORE);
    let west = Gate::new(tenants.realm(), STORE).in_region(region("eu-west"));
    assert!(home.scoped(&at_home).is_ok() && west.scoped(&abroad).is_ok());
    assert_eq!(home.scoped(&abroad).unwrap_err(), Denial::WrongRegion);
    assert_eq!(west.scoped(&at_home).unwrap_err(), Denial::WrongRegion);
    let records = tenants.audit().await;
    let wrong: Vec<_> = records.iter().filter(|r| r.rule() == Some("placement.wrong_region")).collect();
    assert_eq!(wrong.iter().map(|r| r.life()).collect::<Vec<_>>(), [Some(abroad.life()), Some(at_home.life())]);
}

#[tokio::test]
async fn a_cell_is_picked_by_placement_and_never_out_of_region() {
    let tenants = TestTenants::new().await;
    let at_home = tenants.context("acme").await;
    let west = placed(&tenants, "umbrella", Placement::in_region(region("eu-west"))).await;
    let mut named = Placement::in_region(region("eu-west"));
    named.cells.insert("vectors".to_owned(), cell("w2"));
    let named = placed(&tenants, "wayne", named).await;
    let mut mislaid = Placement::in_region(region("eu-west"));
    mislaid.cells.insert("vectors".to_owned(), cell("h1"));
    let mislaid = placed(&tenants, "stark", mislaid).await;

    let one = Cells::from("only");
    assert_eq!(one.pick(STORE, &at_home), Ok(&"only"));
    assert_eq!(one.pick(STORE, &west), Err(Denial::WrongRegion));
    let cells = Cells::new()
        .cell(cell("h1"), region("home"), "home-1")
        .cell(cell("w1"), region("eu-west"), "west-1")
        .cell(cell("w2"), region("eu-west"), "west-2");
    assert_eq!(cells.pick(STORE, &at_home), Ok(&"home-1"));
    assert_eq!(cells.pick(STORE, &west), Ok(&"west-1"));
    assert_eq!(cells.pick(STORE, &named), Ok(&"west-2"));
    assert_eq!(cells.pick(STORE, &mislaid), Err(Denial::WrongRegion), "the named cell lies elsewhere");
    assert_eq!(Cells::<&str>::new().pick(STORE, &at_home), Err(Denial::WrongRegion));
}

#[tokio::test]
async fn a_breaker_opens_for_one_tenant_and_one_target() {
    let tenants = TestTenants::builder().clock().build().await;
    let gate = Gate::new(tenants.realm(), StoreName::new("tools"));
    let acme = gate.scoped(&tenants.context("acme").await).unwrap();
    let globex = gate.scoped(&tenants.context("globex").await).unwrap();
    let breakers = Breakers::new(BreakerSettings::default());
    for _ in 0..4 {
        breakers.permit(&acme, "search").unwrap().failure();
    }
    // A success starts the count again; a permit that is dropped says nothing.
    breakers.permit(&acme, "search").unwrap().success();
    for _ in 0..4 {
        breakers.permit(&acme, "search").unwrap().failure();
        drop(breakers.permit(&acme, "search").unwrap());
    }
    breakers.permit(&acme, "search").unwrap().failure();
    assert_eq!(breakers.permit(&acme, "search").unwrap_err(), Denial::BreakerOpen);
    assert!(breakers.permit(&acme, "other").is_ok() && breakers.permit(&globex, "search").is_ok());

    tenants.clock().advance(Duration::from_secs(10));
    let trial = breakers.permit(&acme, "search").unwrap();
    assert_eq!(breakers.permit(&acme, "search").unwrap_err(), Denial::BreakerOpen, "one tries at a time");
    trial.failure();
    assert_eq!(breakers.permit(&acme, "search").unwrap_err(), Denial::BreakerOpen);
    tenants.clock().advance(Duration::from_secs(10));
    drop(breakers.permit(&acme, "search").unwrap());
    assert_eq!(breakers.permit(&acme, "search").unwrap_err(), Denial::BreakerOpen);
    tenants.clock().advance(Duration::from_secs(10));
    breakers.permit(&acme, "search").unwrap().success();
    assert!(breakers.permit(&acme, "search").is_ok());
    assert!(tenants.denied_rules().await.contains(&"breaker.open".to_owned()));

    // Verdicts of calls that began before it opened come late, and change nothing.
    let early: Vec<_> = (0..7).map(|_| breakers.permit(&globex, "late").unwrap()).collect();
    let mut early = early.into_iter();
    early.by_ref().take(5).for_each(tenancy_core::BreakerPermit::failure);
    assert_eq!(breakers.permit(&globex, "late").unwrap_err(), Denial::BreakerOpen);
    early.next().unwrap().failure();
    assert_eq!(breakers.permit(&globex, "late").unwrap_err(), Denial::BreakerOpen, "a late failure");
    early.next().unwrap().success();
    assert_eq!(breakers.permit(&globex, "late").unwrap_err(), Denial::BreakerOpen, "a late success");
}
