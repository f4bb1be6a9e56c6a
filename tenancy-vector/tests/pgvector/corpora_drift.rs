//! What `prepare` says of tables of corpora that are not as they should be.

use tenancy_testkit::{APP, TestTenants};
use tenancy_vector::{Schema, SharedVectors, VectorError};

use crate::cases;
use crate::corpora_cases::name;
use crate::library::Library;

/// Each with what takes it back beside the migration. `{app}` and `{publisher}` are the roles.
const DRIFTS: &[(&str, &str, &str)] = &[
    ("no row level security", "alter table statute disable row level security", ""),
    ("not forced", "alter table statute no force row level security", ""),
    ("lives without row level security", "alter table statute_life disable row level security", ""),
    ("lives not forced", "alter table statute_life no force row level security", ""),
    ("no policy for readers", "drop policy tenancy_corpus_reader on statute", ""),
    ("no policy for who publishes", "drop policy tenancy_corpus_publisher on statute_life", ""),
    (
        "a policy that lets readers in without a tenant",
        "alter policy tenancy_corpus_reader on statute using (true)",
        "",
    ),
    (
        "a policy that holds who publishes to nothing",
        "alter policy tenancy_corpus_publisher on statute using (true)",
        "",
    ),
    (
        "a policy that lets everything be published",
        "alter policy tenancy_corpus_publisher on statute with check (true)",
        "",
    ),
    ("who publishes is the service", "alter policy tenancy_corpus_publisher on statute to {app}", ""),
    ("a policy more", "create policy wide on statute for delete using (true)", "drop policy wide on statute"),
    ("a policy more on lives", "create policy wide on statute_life using (true)", "drop policy wide on statute_life"),
    ("a right to write", "grant insert on statute to {app}", ""),
    ("a right to change a column", "grant update (payload) on statute to {app}", ""),
    ("a right of everybody's to delete", "grant delete on statute to public", ""),
    ("a right to empty it", "grant truncate on statute to {app}", ""),
    (
        "a right to lock and rewrite it, which servers before 17 do not have",
        "do $$ begin if current_setting('server_version_num')::int4 >= 170000 then grant maintain on statute to {app};
         else grant trigger on statute to {app}; end if; end $$",
        "",
    ),
    ("a right on lives", "grant select (open) on statute_life to {app}", ""),
    ("a service that can become who publishes", "grant {publisher} to {app}", "revoke {publisher} from {app}"),
    (
        "points without a key to lives",
        "alter table statute drop constraint statute_corpus_open_fkey",
        "alter table statute add constraint statute_corpus_open_fkey foreign key (corpus, open) references statute_life (corpus, open)",
    ),
    ("a rule", "create rule r as on delete to statute do instead nothing", "drop rule r on statute"),
    ("a child, whose rows are read too", "create table child () inherits (statute)", "drop table child"),
    (
        "another dimension",
        "alter table statute alter v_dense type vector(5)",
        "alter table statute alter v_dense type vector(4)",
    ),
    ("a vector less", "alter table statute rename v_dense to v_other", "alter table statute rename v_other to v_dense"),
    ("a comment that says another schema", "comment on table statute is '{}'", ""),
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
    for (mechanism, breaks, mends) in DRIFTS {
        library.world.server.run(&roles(breaks)).await;
        for store in [&shared, &reading] {
            let refused = store.prepare().await;
            assert!(matches!(refused, Err(VectorError::Unfit(_))), "{mechanism}: {refused:?}");
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
