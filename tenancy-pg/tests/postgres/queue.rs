//! The job queue: in the tenant's transaction on one side, on a role of the workers on the other.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use tenancy_core::{Denial, JobKind, TicketFault, TicketUse};
use tenancy_pg::{AfterRetry, Database, Inspected, PgError, Queue, QueueOptions, TenantDb, queue_sql};
use tenancy_testkit::{APP, TestTenants, drop_at_every_poll};

use crate::common::{World, bodies, plain_role, scalar};

pub(crate) struct Ingest;

impl JobKind for Ingest {
    const NAME: &'static str = "ingest";
    const QUEUE: &'static str = "default";
    const MAX_TTL: Duration = Duration::from_secs(3600);
    const USE: TicketUse = TicketUse::Repeatable;
}

struct Train;

impl JobKind for Train {
    const NAME: &'static str = "train";
    const QUEUE: &'static str = "default";
    const MAX_TTL: Duration = Duration::from_secs(3600);
    const USE: TicketUse = TicketUse::Once;
}

const TTL: Duration = Duration::from_secs(600);
const WORKER: &str = "worker";

struct Stage {
    world: World,
    database: Database<Inspected>,
    queue: Queue,
}

impl Stage {
    async fn new() -> Self {
        Self::with(|options| options).await
    }

    async fn with(change: impl FnOnce(QueueOptions) -> QueueOptions) -> Self {
        let world = World::new().await;
        let worker = plain_role(&world.server, WORKER).await;
        for _again in 0..2 {
            world.server.run_as_owner(&queue_sql(&world.declaration, APP, WORKER)).await;
        }
        let database = world.open().await;
        let queue = Queue::connect(world.tenants.realm(), change(QueueOptions::new(worker))).await.unwrap();
        Self { world, database, queue }
    }

    async fn scoped(&self, tenant: &str) -> TenantDb {
        self.world.scoped(&self.database, tenant).await
    }

