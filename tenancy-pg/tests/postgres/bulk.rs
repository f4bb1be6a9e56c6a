//! Many rows out and in.

use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::error::DatabaseError;
use tenancy_core::Denial;
use tenancy_pg::{BulkError, BulkInsert, CopyOut, Forbidden, PgError, TenantTx, danger};
use tenancy_testkit::drop_at_every_poll;

use crate::common::{ACME, GLOBEX, World, bodies};
use crate::sealed::Sealed;

async fn copied(tx: &mut TenantTx<'_>, copy: CopyOut) -> Result<String, PgError> {
    let chunks: Vec<_> = tx.copy_out(copy).try_collect().await?;
    Ok(String::from_utf8(chunks.concat()).unwrap())
}

#[tokio::test]
async fn a_copy_holds_the_tenants_own_rows() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let query = "select id, body from note order by id -- all";
    let mut tx = acme.read().await.unwrap();
    assert_eq!(copied(&mut tx, CopyOut::query(query)).await.unwrap(), "1\tacme one\n2\tacme two\n");
    let csv = copied(&mut tx, CopyOut::query(query).csv().header()).await.unwrap();
    assert_eq!(csv, "id,body\n1,acme one\n2,acme two\n");
    let binary: Vec<_> = tx.copy_out(CopyOut::query("table note").binary()).try_collect().await.unwrap();
    assert!(binary.concat().starts_with(b"PGCOPY\n"));
    for (sql, why) in [
        ("select 1) to stdout; select set_config('a.b', '', false); copy (select 1", Forbidden::Several),
        ("select 1) to stdout; drop table note; copy (select 1", Forbidden::Several),
        ("select 1) to program 'true' --", Forbidden::Unreadable),
        ("select 1 /*", Forbidden::Unreadable),
        ("note", Forbidden::Definition),
        ("commit", Forbidden::Transaction),
    ] {
        let refused = copied(&mut tx, CopyOut::query(sql)).await.unwrap_err();
        assert!(matches!(refused, PgError::Forbidden(forbidden) if forbidden == why), "{sql}: {refused:?}");
    }
    assert_eq!(copied(&mut tx, CopyOut::query(query)).await.unwrap().lines().count(), 2, "the transaction goes on");
    tx.commit().await.unwrap();
    assert_eq!(bodies(&globex).await, GLOBEX);
}

/// sqlx leaves the end of the server's answer unread, and would take it for the answer to the next statement.
#[tokio::test]
async fn a_copy_that_ends_badly_ends_its_transaction() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    for sql in ["select 1/0", "select 1/(500 - n) from generate_series(1, 1000) n", "select * from nowhere"] {
        let mut tx = acme.begin().await.unwrap();
        let failed = copied(&mut tx, CopyOut::query(sql)).await.unwrap_err();
        assert!(matches!(failed, PgError::Database(_)), "{sql}: {failed:?}");
        let next = sqlx::query_scalar::<_, i32>("select 7").fetch_one(&mut tx).await.unwrap_err();
        assert!(matches!(PgError::from(next), PgError::Interrupted), "{sql}");
        assert!(matches!(tx.commit().await, Err(PgError::Interrupted)), "{sql}");
        assert_eq!(bodies(&globex).await, GLOBEX, "{sql}");
    }
    let mut tx = acme.begin().await.unwrap();
    let mut chunks = tx.copy_out(CopyOut::query("select generate_series(1, 100000)"));
    chunks.try_next().await.unwrap().unwrap();
    drop(chunks);
    assert!(matches!(tx.commit().await, Err(PgError::Interrupted)), "dropped in the middle");
    assert_eq!(bodies(&globex).await, GLOBEX);

    let mut tx = acme.begin().await.unwrap();
    let mut chunks = tx.copy_out(CopyOut::query("select generate_series(1, 100000)"));
    chunks.try_next().await.unwrap().unwrap();
    world.tenants.suspend("acme");
    let stopped = loop {
        match chunks.try_next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a suspended tenant gets the rest"),
            Err(error) => break error,
        }
    };
    assert_eq!(stopped.denial(), Some(Denial::TenantSuspended));
    drop(chunks);
    drop(tx);
    assert_eq!(bodies(&globex).await, GLOBEX);
}

#[tokio::test]
async fn a_copy_stops_when_the_deadline_has_passed() {
    let tenants = tenancy_testkit::TestTenants::builder().clock().build().await;
    let world = World { tenants, ..World::new().await };
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let mut tx = acme.read().await.unwrap();
    let mut chunks = tx.copy_out(CopyOut::query("select generate_series(1, 1000)"));
    chunks.try_next().await.unwrap().unwrap();
    world.tenants.clock().advance(Duration::from_secs(3600));
    let mut seen = 1;
    let stopped = loop {
        match chunks.try_next().await {
            Ok(Some(_)) => seen += 1,
            Ok(None) => panic!("the rest came"),
            Err(error) => break error,
        }
    };
    assert_eq!(stopped.denial(), Some(Denial::DeadlinePassed));
    assert!(seen < 200, "{seen}");
    drop(chunks);
    assert!(matches!(tx.commit().await, Err(PgError::Interrupted)));
    assert!(world.tenants.denied_rules().await.contains(&"deadline.passed".to_owned()));
}

