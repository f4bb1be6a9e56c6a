//! What SQL can do to a corpus, sent past the crate: as the service's role, and as the one that publishes.

use std::time::Duration;

use tenancy_pg::sqlx::postgres::PgConnection;
use tenancy_pg::sqlx::{self, AssertSqlSafe};
use tenancy_testkit::TestTenants;

use crate::cases;
use crate::corpora_cases::publish;
use crate::library::{Library, code, count, mark, row, run};

const DENIED: &str = "42501";

/// As the service's role in a tenant's scope: what a smuggled statement can try.
#[tokio::test(flavor = "multi_thread")]
async fn no_statement_of_a_tenant_changes_a_corpus() {
    let tenants = TestTenants::new().await;
    let (library, statutes, _) = Library::filled(&tenants).await;
    let (corpus, acme) = (mark(&statutes), tenants.life("acme").uuid());
    let publisher = &library.publisher;
    let mut app = library.world.app(acme).await;
    assert_eq!(
        count(&mut app, "select count(*) from statute").await,
        3,
        "positive control: a tenant reads all corpora"
    );
    let named = format!("set tenancy.publishing = '{corpus}'; set tenancy.erasing = '{corpus}'");
    for before in ["", "begin", named.as_str(), "begin isolation level serializable"] {
        for (mechanism, sql) in [
            ("a row planted", row(corpus, corpus)),
            ("a row planted under the tenant's own life", row(acme, acme)),
            ("a payload changed", "update statute set payload = '{}'".to_owned()),
            ("a corpus' rows taken over", format!("update statute set corpus = '{acme}', life = '{acme}'")),
            ("rows deleted", "delete from statute".to_owned()),
            ("everything emptied", "truncate statute".to_owned()),
            ("rows locked", "select from statute for update".to_owned()),
            ("rows held", "select from statute for key share".to_owned()),
            ("the table locked", "begin; lock table statute in exclusive mode".to_owned()),
            ("a merge", "merge into statute s using (values (1)) v on true when matched then delete".to_owned()),
            ("rows copied in", "copy statute from stdin".to_owned()),
            ("who may be written", "select count(*) from statute_life".to_owned()),
            ("a corpus entered", format!("insert into statute_life (corpus, life) values ('{acme}', '{acme}')")),
            ("a corpus closed", "update statute_life set open = false".to_owned()),
            ("a corpus taken away", "delete from statute_life".to_owned()),
            ("a corpus held up", "select from statute_life for update".to_owned()),
            ("the other role", format!("set role \"{publisher}\"")),
            ("the other role for good", format!("set session authorization \"{publisher}\"")),
            ("a policy of one's own", "create policy mine on statute using (true)".to_owned()),
            ("a policy less", "drop policy tenancy_corpus_publisher on statute".to_owned()),
            ("no row level security", "alter table statute disable row level security".to_owned()),
            (
                "a trigger",
                "create trigger t before insert on statute execute function suppress_redundant_updates_trigger()"
                    .to_owned(),
            ),
            ("a rule", "create rule r as on insert to statute do instead nothing".to_owned()),
        ] {
            run(&mut app, before).await.unwrap();
            let refused = code(run(&mut app, &sql).await);
            assert!([DENIED, "22023"].contains(&refused.as_str()), "{mechanism} after {before:?}: {refused:?}");
            let _ended = run(&mut app, "rollback").await;
            // A right that nobody may give is given with a warning, to nobody.
            run(&mut app, "grant insert on statute to current_user").await.unwrap();
        }
    }
    let corpus = statutes.scoped(&tenants.context("globex").await).unwrap();
    assert_eq!(corpus.query(&cases::near()).await.unwrap().len(), 2, "as it was");
}

/// A smuggled statement reads what every tenant may read, and nothing by way of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_corpus_is_no_way_to_another_tenants_points() {
    let tenants = TestTenants::new().await;
    let (library, _, _) = Library::filled(&tenants).await;
    let (acme, globex) = (tenants.life("acme").uuid(), tenants.life("globex").uuid());
    let mut theirs = library.world.app(globex).await;
    for (mechanism, sql, seen) in [
        ("a union", "select count(*) from (select id from statute union all select id from chunk) b".to_owned(), 3),
        ("a join by the external id", "select count(*) from statute s join chunk c on c.name = s.name".to_owned(), 0),
        ("a foreign life", format!("select count(*) from statute where life = '{acme}' or corpus = '{acme}'"), 0),
        (
            "the nearest of both",
            "select count(*) from (select v_dense from statute union all select v_dense from chunk) b".to_owned(),
            3,
        ),
    ] {
        assert_eq!(count(&mut theirs, &sql).await, seen, "{mechanism}");
    }
    for (mechanism, scope) in [("no scope", "reset tenancy.row_key"), ("an empty scope", "set tenancy.row_key = ''")] {
        run(&mut theirs, scope).await.unwrap();
        assert_eq!(count(&mut theirs, "select count(*) from statute").await, 0, "{mechanism}");
    }
    let database = library.world.database(tenants.realm()).await;
    let nobody: i64 =
        sqlx::query_scalar("select count(*) from statute").fetch_one(&database.untenanted()).await.unwrap();
    assert_eq!(nobody, 0, "without a tenant nobody reads it");
}

