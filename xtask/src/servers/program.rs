//! Servers that are one program of the path: PgBouncer, the pooler that most deployments have in front, and Redis.

use std::path::PathBuf;

use super::install::Package;
use crate::failure::Failure;

/// A program, and the package that brings it.
pub(super) struct Program {
    name: &'static str,
    package: Package,
}

impl Program {
    /// Makes sure that it can be started.
    pub(super) fn ensure(&self) -> Result<(), Failure> {
        if self.is_here() {
            return Ok(());
        }
        self.package.install()?;
        if self.is_here() {
            Ok(())
        } else {
            Err(Failure::missing(format!("{} was installed and is not in the path", self.name)))
        }
    }

    /// The same places as the test support looks in.
    fn is_here(&self) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
        folders.into_iter().any(|folder| folder.join(self.name).is_file())
    }
}

pub(super) const PGBOUNCER: Program = Program {
    name: "pgbouncer",
    package: Package {
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
    },
};

/// With `redis-cli`, which joins the nodes of a cluster.
pub(super) const REDIS: Program = Program {
    name: "redis-server",
    package: Package {
        what: "Redis",
        debian: "redis-server",
        lines: &[
            ("apt-get", "sudo apt-get update && sudo apt-get install -y --no-install-recommends redis-server"),
            ("dnf", "sudo dnf install -y redis"),
            ("pacman", "sudo pacman -S --noconfirm redis"),
            ("apk", "sudo apk add redis"),
            ("brew", "brew install redis"),
        ],
        otherwise: "export PATH=\"$PATH:/folder/with/redis-server\"",
    },
};
