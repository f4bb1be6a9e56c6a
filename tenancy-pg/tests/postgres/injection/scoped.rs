//! The same attacks through the handles of a service that has no idea: as the text of a statement, as a text that one of
//! the service's own functions runs, and on the connection itself.
//!
//! What each statement came to is written down in `outcomes.txt`, so that an attack that is refused for a slip of the pen
//! is not taken for one that was held. A line has, for the text of a statement, for the function and for the connection,
//! `ran`, the guard's word or a SQLSTATE, and behind `>` what it is once the database is hardened. A line that begins
//! with traits of a server, `18: ` or `no-xml: `, holds where there is one of them.

use futures_util::TryStreamExt;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection, Executor, FromRow, Row};
use tenancy_pg::{
    CopyOut, Database, InspectPolicy, Inspected, Mode, PgError, PgOptions, Severity, SigningKeys, TenantDb, TenantTx,
    danger, hardening_sql,
};
use tokio::sync::Mutex;

use super::routes::ROUTES;
use super::seals::SEALS;
use super::shadows::SHADOWS;
use super::sideways::SIDEWAYS;
use super::{Attack, Backend, Marks};
use crate::common::{ACME, GLOBEX, bodies, shown};
use crate::sealed::Sealed;

#[tokio::test]
async fn attacks_through_a_handle_get_no_row() {
    play(Mode::Local, false, End::Commit, EVERY_ROUTE).await;
}

#[tokio::test]
async fn attacks_through_a_handle_get_no_row_where_connections_are_kept() {
    // The other routes are no others there: a transaction is one, and a connection that was handed out is closed.
    play(Mode::Sticky, false, End::Drop, &[Route::Function]).await;
}

#[tokio::test]
async fn attacks_through_a_handle_get_no_row_of_a_hardened_database() {
    play(Mode::Local, true, End::Drop, EVERY_ROUTE).await;
}

async fn play(mode: Mode, hardened: bool, mut end: End, routes: &[Route]) {
    let stage = Stage::set(mode, hardened).await;
    let mut lines = Vec::new();
    for (attacks, backend) in
        [(SEALS, Backend::Used), (ROUTES, Backend::Used), (SIDEWAYS, Backend::Used), (SHADOWS, Backend::Fresh)]
    {
        for attack in attacks {
            lines.push(format!("# {}", attack.0));
            let mut lanes = Vec::new();
            for route in EVERY_ROUTE {
                lanes.push(match routes.contains(route) {
                    true => stage.attack(attack, backend, *route, end).await,
                    false => vec!["*".to_owned(); attack.1.len()],
                });
            }
            for (at, message) in attack.1.iter().enumerate() {
                let cells: Vec<&str> = lanes.iter().map(|lane| lane[at].as_str()).collect();
                lines.push(format!(
                    "{} | {}",
                    cells.join(" "),
                    message.split_whitespace().collect::<Vec<_>>().join(" ")
                ));
            }
            end = end.other();
        }
    }
    let expected = expected(&stage.traits, hardened);
    let other: Vec<_> = lines.iter().zip(&expected).filter(|(is, wanted)| !is_as(is, wanted)).collect();
    assert!(other.is_empty() && lines.len() == expected.len(), "{}\n{other:#?}", lines.join("\n"));
}

/// Word by word, where a star stands for any: for what was not run, and for what depends on the moment.
fn is_as(line: &str, wanted: &str) -> bool {
    let mut words = line.split(' ').zip(wanted.split(' '));
    line.split(' ').count() == wanted.split(' ').count()
        && words.all(|(is, wanted)| [is, wanted].contains(&"*") || is == wanted)
}

/// The lines for such a server, each outcome as it is for such a database.
fn expected(traits: &[String], hardened: bool) -> Vec<String> {
    let here = |line: &'static str| match line.split_once(": ") {
        Some((wanted, rest)) if !wanted.contains([' ', '#']) => {
            wanted.split(',').any(|one| traits.iter().any(|is| is == one)).then_some(rest)
        }
        _for_all => Some(line),
    };
    let outcome = |cell: &'static str| match cell.split_once('>') {
        Some((_, after)) if hardened => after,
        Some((before, _)) => before,
        None => cell,
    };
    let line = |line: &'static str| match line.split_once(" | ") {
        Some((cells, message)) => {
            format!("{} | {message}", cells.split(' ').map(outcome).collect::<Vec<_>>().join(" "))
        }
        None => line.to_owned(),
    };
    include_str!("outcomes.txt").lines().filter_map(here).map(line).collect()
}