/// Through the tenant's own handle of the database, in a transaction that reads the corpus first.
#[tokio::test(flavor = "multi_thread")]
async fn a_readers_transaction_writes_no_corpus() {
    let tenants = TestTenants::new().await;
    let (library, statutes, _) = Library::filled(&tenants).await;
    let acme = library.world.database(tenants.realm()).await.scoped(&tenants.context("acme").await).unwrap();
    let mark = mark(&statutes);
    for sql in [row(mark, mark), "delete from statute".to_owned(), "update statute set payload = '{}'".to_owned()] {
        let mut tx = acme.begin().await.unwrap();
        let seen: i64 = sqlx::query_scalar("select count(*) from statute").fetch_one(&mut tx).await.unwrap();
        assert_eq!(seen, 3);
        assert!(sqlx::query(AssertSqlSafe(sql.as_str())).execute(&mut tx).await.is_err(), "{sql}");
        let _rolled_back = tx.rollback().await;
    }
    assert_eq!(library.world.number("select count(*) from statute where payload <> '{}'").await, 3);
}

/// As the role that publishes: one corpus at a time, and no tenant's row.
#[tokio::test(flavor = "multi_thread")]
async fn who_publishes_reaches_one_corpus_and_no_tenant() {
    let tenants = TestTenants::new().await;
    let (library, statutes, bylaws) = Library::filled(&tenants).await;
    let (ours, other, acme) = (mark(&statutes), mark(&bylaws), tenants.life("acme").uuid());
    let mut nobody = library.publishing(None).await;
    assert_eq!(count(&mut nobody, "select count(*) from statute").await, 0, "named no corpus");
    assert_eq!(code(run(&mut nobody, &row(ours, ours)).await), DENIED, "named no corpus");
    let mut publisher = library.publishing(Some(ours)).await;
    assert_eq!(count(&mut publisher, "select count(*) from statute").await, 2, "positive control");
    assert_eq!(count(&mut publisher, "select count(*) from statute_life").await, 1);
    for (mechanism, sql) in [
        ("a row of another corpus", row(other, other)),
        ("a row of a tenant's life", row(acme, acme)),
        ("a row with a tenant's life", row(ours, acme)),
        ("rows handed on", format!("update statute set corpus = '{other}', life = '{other}'")),
        ("another corpus entered", format!("insert into statute_life (corpus, life) values ('{acme}', '{acme}')")),
        ("the mark changed", format!("update statute_life set corpus = '{other}'")),
        ("a corpus taken away", "delete from statute_life".to_owned()),
        ("everything emptied", "truncate statute".to_owned()),
        ("a tenant's points read", "select count(*) from chunk".to_owned()),
        ("a tenant's points deleted", "delete from chunk".to_owned()),
        ("a tenant's points changed", "update chunk set payload = '{}'".to_owned()),
        ("a tenant's life looked at", "select count(*) from chunk_life".to_owned()),
        ("a tenant's life closed", "update chunk_life set open = false".to_owned()),
        (
            "a point planted at a tenant's",
            format!(
                "insert into chunk (tenant_id, life, id, digest, name, payload) values ('{acme}', '{acme}', gen_random_uuid(), '', '', '{{}}')"
            ),
        ),
        ("the service's role", format!("set role \"{}\"", tenancy_testkit::APP)),
        ("no row level security", "alter table statute disable row level security".to_owned()),
    ] {
        let refused = code(run(&mut publisher, &sql).await);
        assert!(["42501", "23514"].contains(&refused.as_str()), "{mechanism}: {refused:?}");
    }
    for sql in [
        format!("delete from statute where corpus = '{other}'"),
        format!("update statute set payload = '{{}}' where corpus = '{other}'"),
    ] {
        assert_eq!(run(&mut publisher, &sql).await.unwrap(), 0, "{sql}");
    }
    assert_eq!(library.world.number("select count(*) from statute where payload <> '{}'").await, 3);
    assert_eq!(library.world.number("select count(*) from chunk where payload <> '{}'").await, 1);
    // Named for a tenant's life, it can't enter that among the corpora either.
    let mut forged = library.publishing(Some(acme)).await;
    let enter = format!("insert into statute_life (corpus, life) values ('{acme}', '{acme}')");
    assert_eq!(code(run(&mut forged, &enter).await), "23514", "a tenant's life is no mark");
    assert_eq!(code(run(&mut forged, &row(acme, acme)).await), "23503", "and has no row");
}

/// What a tenant can lock holds up nobody who publishes.
#[tokio::test(flavor = "multi_thread")]
async fn no_lock_of_a_tenant_holds_up_a_publication() {
    let tenants = TestTenants::new().await;
    let (library, statutes, _) = Library::filled(&tenants).await;
    let mut app: PgConnection = library.world.app(tenants.life("acme").uuid()).await;
    let hold = "begin; select count(*) from statute; select pg_advisory_xact_lock(n) from generate_series(-100, 100) n";
    run(&mut app, hold).await.unwrap();
    let published = publish(&tenants, &statutes, vec![cases::point("S3", 0.5, "everybody")]);
    tokio::time::timeout(Duration::from_secs(20), published).await.expect("it does not wait");
    assert_eq!(library.world.number("select count(*) from statute").await, 4);
}
