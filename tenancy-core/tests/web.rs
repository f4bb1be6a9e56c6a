//! The edge: nothing passes without a context, and every refusal wears one face.
#![expect(clippy::unwrap_used, reason = "a test stops where it can't go on")]

use std::time::Duration;

use axum::body::Body;
use axum::routing::{get, post};
use axum::{Json, Router};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use tenancy_core::web::{AuthLayer, AuthService};
use tenancy_core::{CredentialFault, Denial, TenantContext};
use tenancy_testkit::TestTenants;
use tower::{Layer, ServiceExt};

async fn who(ctx: TenantContext, headers: HeaderMap) -> String {
    let named = headers.keys().filter(|name| name.as_str().contains("tenant") || name.as_str().contains("org"));
    format!("{} {}", ctx.tenant().as_str(), named.count())
}

async fn body_tenant(ctx: TenantContext, Json(_): Json<serde_json::Value>) -> String {
    ctx.tenant().as_str().to_owned()
}

fn service(tenants: &TestTenants) -> AuthService<Router> {
    let mut router = Router::new().route("/who", get(who)).route("/body", post(body_tenant));
    // Nested, a fallback, and a route that somebody adds later, without an extractor even.
    router = router.nest("/nested", Router::new().route("/who", get(who))).fallback(async || "fallback");
    router = router.route("/later", get(async || "later"));
    AuthLayer::new(tenants.realm().clone()).layer(router)
}

async fn send(service: &AuthService<Router>, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    let response: Response<Body> = service.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (parts.status, parts.headers, String::from_utf8(bytes.to_vec()).unwrap())
}

fn get_with(path: &str, authorization: Option<&str>) -> Request<Body> {
    let mut request = Request::get(path);
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    request.body(Body::empty()).unwrap()
}

#[tokio::test]
async fn nothing_is_reached_without_a_credential() {
    let tenants = TestTenants::new().await;
    let service = service(&tenants);
    for path in ["/who", "/nested/who", "/later", "/no-such-route", "/", "/who?tenant=acme"] {
        let (status, headers, body) = send(&service, get_with(path, None)).await;
        assert_eq!((status, body.as_str()), (StatusCode::UNAUTHORIZED, r#"{"error":"unauthorized"}"#), "{path}");
        assert_eq!(headers["cache-control"], "private, no-store");
    }
    let good = format!("Bearer {}", tenants.token("acme"));
    for (path, expected) in [("/who", "acme 0"), ("/nested/who", "acme 0"), ("/later", "later"), ("/nope", "fallback")]
    {
        let (status, _, body) = send(&service, get_with(path, Some(&good))).await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, expected), "{path}");
    }
    assert!(tenants.denied_rules().await.iter().all(|rule| rule == "credential.missing"));
}

#[tokio::test]
async fn every_bad_credential_gets_the_very_same_answer() {
    let tenants = TestTenants::new().await;
    let service = service(&tenants);
    let suspended = format!("Bearer {}", tenants.token("globex"));
    tenants.suspend("globex");
    let unknown =
        tenants.issuer().sign(&tenants.issuer().claims("u", Some("initech"), &[], std::time::SystemTime::now()));
    let plain = send(&service, get_with("/who", None)).await;
    for (what, value) in [
        ("a suspended tenant", suspended),
        ("an unknown tenant", format!("Bearer {unknown}")),
        ("a forged token", "Bearer a.b.c".to_owned()),
        ("a basic credential", "Basic YTpi".to_owned()),
        ("an API key nobody issued", format!("ApiKey tk1_0000000000000000_{}_00000000", "A".repeat(43))),
        ("an empty bearer", "Bearer ".to_owned()),
        ("a job ticket", "Bearer tkt1.AAAA".to_owned()),
        ("an operator", format!("Bearer {}", tenants.operator_token())),
    ] {
        assert_eq!(send(&service, get_with("/who", Some(&value))).await, plain, "{what}");
    }
    let two = Request::get("/who")
        .header("authorization", format!("Bearer {}", tenants.token("acme")))
        .header("authorization", "Bearer x")
        .body(Body::empty())
        .unwrap();
    assert_eq!(send(&service, two).await, plain, "two credentials");
}

#[tokio::test]
async fn a_tenant_named_by_header_query_or_body_is_ignored() {
    let tenants = TestTenants::new().await;
    let service = service(&tenants);
    let token = format!("Bearer {}", tenants.token("acme"));
    let mut request = get_with("/who?tenant=globex&tenant_id=globex", Some(&token));
    for name in ["x-tenant-id", "X-Tenant", "x-org-id", "mcp-param-tenant", "tenant", "x-customer-id"] {
        request
            .headers_mut()
            .insert(http::HeaderName::from_bytes(name.to_lowercase().as_bytes()).unwrap(), "globex".parse().unwrap());
    }
    let (_, _, body) = send(&service, request).await;
    assert_eq!(body, "acme 0", "the token's tenant, and no header left to read");
    let request = Request::post("/body")
        .header("authorization", &token)
        .header("content-type", "application/json")
        .body(Body::from(r#"{"tenant":"globex","tenant_id":"globex"}"#))
        .unwrap();
    assert_eq!(send(&service, request).await.2, "acme");
}

#[tokio::test]
async fn a_router_without_the_layer_serves_nobody() {
    let router: Router = Router::new().route("/who", get(who));
    let response = router.oneshot(get_with("/who", Some("Bearer x"))).await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_forged_extension_does_not_survive_the_layer() {
    let tenants = TestTenants::new().await;
    let mut request = get_with("/who", None);
    request.extensions_mut().insert(tenants.context("globex").await);
    assert_eq!(send(&service(&tenants), request).await.0, StatusCode::UNAUTHORIZED);
}

#[test]
fn a_denial_is_a_response_of_its_face_and_nothing_else() {
    use axum::response::IntoResponse;
    for (denial, status) in [
        (Denial::CredentialMissing, 401),
        (CredentialFault::Signature.into(), 401),
        (Denial::PermissionMissing, 403),
        (Denial::NotVisible, 404),
        (Denial::WrongLife, 404),
        (Denial::ScopeArgument, 400),
        (Denial::FenceStale, 503),
        (Denial::StoreBreach, 503),
    ] {
        let response = denial.into_response();
        assert_eq!(response.status().as_u16(), status, "{denial:?}");
        assert_eq!(response.headers().len(), 3, "{denial:?}");
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_during_verification_leaves_a_record() {
    let tenants = TestTenants::new().await;
    tenants.faults().set(tenancy_testkit::Fault::Slow);
    let service = service(&tenants);
    let token = format!("Bearer {}", tenants.token("acme"));
    let mut dropped = 0;
    tenancy_testkit::drop_at_every_poll(
        || service.clone().oneshot(get_with("/who", Some(&token))),
        async |_, output| dropped += u64::from(output.is_none()),
    )
    .await;
    tokio::time::sleep(Duration::from_millis(1300)).await;
    let records = tenants.audit().await;
    let cancelled: u64 =
        records.iter().filter(|r| r.outcome() == tenancy_core::Outcome::Cancelled).map(|r| r.count()).sum();
    assert!(dropped > 0 && cancelled == dropped, "{cancelled} of {dropped}");
}
