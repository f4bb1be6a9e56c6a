//! SQL that somebody smuggled into a report, where the guard can't see it.

use sqlx::AssertSqlSafe;
use tenancy_core::{Denial, Reach};
use tenancy_pg::PgError;

use crate::common::smuggled;
use crate::reports::{ACME, ALL, Reporting, ids};

/// Signed, a grant for one tenant stays one for that tenant, whatever is smuggled in.
#[tokio::test]
async fn a_signed_reach_can_not_be_widened() {
    let world = Reporting::signed().await;
    let database = world.open_with(world.options().max_connections(3)).await.unwrap();
    let (acme, globex, every) = (world.one("acme").await, world.one("globex").await, world.grant(Reach::Every).await);
    let of_acme = database.across(&acme).await.unwrap();
    let (of_globex, all) = (database.across(&globex).await.unwrap(), database.across(&every).await.unwrap());
    let victim = world.tenants.life("globex").uuid();
    // Seals that are good at this moment, where they are.
    let (mut theirs, mut widest) = (of_globex.read().await.unwrap(), all.read().await.unwrap());
    let seal = "select current_setting('tenancy.seal')";
    let seal_of_globex: String = sqlx::query_scalar(seal).fetch_one(&mut theirs).await.unwrap();
    let seal_of_every: String =
        sqlx::query_scalar("select current_setting('tenancy.reach')").fetch_one(&mut widest).await.unwrap();
    assert!(seal_of_globex.contains(&victim.to_string()) && seal_of_every.len() == 72);
    for (what, set) in [
        ("the word of the plain modes", "set local tenancy.reach = 'every'".to_owned()),
        ("the same for the session", "set tenancy.reach = 'every'".to_owned()),
        ("the seal of every tenant, copied", format!("set local tenancy.reach = '{seal_of_every}'")),
        ("and copied into the tenant's place", format!("set local tenancy.seal = '{seal_of_every}'")),
        ("another tenant's seal, copied", format!("set local tenancy.seal = '{seal_of_globex}'")),
        ("another tenant's seal as a reach", format!("set local tenancy.reach = '{seal_of_globex}'")),
        (
            "its own seal as a reach",
            "do $own$ begin perform set_config('tenancy.reach',
                 left(current_setting('tenancy.seal'), 8) || substr(current_setting('tenancy.seal'), 45, 64), true); end $own$"
                .to_owned(),
        ),
        (
            "another row key behind its own seal",
            format!(
                "do $own$ begin perform set_config('tenancy.seal',
                     left(current_setting('tenancy.seal'), 108) || '{victim}', true); end $own$"
            ),
        ),
        ("the plain setting", format!("set local \"tenancy.row_key\" = '{victim}'")),
        ("a key nobody has", format!("set local tenancy.reach = 'nosuchid{}'", "0".repeat(64))),
    ] {
        let mut tx = of_acme.read().await.unwrap();
        sqlx::query(AssertSqlSafe(smuggled(&set))).execute(&mut tx).await.unwrap();
        let seen = sqlx::query_scalar::<_, i32>("select id from note order by id").fetch_all(&mut tx).await;
        assert!(seen.as_ref().map_or(true, |seen| *seen == ACME), "{what}: {seen:?}");
        // A seal that is refused has aborted the transaction; a setting that is not, is found to be another one.
        let ended = tx.end().await.err().map(|e| e.denial().unwrap());
        assert_eq!(ended, seen.is_ok().then_some(Denial::StoreBreach), "{what}");
        assert_eq!(ids(&of_acme).await, ACME, "{what}: after");
    }
    assert_eq!(sqlx::query("select id from note").fetch_all(&mut widest).await.unwrap().len(), 5, "still good, there");
    for tx in [theirs, widest] {
        tx.end().await.unwrap();
    }
    assert_eq!(ids(&all).await, ALL);
    let records = world.listed("acme", "pg.report").await;
    assert!(records.iter().any(|r| r.rule() == Some("store.breach")), "acme can see that it was tried");
}

/// In the plain modes what was changed and not put back is found out before the rows are given.
#[tokio::test]
async fn a_plain_reach_that_was_changed_is_found_out() {
    let world = Reporting::plain().await;
    let database = world.open().await;
    let acme = world.one("acme").await;
    let reports = database.across(&acme).await.unwrap();
    let victim = world.tenants.life("globex").uuid();
    for set in [
        "set local tenancy.reach = 'every'".to_owned(),
        "set tenancy.reach = 'every'".to_owned(),
        format!("set local \"tenancy.row_key\" = '{victim}'"),
        format!("set \"tenancy.row_key\" = '{victim}'"),
        "set local tenancy.seal = 'x'".to_owned(),
    ] {
        let refused = sqlx::query(AssertSqlSafe(smuggled(&set))).fetch_all(&reports).await.unwrap_err();
        assert_eq!(PgError::from(refused).denial(), Some(Denial::StoreBreach), "{set}");
        let mut tx = reports.read().await.unwrap();
        sqlx::query(AssertSqlSafe(smuggled(&set))).execute(&mut tx).await.unwrap();
        drop(tx);
        assert_eq!(ids(&reports).await, ACME, "{set}: the next one");
    }
    let every = world.grant(Reach::Every).await;
    let all = database.across(&every).await.unwrap();
    let narrowed = sqlx::query(AssertSqlSafe(smuggled("set local tenancy.reach = ''"))).fetch_all(&all).await;
    assert_eq!(PgError::from(narrowed.unwrap_err()).denial(), Some(Denial::StoreBreach), "counts that are too small");
    assert_eq!(ids(&all).await, ALL);
}

/// The service's own connections can't reach across, whatever they set.
#[tokio::test]
async fn the_services_role_has_no_reach() {
    for world in [Reporting::plain().await, Reporting::signed().await] {
        let database = world.open().await;
        let acme = database.scoped(&world.tenants.context("acme").await).unwrap();
        let mut tx = acme.begin().await.unwrap();
        sqlx::query(AssertSqlSafe(smuggled("set local tenancy.reach = 'every'"))).execute(&mut tx).await.unwrap();
        let seen: Vec<i32> = sqlx::query_scalar("select id from note order by id").fetch_all(&mut tx).await.unwrap();
        assert_eq!(seen, ACME);
        tx.rollback().await.unwrap();
    }
}
