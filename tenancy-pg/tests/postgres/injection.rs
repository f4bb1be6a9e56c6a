//! Any SQL, as the service's role, inside a transaction with a valid seal: it reads and writes no row of another tenant.
//!
//! What the attacker sees is everything that the server sends: rows, errors, notices, log lines. What is written is
//! asked of a superuser. Each attack runs with the hardening and without, since the construction must hold alone.

mod routes;
mod scoped;
mod seals;
mod shadows;
mod sideways;

use secrecy::ExposeSecret;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tenancy_pg::hardening_sql;

use self::routes::ROUTES;
use self::seals::SEALS;
use self::shadows::SHADOWS;
use self::sideways::SIDEWAYS;
use crate::common::{ACME, GLOBEX};
use crate::sealed::{Sealed, look};
use crate::wire::{Reply, Wire};

/// The name of an attack and its messages.
///
/// `{own}` and `{victim}` are lives, `{seal}` is the attacker's own seal, `{live}` the victim's in a transaction that is
/// open elsewhere, `{old}` the victim's of an earlier transaction on the same backend. After a message that fails, a
/// savepoint brings the transaction back.
type Attack = (&'static str, &'static [&'static str]);

const LOOK: &str = "select tenant_id, id, body from public.note";

#[tokio::test]
async fn no_seal_but_the_own_is_worth_anything() {
    attack(SEALS, Backend::Used).await;
}

#[tokio::test]
async fn nothing_can_be_put_in_front_of_the_verifier() {
    // The server looks names up when a session calls the verifier for the first time.
    attack(SHADOWS, Backend::Fresh).await;
}

#[tokio::test]
async fn the_policy_has_no_way_around() {
    attack(SIDEWAYS, Backend::Used).await;
}

#[tokio::test]
async fn no_route_leads_to_another_seal() {
    attack(ROUTES, Backend::Used).await;
}

#[tokio::test]
async fn there_are_many_and_each_has_a_name_of_its_own() {
    let mut names: Vec<&str> = [SEALS, SHADOWS, SIDEWAYS, ROUTES].concat().iter().map(|(name, _)| *name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(all >= 50 && names.len() == all, "{all}");
}

async fn attack(attacks: &[Attack], backend: Backend) {
    let world = Sealed::not_hardened().await;
    for hardened in [false, true] {
        if hardened {
            world.server.run(&hardening_sql()).await;
        }
        for (name, messages) in attacks {
            let name = format!("{name}{}", if hardened { ", hardened" } else { "" });
            world.restore().await;
            let before = world.truth().await;
            let mut scene = Scene::set(&world, backend).await;
            for message in *messages {
                let reply = scene.send(message).await;
                scene.marks.judge(&reply.everything, &format!("{name}: {message}"));
            }
            // Whatever is open is kept, if it can be.
            scene.attacker.query("commit").await;
            scene.attacker.query("rollback").await;
            assert_eq!(world.truth().await, before, "{name}");
            world.restore().await;
            scene.own_rows_are_seen(&world, &name).await;
        }
    }
}

/// What the attacker's backend has seen before.
#[derive(Clone, Copy)]
enum Backend {
    /// A transaction of the victim's, and a look at its own rows.
    Used,
    Fresh,
}

/// An attacker in a transaction of its own, and a victim in one on another backend.
struct Scene {
    attacker: Wire,
    _victim: Wire,
    marks: Marks,
}

/// What stands in an attack's text for what is known when it runs, and what nobody may see.
struct Marks {
    known: Vec<(&'static str, String)>,
    secrets: Vec<String>,
}

impl Scene {
    async fn set(world: &Sealed, backend: Backend) -> Self {
        let (victim, live) = world.begun("globex").await;
        let mut attacker = Wire::connect(&world.server).await;
        let (old, seal) = match backend {
            Backend::Used => {
                let old = world.begin(&mut attacker, "globex").await;
                assert_eq!(look(&mut attacker).await.column(), GLOBEX, "the victim, earlier on the attacker's backend");
                attacker.run("commit").await;
                let seal = world.begin(&mut attacker, "acme").await;
                assert_eq!(look(&mut attacker).await.column(), ACME, "the attacker, before the attack");
                (old, seal)
            }
            Backend::Fresh => (live.clone(), world.begin(&mut attacker, "acme").await),
        };
        let marks = Marks::of(world).and("{seal}", seal).and("{live}", live).and("{old}", old);
        Self { attacker, _victim: victim, marks }
    }

    async fn send(&mut self, message: &str) -> Reply {
        let message = self.marks.fill(message);
        self.attacker.query("savepoint before").await;
        let reply = self.attacker.query(&message).await;
        if reply.error.is_some() {
            self.attacker.query("rollback to before").await;
        }
        reply
    }

    /// On the same backend, if it is still there: the attack was one, and not an outage.
    async fn own_rows_are_seen(mut self, world: &Sealed, what: &str) {
        if self.attacker.query("discard all").await.is_over {
            self.attacker = Wire::connect(&world.server).await;
        }
        world.begin(&mut self.attacker, "acme").await;
        assert_eq!(look(&mut self.attacker).await.column(), ACME, "{what}: the attacker's own rows, afterwards");
    }
}

impl Marks {
    fn of(world: &Sealed) -> Self {
        let life = |tenant| world.life(tenant).uuid().to_string();
        let database = world.server.name().to_owned();
        let known = vec![("{own}", life("acme")), ("{victim}", life("globex")), ("{database}", database)];
        let text = world.key.expose();
        let secret = text.expose_secret().split_once('.').unwrap().1.to_owned();
        // The key as it is, and the tail of either pad, in hex and in the numbers of a printed plan.
        let tails = ["36363636363636", "5c5c5c5c5c5c5c", "54 54 54 54 54 54", "92 92 92 92 92 92"];
        Self { known, secrets: std::iter::once(secret).chain(tails.map(str::to_owned)).collect() }
    }

    fn and(mut self, mark: &'static str, value: String) -> Self {
        self.known.push((mark, value));
        self
    }

    fn fill(&self, message: &str) -> String {
        self.known.iter().fold(message.to_owned(), |sql, (mark, value)| sql.replace(mark, value))
    }

    fn judge(&self, everything: &str, what: &str) {
        for body in GLOBEX {
            assert!(!everything.contains(body), "{what}: {body}: {everything}");
        }
        for secret in &self.secrets {
            assert!(!everything.contains(secret), "{what}: the key: {everything}");
        }
    }
}

impl Sealed {
    /// Puts the attacker's own rows back: what it does to those is its own affair.
    async fn restore(&self) {
        self.server.run(&self.restore_sql()).await;
    }

    fn restore_sql(&self) -> String {
        let acme = self.life("acme").uuid();
        format!(
            "delete from note where tenant_id = '{acme}';
             insert into note values ('{acme}', 1, 'acme one'), ('{acme}', 2, 'acme two')"
        )
    }

    async fn truth(&self) -> String {
        let mut superuser = PgConnection::connect_with(&self.server.superuser_options()).await.unwrap();
        let truth = sqlx::query_scalar(AssertSqlSafe(self.truth_sql())).fetch_one(&mut superuser).await.unwrap();
        superuser.close().await.unwrap();
        truth
    }

    /// Everything that is not the attacker's to change.
    fn truth_sql(&self) -> String {
        format!(
            "select concat_ws('; ',
                (select string_agg(n::text, ', ' order by n::text) from note n where tenant_id <> '{}'),
                (select string_agg(t::text, ', ' order by t::text) from tenancy.tenant t),
                (select string_agg(k::text, ', ' order by k::text) from tenancy.signing_key k),
                (select string_agg(p::text, ', ' order by p::text) from pg_policy p),
                (select string_agg(p::text, ', ' order by p::text) from pg_proc p
                    where pronamespace in ('public'::regnamespace, 'tenancy'::regnamespace)),
                (select string_agg(c::text, ', ' order by oid) from
                    (select oid, relname, relowner, relacl, relrowsecurity, relforcerowsecurity from pg_class
                     where relnamespace in ('public'::regnamespace, 'tenancy'::regnamespace)) c),
                (select count(*) from pg_auth_members m where m.roleid = 'tenancy_owner'::regrole))",
            self.life("acme").uuid()
        )
    }
}
