//! A proposal as a `tenancy.toml`.

use std::fmt;

use super::{Proposal, Proposed, ProposedView, Undecided};
use crate::declaration::{DEFAULT_SETTING, quoted};
use crate::ident::quote_ident;

impl fmt::Display for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[database]")?;
        match &self.setting {
            Some(setting) if setting == DEFAULT_SETTING => {}
            Some(setting) => writeln!(f, "setting = {}            # read by the present policies", quoted(setting))?,
            None if self.signed => {}
            None => writeln!(f, "# setting = {}   # unless your policies read another", quoted(DEFAULT_SETTING))?,
        }
        if self.signed {
            writeln!(f, "signed = true")?;
        }
        if self.tenant.is_empty() {
            match &self.column {
                Some(column) => {
                    writeln!(
                        f,
                        "# No table has a column {} of a row key's type: uuid, bigint or text.",
                        quoted(column)
                    )?;
                }
                None => writeln!(
                    f,
                    "# No table has a column that looks like a tenant's. If yours has another name: tenancy init --column NAME"
                )?,
            }
        }
        writeln!(f, "tenant-tables = [")?;
        self.tenant.iter().try_for_each(|table| writeln!(f, "    {table}"))?;
        self.to_adopt(f)?;
        writeln!(f, "]")?;
        let undecided = || self.undecided.iter().filter(|relation| !(relation.table && self.tenant.is_empty()));
        if undecided().next().is_some() {
            writeln!(
                f,
                "\n# Whose are the rows of these? Take the # off what is the same for everybody. What stays out is a"
            )?;
            writeln!(
                f,
                "# finding as long as the service's role can reach it: give it the column, or revoke the right."
            )?;
        }
        writeln!(f, "global-tables = [")?;
        undecided().try_for_each(|relation| writeln!(f, "    {relation}"))?;
        writeln!(f, "]")?;
        self.about_views(f)?;
        self.about_reports(f)
    }
}

impl Proposal {
    /// Of a schema that knows no tenants every table is to be decided about, and most are to get the column.
    fn to_adopt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables: Vec<&Undecided> = self.undecided.iter().filter(|relation| relation.table).collect();
        if !self.tenant.is_empty() || tables.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "    # These know no tenants yet: docs/postgres/adopt.md gives them the column. Take the # off what holds"
        )?;
        writeln!(f, "    # tenants' rows, and move what is the same for everybody to global-tables.")?;
        let column = quoted(self.column.as_deref().unwrap_or("tenant_id"));
        for Undecided { schema, relation, why, .. } in tables {
            let (schema, table) = (in_schema(schema), quoted(relation));
            let why = on_one_line(why);
            writeln!(f, "    # {{ {schema}table = {table}, column = {column}, type = \"uuid\" }},   # {why}")?;
        }
        Ok(())
    }

    fn about_views(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.views.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "\n# Views: nothing to declare. One that reads as whoever asks shows each tenant what the declared tables show it."
        )?;
        for ProposedView { schema, view, invoker } in &self.views {
            let name = on_one_line(&format!("{}.{}", quote_ident(schema), quote_ident(view)));
            if *invoker {
                writeln!(f, "#     {name} does (security_invoker)")?;
            } else {
                writeln!(f, "#     ALTER VIEW {name} SET (security_invoker = true);")?;
            }
        }
        Ok(())
    }

    fn about_reports(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, column) = match self.tenant.first() {
            Some(table) => {
                (format!("{}table = {}", in_schema(&table.schema), quoted(&table.table)), table.column.as_str())
            }
            None => ("table = \"note\"".to_owned(), "tenant_id"),
        };
        writeln!(
            f,
            "\n# No catalog shows what operators are to read across tenants, so no report is proposed. Without one"
        )?;
        writeln!(
            f,
            "# nobody reads across. Name the columns, and none that holds content: see docs/postgres/reports.md"
        )?;
        writeln!(f, "# report = [{{ {table}, columns = [{}] }}]", quoted(column))
    }
}

impl fmt::Display for Proposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schema, table, column, key, nullable, partitioned, append_only } = self;
        write!(f, "{{ {}table = {}, column = {}", in_schema(schema), quoted(table), quoted(column))?;
        write!(f, ", type = {}", quoted(key.sql()))?;
        if *partitioned {
            write!(f, ", partitioned = true")?;
        }
        if *append_only {
            write!(f, ", append-only = true")?;
        }
        write!(f, " }},")?;
        if *nullable {
            write!(f, "   # its column may be null: see docs/postgres/adopt.md")?;
        }
        Ok(())
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schema, relation, why, .. } = self;
        write!(f, "# {{ {}table = {} }},   # {}", in_schema(schema), quoted(relation), on_one_line(why))
    }
}

fn in_schema(schema: &str) -> String {
    if schema == "public" { String::new() } else { format!("schema = {}, ", quoted(schema)) }
}

/// A name of the catalog may hold a line break, and what comes after it would be no comment any more.
fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
