//! Where the programs are.

use std::path::PathBuf;

use crate::keeper::search_path;

/// The folder of a server with pgvector: the one that `TENANCY_PGVECTOR_BIN` names, else that of [`postgres`].
pub(super) fn with_pgvector() -> Option<PathBuf> {
    std::env::var_os("TENANCY_PGVECTOR_BIN").map(PathBuf::from).or_else(postgres)
}

/// The folder with `initdb` and `postgres`: the one that `TENANCY_POSTGRES_BIN` names, else the newest below Debian's
/// directory, else what the path finds.
pub(super) fn postgres() -> Option<PathBuf> {
    let complete = |dir: &PathBuf| dir.join("initdb").is_file() && dir.join("postgres").is_file();
    if let Some(named) = std::env::var_os("TENANCY_POSTGRES_BIN") {
        // Named and not there is a mistake; another version instead would hide it.
        return Some(PathBuf::from(named)).filter(complete);
    }
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .collect();
    versions.sort_unstable_by_key(|(version, _)| std::cmp::Reverse(*version));
    let debian = versions.into_iter().map(|(_, dir)| dir);
    debian.chain(search_path()).find(complete)
}
