//! The question that is asked, in the three forms in which a key is made of it.

use serde::Serialize;
use sha2::{Digest, Sha256};
use tenancy_cache::ResponseParts;
use tenancy_core::chat::{ChatRequest, Message, ModelIdentity, Role};
use tenancy_core::{Fields, TenantContext, Visibility};

/// A conversation of six messages and two passages: four kibibytes as they are encoded.
pub(crate) fn parts() -> ResponseParts {
    let said = |role, words: usize| Message::new(role, text(words));
    let messages = vec![
        said(Role::System, 100),
        said(Role::User, 20),
        said(Role::Assistant, 120),
        said(Role::User, 15),
        said(Role::Assistant, 110),
        said(Role::User, 25),
    ];
    let model = ModelIdentity { id: "llama-3.1-8b-instruct".into(), version: "2026-07".into(), adapter: None };
    ResponseParts {
        chat: ChatRequest { max_tokens: Some(512), ..ChatRequest::new(model, messages) },
        endpoint: "http://engine.internal:8000/v1".into(),
        inputs: vec![text(60).into_bytes(), text(60).into_bytes()],
        corpora: Vec::new(),
        visibility: Visibility::Tenant,
    }
}

/// Another question, of the same form.
pub(crate) fn numbered(number: usize) -> ResponseParts {
    let mut parts = parts();
    parts.inputs.push(number.to_le_bytes().to_vec());
    parts
}

/// What a key of these parts is hashed from, but for the words of the moment, of which the length counts alone. The
/// encoding that `tenancy_cache::derive` makes is not to be had from outside; this is the one that its documentation gives.
pub(crate) fn encoding(context: &TenantContext, parts: &ResponseParts) -> Vec<u8> {
    let ResponseParts { chat, endpoint, inputs, corpora: _, visibility } = parts;
    let mut fields = Fields::new();
    fields
        .u64(1, 3)
        .bytes(2, context.realm().as_bytes())
        .uuid(3, context.life().uuid())
        .u64(4, 1)
        .record(5, |f| visibility.encode(context, f))
        .record(6, |f| {
            f.record(1, |f| chat.encode(f)).text(2, endpoint).list(3, inputs, |f, input| {
                f.bytes(1, input);
            });
        })
        .list(7, &[] as &[()], |_, ()| {})
        .opt_bytes(8, None)
        .opt_bytes(9, Some(&[0; 16]))
        .list(10, &[] as &[()], |_, ()| {});
    fields.as_bytes().to_vec()
}

/// A key as it is written by hand: what shapes the answer as JSON, and the hex of its hash.
pub(crate) fn by_hand(tenant: &str, parts: &ResponseParts) -> String {
    #[derive(Serialize)]
    struct Question<'a> {
        tenant: &'a str,
        chat: &'a ChatRequest,
        endpoint: &'a str,
        passages: [&'a str; 2],
    }
    let ResponseParts { chat, endpoint, inputs, corpora: _, visibility: _ } = parts;
    let passage = |number: usize| std::str::from_utf8(&inputs[number]).unwrap();
    let question = Question { tenant, chat, endpoint, passages: [passage(0), passage(1)] };
    format!("answer:{}", data_encoding::HEXLOWER.encode(&Sha256::digest(serde_json::to_vec(&question).unwrap())))
}

/// So many words, six bytes each.
pub(crate) fn text(words: usize) -> String {
    (0..words).map(|word| format!("w{:04} ", word * 37 % 10_000)).collect()
}
