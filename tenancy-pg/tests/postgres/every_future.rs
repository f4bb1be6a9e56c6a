//! No public future is forgotten: what the source has is what the tables of acts drop.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::acts::ACTS;
use crate::outside::{OF_REPORTS, OUT_OF_REACH, OUTSIDE};

#[test]
fn every_public_future_is_dropped_by_some_act() {
    let source = in_the_source();
    assert!(source.contains("TenantTx::commit") && source.contains("TenantTx::copy_out") && source.contains("migrate"));
    let acts = ACTS
        .iter()
        .flat_map(|act| act.covers)
        .chain(OUTSIDE.iter().flat_map(|act| act.covers))
        .chain(OF_REPORTS)
        .chain(OUT_OF_REACH);
    let covered: BTreeSet<String> = acts.map(|name| (*name).to_owned()).collect();
    let missing: Vec<&String> = source.difference(&covered).collect();
    let gone: Vec<&String> = covered.difference(&source).collect();
    assert!(missing.is_empty(), "dropped by no act: {missing:?}");
    assert!(gone.is_empty(), "not in the source any more: {gone:?}");
}

/// `Type::method` or `function` of each public item that gives a future or a stream of them. Formatted source is regular
/// enough for that: headers of items stand in a column of their own.
fn in_the_source() -> BTreeSet<String> {
    let exported = std::fs::read_to_string(source().join("lib.rs")).unwrap();
    let exported = &exported[exported.find("// The public interface is:").unwrap()..];
    let mut found = BTreeSet::new();
    for file in files(&source()) {
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap();
        let mut owner = None;
        // From the name of a function to the brace that opens its body.
        let mut head: Option<String> = None;
        for line in text.lines() {
            if line.starts_with("impl") {
                owner = Some(Owner::of(line));
            } else if let Some(handle) = line.strip_prefix("executor!(") {
                found.extend(EXECUTOR.map(|name| format!("{}::{name}", Owner::named(handle))));
            } else if line.starts_with('}') {
                owner = None;
            } else if line.starts_with("pub async fn ") || line.starts_with("pub fn ") {
                head = Some(String::new());
            } else if let Some(owner) = &owner {
                let public = line.starts_with("    pub async fn ") || line.starts_with("    pub fn ");
                let of_a_trait = line.starts_with("    async fn ") || line.starts_with("    fn ");
                if public || of_a_trait && owner.is_a_trait {
                    head = Some(String::new());
                }
            }
            let Some(text) = &mut head else { continue };
            text.push_str(line.trim());
            text.push(' ');
            if !line.ends_with('{') && !line.ends_with(';') {
                continue;
            }
            let text = head.take().unwrap();
            let waits = ["async fn ", "BoxFuture<", "BoxStream<", "-> impl Future", "-> impl Stream"];
            if !waits.iter().any(|word| text.contains(word)) {
                continue;
            }
            let name = word(text.split("fn ").nth(1).unwrap());
            match &owner {
                Some(Owner { name: of, .. }) if exported.contains(of.as_str()) => {
                    found.insert(format!("{of}::{name}"));
                }
                Some(_private) => {}
                None => {
                    found.insert(name);
                }
            }
        }
    }
    found
}

/// Of what an `impl` is.
struct Owner {
    name: String,
    is_a_trait: bool,
}

impl Owner {
    fn of(line: &str) -> Self {
        let is_a_trait = line.contains(" for ");
        let name = match line.split_once(" for ") {
            Some((_, name)) => name,
            None => line.split_once("> ").filter(|_| line.starts_with("impl<")).map_or(&line[5..], |(_, name)| name),
        };
        Self { name: Self::named(name), is_a_trait }
    }

    fn named(name: &str) -> String {
        word(name.trim_start_matches("&'c ").trim_start_matches("mut "))
    }
}

/// What the macro gives to a handle.
const EXECUTOR: [&str; 4] = ["describe", "fetch_many", "fetch_optional", "prepare_with"];

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
