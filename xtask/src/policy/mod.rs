//! `cargo xtask policy`: bans, licences and sources of the whole graph, as deny.toml says.
//!
//! cargo-deny reads the same file and knows more, so it is used where it is installed. It takes minutes to build, so a
//! fresh machine is not asked for it: what deny.toml uses is checked here as well.

mod config;
mod licence;

use std::fs;

use cargo_metadata::{Metadata, Package};

use self::config::Config;
use crate::failure::Failure;
use crate::{shell, workspace};

pub(crate) fn run() -> Result<(), Failure> {
    // An out-of-date lock file is refused here, whoever does the rest.
    let metadata = workspace::metadata()?;
    if shell::has("cargo-deny") {
        println!("policy: by cargo-deny");
        return shell::run(shell::cargo().args(["deny", "check", "bans", "licenses", "sources"]));
    }
    println!("policy: cargo-deny is not installed; checking what deny.toml says from cargo metadata");
    let file = shell::root().join("deny.toml");
    let config = fs::read_to_string(&file).map_err(Failure::at(file.display()))?;
    let config = Config::parse(&config).map_err(|e| Failure::new(format!("deny.toml: {e}")))?;
    let faults = check(&metadata, &config);
    if !faults.is_empty() {
        return Err(Failure::new(format!("policy:\n  {}", faults.join("\n  "))));
    }
    let several = workspace::packages(&metadata).values().filter(|versions| versions.len() > 1).count();
    println!("policy: {} packages; warning: {several} of them in several versions", metadata.packages.len());
    Ok(())
}

fn check(metadata: &Metadata, config: &Config) -> Vec<String> {
    let all = metadata.packages.iter();
    let mut faults: Vec<String> = all
        .flat_map(|package| {
            let one = [banned(package, config), unlicensed(package, config), unknown_source(package)];
            one.into_iter().flatten()
        })
        .collect();
    faults.sort_unstable();
    faults
}

fn banned(package: &Package, config: &Config) -> Option<String> {
    let ban = config.bans.deny.iter().find(|ban| *ban.name == *package.name)?;
    Some(format!("{} {} is banned: {}", package.name, package.version, ban.reason))
}

fn unlicensed(package: &Package, config: &Config) -> Option<String> {
    // Ours, which is not published.
    if package.source.is_none() && config.licenses.private.ignore {
        return None;
    }
    let Some(expression) = &package.license else {
        return Some(format!("{} {} names no licence", package.name, package.version));
    };
    match licence::allows(expression, &config.licenses.allow) {
        Ok(true) => None,
        Ok(false) => Some(format!("{} {} is under {expression}", package.name, package.version)),
        Err(e) => {
            Some(format!("{} {}: the licence \"{expression}\" can't be read: {e}", package.name, package.version))
        }
    }
}

/// Everything comes from the one public registry, as cargo-deny takes for granted when none is named.
fn unknown_source(package: &Package) -> Option<String> {
    let source = package.source.as_ref()?;
    (!source.is_crates_io()).then(|| format!("{} {} comes from {source}", package.name, package.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(change: impl FnOnce(&mut serde_json::Value)) -> Package {
        let mut json = serde_json::json!({
            "name": "x", "version": "1.0.0", "id": "x", "dependencies": [], "targets": [], "features": {},
            "manifest_path": "/x/Cargo.toml", "license": "MIT",
            "source": workspace::metadata().unwrap().packages.iter().find_map(|p| p.source.clone()).unwrap().repr,
        });
        change(&mut json);
        serde_json::from_value(json).unwrap()
    }

    fn faults(change: impl FnOnce(&mut serde_json::Value)) -> Vec<String> {
        let file = fs::read_to_string(shell::root().join("deny.toml")).unwrap();
        let (config, package) = (Config::parse(&file).unwrap(), package(change));
        let faults = [banned(&package, &config), unlicensed(&package, &config), unknown_source(&package)];
        faults.into_iter().flatten().collect()
    }

    #[test]
    fn a_plain_package_passes() {
        assert_eq!(faults(|_| {}), Vec::<String>::new());
    }

    /// The page says why each is there; one that is not on it came without a reason.
    #[test]
    fn every_direct_dependency_has_a_line_in_the_docs() {
        let metadata = workspace::metadata().unwrap();
        let page = fs::read_to_string(shell::root().join("docs/dependencies.md")).unwrap();
        let rows = page.lines().filter(|line| line.starts_with("| `")).collect::<String>();
        for member in metadata.workspace_packages() {
            for dependency in member.dependencies.iter().filter(|dependency| dependency.path.is_none()) {
                let name = &dependency.name;
                assert!(rows.contains(&format!("`{name}`")), "{name}, which {} depends on", member.name);
            }
        }
    }

    #[test]
    fn each_rule_finds_its_fault() {
        assert_eq!(faults(|p| p["name"] = "openssl".into()), ["openssl 1.0.0 is banned: TLS is rustls"]);
        assert_eq!(faults(|p| p["license"] = "AGPL-3.0".into()), ["x 1.0.0 is under AGPL-3.0"]);
        assert_eq!(faults(|p| p["license"] = serde_json::Value::Null), ["x 1.0.0 names no licence"]);
        assert_eq!(faults(|p| p["source"] = "git+https://example.org/x".into()).len(), 1);
    }
}
