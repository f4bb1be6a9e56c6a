//! The faults of tokens, each with real keys.

use std::time::{Duration, SystemTime};

use data_encoding::BASE64URL_NOPAD;
use ed25519_dalek::{Signer, SigningKey};
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use rsa::pkcs1::{EncodeRsaPrivateKey, EncodeRsaPublicKey};
use rsa::pkcs8::LineEnding;
use rsa::traits::PublicKeyParts;
use rsa::{Generate, PrivateKey};
use serde_json::{Value, json};

use super::token::VerifiedToken;
use super::*;
use crate::clock::Clock;
use crate::denial::CredentialFault as Fault;

const NOW: u64 = 1_800_000_000;
const ISSUER: &str = "https://login.example.com/";

#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> SystemTime {
        at(NOW)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(1)
    }
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn b64(bytes: impl AsRef<[u8]>) -> String {
    BASE64URL_NOPAD.encode(bytes.as_ref())
}

fn ed_key() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

fn ed_jwks() -> Jwks {
    let x = b64(ed_key().verifying_key().as_bytes());
    Jwks::memory(&json!({"keys": [{"kid": "k1", "kty": "OKP", "crv": "Ed25519", "x": x}]}).to_string()).unwrap()
}

fn issuer() -> TenantIssuer {
    TenantIssuer::new(ISSUER, "backend", ed_jwks())
}

fn signed_text(header: &str, claims: &str) -> String {
    let signed = format!("{}.{}", b64(header), b64(claims));
    let signature = ed_key().sign(signed.as_bytes());
    format!("{signed}.{}", b64(signature.to_bytes()))
}

fn header() -> Value {
    json!({"alg": "EdDSA", "kid": "k1"})
}

fn claims() -> Value {
    json!({"iss": ISSUER, "aud": "backend", "sub": "u1", "tenant": "acme", "iat": NOW - 5, "exp": NOW + 300})
}

/// A good object with one member changed, or removed where the change is `null` of Rust.
fn with(mut object: Value, name: &str, value: Option<Value>) -> Value {
    let members = object.as_object_mut().unwrap();
    members.remove(name);
    members.extend(value.map(|value| (name.to_owned(), value)));
    object
}

fn sign(header: Value, claims: Value) -> String {
    signed_text(&header.to_string(), &claims.to_string())
}

fn with_header(name: &str, value: impl Into<Option<Value>>) -> String {
    sign(with(header(), name, value.into()), claims())
}

fn with_claim(name: &str, value: impl Into<Option<Value>>) -> String {
    sign(header(), with(claims(), name, value.into()))
}

async fn verify(issuer: TenantIssuer, token: &str) -> Result<VerifiedToken, Fault> {
    verify_tenant_token(&[issuer], &token.into(), &Stopped).await
}

#[tokio::test]
async fn a_good_token_says_who_and_until_when() {
    let token = verify(issuer().roles_claim("groups"), &with_claim("groups", json!(["a", "b"]))).await.unwrap();
    assert_eq!(&*token.issuer, ISSUER);
    assert_eq!(token.subject.as_str(), "u1");
    assert_eq!(token.actor, None);
    assert_eq!(token.memberships, ["acme"]);
    assert_eq!(token.roles, ["a", "b"]);
    assert_eq!(token.issued, at(NOW - 5 - 30), "less the leeway");
    assert_eq!(token.expires, at(NOW + 330));
}

#[tokio::test]
async fn what_is_odd_but_right_passes() {
    for token in [
        with_claim("exp", json!(NOW - 29)),
        with_claim("exp", json!(NOW as f64 + 0.5)),
        with_claim("iat", json!(NOW + 30)),
        with_claim("nbf", json!(NOW + 30)),
        with_claim("aud", json!(["other", "backend"])),
        with_header("kid", None),
        with_header("jku", json!("https://evil.example/jwks")),
        with_header("jwk", json!(5)),
        with_claim("roles", json!("unread unless configured")),
    ] {
        assert_eq!(verify(issuer(), &token).await.err(), None, "{token}");
    }
}

