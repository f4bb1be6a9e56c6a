//! What mends the findings, for psql.

use std::collections::HashMap;

use tenancy_pg::Finding;

/// What each finding is, as comments, and the statements that mend it.
///
/// A statement that mends several is printed once, under the last of them: what comes before it there may be its condition,
/// as a policy that is dropped before another takes its name.
pub(crate) fn fix_sql(findings: &[Finding]) -> String {
    let parts: Vec<Vec<&str>> = findings.iter().map(|finding| statements(&finding.fix)).collect();
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (at, statement) in parts.iter().enumerate().flat_map(|(at, part)| part.iter().map(move |s| (at, *s))) {
        last.insert(statement, at);
    }
    let one = |(at, finding): (usize, &Finding)| {
        let heading = format!("{} {}: {}", finding.code.as_str(), finding.object, finding.why);
        let mut text: String = heading.lines().map(|line| format!("-- {line}\n")).collect();
        let mut left = parts[at].iter().filter(|statement| last[**statement] == at).peekable();
        if left.peek().is_none() {
            text += "-- mended by what stands below\n";
        }
        left.for_each(|statement| text = format!("{text}{statement}\n"));
        text + "\n"
    };
    findings.iter().enumerate().map(one).collect()
}

/// The statements of a mend, a comment being one too; all of it where one has a body, in which an end of line means nothing.
fn statements(fix: &str) -> Vec<&str> {
    if fix.contains('$') {
        return vec![fix.trim_end()];
    }
    let (mut all, mut begin, mut end) = (Vec::new(), 0, 0);
    for line in fix.split_inclusive('\n') {
        end += line.len();
        let is_comment = begin + line.len() == end && line.starts_with("--");
        if is_comment || line.trim_end().ends_with(';') || end == fix.len() {
            all.push(fix[begin..end].trim_end());
            begin = end;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mend_is_cut_between_statements_and_nowhere_else() {
        for (fix, parts) in [
            ("ALTER TABLE a;", &["ALTER TABLE a;"][..]),
            ("-- read this\nALTER TABLE a\n    x;\nDROP b;\n", &["-- read this", "ALTER TABLE a\n    x;", "DROP b;"]),
            ("DROP b; -- after c\nADD d;", &["DROP b; -- after c\nADD d;"]),
            ("DO $$ BEGIN x;\ny;\nEND $$;", &["DO $$ BEGIN x;\ny;\nEND $$;"]),
            ("CREATE x AS\n-- no end\nSELECT 1;", &["CREATE x AS\n-- no end\nSELECT 1;"]),
            ("-- only words", &["-- only words"]),
        ] {
            assert_eq!(statements(fix), parts, "{fix}");
        }
    }
}
