//! The service as its clients meet it: a real database, a real index, and requests through the whole router.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that can't go on must stop")]

mod common;

use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{Method, header};
use rag_backend::{Answerer, Reply as ModelReply, Step, UpstreamError, perform};
use serde_json::{Value, json};
use tenancy_stack::cache::EngineSalt;
use tenancy_stack::chat::{ChatRequest, ModelIdentity};
use tenancy_stack::core::{Face, TenantId};
use tenancy_stack::{Denial, Realm};
use tenancy_testkit::Fault;

use crate::common::{ANN, GUS, ROB, Reply, World, builder, encoded, post, request};

#[tokio::test]
async fn the_password_alone_says_whose_tenant() {
    let world = World::start().await;
    let (ann, gus) = (world.login(ANN).await, world.login(GUS).await);
    world.ingest(&ann, "of-acme", "Acme's own words.").await;
    world.ingest(&gus, "of-globex", "Globex's own words.").await;
    for (path, more) in [
        ("/login", json!({})),
        ("/login", json!({ "tenant": "globex" })),
        ("/login", json!({ "tenant_id": "globex", "org": "globex", "orgId": "globex" })),
        ("/login", json!({ "sub": GUS, "iss": "https://staff.demo" })),
        ("/login", json!({ "roles": ["editor", "admin"] })),
        ("/login", json!({ "claims": { "tenant": "globex" } })),
        ("/login?tenant=globex&user=gus%40globex", json!({})),
    ] {
        let mut body = json!({ "user": ANN, "password": world.password(ANN) });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut login = post(path, None, &body);
        login.headers_mut().insert("x-tenant-id", "globex".parse().unwrap());
        let reply = world.send(login).await;
        assert_eq!(reply.status, 200, "{path} {more}");
        let token = reply.json()["token"].as_str().unwrap().to_owned();
        assert_eq!(ids(&world.get(&token, "/documents").await), ["of-acme"], "{path} {more}");
    }
    assert_eq!(ids(&world.get(&gus, "/documents").await), ["of-globex"]);
}

#[tokio::test]
async fn a_refused_login_does_not_say_why() {
    let world = World::start().await;
    let right = world.password(ANN);
    let longer = format!("{right}x");
    for (user, password) in [
        (ANN, "wrong"),
        (ANN, ""),
        (ANN, longer.as_str()),
        (ANN, &right[1..]),
        (ANN, world.password(GUS)),
        ("nobody@acme", right),
        // What unknown users are compared with.
        ("nobody@acme", "xxxxxxxxxxxxxxxxxxxxxxxx"),
        ("", right),
        ("ANN@ACME", right),
    ] {
        let reply = world.send(post("/login", None, &json!({ "user": user, "password": password }))).await;
        assert_eq!(reply, Reply::of(Face::Unauthenticated), "{user}");
    }
    assert!(!world.login(ANN).await.is_empty());
}

#[tokio::test]
async fn what_was_ingested_is_cited_word_for_word() {
    let world = World::start().await;
    let (ann, gus) = (world.login(ANN).await, world.login(GUS).await);
    let said = "The vault opens at 7:45, “sharp” -- and\nnobody waits.";
    world.ingest(&ann, "vault", &format!("# Vault\n\n{said}\n\nThe canteen serves soup.")).await;
    let question = json!({ "question": "When does the vault open?" });
    let answer = world.post(&ann, "/ask", &question).await.json();
    let cited = json!({ "document": "vault", "passage": said });
    assert!(answer["citations"].as_array().unwrap().contains(&cited), "{answer}");
    assert!(answer["answer"].as_str().unwrap().starts_with("The vault opens at 7:45"), "{answer}");

    let theirs = world.post(&gus, "/ask", &question).await.json();
    assert_eq!((&theirs["citations"], &theirs["cached"]), (&json!([]), &json!(false)));
}

