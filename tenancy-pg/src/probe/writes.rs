//! Changing, planting and destroying another tenant's rows.

use serde_json::Value;

use super::catalog::Relation;
use super::prober::{PAIRS, Prober, insert_sql, literal};
use super::report::{Command, CrossingKind, Party};
use super::session::Outcome;
use crate::error::PgError;
use crate::ident::quote_ident;

impl Prober<'_> {
    pub(super) async fn write(&mut self, relations: &[Relation]) -> Result<(), PgError> {
        for relation in relations.iter().filter(|relation| !relation.global) {
            for pair in PAIRS {
                self.insert(relation, pair).await?;
                self.update(relation, pair).await?;
                self.delete(relation, relations, pair).await?;
                self.trigger(relation, pair).await?;
            }
            self.nobodys_rows(relation).await?;
            self.side_effects(relation, relations).await?;
        }
        self.truncate(relations).await
    }

    /// A row of another tenant's: exactly one that it has, an own one under its key, and one with nothing but its key.
    /// None of them needs to fit: a constraint speaks only after the policies did.
    async fn insert(&mut self, relation: &Relation, (by, of): (Party, Party)) -> Result<(), PgError> {
        let Some(column) = relation.tenant_if(|c| c.insert && !c.generated) else { return Ok(()) };
        let (table, key) = (relation.sql(), self.key(of));
        let theirs = self.own(of, relation).samples.first().cloned();
        let rekeyed = self.own(by, relation).samples.first().cloned().zip(relation.tenant.clone());
        let rekeyed = rekeyed.zip(self.own(of, relation).samples.first().cloned()).map(|((mut row, name), theirs)| {
            let key = theirs.get(&name).cloned().unwrap_or(Value::Null);
            row.insert(name, key);
            row
        });
        // Where a policy looks at another column of the key's type, a row that has the own key there.
        let type_of = |name: &str| relation.columns.iter().find(|c| c.name == *name).map(|c| &c.type_name);
        let alike =
            relation.columns.iter().filter(|c| c.insert && !c.generated && Some(&c.name) != relation.tenant.as_ref());
        let alike = alike.filter(|c| Some(&c.type_name) == relation.tenant.as_deref().and_then(type_of));
        let (names, keys): (String, String) =
            alike.map(|c| (format!(", {}", quote_ident(&c.name)), format!(", {}", self.key(by)))).unzip();
        let bare = |names: &str, keys: &str| {
            format!("insert into {table} ({column}{names}) overriding system value values ({key}{keys})")
        };
        let rows = theirs.into_iter().chain(rekeyed).map(|row| insert_sql(relation, &row));
        let attempts: Vec<String> = rows.chain([bare("", ""), bare(&names, &keys)]).collect();
        let mut told = false;
        for sql in attempts {
            let bends = relation.bends_insert;
            let outcome = self.attempt(by, &self.and_look(sql, relation, of, bends)).await?;
            if self.arrived(&outcome, relation, of, bends) {
                self.cross(CrossingKind::Written, (by, of), table, Command::Insert);
                return Ok(());
            }
            told |= outcome.is_done() || outcome.code() == Some("42501");
        }
        if !told {
            self.report.doubt(table, Command::Insert, "no made-up row came as far as the policies");
        }
        Ok(())
    }

    /// Touches another's rows; moves all that is in sight to the other; takes all that is in sight.
    ///
    /// A statement that reads no column needs no right to read, and is then held by the policies for UPDATE alone
    /// (rowsecurity.c, `get_row_security_policies`), so the last two have no WHERE.
    async fn update(&mut self, relation: &Relation, (by, of): (Party, Party)) -> Result<(), PgError> {
        let table = relation.sql();
        if let (Some(column), Some(condition)) = (relation.updatable(|c| c.select).first(), self.rows_of(of, relation))
        {
            let column = quote_ident(column);
            let sql = format!("update {table} x set {column} = x.{column} where {condition}");
            let outcome = self.attempt(by, &sql).await?;
            if outcome.touched() > 0 || outcome.met_a_constraint() {
                self.cross(CrossingKind::Written, (by, of), table.clone(), Command::Update);
            }
        }
        if let (Party::Nobody, Some(column)) = (by, relation.updatable(|_| true).first()) {
            let outcome = self.attempt(by, &format!("update {table} set {} = null", quote_ident(column))).await?;
            if outcome.touched() > 0 || outcome.met_a_constraint() {
                self.cross(CrossingKind::Written, (by, of), table.clone(), Command::Update);
            } else if outcome.code() == Some("42501") {
                // A new row was refused, so an old one was found: nobody has one.
                self.cross(CrossingKind::Told, (by, of), table.clone(), Command::Update);
            }
        }
        let Some(column) = relation.tenant_if(|c| c.update && !c.fixed) else { return Ok(()) };
        let give = format!("update {table} set {column} = {}", self.key(of));
        let bends = relation.bends_update;
        let outcome = self.attempt(by, &self.and_look(give, relation, of, bends)).await?;
        if self.arrived(&outcome, relation, of, bends) {
            self.cross(CrossingKind::Written, (by, of), table.clone(), Command::Update);
        }
        let had = self.own(of, relation).count;
        if by != Party::Nobody && had > 0 {
            let take = format!("update {table} set {column} = {}", self.key(by));
            let outcome = self.attempt(by, &self.and_look(take, relation, of, true)).await?;
            if outcome.count().is_some_and(|left| left < had) || outcome.met_a_constraint() {
                self.cross(CrossingKind::Written, (by, of), table, Command::Update);
            }
        }
        Ok(())
    }

    /// Rows without a tenant that everybody sees: a way to put one before another's eyes.
    async fn nobodys_rows(&mut self, relation: &Relation) -> Result<(), PgError> {
        let (Some(column), Some(tenant)) = (relation.tenant_if(|c| c.select), &relation.tenant) else { return Ok(()) };
        let table = relation.sql();
        for (by, of) in PAIRS {
            let update = relation.tenant_if(|c| c.update && !c.fixed);
            let update = update.map(|column| (Command::Update, format!("update {table} set {column} = null")));
            let row = self.own(by, relation).samples.first().cloned().filter(|_| !relation.insertable().is_empty());
            let insert = row.map(|mut row| {
                row.insert(tenant.clone(), Value::Null);
                (Command::Insert, insert_sql(relation, &row))
            });
            for (command, write) in update.into_iter().chain(insert) {
                let sql = format!("{write}; {}; select count(*) from {table} where {column} is null", self.scope(of));
                if self.attempt(by, &sql).await?.count().is_some_and(|seen| seen > 0) {
                    self.cross(CrossingKind::Written, (by, of), table.clone(), command);
                }
            }
        }
        Ok(())
    }

    /// Writes to all rows in sight, removes all of them, and looks whether that did anything to the other's: by a policy
    /// for that command alone, a rule or a trigger.
    async fn side_effects(&mut self, relation: &Relation, relations: &[Relation]) -> Result<(), PgError> {
        let table = relation.sql();
        let delete = relation.delete.then(|| (Command::Delete, format!("delete from {table}")));
        for (by, of) in [(Party::A, Party::B), (Party::B, Party::A)] {
            let digest = self.digest(relations, of);
            let before = self.attempt(of, &digest).await?;
            let row = self.own(by, relation).samples.first().cloned().unwrap_or_default();
            // A key can't be the same in all rows, so another column is tried then.
            let values = relation.updatable(|_| true).into_iter().filter_map(|name| Some((name, row.get(name)?)));
            let updates = values.map(|(name, value)| {
                (Command::Update, format!("update {table} set {} = {}", quote_ident(name), literal(value)))
            });
            let mut updated = false;
            for (command, sql) in updates.chain(delete.clone()) {
                if updated && command == Command::Update {
                    continue;
                }
                let after = self.attempt(by, &format!("{sql}; {}; {digest}", self.scope(of))).await?;
                updated |= after.is_done();
                if before.last().zip(after.last()).is_some_and(|(before, after)| before != after) {
                    self.cross(CrossingKind::Written, (by, of), table.clone(), command);
                }
            }
        }
        Ok(())
    }

    /// By its key; and everything in sight, with a look at what is then left for the other to delete. What refers to the
    /// own rows goes first, so that a foreign key that still stands in the way is the other's.
    async fn delete(
        &mut self,
        relation: &Relation,
        relations: &[Relation],
        (by, of): (Party, Party),
    ) -> Result<(), PgError> {
        if !relation.delete {
            return Ok(());
        }
        let table = relation.sql();
        let mut crossed = false;
        if let Some(condition) = self.rows_of(of, relation) {
            let outcome = self.attempt(by, &format!("delete from {table} x where {condition}")).await?;
            crossed |= outcome.touched() > 0 || outcome.met_a_constraint();
        }
        let all = format!("delete from {table}");
        let outcome = self.attempt(by, &all).await?;
        if by == Party::Nobody {
            crossed |= outcome.touched() > 0 || outcome.met_a_constraint();
        } else {
            let others =
                relations.iter().rev().filter(|other| other.declared && other.delete && other.oid != relation.oid);
            let first: String = others.map(|other| format!("delete from {}; ", other.sql())).collect();
            let first = if outcome.is_done() { "" } else { first.as_str() };
            let there = self.attempt(of, &all).await?;
            let left = self.attempt(by, &format!("{first}{all}; {}; {all}", self.scope(of))).await?;
            crossed |= left.is_done() && there.is_done() && left.touched() < there.touched();
            if let Some(column) = relation.tenant_if(|c| c.select) {
                let mine = format!("{first}delete from {table} where {column} = {}", self.key(by));
                let alone = self.attempt(by, &mine).await?.is_done();
                crossed |= alone && self.attempt(by, &format!("{first}{all}")).await?.met_a_constraint();
            }
        }
        if crossed {
            self.cross(CrossingKind::Destroyed, (by, of), table, Command::Delete);
        }
        Ok(())
    }

    /// One that foreign keys hold is emptied together with all others that may be.
    async fn truncate(&mut self, relations: &[Relation]) -> Result<(), PgError> {
        let may = || relations.iter().filter(|relation| relation.truncate && !relation.global);
        let together: Vec<String> = may().map(Relation::sql).collect();
        for relation in may().filter(|relation| relation.tenant.is_some()) {
            let table = relation.sql();
            let mut outcome = self.attempt(Party::A, &format!("truncate {table}")).await?;
            if outcome.code() == Some("0A000") {
                outcome = self.attempt(Party::A, &format!("truncate {}", together.join(", "))).await?;
            }
            match outcome {
                Outcome::Done { .. } => {
                    for pair in PAIRS {
                        self.cross(CrossingKind::Destroyed, pair, table.clone(), Command::Truncate);
                    }
                }
                Outcome::Refused { code, .. } => {
                    self.report.doubt(table, Command::Truncate, format!("the right is there; refused with {code}"));
                }
            }
        }
        Ok(())
    }

    /// A trigger of one tenant's, here one that drops idle updates, runs for the rows of all.
    async fn trigger(&mut self, relation: &Relation, pair: (Party, Party)) -> Result<(), PgError> {
        if !relation.trigger || !matches!(relation.kind.as_str(), "r" | "p") {
            return Ok(());
        }
        let table = relation.sql();
        for each in ["row", "statement"] {
            let sql = format!(
                "create trigger tenancy_probe before update on {table} for each {each} \
                 execute function pg_catalog.suppress_redundant_updates_trigger()"
            );
            if self.attempt(pair.0, &sql).await?.is_done() {
                self.cross(CrossingKind::Written, pair, table.clone(), Command::CreateTrigger);
            }
        }
        Ok(())
    }

    /// The write, and then, where something may have bent it, how many rows the other sees of its own.
    fn and_look(&self, write: String, relation: &Relation, of: Party, bends: bool) -> String {
        match relation.tenant_if(|c| c.select).filter(|_| bends) {
            None => write,
            Some(column) => {
                let (table, scope, key) = (relation.sql(), self.scope(of), self.key(of));
                format!("{write}; {scope}; select count(*) from {table} where {column} = {key}")
            }
        }
    }

    /// Whether a write with [`and_look`](Self::and_look) put something among the other's rows, or would have but for a
    /// constraint. Where the row that was written is not the one that was asked for, only what is seen counts.
    fn arrived(&self, outcome: &Outcome, relation: &Relation, of: Party, bends: bool) -> bool {
        if bends {
            outcome.count().is_some_and(|count| count > self.own(of, relation).count)
        } else {
            outcome.touched() > 0 || outcome.met_a_constraint()
        }
    }
}
