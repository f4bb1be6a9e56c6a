//! Everything that a tenant's caller can wait for, on the connections that tenants share.
//!
//! One act is one call, with what has to come before it. What it sees is acme's, and nothing of it is kept.
#![expect(clippy::unit_arg, reason = "an act gives nothing, and what it gives is checked all the same")]

use std::error::Error;

use futures_util::future::LocalBoxFuture;
use futures_util::{StreamExt, TryStreamExt};
use sqlx::{Executor, SqlStr};
use tenancy_core::Life;
use tenancy_pg::{BulkInsert, CopyOut, Isolation, PgError, RetryOptions, TenantTx, TxOptions, danger};

use crate::place::{Place, Way, assert_acmes, bodies};
use crate::queue::{Ingest, TTL};

/// One thing that acme's caller does.
pub(crate) struct Act {
    pub(crate) name: &'static str,
    /// The public futures that it waits for, named as `futures::in_the_source` finds them.
    pub(crate) covers: &'static [&'static str],
    run: for<'p> fn(&'p Place) -> Doing<'p>,
}

type Doing<'p> = LocalBoxFuture<'p, Result<(), Box<dyn Error>>>;

impl Act {
    pub(crate) fn run<'p>(&self, place: &'p Place) -> Doing<'p> {
        (self.run)(place)
    }

    /// Whether it can be had there at all.
    pub(crate) fn goes(&self, way: Way) -> bool {
        way != Way::BehindATransactionPooler || self.name != LISTEN
    }
}

