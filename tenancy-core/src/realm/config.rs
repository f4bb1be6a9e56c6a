//! A realm from `tenancy.toml`, the file that service, command line and doctor read alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::{Ready, Realm, RealmBuilder};
use crate::audit::JsonlSink;
use crate::config::ConfigError;
use crate::corpus::FileCorpusVersions;
use crate::credential::{Jwks, OperatorIssuer, TenantClaim, TenantIssuer};
use crate::directory::{StaticDirectory, TenantEntry};
use crate::id::{RealmName, Region};
use crate::keys::{FileKeyStore, KeyError, LocalKeyProvider, RootKey};

impl Realm {
    /// Reads a realm from TOML. Paths in it are relative to the file. What it does not say keeps its default, and what
    /// it says with a key that is not known is refused; the sections `database`, `vectors`, `caches` and `tools` belong
    /// to other crates and are skipped.
    ///
    /// ```toml
    /// [realm]
    /// name = "prod"
    /// region = "eu-west"
    /// fence-age = "5s"
    ///
    /// [keys]
    /// root = "secrets/root.key"       # 64 hex digits, mode 0600
    /// store = "state/keys"            # a directory apart from the data and its backups
    ///
    /// [audit]
    /// file = "state/audit.jsonl"
    ///
    /// [corpus]
    /// versions = "state/versions"
    ///
    /// [[issuer]]
    /// issuer = "https://login.example"
    /// audience = "rag"
    /// jwks-file = "login.jwks.json"   # or jwks-url, with the feature `fetch`
    /// tenant-claim = "tenant"         # or memberships-claim
    /// roles-claim = "roles"
    ///
    /// [[operator]]
    /// issuer = "https://staff.example"
    /// audience = "rag-operators"
    /// jwks-file = "staff.jwks.json"
    ///
    /// [[tenant]]
    /// id = "acme"
    /// life = "6f9d3c1a-7a4b-4f5e-9a53-0f3a1c2b7d10"
    /// born = "2026-01-15T00:00:00Z"
    /// claims = [{ issuer = "https://login.example", value = "acme" }]
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`], naming the file and line, key or tenant at fault, and what to do about a file that is not there.
    pub fn from_toml(path: &Path) -> Result<RealmBuilder<Ready>, ConfigError> {
        let text = fs::read_to_string(path).map_err(|e| ConfigError::read(path, e))?;
        let file: File = toml::from_str(&text).map_err(|e| ConfigError::toml(Some(path), &text, &e))?;
        file.into_builder(path.parent().unwrap_or(Path::new(".")))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    realm: RealmSection,
    keys: KeysSection,
    audit: AuditSection,
    corpus: Option<CorpusSection>,
    #[serde(default)]
    issuer: Vec<IssuerSection>,
    #[serde(default)]
    operator: Vec<OperatorSection>,
    #[serde(default)]
    tenant: Vec<TenantEntry>,
    #[serde(rename = "database")]
    _database: Option<toml::Value>,
    #[serde(rename = "vectors")]
    _vectors: Option<toml::Value>,
    #[serde(rename = "caches")]
    _caches: Option<toml::Value>,
    #[serde(rename = "tools")]
    _tools: Option<toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RealmSection {
    name: String,
    region: Option<String>,
    fence_age: Option<String>,
    max_request: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysSection {
    root: PathBuf,
    store: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AuditSection {
    file: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CorpusSection {
    versions: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct IssuerSection {
    issuer: String,
    audience: String,
    jwks_file: Option<PathBuf>,
    jwks_url: Option<String>,
    tenant_claim: Option<String>,
    memberships_claim: Option<String>,
    roles_claim: Option<String>,
    token_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct OperatorSection {
    issuer: String,
    audience: String,
    jwks_file: Option<PathBuf>,
    jwks_url: Option<String>,
    token_type: Option<String>,
}

impl File {
    fn into_builder(self, base: &Path) -> Result<RealmBuilder<Ready>, ConfigError> {
        let name = RealmName::parse(&self.realm.name).map_err(|e| said("realm.name", e))?;
        let issuers =
            self.issuer.into_iter().map(|section| section.into_issuer(base)).collect::<Result<Vec<_>, _>>()?;
        let operators =
            self.operator.into_iter().map(|section| section.into_issuer(base)).collect::<Result<Vec<_>, _>>()?;
        let root = root_key(&base.join(&self.keys.root))?;
        let store = base.join(&self.keys.store);
        let store =
            FileKeyStore::open(&store).map_err(|_| unusable("keys.store", &store, NOT_PRIVATE, CANT_BE_MADE))?;
        let log = base.join(&self.audit.file);
        let sink = JsonlSink::open(&log).map_err(|e| unusable("audit.file", &log, e, "make its folder"))?;
        let mut builder = Realm::builder(name)
            .directory(StaticDirectory::from_entries(self.tenant)?)
            .issuers(issuers)
            .operators(operators)
            .keys(LocalKeyProvider::new(root), store)
            .audit(sink);
        if let Some(region) = &self.realm.region {
            builder = builder.region(Region::parse(region).map_err(|e| said("realm.region", e))?);
        }
        if let Some(age) = &self.realm.fence_age {
            builder = builder.fence_age(duration("realm.fence-age", age)?);
        }
        if let Some(limit) = &self.realm.max_request {
            builder = builder.max_request(duration("realm.max-request", limit)?);
        }
        if let Some(CorpusSection { versions }) = &self.corpus {
            let folder = base.join(versions);
            let versions = FileCorpusVersions::open(&folder);
            builder = builder.corpus_versions(
                versions.map_err(|_| unusable("corpus.versions", &folder, NOT_PRIVATE, CANT_BE_MADE))?,
            );
        }
        Ok(builder)
    }
}

impl IssuerSection {
    fn into_issuer(self, base: &Path) -> Result<TenantIssuer, ConfigError> {
        let keys = jwks(base, &self.issuer, self.jwks_file, self.jwks_url)?;
        let mut issuer = TenantIssuer::new(&self.issuer, &self.audience, keys);
        issuer = match (self.tenant_claim, self.memberships_claim) {
            (Some(_), Some(_)) => {
                return Err(said("issuer", "give tenant-claim or memberships-claim, not both"));
            }
            (Some(one), None) => issuer.tenant_claim(TenantClaim::One(one)),
            (None, Some(many)) => issuer.tenant_claim(TenantClaim::Many(many)),
            (None, None) => issuer,
        };
        if let Some(claim) = &self.roles_claim {
            issuer = issuer.roles_claim(claim);
        }
        if let Some(typ) = &self.token_type {
            issuer = issuer.token_type(typ);
        }
        Ok(issuer)
    }
}

impl OperatorSection {
    fn into_issuer(self, base: &Path) -> Result<OperatorIssuer, ConfigError> {
        let keys = jwks(base, &self.issuer, self.jwks_file, self.jwks_url)?;
        let issuer = OperatorIssuer::new(&self.issuer, &self.audience, keys);
        Ok(match &self.token_type {
            Some(typ) => issuer.token_type(typ),
            None => issuer,
        })
    }
}

fn jwks(base: &Path, issuer: &str, file: Option<PathBuf>, url: Option<String>) -> Result<Jwks, ConfigError> {
    match (file, url) {
        (Some(file), None) => {
            let file = base.join(file);
            let key = format!("{issuer}: jwks-file");
            Jwks::file(&file).map_err(|e| unusable(&key, &file, e, "keep the issuer's public keys there, as a JWKS"))
        }
        #[cfg(feature = "fetch")]
        (None, Some(url)) => Jwks::url(&url).map_err(|e| said(issuer, e)),
        #[cfg(not(feature = "fetch"))]
        (None, Some(_)) => Err(said(issuer, "jwks-url needs the feature `fetch` of tenancy-core")),
        _ => Err(said(issuer, "give one of jwks-file and jwks-url")),
    }
}

fn root_key(path: &Path) -> Result<RootKey, ConfigError> {
    let folder = path.parent().unwrap_or(Path::new(".")).display();
    let make = format!("make it with '(umask 077; mkdir -p {folder}; openssl rand -hex 32 > {})'", path.display());
    RootKey::from_file(path).map_err(|error| match error {
        KeyError::Unavailable(_) => unusable("keys.root", path, "can't be read", &make),
        refused => unusable("keys.root", path, refused, &make),
    })
}

/// A file or folder that the configuration names: what is wrong with it, or what to do where it is not there.
fn unusable(key: &str, path: &Path, wrong: impl std::fmt::Display, missing: &str) -> ConfigError {
    let shown = path.display();
    if path.exists() {
        said(key, format!("{shown}: {wrong}"))
    } else {
        said(key, format!("{shown} is not there: {missing}"))
    }
}

fn duration(key: &str, text: &str) -> Result<Duration, ConfigError> {
    let parsed = humantime::parse_duration(text).map_err(|_| said(key, "expected a time like \"5s\""))?;
    if parsed.is_zero() { Err(said(key, "must be more than zero")) } else { Ok(parsed) }
}

fn said(key: &str, what: impl std::fmt::Display) -> ConfigError {
    ConfigError::Other(format!("{key}: {what}"))
}

const NOT_PRIVATE: &str = "can't be used, or is open to others: chmod 700";
const CANT_BE_MADE: &str = "it can't be made";
