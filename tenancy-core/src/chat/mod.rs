//! What is sent to a model, as one value: the response cache's key and the engine get the very same one.

mod decimal;
mod request;

pub use decimal::{Decimal, DecimalError};
pub use request::{
    ChatRequest, FunctionSpec, Message, ModelIdentity, ResponseFormat, Role, ToolCall, ToolChoice, WeightDigest,
};
