//! Inbound headers that name a tenant are removed: nothing behind the edge can believe one.

use http::HeaderMap;

/// Removes every header whose name speaks of a tenant, whatever a proxy or client calls it.
///
/// The tenant comes from the credential. A header with its name is either redundant or forged, and one that is still
/// there when the handler runs will be read by somebody one day.
pub(super) fn strip_tenant_headers(headers: &mut HeaderMap) {
    let named: Vec<_> = headers.keys().filter(|name| speaks_of_a_tenant(name.as_str())).cloned().collect();
    for name in named {
        headers.remove(name);
    }
}

fn speaks_of_a_tenant(name: &str) -> bool {
    let mut words = name.split(['-', '_', '.']).filter(|word| *word != "x");
    let joined: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    words.any(|word| WORDS.contains(&word)) || JOINED.iter().any(|word| joined.contains(word))
}

const WORDS: &[&str] = &["tenant", "tenants", "tenantid", "org", "orgid", "organization", "organisation", "workspace"];
const JOINED: &[&str] = &["tenant", "customerid", "accountid", "cachesalt", "workspaceid"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_name_a_tenant_go_and_others_stay() {
        for name in [
            "x-tenant-id",
            "x-tenantid",
            "tenant",
            "x-org-id",
            "mcp-param-tenant",
            "x-cache-salt",
            "x_tenant",
            "x-customer-id",
            "x-organization",
            "x-ms-tenant-name",
        ] {
            assert!(speaks_of_a_tenant(name), "{name}");
        }
        for name in ["authorization", "content-type", "x-request-id", "x-forwarded-for", "accept", "origin"] {
            assert!(!speaks_of_a_tenant(name), "{name}");
        }
    }
}
