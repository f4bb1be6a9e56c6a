//! Shared corpora, through the crate.

use tenancy_core::{CorpusName, Reach, StoreVerdict, TenantId};
use tenancy_pg::sqlx;
use tenancy_testkit::{OWNER, TestTenants};
use tenancy_vector::pgvector::{PgCorpusBackend, PgCorpusTables, PgVectorError};
use tenancy_vector::{
    Change, Filter, Fusion, Origin, PayloadKey, Select, SharedVectors, VectorError, VectorName, VectorQuery,
    VectorStore,
};

use crate::library::{Library, mark};
use crate::world::World;
use crate::{cases, corpora_cases, signed};

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_corpus_is_read_beside_ones_own() {
    let tenants = TestTenants::new().await;
    let library = Library::new(cases::schema()).await;
    let own = library.world.store(&tenants).await;
    corpora_cases::every_read_is_of_the_corpus(&tenants, &own, &library.shared(&tenants, "handbook").await).await;
    corpora_cases::one_id_is_two_points(&tenants, &own, &library.shared(&tenants, "statutes").await).await;
    let (gazette, almanac) = (library.shared(&tenants, "gazette").await, library.shared(&tenants, "almanac").await);
    corpora_cases::an_erased_corpus_takes_nothing_along(&tenants, &own, &gazette, &almanac).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_back_end_of_corpora_conforms() {
    let tenants = TestTenants::new().await;
    let library = Library::new(tenancy_vector::conformance::schema().unwrap()).await;
    corpora_cases::it_conforms(&tenants, library.backend(tenants.realm()).await).await;
}

/// Two names, and the same name in another realm, in one table.
#[tokio::test(flavor = "multi_thread")]
async fn corpora_in_one_table_stay_apart() {
    let (ours, theirs) = (TestTenants::new().await, TestTenants::new().await);
    let library = Library::new(cases::schema()).await;
    let all = [
        (&ours, library.shared(&ours, "handbook").await, "one"),
        (&ours, library.shared(&ours, "statutes").await, "another name"),
        (&theirs, library.shared(&theirs, "handbook").await, "the same name in another realm"),
    ];
    for (tenants, shared, what) in &all {
        corpora_cases::publish(tenants, shared, vec![cases::point("doc-1", 0.5, what)]).await;
    }
    for (tenants, shared, what) in &all {
        let corpus = shared.scoped(&tenants.context("acme").await).unwrap();
        let hits = corpus.query(&cases::near()).await.unwrap();
        let found: Vec<_> = hits.iter().map(|hit| hit.payload()["owner"].as_str().unwrap()).collect();
        assert_eq!(found, [*what]);
    }
}

/// The name of a corpus is no way to a tenant's points, whatever it looks like.
#[tokio::test(flavor = "multi_thread")]
async fn a_corpus_named_like_a_life_is_no_tenants() {
    let tenants = TestTenants::new().await;
    let library = Library::new(cases::schema()).await;
    let own = library.world.store(&tenants).await;
    let acme = cases::of(&tenants, &own, "acme").await;
    acme.upsert(vec![cases::point("A1", 0.5, "acme")]).await.unwrap();
    let life = tenants.life("acme").uuid();
    for text in [life.to_string(), life.simple().to_string(), "acme".to_owned(), "chunk".to_owned()] {
        let Ok(name) = CorpusName::parse(&text) else { continue };
        let shared = library.shared(&tenants, &text).await;
        corpora_cases::publish(&tenants, &shared, vec![cases::point("A1", 0.9, "everybody")]).await;
        assert_ne!(mark(&shared), life);
        let theirs = shared.scoped(&tenants.context("globex").await).unwrap();
        let hits = theirs.query(&cases::near()).await.unwrap();
        assert_eq!(hits.len(), 1, "{text}");
        assert_eq!(hits[0].origin(), &Origin::Shared(name));
        assert_eq!(hits[0].payload()["owner"], "everybody");
    }
    assert_eq!(acme.query(&cases::near()).await.unwrap()[0].payload()["owner"], "acme", "nothing was written over");
    assert_eq!(library.world.number("select count(*) from chunk").await, 1);
    let planted = format!("select count(*) from statute where corpus = '{life}' or life = '{life}'");
    assert_eq!(library.world.number(&planted).await, 0);
}

/// A row that another corpus, a tenant or nobody has signed is not believed, wherever it lies.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_back_of_a_corpus_is_checked() {
    let tenants = TestTenants::new().await;
    let (library, statutes, bylaws) = Library::filled(&tenants).await;
    let corpus = statutes.scoped(&tenants.context("acme").await).unwrap();
    assert_eq!(corpus.query(&cases::near()).await.unwrap().len(), 2, "positive control");
    let (ours, acme) = (mark(&statutes), tenants.life("acme").uuid());
    let life = |of| format!("jsonb_set(payload, '{{tenancy,life}}', to_jsonb('{of}'::text))");
    for (mechanism, forged) in [
        ("a tenant's life in the tag", life(acme)),
        ("another corpus' mark in the tag", life(mark(&bylaws))),
        ("no tag", "payload - 'tenancy'".to_owned()),
        ("another id in the tag", "jsonb_set(payload, '{tenancy,id}', '\"S9\"')".to_owned()),
        ("another digest in the tag", "jsonb_set(payload, '{tenancy,digest}', '\"00\"')".to_owned()),
        ("another corpus' payload", format!("(select b.payload from statute b where b.corpus = '{}')", mark(&bylaws))),
        ("a tenant's payload of the same id", format!("(select c.payload from chunk c where c.tenant_id = '{acme}')")),
    ] {
        let run = format!(
            "create table kept as table statute; update statute set payload = {forged} where corpus = '{ours}'"
        );
        library.world.server.run(&run).await;
        assert!(corpus.query(&cases::near()).await.is_err(), "{mechanism}");
        let back = "update statute s set payload = k.payload from kept k where k.id = s.id and k.corpus = s.corpus; drop table kept";
        library.world.server.run(back).await;
        assert_eq!(corpus.query(&cases::near()).await.unwrap().len(), 2, "mended: {mechanism}");
    }
    assert!(tenants.denied_rules().await.iter().filter(|rule| *rule == "store.breach").count() >= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_has_no_login_to_write_with() {
    let tenants = TestTenants::new().await;
    let (library, statutes, _) = Library::filled(&tenants).await;
    let reading = library.reading(tenants.realm()).await;
    let reading = SharedVectors::new(tenants.realm(), &corpora_cases::name("statutes"), reading, cases::schema());
    reading.prepare().await.unwrap();
    let context = tenants.context("globex").await;
    assert_eq!(reading.scoped(&context).unwrap().count(None).await.unwrap(), 2);
    let grant = corpora_cases::grant(&tenants, Reach::Corpus(corpora_cases::name("statutes"))).await;
    let writer = reading.publish(&grant).await.unwrap();
    let refused = writer.upsert(vec![cases::point("S3", 0.5, "everybody")]).await;
    assert!(matches!(refused, Err(VectorError::Backend(_))), "{refused:?}");
    assert!(matches!(writer.erase().await, Err(VectorError::Backend(_))));
    assert_eq!(statutes.scoped(&context).unwrap().count(None).await.unwrap(), 2, "nothing was written");
}

/// A role that no policy holds, or that has rights beyond its own, publishes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_can_do_more_publishes_nothing() {
    let tenants = TestTenants::new().await;
    let (library, statutes, _) = Library::filled(&tenants).await;
    let server = &library.world.server;
    let own = &library.publisher;
    let nothing = String::new;
    for (mechanism, login, gives, takes) in [
        ("a superuser", server.superuser_options(), nothing(), nothing()),
        ("the owner", server.owner_options(), nothing(), nothing()),
        ("the service's role", server.app_options(), nothing(), nothing()),
        ("the role that drops lives", library.world.eraser(), nothing(), nothing()),
        (
            "one that goes past policies",
            library.login(),
            format!("alter role \"{own}\" bypassrls"),
            format!("alter role \"{own}\" nobypassrls"),
        ),
        (
            "one that reads a column of tenants",
            library.login(),
            format!("grant select (payload) on chunk to \"{own}\""),
            format!("revoke select (payload) on chunk from \"{own}\""),
        ),
        (
            "one that may delete tenants' lives",
            library.login(),
            format!("grant delete on chunk_life to \"{own}\""),
            format!("revoke delete on chunk_life from \"{own}\""),
        ),
        (
            "one that changes what every tenant reads",
            library.login(),
            format!("grant insert on plan to \"{own}\""),
            format!("revoke insert on plan from \"{own}\""),
        ),
        (
            "one that can become the owner",
            library.login(),
            format!("grant \"{}\" to \"{own}\"", OWNER),
            format!("revoke \"{}\" from \"{own}\"", OWNER),
        ),
    ] {
        server.run(&format!("{gives};")).await;
        let backend = library.reading(tenants.realm()).await.publishing_as(login);
        let name = corpora_cases::name("statutes");
        let shared = SharedVectors::new(tenants.realm(), &name, backend, cases::schema());
        assert!(shared.prepare().await.is_err(), "{mechanism}");
        let grant = corpora_cases::grant(&tenants, Reach::Corpus(name)).await;
        let writer = shared.publish(&grant).await.unwrap();
        let refused = writer.change(vec![Change::Delete(Select::All)]).await;
        assert!(matches!(refused, Err(VectorError::Unfit(_))), "{mechanism}: {refused:?}");
        assert!(writer.erase().await.is_err(), "{mechanism}");
        server.run(&format!("{takes};")).await;
    }
    corpora_cases::publish(&tenants, &statutes, vec![cases::point("S3", 0.5, "everybody")]).await;
    assert_eq!(library.world.number("select count(*) from statute").await, 4, "positive control");
}

/// Each back end keeps its own kind.
#[tokio::test(flavor = "multi_thread")]
async fn tables_of_tenants_and_of_corpora_are_not_mixed_up() {
    let tenants = TestTenants::new().await;
    let library = Library::new(cases::schema()).await;
    let context = tenants.context("acme").await;
    let store = VectorStore::new(tenants.realm(), library.backend(tenants.realm()).await, cases::schema());
    let mine = store.scoped(&context).unwrap();
    let point = || vec![cases::point("A1", 0.5, "acme")];
    assert!(matches!(mine.upsert(point()).await, Err(VectorError::Backend(_))), "a tenant in tables of corpora");
    assert!(matches!(mine.count(None).await, Err(VectorError::Backend(_))));
    let name = corpora_cases::name("statutes");
    let tenants_own = library.world.backend(tenants.realm()).await;
    let shared = SharedVectors::new(tenants.realm(), &name, tenants_own, cases::schema());
    let grant = corpora_cases::grant(&tenants, Reach::Corpus(name)).await;
    let writer = shared.publish(&grant).await.unwrap();
    assert!(matches!(writer.upsert(point()).await, Err(VectorError::Backend(_))), "a corpus in tables of tenants");
    assert!(matches!(writer.erase().await, Err(VectorError::Backend(_))));
    assert!(matches!(shared.scoped(&context).unwrap().count(None).await, Err(VectorError::Backend(_))));
    assert_eq!(library.world.number("select count(*) from chunk").await, 0);
    assert_eq!(library.world.number("select count(*) from statute").await, 0);
    let undeclared = World::new(cases::schema()).await;
    let tables = PgCorpusTables::new("public", "statute", &cases::schema()).unwrap();
    let refused = PgCorpusBackend::new(undeclared.database(tenants.realm()).await, tables);
    assert!(matches!(refused, Err(PgVectorError::CorporaNotDeclared { .. })));
}

/// The end of a tenant takes its points, and the corpora stay.
#[tokio::test(flavor = "multi_thread")]
async fn an_erased_tenant_takes_nothing_of_a_corpus_along() {
    let tenants = TestTenants::new().await;
    let (library, statutes, _) = Library::filled(&tenants).await;
    let own = library.world.store(&tenants).await;
    let life = tenants.life("acme");
    tenants.erase("acme");
    let grant = corpora_cases::grant(&tenants, Reach::One(TenantId::parse("acme").unwrap())).await;
    assert_eq!(tenants.realm().erase_store(&grant, life, &own).await, Ok(StoreVerdict::LogicalOnly));
    assert_eq!(library.world.number("select count(*) from chunk").await, 0);
    let left = statutes.scoped(&tenants.context("globex").await).unwrap();
    assert_eq!(left.count(None).await.unwrap(), 2);
}

/// A corpus with an index of its own is found in as without, and the index is no drift.
#[tokio::test(flavor = "multi_thread")]
async fn a_corpus_has_an_index_of_its_own() {
    let tenants = TestTenants::new().await;
    let (library, statutes, bylaws) = Library::filled(&tenants).await;
    let points = (0..400).map(|n| cases::point(&format!("p{n}"), 0.9 - 0.002 * n as f32, "everybody")).collect();
    corpora_cases::publish(&tenants, &statutes, points).await;
    let server = &library.world.server;
    let corpus = statutes.scoped(&tenants.context("acme").await).unwrap();
    let query = || VectorQuery::dense(vec![1.0, 0.0, 0.0, 0.0]).unwrap().limit(20).unwrap();
    let key = |text| PayloadKey::parse(text).unwrap();
    let few = || query().filter(Filter::Equals(key("owner"), "nobody".into())).unwrap();
    let before = corpus.query(&query()).await.unwrap();
    let index = library.tables.index_sql(statutes.corpus(), &VectorName::dense()).unwrap();
    server.run_as_owner(&index).await;
    server.run("analyze statute").await;
    statutes.prepare().await.unwrap();
    let found = corpus.query(&query()).await.unwrap();
    assert_eq!(found.len(), 20);
    let recalled = found.iter().filter(|hit| before.iter().any(|other| other.id() == hit.id())).count();
    assert!(recalled >= 18, "{recalled} of 20");
    assert_eq!(corpus.query(&few()).await.unwrap().len(), 0);
    let others = bylaws.scoped(&tenants.context("acme").await).unwrap();
    assert_eq!(others.query(&query()).await.unwrap().len(), 1, "another corpus is not looked for in it");
    let both = library.world.store(&tenants).await;
    let mine = cases::of(&tenants, &both, "acme").await;
    let fused = mine.query_with(&query(), &[(&statutes, &query()), (&bylaws, &query())], &Fusion::ranks()).await;
    let fused = fused.unwrap();
    assert_eq!(fused.iter().filter(|hit| *hit.origin() == Origin::Own).count(), 1);
    server.run_as_owner(&library.tables.drop_index_sql(statutes.corpus(), &VectorName::dense()).unwrap()).await;
    assert_eq!(library.world.number("select count(*) from pg_indexes where indexname like 'tenancy_hnsw%'").await, 0);
    assert!(library.tables.index_sql(statutes.corpus(), &VectorName::sparse()).is_none());
}

/// In signed mode a corpus is read under the tenant's seal, and by nobody without one.
#[tokio::test(flavor = "multi_thread")]
async fn a_corpus_is_read_under_a_seal() {
    let tenants = TestTenants::new().await;
    let (world, key) = signed::world(&tenants, cases::schema(), Some("statute")).await;
    let library = Library::within(world).await;
    let database = signed::database(&tenants, &library.world, key).await;
    let backend = PgCorpusBackend::new(database, library.tables.clone()).unwrap().publishing_as(library.login());
    let name = corpora_cases::name("statutes");
    let statutes = SharedVectors::new(tenants.realm(), &name, backend, cases::schema());
    statutes.prepare().await.unwrap();
    corpora_cases::publish(&tenants, &statutes, vec![cases::point("S1", 0.5, "everybody")]).await;
    for tenant in ["acme", "globex"] {
        let corpus = statutes.scoped(&tenants.context(tenant).await).unwrap();
        assert_eq!(corpus.query(&cases::near()).await.unwrap().len(), 1, "{tenant}");
    }
    let mut unsealed = library.world.app(tenants.life("acme").uuid()).await;
    let seen = sqlx::query_scalar::<_, i64>("select count(*) from statute").fetch_one(&mut unsealed).await;
    assert!(!matches!(seen, Ok(1..)), "the setting of the plain modes opens nothing: {seen:?}");
}
