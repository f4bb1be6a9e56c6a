//! `cargo xtask leftovers`: what was meant to be temporary, and files that hold more than one idea.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::shell;

pub(crate) fn run() -> Result<(), Failure> {
    let files = rust_files()?;
    let mut faults = Vec::new();
    for file in &files {
        let text = fs::read_to_string(shell::root().join(file)).map_err(Failure::at(file.display()))?;
        faults.extend(faults_of(file, &text));
    }
    if faults.is_empty() {
        println!("left-overs: none in {} files", files.len());
        return Ok(());
    }
    Err(Failure::new(format!("left-overs:\n  {}", faults.join("\n  "))))
}

/// What git knows or would add.
fn rust_files() -> Result<Vec<PathBuf>, Failure> {
    let mut git = Command::new("git");
    git.current_dir(shell::root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.rs"]);
    let output = shell::output(&mut git)?;
    if !output.status.success() {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr)));
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let files = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    // A file that was deleted and not yet committed is still listed.
    Ok(files.filter(|file| shell::root().join(file).is_file()).collect())
}

fn faults_of(file: &Path, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (word, instead) in WORDS {
            if line.contains(&word.concat()) {
                faults.push(format!("{}:{number}: {} {instead}", file.display(), word.concat()));
            }
        }
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        faults.push(format!("{}: {lines} lines, {MAX_LINES} are the most: a file holds one idea", file.display()));
    }
    faults
}

/// Each word in two parts, so that this file passes its own check.
const WORDS: &[([&str; 2], &str)] = &[
    (["todo", "!("], "is unfinished work"),
    (["unimplemented", "!("], "is unfinished work"),
    (["dbg", "!("], "is for the bench"),
    (["#[ig", "nore"], "hides a test: let it say what it needs, or delete it"),
    (["#[al", "low("], "hides a lint for ever: use #[expect(.., reason = ..)]"),
    (["#![al", "low("], "hides a lint for ever: use #![expect(.., reason = ..)]"),
    (["```ig", "nore"], "hides an example: use no_run, compile_fail or text"),
];

const MAX_LINES: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_found_with_its_line() {
        for (word, _) in WORDS {
            let text = format!("fn f() {{\n    {}\n}}\n", word.concat());
            let faults = faults_of(Path::new("a.rs"), &text);
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert!(faults[0].starts_with(&format!("a.rs:2: {}", word.concat())), "{faults:?}");
        }
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(faults_of(Path::new("a.rs"), &"//\n".repeat(MAX_LINES)), Vec::<String>::new());
        assert_eq!(faults_of(Path::new("a.rs"), &"//\n".repeat(MAX_LINES + 1)).len(), 1);
    }
}
