//! The job queue: in the tenant's transaction on one side, on a role of the workers on the other.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use tenancy_core::{Denial, JobKind, TicketFault, TicketUse};
use tenancy_pg::{AfterRetry, Database, Inspected, PgError, Queue, QueueOptions, TenantDb, queue_sql};
use tenancy_testkit::{APP, drop_at_every_poll};

use crate::common::{World, bodies, plain_role, scalar};

pub(crate) struct Ingest;

impl JobKind for Ingest {
    const NAME: &'static str = "ingest";
    const QUEUE: &'static str = "default";
    const MAX_TTL: Duration = Duration::from_secs(3600);
    const USE: TicketUse = TicketUse::Repeatable;
}

pub(crate) struct Train;

impl JobKind for Train {
    const NAME: &'static str = "train";
    const QUEUE: &'static str = "default";
    const MAX_TTL: Duration = Duration::from_secs(3600);
    const USE: TicketUse = TicketUse::Once;
}

pub(crate) const TTL: Duration = Duration::from_secs(600);
pub(crate) const WORKER: &str = "worker";

/// A database with a queue in it.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) database: Database<Inspected>,
    pub(crate) queue: Queue,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(|options| options).await
    }

    pub(crate) async fn with(change: impl FnOnce(QueueOptions) -> QueueOptions) -> Self {
        let world = World::new().await;
        let worker = plain_role(&world.server, WORKER).await;
        for _again in 0..2 {
            world.server.run_as_owner(&queue_sql(&world.declaration, APP, WORKER)).await;
        }
        let database = world.open().await;
        let queue = Queue::connect(world.tenants.realm(), change(QueueOptions::new(worker))).await.unwrap();
        Self { world, database, queue }
    }

    pub(crate) async fn scoped(&self, tenant: &str) -> TenantDb {
        self.world.scoped(&self.database, tenant).await
    }

    pub(crate) async fn enqueue<K: JobKind>(&self, tenant: &str, payload: &[u8]) {
        let db = self.scoped(tenant).await;
        let mut tx = db.begin().await.unwrap();
        tx.enqueue::<K>(payload, TTL).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub(crate) async fn jobs(&self, condition: &str) -> i64 {
        scalar(
            &self.world.server.superuser_options(),
            &format!("select count(*) from tenancy_queue.job where {condition}"),
        )
        .await
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.world.server.run(sql).await;
    }

    /// Lets every lease and every pause pass.
    pub(crate) async fn time_passes(&self) {
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
