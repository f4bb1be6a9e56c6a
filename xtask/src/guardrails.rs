//! `cargo xtask guardrails`: clippy finds each path that the lint fragment bans.
//!
//! A ban on a path that does not exist is silent, so a driver that renames a method would switch its ban off. The
//! fixture uses each path once; here each must be found, exactly once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::BufReader;
use std::process::Stdio;

use cargo_metadata::Message;
use serde::Deserialize;

use crate::failure::Failure;
use crate::{shell, workspace};

/// What the fragment bans.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Fragment {
    disallowed_methods: Vec<Ban>,
    disallowed_types: Vec<Ban>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Ban {
    path: String,
    reason: String,
    allow_invalid: bool,
}

pub(crate) fn run() -> Result<(), Failure> {
    let file = shell::root().join(FOLDER).join("clippy.toml");
    let text = fs::read_to_string(&file).map_err(Failure::at(file.display()))?;
    let bans = bans(&text)?;
    let metadata = workspace::metadata()?;
    let graph = workspace::packages(&metadata).keys().map(|name| name.replace('-', "_")).collect();
    let (checked, absent) = split(&bans, &graph);
    let faults = compare(&checked, &found()?);
    if !faults.is_empty() {
        return Err(Failure::new(format!("guardrails:\n  {}", faults.join("\n  "))));
    }
    println!("guardrails: clippy finds all {} banned paths whose crates are in the graph", checked.len());
    if !absent.is_empty() {
        println!("guardrails: not checked, their crates are not in the graph: {}", absent.join(", "));
    }
    Ok(())
}

fn bans(text: &str) -> Result<Vec<String>, Failure> {
    let fragment: Fragment = toml::from_str(text).map_err(|e| Failure::new(format!("{FOLDER}/clippy.toml: {e}")))?;
    let bans = fragment.disallowed_methods.into_iter().chain(fragment.disallowed_types);
    let sound = |ban: Ban| {
        let sound = ban.allow_invalid && !ban.reason.is_empty();
        if sound { Ok(ban.path) } else { Err(Failure::new(format!("{}: say why, and allow-invalid", ban.path))) }
    };
    bans.map(sound).collect()
}

/// Those whose crate is in the graph, and the others.
fn split<'a>(bans: &'a [String], graph: &BTreeSet<String>) -> (Vec<&'a str>, Vec<&'a str>) {
    let krate = |path: &str| path.split("::").next().unwrap_or_default().to_owned();
    bans.iter().map(String::as_str).partition(|path| graph.contains(&krate(path)))
}

/// What clippy finds in the fixture, and how often.
fn found() -> Result<BTreeMap<String, usize>, Failure> {
    let mut clippy = shell::cargo();
    clippy.args(["clippy", "--quiet", "--package", "guardrails-fixture", "--no-deps", "--message-format", "json"]);
    clippy.env("CLIPPY_CONF_DIR", shell::root().join(FOLDER));
    let line = shell::line(&clippy);
    let mut child = clippy.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(Failure::at(&line))?;
    let mut found = BTreeMap::new();
    if let Some(stdout) = child.stdout.take() {
        for message in Message::parse_stream(BufReader::new(stdout)) {
            let Message::CompilerMessage(message) = message.map_err(Failure::at(&line))? else { continue };
            let lint = message.message.code.as_ref().map_or("", |code| code.code.as_str());
            if !LINTS.contains(&lint) {
                eprint!("{}", message.message.rendered.unwrap_or_default());
            } else if let Some(path) = message.message.message.split('`').nth(1) {
                *found.entry(path.to_owned()).or_default() += 1;
            }
        }
    }
    let status = child.wait().map_err(Failure::at(&line))?;
    if status.success() { Ok(found) } else { Err(Failure::new(format!("the fixture does not build: {line}"))) }
}

fn compare(banned: &[&str], found: &BTreeMap<String, usize>) -> Vec<String> {
    let once = banned.iter().filter_map(|path| match found.get(*path) {
        Some(1) => None,
        Some(times) => Some(format!("{path} is found {times} times: the fixture must use it once")),
        None => Some(format!("{path} is not found: renamed, or not used by guardrails/fixture")),
    });
    let known: BTreeSet<&str> = banned.iter().copied().collect();
    let strangers = found.keys().filter(|path| !known.contains(path.as_str()));
    once.chain(strangers.map(|path| format!("{path} is found and is not in the fragment"))).collect()
}

const FOLDER: &str = "guardrails";
const LINTS: &[&str] = &["clippy::disallowed_methods", "clippy::disallowed_types"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ban_is_found_once_or_is_a_fault() {
        let found = |pairs: &[(&str, usize)]| pairs.iter().map(|(path, n)| ((*path).to_owned(), *n)).collect();
        assert_eq!(compare(&["a::b"], &found(&[("a::b", 1)])), Vec::<String>::new());
        assert_eq!(compare(&["a::b"], &found(&[])).len(), 1);
        assert_eq!(compare(&["a::b"], &found(&[("a::b", 2)])).len(), 1);
        assert_eq!(compare(&[], &found(&[("a::b", 1)])).len(), 1);
    }

    #[test]
    fn a_path_is_checked_once_its_crate_is_in_the_graph() {
        let bans = ["redis::Client::open".to_owned(), "sqlx::Pool::connect".to_owned()];
        let graph = BTreeSet::from(["sqlx".to_owned()]);
        assert_eq!(split(&bans, &graph), (vec!["sqlx::Pool::connect"], vec!["redis::Client::open"]));
    }

    #[test]
    fn a_ban_needs_a_reason() {
        let text = |reason: &str| {
            format!(
                "disallowed-methods = [{{ path = \"a::b\", reason = \"{reason}\", allow-invalid = true }}]\ndisallowed-types = []"
            )
        };
        assert!(bans(&text("because")).is_ok());
        assert!(bans(&text("")).is_err());
    }
}
