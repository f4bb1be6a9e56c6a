//! What a named test does, and what that says about a patch.

use std::fmt;

use super::tree::Tree;
use crate::failure::Failure;
use crate::shell;

/// One run of a named test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Green,
    Red,
    DoesNotCompile,
    /// The name matches no test.
    NothingRan,
}

impl Run {
    pub(super) fn of(tree: &Tree, test: &[String]) -> Result<Self, Failure> {
        let selection = test.split(|word| word == "--").next().unwrap_or(test);
        let build = shell::output(tree.cargo().args(["test", "--quiet", "--no-run"]).args(selection))?;
        if !build.status.success() {
            println!("{}", first_error(&String::from_utf8_lossy(&build.stderr)));
            return Ok(Self::DoesNotCompile);
        }
        let run = shell::output(tree.cargo().args(["test", "--no-fail-fast"]).args(test))?;
        let text = String::from_utf8_lossy(&run.stdout);
        Ok(match (run.status.success(), ran(&text)) {
            (false, _) => Self::Red,
            (true, 0) => Self::NothingRan,
            (true, _) => Self::Green,
        })
    }
}

/// How many tests passed.
fn ran(output: &str) -> u64 {
    let results = output.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    results.filter_map(|line| line.split(' ').next()?.parse::<u64>().ok()).sum()
}

fn first_error(stderr: &str) -> &str {
    stderr.lines().find(|line| line.starts_with("error")).unwrap_or("it does not compile")
}

/// What is said of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Red,
    StaysGreen,
    DoesNotApply,
    DoesNotCompile,
    Compiles,
    NotGreenBefore,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Red => "red, as it must",
            Self::StaysGreen => "FAULT: the test stays green",
            Self::DoesNotApply => "FAULT: the patch does not apply",
            Self::DoesNotCompile => "FAULT: does not compile; a law is broken by code that runs",
            Self::Compiles => "FAULT: compiles and fails, where it must not compile",
            Self::NotGreenBefore => "FAULT: the test is not green without the patch, or its name matches none",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_ran_are_counted_over_all_programs() {
        let output = "test result: ok. 2 passed; 0 failed\n\ntest result: ok. 0 passed; 0 failed\n";
        assert_eq!(ran(output), 2);
        assert_eq!(ran("running 0 tests\n"), 0);
    }
}
