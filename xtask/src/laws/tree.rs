//! A copy of the tree to break, in target/laws/tree, with a target folder of its own beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::servers::PGVECTOR;
use crate::shell;

pub(super) struct Tree {
    root: PathBuf,
    with_pgvector: PathBuf,
    /// As they were when the run began, so that work can go on in the clone meanwhile.
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Tree {
    /// Copies what git knows or would add. Whatever an interrupted run left behind is put right. Tests find the programs of
    /// a server with pgvector in that folder.
    pub(super) fn copy(with_pgvector: PathBuf) -> Result<Self, Failure> {
        let mut git = Command::new("git");
        git.current_dir(shell::root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let listed = String::from_utf8_lossy(&shell::output(&mut git)?.stdout).into_owned();
        let names = listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
        // A file that was deleted and not yet committed is still listed.
        let files =
            names.filter_map(|name| fs::read(shell::root().join(&name)).ok().map(|bytes| (name, bytes))).collect();
        let tree = Self { root: shell::root().join("target/laws/tree"), with_pgvector, files };
        tree.remove_strangers(&tree.root)?;
        tree.restore()?;
        Ok(tree)
    }

    /// Makes every file whole again. One that is keeps its time, so that cargo builds nothing again for it.
    pub(super) fn restore(&self) -> Result<(), Failure> {
        for (name, wanted) in &self.files {
            let to = self.root.join(name);
            if fs::read(&to).is_ok_and(|there| there == *wanted) {
                continue;
            }
            let folder = to.parent().unwrap_or(&self.root);
            fs::create_dir_all(folder).map_err(Failure::at(folder.display()))?;
            fs::write(&to, wanted).map_err(Failure::at(to.display()))?;
        }
        Ok(())
    }

    /// False when the patch does not apply.
    pub(super) fn apply(&self, patch: &Path) -> Result<bool, Failure> {
        let mut git = Command::new("git");
        // Without the ceiling git would find the clone around the copy, and leave out files it takes for foreign.
        let ceiling = self.root.parent().unwrap_or(&self.root);
        git.current_dir(&self.root).env("GIT_CEILING_DIRECTORIES", ceiling).env_remove("GIT_DIR");
        git.args(["apply", "--whitespace=nowarn"]).arg(patch);
        let output = shell::output(&mut git)?;
        print!("{}", String::from_utf8_lossy(&output.stderr));
        Ok(output.status.success())
    }

    /// Cargo in the copy. Its target folder is kept from run to run.
    pub(super) fn cargo(&self) -> Command {
        let mut cargo = shell::cargo();
        cargo.current_dir(&self.root).env("CARGO_TARGET_DIR", shell::root().join("target/laws/target"));
        cargo.env(PGVECTOR, &self.with_pgvector);
        cargo
    }

    /// Removes files that the clone does not have: what a patch added, or what was renamed since.
    fn remove_strangers(&self, folder: &Path) -> Result<(), Failure> {
        let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                self.remove_strangers(&path)?;
            } else if !path.strip_prefix(&self.root).is_ok_and(|file| self.files.iter().any(|(known, _)| known == file))
            {
                fs::remove_file(&path).map_err(Failure::at(path.display()))?;
            }
        }
        Ok(())
    }
}
