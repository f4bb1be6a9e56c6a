//! A service of two tenants with three users, and what a client sends it.

mod versions;

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, header};
use axum::{Router, http};
use rag_backend::{
    Answerer, Embedder, HashedNgrams, LateService, Logins, MIGRATIONS, OperatorLogin, Queued, Service, ServiceParts,
    alike_enough, declaration, enqueue, registry, router,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;
use tenancy_stack::cache::semantic::SemanticCache;
use tenancy_stack::cache::{Caches, MemoryBackend};
use tenancy_stack::core::{
    AuditRecord, Face, FileKeyStore, Life, LocalKeyProvider, MemorySink, MemoryTicketLedger, RealmName, RootKey,
    StaticDirectory, TenantId, TenantRecord,
};
use tenancy_stack::pg::{Database, PgOptions, grant_sql, migrate};
use tenancy_stack::tools::{FilesRoot, Tools};
use tenancy_stack::vector::{Schema, VectorStore};
use tenancy_stack::{Credential, Realm, Stores};
use tenancy_testkit::{APP, FaultyDirectory, TestDatabase, ThrowawayPostgres};
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};
use tokio::task::JoinHandle;

use versions::FaultyVersions;

/// An editor of acme.
pub(crate) const ANN: &str = "ann@acme";
/// A reader of acme: may ask, may not ingest.
pub(crate) const ROB: &str = "rob@acme";
/// An editor of globex.
pub(crate) const GUS: &str = "gus@globex";

/// A running service and its surroundings.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) worker: JoinHandle<()>,
    pub(crate) tenants: StaticDirectory,
    /// What the realm asks: `tenants`, unless told to lie.
    pub(crate) directory: FaultyDirectory,
    pub(crate) versions: FaultyVersions,
    pub(crate) router: Router,
    sink: MemorySink,
    acme: Life,
    born: SystemTime,
    passwords: HashMap<&'static str, SecretString>,
    database: TestDatabase,
    _folder: TempDir,
}