#[tokio::test]
async fn a_foreign_id_answers_like_one_that_never_was() {
    let world = World::start().await;
    let (ann, gus) = (world.login(ANN).await, world.login(GUS).await);
    let job = world.ingest(&ann, "plan", "Acme's plan.").await;
    let job = format!("/jobs/{job}");
    for (method, path) in [
        (Method::GET, "/documents/never-was"),
        (Method::GET, "/documents/plan"),
        (Method::DELETE, "/documents/plan"),
        (Method::DELETE, "/documents/never-was"),
        (Method::GET, "/documents/%70lan"),
        (Method::GET, "/documents/plan/"),
        (Method::GET, "/documents//plan"),
        (Method::GET, "/documents/PLAN"),
        (Method::GET, "/documents/pla%25"),
        (Method::GET, "/documents/plan%27%20or%20%271%27=%271"),
        (Method::GET, "/documents/globex%2F..%2Fplan"),
        (Method::GET, "/jobs/7f1f2d0c-8f0e-4f43-9d2f-5f0d3c2b1a00"),
        (Method::GET, job.as_str()),
        (Method::GET, "/no-such-route"),
    ] {
        let reply = world.send(request(method.clone(), path, Some(&gus))).await;
        assert_eq!(reply, Reply::of(Face::NotFound), "{method} {path}");
    }
    assert_eq!(world.get(&ann, "/documents/plan").await.json()["text"], "Acme's plan.");
    assert_eq!(world.get(&ann, &job).await.json()["state"], "done");
}

#[tokio::test]
async fn who_may_not_ingest_queues_nothing() {
    let world = World::start().await;
    let (ann, rob) = (world.login(ANN).await, world.login(ROB).await);
    world.ingest(&ann, "plan", "The plan is to wait.").await;
    for id in ["plan", "new", "a/b"] {
        let reply = world.post(&rob, "/documents", &json!({ "id": id, "text": "Rob's words." })).await;
        assert_eq!(reply, Reply::of(Face::Forbidden), "{id}");
        let reply = world.delete(&rob, &format!("/documents/{id}")).await;
        assert_eq!(reply, Reply::of(Face::Forbidden), "{id}");
    }
    assert_eq!((world.jobs("queued").await, world.jobs("failed").await, world.jobs("done").await), (0, 0, 1));
    assert!(world.acmes_denials().await.contains(&"permission.missing".to_owned()));
    // A reader reads.
    let answer = world.post(&rob, "/ask", &json!({ "question": "What is the plan?" })).await;
    assert_eq!(answer.json()["citations"][0]["document"], "plan");
}

#[tokio::test]
async fn a_job_has_the_rights_of_the_moment_it_is_done() {
    let world = World::start().await;
    let ann = world.login(ANN).await;
    let acme = TenantId::parse("acme").unwrap();
    perform(&world.service, world.queued(&ann, "control", "Words.").await).await.unwrap();

    let revoked: [(&str, &[&str]); 3] =
        [("one-permission", &["use-model"]), ("all", &[]), ("for-others", &["read-audit", "ingest-not"])];
    for (id, left) in revoked {
        let job = world.queued(&ann, id, "Words.").await;
        world.directory.lie(world.acme_with(left));
        let outcome = perform(&world.service, job).await.unwrap_err();
        world.directory.set(Fault::None);
        assert_eq!(Denial::of(&outcome), Some(Denial::PermissionMissing), "{id}");
    }
    assert_eq!((world.jobs("failed").await, world.jobs("queued").await), (3, 0));

    for (id, denial) in [("suspended", Denial::TenantSuspended), ("erased", Denial::TenantErased)] {
        let job = world.queued(&ann, id, "Words.").await;
        let change = if id == "erased" { world.tenants.erase(&acme) } else { world.tenants.suspend(&acme) };
        change.unwrap();
        let outcome = perform(&world.service, job).await.unwrap_err();
        assert_eq!(Denial::of(&outcome), Some(denial));
        let _still_there = world.tenants.resume(&acme);
    }
    let denials = world.acmes_denials().await;
    for rule in ["permission.missing", "tenant.suspended", "tenant.erased"] {
        assert!(denials.iter().any(|denied| denied == rule), "{rule} {denials:?}");
    }
}

#[tokio::test]
async fn only_a_job_that_may_leaves_a_document() {
    let world = World::start().await;
    let ann = world.login(ANN).await;
    world.ingest(&ann, "plan", "The old plan.").await;
    let job = world.queued(&ann, "plan", "The plan of somebody without the right.").await;
    world.directory.lie(world.acme_with(&["use-model"]));
    perform(&world.service, job).await.unwrap_err();
    world.directory.set(Fault::None);
    assert_eq!(world.get(&ann, "/documents/plan").await.json()["text"], "The old plan.");
    assert_eq!(world.search(&ann, "plan").await, "plan: The old plan.");
}

