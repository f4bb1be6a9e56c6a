//! Everything else that can be waited for: on roles and connections that no tenant's statement runs on. Dropped anywhere,
//! it leaves no transaction open, and the same call goes through afterwards.
#![expect(clippy::unit_arg, reason = "an act gives nothing, and what it gives is checked all the same")]

use std::error::Error;
use std::time::{Instant, SystemTime};

use futures_util::future::LocalBoxFuture;
use secrecy::ExposeSecret;
use sqlx::migrate::Migrator;
use tenancy_core::{Credential, Gate, JobTicket, Life, StoreName, TenantRecord};
use tenancy_pg::{
    ControlStore, Database, InspectPolicy, Migration, PgAuditSink, PgEraser, ProbeOptions, Roles, TenantRegistry,
    inspect, migrate, migrate_audit, migrate_control, migrate_data, probe, propose,
};
use tenancy_testkit::{APP, CONTROL, poll_times};

use crate::audit::AUDIT;
use crate::control::{self, ROOT};
use crate::erase::ERASER;
use crate::office::Office;
use crate::queue::{Ingest, TTL, Train};
use crate::torture::scale;

/// One call, with what has to come before it.
pub(crate) struct OutsideAct {
    name: &'static str,
    pub(crate) covers: &'static [&'static str],
    run: for<'o> fn(&'o Office) -> Doing<'o>,
}

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;
type Doing<'o> = LocalBoxFuture<'o, Outcome<()>>;

/// Dropped where reports have their own role and their own tests, `reports_in_hand.rs`; what is prepared and described there
/// goes the way of the rows.
pub(crate) const OF_REPORTS: &[&str] = &[
    "Database::across",
    "Reports::read",
    "Reports::fetch_many",
    "Reports::fetch_optional",
    "Reports::prepare_with",
    "Reports::describe",
    "ReportTx::end",
    "ReportTx::fetch_many",
    "ReportTx::fetch_optional",
    "ReportTx::prepare_with",
    "ReportTx::describe",
];

/// Called by no code yet, and by nothing outside of the core: what a key is for can't be made there.
pub(crate) const OUT_OF_REACH: &[&str] = &["PgKeyStore::destroy"];

