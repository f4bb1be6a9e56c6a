//! Keys that the server checks past every policy, and that so tell whether another's row exists.

use serde_json::Value;

use super::catalog::{Key, Relation};
use super::prober::{Prober, literal};
use super::report::{Command, CrossingKind, Party};
use crate::error::PgError;
use crate::ident::quote_ident;

impl Prober<'_> {
    pub(super) async fn oracles(&mut self, keys: &[Key], relations: &[Relation]) -> Result<(), PgError> {
        let find = |oid: i64| relations.iter().find(|relation| relation.oid == oid && relation.tenant.is_some());
        for key in keys {
            let Some(table) = find(key.table) else { continue };
            for pair in [(Party::A, Party::B), (Party::B, Party::A)] {
                match key.parent.map(find) {
                    None => self.unique(key, keys, table, pair).await?,
                    Some(Some(parent)) => self.foreign(key, table, parent, pair).await?,
                    // A parent that holds no tenant's rows tells of none.
                    Some(None) => {}
                }
            }
        }
        Ok(())
    }

    /// Points an own row at a row of the other's, and at one that nobody has. Two answers are an oracle.
    async fn foreign(
        &mut self,
        key: &Key,
        table: &Relation,
        parent: &Relation,
        (by, of): (Party, Party),
    ) -> Result<(), PgError> {
        let pairs = || key.columns.iter().zip(&key.referenced);
        let paired = pairs()
            .filter(|(here, there)| Some(*here) != table.tenant.as_ref() && Some(*there) != parent.tenant.as_ref());
        let (here, there): (Vec<_>, Vec<_>) = paired.unzip();
        let Some(values) = self.only_theirs(parent, &there, (by, of)).await? else { return Ok(()) };
        let none: Vec<Value> = values.iter().map(nobodys).collect();
        let Some(hit) = self.change_one(table, &here, &values, by) else {
            let why = if self.own(by, table).count == 0 {
                format!("{by} has no row here that could point at one of {of}'s")
            } else {
                "no right to change what a row points at".to_owned()
            };
            self.report.doubt(table.sql(), Command::Update, why);
            return Ok(());
        };
        let Some(miss) = self.change_one(table, &here, &none, by) else { return Ok(()) };
        let hit = self.attempt(by, &hit).await?;
        let miss = self.attempt(by, &miss).await?;
        if hit.is_done() && hit.touched() > 0 && miss.code() == Some("23503") {
            self.cross(CrossingKind::Told, (by, of), table.sql(), Command::Update);
        }
        Ok(())
    }

    /// Gives an own row the values of one of the other's, which it does not have itself.
    async fn unique(
        &mut self,
        key: &Key,
        keys: &[Key],
        table: &Relation,
        (by, of): (Party, Party),
    ) -> Result<(), PgError> {
        let columns: Vec<&String> =
            key.columns.iter().filter(|column| Some(*column) != table.tenant.as_ref()).collect();
        let Some(values) = self.only_theirs(table, &columns, (by, of)).await? else { return Ok(()) };
        let attempts =
            [self.change_one(table, &columns, &values, by), self.insert_like(table, &columns, &values, keys, by)];
        for sql in attempts.into_iter().flatten() {
            let outcome = self.attempt(by, &sql).await?;
            let of_this_key = outcome.constraint().is_some_and(|name| key.names.iter().any(|n| n == name));
            if outcome.code() == Some("23505") && of_this_key {
                self.cross(CrossingKind::Told, (by, of), table.sql(), Command::Update);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Values of a row of one tenant's that no row of the other's has.
    async fn only_theirs(
        &mut self,
        table: &Relation,
        columns: &[&String],
        (by, of): (Party, Party),
    ) -> Result<Option<Vec<Value>>, PgError> {
        for row in self.own(of, table).samples {
            let values: Vec<Value> = columns.iter().filter_map(|column| row.get(*column).cloned()).collect();
            if values.len() != columns.len() || values.is_empty() || values.contains(&Value::Null) {
                continue;
            }
            let same =
                columns.iter().zip(&values).map(|(name, value)| format!("{} = {}", quote_ident(name), literal(value)));
            let same = same.collect::<Vec<_>>().join(" and ");
            let mine = self.attempt(by, &format!("select count(*) from {} where {same}", table.sql())).await?;
            if mine.count() == Some(0) {
                return Ok(Some(values));
            }
        }
        Ok(None)
    }

    /// An UPDATE of one own row, its foreign keys checked at once.
    fn change_one(&self, table: &Relation, columns: &[&String], values: &[Value], by: Party) -> Option<String> {
        let tenant = table.tenant_if(|c| c.select)?;
        let may = |name: &String| table.columns.iter().any(|c| c.name == *name && c.update && !c.fixed);
        if columns.is_empty() || !columns.iter().all(|name| may(name)) || self.own(by, table).count == 0 {
            return None;
        }
        let set: Vec<String> = columns
            .iter()
            .zip(values)
            .map(|(name, value)| format!("{} = {}", quote_ident(name), literal(value)))
            .collect();
        let (name, key, set) = (table.sql(), self.key(by), set.join(", "));
        Some(format!(
            "set constraints all immediate; update {name} set {set} \
             where (tableoid, ctid) = (select tableoid, ctid from {name} where {tenant} = {key} limit 1)"
        ))
    }

    /// The same as a new row, for columns that take no UPDATE. In its other unique columns it has what no row has, so that
    /// it is this key that speaks.
    fn insert_like(
        &self,
        table: &Relation,
        columns: &[&String],
        values: &[Value],
        keys: &[Key],
        by: Party,
    ) -> Option<String> {
        let mut row = self.own(by, table).samples.first()?.clone();
        let unique =
            keys.iter().filter(|key| key.table == table.oid && key.parent.is_none()).flat_map(|key| &key.columns);
        for column in unique.filter(|column| Some(*column) != table.tenant.as_ref()) {
            let fresh = row.get(column).map_or(Value::Null, nobodys);
            row.insert(column.clone(), fresh);
        }
        columns.iter().zip(values).for_each(|(name, value)| drop(row.insert((*name).clone(), value.clone())));
        (!table.insertable().is_empty()).then(|| super::prober::insert_sql(table, &row))
    }
}

/// A value of the same kind that no row has.
fn nobodys(value: &Value) -> Value {
    match value {
        Value::Number(_) => Value::from(-987_654_321),
        Value::String(text) if uuid::Uuid::try_parse(text).is_ok() => Value::from(uuid::Uuid::new_v4().to_string()),
        other => other.as_str().map_or(Value::Null, |_| Value::from("tenancy probe")),
    }
}
