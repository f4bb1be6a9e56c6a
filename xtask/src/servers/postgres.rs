//! The Postgres server of this machine.

use std::path::{Path, PathBuf};

use super::install::Package;
use crate::failure::Failure;

/// Makes sure that a server can be started, and says where its programs are.
pub(super) fn ensure() -> Result<PathBuf, Failure> {
    if let Some(programs) = find() {
        return Ok(programs);
    }
    keep_debian_from_making_a_cluster()?;
    POSTGRES.install()?;
    match find() {
        Some(programs) => Ok(programs),
        None => Err(Failure::missing(format!("postgresql was installed, but no server is in {DEBIAN}/*/bin"))),
    }
}

/// Where `initdb` and `postgres` are. The same places in the same order as the test support looks in.
fn find() -> Option<PathBuf> {
    let complete = |dir: &PathBuf| dir.join("initdb").is_file() && dir.join("postgres").is_file();
    if let Some(named) = std::env::var_os("TENANCY_POSTGRES_BIN") {
        return Some(PathBuf::from(named)).filter(complete);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian_folders().into_iter().chain(std::env::split_paths(&path)).find(complete)
}

fn debian_folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let mut folders: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    folders.sort_unstable_by_key(|(version, _)| std::cmp::Reverse(*version));
    folders.into_iter().map(|(_, folder)| folder).collect()
}

/// Debian's package makes a cluster when it is installed. Nothing here uses it, so it is not made; a file that somebody
/// wrote is left as it is. Where we may not write, we may not install either, and that says so.
fn keep_debian_from_making_a_cluster() -> Result<(), Failure> {
    let file = Path::new("/etc/postgresql-common/createcluster.conf");
    if file.exists() || !super::install::is_ours() {
        return Ok(());
    }
    println!("Writing {} first, so that the package makes no server of its own.", file.display());
    let folder = file.parent().unwrap_or(file);
    std::fs::create_dir_all(folder).map_err(Failure::at(folder.display()))?;
    std::fs::write(file, "create_main_cluster = false\n").map_err(Failure::at(file.display()))
}

const DEBIAN: &str = "/usr/lib/postgresql";
const POSTGRES: Package = Package {
    what: "A Postgres server (initdb and postgres, any version from 14 on)",
    debian: "postgresql",
    lines: &[
        ("apt-get", "sudo apt-get update && sudo apt-get install -y --no-install-recommends postgresql"),
        ("dnf", "sudo dnf install -y postgresql-server"),
        ("pacman", "sudo pacman -S --noconfirm postgresql"),
        ("apk", "sudo apk add postgresql"),
        ("brew", "brew install postgresql"),
    ],
    otherwise: "export TENANCY_POSTGRES_BIN=/folder/with/initdb/and/postgres",
};