/// An answer, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl World {
    /// A service with the offline answerer.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| Box::new(rag_backend::Extractive)).await
    }

    pub(crate) async fn start_with(answerer: impl FnOnce(&Realm) -> Box<dyn Answerer>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut logins = Logins::new();
        let passwords = [(ANN, "acme", "editor"), (ROB, "acme", "reader"), (GUS, "globex", "editor")]
            .map(|(user, tenant, role)| (user, logins.add(user, tenant, role)))
            .into();
        let born = SystemTime::now() - Duration::from_secs(60);
        let (acme, tenants) = (Life::random(), StaticDirectory::new());
        tenants.add(record("acme", acme, born, &["use-model", "ingest"])).unwrap();
        tenants.add(record("globex", Life::random(), born, &["use-model", "ingest"])).unwrap();
        let (directory, versions, sink) =
            (FaultyDirectory::new(tenants.clone()), FaultyVersions::new(), MemorySink::new());
        let realm = Realm::builder(RealmName::parse("rag-tests").unwrap())
            .directory(directory.clone())
            .issuers([logins.for_tenants().unwrap()])
            .operators([OperatorLogin::new().for_operators().unwrap()])
            .keys(LocalKeyProvider::new(RootKey::generate()), FileKeyStore::open(folder.path().join("keys")).unwrap())
            .audit(sink.clone())
            .corpus_versions(versions.clone())
            .ticket_ledger(MemoryTicketLedger::new())
            .build()
            .await
            .unwrap();
        let database = ThrowawayPostgres::shared().await.fresh_database().await;
        migrate(&MIGRATIONS, database.owner_options()).await.unwrap();
        let declaration = declaration().unwrap();
        database.run_as_owner(&grant_sql(&declaration, APP)).await;
        let late = LateService::new();
        let files = FilesRoot::provision(folder.path().join("files")).unwrap();
        let edge = EdgeBackend::open(EdgeOptions::new(folder.path().join("vectors"))).unwrap();
        let (dimensions, caches) = (HashedNgrams.dimension(), Caches::new(&realm, MemoryBackend::new()));
        let questions = EdgeBackend::open(EdgeOptions::new(folder.path().join("questions"))).unwrap();
        let semantic = SemanticCache::new(&realm, &caches, questions, dimensions, alike_enough().unwrap()).unwrap();
        let stores = Stores::builder(&realm)
            .database(Database::open(&realm, PgOptions::new(database.app_options()), &declaration).await.unwrap())
            .vectors(VectorStore::new(&realm, edge, Schema::hybrid(dimensions).unwrap()))
            .caches(caches)
            .semantic(semantic)
            .tools(Tools::new(&realm, registry(late.clone()).unwrap(), files))
            .build()
            .unwrap();
        let (embedder, answerer) = (Box::new(HashedNgrams), answerer(&realm));
        let (service, worker) = Service::start(ServiceParts { realm, stores, logins, embedder, answerer });
        late.set(&service);
        let router = router(&service);
        Self {
            service,
            worker,
            tenants,
            directory,
            versions,
            router,
            sink,
            acme,
            born,
            passwords,
            database,
            _folder: folder,
        }
    }

    pub(crate) fn password(&self, user: &str) -> &str {
        self.passwords[user].expose_secret()
    }

    /// Acme as it would be with these permissions of its editors.
    pub(crate) fn acme_with(&self, permissions: &[&str]) -> TenantRecord {
        record("acme", self.acme, self.born, permissions)
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        use tower::ServiceExt;
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        Reply { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) async fn login(&self, user: &str) -> String {
        let body = json!({ "user": user, "password": self.password(user) });
        let reply = self.send(post("/login", None, &body)).await;
        assert_eq!(reply.status, 200);
        reply.json()["token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Reply {
        self.send(request(Method::GET, path, Some(token))).await
    }

    pub(crate) async fn delete(&self, token: &str, path: &str) -> Reply {
        self.send(request(Method::DELETE, path, Some(token))).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: &Value) -> Reply {
        self.send(post(path, Some(token), body)).await
    }

    /// Adds a document and waits for its job, whose id it returns.
    pub(crate) async fn ingest(&self, token: &str, id: &str, text: &str) -> String {
        let reply = self.post(token, "/documents", &json!({ "id": id, "text": text })).await;
        assert_eq!(reply.status, 202, "{id}");
        let job = reply.json()["job"].as_str().unwrap().to_owned();
        for _ in 0..500 {
            match self.get(token, &format!("/jobs/{job}")).await.json()["state"].as_str() {
                Some("done") => return job,
                Some("queued") => tokio::time::sleep(Duration::from_millis(20)).await,
                state => panic!("{id}: {state:?}"),
            }
        }
        panic!("{id} is still queued");
    }

    /// What the tenant's search finds, one line a passage.
    pub(crate) async fn search(&self, token: &str, query: &str) -> String {
        let reply = self.post(token, "/tools/search_documents", &json!({ "query": query })).await;
        assert_eq!(reply.status, 200);
        reply.json()["output"].as_str().unwrap().to_owned()
    }

    /// A job that the worker has not seen.
    pub(crate) async fn queued(&self, token: &str, id: &str, text: &str) -> Queued {
        let context = self.service.realm().authenticate(&Credential::bearer(token)).await.unwrap();
        let mine = self.service.stores().scoped(&context).unwrap();
        let (queue, mut jobs) = tokio::sync::mpsc::channel(1);
        enqueue(&queue, &mine, rag_backend::Document::new(id, text)).await.unwrap();
        jobs.recv().await.unwrap()
    }

    /// How many jobs in this state all tenants have, as the superuser counts them.
    pub(crate) async fn jobs(&self, state: &str) -> i64 {
        let mut superuser = PgConnection::connect_with(&self.database.superuser_options()).await.unwrap();
        let count = sqlx::query_scalar("select count(*) from ingest_jobs where state = $1").bind(state);
        count.fetch_one(&mut superuser).await.unwrap()
    }

    /// The rules of acme's denials so far, equal ones once or more often.
    pub(crate) async fn acmes_denials(&self) -> Vec<String> {
        self.service.realm().flush().await.unwrap();
        let records: Vec<AuditRecord> = self.sink.records();
        let rules = records.iter().filter(|r| r.life() == Some(self.acme)).filter_map(AuditRecord::rule);
        rules.map(str::to_owned).collect()
    }
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The one answer of a face, byte for byte.
    pub(crate) fn of(face: Face) -> Self {
        let (parts, body) = tenancy_stack::core::web::answer::<String>(face).into_parts();
        // The length is the server's to add, for every answer alike.
        let mut headers = parts.headers;
        headers.insert(header::CONTENT_LENGTH, body.len().into());
        Self { status: parts.status.as_u16(), headers, body }
    }
}

pub(crate) fn request(method: Method, path: &str, token: Option<&str>) -> Request<Body> {
    builder(method, path, token).body(Body::empty()).unwrap()
}

pub(crate) fn post(path: &str, token: Option<&str>, body: &Value) -> Request<Body> {
    let builder = builder(Method::POST, path, token).header(header::CONTENT_TYPE, "application/json");
    builder.body(Body::from(body.to_string())).unwrap()
}

pub(crate) fn builder(method: Method, path: &str, token: Option<&str>) -> http::request::Builder {
    let builder = Request::builder().method(method).uri(path);
    match token {
        Some(token) => builder.header(header::AUTHORIZATION, format!("Bearer {token}")),
        None => builder,
    }
}

/// Every byte as `%XX`.
pub(crate) fn encoded(id: &str) -> String {
    id.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn record(tenant: &str, life: Life, born: SystemTime, editors: &[&str]) -> TenantRecord {
    TenantRecord::new(TenantId::parse(tenant).unwrap(), life, born)
        .claim(ISSUER, tenant)
        .role(ISSUER, "editor", editors.iter().copied())
        .role(ISSUER, "reader", ["use-model"])
}

const ISSUER: &str = "https://login.demo";
