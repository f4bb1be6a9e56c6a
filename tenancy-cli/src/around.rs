//! What stands around a printed migration of vectors, as comments: what has to be there before it, and what comes after it.
//! Whoever has only the printed text gets it running.

use tenancy_pg::Declaration;
use tenancy_vector::pgvector::PgVectorTables;

/// A migration of vectors and whom it is for, each name as it was typed.
pub(crate) struct Around<'a> {
    pub(crate) declaration: &'a Declaration,
    pub(crate) app: &'a str,
    /// The role beside the service's, and what it does.
    pub(crate) other: (&'a str, &'static str),
    /// Whether tables of tenants are made, and not those of corpora.
    pub(crate) of_tenants: bool,
}

impl Around<'_> {
    /// The migration between its comments. `entries` is what `tenancy.toml` says of the tables.
    pub(crate) fn text(&self, sql: &str, kind: &str, entries: &[String]) -> String {
        format!("{}\n{sql}\n{}", commented(&self.before()), commented(&self.after(kind, entries)))
    }

    fn before(&self) -> String {
        let (app, (other, task)) = (self.app, self.other);
        let mut text = format!(
            "Before this, as a superuser, in the database that it is for:\n    CREATE EXTENSION IF NOT EXISTS vector;\n    \
             CREATE ROLE {} LOGIN;    -- the service, with a password or however it is to log in; unless it is there\n    \
             CREATE ROLE {} LOGIN;    -- who {task}: another secret, in no process that only serves\n",
            quoted(app),
            quoted(other)
        );
        if self.declaration.signed() {
            let other = if self.of_tenants { format!(" --app {}", word(other)) } else { String::new() };
            text += &format!(
                "and the schema of signed mode, with every role that its policies hold:\n    \
                 tenancy policy harden --owner OWNER --keep OWNER --app {}{other} | psql -v ON_ERROR_STOP=1 \
                 postgres://SUPERUSER@HOST/DATABASE\n",
                word(app)
            );
        }
        text + "\nThen this, as the owner of the tables, who is none of these roles:\n    \
                psql --single-transaction -v ON_ERROR_STOP=1 -f THIS postgres://OWNER@HOST/DATABASE\n"
    }

    fn after(&self, kind: &str, entries: &[String]) -> String {
        let mut text = "After it:\n".to_owned();
        if self.of_tenants && self.declaration.registry() {
            let by = if self.declaration.signed() { "SUPERUSER" } else { "OWNER" };
            text += &format!(
                "the keys to the registry of tenants, and the registry where it is not there; what it prints is for OWNER:\n    \
                 tenancy policy diff --app {} --database-url postgres://OWNER@HOST/DATABASE\n\
                 and, as {by}, that who drops lives may see which of them are registered:\n    {}",
                word(self.app),
                PgVectorTables::registry_sql(self.other.0).trim_end().replace('\n', "\n    ")
            );
            text.push('\n');
        }
        let lines: String = entries.iter().map(|entry| format!("        {entry},\n")).collect();
        text + &format!(
            "whether all of it holds, as the service:\n    tenancy inspect --database-url postgres://{}@HOST/DATABASE\n\n\
             tenancy.toml, which the service reads too, says of these tables:\n    [database]\n    {kind} = [\n{lines}    ]\n",
            word(self.app)
        )
    }
}

/// A name may hold the end of a line, and what came after it would be no comment.
fn commented(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { "--\n".to_owned() } else { format!("-- {line}\n") };
    text.split(['\n', '\r']).map(line).collect::<String>().trim_end_matches("--\n").to_owned()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// As a word of a shell.
fn word(name: &str) -> String {
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if is_plain { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_gets_out_of_a_comment() {
        let declaration = Declaration::from_toml(
            "[database]\nsigned = true\nregistry = true\n\
             tenant-tables = [{ table = 'chunk', column = 'tenant_id', type = 'uuid' }]",
        );
        let odd = "a\n; DROP TABLE chunk;\r'\"";
        let around =
            Around { declaration: &declaration.unwrap(), app: odd, other: (odd, "drops lives"), of_tenants: true };
        let text = around.text("SELECT 1;\n", "tenant-tables", &[odd.to_owned()]);
        let bare: Vec<&str> =
            text.split(['\n', '\r']).filter(|line| !line.is_empty() && !line.starts_with("--")).collect();
        assert_eq!(bare, ["SELECT 1;"], "{text}");
        assert_eq!(word("it's"), r"'it'\''s'");
    }
}
