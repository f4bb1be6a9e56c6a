//! One running service with its own realm, database, index, files and log.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rag_backend::{Embedder, HashedNgrams, LateService, Logins, MIGRATIONS, OperatorLogin, Service, ServiceParts};
use secrecy::SecretString;
use tenancy_stack::Stores;
use tenancy_stack::cache::semantic::SemanticCache;
use tenancy_stack::cache::{CacheStats, Caches, MemoryBackend};
use tenancy_stack::core::{
    AuditRecord, FileCorpusVersions, FileKeyStore, JsonlSink, Life, LocalKeyProvider, MemoryTicketLedger, Realm,
    RealmName, RootKey, StaticDirectory, TenantId, TenantRecord, VerifyReport, verify_log,
};
use tenancy_stack::pg::{Database, PgOptions, migrate};
use tenancy_stack::tools::{FilesRoot, Tools};
use tenancy_stack::vector::{Schema, VectorStore};
use tenancy_testkit::StubEngine;
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};
use tokio::task::JoinHandle;

use crate::Failure;
use crate::args::Corpus;
use crate::client::Client;
use crate::server::Server;

/// A running service.
pub(crate) struct World {
    service: Service,
    caches: Caches,
    _engine: StubEngine,
    base: String,
    /// Below the demo's own, which is removed when nothing works in it any more.
    folder: PathBuf,
    directory: StaticDirectory,
    passwords: HashMap<String, SecretString>,
    serving: JoinHandle<()>,
    worker: JoinHandle<()>,
}

impl World {
    /// Starts a service for these tenants: migrations by the owner, everything else as the application role.
    pub(crate) async fn start(
        server: &Server,
        folder: &Path,
        realm: &str,
        corpora: &[Corpus],
    ) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("world-").tempdir_in(folder)?.keep();
        let at = |name: &str| folder.join(name);
        let mut logins = Logins::new();
        let mut passwords = HashMap::new();
        let directory = StaticDirectory::new();
        let born = SystemTime::now() - Duration::from_secs(60);
        for Corpus { tenant, .. } in corpora {
            let id = TenantId::parse(tenant).map_err(|e| format!("tenant {tenant}: {e}"))?;
            let record = TenantRecord::new(id, Life::random(), born).claim(logins.issuer(), tenant).role(
                logins.issuer(),
                "editor",
                ["use-model", "ingest", "read-audit"],
            );
            directory.add(record)?;
            let user = format!("user@{tenant}");
            let password = logins.add(&user, tenant, "editor");
            passwords.insert(user, password);
        }
        let realm = Realm::builder(RealmName::parse(realm)?)
            .directory(directory.clone())
            .issuers([logins.for_tenants()?])
            .operators([OperatorLogin::new().for_operators()?])
            .keys(LocalKeyProvider::new(RootKey::generate()), FileKeyStore::open(at("keys"))?)
            .audit(JsonlSink::open(at("audit.jsonl"))?)
            .corpus_versions(FileCorpusVersions::open(at("versions"))?)
            .ticket_ledger(MemoryTicketLedger::new())
            .max_request(Duration::from_secs(3600))
            .build()
            .await?;
        let tables = server.tables().await?;
        migrate(&MIGRATIONS, tables.owner.clone()).await?;
        let declaration = rag_backend::declaration()?;
        crate::server::grant(&tables, &declaration).await?;
        let database = Database::open(&realm, PgOptions::new(tables.app), &declaration).await?;
        let edge = EdgeBackend::open(EdgeOptions::new(at("vectors")))?;
        let dimensions = HashedNgrams.dimension();
        let vectors = VectorStore::new(&realm, edge, Schema::hybrid(dimensions)?);
        let caches = Caches::new(&realm, MemoryBackend::new());
        let questions = EdgeBackend::open(EdgeOptions::new(at("questions")))?;
        let semantic = SemanticCache::new(&realm, &caches, questions, dimensions, rag_backend::alike_enough()?)?;
        let late = LateService::new();
        let tools = Tools::new(&realm, rag_backend::registry(late.clone())?, FilesRoot::provision(at("files"))?);
        let stores = Stores::builder(&realm)
            .database(database)
            .vectors(vectors)
            .caches(caches.clone())
            .semantic(semantic)
            .tools(tools)
            .build()?;
        let (engine, answerer) = crate::engine::start().await?;
        let embedder = Box::new(HashedNgrams);
        let (service, worker) = Service::start(ServiceParts { realm, stores, logins, embedder, answerer });
        late.set(&service);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let base = format!("http://{}", listener.local_addr()?);
        let router = rag_backend::router(&service);
        let serving = tokio::spawn(async move {
            // Ends when the world is stopped; what it would say then is of no interest.
            let _ended = axum::serve(listener, router).await;
        });
        Ok(Self { service, caches, _engine: engine, base, folder, directory, passwords, serving, worker })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// What its caches have counted.
    pub(crate) fn cached(&self) -> CacheStats {
        self.caches.stats()
    }

