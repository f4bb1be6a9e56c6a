//! `cargo xtask laws`: each patch of tests/breaks breaks one law in one place, and the test it names must go red.
//!
//! A test that cannot fail proves nothing. The patches are applied one by one to a copy of the tree, never to the tree
//! itself.

mod header;
mod tree;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use self::header::{Expect, Header};
use self::tree::Tree;
use self::verdict::{Run, Verdict};
use crate::failure::Failure;
use crate::servers::{self, Choice};
use crate::shell;

#[derive(Args)]
pub(crate) struct Options {
    /// Only patches whose file name contains this. The counts are not checked then.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

struct Break {
    name: String,
    file: PathBuf,
    header: Header,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let start = Instant::now();
    let breaks = read(&shell::root().join("tests/breaks"), options.only.as_deref())?;
    if options.only.is_none() {
        enough(&breaks)?;
    }
    servers::ensure(Choice::Installed)?;
    let tree = Tree::copy(servers::ensure_pgvector()?)?;

    let green = green_before(&tree, &breaks)?;
    let mut rows = Vec::new();
    for (number, one) in (1..).zip(&breaks) {
        println!("\n[{number}/{}] {}: law {}, {}", breaks.len(), one.name, one.header.law, one.header.breaks);
        let verdict = if green.contains(&one.header.test) { judge(&tree, one)? } else { Verdict::NotGreenBefore };
        println!("    {verdict}");
        rows.push((one, verdict));
    }
    report(&rows, start)
}

/// The tests that are green on the whole tree. All of them are run before anything is broken, so that what they need is
/// built once.
fn green_before<'a>(tree: &Tree, breaks: &'a [Break]) -> Result<BTreeSet<&'a Vec<String>>, Failure> {
    let tests: BTreeSet<&Vec<String>> = breaks.iter().map(|one| &one.header.test).collect();
    println!("{} tests on the whole tree", tests.len());
    let mut green = BTreeSet::new();
    for test in tests {
        if Run::of(tree, test)? == Run::Green {
            green.insert(test);
        }
    }
    Ok(green)
}

/// The patch must apply, and its test, green without it, must be red with it.
fn judge(tree: &Tree, one: &Break) -> Result<Verdict, Failure> {
    println!("    cargo test {}", one.header.test.join(" "));
    if !tree.apply(&one.file)? {
        return Ok(Verdict::DoesNotApply);
    }
    let run = Run::of(tree, &one.header.test)?;
    tree.restore()?;
    Ok(match (one.header.expect, run) {
        (Expect::Test, Run::Red) | (Expect::Compile, Run::DoesNotCompile) => Verdict::Red,
        (_, Run::Green) => Verdict::StaysGreen,
        (Expect::Test, Run::DoesNotCompile) => Verdict::DoesNotCompile,
        (Expect::Compile, Run::Red) => Verdict::Compiles,
        (_, Run::NothingRan) => Verdict::NotGreenBefore,
    })
}

fn read(folder: &Path, only: Option<&str>) -> Result<Vec<Break>, Failure> {
    let entries = fs::read_dir(folder).map_err(Failure::at(folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "patch"));
    files.sort_unstable();
    let mut breaks = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if only.is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(Failure::at(file.display()))?;
        let header = Header::parse(&text).map_err(|e| Failure::new(format!("{}: {e}", file.display())))?;
        breaks.push(Break { name, file, header });
    }
    if breaks.is_empty() { Err(Failure::new("no patch is meant")) } else { Ok(breaks) }
}

fn enough(breaks: &[Break]) -> Result<(), Failure> {
    let mut laws: BTreeMap<&str, usize> = BTreeMap::new();
    for one in breaks {
        *laws.entry(&one.header.law).or_default() += 1;
    }
    let mut faults: Vec<String> = laws
        .iter()
        .filter(|(_, count)| **count < PER_LAW)
        .map(|(law, count)| format!("law {law} has {count} patch, {PER_LAW} are the least"))
        .collect();
    if breaks.len() < IN_ALL {
        faults.push(format!("{} patches, {IN_ALL} are the least", breaks.len()));
    }
    if faults.is_empty() { Ok(()) } else { Err(Failure::new(format!("laws:\n  {}", faults.join("\n  ")))) }
}

fn report(rows: &[(&Break, Verdict)], start: Instant) -> Result<(), Failure> {
    println!("\n{:<6} {:<36} verdict", "law", "patch");
    for (one, verdict) in rows {
        println!("{:<6} {:<36} {verdict}", one.header.law, one.name);
    }
    let bad = rows.iter().filter(|(_, verdict)| *verdict != Verdict::Red).count();
    let line = format!("laws: {} patches, {bad} without effect; {}", rows.len(), shell::since(start));
    if bad > 0 {
        return Err(Failure::new(format!("\n{line}")));
    }
    println!("\n{line}");
    Ok(())
}

const PER_LAW: usize = 2;
const IN_ALL: usize = 25;