    async fn enqueue<K: JobKind>(&self, tenant: &str, payload: &[u8]) {
        let db = self.scoped(tenant).await;
        let mut tx = db.begin().await.unwrap();
        tx.enqueue::<K>(payload, TTL).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn jobs(&self, condition: &str) -> i64 {
        scalar(
            &self.world.server.superuser_options(),
            &format!("select count(*) from tenancy_queue.job where {condition}"),
        )
        .await
    }

    async fn run(&self, sql: &str) {
        self.world.server.run(sql).await;
    }

    /// Lets every lease and every pause pass.
    async fn time_passes(&self) {
        self.run("update tenancy_queue.job set visible_at = now() - interval '1 second'").await;
    }
}

#[tokio::test]
async fn a_job_is_there_if_and_only_if_its_transaction_commits() {
    let stage = Stage::new().await;
    let acme = stage.scoped("acme").await;
    let begin = async || {
        let mut tx = acme.begin().await.unwrap();
        tx.enqueue::<Ingest>(b"one", TTL).await.unwrap();
        tx.enqueue::<Ingest>(b"two", TTL).await.unwrap();
        tx
    };
    begin().await.rollback().await.unwrap();
    drop(begin().await);
    let mut tx = begin().await;
    sqlx::query("select 1/0").execute(&mut tx).await.unwrap_err();
    assert!(tx.commit().await.is_err());
    let mut tx = begin().await;
    assert!(matches!(
        tx.enqueue::<Ingest>(b"three", TTL * 100).await,
        Err(PgError::Denied(Denial::Ticket(TicketFault::TooLong)))
    ));
    drop(tx);
    assert_eq!(bodies(&acme).await.len(), 2, "the pool of one is free again");
    assert_eq!(stage.jobs("true").await, 0);
    let uncommitted = begin().await;
    assert!(stage.queue.claim::<Ingest>().await.unwrap().is_none());
    uncommitted.commit().await.unwrap();
    assert_eq!(stage.jobs("true").await, 2);
    assert_eq!(stage.queue.depth::<Ingest>().await.unwrap().visible, 2);

    let worker = stage.world.tenants.realm().worker();
    for payload in [b"one", b"two"] {
        let job = stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.unwrap();
        assert_eq!((job.payload(), job.attempt()), (payload.as_slice(), 1));
        assert_eq!(job.context().life(), stage.world.life("acme"));
        job.complete().await.unwrap();
    }
    assert!(stage.queue.claim::<Ingest>().await.unwrap().is_none());
    assert_eq!(stage.jobs("true").await, 0);
}

#[tokio::test]
async fn what_lies_in_the_queue_says_nothing() {
    let stage = Stage::new().await;
    stage.enqueue::<Ingest>("acme", b"hunter2 is the password").await;
    assert_eq!(stage.jobs("position('hunter2'::bytea in payload) > 0 or ticket like '%hunter2%'").await, 0);
    assert_eq!(stage.jobs("ticket like '%acme%' or position('acme'::bytea in payload) > 0").await, 0);
    let claimed = stage.queue.claim::<Ingest>().await.unwrap().unwrap();
    assert_eq!(format!("{claimed:?}"), "Claimed<ingest>(attempt 1)");
}

/// Every way of the service's own role to the queue but adding a job of its own tenant.
#[tokio::test]
async fn the_service_may_add_and_nothing_else() {
    let stage = Stage::new().await;
    stage.enqueue::<Ingest>("globex", b"theirs").await;
    let acme = stage.scoped("acme").await;
    let (own, other) = (stage.world.life("acme").uuid(), stage.world.life("globex").uuid());
    let add = |columns: &str, values: &str, rest: &str| {
        format!(
            "insert into tenancy_queue.job (queue, kind, row_key, ticket, payload{columns})
             values ('default', 'ingest', '{own}', '', ''{values}) {rest}"
        )
    };
    for sql in [
        "select * from tenancy_queue.job".to_owned(),
        "select count(*) from tenancy_queue.job".to_owned(),
        "update tenancy_queue.job set visible_at = now()".to_owned(),
        "delete from tenancy_queue.job".to_owned(),
        "truncate tenancy_queue.job".to_owned(),
        "select * from tenancy_queue.turn".to_owned(),
        "select nextval('tenancy_queue.turns')".to_owned(),
        "copy tenancy_queue.job to stdout".to_owned(),
        "lock table tenancy_queue.job in access exclusive mode".to_owned(),
        add("", "", "returning id"),
        add("", "", "on conflict (id) do update set ticket = 'x'"),
        add(", attempts", ", -1000", ""),
        add(", visible_at", ", now() + interval '1 year'", ""),
        add(", dead", ", 'x'", ""),
        add("", "", "").replace(&own.to_string(), &other.to_string()),
    ] {
        let refused = sqlx::query(sqlx::AssertSqlSafe(sql.as_str())).execute(&acme).await.unwrap_err();
        let code = refused.as_database_error().and_then(|e| e.code()).unwrap_or_default();
        assert!(code == "42501" || refused.as_database_error().is_none(), "{sql}: {refused:?}");
    }
    assert_eq!(stage.jobs("true").await, 1, "none of them did anything");
    sqlx::query(sqlx::AssertSqlSafe(add("", "", ""))).execute(&acme).await.unwrap();
    assert_eq!(stage.jobs("true").await, 2);
}

#[tokio::test]
async fn a_lease_passes_and_whoever_had_it_is_told() {
    let stage = Stage::new().await;
    let worker = stage.world.tenants.realm().worker();
    stage.enqueue::<Ingest>("acme", b"work").await;
    let claim = async || stage.queue.claim::<Ingest>().await.unwrap();
    let first = claim().await.unwrap().open(&worker).await.unwrap();
    assert!(claim().await.is_none(), "leased");
    stage.time_passes().await;
    first.extend().await.unwrap();
    assert!(claim().await.is_none(), "leased anew");
    stage.time_passes().await;
    let second = claim().await.unwrap().open(&worker).await.unwrap();
    assert_eq!(second.attempt(), 2);
    assert!(matches!(first.extend().await, Err(PgError::LeaseLost)));
    assert!(matches!(first.complete().await, Err(PgError::LeaseLost)));
    assert_eq!(stage.jobs("true").await, 1);
    drop(second);
    assert!(claim().await.is_none());
    stage.time_passes().await;
    drop(claim().await.unwrap());
    stage.time_passes().await;
    claim().await.unwrap().open(&worker).await.unwrap().complete().await.unwrap();
    assert_eq!(stage.jobs("true").await, 0);
}

#[tokio::test]
async fn a_job_that_keeps_failing_waits_longer_each_time_and_dies() {
    let stage = Stage::with(|options| options.max_attempts(3).back_off(Duration::from_secs(100))).await;
    let worker = stage.world.tenants.realm().worker();
    stage.enqueue::<Ingest>("acme", b"work").await;
    for (attempt, seconds, after) in
        [(1, 100, AfterRetry::Again), (2, 200, AfterRetry::Again), (3, 0, AfterRetry::Dead)]
    {
        let job = stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.unwrap();
        assert_eq!((job.attempt(), job.retry().await.unwrap()), (attempt, after));
        assert!(stage.queue.claim::<Ingest>().await.unwrap().is_none(), "it waits");
        if after == AfterRetry::Again {
            let waits =
                format!("visible_at between now() + interval '{} s' and now() + interval '{seconds} s'", seconds - 60);
            assert_eq!(stage.jobs(&waits).await, 1);
        }
        stage.time_passes().await;
    }
    assert_eq!(stage.jobs("dead = 'attempts'").await, 1);
    assert!(stage.queue.claim::<Ingest>().await.unwrap().is_none());
    let depth = stage.queue.depth::<Ingest>().await.unwrap();
    assert_eq!((depth.visible, depth.waiting, depth.dead), (0, 0, 1));
    assert_eq!(stage.queue.revive::<Train>().await.unwrap(), 0, "another kind");
    assert_eq!(stage.queue.revive::<Ingest>().await.unwrap(), 1);

    // Workers that are never heard of again use the attempts up too.
    for _attempt in 0..3 {
        drop(stage.queue.claim::<Ingest>().await.unwrap().unwrap());
        stage.time_passes().await;
    }
    assert!(stage.queue.claim::<Ingest>().await.unwrap().is_none());
    assert_eq!(stage.jobs("dead = 'attempts'").await, 1);
    stage.queue.revive::<Ingest>().await.unwrap();
    let job = stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.unwrap();
    job.bury("not a document").await.unwrap();
    assert_eq!(stage.jobs("dead = 'not a document'").await, 1);
}

#[tokio::test]
async fn a_flood_of_one_tenant_does_not_starve_another() {
    let stage = Stage::new().await;
    let acme = stage.scoped("acme").await;
    let mut tx = acme.begin().await.unwrap();
    for n in 0..60 {
        tx.enqueue::<Ingest>(format!("{n}").as_bytes(), TTL).await.unwrap();
    }
    tx.commit().await.unwrap();
    for payload in [b"g0", b"g1", b"g2"] {
        stage.enqueue::<Ingest>("globex", payload).await;
    }
    let worker = stage.world.tenants.realm().worker();
    let mut order = Vec::new();
    for _claim in 0..6 {
        let job = stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.unwrap();
        order.push((job.context().tenant().as_str().to_owned(), String::from_utf8(job.payload().to_vec()).unwrap()));
        // Half of them fail: a turn is a turn.
        if order.len() % 2 == 0 {
            job.complete().await.unwrap();
        } else {
            job.retry().await.unwrap();
        }
    }
    let served =
        |tenant: &str| -> Vec<_> { order.iter().filter(|(t, _)| t == tenant).map(|(_, p)| p.clone()).collect() };
    assert_eq!(served("globex"), ["g0", "g1", "g2"], "every second claim, in order: {order:?}");
    assert_eq!(served("acme"), ["0", "1", "2"]);
}

#[tokio::test]
async fn many_workers_take_each_job_once() {
    let stage = Stage::new().await;
    for tenant in ["acme", "globex"] {
        let db = stage.scoped(tenant).await;
        let mut tx = db.begin().await.unwrap();
        for n in 0..25 {
            tx.enqueue::<Ingest>(format!("{tenant}{n}").as_bytes(), TTL).await.unwrap();
        }
        tx.commit().await.unwrap();
    }
    let worker = stage.world.tenants.realm().worker();
    let work = async || {
        let mut done = Vec::new();
        while let Some(claimed) = stage.queue.claim::<Ingest>().await.unwrap() {
            let job = claimed.open(&worker).await.unwrap();
            done.push(job.payload().to_vec());
            job.complete().await.unwrap();
        }
        done
    };
    let mut all: Vec<_> = join_all((0..4).map(|_| work())).await.concat();
    // A worker that saw only jobs which others were just taking may have stopped early; none is left behind for good.
    all.extend(work().await);
    let mut times = HashMap::new();
    all.into_iter().for_each(|payload| *times.entry(payload).or_insert(0) += 1);
    assert_eq!(times.len(), 50);
    assert!(times.values().all(|times| *times == 1));
}

/// What a row says is not believed: each of these is refused, on record, and out of the way.
#[tokio::test]
async fn a_row_that_was_tampered_with_does_not_open() {
    let stage = Stage::new().await;
    let worker = stage.world.tenants.realm().worker();
    let globex = stage.world.life("globex").uuid();
    for (what, change, rule) in [
        (
            "payload of another job",
            "payload = (select payload from tenancy_queue.job where id = 1)",
            "ticket.wrong_payload",
        ),
        (
            "ticket of another job",
            "ticket = (select ticket from tenancy_queue.job where id = 1)",
            "ticket.wrong_payload",
        ),
        ("one byte", "payload = set_byte(payload, 40, get_byte(payload, 40) # 1)", "ticket.wrong_payload"),
        ("no payload", "payload = ''", "ticket.wrong_payload"),
        ("no ticket", "ticket = ''", "ticket.altered"),
        ("a changed ticket", "ticket = overlay(ticket placing 'AAAA' from 100)", "ticket.altered"),
        ("another tenant's lane", &format!("row_key = '{globex}'"), "store.breach"),
        ("another kind", "kind = 'train'", "ticket.wrong_kind"),
    ] {
        stage.run("delete from tenancy_queue.job; alter table tenancy_queue.job alter id restart").await;
        stage.enqueue::<Ingest>("acme", b"first").await;
        stage.enqueue::<Ingest>("acme", b"second").await;
        stage.run(&format!("update tenancy_queue.job set {change} where id = 2")).await;
        stage.run("update tenancy_queue.job set visible_at = now() + interval '1 h' where id = 1").await;
        let refused = if change.starts_with("kind") {
            stage.queue.claim::<Train>().await.unwrap().unwrap().open(&worker).await.map(drop)
        } else {
            stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.map(drop)
        };
        assert_eq!(refused.unwrap_err().denial().unwrap().rule(), rule, "{what}");
        assert_eq!(stage.jobs(&format!("id = 2 and dead = '{rule}'")).await, 1, "{what}");
        assert_eq!(stage.world.tenants.denied_rules().await.last().unwrap(), rule, "{what}");
        stage.time_passes().await;
        let intact = stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.unwrap();
        assert_eq!(intact.payload(), b"first", "{what}");
    }
}

#[tokio::test]
async fn a_queue_of_one_realm_opens_nothing_for_the_worker_of_another() {
    let stage = Stage::new().await;
    let other = TestTenants::new().await;
    stage.enqueue::<Ingest>("acme", b"work").await;
    let refused =
        stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&other.realm().worker()).await.unwrap_err();
    assert_eq!(refused.denial(), Some(Denial::Ticket(TicketFault::ForeignRealm)));
}

