//! What the catalog says about the tenant tables, gathered in a fixed number of queries.

use std::collections::HashMap;

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::actors::{self, Access, Accesses};
use super::helpers::{self, Helper};
use super::judge::{Judge, POLICIES, Policy};
use super::roles::{self, Role};
use super::tables::{self, Found, Table};
use crate::declaration::Declaration;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::unnamed;

/// The roles, the tables, and who may do what with them.
pub(super) struct Catalog<'d> {
    pub(super) declaration: &'d Declaration,
    pub(super) roles: Vec<Role>,
    /// The roles within reach.
    pub(super) reach: Vec<Oid>,
    /// The declared tables, then their children.
    pub(super) tables: Vec<Table>,
    pub(super) helpers: Vec<Helper>,
    policies: HashMap<Oid, Vec<Policy>>,
    accesses: Accesses,
}

impl<'d> Catalog<'d> {
    pub(super) async fn load(connection: &mut PgConnection, declaration: &'d Declaration) -> Result<Self, PgError> {
        let roles = roles::reachable(connection).await?;
        let reach: Vec<Oid> = roles.iter().map(|role| role.oid).collect();
        let mut everyone = actors::owners(connection).await?;
        everyone.extend(&reach);
        let tables = tables::load(connection, declaration, &reach).await?;
        let oids: Vec<Oid> = tables.iter().filter_map(|table| Some(table.found.as_ref()?.oid)).collect();
        let accesses = Accesses::load(connection, &oids, &everyone).await?;
        let mut policies: HashMap<Oid, Vec<Policy>> = HashMap::new();
        for policy in
            unnamed::query_as::<Policy>(POLICIES).bind(&oids).bind(&everyone).fetch_all(&mut *connection).await?
        {
            policies.entry(policy.table).or_default().push(policy);
        }
        let helpers = helpers::load(connection, &oids, &reach).await?;
        Ok(Self { declaration, roles, reach, tables, helpers, policies, accesses })
    }

    /// The tables that are there and their tenant columns, for a query about all of them.
    pub(super) fn oids_and_columns(&self) -> (Vec<Oid>, Vec<String>) {
        let there = |table: &Table| Some((table.found.as_ref()?.oid, table.declared.column().to_owned()));
        self.tables.iter().filter_map(there).unzip()
    }

    /// The policies of a table, ready to be applied to an actor.
    pub(super) fn judge(&self, table: &Table) -> Judge<'_> {
        let policies = table.found.as_ref().and_then(|found| self.policies.get(&found.oid));
        Judge::new(&table.declared, self.declaration.signed(), policies.map_or(&[], Vec::as_slice), &self.helpers)
    }

    /// What the roles within reach may do with a table.
    pub(super) fn accesses(&self, table: Oid) -> impl Iterator<Item = Access> + '_ {
        self.accesses.to(table, &self.reach)
    }

    /// Whether every role within reach gets the scope's rows of a table alone.
    pub(super) fn holds_reach(&self, table: Oid) -> bool {
        self.holds(table, &self.reach)
    }

    /// Whether all of these actors get the scope's rows of a table alone. One of whom nothing is known does not.
    pub(super) fn holds(&self, table: Oid, actors: &[Oid]) -> bool {
        let judge = self.table(table).filter(|table| table.with_policies().is_some()).map(|table| self.judge(table));
        let held =
            |judge: &Judge<'_>, actor: &Oid| self.accesses.of(table, *actor).is_some_and(|access| judge.holds(&access));
        judge.is_some_and(|judge| actors.iter().all(|actor| held(&judge, actor)))
    }

    pub(super) fn table(&self, oid: Oid) -> Option<&Table> {
        self.tables.iter().find(|table| table.found.as_ref().is_some_and(|found: &Found| found.oid == oid))
    }

    /// Takes every right on a relation away from every role within reach and from PUBLIC.
    pub(super) fn revoke_all(&self, relation: &str) -> String {
        format!("REVOKE ALL ON TABLE {relation} FROM {};", self.grantees())
    }

    /// Every role within reach, and PUBLIC, for a REVOKE.
    pub(super) fn grantees(&self) -> String {
        let mut names: Vec<String> = self.roles.iter().map(|role| quote_ident(&role.name)).collect();
        names.push("PUBLIC".to_owned());
        names.join(", ")
    }
}