#[tokio::test]
async fn every_fault_of_a_token_is_told_apart() {
    let good = sign(header(), claims());
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let (head, payload) = signed.split_once('.').unwrap();
    let other_payload = b64(with(claims(), "tenant", Some(json!("globex"))).to_string());
    let twice = |name: &str, value: &str| {
        let claims = claims().to_string().replacen('{', &format!("{{\"{name}\":{value},"), 1);
        signed_text(&header().to_string(), &claims)
    };
    let head_twice = r#"{"alg":"none","alg":"EdDSA","kid":"k1"}"#;

    let table = [
        // Form.
        ("nothing", String::new(), Fault::Malformed),
        ("no token", "tk1_x".to_owned(), Fault::Malformed),
        ("a ticket", format!("tkt1.{good}"), Fault::TicketAtEdge),
        ("two parts", signed.to_owned(), Fault::Malformed),
        ("four parts", format!("{good}.e30"), Fault::Malformed),
        ("no signature", format!("{signed}."), Fault::Malformed),
        ("padding", format!("{good}="), Fault::Malformed),
        ("standard alphabet", format!("{head}.{payload}.+{}", &signature[1..]), Fault::Malformed),
        ("over 16 KiB", with_claim("filler", json!("x".repeat(13_000))), Fault::Malformed),
        ("header is a list", signed_text("[]", &claims().to_string()), Fault::Malformed),
        ("header says alg twice", signed_text(head_twice, &claims().to_string()), Fault::Malformed),
        ("payload is text", signed_text(&header().to_string(), "\"x\""), Fault::Malformed),
        ("tenant twice", twice("tenant", "\"globex\""), Fault::Malformed),
        ("exp twice", twice("exp", "9999999999"), Fault::Malformed),
        // Header.
        ("alg none", with_header("alg", json!("none")), Fault::Algorithm),
        ("alg nOnE", with_header("alg", json!("nOnE")), Fault::Algorithm),
        ("alg HS256", with_header("alg", json!("HS256")), Fault::Algorithm),
        ("alg ES256 for an Ed25519 key", with_header("alg", json!("ES256")), Fault::Algorithm),
        ("alg missing", with_header("alg", None), Fault::Algorithm),
        ("alg a number", with_header("alg", json!(0)), Fault::Algorithm),
        ("crit", with_header("crit", json!(["b64"])), Fault::Critical),
        ("crit null", with_header("crit", Value::Null), Fault::Critical),
        ("kid unknown", with_header("kid", json!("k2")), Fault::KeyUnknown),
        ("kid in another case", with_header("kid", json!("K1")), Fault::KeyUnknown),
        ("kid a path", with_header("kid", json!("../../dev/null")), Fault::KeyUnknown),
        ("kid of 10 kB", with_header("kid", json!("k".repeat(10_000))), Fault::KeyUnknown),
        ("kid empty", with_header("kid", json!("")), Fault::KeyUnknown),
        ("kid a number", with_header("kid", json!(1)), Fault::Malformed),
        // Issuer.
        ("iss missing", with_claim("iss", None), Fault::IssuerMissing),
        ("iss a list", with_claim("iss", json!([ISSUER])), Fault::IssuerMissing),
        ("iss null", with_claim("iss", Value::Null), Fault::IssuerMissing),
        ("iss empty", with_claim("iss", json!("")), Fault::IssuerMissing),
        ("iss foreign", with_claim("iss", json!("https://evil.example/")), Fault::IssuerUnknown),
        ("iss without the slash", with_claim("iss", json!("https://login.example.com")), Fault::IssuerUnknown),
        // Signature.
        ("payload swapped", format!("{head}.{other_payload}.{signature}"), Fault::Signature),
        ("signature cut", format!("{signed}.{}", b64([0; 63])), Fault::Signature),
        ("signature of zeroes", format!("{signed}.{}", b64([0; 64])), Fault::Signature),
        // Audience and times.
        ("aud missing", with_claim("aud", None), Fault::Audience),
        ("aud foreign", with_claim("aud", json!("other")), Fault::Audience),
        ("aud list of foreign ones", with_claim("aud", json!(["other", "backend2"])), Fault::Audience),
        ("aud list with a number", with_claim("aud", json!(["backend", 1])), Fault::Audience),
        ("aud empty list", with_claim("aud", json!([])), Fault::Audience),
        ("exp missing", with_claim("exp", None), Fault::ExpiryMissing),
        ("exp a text", with_claim("exp", json!((NOW + 300).to_string())), Fault::ExpiryMissing),
        ("exp null", with_claim("exp", Value::Null), Fault::ExpiryMissing),
        ("exp negative", with_claim("exp", json!(-1)), Fault::ExpiryMissing),
        ("exp never", with_claim("exp", json!(u64::MAX)), Fault::ExpiryMissing),
        ("exp past the leeway", with_claim("exp", json!(NOW - 30)), Fault::Expired),
        ("nbf future", with_claim("nbf", json!(NOW + 31)), Fault::NotYetValid),
        ("nbf a text", with_claim("nbf", json!("0")), Fault::NotYetValid),
        ("iat missing", with_claim("iat", None), Fault::IssuedAtMissing),
        ("iat a text", with_claim("iat", json!(NOW.to_string())), Fault::IssuedAtMissing),
        ("iat negative", with_claim("iat", json!(-1.5)), Fault::IssuedAtMissing),
        ("iat future", with_claim("iat", json!(NOW + 31)), Fault::NotYetValid),
        ("iat a day ago", with_claim("iat", json!(NOW - 86_431)), Fault::TooOld),
        // Who.
        ("sub missing", with_claim("sub", None), Fault::Subject),
        ("sub empty", with_claim("sub", json!("")), Fault::Subject),
        ("sub a number", with_claim("sub", json!(1)), Fault::Subject),
        ("sub with a line break", with_claim("sub", json!("a\nb")), Fault::Subject),
        ("act", with_claim("act", json!({"sub": "support"})), Fault::Actor),
        ("act null", with_claim("act", Value::Null), Fault::Actor),
        // Tenant.
        ("tenant missing", with_claim("tenant", None), Fault::TenantClaimMissing),
        (
            "tenant in another case",
            sign(header(), with(with(claims(), "tenant", None), "Tenant", Some(json!("acme")))),
            Fault::TenantClaimMissing,
        ),
        ("tenant null", with_claim("tenant", Value::Null), Fault::TenantClaimMalformed),
        ("tenant a list", with_claim("tenant", json!(["acme"])), Fault::TenantClaimMalformed),
        ("tenant a number", with_claim("tenant", json!(1)), Fault::TenantClaimMalformed),
        ("tenant empty", with_claim("tenant", json!("")), Fault::TenantClaimMalformed),
        ("tenant too long", with_claim("tenant", json!("a".repeat(257))), Fault::TenantClaimMalformed),
        ("tenant with a NUL", with_claim("tenant", json!("acme\u{0}")), Fault::TenantClaimMalformed),
    ];
    for (what, token, fault) in table {
        assert_eq!(verify(issuer(), &token).await.err(), Some(fault), "{what}");
    }
}

