//! A client of the service: what a customer's program would be.

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::Failure;

/// A logged-in user.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: SecretString,
}

/// An answer: its status and its body, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

impl Client {
    pub(crate) async fn login(base: &str, user: &str, password: &SecretString) -> Result<Self, Failure> {
        let http = rag_backend::client()?;
        let body = json!({ "user": user, "password": password.expose_secret() });
        let reply: Value = http.post(format!("{base}/login")).json(&body).send().await?.json().await?;
        let token = reply["token"].as_str().ok_or("the login was refused")?;
        Ok(Self { http, base: base.to_owned(), token: SecretString::from(token) })
    }

    /// The same program with another token.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: SecretString::from(token), ..self.clone() }
    }

    pub(crate) fn token(&self) -> &SecretString {
        &self.token
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Reply, Failure> {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Reply, Failure> {
        self.send(self.request(Method::DELETE, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Reply, Failure> {
        self.send(self.request(Method::POST, path).header(CONTENT_TYPE, "application/json").body(body.to_string()))
            .await
    }

    /// Posts a text as it is, as a model would write a tool's arguments.
    pub(crate) async fn post_text(&self, path: &str, body: &str) -> Result<Reply, Failure> {
        self.send(self.request(Method::POST, path).body(body.to_owned())).await
    }

    /// Gets with one more header.
    pub(crate) async fn get_with(&self, path: &str, header: &'static str, value: &str) -> Result<Reply, Failure> {
        self.send(self.request(Method::GET, path).header(header, value)).await
    }

    /// Adds a document and waits until its job is done.
    pub(crate) async fn ingest(&self, id: &str, title: &str, text: &str) -> Result<String, Failure> {
        let reply = self.post("/documents", &json!({ "id": id, "title": title, "text": text })).await?;
        let job =
            reply.json()["job"].as_str().ok_or_else(|| format!("{id}: refused with {}", reply.status))?.to_owned();
        for _ in 0..600 {
            match self.get(&format!("/jobs/{job}")).await?.json()["state"].as_str() {
                Some("done") => return Ok(job),
                Some("queued") => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
                _ => return Err("the job failed".into()),
            }
        }
        Err("the job did not come to an end".into())
    }

    pub(crate) async fn ask(&self, question: &str) -> Result<Reply, Failure> {
        self.post("/ask", &json!({ "question": question })).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let bearer = format!("Bearer {}", self.token.expose_secret());
        self.http.request(method, format!("{}{path}", self.base)).header(AUTHORIZATION, bearer)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Reply, Failure> {
        let response = request.send().await?;
        Ok(Reply { status: response.status().as_u16(), body: response.text().await? })
    }
}