#[tokio::test]
async fn a_suspended_tenants_job_waits_and_an_erased_ones_dies() {
    let stage = Stage::new().await;
    let worker = stage.world.tenants.realm().worker();
    stage.enqueue::<Ingest>("acme", b"work").await;
    stage.world.tenants.suspend("acme");
    let refused = stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.unwrap_err();
    assert_eq!(refused.denial(), Some(Denial::TenantSuspended));
    assert_eq!(stage.jobs("dead is null and visible_at > now()").await, 1);
    stage.time_passes().await;
    stage.world.tenants.erase("acme");
    let refused = stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.unwrap_err();
    assert_eq!(refused.denial(), Some(Denial::TenantErased));
    assert_eq!(stage.jobs("dead is not null").await, 1);
}

#[tokio::test]
async fn a_job_for_single_use_runs_at_most_once() {
    let stage = Stage::new().await;
    let worker = stage.world.tenants.realm().worker();
    stage.enqueue::<Train>("acme", b"work").await;
    let job = stage.queue.claim::<Train>().await.unwrap().unwrap().open(&worker).await.unwrap();
    assert_eq!(job.retry().await.unwrap(), AfterRetry::Again);
    stage.time_passes().await;
    let again = stage.queue.claim::<Train>().await.unwrap().unwrap().open(&worker).await.unwrap_err();
    assert_eq!(again.denial(), Some(Denial::Ticket(TicketFault::Replayed)));
    assert_eq!(stage.jobs("dead is not null").await, 1);
}