#[tokio::test]
async fn what_the_index_refuses_can_be_deleted_later() {
    let world = World::start().await;
    let ann = world.login(ANN).await;
    let versions = ["One.", "One.\n\nTwo.", "One.\n\nTwo.\n\nThree."];
    for (before, after) in [(2, 0), (2, 1), (0, 2), (1, 1)] {
        world.ingest(&ann, "doc", versions[before]).await;
        let job = world.queued(&ann, "doc", versions[after]).await;
        world.versions.set_down(true);
        perform(&world.service, job).await.unwrap_err();
        assert_eq!(world.delete(&ann, "/documents/doc").await, Reply::of(Face::Unavailable));
        world.versions.set_down(false);
        assert_eq!(ids(&world.get(&ann, "/documents").await), ["doc"], "{before} {after}");
        assert_eq!(world.delete(&ann, "/documents/doc").await.status, 204, "{before} {after}");
        assert_eq!(world.search(&ann, "One, two or three?").await, "", "{before} {after}");
    }
}

#[tokio::test]
async fn a_wrong_request_is_refused_in_the_services_own_words() {
    let world = World::start().await;
    let ann = world.login(ANN).await;
    let json_type = Some("application/json");
    let marked = json!({ "id": MARK, "text": MARK, "user": MARK, "password": MARK, "question": MARK, "task": MARK });
    let mistyped =
        json!({ "id": [MARK], "text": 1, "user": [MARK], "password": [MARK], "question": 7, "task": [MARK] });
    let whole = marked.to_string();
    let cut = &whole[..whole.len() - 2];
    for path in ["/login", "/documents", "/ask", "/assist"] {
        for (what, content_type, body) in [
            ("cut short", json_type, cut.as_bytes()),
            ("no content type", None, whole.as_bytes()),
            ("text", Some("text/plain"), whole.as_bytes()),
            ("a form", Some("application/x-www-form-urlencoded"), b"user=hunter2-mark&id=hunter2-mark"),
            ("other types", json_type, mistyped.to_string().as_bytes()),
            ("fields missing", json_type, br#"{ "hunter2-mark": true }"#),
            ("a field twice", json_type, TWICE.as_bytes()),
            ("a list", json_type, b"[1, \"hunter2-mark\"]"),
            ("nothing", json_type, b""),
            ("no UTF-8", json_type, b"{ \"user\": \"hunter2-mark\xFF\" }"),
            ("too long", json_type, &vec![b' '; 3 << 20]),
        ] {
            let mut builder = builder(Method::POST, path, Some(&ann));
            if let Some(content_type) = content_type {
                builder = builder.header(header::CONTENT_TYPE, content_type);
            }
            let reply = world.send(builder.body(Body::from(body.to_vec())).unwrap()).await;
            assert_eq!(reply, Reply::of(Face::Invalid), "{path}: {what}");
        }
    }
    let arguments = builder(Method::POST, "/tools/read_file", Some(&ann)).body(Body::from(&b"hunter2-mark\xFF"[..]));
    for wrong in [
        arguments.unwrap(),
        request(Method::GET, "/jobs/hunter2-mark", Some(&ann)),
        request(Method::GET, "/jobs/%FF", Some(&ann)),
        request(Method::GET, "/documents/%FFhunter2-mark", Some(&ann)),
        request(Method::DELETE, "/documents/%FFhunter2-mark", Some(&ann)),
    ] {
        let what = format!("{} {}", wrong.method(), wrong.uri());
        assert_eq!(world.send(wrong).await, Reply::of(Face::Invalid), "{what}");
    }
    assert_eq!(world.jobs("queued").await, 0);
}

#[tokio::test]
async fn ids_are_taken_as_they_are_or_not_at_all() {
    let world = World::start().await;
    let ann = world.login(ANN).await;
    let long = "x".repeat(256);
    let odd =
        ["a/b", "a%2Fb", "/a", "a/", "..", "../../acme", "a b?c#d&e", "ü→🗝", "'; drop table documents; --", &long];
    for id in odd {
        world.ingest(&ann, id, &format!("Words of {id}.")).await;
    }
    for id in odd {
        let read = world.get(&ann, &format!("/documents/{}", encoded(id))).await;
        assert_eq!((&read.json()["id"], &read.json()["text"]), (&json!(id), &json!(format!("Words of {id}."))));
    }
    assert_eq!(ids(&world.get(&ann, "/documents").await).len(), odd.len());

    let (too_long, far_too_long) = ("x".repeat(257), "x".repeat(20_000));
    for id in [&too_long, &far_too_long, "nul\0", "\0"] {
        let path = format!("/documents/{}", encoded(id));
        assert_eq!(world.get(&ann, &path).await, Reply::of(Face::Invalid));
        assert_eq!(world.delete(&ann, &path).await, Reply::of(Face::Invalid));
    }
    let wide = "y\n\n".repeat(20_000);
    for wrong in [
        json!({ "id": "", "text": "t" }),
        json!({ "id": too_long, "text": "t" }),
        json!({ "id": far_too_long, "text": "t" }),
        json!({ "id": "nul\0", "text": "t" }),
        json!({ "id": "a", "text": "nul\0" }),
        json!({ "id": "a", "title": "nul\0", "text": "t" }),
        json!({ "id": "a", "title": "t".repeat(1025), "text": "t" }),
        json!({ "id": "a", "text": "t".repeat((1 << 20) + 1) }),
        json!({ "id": "a", "text": wide }),
    ] {
        assert_eq!(world.post(&ann, "/documents", &wrong).await, Reply::of(Face::Invalid));
    }
    let jobs = (world.jobs("queued").await, world.jobs("failed").await, world.jobs("done").await);
    assert_eq!(jobs, (0, 0, odd.len() as i64));
}

#[tokio::test]
async fn the_model_hears_of_its_own_mistakes() {
    let world = World::start().await;
    let ann = world.login(ANN).await;
    for task in ["read ../neighbour/plan.txt", "read a/not-there.txt", "read /etc/passwd"] {
        let reply = world.post(&ann, "/assist", &json!({ "task": task })).await;
        assert_eq!(reply.json()["steps"][1], json!({ "answer": "The call failed." }), "{task}: {reply:?}");
    }
}

#[tokio::test]
async fn the_model_does_not_hear_of_any_other_denial() {
    let world = World::start_with(|realm| Box::new(Closing(realm.clone()))).await;
    let ann = world.login(ANN).await;
    let reply = world.post(&ann, "/assist", &json!({ "task": "anything" })).await;
    assert_eq!(reply, Reply::of(Face::Unavailable));
}

#[tokio::test]
async fn the_worker_ends_with_the_service() {
    let world = World::start().await;
    let ann = world.login(ANN).await;
    world.ingest(&ann, "plan", "The plan.").await;
    assert_eq!(world.search(&ann, "plan").await, "plan: The plan.");
    let World { service, router, worker, .. } = world;
    drop(router);
    assert!(!worker.is_finished());
    drop(service);
    tokio::time::timeout(Duration::from_secs(20), worker).await.unwrap().unwrap();
}

/// A model during whose thinking the realm is closed, and which then wants a call.
struct Closing(Realm);

#[async_trait]
impl Answerer for Closing {
    fn model(&self) -> ModelIdentity {
        ModelIdentity { id: "closing".into(), version: "1".into(), adapter: None }
    }

    fn endpoint(&self) -> &str {
        "offline"
    }

    async fn step(&self, _: &ChatRequest, _: &EngineSalt) -> Result<ModelReply, UpstreamError> {
        let _closed = self.0.close().await;
        Ok(Step::Call { name: "read_file".into(), arguments: json!({ "path": "plan.txt" }).to_string() }.into())
    }
}

fn ids(listed: &Reply) -> Vec<String> {
    let documents: Value = listed.json()["documents"].clone();
    documents.as_array().unwrap().iter().map(|document| document["id"].as_str().unwrap().to_owned()).collect()
}

const MARK: &str = "hunter2-mark";
const TWICE: &str = r#"{"id":"a","id":"b","text":"t","text":"t","user":"a","user":"b","password":"p",
    "question":"q","question":"r","task":"t","task":"u"}"#;
