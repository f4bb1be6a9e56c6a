//! Builds the test programs and learns whose each one is.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::process::{Command, Stdio};

use cargo_metadata::{Artifact, Message, TargetKind};

use crate::failure::Failure;
use crate::shell;

/// The file name of a test program, and what to call it.
pub(super) type Suites = BTreeMap<String, String>;

/// Builds without running. Cargo's progress goes to the terminal, the list of programs to us.
pub(super) fn build(mut command: Command) -> Result<Suites, Failure> {
    command.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    let line = shell::line(&command);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(Failure::at(&line))?;
    let mut suites = Suites::new();
    if let Some(stdout) = child.stdout.take() {
        for message in Message::parse_stream(BufReader::new(stdout)) {
            if let Message::CompilerArtifact(artifact) = message.map_err(Failure::at(&line))? {
                suites.extend(suite(&artifact));
            }
        }
    }
    let status = child.wait().map_err(Failure::at(&line))?;
    if status.success() { Ok(suites) } else { Err(Failure::new(format!("the tests do not build: {line}"))) }
}

fn suite(artifact: &Artifact) -> Option<(String, String)> {
    let program = artifact.executable.as_ref().filter(|_| artifact.profile.test)?;
    let manifest = artifact.manifest_path.parent()?.file_name()?;
    let target = &artifact.target;
    let name = match target.kind.first()? {
        TargetKind::Test => format!("{manifest}/tests/{}", target.name),
        TargetKind::Bin => format!("{manifest} (bin)"),
        TargetKind::Example => format!("{manifest}/examples/{}", target.name),
        _ => format!("{manifest} (unit)"),
    };
    Some((program.file_name()?.to_owned(), name))
}