#[tokio::test]
async fn settings_of_the_issuer_are_kept() {
    let actor = |act: Value| with_claim("act", act);
    let many = || issuer().tenant_claim(TenantClaim::Many("tenant".into()));
    let too_many: Vec<_> = (0..257).map(|n| n.to_string()).collect();
    let table = [
        ("type missing", issuer().token_type("at+jwt"), with_header("typ", None), Some(Fault::TokenType)),
        ("type other", issuer().token_type("at+jwt"), with_header("typ", json!("JWT")), Some(Fault::TokenType)),
        ("type", issuer().token_type("at+jwt"), with_header("typ", json!("application/AT+JWT")), None),
        ("max age", issuer().max_age(Duration::ZERO), with_claim("iat", json!(NOW - 31)), Some(Fault::TooOld)),
        ("leeway is capped", issuer().leeway(Duration::MAX), with_claim("exp", json!(NOW - 60)), Some(Fault::Expired)),
        ("leeway", issuer().leeway(Duration::MAX), with_claim("exp", json!(NOW - 59)), None),
        ("actor", issuer().allow_actor(), actor(json!({"sub": "support"})), None),
        ("actor nested", issuer().allow_actor(), actor(json!({"sub": "a", "act": {"sub": "b"}})), Some(Fault::Actor)),
        ("actor foreign", issuer().allow_actor(), actor(json!({"sub": "a", "iss": "other"})), Some(Fault::Actor)),
        ("actor a text", issuer().allow_actor(), actor(json!("support")), Some(Fault::Actor)),
        ("actor without sub", issuer().allow_actor(), actor(json!({})), Some(Fault::Actor)),
        ("roles a text", issuer().roles_claim("r"), with_claim("r", json!("a b")), Some(Fault::Malformed)),
        ("roles missing", issuer().roles_claim("r"), sign(header(), claims()), None),
        ("many", many(), with_claim("tenant", json!(["acme", "globex"])), None),
        ("many: a text", many(), with_claim("tenant", json!("acme")), Some(Fault::TenantClaimMalformed)),
        ("many: none", many(), with_claim("tenant", json!([])), Some(Fault::TenantClaimMalformed)),
        ("many: twice", many(), with_claim("tenant", json!(["a", "a"])), Some(Fault::TenantClaimMalformed)),
        ("many: null", many(), with_claim("tenant", json!(["a", null])), Some(Fault::TenantClaimMalformed)),
        ("many: 257", many(), with_claim("tenant", json!(too_many)), Some(Fault::TenantClaimMalformed)),
    ];
    for (what, issuer, token, fault) in table {
        assert_eq!(verify(issuer, &token).await.err(), fault, "{what}");
    }
    let token = verify(issuer().allow_actor(), &actor(json!({"sub": "support"}))).await.unwrap();
    assert_eq!(token.actor.unwrap().as_str(), "support");
}

