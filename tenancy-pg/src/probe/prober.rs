//! What all attempts share: two tenants, their rows, and the report.

use std::collections::HashMap;

use serde_json::{Map, Value};
use tenancy_core::RowKey;

use super::catalog::{self, Relation};
use super::report::{Command, Crossing, CrossingKind, Party, ProbeReport};
use super::scopes::Scopes;
use super::session::{Outcome, Session};
use crate::declaration::Declaration;
use crate::error::PgError;
use crate::ident::{quote_role, quote_text};
use crate::signed::SEAL_SETTING;

/// A tenant of the probe, and how its rows are told from the other's.
pub(super) struct Tenant {
    /// The row key as a text.
    pub(super) key: String,
    /// Texts that only this tenant's rows hold.
    pub(super) canary: Option<String>,
    /// A key that is a text of its own wherever it stands: 128 random bits.
    telling: bool,
}

impl Tenant {
    pub(super) fn new(key: &RowKey, canary: Option<String>) -> Result<Self, PgError> {
        let telling = matches!(key, RowKey::Uuid(_));
        Ok(Self { key: crate::scope::text_of(key)?, canary, telling })
    }

    /// The texts that say "this tenant's" in the middle of anything, also of what a call with its key returns when
    /// `given` is set.
    pub(super) fn marks(&self, given: bool) -> impl Iterator<Item = &str> {
        let key = (self.telling && !given).then_some(self.key.as_str());
        key.into_iter().chain(self.canary.as_deref())
    }
}

/// Rows of one tenant in one relation, as it sees them itself.
#[derive(Default, Clone)]
pub(super) struct Own {
    pub(super) count: u64,
    /// A few of them.
    pub(super) samples: Vec<Map<String, Value>>,
}

pub(super) struct Prober<'d> {
    pub(super) session: Session,
    pub(super) declaration: &'d Declaration,
    pub(super) scopes: Scopes,
    pub(super) tenants: [Tenant; 2],
    /// By the relation's oid: how many in the present posture, and what was first seen of them.
    pub(super) own: HashMap<i64, [Own; 2]>,
    pub(super) report: ProbeReport,
    /// What the present posture took.
    pub(super) how: String,
    /// Whether this is the role that reads reports.
    pub(super) reporting: bool,
}