/// How the attacker's SQL gets to the server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Route {
    /// As the text of a statement on every kind of handle.
    Text,
    /// As a value, which a function of the service's own runs: past the guard, and the connection is used again.
    Function,
    /// On the connection, which is closed afterwards.
    Connection,
}

/// In the order of the columns.
const EVERY_ROUTE: &[Route] = &[Route::Text, Route::Function, Route::Connection];

/// How the attacker's transaction ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Commit,
    Drop,
}

impl End {
    const fn other(self) -> Self {
        match self {
            Self::Commit => Self::Drop,
            Self::Drop => Self::Commit,
        }
    }
}

/// A service with one connection, so that the next borrower gets what the last one left.
struct Stage {
    world: Sealed,
    mode: Mode,
    database: Database<Inspected>,
    acme: TenantDb,
    globex: TenantDb,
    /// The victim on another backend.
    elsewhere: TenantDb,
    superuser: Mutex<PgConnection>,
    /// Its version, and what it was built with.
    traits: Vec<String>,
}

impl Stage {
    async fn set(mode: Mode, hardened: bool) -> Self {
        let world = Sealed::not_hardened().await;
        world.server.run(RUNS_TEXT).await;
        if hardened {
            world.server.run(&hardening_sql()).await;
        }
        let open = async || {
            let options = PgOptions::new(world.server.app_options()).max_connections(1).mode(mode);
            let options = options.signed(SigningKeys::new(world.key.clone()));
            // What an attacker gets where the hardening could not be run.
            let policy = InspectPolicy::new().hardening(Severity::Warning);
            let database = Database::connect(world.tenants.realm(), options).await.unwrap();
            database.inspect_with(&world.declaration, policy).await.unwrap()
        };
        let (database, other) = (open().await, open().await);
        let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
        let elsewhere = world.scoped(&other, "globex").await;
        let mut superuser = PgConnection::connect_with(&world.server.superuser_options()).await.unwrap();
        let traits = "select array[(current_setting('server_version_num')::int / 10000)::text,
            case when exists (select from pg_available_extensions where name = 'dblink') then 'contrib' else 'no-contrib' end]";
        let mut traits: Vec<String> = sqlx::query_scalar(traits).fetch_one(&mut superuser).await.unwrap();
        let xml = superuser.execute("select '<a/>'::xml").await.is_ok();
        traits.push(if xml { "xml" } else { "no-xml" }.to_owned());
        let superuser = Mutex::new(superuser);
        Self { world, mode, database, acme, globex, elsewhere, superuser, traits }
    }

    async fn ask<T: Send + Unpin>(&self, sql: &str) -> T
    where
        (T,): for<'r> FromRow<'r, PgRow>,
    {
        let sql = sqlx::query_scalar(AssertSqlSafe(sql));
        sql.fetch_one(&mut *self.superuser.lock().await).await.unwrap()
    }

    async fn run(&self, sql: String) {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *self.superuser.lock().await).await.unwrap();
    }

    /// One attack by one route; what each of its messages came to.
    async fn attack(&self, attack: &Attack, backend: Backend, route: Route, end: End) -> Vec<String> {
        let (name, messages) = attack;
        let what = format!("{name}, {route:?}, {end:?}");
        let before: String = self.ask(&self.world.truth_sql()).await;
        let live = self.elsewhere.begin().await.unwrap();
        let marks = self.marks(backend).await;
        if matches!((route, self.mode), (Route::Text, Mode::Local)) {
            self.by_other_handles(messages, &marks, &what).await;
        }
        let mut tx = self.acme.begin().await.unwrap();
        let own = seal(&mut tx).await;
        let marks = marks.and("{seal}", own);
        let outcomes = match route {
            Route::Text => by_text(&mut tx, messages, &marks, &what).await,
            Route::Function => by_function(&mut tx, messages, &marks, &what).await,
            Route::Connection => by_connection(&mut tx, messages, &marks, &what).await,
        };
        match end {
            End::Commit => drop(tx.commit().await),
            End::Drop => drop(tx),
        }
        // A neighbour may have ended it.
        let _ended = live.rollback().await;
        assert_eq!(self.ask::<String>(&self.world.truth_sql()).await, before, "{what}");
        self.run(self.world.restore_sql()).await;
        self.next_is_clean(&what).await;
        outcomes
    }

    /// The victim's seals, in a transaction that is open elsewhere and in one that has just been on this backend.
    async fn marks(&self, backend: Backend) -> Marks {
        // As every session of the role sees it.
        let live: String = self
            .ask(
                "select substring(query from 'seal = ''([^'']+)''') from pg_stat_activity
                  where datname = current_database() and state = 'idle in transaction'
                    and query like 'set local tenancy.seal%'",
            )
            .await;
        assert!(live.ends_with(&self.world.life("globex").uuid().to_string()));
        let old = match backend {
            Backend::Used => {
                assert_eq!(bodies(&self.acme).await, ACME);
                let mut tx = self.globex.begin().await.unwrap();
                let old = seal(&mut tx).await;
                tx.commit().await.unwrap();
                old
            }
            Backend::Fresh => {
                let idle = "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity
                            where usename = 'app' and datname = current_database() and state = 'idle'";
                self.ask::<i64>(idle).await;
                live.clone()
            }
        };
        Marks::of(&self.world).and("{live}", live).and("{old}", old)
    }

    /// A statement by itself, and a query whose rows are copied out.
    async fn by_other_handles(&self, messages: &[&str], marks: &Marks, what: &str) {
        for message in messages {
            let sql = marks.fill(message);
            let what = format!("{what}: {message}");
            let ended = sqlx::query(AssertSqlSafe(sql.clone())).fetch_all(&self.acme).await;
            marks.judge_rows(&ended, &what);
            let mut tx = self.acme.begin().await.unwrap();
            let copied: Result<Vec<_>, _> = tx.copy_out(CopyOut::query(AssertSqlSafe(sql))).try_collect().await;
            match copied {
                Ok(chunks) => marks.judge(&String::from_utf8_lossy(&chunks.concat()), &what),
                Err(error) => marks.judge(&shown(&error), &what),
            }
            let _ended = tx.rollback().await;
        }
        self.run(self.world.restore_sql()).await;
    }

    /// Whoever has the connection next sees its own rows and a session as ever: the same tenant, another, nobody, and the
    /// same tenant past the guard.
    async fn next_is_clean(&self, what: &str) {
        for (db, own) in [(&self.acme, ACME.as_slice()), (&self.globex, &GLOBEX), (&self.acme, &ACME)] {
            let next: (String, Vec<String>) = sqlx::query_as(
                "select concat_ws(' ', current_user, current_setting('search_path'), current_setting('row_security'),
                                  current_setting('transaction_read_only'), current_setting('statement_timeout'),
                                  (select count(*) from pg_prepared_statements where from_sql),
                                  (select count(*) from pg_cursors where name <> ''),
                                  (select count(*) from pg_listening_channels()), pg_my_temp_schema()),
                        array(select body from note order by id)",
            )
            .fetch_one(db)
            .await
            .unwrap();
            assert_eq!(next.0, "app \"public\", pg_temp on off 30s 0 0 0 0", "{what}");
            assert_eq!(next.1, own, "{what}: whoever has the connection next");
        }
        let told = sqlx::query_scalar("select run_text('select body from public.note order by id')");
        let told: Vec<String> = told.fetch_all(&self.acme).await.unwrap();
        assert_eq!(told, ["(\"acme one\")", "(\"acme two\")", "ran"], "{what}: past the guard");
        let nobody: Vec<String> =
            sqlx::query_scalar("select body from note").fetch_all(&self.database.untenanted()).await.unwrap();
        assert_eq!(nobody, [""; 0], "{what}: nobody");
        let free = "select pg_try_advisory_lock(42) and pg_advisory_unlock(42)";
        assert!(self.ask::<bool>(free).await, "{what}: a lock is left");
    }
}