#[tokio::test]
async fn an_operators_token_has_no_memberships() {
    let operators = [OperatorIssuer::new(ISSUER, "backend", ed_jwks())];
    let verify = async |token: &str| verify_operator_token(&operators, &token.into(), &Stopped).await;
    let token = verify(&sign(header(), claims())).await.unwrap();
    assert!(token.memberships.is_empty() && token.roles.is_empty());
    assert_eq!(verify(&with_claim("act", json!({"sub": "x"}))).await.err(), Some(Fault::Actor));
    assert_eq!(verify(&with_claim("iat", json!(NOW - 3_631))).await.err(), Some(Fault::TooOld));
}

#[tokio::test]
async fn an_rsa_key_verifies_its_one_algorithm_and_is_never_a_secret() {
    let private = PrivateKey::generate();
    let public = private.to_public_key();
    let jwk = json!({"kid": "k1", "kty": "RSA", "n": b64(public.n_bytes()), "e": b64(public.e_bytes())});
    let issuer = |alg: Option<&str>| {
        let jwk = with(jwk.clone(), "alg", alg.map(Value::from));
        TenantIssuer::new(ISSUER, "backend", Jwks::memory(&json!({"keys": [jwk]}).to_string()).unwrap())
    };
    let sign = |name: &str, algorithm, key: &EncodingKey| {
        let header = with(header(), "alg", Some(name.into()));
        let signed = format!("{}.{}", b64(header.to_string()), b64(claims().to_string()));
        let signature = crypto::sign(signed.as_bytes(), key, algorithm).unwrap();
        format!("{signed}.{signature}")
    };
    let key = EncodingKey::from_rsa_der(private.to_pkcs1_der().unwrap().as_bytes());
    let rs256 = sign("RS256", Algorithm::RS256, &key);
    let ps256 = sign("PS256", Algorithm::PS256, &key);
    assert_eq!(verify(issuer(None), &rs256).await.err(), None);
    assert_eq!(verify(issuer(None), &ps256).await.err(), Some(Fault::Algorithm));
    assert_eq!(verify(issuer(Some("PS256")), &ps256).await.err(), None);
    assert_eq!(verify(issuer(Some("PS256")), &rs256).await.err(), Some(Fault::Algorithm));

    let pem = public.to_pkcs1_pem(LineEnding::LF).unwrap();
    let secret = EncodingKey::from_secret(pem.as_bytes()).unwrap();
    for name in ["HS256", "RS256"] {
        let forged = sign(name, Algorithm::HS256, &secret);
        let fault = if name == "HS256" { Fault::Algorithm } else { Fault::Signature };
        assert_eq!(verify(issuer(None), &forged).await.err(), Some(fault), "{name}");
    }
}