pub(crate) const OUTSIDE: &[OutsideAct] = &[
    OutsideAct {
        name: "a control store comes and goes",
        covers: &["ControlStore::connect", "ControlStore::close"],
        run: |o| Box::pin(async { Ok(ControlStore::connect(o.there.control_options()).await?.close().await) }),
    },
    OutsideAct {
        name: "word of changes",
        covers: &["ControlStore::hints"],
        run: |o| Box::pin(async { Ok(drop(o.control.hints(&o.realm).await?)) }),
    },
    OutsideAct {
        name: "a tenant's days",
        covers: &[
            "PgDirectory::add",
            "PgDirectory::suspend",
            "PgDirectory::resume",
            "PgDirectory::rename",
            "PgDirectory::erase",
        ],
        run: |o| {
            Box::pin(async {
                let (directory, name, renamed) = (o.control.directory(), o.new_name(), o.new_name());
                directory.add(&TenantRecord::new(name.clone(), Life::random(), SystemTime::now())).await?;
                directory.suspend(&name).await?;
                directory.resume(&name).await?;
                directory.rename(&name, &renamed).await?;
                Ok(directory.erase(&renamed).await?)
            })
        },
    },
    OutsideAct {
        name: "somebody with an API key",
        covers: &["PgDirectory::put_api_key", "PgDirectory::api_key", "PgDirectory::find"],
        run: |o| {
            Box::pin(async {
                o.control.directory().put_api_key(o.api_key.record()).await?;
                let credential = Credential::api_key(o.api_key.secret().expose_secret());
                Ok(drop(o.realm.authenticate(&credential).await?))
            })
        },
    },
    OutsideAct {
        name: "keys of a realm and of a new tenant",
        covers: &["PgKeyStore::load", "PgKeyStore::insert"],
        run: |o| {
            Box::pin(async {
                let realm = control::realm(&o.control, &o.issuer, ROOT).await;
                o.new_tenant(&realm).await?;
                Ok(())
            })
        },
    },
    OutsideAct {
        name: "a ticket for single use",
        covers: &["PgTicketLedger::redeem"],
        run: |o| {
            Box::pin(async {
                let wire = o.insider.ticket::<Train>(b"work", TTL)?.to_wire();
                Ok(drop(o.realm.worker().open::<Train>(&JobTicket::from_wire(&wire), b"work".to_vec()).await?))
            })
        },
    },
    OutsideAct {
        name: "a write to a corpus",
        covers: &["PgCorpusVersions::current", "PgCorpusVersions::begin", "PgCorpusVersions::settle"],
        run: |o| {
            Box::pin(async {
                let pass = Gate::new(&o.realm, StoreName::new("corpus")).scoped(&o.insider)?;
                let entered = pass.enter("write").await?;
                entered.begin_corpus_write().await?.settle().await?;
                // The writes that were dropped before hide the version until they are forgotten.
                entered.corpus_version().await?;
                entered.done();
                Ok(())
            })
        },
    },
    OutsideAct {
        name: "the registry",
        covers: &[
            "TenantRegistry::connect",
            "TenantRegistry::register",
            "TenantRegistry::fence",
            "TenantRegistry::lift",
            "TenantRegistry::close",
        ],
        run: |o| {
            Box::pin(async {
                let registry = TenantRegistry::connect(o.there.control_options()).await?;
                registry.register(o.acme.record()).await?;
                registry.fence(o.acme.life()).await?;
                registry.lift(o.acme.life()).await?;
                Ok(registry.close().await)
            })
        },
    },
    OutsideAct {
        name: "a queue",
        covers: &["Queue::connect", "Queue::depth", "Queue::revive", "Queue::close"],
        run: |o| {
            Box::pin(async {
                let queue = o.queue().await?;
                queue.depth::<Ingest>().await?;
                queue.revive::<Ingest>().await?;
                Ok(queue.close().await)
            })
        },
    },
    OutsideAct {
        name: "a job that is done",
        covers: &["Queue::claim", "Claimed::open", "QueuedJob::extend", "QueuedJob::complete"],
        run: |o| {
            Box::pin(async {
                let job = o.job().await?;
                job.extend().await?;
                Ok(job.complete().await?)
            })
        },
    },
    OutsideAct {
        name: "a job that waits",
        covers: &["QueuedJob::retry"],
        run: |o| Box::pin(async { Ok(o.job().await?.retry().await.map(|_again| ())?) }),
    },
    OutsideAct {
        name: "a job that is given up",
        covers: &["QueuedJob::bury"],
        run: |o| Box::pin(async { Ok(o.job().await?.bury("no use").await?) }),
    },
    OutsideAct {
        name: "an audit sink",
        covers: &["PgAuditSink::connect"],
        run: |o| Box::pin(async { Ok(drop(PgAuditSink::connect(o.there.options(AUDIT), &o.realm_name()).await?)) }),
    },
    OutsideAct {
        name: "the schemas of control and audit",
        covers: &["migrate_control", "migrate_audit"],
        run: |o| {
            Box::pin(async {
                migrate_control(o.there.owner_options(), CONTROL).await?;
                Ok(migrate_audit(o.there.owner_options(), AUDIT).await?)
            })
        },
    },
    OutsideAct {
        name: "a report",
        covers: &["Database::connect", "Database::report"],
        run: |o| {
            Box::pin(async {
                let database = Database::connect(o.tenants.realm(), o.options()).await?;
                Ok(drop(database.report(&o.declaration, InspectPolicy::new()).await?))
            })
        },
    },
    OutsideAct {
        name: "a database comes and goes",
        covers: &["Database::inspect", "Database::close"],
        run: |o| {
            Box::pin(async {
                let database = Database::connect(o.tenants.realm(), o.options()).await?.inspect(&o.declaration).await?;
                o.acme.refresh().await?;
                sqlx::query("select 1").execute(&database.scoped(&o.acme)?).await?;
                Ok(database.close().await)
            })
        },
    },
    OutsideAct {
        name: "an inspection of one's own",
        covers: &["Database::inspect_with"],
        run: |o| {
            Box::pin(async {
                let database = Database::connect(o.tenants.realm(), o.options()).await?;
                Ok(drop(database.inspect_with(&o.declaration, InspectPolicy::new()).await?))
            })
        },
    },
    OutsideAct {
        name: "another look",
        covers: &["Database::reinspect"],
        run: |o| Box::pin(async { Ok(drop(o.database.reinspect().await?)) }),
    },
    OutsideAct {
        name: "a database at once",
        covers: &["Database::open"],
        run: |o| Box::pin(async { Ok(drop(Database::open(o.tenants.realm(), o.options(), &o.declaration).await?)) }),
    },
    OutsideAct {
        name: "an inspection without a realm",
        covers: &["inspect"],
        run: |o| Box::pin(async { Ok(drop(inspect(&o.options(), &o.declaration, InspectPolicy::new()).await?)) }),
    },
    OutsideAct {
        name: "migrations",
        covers: &["migrate"],
        run: |o| {
            Box::pin(async {
                o.server.run("drop table if exists _sqlx_migrations").await;
                let migrator = Migrator::new(o.migrations.as_path()).await?;
                Ok(migrate(&migrator, o.there.owner_options()).await?)
            })
        },
    },
    OutsideAct {
        name: "a migration of data",
        covers: &["migrate_data"],
        run: |o| {
            Box::pin(async {
                let (owner, keys) = (o.there.owner_options(), [o.acme.record().row_key().clone()]);
                let _rows = migrate_data(owner, &o.declaration, &keys, "update note set body = body").await?;
                Ok(())
            })
        },
    },
    OutsideAct {
        name: "what a database lacks",
        covers: &["Migration::diff", "Migration::run", "Migration::run_watched"],
        run: |o| {
            Box::pin(async {
                o.server.run("alter table note no force row level security").await;
                let migration = Migration::diff(o.there.owner_options(), &o.declaration, &Roles::new(APP)).await?;
                assert!(!migration.is_empty());
                Ok(migration.run(o.there.owner_options()).await?)
            })
        },
    },
    OutsideAct {
        name: "a plan for an adoption",
        covers: &["Migration::adopt"],
        run: |o| {
            Box::pin(async {
                let (owner, roles) = (o.there.owner_options(), Roles::new(APP));
                Ok(drop(Migration::adopt(owner, &o.declaration, &roles, o.acme.record()).await?))
            })
        },
    },
    OutsideAct {
        name: "a probe",
        covers: &["probe"],
        run: |o| {
            Box::pin(async {
                let (acme, globex) = (o.acme.record().row_key(), o.globex.record().row_key());
                Ok(drop(probe(&ProbeOptions::new(o.options()).disposable(), &o.declaration, acme, globex).await?))
            })
        },
    },
    OutsideAct {
        name: "a proposal",
        covers: &["propose"],
        run: |o| Box::pin(async { Ok(drop(propose(&o.options(), Some("tenant_id")).await?)) }),
    },
    OutsideAct {
        name: "an erasure",
        covers: &["PgEraser::connect", "PgEraser::erase", "PgEraser::verify"],
        run: |o| {
            Box::pin(async {
                let options = o.there.options(ERASER);
                let eraser = PgEraser::connect(o.tenants.realm(), options, &o.declaration).await?.batch(2);
                let _verdict = o.tenants.realm().erase_store(&o.grant, o.leaving, &eraser).await?;
                Ok(())
            })
        },
    },
];

/// Dropped after every number of polls; a call with many, past the first, in steps that grow, and in each at full size.
#[tokio::test]
async fn a_call_that_is_dropped_leaves_no_transaction_open() {
    let office = Office::new().await;
    for act in OUTSIDE {
        let (mut polls, began) = (1, Instant::now());
        loop {
            let ended = poll_times((act.run)(&office), polls).await;
            office.is_as_it_should_be(&format!("{}, dropped after poll {polls}", act.name)).await;
            if let Some(ended) = ended {
                ended.unwrap_or_else(|e| panic!("{}: {e}", act.name));
                break;
            }
            polls += match polls {
                _every if scale() >= FULL => 1,
                1..64 => (polls / 4).max(1),
                _many => polls / 2,
            };
        }
        assert!(polls > 1, "{}: dropped before its end", act.name);
        println!("{}: {polls} polls, all in {:?}", act.name, began.elapsed());
    }
    std::fs::remove_dir_all(&office.migrations).unwrap();
}

pub(crate) const OPEN: &str = "select count(*) from pg_stat_activity
                    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
                      and xact_start is not null";
/// The scale at which nothing is passed over.
const FULL: u64 = 20;