async fn by_text(tx: &mut TenantTx<'_>, messages: &[&str], marks: &Marks, what: &str) -> Vec<String> {
    let mut outcomes = Vec::new();
    for message in messages {
        let sql = marks.fill(message);
        let what = format!("{what}: {message}");
        let mut attempt = tx.savepoint().await.unwrap();
        let ended = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut attempt).await;
        marks.judge_rows(&ended, &what);
        if ended.is_ok() {
            attempt.release().await.unwrap_or_else(|e| panic!("{what}: what the guard admits keeps its scope: {e}"));
        } else {
            attempt.rollback().await.unwrap();
        }
        outcomes.push(outcome(ended));
    }
    outcomes
}

async fn by_function(tx: &mut TenantTx<'_>, messages: &[&str], marks: &Marks, what: &str) -> Vec<String> {
    let mut outcomes = Vec::new();
    for message in messages {
        let sql = marks.fill(message);
        let what = format!("{what}: {message}");
        let told = sqlx::query_scalar::<_, String>("select run_text($1)").bind(&sql).fetch_all(&mut *tx).await;
        match told {
            Ok(mut told) => {
                outcomes.push(told.pop().unwrap());
                marks.judge(&told.concat(), &what);
            }
            Err(error) => {
                marks.judge(&shown(&error), &what);
                outcomes.push(outcome::<()>(Err(error)));
            }
        }
    }
    outcomes
}