#[tokio::test]
async fn no_job_is_lost_or_stuck_by_a_dropped_future() {
    let stage = Stage::new().await;
    let worker = stage.world.tenants.realm().worker();
    let (acme, globex) = (stage.scoped("acme").await, stage.scoped("globex").await);
    drop_at_every_poll(
        || async {
            let mut tx = acme.begin().await.unwrap();
            tx.enqueue::<Ingest>(b"half", TTL).await.unwrap();
        },
        async |k, _| {
            assert_eq!(bodies(&globex).await.len(), 3, "poll {k}");
            assert_eq!(stage.jobs("true").await, 0, "poll {k}");
        },
    )
    .await;
    stage.enqueue::<Ingest>("acme", b"work").await;
    let fresh = async || {
        stage.run("update tenancy_queue.job set visible_at = now() - interval '1 s', attempts = 0, lease = null").await;
    };
    let still_opens = async |k: usize| {
        fresh().await;
        let job = stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.unwrap();
        assert_eq!(job.payload(), b"work", "poll {k}");
        fresh().await;
    };
    drop_at_every_poll(|| stage.queue.claim::<Ingest>(), async |k, _| still_opens(k).await).await;
    drop_at_every_poll(
        || async { stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.map(drop) },
        async |k, _| still_opens(k).await,
    )
    .await;
    drop_at_every_poll(
        || async {
            stage.queue.claim::<Ingest>().await.unwrap().unwrap().open(&worker).await.unwrap().retry().await.map(drop)
        },
        async |k, _| still_opens(k).await,
    )
    .await;
    let mut done = false;
    drop_at_every_poll(
        || async {
            let claimed = stage.queue.claim::<Ingest>().await.unwrap();
            if let Some(claimed) = claimed {
                claimed.open(&worker).await.unwrap().complete().await.unwrap();
            }
        },
        async |_, finished| {
            done = finished.is_some();
            fresh().await;
        },
    )
    .await;
    assert!(done);
    assert_eq!(stage.jobs("true").await, 0);
}

