//! What keeps tenants apart in the database itself.

use tenancy_pg::sqlx::{self, AssertSqlSafe};
use tenancy_pg::{Code, TenantDb};
use tenancy_testkit::TestTenants;
use tenancy_vector::pgvector::{PgVectorBackend, PgVectorError, PgVectorTables};
use tenancy_vector::{Schema, VectorKind, VectorName};

use crate::cases;
use crate::world::World;

/// Acme has one point, globex two.
async fn filled() -> (TestTenants, World) {
    let (tenants, world) = (TestTenants::new().await, World::new(cases::schema()).await);
    let store = world.store(&tenants).await;
    let (acme, globex) = (cases::of(&tenants, &store, "acme").await, cases::of(&tenants, &store, "globex").await);
    acme.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
    globex.upsert(vec![cases::point("A1", 0.9, "b"), cases::point("B2", 1.0, "b")]).await.unwrap();
    (tenants, world)
}

/// The inspection has nothing to say of the tables but one warning, which the documentation names.
#[tokio::test(flavor = "multi_thread")]
async fn the_inspection_passes_over_the_tables() {
    let (tenants, world) = filled().await;
    let inspection = world.database(tenants.realm()).await.inspection();
    let of_ours: Vec<_> = inspection.findings.iter().filter(|finding| finding.object.contains("chunk")).collect();
    assert!(of_ours.iter().all(|finding| finding.code == Code::UniqueIndex), "{of_ours:#?}");
    assert_eq!(of_ours.len(), 1, "{of_ours:#?}");
    assert!(of_ours[0].object.contains("chunk_life_life_key"), "{of_ours:#?}");
}

/// The policy alone: statements without any condition, as the service's role in a tenant's scope.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_condition_the_policy_holds() {
    let (tenants, world) = filled().await;
    assert_eq!(world.number("select count(*) from chunk").await, 3, "positive control");
    let database = world.database(tenants.realm()).await;
    let acme = database.scoped(&tenants.context("acme").await).unwrap();
    let theirs = tenants.life("globex").uuid();
    for (mechanism, sql, wanted) in [
        ("a bare count", "select count(*) from chunk".to_owned(), 1),
        ("another's key as a condition", format!("select count(*) from chunk where tenant_id = '{theirs}'"), 0),
        ("another's life as a condition", format!("select count(*) from chunk where life = '{theirs}'"), 0),
        (
            "the nearest of all",
            "select count(*) from (select from chunk order by v_dense <#> '[1,0,0,0]' limit 9) n".to_owned(),
            1,
        ),
        ("all terms", "select count(*) from chunk, unnest(t_sparse)".to_owned(), 1),
        ("the lives", "select count(*) from chunk_life".to_owned(), 1),
    ] {
        assert_eq!(count(&acme, &sql).await, wanted, "{mechanism}");
    }
    let nobody: i64 = sqlx::query_scalar("select count(*) from chunk").fetch_one(&database.untenanted()).await.unwrap();
    assert_eq!(nobody, 0, "no scope, no row");
}

/// What a statement of one tenant could try on another's rows, or on its own life.
#[tokio::test(flavor = "multi_thread")]
async fn writes_reach_ones_own_rows_alone() {
    let (tenants, world) = filled().await;
    let acme = world.database(tenants.realm()).await.scoped(&tenants.context("acme").await).unwrap();
    let (mine, theirs) = (tenants.life("acme").uuid(), tenants.life("globex").uuid());
    for (mechanism, sql) in [
        (
            "a row for another",
            format!(
                "insert into chunk (tenant_id, life, id, digest, name, payload) values ('{theirs}', '{theirs}', gen_random_uuid(), '', '', '{{}}')"
            ),
        ),
        ("a row given away", format!("update chunk set tenant_id = '{theirs}'")),
        (
            "a life entered for another",
            format!("insert into chunk_life (tenant_id, life) values ('{theirs}', gen_random_uuid())"),
        ),
        ("a life closed or opened", "update chunk_life set open = false".to_owned()),
        ("a life taken away", "delete from chunk_life".to_owned()),
        (
            "a row of a closed life",
            format!(
                "insert into chunk (tenant_id, open, life, id, digest, name, payload) values ('{mine}', false, '{mine}', gen_random_uuid(), '', '', '{{}}')"
            ),
        ),
        ("everything emptied", "truncate chunk".to_owned()),
    ] {
        let refused = sqlx::query(AssertSqlSafe(sql.as_str())).execute(&acme).await;
        assert!(refused.is_err(), "{mechanism}");
    }
    let touched = sqlx::query("update chunk set payload = '{}'").execute(&acme).await.unwrap();
    assert_eq!(touched.rows_affected(), 1, "one's own, and no other");
    let touched = sqlx::query("delete from chunk").execute(&acme).await.unwrap();
    assert_eq!(touched.rows_affected(), 1, "one's own, and no other");
    assert_eq!(world.number("select count(*) from chunk").await, 2);
}

