//! What is sent to an engine, and what a probe makes of its answers.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod body;
mod drops;
mod faults;
mod raw;
#[expect(dead_code, reason = "shared with another suite")]
#[path = "../behaviour/samples.rs"]
mod samples;
mod sent;
mod verdicts;

use std::time::Duration;

use tenancy_cache::engine::OpenAiEngine;
use tenancy_cache::probe::SaltProbe;
use tenancy_cache::{Caches, EngineSalt, MemoryBackend};
use tenancy_testkit::{StubEngine, TestTenants};

/// Enough for many blocks, and soon done.
fn by_tokens() -> SaltProbe {
    SaltProbe::new().rounds(2).words(100)
}

/// What is computed takes 80 ms, so that a busy machine does not matter.
fn by_time() -> SaltProbe {
    SaltProbe::by_time().rounds(3).words(400)
}

const EACH_TOKEN: Duration = Duration::from_micros(200);

fn client_of(engine: &StubEngine) -> OpenAiEngine {
    OpenAiEngine::new(&engine.url(), "llama").unwrap()
}

/// A real tenant's salt.
async fn salt() -> EngineSalt {
    let tenants = TestTenants::new().await;
    let caches = Caches::new(tenants.realm(), MemoryBackend::new());
    caches.scoped(&tenants.context("acme").await).unwrap().engine_salt(&samples::engine()).await.unwrap()
}

fn is_salt(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    text.len() == 46 && text.starts_with("s1_") && text.bytes().all(allowed)
}
