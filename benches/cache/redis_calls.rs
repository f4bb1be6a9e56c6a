//! A look and a put on Redis, ours and the plain client's, on one server.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, SetExpiry, SetOptions};
use tenancy_cache::{Caches, Lookup, Put, ResponseParts, Slot};
use tenancy_core::TenantContext;
use tenancy_testkit::{TestTenants, ThrowawayRedis};

use crate::parts::{numbered, text};
use crate::{Arc, Round, commands, say, server, turns};

struct Calls {
    tenants: TestTenants,
    caches: Caches,
    plain: MultiplexedConnection,
    value: String,
    questions: Vec<ResponseParts>,
    names: Vec<Vec<String>>,
    asked: AtomicUsize,
    /// A context of each tenant that has looked before, made anew for every round: one lives no longer than a request.
    used: Mutex<Vec<TenantContext>>,
    _server: ThrowawayRedis,
}

/// What a call begins with.
enum Ready {
    Context(TenantContext),
    Slot(Slot<String>),
    Name(String),
}

/// `round WAY WORK ..`, as in benches/shared/rounds.rs, and `turns . WORK ..`, where each caller takes both ways in turns.
///
/// Both ways do the same before a call: let a request in, where the work is its first, and look for what is put, where it
/// is a put.
pub(crate) async fn measure() {
    let calls = Arc::new(Calls::fill().await);
    say("{}");
    let mut commands = commands();
    while let Some(line) = commands.recv().await {
        let mut words = line.split_whitespace();
        let (Some(how), Some(way), Some(work)) = (words.next(), words.next(), words.next()) else {
            panic!("not a command: {line}");
        };
        let ways = if how == "turns" { &WAYS } else { WAYS.chunks(1).find(|ways| ways[0] == way).expect("a way") };
        let round = Round::parse(&mut words);
        calls.prepare().await;
        let (first, second, work) = (calls.clone(), calls.clone(), work.to_owned());
        let before = move |way, tenant| {
            let (calls, work) = (first.clone(), work.clone());
            async move { calls.before(way, &work, tenant).await }
        };
        let call = move |way, tenant, ready| {
            let calls = second.clone();
            async move { calls.call(way, tenant, ready).await }
        };
        say(&turns::measure(ways, round, before, call).await);
    }
}

impl Calls {
    async fn fill() -> Self {
        let server = server::start().await;
        let names = (0..TENANTS).map(tenant);
        let tenants = names.fold(TestTenants::builder(), |builder, name| builder.tenant(&name)).build().await;
        let name = |tenant, number| format!("answer:tenant-{tenant}:{number:064}");
        let calls = Self {
            caches: server::caches(&server, &tenants),
            plain: server::plain(&server).await,
            tenants,
            value: text(VALUE),
            questions: (0..QUESTIONS).map(numbered).collect(),
            names: (0..TENANTS).map(|t| (0..QUESTIONS).map(|n| name(t, n)).collect()).collect(),
            asked: AtomicUsize::new(QUESTIONS),
            used: Mutex::default(),
            _server: server,
        };
        calls.prepare().await;
        for tenant in 0..TENANTS {
            for number in 0..QUESTIONS {
                let slot = calls.slot(tenant, &calls.questions[number]).await;
                calls.call("ours", tenant, Ready::Slot(slot)).await;
                calls.call("plain", tenant, Ready::Name(calls.names[tenant][number].clone())).await;
            }
        }
        calls
    }

    async fn prepare(&self) {
        let mut used = Vec::new();
        for number in 0..TENANTS {
            let context = self.tenants.context(&tenant(number)).await;
            drop(self.caches.scoped(&context).unwrap().response::<String>().lookup(&self.questions[0]).await.unwrap());
            used.push(context);
        }
        *self.used.lock().unwrap() = used;
    }

    fn used(&self, tenant: usize) -> TenantContext {
        self.used.lock().unwrap()[tenant].clone()
    }

    /// The place of a value that is not there.
    async fn slot(&self, tenant: usize, parts: &ResponseParts) -> Slot<String> {
        match self.caches.scoped(&self.used(tenant)).unwrap().response().lookup(parts).await.unwrap() {
            Lookup::Miss(slot) => slot,
            other => panic!("{other:?}"),
        }
    }

    async fn before(&self, way: &str, work: &str, number: usize) -> Ready {
        match (work, way) {
            ("get", _) => Ready::Context(self.used(number)),
            ("get_first", _) => Ready::Context(self.tenants.context(&tenant(number)).await),
            ("put", "ours") => {
                let parts = numbered(self.asked.fetch_add(1, Ordering::Relaxed));
                Ready::Slot(self.slot(number, &parts).await)
            }
            ("put", "plain") => {
                let name = format!("answer:tenant-{number}:{:064}", self.asked.fetch_add(1, Ordering::Relaxed));
                let found: Option<Vec<u8>> = self.plain.clone().get(&name).await.unwrap();
                assert_eq!(found, None);
                Ready::Name(name)
            }
            other => panic!("no such work: {other:?}"),
        }
    }

    /// One call of one tenant; it must find what there is.
    async fn call(&self, way: &str, tenant: usize, ready: Ready) {
        match ready {
            Ready::Context(context) => {
                let number = self.asked.fetch_add(1, Ordering::Relaxed) % QUESTIONS;
                let length = match way {
                    "ours" => {
                        let mine = self.caches.scoped(&context).unwrap().response::<String>();
                        match mine.lookup(&self.questions[number]).await.unwrap() {
                            Lookup::Hit(value) => value.len(),
                            other => panic!("{other:?}"),
                        }
                    }
                    _ => {
                        let found: Option<Vec<u8>> = self.plain.clone().get(&self.names[tenant][number]).await.unwrap();
                        found.map_or(0, |value| value.len())
                    }
                };
                assert_eq!(length, self.value.len(), "{way}");
            }
            Ready::Slot(slot) => assert_eq!(slot.put(&self.value).await.unwrap(), Put::Stored),
            Ready::Name(name) => {
                let options = SetOptions::default().with_expiration(SetExpiry::PX(3_600_000));
                let () = self.plain.clone().set_options(name, &self.value, options).await.unwrap();
            }
        }
    }
}

fn tenant(number: usize) -> String {
    format!("tenant-{number}")
}

static WAYS: [&str; 2] = ["ours", "plain"];
const TENANTS: usize = 10;
const QUESTIONS: usize = 100;
/// Words of a value: two kibibytes.
const VALUE: usize = 341;
