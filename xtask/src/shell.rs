//! Running other programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// The top of the clone.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo, at the top of the clone: the one that runs us, so that its version is the pinned one.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What `cargo run` set for us is about this package and would make cargo rebuild others.
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PKG_") || name_text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command.current_dir(root());
    command
}

/// Runs to the end with our own output; a status other than 0 is a failure that quotes the command.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.stdin(Stdio::null()).status().map_err(Failure::at(line(command)))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("failed ({status}): {}", line(command)))) }
}

/// Runs to the end and gives back what it printed.
pub(crate) fn output(command: &mut Command) -> Result<std::process::Output, Failure> {
    command.stdin(Stdio::null()).output().map_err(Failure::at(line(command)))
}

/// The command as one could type it.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args()).map(|word| {
        let word = word.to_string_lossy();
        if word.contains(' ') { format!("'{word}'") } else { word.into_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Whether a program is in the path.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// `3 min 07 s`, or `4.2 s`.
pub(crate) fn since(start: Instant) -> String {
    duration(start.elapsed())
}

pub(crate) fn duration(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_reads_as_one_would_type_it() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["test", "a b"]);
        assert_eq!(line(&command), "cargo test 'a b'");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(duration(Duration::from_millis(4_230)), "4.2 s");
        assert_eq!(duration(Duration::from_secs(187)), "3 min 07 s");
    }

    #[test]
    fn the_root_holds_the_lock_file() {
        assert!(root().join("Cargo.lock").is_file());
    }
}
