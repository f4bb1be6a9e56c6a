//! The tower layer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use tower_layer::Layer;
use tower_service::Service;

use super::strip::strip_tenant_headers;
use crate::audit::Lane;
use crate::context::TenantContext;
use crate::credential::Credential;
use crate::denial::{Denial, Face};
use crate::realm::Realm;

/// Verifies the credential of every request and puts its [`TenantContext`] into the request's extensions.
///
/// A request without a good credential is answered here, with 401, and never reaches what is inside, whether or not a
/// route would have matched. Headers that name a tenant are removed first.
#[derive(Clone, Debug)]
pub struct AuthLayer {
    realm: Realm,
}

impl AuthLayer {
    /// A layer that verifies with this realm.
    #[must_use]
    pub const fn new(realm: Realm) -> Self {
        Self { realm }
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = AuthService<S>;

    fn layer(&self, inner: S) -> AuthService<S> {
        AuthService { realm: self.realm.clone(), inner }
    }
}

/// The service that [`AuthLayer`] makes.
#[derive(Clone)]
pub struct AuthService<S> {
    realm: Realm,
    inner: S,
}

impl<S: fmt::Debug> fmt::Debug for AuthService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthService").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// A body that the edge can fill itself.
pub trait EdgeBody {
    /// A body with this text.
    fn of_text(text: &'static str) -> Self;
}

impl EdgeBody for String {
    fn of_text(text: &'static str) -> Self {
        text.to_owned()
    }
}

/// The future of [`AuthService`]. Dropped during verification: a `cancelled` record.
pub type ResponseFuture<R, E> = Pin<Box<dyn Future<Output = Result<R, E>> + Send>>;

impl<S, In, Out> Service<Request<In>> for AuthService<S>
where
    S: Service<Request<In>, Response = Response<Out>> + Clone + Send + 'static,
    S::Future: Send,
    In: Send + 'static,
    Out: EdgeBody,
{
    type Response = Response<Out>;
    type Error = S::Error;
    type Future = ResponseFuture<Response<Out>, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<In>) -> Self::Future {
        let realm = self.realm.clone();
        // The clone may not be ready; the one that was polled is.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        Box::pin(async move {
            strip_tenant_headers(request.headers_mut());
            request.extensions_mut().remove::<TenantContext>();
            let credential = Credential::from_headers(request.headers());
            let context = match credential {
                Ok(credential) => realm.authenticate(&credential).await,
                Err(denial) => Err(refuse(&realm, denial).await),
            };
            match context {
                Ok(context) => {
                    request.extensions_mut().insert(context);
                    inner.call(request).await
                }
                Err(denial) => Ok(answer(denial.face())),
            }
        })
    }
}

async fn refuse(realm: &Realm, denial: Denial) -> Denial {
    match realm.shared().begin(Lane::Anonymous, "authenticate").await {
        Ok(check) => check.deny(denial),
        Err(unavailable) => unavailable,
    }
}

/// The whole answer of a face: status, headers and body follow from it alone.
#[must_use]
pub fn answer<Out: EdgeBody>(face: Face) -> Response<Out> {
    let mut response = Response::new(Out::of_text(body(face)));
    *response.status_mut() = StatusCode::from_u16(face.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    // What a tenant may see is nobody else's to keep (any-llm 973: a shared cache in front of authenticated routes).
    headers.insert(http::header::CACHE_CONTROL, http::HeaderValue::from_static("private, no-store"));
    headers.insert(http::header::VARY, http::HeaderValue::from_static("authorization"));
    response
}

const fn body(face: Face) -> &'static str {
    match face {
        Face::Unauthenticated => r#"{"error":"unauthorized"}"#,
        Face::Forbidden => r#"{"error":"forbidden"}"#,
        Face::NotFound => r#"{"error":"not_found"}"#,
        Face::Invalid => r#"{"error":"invalid"}"#,
        Face::Unavailable => r#"{"error":"unavailable"}"#,
    }
}