/// The conditions alone: with row level security off, the back end's own statements still see one life.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_policy_the_conditions_hold() {
    let (tenants, world) = filled().await;
    let store = world.store(&tenants).await;
    let acme = cases::of(&tenants, &store, "acme").await;
    world
        .server
        .run("alter table chunk disable row level security; alter table chunk_life disable row level security")
        .await;
    assert_eq!(acme.count(None).await.unwrap(), 1);
    assert_eq!(acme.query(&cases::near()).await.unwrap().len(), 1);
    assert_eq!(acme.delete(&[cases::id("A1"), cases::id("B2")]).await.unwrap().removed(), 1);
    acme.change(vec![tenancy_vector::Change::Delete(tenancy_vector::Select::All)]).await.unwrap();
    assert_eq!(world.number("select count(*) from chunk").await, 2, "another's stay");
}

/// A row of the tenant's that carries another life, or a tag that no key of ours made, is not believed.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_back_is_checked() {
    let (tenants, world) = filled().await;
    let store = world.store(&tenants).await;
    let acme = cases::of(&tenants, &store, "acme").await;
    let (mine, theirs) = (tenants.life("acme").uuid(), tenants.life("globex").uuid());
    let mut breaches = 0;
    for (mechanism, forged) in [
        ("another life in the tag", format!("jsonb_set(payload, '{{tenancy,life}}', to_jsonb('{theirs}'::text))")),
        ("no tag", "payload - 'tenancy'".to_owned()),
        ("another id in the tag", "jsonb_set(payload, '{tenancy,id}', '\"A2\"')".to_owned()),
        ("another digest in the tag", "jsonb_set(payload, '{tenancy,digest}', '\"00\"')".to_owned()),
    ] {
        world
            .server
            .run(&format!(
                "create table kept as table chunk; update chunk set payload = {forged} where tenant_id = '{mine}'"
            ))
            .await;
        assert!(acme.query(&cases::near()).await.is_err(), "{mechanism}");
        breaches += 1;
        let rules = tenants.denied_rules().await;
        assert!(rules.iter().filter(|rule| *rule == "store.breach").count() >= 1, "{mechanism}: {rules:?}");
        world.server.run("update chunk c set payload = k.payload from kept k where k.id = c.id and k.tenant_id = c.tenant_id; drop table kept").await;
    }
    assert_eq!(breaches, 4);
    assert_eq!(acme.query(&cases::near()).await.unwrap().len(), 1, "positive control");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_were_not_inspected_are_refused() {
    let (tenants, world) = filled().await;
    let database = world.database(tenants.realm()).await;
    let others = PgVectorTables::new("public", "other", &cases::schema()).unwrap();
    let refused = PgVectorBackend::new(database.clone(), others);
    assert!(matches!(refused, Err(PgVectorError::NotDeclared { .. })));
    assert!(PgVectorBackend::new(database, world.tables.clone()).is_ok(), "positive control");
    let long = Schema::new().with(VectorName::parse(&"a".repeat(62)).unwrap(), VectorKind::Sparse).unwrap();
    assert!(matches!(PgVectorTables::new("public", "chunk", &long), Err(PgVectorError::VectorName { limit: 61 })));
    let wide = Schema::dense(16_001).unwrap();
    assert!(matches!(PgVectorTables::new("public", "chunk", &wide), Err(PgVectorError::Dimension { limit: 16_000 })));
    assert!(matches!(PgVectorTables::new("public", "", &cases::schema()), Err(PgVectorError::Name(_))));
}

async fn count(db: &TenantDb, sql: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(db).await.unwrap()
}