impl Prober<'_> {
    pub(super) fn tenant(&self, party: Party) -> Option<&Tenant> {
        match party {
            Party::Nobody => None,
            Party::A => self.tenants.first(),
            Party::B => self.tenants.last(),
        }
    }

    /// The statement that puts what follows into the scope of somebody.
    pub(super) fn scope(&self, party: Party) -> String {
        self.scopes.enter(party)
    }

    /// Begins a transaction, with a preparation that holds for all attempts in it; `false` when that was refused.
    pub(super) async fn enter(&mut self, preparation: &str) -> Result<bool, PgError> {
        let Some(nonce) = self.session.enter(preparation).await? else { return Ok(false) };
        self.scopes.seal(&nonce)?;
        if let Some(verify) = self.scopes.verify() {
            for party in [Party::A, Party::B] {
                if self.attempt(party, &verify).await?.code() == Some(REFUSED) {
                    let why = format!("the seal of {party} is refused: is it the key, the life, a fence?");
                    self.report.doubt(SEAL_SETTING, Command::Call, why);
                }
            }
            self.session.go_back().await?;
        }
        Ok(true)
    }

    pub(super) fn key(&self, party: Party) -> String {
        quote_text(self.tenant(party).map_or("", |tenant| &tenant.key))
    }

    pub(super) async fn attempt(&mut self, by: Party, sql: &str) -> Result<Outcome, PgError> {
        let scope = self.scope(by);
        self.session.attempt(&format!("{scope}; {sql}")).await
    }

    /// Holds for the rows `x` of a tenant in a relation, by their key or by a text that they hold; `None` where neither
    /// can be looked at.
    pub(super) fn rows_of(&self, party: Party, relation: &Relation) -> Option<String> {
        let tenant = self.tenant(party)?;
        let column = relation.tenant_if(|c| c.select);
        let by_key = column.map(|column| format!("x.{column} = {}", quote_text(&tenant.key)));
        // A function takes 100 arguments.
        let columns: Vec<String> = relation.readable().iter().take(90).map(|c| format!("x.{c}::text")).collect();
        let text = format!("concat_ws(' ', {})", columns.join(", "));
        let by_mark = tenant.marks(false).map(|mark| format!("strpos({text}, {}) > 0", quote_text(mark)));
        let all: Vec<String> = by_key.into_iter().chain(by_mark).collect();
        (!all.is_empty() && !columns.is_empty()).then(|| all.join(" or "))
    }

    pub(super) fn own(&self, party: Party, relation: &Relation) -> Own {
        let both = self.own.get(&relation.oid);
        match (both, party) {
            (Some([a, _]), Party::A) => a.clone(),
            (Some([_, b]), Party::B) => b.clone(),
            _nobody => Own::default(),
        }
    }

    pub(super) fn cross(&mut self, kind: CrossingKind, pair: (Party, Party), object: String, command: Command) {
        let ((by, of), how) = (pair, self.how.clone());
        self.report.cross(Crossing { kind, by, of, object, command, how });
    }

    /// Looks at what each tenant has, in its own scope: what the attempts look for.
    pub(super) async fn look(&mut self, relations: &[Relation]) -> Result<(), PgError> {
        for relation in relations.iter().filter(|relation| !relation.global) {
            let Some(column) = relation.tenant_if(|c| c.select) else { continue };
            let (table, columns) = (relation.sql(), relation.readable().join(", "));
            let mut both = self.own.remove(&relation.oid).unwrap_or_default();
            for (party, own) in [Party::A, Party::B].into_iter().zip(&mut both) {
                let mine = format!("{column} = {}", self.key(party));
                let sql = format!(
                    "select row_to_json(r)::text from (select {columns} from {table} where {mine} limit 5) r; \
                     select count(*) from {table} where {mine}"
                );
                let seen = self.attempt(party, &sql).await?;
                own.count = seen.count().unwrap_or_default();
                if let Outcome::Done { rows, .. } = seen {
                    let texts = rows.iter().filter_map(|row| row.first()?.as_deref());
                    let samples: Vec<_> = texts.filter_map(|text| serde_json::from_str(text).ok()).collect();
                    own.samples = if samples.is_empty() { std::mem::take(&mut own.samples) } else { samples };
                }
                if own.count == 0 && self.how == AS_IT_IS {
                    let why = format!("{party} sees no row of its own here");
                    self.report.doubt(table.clone(), Command::Select, why);
                }
            }
            self.own.insert(relation.oid, both);
        }
        Ok(())
    }

    /// The declared tables that were put to the proof and held.
    pub(super) fn conclude(&mut self, relations: &[Relation]) {
        let held = |relation: &&Relation| {
            let seen = |party| !self.own(party, relation).samples.is_empty();
            let shown = self.report.rows().any(|crossing| crossing.object == relation.sql());
            relation.declared && seen(Party::A) && seen(Party::B) && !shown
        };
        self.report.proven = relations.iter().filter(held).map(Relation::sql).collect();
        for table in self.declaration.tenant_tables() {
            let name = table.relation.to_string();
            if !relations.iter().any(|relation| relation.sql() == name) {
                self.report.doubt(name, Command::Select, "it is not within reach, or not there");
            }
        }
    }

    pub(super) async fn relations(&mut self) -> Result<Vec<Relation>, PgError> {
        catalog::relations(&mut self.session, self.declaration).await
    }
}

/// A row to be written: `insert into .. select .. from json_populate_record(..)`.
pub(super) fn insert_sql(relation: &Relation, row: &Map<String, Value>) -> String {
    let (table, columns) = (relation.sql(), relation.insertable().join(", "));
    let row = quote_text(&Value::Object(row.clone()).to_string());
    format!(
        "insert into {table} ({columns}) overriding system value \
         select {columns} from json_populate_record(null::{table}, {row})"
    )
}

/// A value of a sample as SQL.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => quote_text(text),
        other => quote_text(&other.to_string()),
    }
}

/// What a verifier says to a seal that is not good.
const REFUSED: &str = "28000";

/// The first posture, which takes nothing.
pub(super) const AS_IT_IS: &str = "as it is";

/// Each scope with each tenant that is not its own.
pub(super) const PAIRS: [(Party, Party); 4] =
    [(Party::A, Party::B), (Party::B, Party::A), (Party::Nobody, Party::A), (Party::Nobody, Party::B)];

pub(super) fn role_sql(role: &str) -> String {
    quote_role(role)
}
