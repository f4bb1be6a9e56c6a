//! What functions, sequences, large objects and files give away.

use serde_json::Value;

use super::catalog::{Function, Relation};
use super::prober::{PAIRS, Prober, literal};
use super::report::{Command, CrossingKind, Party};
use super::session::Outcome;
use crate::error::PgError;
use crate::ident::{quote_ident, quote_text};

/// An argument, and whether it is the other tenant's key or holds it.
type Argument = (String, bool);

impl Prober<'_> {
    /// Calls each function with the other's own values where the types fit. What comes back is searched for the other's
    /// rows, and the other's tables are looked at before and after.
    pub(super) async fn call(&mut self, functions: &[Function], relations: &[Relation]) -> Result<(), PgError> {
        for (by, of) in PAIRS {
            let before = self.attempt(of, &self.digest(relations, of)).await?;
            for function in functions {
                let mut answered = false;
                for arguments in self.arguments(function, relations, of) {
                    answered |= self.call_once(function, &arguments, relations, (by, of), &before).await?;
                }
                if !answered {
                    self.report.doubt(function.sql(), Command::Call, "no made-up argument suited it");
                }
            }
        }
        Ok(())
    }

    async fn call_once(
        &mut self,
        function: &Function,
        arguments: &[Argument],
        relations: &[Relation],
        (by, of): (Party, Party),
        before: &Outcome,
    ) -> Result<bool, PgError> {
        let name = function.sql();
        let given = arguments.iter().any(|(_, given)| *given);
        let texts: Vec<&str> = arguments.iter().map(|(text, _)| text.as_str()).collect();
        let call = match function.procedure {
            true => format!("call {name}({})", texts.join(", ")),
            false => format!("select ({name}({}))::text limit 1000", texts.join(", ")),
        };
        let outcome = self.attempt(by, &call).await?;
        let Outcome::Done { rows, .. } = &outcome else { return Ok(outcome.code() == Some("42501")) };
        let tenant = self.tenant(of);
        let shown = tenant.is_some_and(|tenant| {
            let mut cells = rows.iter().flatten().flatten();
            cells.any(|cell| tenant.marks(given).any(|mark| cell.contains(mark)))
        });
        if shown {
            self.cross(CrossingKind::Read, (by, of), name.clone(), Command::Call);
        }
        let digest = self.digest(relations, of);
        let after = self.attempt(by, &format!("{call}; {}; {digest}", self.scope(of))).await?;
        if let (Some(before), Some(after)) = (before.last(), after.last())
            && before != after
        {
            self.cross(CrossingKind::Written, (by, of), name, Command::Call);
        }
        Ok(true)
    }

    /// One row with one text, which changes when any row of this tenant's does.
    pub(super) fn digest(&self, relations: &[Relation], of: Party) -> String {
        let declared = relations.iter().filter(|relation| relation.declared);
        let parts: Vec<String> = declared
            .filter_map(|relation| {
                let column = relation.tenant_if(|c| c.select)?;
                let (table, key) = (relation.sql(), self.key(of));
                let columns: Vec<String> =
                    relation.readable().iter().take(90).map(|c| format!("x.{c}::text")).collect();
                let columns = columns.join(", ");
                Some(format!(
                    "(select concat(count(*), ' ', sum(hashtext(concat_ws('|', {columns})))) from {table} x \
                     where x.{column} = {key})"
                ))
            })
            .collect();
        format!("select array[{}]::text[]", parts.join(", "))
    }

    /// Values of the other's rows by type, and what says "everything" to a search.
    fn arguments(&self, function: &Function, relations: &[Relation], of: Party) -> Vec<Vec<Argument>> {
        let pools: Vec<Vec<Argument>> =
            function.arguments.iter().map(|type_name| self.pool(type_name, relations, of)).collect();
        let most = pools.iter().map(Vec::len).max().unwrap_or(1).min(MOST_CALLS);
        let pick = |n: usize| pools.iter().map(|pool| pool[n % pool.len()].clone()).collect();
        (0..most).map(pick).collect()
    }

    fn pool(&self, type_name: &str, relations: &[Relation], of: Party) -> Vec<Argument> {
        let Some(tenant) = self.tenant(of) else { return Vec::new() };
        let cast = |text: String| format!("{text}::{type_name}");
        let mut pool: Vec<Argument> = Vec::new();
        let mut add = |argument: Argument| {
            if !pool.contains(&argument) {
                pool.push(argument);
            }
        };
        let columns =
            relations.iter().flat_map(|relation| relation.columns.iter().map(move |column| (relation, column)));
        for (relation, column) in columns.filter(|(_, column)| column.type_name == type_name) {
            for value in self.own(of, relation).samples.iter().filter_map(|row| row.get(&column.name)) {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                // A call that returns what it was given shows nothing.
                let is_canary = tenant.canary.as_deref().is_some_and(|canary| text.contains(canary));
                if *value != Value::Null && !is_canary {
                    add((cast(literal(value)), text == tenant.key));
                }
            }
        }
        let made_up: &[&str] = match type_name {
            "text" | "character varying" => &["", "%", "a"],
            "integer" | "bigint" | "smallint" | "numeric" => &["100", "1", "0"],
            "boolean" => &["true", "false"],
            "timestamp with time zone" | "timestamp without time zone" | "date" => &["1970-01-01", "2100-01-01"],
            "json" | "jsonb" => &["{}"],
            _other => &[],
        };
        made_up.iter().for_each(|text| add((cast(quote_text(text)), false)));
        if matches!(type_name, "uuid" | "bigint" | "text") {
            add((cast(quote_text(&tenant.key)), true));
        }
        add((cast("null".to_owned()), false));
        pool
    }

    /// Sequences count for all tenants.
    pub(super) async fn sequences(&mut self, sequences: &[String]) -> Result<(), PgError> {
        for name in sequences {
            let looks = [format!("select last_value from {name}"), format!("select nextval({})", quote_text(name))];
            let mut told = false;
            for look in &looks {
                told = told || self.attempt(Party::A, look).await?.is_done();
            }
            if told {
                for pair in [(Party::A, Party::B), (Party::B, Party::A)] {
                    self.cross(CrossingKind::Told, pair, name.clone(), Command::Sequence);
                }
            }
        }
        Ok(())
    }

    /// Objects of the role's own, which no policy holds: what one tenant keeps there, the other reads.
    pub(super) async fn keep(&mut self, schemas: &[String]) -> Result<(), PgError> {
        let mut tries = vec![(
            "large objects".to_owned(),
            Command::LargeObject,
            format!("select lo_from_bytea({OBJECT}, '{WORD}')"),
            format!("select count(*) from (select lo_get({OBJECT}) as kept) o where kept = '{WORD}'"),
        )];
        for schema in schemas.iter().map(|schema| quote_ident(schema)) {
            tries.push((
                schema.clone(),
                Command::CreateTable,
                format!("create table {schema}.tenancy_probe as select '{WORD}'::text as kept"),
                format!("select count(*) from {schema}.tenancy_probe where kept = '{WORD}'"),
            ));
        }
        for (object, command, keep, find) in tries {
            for (by, of) in [(Party::A, Party::B), (Party::B, Party::A)] {
                let sql = format!("{keep}; {}; {find}", self.scope(by));
                if self.attempt(of, &sql).await?.count() == Some(1) {
                    self.cross(CrossingKind::Read, (by, of), object.clone(), command);
                }
            }
        }
        Ok(())
    }

    /// A file of the server: whoever reads one reads all, the tables' among them.
    pub(super) async fn server_file(&mut self) -> Result<(), PgError> {
        if self.attempt(Party::A, "select pg_read_file('PG_VERSION')").await?.is_done() {
            for pair in PAIRS {
                self.cross(CrossingKind::Read, pair, "pg_catalog.pg_read_file".to_owned(), Command::ServerFile);
            }
        }
        Ok(())
    }
}

impl Outcome {
    pub(super) fn last(&self) -> Option<&str> {
        match self {
            Self::Done { rows, .. } => rows.last()?.first()?.as_deref(),
            Self::Refused { .. } => None,
        }
    }
}

const MOST_CALLS: usize = 12;
const OBJECT: u32 = 4_123_456_789;
const WORD: &str = "tenancy probe";
