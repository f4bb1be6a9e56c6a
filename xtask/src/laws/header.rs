//! The lines above the diff of a patch: which law it breaks, how, and which test must go red.
//!
//! ```text
//! law: 5
//! breaks: a context is served after its deadline
//! test: -p tenancy-core --test fence the_deadline_ends_a_context
//! expect: test
//!
//! diff --git a/...
//! ```
//!
//! `expect` may be left out. `compile` means that the test must not compile any more.

/// What must happen to the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    /// It compiles and fails.
    Test,
    /// It does not compile.
    Compile,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The law's number, such as `2` or `2a`.
    pub(super) law: String,
    pub(super) breaks: String,
    /// Arguments of `cargo test`.
    pub(super) test: Vec<String>,
    pub(super) expect: Expect,
}

impl Header {
    pub(super) fn parse(patch: &str) -> Result<Self, String> {
        let lines: Vec<&str> = patch.lines().take_while(|line| !is_diff(line)).collect();
        if lines.len() == patch.lines().count() {
            return Err("there is no diff".to_owned());
        }
        let value = |name: &str| {
            let value = lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.map(str::trim).filter(|value| !value.is_empty())
        };
        let needed = |name: &str| value(name).ok_or_else(|| format!("the line `{name}: ...` is missing"));
        let expect = match value("expect") {
            None | Some("test") => Expect::Test,
            Some("compile") => Expect::Compile,
            Some(other) => return Err(format!("expect: {other}? test or compile")),
        };
        Ok(Self {
            law: needed("law")?.to_owned(),
            breaks: needed("breaks")?.to_owned(),
            test: needed("test")?.split_whitespace().map(str::to_owned).collect(),
            expect,
        })
    }
}

fn is_diff(line: &str) -> bool {
    line.starts_with("diff --git ") || line.starts_with("--- ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "law: 2a\nbreaks: a thing\ntest: -p x --test y z\n\ndiff --git a/x b/x\nexpect: compile\n";

    #[test]
    fn a_header_ends_at_the_diff() {
        let header = Header::parse(PATCH).unwrap();
        assert_eq!(header.law, "2a");
        assert_eq!(header.test, ["-p", "x", "--test", "y", "z"]);
        assert_eq!(header.expect, Expect::Test);
    }

    #[test]
    fn each_line_is_needed() {
        for name in ["law", "breaks", "test"] {
            let error = Header::parse(&PATCH.replace(&format!("{name}:"), "note:")).unwrap_err();
            assert!(error.contains(name), "{error}");
        }
        assert!(Header::parse("law: 1\nbreaks: a\ntest: b\n").is_err());
        assert!(Header::parse(&PATCH.replace("law:", "expect: luck\nlaw:")).is_err());
    }
}
