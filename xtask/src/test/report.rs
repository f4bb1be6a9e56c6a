//! Follows `cargo test`: one line a suite, everything about a failure as it is, and a summary.

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use super::suites::Suites;
use crate::failure::Failure;
use crate::shell;

pub(super) struct Report<W> {
    suites: Suites,
    out: W,
    /// What follows the names of suites: the server, from the second on.
    server: String,
    /// The suite that is running.
    current: String,
    seen: usize,
    total: Counts,
    failed: Vec<String>,
    /// Whether the last line was left out: the empty lines around it go too.
    quiet: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl<W: Write> Report<W> {
    pub(super) fn new(suites: Suites, out: W) -> Self {
        let server = String::new();
        Self {
            suites,
            out,
            server,
            current: String::new(),
            seen: 0,
            total: Counts::default(),
            failed: Vec::new(),
            quiet: true,
        }
    }

    pub(super) fn suites(&self) -> &Suites {
        &self.suites
    }

    /// What follows runs again, on another Postgres.
    pub(super) fn now_on(&mut self, major: u32) {
        self.server = format!(" on PostgreSQL {major}");
    }

    pub(super) fn follow(&mut self, lines: impl BufRead) -> io::Result<()> {
        for line in lines.split(b'\n') {
            self.line(&without_colours(&String::from_utf8_lossy(&line?)))?;
        }
        Ok(())
    }

    /// The summary; a failure when anything failed, was left out, or nothing ran.
    pub(super) fn close(mut self, success: bool, start: Instant) -> Result<(), Failure> {
        let Counts { passed, failed, ignored } = self.total;
        let time = shell::since(start);
        let suites = self.seen;
        let line = format!("tests: {passed} passed, {failed} failed, {ignored} ignored in {suites} suites; {time}");
        if !success || failed > 0 {
            let list = self.failed.iter().map(|name| format!("\n  {name}")).collect::<String>();
            return Err(Failure::new(format!("\n{line}{list}")));
        }
        if passed == 0 {
            return Err(Failure::new(format!("\n{line}\nno test ran: is the filter right?")));
        }
        writeln!(self.out, "\n{line}").map_err(Failure::at("stdout"))
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        let text = line.trim();
        if let Some(counts) = Counts::parse(text) {
            return self.suite_ended(counts, took(text));
        }
        if let Some(program) = text.strip_prefix("Running ").and_then(|rest| rest.strip_suffix(')')) {
            let file = program.rsplit(['/', '(']).next().unwrap_or(program);
            let name = self.suites.get(file).map_or(program, String::as_str);
            self.current = format!("{name}{}", self.server);
        } else if let Some(library) = text.strip_prefix("Doc-tests ") {
            self.current = format!("{} (doc)", library.replace('_', "-"));
        } else if let Some(name) = text.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.failed.push(format!("{}: {name}", self.current));
            return self.print(line);
        } else if !(is_routine(text) || text.is_empty() && self.quiet) {
            return self.print(line);
        }
        self.quiet = true;
        Ok(())
    }

    fn suite_ended(&mut self, counts: Counts, took: Option<Duration>) -> io::Result<()> {
        self.quiet = true;
        self.total.passed += counts.passed;
        self.total.failed += counts.failed;
        self.total.ignored += counts.ignored;
        if counts == Counts::default() {
            return Ok(());
        }
        self.seen += 1;
        let verdict = if counts.failed == 0 { "ok    " } else { "FAILED" };
        write!(self.out, "{verdict} {:<44} {:>4} passed", self.current, counts.passed)?;
        for (count, word) in [(counts.failed, "failed"), (counts.ignored, "ignored")] {
            if count > 0 {
                write!(self.out, ", {count} {word}")?;
            }
        }
        match took.filter(|took| *took >= LONG) {
            Some(took) => writeln!(self.out, "  {}", shell::duration(took)),
            None => writeln!(self.out),
        }
    }

    fn print(&mut self, line: &str) -> io::Result<()> {
        self.quiet = false;
        writeln!(self.out, "{line}")
    }
}

impl Counts {
    /// Reads `test result: ok. 3 passed; 0 failed; 0 ignored; ...`.
    fn parse(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut result = Self::default();
        for part in counts.split("; ") {
            let (number, word) = part.split_once(' ')?;
            match word {
                "passed" => result.passed = number.parse().ok()?,
                "failed" => result.failed = number.parse().ok()?,
                "ignored" => result.ignored = number.parse().ok()?,
                _ => {}
            }
        }
        Some(result)
    }
}

