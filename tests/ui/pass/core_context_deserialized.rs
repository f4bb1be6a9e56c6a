//! The twin of `fail/core_context_deserialized.rs`: one line differs.

type Made = serde_json::Value;

fn main() {
    let _made = serde_json::from_str::<Made>("{}");
}
