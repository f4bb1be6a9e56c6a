//! An OpenAI-compatible engine on the loopback, with a prefix cache in blocks as vLLM's.
//!
//! A word is a token. A prompt is its template, the same for all, and each message's role and words; every sixteen words of it
//! are a block, found by the salt, the model and all the words before it. Of a prompt that is there as a whole the last word
//! is computed again, so its block is not taken from the cache.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

mod blocks;
mod serve;

use self::serve::Engine;

/// How a [`StubEngine`] behaves.
pub struct StubEngineBuilder(Engine);

impl StubEngineBuilder {
    /// Nothing is cached.
    #[must_use]
    pub fn caches_nothing(mut self) -> Self {
        self.0.caches = false;
        self
    }

    /// No answer says how much was cached.
    #[must_use]
    pub fn reports_nothing(mut self) -> Self {
        self.0.reports = false;
        self
    }

    /// Where nothing was cached, the answer does not say so, as vLLM's long did.
    #[must_use]
    pub fn omits_zeros(mut self) -> Self {
        self.0.omits_zeros = true;
        self
    }

    /// How long it computes each token of a prompt that was not cached.
    #[must_use]
    pub fn computes_for(mut self, each_token: Duration) -> Self {
        self.0.each_token = each_token;
        self
    }

    /// A request without a salt finds what is cached under any.
    #[must_use]
    pub fn ignores_an_absent_salt(mut self) -> Self {
        self.0.salts = Salts::IgnoredWhereAbsent;
        self
    }

    /// Only this bearer key is let in.
    #[must_use]
    pub fn wants_key(mut self, key: &str) -> Self {
        self.0.key = Some(key.to_owned());
        self
    }

    /// What it answers, from the role and the text of each message. A quote of the last message unless it is said.
    #[must_use]
    pub fn answers(mut self, answer: impl Fn(&[(String, String)]) -> String + Send + Sync + 'static) -> Self {
        self.0.answer = Box::new(answer);
        self
    }

    /// Which of the functions in a body it wants called, by name and arguments. None unless it is said.
    #[must_use]
    pub fn calls(mut self, call: impl Fn(&Value) -> Option<(String, String)> + Send + Sync + 'static) -> Self {
        self.0.call = Box::new(call);
        self
    }

    /// Starts it on a port of 127.0.0.1.
    ///
    /// # Panics
    /// When there is no port.
    pub async fn start(self) -> StubEngine {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port of the loopback");
        let port = listener.local_addr().expect("an address").port();
        let engine = Arc::new(self.0);
        let router = serve::router(Arc::clone(&engine));
        let (alive, gone) = oneshot::channel::<()>();
        tokio::spawn(async move {
            // Connections that clients keep are closed too.
            let serving = axum::serve(listener, router).with_graceful_shutdown(async { drop(gone.await) });
            serving.await.expect("serving ends when it is told to");
        });
        StubEngine { engine, port, _alive: alive }
    }
}

impl fmt::Debug for StubEngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StubEngineBuilder(..)")
    }
}

/// An engine on a port of 127.0.0.1, gone with this value: what it computes then it still answers, and nothing after it.
pub struct StubEngine {
    engine: Arc<Engine>,
    port: u16,
    /// Serving ends when it is dropped.
    _alive: oneshot::Sender<()>,
}

impl StubEngine {
    /// An engine that keeps apart what has different salts.
    #[must_use]
    pub fn honours_salts() -> StubEngineBuilder {
        StubEngineBuilder(Engine::new(Salts::Honoured))
    }

    /// An engine that checks salts and does nothing with them, as SGLang for a year (SGLang 23300).
    #[must_use]
    pub fn ignores_salts() -> StubEngineBuilder {
        StubEngineBuilder(Engine::new(Salts::Ignored))
    }

    /// Where it is, as `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// All that was asked, refused or not, in this order.
    #[must_use]
    pub fn requests(&self) -> Vec<EngineRequest> {
        self.engine.requests()
    }
}

impl fmt::Debug for StubEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StubEngine({})", self.port)
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineRequest {
    /// Names, in small letters, and values.
    pub headers: Vec<(String, String)>,
    /// The body, as it was written.
    pub text: String,
    /// The body; `null` where it is not JSON.
    pub body: Value,
}

/// What it does with a salt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Salts {
    Honoured,
    Ignored,
    IgnoredWhereAbsent,
}
