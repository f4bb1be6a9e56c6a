//! The names of what is generated.

use sha2::{Digest, Sha256};

use crate::declaration::LegacyRole;

/// The plain policy.
pub(crate) const POLICY: &str = "tenancy_row_key";
/// The restrictive one.
pub(crate) const FLOOR: &str = "tenancy_floor";
/// The one of the role that reads reports.
pub(crate) const REPORT: &str = "tenancy_report";
/// How the policies of legacy roles begin.
pub(super) const LEGACY: &str = "tenancy_legacy_";
/// The foreign key to the registry of tenants.
pub(super) const REGISTRY_KEY: &str = "tenancy_registry";
/// The check that spares `SET NOT NULL` its scan.
pub(super) const NOT_NULL: &str = "tenancy_not_null";

pub(super) fn legacy_policy(legacy: &LegacyRole) -> String {
    fitted(&format!("{LEGACY}{}", legacy.role()))
}

/// The name as it is where the catalog can hold it; else its beginning and a digest of all of it, since the server would
/// cut two names to one.
pub(super) fn fitted(name: &str) -> String {
    if name.len() <= MAX_BYTES {
        return name.to_owned();
    }
    let digest = Sha256::digest(name);
    let tail: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    let room = MAX_BYTES - tail.len() - 1;
    let end = (0..=room).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    format!("{}_{tail}", &name[..end])
}

/// `NAMEDATALEN - 1`.
const MAX_BYTES: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_stay_apart() {
        let (one, two) = ("ä".repeat(40) + "1", "ä".repeat(40) + "2");
        assert_ne!(fitted(&one), fitted(&two));
        assert!(fitted(&one).len() <= MAX_BYTES);
        assert_eq!(fitted("short"), "short");
    }
}
