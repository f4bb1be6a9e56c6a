//! What the role that reads reports reaches beyond them.

use super::catalog::{self, Relation};
use super::postures::Extent;
use super::prober::{Prober, role_sql};
use super::report::{Command, CrossingKind, Party};
use super::session::Session;
use crate::declaration::ReportRelation;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::signed::REACH_SETTING;

/// A tenant's scope is what a grant opens. In it the role has the declared columns: whatever else of a tenant's it reaches
/// there, it reaches in nobody's name.
impl Prober<'_> {
    /// All attempts once more in a session of that role, and in each of its postures what is beyond the reports.
    pub(super) async fn run_as_reporter(&mut self, session: Session) -> Result<(), PgError> {
        self.session = session;
        self.reporting = true;
        self.own.clear();
        let (within_reach, _) = catalog::roles(&mut self.session).await?;
        let mut settings = catalog::settings(&mut self.session, self.scopes.setting()).await?;
        // What opens a report to every tenant is a grant's to set.
        settings.remove(REACH_SETTING);
        self.posture(REPORTER, "select", Extent::Whole).await?;
        self.with_settings(&format!("{REPORTER}, "), settings).await?;
        for role in within_reach.iter().map(|role| role_sql(role)) {
            let (how, become_it) = (format!("{REPORTER}, after SET ROLE {role}"), format!("set local role {role}"));
            self.posture(&how, &become_it, Extent::Rows).await?;
        }
        self.session.leave().await
    }

    pub(super) async fn beyond_the_reports(&mut self, relations: &[Relation]) -> Result<(), PgError> {
        for relation in relations {
            let declared = self.declaration.report_relations().iter().find(|report| relation.is(report.relation()));
            let names = |report: &ReportRelation| report.columns().map(quote_ident).collect();
            let declared: Vec<String> = declared.map(names).unwrap_or_default();
            let extra: Vec<String> = relation.readable().into_iter().filter(|name| !declared.contains(name)).collect();
            for of in [Party::A, Party::B] {
                if !declared.is_empty() && !self.shows_any(relation, &declared, of).await? {
                    let why = format!("the role that reads reports sees no row of {of}");
                    self.report.doubt(relation.sql(), Command::Select, why);
                }
                if !extra.is_empty() && self.shows_any(relation, &extra, of).await? {
                    self.cross(CrossingKind::Read, (Party::Nobody, of), relation.sql(), Command::Select);
                }
                self.write_beyond(relation, of).await?;
            }
        }
        Ok(())
    }

    async fn shows_any(&mut self, relation: &Relation, columns: &[String], of: Party) -> Result<bool, PgError> {
        let sql = format!("select count(*) from (select {} from {} limit 1) r", columns.join(", "), relation.sql());
        Ok(self.attempt(of, &sql).await?.count() == Some(1))
    }

    /// A report reads, so any write that comes past the policies is beyond it.
    async fn write_beyond(&mut self, relation: &Relation, of: Party) -> Result<(), PgError> {
        let (table, key) = (relation.sql(), self.key(of));
        let update = relation.updatable(|_| true).first().map(|column| {
            (CrossingKind::Written, Command::Update, format!("update {table} set {} = default", quote_ident(column)))
        });
        let insert = relation.tenant_if(|c| c.insert && !c.generated).map(|column| {
            (CrossingKind::Written, Command::Insert, format!("insert into {table} ({column}) values ({key})"))
        });
        let delete =
            relation.delete.then(|| (CrossingKind::Destroyed, Command::Delete, format!("delete from {table}")));
        for (kind, command, sql) in update.into_iter().chain(insert).chain(delete) {
            let outcome = self.attempt(of, &sql).await?;
            if outcome.touched() > 0 || outcome.met_a_constraint() {
                self.cross(kind, (Party::Nobody, of), table.clone(), command);
            }
        }
        Ok(())
    }
}

const REPORTER: &str = "as the role that reads reports";
