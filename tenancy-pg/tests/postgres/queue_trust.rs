//! Whom the job queue trusts: nobody with more than adding, no row, no other realm.

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use tenancy_core::{Denial, TicketFault};
use tenancy_pg::{PgError, Queue, QueueOptions, queue_sql};
use tenancy_testkit::{APP, TestTenants};

use crate::common::plain_role;
use crate::queue::{Ingest, Stage, Train, WORKER};

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