/// Ours says what to use instead; the server's holds where nobody looks at the statement.
#[tokio::test]
async fn a_copy_in_is_refused_by_us_and_by_the_server() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let mut tx = acme.begin().await.unwrap();
    let refused = sqlx::query("copy note from stdin").execute(&mut tx).await.unwrap_err();
    let refused = PgError::from(refused);
    assert!(matches!(refused, PgError::Forbidden(Forbidden::Copy)), "{refused:?}");
    assert!(refused.to_string().contains("insert_all"), "{refused}");
    let connection = danger::connection(&mut tx, "to copy in past the guard").await.unwrap();
    let refused = connection.copy_in_raw("copy note from stdin").await.map(drop).unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "0A000");
    drop(tx);
    assert_eq!(bodies(&acme).await, ACME);
}

#[tokio::test]
async fn a_signed_scope_copies_out_and_fills_in_its_own_row_key() {
    let sealed = Sealed::new().await;
    let database = sealed.open().await;
    let (acme, globex) = (sealed.scoped(&database, "acme").await, sealed.scoped(&database, "globex").await);
    let ids: Vec<i32> = (1_000..1_100).collect();
    let texts = vec!["many"; ids.len()];
    let rows = || BulkInsert::into("public", "note").column("id", &ids).column("body", &texts);
    let mut tx = acme.begin().await.unwrap();
    assert_eq!(tx.insert_all(rows()).await.unwrap(), 100);
    let mut part = tx.savepoint().await.unwrap();
    let twice = part.insert_all(rows()).await.unwrap_err();
    assert!(matches!(&twice, PgError::Database(e) if e.code().as_deref() == Some("23505")), "{twice:?}");
    part.rollback().await.unwrap();
    let copy = CopyOut::query("select count(*), count(distinct tenant_id) from note");
    assert_eq!(copied(&mut tx, copy).await.unwrap(), "102\t1\n");
    tx.commit().await.unwrap();
    assert_eq!(bodies(&acme).await.len(), 102);
    assert_eq!(bodies(&globex).await, GLOBEX);
}

#[tokio::test]
async fn ten_thousand_rows_are_the_tenants_own() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let ids: Vec<i32> = (1_000..11_000).collect();
    let texts: Vec<String> = ids.iter().map(|id| format!("it's \"{id}\"")).collect();
    let slugs: Vec<Option<String>> = ids.iter().map(|id| (id % 2 == 0).then(|| id.to_string())).collect();
    let rows = || BulkInsert::into("public", "note").column("id", &ids).column("body", &texts);
    let mut tx = acme.begin().await.unwrap();
    assert_eq!(tx.insert_all(rows().column("slug", &slugs)).await.unwrap(), 10_000);
    let none: [i32; 0] = [];
    assert_eq!(tx.insert_all(BulkInsert::into("public", "note").column("id", &none)).await.unwrap(), 0);
    for (what, rows, fault) in [
        ("lengths", rows().column("slug", &slugs[..5]), BulkError::Lengths),
        ("the tenant column", rows().column("tenant_id", &texts), BulkError::TenantColumn),
        ("twice", rows().column("id", &ids), BulkError::Name),
        ("no name", rows().column("", &ids), BulkError::Name),
        ("no column", BulkInsert::into("public", "note"), BulkError::NoColumn),
        ("a global table", BulkInsert::into("public", "country").column("code", &texts), BulkError::Table),
        ("a table of nobody's", BulkInsert::into("note\" --", "x").column("code", &texts), BulkError::Table),
    ] {
        let refused = tx.insert_all(rows).await.unwrap_err();
        assert!(matches!(refused, PgError::Bulk(found) if found == fault), "{what}: {refused:?}");
    }
    tx.commit().await.unwrap();
    assert_eq!(bodies(&acme).await.len(), 10_002);
    let own = world.life("acme").uuid();
    assert_eq!(world.rows_in_truth(&format!("tenant_id = '{own}' and body like 'it''s \"%\"'")).await, 10_000);
    assert_eq!(world.rows_in_truth("id >= 1000 and slug is null").await, 5_000);
    assert_eq!(bodies(&globex).await, GLOBEX);
}

#[tokio::test]
async fn a_bulk_dropped_after_any_poll_leaves_nothing() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let ids: Vec<i32> = (1_000..1_100).collect();
    drop_at_every_poll(
        || async {
            let mut tx = acme.begin().await.unwrap();
            let rows = BulkInsert::into("public", "note").column("id", &ids).column("body", &vec!["new"; ids.len()]);
            tx.insert_all(rows).await.unwrap();
            copied(&mut tx, CopyOut::query("table note")).await.unwrap();
        },
        async |polls, _| {
            assert_eq!(bodies(&globex).await, GLOBEX, "dropped after poll {polls}");
            assert_eq!(bodies(&acme).await, ACME, "dropped after poll {polls}");
        },
    )
    .await;
}