pub(crate) const ACTS: &[Act] = &[
    Act {
        name: "rows",
        covers: &["TenantDb::fetch_many"],
        run: |p| Box::pin(async { Ok(assert_acmes(&bodies(&p.acme).await?)) }),
    },
    Act {
        name: "a row",
        covers: &["TenantDb::fetch_optional"],
        run: |p| {
            Box::pin(async {
                let one = sqlx::query("select body from note where id = $1").bind(1).fetch_optional(&p.acme).await?;
                assert!(one.is_some());
                Ok(())
            })
        },
    },
    Act {
        name: "a write by itself",
        covers: &["TenantDb::fetch_many"],
        run: |p| {
            Box::pin(async {
                let done = sqlx::query("update note set body = body").execute(&p.acme).await?;
                assert_eq!(done.rows_affected(), 2);
                Ok(())
            })
        },
    },
    Act {
        name: "a stream left after a row",
        covers: &["TenantDb::fetch_many"],
        run: |p| {
            Box::pin(async {
                let mut rows = sqlx::query("select body from note").fetch(&p.acme);
                assert!(rows.next().await.transpose()?.is_some());
                Ok(())
            })
        },
    },
    Act {
        name: "prepare",
        covers: &["TenantDb::prepare_with"],
        run: |p| Box::pin(async { Ok(drop((&p.acme).prepare(SqlStr::from_static(BY_ID)).await?)) }),
    },
    Act {
        name: "describe",
        covers: &["TenantDb::describe"],
        run: |p| Box::pin(async { Ok(drop((&p.acme).describe(SqlStr::from_static(BY_ID)).await?)) }),
    },
    Act {
        name: "a transaction that is dropped",
        covers: &["TenantDb::begin", "TenantTx::fetch_many"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                insert(p, &mut tx).await?;
                Ok(())
            })
        },
    },
    Act {
        name: "rollback",
        covers: &["TenantDb::begin_with", "TenantTx::rollback"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin_with(TxOptions::new().isolation(Isolation::Serializable)).await?;
                insert(p, &mut tx).await?;
                Ok(tx.rollback().await?)
            })
        },
    },
    Act {
        name: "commit",
        covers: &["TenantTx::commit"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                insert(p, &mut tx).await?;
                sqlx::query("delete from note where id = 100").execute(&mut tx).await?;
                Ok(tx.commit().await?)
            })
        },
    },
    Act {
        name: "a commit, and a read after it",
        covers: &["TenantTx::commit_at", "TenantDb::read_after"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                sqlx::query("update note set body = body").execute(&mut tx).await?;
                let point = tx.commit_at().await?.unwrap();
                let mut tx = p.acme.read_after(&point).await?;
                assert_acmes(&sqlx::query_scalar("select body from note order by id").fetch_all(&mut tx).await?);
                Ok(())
            })
        },
    },
    Act {
        name: "commit after a failure",
        covers: &["TenantTx::commit"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                insert(p, &mut tx).await?;
                let _swallowed = sqlx::query("select 1/0").execute(&mut tx).await;
                let _refused = tx.commit().await;
                Ok(())
            })
        },
    },
    Act {
        name: "work that would be tried again",
        covers: &["TenantDb::with_retry"],
        run: |p| {
            Box::pin(async {
                let options = RetryOptions::new();
                Ok(p.acme.with_retry(options, |tx| Box::pin(kept_by_nobody(p.own, tx))).await?)
            })
        },
    },
    Act {
        name: "a read that is dropped",
        covers: &["TenantDb::read", "TenantTx::fetch_many"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.read().await?;
                let seen = sqlx::query_scalar("select body from note order by id").fetch_all(&mut tx).await?;
                Ok(assert_acmes(&seen))
            })
        },
    },
    Act {
        name: "a row, prepare and describe in a transaction",
        covers: &["TenantTx::fetch_optional", "TenantTx::prepare_with", "TenantTx::describe"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                sqlx::query(BY_ID).bind(1).fetch_optional(&mut tx).await?;
                (&mut tx).prepare(SqlStr::from_static("select body from note where id > $1")).await?;
                (&mut tx).describe(SqlStr::from_static("select id from note where body = $1")).await?;
                Ok(())
            })
        },
    },
    Act {
        name: "a savepoint that is released",
        covers: &["TenantTx::savepoint", "TenantSavepoint::release", "TenantSavepoint::fetch_many"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                let mut part = tx.savepoint().await?;
                sqlx::query("update note set body = 'half'").execute(&mut part).await?;
                part.release().await?;
                Ok(())
            })
        },
    },
    Act {
        name: "savepoints that are rolled back and dropped",
        covers: &["TenantSavepoint::savepoint", "TenantSavepoint::rollback"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                let mut part = tx.savepoint().await?;
                let mut inner = part.savepoint().await?;
                let _swallowed = sqlx::query("select 1/0").execute(&mut inner).await;
                inner.rollback().await?;
                drop(part.savepoint().await?);
                drop(part);
                Ok(tx.commit().await?)
            })
        },
    },
    Act {
        name: "a row, prepare and describe in a savepoint",
        covers: &["TenantSavepoint::fetch_optional", "TenantSavepoint::prepare_with", "TenantSavepoint::describe"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                let mut part = tx.savepoint().await?;
                sqlx::query(BY_ID).bind(1).fetch_optional(&mut part).await?;
                (&mut part).prepare(SqlStr::from_static("select body from note where id > $1")).await?;
                (&mut part).describe(SqlStr::from_static("select id from note where body = $1")).await?;
                Ok(())
            })
        },
    },
    Act {
        name: "rows in bulk",
        covers: &["TenantTx::insert_all", "TenantSavepoint::insert_all"],
        run: |p| {
            Box::pin(async {
                let rows = |from: i32| {
                    let ids: Vec<i32> = (from..from + 50).collect();
                    let bodies = vec!["half"; 50];
                    BulkInsert::into("public", "note").column("id", &ids).column("body", &bodies)
                };
                let mut tx = p.acme.begin().await?;
                tx.insert_all(rows(100)).await?;
                tx.savepoint().await?.insert_all(rows(200)).await?;
                Ok(())
            })
        },
    },
    Act {
        name: "a copy out",
        covers: &["TenantTx::copy_out"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.read().await?;
                let copy = CopyOut::query("select body from note order by id");
                let chunks: Vec<_> = tx.copy_out(copy).try_collect().await?;
                assert_eq!(chunks.concat(), b"acme one\nacme two\n");
                Ok(())
            })
        },
    },
    Act {
        name: "a connection handed out",
        covers: &["connection"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                let connection = danger::connection(&mut tx, "a function insists on it").await?;
                sqlx::query("set lock_timeout = 17").execute(&mut *connection).await?;
                Ok(tx.commit().await?)
            })
        },
    },
    Act {
        name: "locks",
        covers: &["TenantTx::lock", "TenantTx::try_lock"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                tx.lock("reindex").await?;
                assert!(tx.try_lock("reindex").await?);
                Ok(())
            })
        },
    },
    Act {
        name: LISTEN,
        covers: &["TenantTx::notify", "TenantDb::listen", "TenantListener::next"],
        run: |p| {
            Box::pin(async {
                let mut listener = p.acme.listen("docs").await?;
                let mut tx = p.acme.begin().await?;
                tx.notify("docs", b"changed").await?;
                tx.commit().await?;
                listener.next().await?;
                Ok(())
            })
        },
    },
    Act {
        name: "a job that is not committed",
        covers: &["TenantTx::enqueue"],
        run: |p| {
            Box::pin(async {
                let mut tx = p.acme.begin().await?;
                tx.enqueue::<Ingest>(b"half", TTL).await?;
                Ok(tx.rollback().await?)
            })
        },
    },
    Act {
        name: "nobody's rows",
        covers: &["Untenanted::fetch_many"],
        run: |p| {
            Box::pin(async {
                let nobody = p.database.untenanted();
                assert!(sqlx::query("select body from note").fetch_all(&nobody).await?.is_empty());
                Ok(())
            })
        },
    },
    Act {
        name: "nobody's row",
        covers: &["Untenanted::fetch_optional"],
        run: |p| {
            Box::pin(async {
                assert!(sqlx::query(BY_ID).bind(1).fetch_optional(&p.database.untenanted()).await?.is_none());
                Ok(())
            })
        },
    },
    Act {
        name: "nobody's prepare",
        covers: &["Untenanted::prepare_with"],
        run: |p| Box::pin(async { Ok(drop((&p.database.untenanted()).prepare(SqlStr::from_static(BY_ID)).await?)) }),
    },
    Act {
        name: "nobody's describe",
        covers: &["Untenanted::describe"],
        run: |p| Box::pin(async { Ok(drop((&p.database.untenanted()).describe(SqlStr::from_static(BY_ID)).await?)) }),
    },
];

async fn insert(place: &Place, tx: &mut TenantTx<'_>) -> Result<(), sqlx::Error> {
    let sql = "insert into note (id, tenant_id, body) values (100, $1, 'half') on conflict do nothing";
    sqlx::query(sql).bind(place.own.uuid()).execute(tx).await.map(drop)
}

async fn kept_by_nobody(own: Life, tx: &mut TenantTx<'_>) -> Result<(), PgError> {
    let sql = "insert into note (id, tenant_id, body) values (100, $1, 'half') on conflict do nothing";
    sqlx::query(sql).bind(own.uuid()).execute(&mut *tx).await?;
    sqlx::query("delete from note where id = 100").execute(tx).await?;
    Ok(())
}

/// Needs a session of its own.
const LISTEN: &str = "a message";
const BY_ID: &str = "select body from note where id = $1";
