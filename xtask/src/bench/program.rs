//! A program that measures when it is told to.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cargo_metadata::Message;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::shell;

/// Takes a command on its standard input and answers with one line of JSON. Ends with this value.
pub(super) struct Program {
    name: String,
    child: Child,
    commands: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Program {
    /// Starts it; its first line says that it is ready.
    pub(super) fn start<T: DeserializeOwned>(command: &mut Command) -> Result<(Self, T), Failure> {
        let name = shell::line(command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(Failure::at(&name))?;
        let (Some(commands), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new(format!("no pipes to {name}")));
        };
        let answers = BufReader::new(answers).lines();
        let mut program = Self { name, child, commands: Some(commands), answers };
        let ready = program.answer()?;
        Ok((program, ready))
    }

    pub(super) fn ask<T: DeserializeOwned>(&mut self, command: &str) -> Result<T, Failure> {
        if let Some(commands) = &mut self.commands {
            writeln!(commands, "{command}").map_err(Failure::at(&self.name))?;
        }
        self.answer()
    }

    fn answer<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let line = self.answers.next().ok_or_else(|| Failure::new(format!("{} ended", self.name)))?;
        let line = line.map_err(Failure::at(&self.name))?;
        serde_json::from_str(&line).map_err(|e| Failure::new(format!("{}: {e}: {line}", self.name)))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The end of its input is the end of its work.
        self.commands = None;
        let _ended = self.child.wait();
    }
}

/// The bench of a member, built for release; the line that cargo prints for it says where it is.
pub(super) fn build(member: &str, bench: &str) -> Result<PathBuf, Failure> {
    let mut cargo = shell::cargo();
    cargo.args(["bench", "--package", member, "--bench", bench, "--no-run", "--message-format"]);
    let mut child =
        cargo.arg("json-render-diagnostics").stdout(Stdio::piped()).spawn().map_err(Failure::at("cargo"))?;
    let mut program = None;
    for message in child.stdout.take().into_iter().flat_map(|out| Message::parse_stream(BufReader::new(out))) {
        if let Message::CompilerArtifact(artifact) = message.map_err(Failure::at("cargo bench"))? {
            program = artifact.executable.filter(|_| artifact.target.name == bench).or(program);
        }
    }
    let built = child.wait().map_err(Failure::at("cargo bench"))?.success();
    program.filter(|_| built).map(Into::into).ok_or_else(|| Failure::new(format!("failed: {}", shell::line(&cargo))))
}
