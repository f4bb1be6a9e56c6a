//! What the planner tells: its estimates come from samples of every tenant's rows.

use futures_util::TryStreamExt;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor, Row, SqlSafeStr};
use tenancy_pg::{
    CopyOut, Database, Forbidden, InspectPolicy, PgError, PgOptions, Severity, SigningKeys, TenantTx, danger,
};

use crate::sealed::Sealed;

/// The number that only a row of globex's has.
const SECRET: i64 = 73_219;

/// In signed mode and on a hardened database, because neither changes what the planner has sampled.
#[tokio::test]
async fn a_plan_tells_a_number_of_another_tenants_and_no_statement_gets_one() {
    let world = Sealed::new().await;
    world
        .server
        .run(&format!(
            "alter table public.note add salary bigint not null default 100;
             insert into public.note (tenant_id, id, body, salary)
                 select '{acme}'::uuid, 1000 + n, 'own', 100 from generate_series(1, 500) n
                 union all select '{globex}', 5000 + n, 'other', {SECRET} from generate_series(1, 500) n;
             analyze public.note",
            acme = world.life("acme").uuid(),
            globex = world.life("globex").uuid()
        ))
        .await;
    let options = PgOptions::new(world.server.app_options()).signed(SigningKeys::new(world.key.clone()));
    let database = Database::connect(world.tenants.realm(), options).await.unwrap();
    let policy = InspectPolicy::new().hardening(Severity::Warning);
    let database = database.inspect_with(&world.declaration, policy).await.unwrap();
    let acme = world.scoped(&database, "acme").await;

    for verb in ["explain", "EXPLAIN (analyze, format json)", "explain analyze verbose", "; /* */ explain (costs)"] {
        let sql = format!("{verb} select 1 from public.note where salary > 50000");
        let text = || AssertSqlSafe(sql.clone());
        let mut tx = acme.begin().await.unwrap();
        let mut refused = vec![
            sqlx::query(text()).fetch_all(&acme).await.map(drop),
            sqlx::query(text()).fetch_all(&mut tx).await.map(drop),
            sqlx::query(text()).execute(&database.untenanted()).await.map(drop),
            (&acme).describe(text().into_sql_str()).await.map(drop),
        ];
        let mut savepoint = tx.savepoint().await.unwrap();
        refused.push(sqlx::query(text()).fetch_all(&mut savepoint).await.map(drop));
        savepoint.release().await.unwrap();
        let copied = tx.copy_out(CopyOut::query(text())).try_for_each(async |_chunk| Ok(())).await;
        refused.push(copied.map_err(Into::into));
        for (way, refused) in refused.into_iter().enumerate() {
            let error = PgError::from(refused.unwrap_err());
            assert!(matches!(error, PgError::Forbidden(Forbidden::Plan)), "{sql}, {way}: {error:?}");
        }
        let own: i64 = sqlx::query_scalar("select max(salary) from public.note").fetch_one(&mut tx).await.unwrap();
        assert_eq!(own, 100, "the rows themselves are held");
        tx.commit().await.unwrap();
    }

    // Why: on the connection itself, which nobody looks at, twenty plans find the number.
    let mut tx: TenantTx<'_> = acme.begin().await.unwrap();
    let connection = danger::connection(&mut tx, "to see a plan").await.unwrap();
    let (mut low, mut high) = (0, 1 << 20);
    while low < high {
        let middle = (low + high) / 2;
        if estimate(connection, &format!("salary > {middle}")).await > 1 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    assert_eq!(low, SECRET);
    tx.rollback().await.unwrap();
}

/// How many rows the planner expects.
async fn estimate(connection: &mut PgConnection, condition: &str) -> i64 {
    let sql = format!("explain select 1 from public.note where {condition}");
    let plan = connection.fetch_all(AssertSqlSafe(sql)).await.unwrap();
    let lines = plan.iter().map(|row| row.get::<&str, _>(0));
    let rows = |line: &str| line.split("rows=").nth(1)?.split(' ').next()?.parse().ok();
    lines.filter(|line| line.contains("on note")).find_map(rows).unwrap()
}
