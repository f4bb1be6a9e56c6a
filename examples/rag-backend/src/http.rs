//! The client for upstream services: TLS with the platform's trust anchors, no redirects, bounded in time.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Calls an OpenAI-compatible service.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient(reqwest::Client);

/// What went wrong upstream. No text of the service is kept: it may quote a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// No client could be made.
    #[error("the upstream client can't be made")]
    Client,
    /// The request has no form for the service.
    #[error("the request can't be put to the upstream service")]
    Request,
    /// No connection, or no answer in time.
    #[error("the upstream service did not answer")]
    Unreachable,
    /// It answered with an error.
    #[error("the upstream service refused with status {0}")]
    Status(u16),
    /// It answered with something else than expected.
    #[error("the upstream service gave an unusable answer")]
    Answer,
}

impl HttpClient {
    /// A client.
    ///
    /// # Errors
    /// [`UpstreamError::Client`] when TLS can't be set up.
    pub(crate) fn new() -> Result<Self, UpstreamError> {
        client().map(Self)
    }

    /// Posts JSON with a bearer key and reads JSON.
    ///
    /// # Errors
    /// [`UpstreamError`].
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        url: &str,
        key: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<T, UpstreamError> {
        let sent = self.0.post(url).bearer_auth(key).json(body).send().await;
        let response = sent.map_err(|_| UpstreamError::Unreachable)?;
        if !response.status().is_success() {
            return Err(UpstreamError::Status(response.status().as_u16()));
        }
        response.json().await.map_err(|_| UpstreamError::Answer)
    }
}

/// A plain client with the settings of this service: no redirects, a minute's patience, TLS by *ring*.
///
/// # Errors
/// [`UpstreamError::Client`] when TLS can't be set up.
pub fn client() -> Result<reqwest::Client, UpstreamError> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls().map_err(|_| UpstreamError::Client)?)
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(60))
        .build()
        .map_err(|_| UpstreamError::Client)
}

/// *ring* by name: two TLS providers in one program make a default that panics.
fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    use rustls_platform_verifier::BuilderVerifierExt;

    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
}
