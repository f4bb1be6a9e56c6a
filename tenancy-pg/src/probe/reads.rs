//! Reading another tenant's rows.

use super::catalog::{Helper, Relation};
use super::prober::{PAIRS, Prober};
use super::report::{Command, CrossingKind, Party};
use crate::error::PgError;

impl Prober<'_> {
    /// `SELECT` from everything within reach.
    pub(super) async fn select(&mut self, relations: &[Relation]) -> Result<(), PgError> {
        for relation in relations {
            for (by, of) in PAIRS {
                let Some(condition) = self.rows_of(of, relation) else { continue };
                let table = relation.sql();
                let outcome = self.attempt(by, &format!("select count(*) from {table} x where {condition}")).await?;
                match (outcome.count(), outcome.code()) {
                    (Some(1..), _) => self.cross(CrossingKind::Read, (by, of), table, Command::Select),
                    (Some(0), _) | (None, Some("42501") | None) => {}
                    (None, Some(code)) => self.report.doubt(table, Command::Select, format!("refused with {code}")),
                }
            }
        }
        Ok(())
    }

    /// `COPY .. TO STDOUT`: the whole of each table as the server hands it out.
    pub(super) async fn copy_out(&mut self, relations: &[Relation]) -> Result<(), PgError> {
        for relation in relations.iter().filter(|relation| !relation.readable().is_empty()) {
            for by in [Party::Nobody, Party::A, Party::B] {
                let (table, columns) = (relation.sql(), relation.readable().join(", "));
                let sql = match relation.kind.as_str() {
                    "r" => format!("copy {table} ({columns}) to stdout"),
                    _other => format!("copy (select {columns} from {table}) to stdout"),
                };
                if !self.enter("select").await? {
                    continue;
                }
                let scope = self.scope(by);
                let Some(text) = self.session.copy(&scope, &sql).await? else { continue };
                for of in [Party::A, Party::B] {
                    if by != of && self.shows(&text, relation, of) {
                        self.cross(CrossingKind::Read, (by, of), table.clone(), Command::Copy);
                    }
                }
            }
        }
        Ok(())
    }

    /// With seals that nobody could have made or kept, and with one that whoever can read the signing keys makes.
    pub(super) async fn select_with_forged_seals(&mut self, relations: &[Relation]) -> Result<(), PgError> {
        for of in [Party::A, Party::B] {
            let Some((mut seals, made)) = self.scopes.forged(of) else { return Ok(()) };
            seals.extend(self.attempt(Party::Nobody, &made).await?.last().map(str::to_owned));
            for relation in relations.iter().filter(|relation| relation.declared) {
                let (Some(condition), table) = (self.rows_of(of, relation), relation.sql()) else { continue };
                for seal in &seals {
                    let sql = format!("{}; select count(*) from {table} x where {condition}", self.scopes.set(seal));
                    if self.session.attempt(&sql).await?.count().is_some_and(|count| count > 0) {
                        self.cross_with(CrossingKind::Read, (Party::Nobody, of), table.clone(), "a forged seal");
                    }
                }
            }
        }
        Ok(())
    }

    fn shows(&self, copied: &str, relation: &Relation, of: Party) -> bool {
        let Some(tenant) = self.tenant(of) else { return false };
        let place =
            relation.columns.iter().filter(|c| c.select).position(|c| Some(&c.name) == relation.tenant.as_ref());
        let in_its_column =
            |line: &str| place.and_then(|place| line.split('\t').nth(place)).is_some_and(|value| value == tenant.key);
        copied.lines().any(|line| in_its_column(line) || tenant.marks(false).any(|mark| line.contains(mark)))
    }

    /// Row level security switched off by whoever may: an owner.
    pub(super) async fn select_after_disabling(&mut self, relations: &[Relation]) -> Result<(), PgError> {
        for relation in relations.iter().filter(|relation| matches!(relation.kind.as_str(), "r" | "p")) {
            let change = format!("alter table {} disable row level security", relation.sql());
            self.select_after(&change, "DISABLE ROW LEVEL SECURITY", std::slice::from_ref(relation)).await?;
        }
        Ok(())
    }

    /// A function of the policies that whoever may replaces by one that answers for the other tenant: its owner, with a
    /// right to create in its schema.
    pub(super) async fn select_after_bending(
        &mut self,
        helpers: &[Helper],
        relations: &[Relation],
    ) -> Result<(), PgError> {
        let declared: Vec<Relation> = relations.iter().filter(|relation| relation.declared).cloned().collect();
        for Helper { signature, returns } in helpers {
            for of in [Party::A, Party::B] {
                let key = self.key(of);
                let change = format!(
                    "create or replace function {signature} returns {returns} language sql stable \
                     as $tenancy_probe$ select {key}::{returns} $tenancy_probe$"
                );
                self.select_after(&change, "CREATE OR REPLACE FUNCTION", &declared).await?;
            }
        }
        Ok(())
    }

    /// One refusal stands for all: a right to the change does not depend on the scope.
    async fn select_after(&mut self, change: &str, called: &str, relations: &[Relation]) -> Result<(), PgError> {
        if !self.attempt(Party::A, change).await?.is_done() {
            return Ok(());
        }
        for relation in relations {
            for (by, of) in PAIRS {
                let Some(condition) = self.rows_of(of, relation) else { continue };
                let table = relation.sql();
                let sql = format!("{change}; select count(*) from {table} x where {condition}");
                if self.attempt(by, &sql).await?.count().is_some_and(|count| count > 0) {
                    self.cross_with(CrossingKind::Read, (by, of), table, called);
                }
            }
        }
        Ok(())
    }

    /// A `SELECT` that took something more than the posture.
    fn cross_with(&mut self, kind: CrossingKind, pair: (Party, Party), table: String, more: &str) {
        let with = format!("{} and {more}", self.how);
        let before = std::mem::replace(&mut self.how, with);
        self.cross(kind, pair, table, Command::Select);
        self.how = before;
    }
}
