//! Installing a package of the system, or the line that does it.

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::shell;

/// A package that brings a program.
pub(super) struct Package {
    /// What is missing, as in "A Postgres server is needed".
    pub(super) what: &'static str,
    /// Debian's name of it.
    pub(super) debian: &'static str,
    /// The tool that installs, and the line to type. The first whose tool is here is meant.
    pub(super) lines: &'static [(&'static str, &'static str)],
    /// What to type where none is.
    pub(super) otherwise: &'static str,
}

impl Package {
    /// Installs it where we are root on Debian; otherwise fails with what to type.
    pub(super) fn install(&self) -> Result<(), Failure> {
        if !is_ours() {
            return Err(Failure::missing(self.what_to_type()));
        }
        println!("{} is needed and not here. Installing Debian's package {}.", self.what, self.debian);
        let _no_service_starts = NoServices::start()?;
        apt(&["update", "-q"])?;
        let quietly = ["install", "-y", "-q", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold"];
        apt(&[quietly.as_slice(), &[self.debian]].concat())
    }

    fn what_to_type(&self) -> String {
        let line = self.lines.iter().find(|(tool, _)| shell::has(tool)).map_or(self.otherwise, |(_, line)| line);
        format!("{} is needed. Type:\n    {line}", self.what)
    }
}

fn apt(arguments: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").env("UCF_FORCE_CONFFOLD", "1");
    println!("$ {}", shell::line(&command));
    shell::run(&mut command)
}

/// While this lives, no package starts a service when it is installed: Debian's own switch for that. The tests start
/// servers of their own and want no other.
struct NoServices {
    written: bool,
}

impl NoServices {
    /// A switch that somebody else has set is left as it is.
    fn start() -> Result<Self, Failure> {
        use std::os::unix::fs::PermissionsExt;
        if Path::new(POLICY).exists() {
            return Ok(Self { written: false });
        }
        std::fs::write(POLICY, "#!/bin/sh\nexit 101\n").map_err(Failure::at(POLICY))?;
        let this = Self { written: true };
        std::fs::set_permissions(POLICY, PermissionsExt::from_mode(0o755)).map_err(Failure::at(POLICY))?;
        Ok(this)
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.written {
            let _gone_already = std::fs::remove_file(POLICY);
        }
    }
}

/// Whether we may install: as root, on Debian and what comes from it.
pub(super) fn is_ours() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) && shell::has("apt-get")
}

const POLICY: &str = "/usr/sbin/policy-rc.d";
