//! A Postgres server's programs: found, or installed where that is ours to do.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::shell;

/// Makes sure that a server can be started. Installs Debian's packages when run as root; otherwise says what to type.
pub(crate) fn ensure() -> Result<(), Failure> {
    if find().is_some() {
        return Ok(());
    }
    if !(is_root() && shell::has("apt-get")) {
        return Err(Failure::missing(what_to_type()));
    }
    install()?;
    match find() {
        Some(_) => Ok(()),
        None => Err(Failure::missing(format!("postgresql was installed, but no server is in {DEBIAN}/*/bin"))),
    }
}

/// Where `initdb` and `postgres` are. The same places in the same order as the test support looks in.
fn find() -> Option<PathBuf> {
    let named = std::env::var_os("TENANCY_POSTGRES_BIN").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates = named.into_iter().chain(debian_folders()).chain(std::env::split_paths(&path));
    candidates.into_iter().find(|dir| dir.join("initdb").is_file() && dir.join("postgres").is_file())
}

fn debian_folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let mut folders: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    folders.sort_unstable_by_key(|(version, _)| std::cmp::Reverse(*version));
    folders.into_iter().map(|(_, folder)| folder).collect()
}

fn install() -> Result<(), Failure> {
    println!("No Postgres server here. Installing Debian's package postgresql.");
    keep_debian_from_starting_a_cluster()?;
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").env("UCF_FORCE_CONFFOLD", "1");
        println!("$ {}", shell::line(&command));
        shell::run(&mut command)
    };
    apt(&["update", "-q"])?;
    apt(&["install", "-y", "-q", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold", "postgresql"])
}

/// Debian's package makes a cluster and starts it when it is installed. Nothing here uses it, so it is not made;
/// a file that somebody wrote is left as it is.
fn keep_debian_from_starting_a_cluster() -> Result<(), Failure> {
    let file = Path::new("/etc/postgresql-common/createcluster.conf");
    if file.exists() {
        return Ok(());
    }
    println!("Writing {} first, so that the package starts no server of its own.", file.display());
    let folder = file.parent().unwrap_or(file);
    std::fs::create_dir_all(folder).map_err(Failure::at(folder.display()))?;
    std::fs::write(file, "create_main_cluster = false\n").map_err(Failure::at(file.display()))
}

fn what_to_type() -> String {
    let install = INSTALLERS.iter().find(|(tool, _)| shell::has(tool)).map(|(_, line)| *line);
    format!(
        "A Postgres server is needed (initdb and postgres, any version from 14 on). Type:\n    {}",
        install.unwrap_or("export TENANCY_POSTGRES_BIN=/folder/with/initdb/and/postgres")
    )
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

const DEBIAN: &str = "/usr/lib/postgresql";
const INSTALLERS: &[(&str, &str)] = &[
    ("apt-get", "sudo apt-get update && sudo apt-get install -y --no-install-recommends postgresql"),
    ("dnf", "sudo dnf install -y postgresql-server"),
    ("pacman", "sudo pacman -S --noconfirm postgresql"),
    ("apk", "sudo apk add postgresql"),
    ("brew", "brew install postgresql"),
];