/// Reads the end of `test result: ok. 3 passed; ...; finished in 12.34s`.
fn took(line: &str) -> Option<Duration> {
    let (_, seconds) = line.rsplit_once("; finished in ")?;
    Duration::try_from_secs_f64(seconds.strip_suffix('s')?.parse().ok()?).ok()
}

/// What takes longer says so.
const LONG: Duration = Duration::from_secs(10);

/// Some test tools colour their output whoever reads it.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect::<String>()
}

/// Lines that say only that things go as they should.
fn is_routine(text: &str) -> bool {
    let test_passed = text.starts_with("test ") && text.ends_with(" ... ok");
    let counts = text.starts_with("running ") && (text.ends_with(" tests") || text.ends_with(" test"));
    let cargo = ["Compiling ", "Checking ", "Finished ", "Fresh ", "Blocking ", "all doctests ran in "];
    test_passed || counts || cargo.iter().any(|prefix| text.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREEN: &str = "   Compiling tenancy-core v0.1.0 (/x)
    Finished `test` profile [unoptimized] target(s) in 0.20s
     Running unittests src/lib.rs (target/debug/deps/tenancy_core-0a1b)

running 2 tests
test encode::tests::pinned ... ok
test id::tests::parse ... ok
test \u{1b}[0m\u{1b}[1mfail/x.rs\u{1b}[0m ... \u{1b}[32mok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/empty.rs (target/debug/deps/empty-0a1b)

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.00s

   Doc-tests tenancy_core

running 1 test
test tenancy-core/src/lib.rs - (line 26) ... ok

test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 73.04s

all doctests ran in 1.20s; merged doctests compilation took 1.00s
";

    const RED: &str = "     Running tests/fence.rs (target/debug/deps/fence-77)

running 2 tests
test a ... ok
test b ... FAILED

failures:

---- b stdout ----
left: 1

failures:
    b

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `-p tenancy-core --test fence`
";

    fn followed(text: &str) -> (Report<Vec<u8>>, String) {
        let suites = Suites::from([
            ("tenancy_core-0a1b".to_owned(), "tenancy-core (unit)".to_owned()),
            ("fence-77".to_owned(), "tenancy-core/tests/fence".to_owned()),
        ]);
        let mut report = Report::new(suites, Vec::new());
        report.follow(text.as_bytes()).unwrap();
        let printed = String::from_utf8(report.out.clone()).unwrap();
        (report, printed)
    }

    fn words(printed: &str) -> Vec<String> {
        printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_green_run_is_one_line_a_suite() {
        let (report, printed) = followed(GREEN);
        assert_eq!(
            words(&printed),
            ["ok tenancy-core (unit) 2 passed", "ok tenancy-core (doc) 1 passed, 1 ignored 1 min 13 s"]
        );
        assert_eq!(report.total, Counts { passed: 3, failed: 0, ignored: 1 });
        assert_eq!(report.seen, 2);
        assert!(report.close(true, Instant::now()).is_ok());
    }

    #[test]
    fn a_suite_that_runs_again_on_another_server_says_so() {
        let (mut report, first) = followed(GREEN);
        report.now_on(18);
        report.follow(GREEN.as_bytes()).unwrap();
        let printed = String::from_utf8(report.out.clone()).unwrap();
        let again = words(printed.strip_prefix(&first).unwrap());
        assert_eq!(again[0], "ok tenancy-core (unit) on PostgreSQL 18 2 passed");
        assert_eq!((report.seen, report.total.passed), (4, 6));
    }

    #[test]
    fn a_failure_is_shown_whole_and_named_in_the_summary() {
        let (report, printed) = followed(RED);
        for part in ["---- b stdout ----", "left: 1", "to rerun pass `-p tenancy-core --test fence`"] {
            assert!(printed.contains(part), "{part} is not in {printed}");
        }
        assert!(!printed.contains("test a ... ok"));
        let failure = report.close(false, Instant::now()).unwrap_err().to_string();
        assert!(failure.contains("1 passed, 1 failed"), "{failure}");
        assert!(failure.contains("tenancy-core/tests/fence: b"), "{failure}");
    }

    #[test]
    fn a_crash_without_a_result_line_still_fails() {
        let (report, _) = followed("     Running tests/fence.rs (target/debug/deps/fence-77)\nrunning 1 test\n");
        assert!(report.close(false, Instant::now()).is_err());
    }

    #[test]
    fn nothing_run_is_no_success() {
        let (report, _) = followed("");
        assert!(report.close(true, Instant::now()).is_err());
    }
}
