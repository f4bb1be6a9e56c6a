//! What cargo says about the workspace, cut down to what the checks look at.

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use crate::failure::Failure;
use crate::shell;

/// A member and what it depends on when it is built for use: normal and build dependencies, optional ones too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) depends_on: Vec<String>,
}

/// Runs `cargo metadata` with every feature, and refuses a lock file that is out of date.
pub(crate) fn metadata() -> Result<Metadata, Failure> {
    MetadataCommand::new()
        .current_dir(shell::root())
        .features(cargo_metadata::CargoOpt::AllFeatures)
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .map_err(|e| Failure::new(format!("cargo metadata --locked: {e}")))
}

/// The members with their dependencies.
pub(crate) fn members(metadata: &Metadata) -> Vec<Member> {
    let member = |package: &&cargo_metadata::Package| Member {
        name: package.name.to_string(),
        depends_on: package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind != DependencyKind::Development)
            .map(|dependency| dependency.name.clone())
            .collect(),
    };
    metadata.workspace_packages().iter().map(member).collect()
}

/// Everything in the graph, by name.
pub(crate) fn packages(metadata: &Metadata) -> BTreeMap<&str, Vec<&cargo_metadata::Package>> {
    let mut packages: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for package in &metadata.packages {
        packages.entry(package.name.as_str()).or_default().push(package);
    }
    packages
}
