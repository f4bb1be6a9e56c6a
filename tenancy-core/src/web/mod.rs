//! At the edge: a tower layer that lets nothing through without a context, and axum's extractor and responses.
//!
//! Put the layer around the whole router, after every route is added, so that fallbacks and routes that somebody adds
//! later are behind it:
//!
//! ```
//! # fn wrap<Router>(realm: tenancy_core::Realm, router: Router) {
//! # use tenancy_core::web::AuthLayer;
//! use tower_layer::Layer;
//!
//! let service = AuthLayer::new(realm).layer(router);
//! # }
//! ```
//!
//! `Router::layer` covers only the routes that are there when it is called. Wrapping the router as a service covers
//! all of them. What axum serves is a router: `Router::new().fallback_service(service)`.

#[cfg(feature = "axum")]
mod axum;
mod layer;
mod strip;

pub use layer::{AuthLayer, AuthService, EdgeBody, ResponseFuture, answer};