/// The queue as made passes the inspection; everything else about it is a finding.
#[tokio::test]
async fn the_inspection_knows_the_queue_and_every_other_one() {
    let stage = Stage::new().await;
    let codes = async || match stage.database.reinspect().await {
        Ok(_) => String::new(),
        Err(PgError::Inspection(report)) => report.to_string(),
        Err(other) => panic!("{other:?}"),
    };
    assert_eq!(codes().await, "");
    for (change, undo) in [
        ("grant select on tenancy_queue.job to app", "revoke select on tenancy_queue.job from app"),
        (
            "grant select (payload) on tenancy_queue.job to public",
            "revoke select (payload) on tenancy_queue.job from public",
        ),
        ("grant insert on tenancy_queue.job to app", "revoke insert on tenancy_queue.job from app"),
        ("grant insert (dead) on tenancy_queue.job to app", "revoke insert (dead) on tenancy_queue.job from app"),
        ("grant update (lease) on tenancy_queue.job to app", "revoke update (lease) on tenancy_queue.job from app"),
        ("grant delete on tenancy_queue.job to app", "revoke delete on tenancy_queue.job from app"),
        ("grant select on tenancy_queue.turn to app", "revoke select on tenancy_queue.turn from app"),
        (
            "alter table tenancy_queue.job no force row level security",
            "alter table tenancy_queue.job force row level security",
        ),
        (
            "alter table tenancy_queue.job disable row level security",
            "alter table tenancy_queue.job enable row level security",
        ),
        (
            "create policy more on tenancy_queue.job for insert with check (true)",
            "drop policy more on tenancy_queue.job",
        ),
    ] {
        stage.run(change).await;
        assert!(codes().await.contains("tenancy_queue"), "{change}: {}", codes().await);
        stage.run(undo).await;
        if change.contains("insert") {
            stage.world.server.run_as_owner(&queue_sql(&stage.world.declaration, APP, WORKER)).await;
        }
        assert_eq!(codes().await, "", "{undo}");
    }
}

#[tokio::test]
async fn a_worker_is_a_plain_role_that_is_not_the_service() {
    let stage = Stage::new().await;
    let server = &stage.world.server;
    let connect =
        async |options| Queue::connect(stage.world.tenants.realm(), QueueOptions::new(options)).await.map(drop);
    connect(plain_role(server, WORKER).await).await.unwrap();
    for options in [server.app_options(), server.owner_options(), server.superuser_options()] {
        assert!(matches!(connect(options).await, Err(PgError::ControlRole)));
    }
    for (role, made) in [
        ("worker_adds", "grant insert (queue) on tenancy_queue.job to worker_adds"),
        ("worker_owns", "grant own to worker_owns"),
        ("worker_app", "grant app to worker_app"),
        ("worker_bypass", "alter role worker_bypass bypassrls"),
    ] {
        let options = plain_role(server, role).await;
        assert!(connect(options.clone()).await.is_err(), "no rights yet");
        server.run(&format!("grant worker to {role}")).await;
        connect(options.clone()).await.unwrap();
        server.run(made).await;
        assert!(matches!(connect(options).await, Err(PgError::ControlRole)), "{made}");
        server.run(&format!("alter role {role} nobypassrls; revoke own, app, worker from {role}")).await;
    }
    let mut worker = PgConnection::connect_with(&plain_role(server, WORKER).await).await.unwrap();
    let refused = worker.execute("select * from note").await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501", "it is no way to the tenants' rows");
}
