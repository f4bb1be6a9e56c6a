//! Key sets over https.

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;

use super::jwks::{FETCH_TIME, JwksError, JwksSource, check_size, unavailable};
use crate::redacted::BoxError;

/// One address, always the same request.
pub(super) struct HttpsSource {
    client: Client,
    url: Url,
}

impl HttpsSource {
    pub(super) fn new(url: &str) -> Result<Self, JwksError> {
        let url = Url::parse(url).map_err(|_| JwksError::Address("not a URL"))?;
        if url.scheme() != "https" {
            return Err(JwksError::Address("https is required"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(JwksError::Address("it holds a user name or password"));
        }
        let client = Client::builder()
            .tls_backend_preconfigured(tls().map_err(unavailable)?)
            .https_only(true)
            .redirect(Policy::none())
            .no_proxy()
            .timeout(FETCH_TIME)
            .build()
            .map_err(unavailable)?;
        Ok(Self { client, url })
    }
}

#[async_trait]
impl JwksSource for HttpsSource {
    async fn fetch(&self) -> Result<String, BoxError> {
        let mut response = self.client.get(self.url.clone()).send().await?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(format!("status {}", response.status()).into());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            check_size(body.len() + chunk.len())?;
            body.extend_from_slice(&chunk);
        }
        Ok(String::from_utf8(body)?)
    }
}

/// The platform's trust anchors and *ring*, by name: nothing is installed for the whole process, and nothing that
/// another crate installed is used.
fn tls() -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential::Jwks;

    #[tokio::test]
    async fn an_address_where_nobody_listens_is_an_error() {
        let source = HttpsSource::new("https://127.0.0.1:1/jwks").unwrap();
        assert!(source.fetch().await.is_err());
    }

    #[test]
    fn only_https_addresses_without_a_password_are_taken() {
        assert!(Jwks::url("https://login.example.com/jwks").is_ok());
        for url in ["http://login.example.com/jwks", "file:///etc/passwd", "https://u:p@example.com/", "jwks"] {
            assert!(matches!(Jwks::url(url), Err(JwksError::Address(_))), "{url}");
        }
    }
}
