//! A context is not deserialised.

type Made = tenancy_core::TenantContext;

fn main() {
    let _made = serde_json::from_str::<Made>("{}");
}
