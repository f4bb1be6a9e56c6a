//! What `prepare` says of tables of corpora that are not as they should be.

use tenancy_testkit::{APP, TestTenants};
use tenancy_vector::{Schema, SharedVectors, VectorError};

use crate::cases;
use crate::corpora_cases::name;
use crate::library::Library;

/// Each with what takes it back beside the migration, and what is said of it. `{app}` and `{publisher}` are the roles.
const DRIFTS: &[(&str, &str, &str, &str)] = &[
    (
        "no row level security",
        "alter table statute disable row level security",
        "",
        "\"public\".\"statute\" has no row level security",
    ),
    (
        "not forced",
        "alter table statute no force row level security",
        "",
        "\"public\".\"statute\" has row level security that is not forced",
    ),
    (
        "lives without row level security",
        "alter table statute_life disable row level security",
        "",
        "\"public\".\"statute_life\" has no row",
    ),
    (
        "lives not forced",
        "alter table statute_life no force row level security",
        "",
        "statute_life\" has row level security that is not forced",
    ),
    (
        "no policy for readers",
        "drop policy tenancy_corpus_reader on statute",
        "",
        "the policy tenancy_corpus_reader on",
    ),
    (
        "no policy for who publishes",
        "drop policy tenancy_corpus_publisher on statute_life",
        "",
        "the policy tenancy_corpus_publisher on \"public\".\"statute_life\"",
    ),
    (
        "a policy that lets readers in without a tenant",
        "alter policy tenancy_corpus_reader on statute using (true)",
        "",
        "the policy tenancy_corpus_reader",
    ),
    (
        "a policy that holds who publishes to nothing",
        "alter policy tenancy_corpus_publisher on statute using (true)",
        "",
        "the policy tenancy_corpus_publisher",
    ),
    (
        "a policy that lets everything be published",
        "alter policy tenancy_corpus_publisher on statute with check (true)",
        "",
        "the policy tenancy_corpus_publisher",
    ),
    (
        "who publishes is the service",
        "alter policy tenancy_corpus_publisher on statute to {app}",
        "",
        "the policy tenancy_corpus_publisher",
    ),
    (
        "a policy more",
        "create policy wide on statute for delete using (true)",
        "drop policy wide on statute",
        "the policy \"wide\" on \"public\".\"statute\"",
    ),
    (
        "a policy more on lives",
        "create policy wide on statute_life using (true)",
        "drop policy wide on statute_life",
        "the policy \"wide\" on \"public\".\"statute_life\"",
    ),
    ("a right to write", "grant insert on statute to {app}", "", "the right to INSERT"),
    ("a right to change a column", "grant update (payload) on statute to {app}", "", "the right to UPDATE (payload)"),
    ("a right of everybody's to delete", "grant delete on statute to public", "", "the right to DELETE"),
    ("a right to empty it", "grant truncate on statute to {app}", "", "the right to TRUNCATE"),
    (
        "a right to lock and rewrite it, which servers before 17 do not have",
        "do $$ begin if current_setting('server_version_num')::int4 >= 170000 then grant maintain on statute to {app};
         else grant trigger on statute to {app}; end if; end $$",
        "",
        "the right to ",
    ),
    (
        "a right on lives",
        "grant select (open) on statute_life to {app}",
        "",
        "the right to SELECT (open) on \"public\".\"statute_life\"",
    ),
    (
        "a service that can become who publishes",
        "grant {publisher} to {app}",
        "revoke {publisher} from {app}",
        "the role \"app\" has the right to ",
    ),
    (
        "points without a key to lives",
        "alter table statute drop constraint statute_corpus_open_fkey",
        "alter table statute add constraint statute_corpus_open_fkey foreign key (corpus, open) references statute_life (corpus, open)",
        "does not refer",
    ),
    (
        "points that may be of an erased corpus",
        "alter table statute drop constraint statute_open_check",
        "alter table statute add constraint statute_open_check check (open)",
        "does not refer",
    ),
    ("a rule", "create rule r as on delete to statute do instead nothing", "drop rule r on statute", "has a rule"),
    ("a child, whose rows are read too", "create table child () inherits (statute)", "drop table child", "has a child"),
    (
        "another dimension",
        "alter table statute alter v_dense type vector(5)",
        "alter table statute alter v_dense type vector(4)",
        "no column v_dense",
    ),
    (
        "a vector less",
        "alter table statute rename v_dense to v_other",
        "alter table statute rename v_other to v_dense",
        "no column v_dense",
    ),
    ("a comment that says another schema", "comment on table statute is '{}'", "", "another schema of vectors"),
];

#[tokio::test(flavor = "multi_thread")]
async fn drift_of_corpora_is_found_before_serving() {
    let tenants = TestTenants::new().await;
    let library = Library::new(cases::schema()).await;
    let shared = library.shared(&tenants, "statutes").await;
    let reading =
        SharedVectors::new(tenants.realm(), &name("statutes"), library.reading(tenants.realm()).await, cases::schema());
    shared.prepare().await.unwrap();
    let roles = |sql: &str| {
        let publisher = format!("\"{}\"", library.publisher);
        sql.replace("{app}", APP).replace("{publisher}", &publisher)
    };
    for (mechanism, breaks, mends, said) in DRIFTS {
        library.world.server.run(&roles(breaks)).await;
        for store in [&shared, &reading] {
            let refused = store.prepare().await;
            let Err(VectorError::Unfit(why)) = refused else { panic!("{mechanism}: {refused:?}") };
            assert!(why.to_string().contains(said), "{mechanism}: {why}");
        }
        library.world.server.run(&roles(mends)).await;
        library.migrate().await;
        shared.prepare().await.unwrap_or_else(|error| panic!("positive control: {mechanism}: {error}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corpus_of_another_schema_is_refused() {
    let tenants = TestTenants::new().await;
    let library = Library::new(cases::schema()).await;
    let other = Schema::hybrid(cases::DIMENSION + 1).unwrap();
    let backend = library.backend(tenants.realm()).await;
    let shared = SharedVectors::new(tenants.realm(), &name("statutes"), backend, other);
    assert!(matches!(shared.prepare().await, Err(VectorError::Unfit(_))));
}
