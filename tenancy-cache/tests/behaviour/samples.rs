//! Parts to start from.

use tenancy_cache::{
    EmbeddingParts, EngineParts, ResponseParts, RetrievalParts, SemanticParts, ToolParts, canonical_json,
};
use tenancy_core::Visibility;
use tenancy_core::chat::{ChatRequest, Message, ModelIdentity, Role};

pub(crate) fn model() -> ModelIdentity {
    ModelIdentity { id: "llama".into(), version: "3.1".into(), adapter: None }
}

pub(crate) fn chat() -> ChatRequest {
    let messages = vec![Message::new(Role::System, "Answer briefly."), Message::new(Role::User, "When is lunch?")];
    ChatRequest::new(model(), messages)
}

pub(crate) fn response() -> ResponseParts {
    ResponseParts {
        chat: chat(),
        endpoint: "http://engine".into(),
        inputs: vec![b"passage".to_vec()],
        corpora: Vec::new(),
        visibility: Visibility::Tenant,
    }
}

pub(crate) fn retrieval() -> RetrievalParts {
    RetrievalParts {
        query: "When is lunch?".into(),
        filter: b"kind=handbook".to_vec(),
        strategy: "hybrid".into(),
        limit: 5,
        model: model(),
        corpora: Vec::new(),
        visibility: Visibility::Tenant,
    }
}

pub(crate) fn embedding() -> EmbeddingParts {
    EmbeddingParts {
        text: "When is lunch?".into(),
        model: model(),
        dimensions: 384,
        instruction: None,
        visibility: Visibility::Tenant,
    }
}

pub(crate) fn tool() -> ToolParts {
    ToolParts {
        name: "read_file".into(),
        version: "1".into(),
        scope: b"/handbook".to_vec(),
        arguments: canonical_json(r#"{"path":"lunch.md"}"#).unwrap(),
        corpora: Vec::new(),
        visibility: Visibility::Tenant,
    }
}

pub(crate) fn semantic() -> SemanticParts {
    SemanticParts {
        chat: chat(),
        endpoint: "http://engine".into(),
        inputs: Vec::new(),
        embedding: model(),
        dimensions: 384,
        instruction: None,
        corpora: Vec::new(),
        visibility: Visibility::Tenant,
    }
}

pub(crate) fn engine() -> EngineParts {
    EngineParts { model: model(), visibility: Visibility::Tenant }
}