/// The example of RFC 7515, appendix A.3: its signature verifies, so that the first fault is the missing audience.
#[tokio::test]
async fn the_es256_example_of_the_rfc_verifies() {
    let jwks = json!({"keys": [{"kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]});
    let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc\
                 19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    let issuer = || TenantIssuer::new("joe", "backend", Jwks::memory(&jwks.to_string()).unwrap());
    assert_eq!(verify(issuer(), token).await.err(), Some(Fault::Audience));
    assert_eq!(verify(issuer(), &token.replace(".Dt", ".Du")).await.err(), Some(Fault::Signature));
}

#[tokio::test]
async fn an_unknown_issuer_fetches_nothing() {
    struct Never;
    #[async_trait::async_trait]
    impl JwksSource for Never {
        async fn fetch(&self) -> Result<String, crate::redacted::BoxError> {
            panic!("nothing may be fetched")
        }
    }
    let issuer = TenantIssuer::new("https://other.example/", "backend", Jwks::source(Never));
    assert_eq!(verify(issuer, &sign(header(), claims())).await.err(), Some(Fault::IssuerUnknown));
}

#[tokio::test]
async fn a_key_file_is_read_again_for_an_unknown_key_id() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let x = b64(ed_key().verifying_key().as_bytes());
    let write = |kid: &str| {
        let jwks = json!({"keys": [{"kid": kid, "kty": "OKP", "crv": "Ed25519", "x": x}]});
        std::fs::write(file.path(), jwks.to_string()).unwrap();
    };
    assert!(matches!(Jwks::file(file.path()), Err(JwksError::Malformed)));
    write("k0");
    let issuer = TenantIssuer::new(ISSUER, "backend", Jwks::file(file.path()).unwrap());
    write("k1");
    assert_eq!(verify(issuer, &sign(header(), claims())).await.err(), None);
}

#[test]
fn a_credential_prints_its_kind_only() {
    for text in ["secret", "Bearer secret", "bEARER   secret "] {
        let credential = Credential::bearer(text);
        assert_eq!(format!("{credential:?}"), "Credential(bearer)");
        let CredentialKind::Bearer(token) = credential.kind() else { panic!("not a bearer") };
        assert_eq!(secrecy::ExposeSecret::expose_secret(token), "secret");
    }
    assert_eq!(format!("{:?}", Credential::api_key("secret")), "Credential(api key)");
}

#[cfg(feature = "tower")]
#[test]
fn one_authorization_header_of_a_known_scheme_is_read() {
    use crate::denial::Denial;
    let read = |values: &[&'static [u8]]| {
        let mut headers = http::HeaderMap::new();
        for value in values {
            headers.append("authorization", http::HeaderValue::from_bytes(value).unwrap());
        }
        Credential::from_headers(&headers).map(|credential| format!("{credential:?}"))
    };
    assert_eq!(read(&[b"Bearer abc"]).unwrap(), "Credential(bearer)");
    assert_eq!(read(&[b"apikey abc"]).unwrap(), "Credential(api key)");
    assert_eq!(read(&[]), Err(Denial::CredentialMissing));
    for values in [
        &[b"Bearer abc" as &[u8], b"Bearer abc"] as &[&[u8]],
        &[b"Basic abc"],
        &[b"Bearer"],
        &[b"Bearer "],
        &[b""],
        &[b"Bearer a, Bearer b"],
        &[b"Bearer \xe9"],
        &[b"Bearer\tabc"],
    ] {
        assert_eq!(read(values), Err(Fault::Malformed.into()), "{values:?}");
    }
}
