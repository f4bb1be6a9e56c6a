//! The part of deny.toml's language that our deny.toml uses. Another key is an error and not ignored.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    #[serde(rename = "graph")]
    _graph: Graph,
    pub(super) bans: Bans,
    pub(super) licenses: Licences,
    #[serde(rename = "sources")]
    _sources: Sources,
}

/// Our graph has every feature, as here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Graph {
    #[serde(rename = "all-features")]
    _all_features: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Bans {
    #[serde(rename = "multiple-versions")]
    _multiple_versions: String,
    pub(super) deny: Vec<Ban>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ban {
    #[serde(rename = "crate")]
    pub(super) name: String,
    pub(super) reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Licences {
    pub(super) allow: Vec<String>,
    pub(super) private: Private,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Private {
    pub(super) ignore: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    #[serde(rename = "unknown-registry")]
    _unknown_registry: Deny,
    #[serde(rename = "unknown-git")]
    _unknown_git: Deny,
}

/// Nothing laxer is implemented.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Deny {
    Deny,
}

impl Config {
    pub(super) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }
}