async fn by_connection(tx: &mut TenantTx<'_>, messages: &[&str], marks: &Marks, what: &str) -> Vec<String> {
    let connection = danger::connection(tx, "as injected SQL that has got past the guard").await.unwrap();
    let mut outcomes = Vec::new();
    for message in messages {
        let sql = marks.fill(message);
        let what = format!("{what}: {message}");
        let _outside_a_transaction = connection.execute("savepoint before").await;
        let ended = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut *connection).await;
        marks.judge_rows(&ended, &what);
        if ended.is_err() {
            let _gone = connection.execute("rollback to before").await;
        }
        outcomes.push(outcome(ended));
    }
    outcomes
}

async fn seal(tx: &mut TenantTx<'_>) -> String {
    sqlx::query_scalar("select current_setting('tenancy.seal')").fetch_one(tx).await.unwrap()
}

/// In a word.
fn outcome<T>(ended: Result<T, sqlx::Error>) -> String {
    let Err(error) = ended else { return "ran".to_owned() };
    if let sqlx::Error::Protocol(_) = error {
        return "copied".to_owned();
    }
    if let Some(code) = error.as_database_error().and_then(|e| e.code()) {
        return code.into_owned();
    }
    match PgError::from(error) {
        PgError::Forbidden(why) => format!("{why:?}"),
        PgError::Denied(denial) => denial.rule().to_owned(),
        other => panic!("{other:?}"),
    }
}

impl Marks {
    pub(super) fn judge_rows(&self, ended: &Result<Vec<PgRow>, sqlx::Error>, what: &str) {
        match ended {
            Ok(rows) => {
                let values = rows.iter().flat_map(|row| (0..row.len()).map(|at| row.try_get_raw(at).unwrap()));
                let bytes = values.map(|value| value.as_bytes().unwrap_or_default().to_vec());
                let all: Vec<String> = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
                self.judge(&all.join("\n"), what);
            }
            Err(error) => self.judge(&shown(error), what),
        }
    }
}

/// A function of the service's that runs a text: each row of it as a text, and then `ran` or the SQLSTATE.
const RUNS_TEXT: &str = r"
create function run_text(sql text) returns setof text language plpgsql as $run$
declare r record;
begin
    if sql ~* '^\s*(select|table|values|with|explain|fetch)\M' or sql ~* '\mreturning\M' then
        for r in execute sql loop return next r::text; end loop;
    else
        execute sql;
    end if;
    return next 'ran';
exception when others then return next sqlstate;
end $run$;
alter function run_text(text) owner to own";
