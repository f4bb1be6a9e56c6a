//! The TOML form of a static directory.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde::Deserialize;

use super::{DirectoryConflict, Isolation, Placement, Plan, ServiceClass, Standing, StaticDirectory, TenantRecord};
use crate::config::ConfigError;
use crate::id::{CellName, Life, Region, RowKey, TenantId};

impl StaticDirectory {
    /// Reads tenants from a TOML file; see [`from_toml`](Self::from_toml).
    ///
    /// # Errors
    /// [`ConfigError`] when the file can't be read or holds something else.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        Self::read(Some(path), &fs::read_to_string(path).map_err(|e| ConfigError::read(path, e))?)
    }

    /// Reads tenants from TOML. Every tenant states its life: a file that left it to chance would give a tenant a new
    /// life, and so take all its data from it, at every start.
    ///
    /// ```toml
    /// [[tenant]]
    /// id = "acme"
    /// life = "6f9d3c1a-7a4b-4f5e-9a53-0f3a1c2b7d10"
    /// born = "2026-01-15T00:00:00Z"
    /// region = "eu-west"                    # optional
    /// isolation = "pooled"                  # optional
    /// standing = "active"                   # optional
    /// plan = "business"                     # optional
    /// service-class = "standard"            # optional
    /// row-key = { bigint = 17 }             # optional: the key of an adopted schema
    /// claims = [{ issuer = "https://login.example", value = "acme" }]
    /// roles = [{ issuer = "https://login.example", role = "editor", permissions = ["use-model", "ingest"] }]
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`] for a key that is not known, a missing life or birth, or tenants that collide.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::read(None, text)
    }

    fn read(path: Option<&Path>, text: &str) -> Result<Self, ConfigError> {
        let file: File = toml::from_str(text).map_err(|e| ConfigError::toml(path, text, &e))?;
        Self::from_entries(file.tenant)
    }

    pub(crate) fn from_entries(entries: Vec<TenantEntry>) -> Result<Self, ConfigError> {
        let directory = Self::new();
        for entry in entries {
            let id = entry.id.clone();
            let record = entry.into_record().map_err(|what| ConfigError::tenant(&id, what))?;
            directory.add(record).map_err(|e: DirectoryConflict| ConfigError::tenant(&id, e.to_string()))?;
        }
        Ok(directory)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    tenant: Vec<TenantEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TenantEntry {
    id: String,
    life: String,
    born: String,
    standing: Option<Standing>,
    plan: Option<String>,
    service_class: Option<ServiceClass>,
    region: Option<String>,
    #[serde(default)]
    isolation: Isolation,
    #[serde(default)]
    cells: std::collections::BTreeMap<String, String>,
    row_key: Option<RowKeyEntry>,
    #[serde(default)]
    training_consent: bool,
    #[serde(default)]
    claims: Vec<ClaimEntry>,
    #[serde(default)]
    roles: Vec<RoleEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RowKeyEntry {
    Uuid(String),
    BigInt(i64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimEntry {
    issuer: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleEntry {
    issuer: String,
    role: String,
    permissions: Vec<String>,
}

impl TenantEntry {
    fn into_record(self) -> Result<TenantRecord, String> {
        let text = |what: &'static str| move |e: crate::id::IdError| format!("{what}: {e}");
        let id = TenantId::parse(&self.id).map_err(text("id"))?;
        let life = Life::parse(&self.life).map_err(text("life"))?;
        if !life.is_a_tenants() {
            return Err("life: a uuid of version 8 is kept for shared corpora".to_owned());
        }
        let born: SystemTime =
            humantime::parse_rfc3339(&self.born).map_err(|_| "born: expected a time like 2026-01-15T00:00:00Z")?;
        let mut placement = Placement { isolation: self.isolation, ..Placement::default() };
        if let Some(region) = &self.region {
            placement.region = Some(Region::parse(region).map_err(text("region"))?);
        }
        for (store, cell) in self.cells {
            placement.cells.insert(store, CellName::parse(&cell).map_err(text("cell"))?);
        }
        let plan =
            Plan::new(self.plan.as_deref().unwrap_or("standard"), self.service_class.unwrap_or(ServiceClass::Standard));
        let mut record = TenantRecord::new(id, life, born)
            .placed(placement)
            .plan_of(plan)
            .training_consent_of(self.training_consent)
            .standing_of(self.standing.unwrap_or(Standing::Active));
        record = match self.row_key {
            None => record,
            Some(RowKeyEntry::Uuid(text_)) => {
                record.row_key_of(RowKey::Uuid(Life::parse(&text_).map_err(text("row-key"))?.uuid()))
            }
            Some(RowKeyEntry::BigInt(n)) => record.row_key_of(RowKey::BigInt(n)),
            Some(RowKeyEntry::Text(text_)) => {
                record.row_key_of(RowKey::Text(TenantId::parse(&text_).map_err(text("row-key"))?))
            }
        };
        for ClaimEntry { issuer, value } in &self.claims {
            record = record.claim(issuer, value);
        }
        for RoleEntry { issuer, role, permissions } in &self.roles {
            record = record.role(issuer, role, permissions.iter().map(String::as_str));
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(id: &str, life: u8, more: &str) -> String {
        format!(
            "[[tenant]]\nid = \"{id}\"\nlife = \"6f9d3c1a-7a4b-4f5e-9a53-0f3a1c2b7d{life:02x}\"\n\
             born = \"2026-01-15T00:00:00Z\"\n{more}\n"
        )
    }

    #[test]
    fn two_tenants_that_could_be_taken_for_one_are_refused() {
        let claim = "claims = [{ issuer = \"https://i\", value = \"a\" }]";
        for (text, why) in [
            (tenant("acme", 1, "") + &tenant("ACME", 2, ""), "differs from another only in case"),
            (tenant("acme", 1, "") + &tenant("globex", 1, ""), "life was used before"),
            (tenant("acme", 1, claim) + &tenant("globex", 2, claim), "bound twice"),
            (
                tenant("acme", 1, "row-key = { bigint = 7 }") + &tenant("globex", 2, "row-key = { bigint = 7 }"),
                "row key was used before",
            ),
            (
                tenant("acme", 1, "")
                    + &tenant("globex", 2, "row-key = { uuid = \"6f9d3c1a-7a4b-4f5e-9a53-0f3a1c2b7d01\" }"),
                "row key was used before",
            ),
            (tenant("acme", 1, "lifetime = 3"), "unknown field"),
            (tenant("null", 1, ""), "reserved"),
            ("[[tenant]]\nid = \"acme\"\nborn = \"2026-01-15T00:00:00Z\"".to_owned(), "missing field `life`"),
        ] {
            let error = StaticDirectory::from_toml(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{error} for\n{text}");
        }
    }

    #[test]
    fn consent_to_training_is_given_and_never_assumed() {
        let entry = |more| toml::from_str::<File>(&tenant("acme", 1, more)).unwrap().tenant.remove(0);
        assert!(!entry("").into_record().unwrap().training_consent());
        assert!(entry("training-consent = true").into_record().unwrap().training_consent());
    }

    #[test]
    fn an_erased_name_can_be_used_by_a_new_life() {
        let directory = StaticDirectory::from_toml(&tenant("acme", 1, "")).unwrap();
        let id = TenantId::parse("acme").unwrap();
        let old = directory.life_of(&id).unwrap();
        directory.erase(&id).unwrap();
        assert_eq!(directory.resume(&id), Err(DirectoryConflict::Unknown));
        let again = TenantRecord::new(id.clone(), old, SystemTime::now());
        assert_eq!(directory.add(again), Err(DirectoryConflict::Life));
        directory.add(TenantRecord::new(id.clone(), Life::random(), SystemTime::now())).unwrap();
        assert_ne!(directory.life_of(&id), Some(old));
    }
}
