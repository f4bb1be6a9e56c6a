//! The end of a corpus.

use tenancy_core::{Reach, StoreVerdict};
use tenancy_testkit::TestTenants;

use crate::cases;
use crate::corpora_cases::{grant, name, publish};
use crate::library::{Library, code, mark, row, run};

/// More points than one statement deletes, and one left of another corpus.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_corpus_goes_portion_by_portion() {
    let tenants = TestTenants::new().await;
    let (library, statutes, _) = Library::filled(&tenants).await;
    let mark = mark(&statutes);
    let fill = format!(
        "insert into statute (corpus, life, id, digest, name, payload)
         select '{mark}', '{mark}', gen_random_uuid(), '', '', '{{}}' from generate_series(1, 2500)"
    );
    library.world.server.run(&fill).await;
    let grant = grant(&tenants, Reach::Corpus(name("statutes"))).await;
    let writer = statutes.publish(&grant).await.unwrap();
    assert_eq!(writer.erase().await.unwrap(), StoreVerdict::LogicalOnly);
    assert_eq!(library.world.number("select count(*) from statute").await, 1, "another corpus'");
    assert_eq!(library.world.number("select count(*) from chunk").await, 1, "a tenant's");
}

/// Whoever wrote before the end is waited for and goes with it; whoever comes after is refused by the server, for good.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_publisher_leaves_nothing_behind() {
    let tenants = TestTenants::new().await;
    let (library, statutes, _) = Library::filled(&tenants).await;
    let mark = mark(&statutes);
    let mut before = library.publishing(Some(mark)).await;
    run(&mut before, &format!("begin; {}", row(mark, mark))).await.unwrap();
    let mut after = library.publishing(Some(mark)).await;
    run(&mut after, "begin").await.unwrap();
    let grant = grant(&tenants, Reach::Corpus(name("statutes"))).await;
    let writer = statutes.publish(&grant).await.unwrap();
    let (erased, ()) = tokio::join!(writer.erase(), async {
        assert!(library.waits().await, "it does not go past an open write");
        run(&mut before, "commit").await.unwrap();
    });
    assert_eq!(erased.unwrap(), StoreVerdict::LogicalOnly);
    assert_eq!(library.world.number("select count(*) from statute").await, 1, "another corpus' alone");
    for _again in 0..2 {
        assert_eq!(code(run(&mut after, &row(mark, mark)).await), "23503", "it takes no point any more");
        after = library.publishing(Some(mark)).await;
    }
    let reader = statutes.scoped(&tenants.context("acme").await).unwrap();
    assert!(reader.query(&cases::near()).await.unwrap().is_empty());
}

/// Changes of one corpus come one after the other, and no other corpus waits with it.
#[tokio::test(flavor = "multi_thread")]
async fn changes_of_one_corpus_wait_for_each_other() {
    let tenants = TestTenants::new().await;
    let (library, statutes, bylaws) = Library::filled(&tenants).await;
    let mut first = library.publishing(Some(mark(&statutes))).await;
    // As a change holds it, and no key to it does.
    run(&mut first, "begin; select from statute_life for no key update").await.unwrap();
    publish(&tenants, &bylaws, vec![cases::point("B2", 0.5, "everybody")]).await;
    let second = publish(&tenants, &statutes, vec![cases::point("S3", 0.5, "everybody")]);
    let ((), ()) = tokio::join!(second, async {
        assert!(library.waits().await, "a second change is let in beside the first");
        run(&mut first, "commit").await.unwrap();
    });
    assert_eq!(library.world.number("select count(*) from statute").await, 5);
}

/// A verdict is what was found, not what was asked for.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_a_corpus_is_seen() {
    let tenants = TestTenants::new().await;
    let (library, statutes, _) = Library::filled(&tenants).await;
    let mark = mark(&statutes);
    let grant = grant(&tenants, Reach::Corpus(name("statutes"))).await;
    let writer = statutes.publish(&grant).await.unwrap();
    library.world.server.run("alter table statute drop constraint statute_corpus_open_fkey").await;
    assert_eq!(writer.erase().await.unwrap(), StoreVerdict::LogicalOnly);
    let mut late = library.publishing(Some(mark)).await;
    run(&mut late, &row(mark, mark)).await.unwrap();
    assert_eq!(writer.erase().await.unwrap(), StoreVerdict::failed("points are left"));
}
