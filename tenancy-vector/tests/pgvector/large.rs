//! A tenant that is large enough for an index of its own, among others whose points are nearer.

use std::collections::BTreeSet;
use std::time::Duration;

use tenancy_core::RowKey;
use tenancy_testkit::TestTenants;
use tenancy_vector::{Filter, PayloadKey, TenantVectors, VectorName, VectorQuery};

use crate::cases;
use crate::world::World;

/// So many points each of acme and globex; globex's are nearer to whatever is asked.
const POINTS: u32 = 4_000;

async fn filled() -> (TestTenants, World, TenantVectors) {
    let (tenants, world) = (TestTenants::new().await, World::new(cases::schema()).await);
    let store = world.store(&tenants).await;
    let mine = cases::of(&tenants, &store, "acme").await;
    let theirs = cases::of(&tenants, &store, "globex").await;
    for (tenant, spread) in [(&mine, 3.0), (&theirs, 0.3)] {
        for portion in 0..4 {
            let point = |n: u32| {
                let angle = spread * f64::from(n) / f64::from(POINTS);
                #[expect(clippy::cast_possible_truncation, reason = "a vector")]
                let dense = vec![angle.cos() as f32, angle.sin() as f32, 0.1, 0.0];
                let payload = cases::object(serde_json::json!({ "n": n, "hundredth": n.is_multiple_of(100) }));
                tenancy_vector::Point::hybrid(cases::id(&format!("p{n}")), dense, cases::terms(&[n % 7]), payload)
                    .unwrap()
            };
            let points = (portion * POINTS / 4..(portion + 1) * POINTS / 4).map(point).collect();
            tenant.upsert(points).await.unwrap();
        }
    }
    let index = world.tables.index_sql(&RowKey::Uuid(tenants.life("acme").uuid()), &VectorName::dense()).unwrap();
    world.server.run_as_owner(&index).await;
    world.server.run("analyze chunk").await;
    (tenants, world, mine)
}

/// How often the index was asked, once it was so often. The server says so when its session has been idle for a while.
async fn scans(world: &World, wanted: i64) -> i64 {
    let sql =
        "select coalesce(sum(idx_scan), 0)::bigint from pg_stat_user_indexes where indexrelname like 'tenancy_hnsw%'";
    let mut found = 0;
    for _ in 0..400 {
        found = world.number(sql).await;
        if found >= wanted {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    found
}

fn query() -> VectorQuery {
    VectorQuery::dense(vec![0.0, 1.0, 0.1, 0.0]).unwrap()
}

async fn ids(mine: &TenantVectors, query: VectorQuery) -> BTreeSet<String> {
    mine.query(&query).await.unwrap().iter().map(|hit| hit.id().as_str().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_tenant_has_an_index_and_full_answers() {
    let (_tenants, world, mine) = filled().await;
    for (limit, asked) in [(1, 1), (10, 2), (50, 3)] {
        let exact = ids(&mine, query().limit(limit).unwrap().exact()).await;
        let found = ids(&mine, query().limit(limit).unwrap()).await;
        assert_eq!(
            scans(&world, asked).await,
            asked,
            "the tenant's index is asked, but not by an exact query: {limit}"
        );
        assert_eq!(found.len(), limit, "nobody else's points take a place");
        let recalled = found.intersection(&exact).count();
        assert!(recalled * 10 >= limit * 9, "{recalled} of {limit}");
    }
}

/// A filter that few points meet: the index goes on, and where it ends too early every point is looked at.
#[tokio::test(flavor = "multi_thread")]
async fn a_filter_takes_no_place_of_an_answer() {
    let (tenants, world, _mine) = filled().await;
    // The index gives up long before it has seen enough.
    world.server.run(&format!("alter database {} set hnsw.max_scan_tuples = 200", world.server.name())).await;
    let mine = cases::of(&tenants, &world.store(&tenants).await, "acme").await;
    let key = |text| PayloadKey::parse(text).unwrap();
    for (mechanism, filter, wanted) in [
        ("one in a hundred", Filter::Equals(key("hundredth"), true.into()), 40),
        ("one of all", Filter::Equals(key("n"), 17.into()), 1),
        ("none", Filter::Equals(key("n"), (-1).into()), 0),
        ("what only this crate tells", Filter::Nested(key("none"), Box::new(Filter::IsNull(key("x")))).not(), 50),
    ] {
        let limited = || query().limit(50).unwrap().filter(filter.clone()).unwrap();
        let (found, exact) = (ids(&mine, limited()).await, ids(&mine, limited().exact()).await);
        assert_eq!(found.len(), wanted, "{mechanism}");
        assert_eq!(exact.len(), wanted, "{mechanism}");
        if wanted < 50 {
            assert_eq!(found, exact, "{mechanism}");
        }
    }
}
