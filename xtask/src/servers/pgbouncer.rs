//! PgBouncer: the pooler that most deployments have in front.

use std::path::PathBuf;

use super::install::Package;
use crate::failure::Failure;

/// Makes sure that it can be started.
pub(super) fn ensure() -> Result<(), Failure> {
    if find() {
        return Ok(());
    }
    PGBOUNCER.install()?;
    if find() { Ok(()) } else { Err(Failure::missing("pgbouncer was installed and is not in the path")) }
}

/// The same places as the test support looks in.
fn find() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.into_iter().any(|folder| folder.join("pgbouncer").is_file())
}

const PGBOUNCER: Package = Package {
    what: "PgBouncer",
    debian: "pgbouncer",
    lines: &[
        ("apt-get", "sudo apt-get update && sudo apt-get install -y --no-install-recommends pgbouncer"),
        ("dnf", "sudo dnf install -y pgbouncer"),
        ("pacman", "sudo pacman -S --noconfirm pgbouncer"),
        ("apk", "sudo apk add pgbouncer"),
        ("brew", "brew install pgbouncer"),
    ],
    otherwise: "export PATH=\"$PATH:/folder/with/pgbouncer\"",
};