    pub(crate) fn service(&self) -> &Service {
        &self.service
    }

    /// A client logged in as the tenant's user.
    pub(crate) async fn login(&self, tenant: &str) -> Result<Client, Failure> {
        let user = format!("user@{tenant}");
        let password = self.passwords.get(&user).ok_or("no such user")?;
        Client::login(&self.base, &user, password).await
    }

    /// The folder that holds the tenants' files, as an attacker with the best guess would know it.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// The life of a tenant.
    pub(crate) fn life(&self, tenant: &str) -> Option<Life> {
        self.directory.life_of(&TenantId::parse(tenant).ok()?)
    }

    /// Every audit record so far.
    pub(crate) async fn records(&self) -> Result<Vec<AuditRecord>, Failure> {
        self.service.realm().flush().await?;
        let text = std::fs::read_to_string(self.folder.join("audit.jsonl"))?;
        Ok(text.lines().map(AuditRecord::parse).collect::<Result<_, _>>()?)
    }

    /// Verifies the whole log.
    pub(crate) async fn verify_audit(&self) -> Result<VerifyReport, Failure> {
        self.service.realm().flush().await?;
        Ok(verify_log(self.folder.join("audit.jsonl"))?)
    }

    /// Leaves the service running until Ctrl-C.
    pub(crate) async fn serve_until_interrupted(&self, corpora: &[Corpus]) {
        let Corpus { tenant, questions, .. } = &corpora[0];
        println!("\nThe service listens on {}. Log in and ask:\n", self.base);
        for (user, password) in &self.passwords {
            use secrecy::ExposeSecret;
            println!(
                "TOKEN=$(curl -s {}/login -H 'content-type: application/json' \\\n    -d '{{\"user\":\"{user}\",\
                 \"password\":\"{}\"}}' | sed 's/.*:\"//; s/\".*//')",
                self.base,
                password.expose_secret()
            );
        }
        let question = questions.first().map_or("what is where?", |q| q.text.as_str());
        let body = serde_json::json!({ "question": question });
        println!("\n# as {tenant} or its neighbour, whoever logged in last:");
        println!(
            "curl -s {}/ask -H \"authorization: Bearer $TOKEN\" -H 'content-type: application/json' -d '{body}'",
            self.base
        );
        println!("# a document more, ingested by a job, and then all of them:");
        let document =
            serde_json::json!({ "id": "attic", "title": "Attic", "text": "The key to the attic is under the mat." });
        println!(
            "curl -s {}/documents -H \"authorization: Bearer $TOKEN\" -H 'content-type: application/json' -d '{document}'",
            self.base
        );
        println!("curl -s {}/documents -H \"authorization: Bearer $TOKEN\"", self.base);
        println!("curl -s {}/audit -H \"authorization: Bearer $TOKEN\"", self.base);
        println!("\nCtrl-C ends it.");
        std::future::pending::<()>().await;
    }

    /// Stops the service and removes what it kept.
    pub(crate) async fn stop(self) -> Result<(), Failure> {
        self.serving.abort();
        self.worker.abort();
        self.service.realm().close().await?;
        Ok(())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
        self.worker.abort();
    }
}
