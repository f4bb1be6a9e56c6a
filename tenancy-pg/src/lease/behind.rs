//! What a lease does behind the scenes, when its answer has been given: it cleans the connection and gives it back.

use sqlx::Connection;
use sqlx::postgres::PgRow;
use tenancy_core::Life;

use super::Lease;
use crate::clean;
use crate::event::Cause;
use crate::scope::{End, Scope};
use crate::session::Identity;

impl Lease {
    /// Gives a connection back on which nothing of a tenant's has run.
    pub(crate) fn leave_unused(self, scope: &Scope) {
        let (Some(pool), Ok(session)) = (self.pool(), self.session()) else { return };
        let (ending, cleaning) = (scope.ending(End::Rollback, &self.began), scope.cleaning(&session.identity, false));
        let abandoning = scope.abandoning(&session.identity, false);
        pool.behind_the_scenes(async move {
            self.end_and_clean(&ending, &cleaning, &abandoning, None).await;
        });
    }

    /// Reads back, behind the scenes, whether a statement without a transaction ran in its scope; there is nobody left to
    /// tell but the record.
    pub(super) fn leave(mut self, scope: &Scope, failed: bool) {
        let (Some(pool), Ok(session)) = (self.pool(), self.session()) else { return };
        let home = self.next_home(scope);
        let asked = failed || home.is_none();
        let leaving = scope.leaving(&session.identity, home.is_some(), asked);
        pool.behind_the_scenes(async move {
            // Without an answer, the lease itself records it.
            let Ok(rows) = self.batch(&leaving.sql).await else { return };
            let Some(witness) = self.witness.take() else { return };
            match rows.as_slice() {
                _elsewhere if !leaving.holds(&rows) => {
                    let _found_out = self.breach();
                    witness.breach("pg.end");
                }
                [.., who, _unlocked] if !asked && self.is_this_session(who) => self.give_back(home),
                rows => self.give_back_if_clean(rows, home),
            }
        });
    }

    /// For whom the connection is kept after this.
    pub(super) fn next_home(&self, scope: &Scope) -> Option<Life> {
        scope.life().filter(|_| self.taken.as_ref().is_some_and(|taken| taken.may_stay(scope.life())))
    }

    /// The lease stays dirty until the cleaning has answered: if the runtime ends meanwhile, or there is none, the
    /// connection is closed.
    pub(super) fn clean_behind_the_scenes(self, cleaning: fn(&Scope, &Identity, bool) -> String, scope: &Scope) {
        let (Some(pool), Ok(session)) = (self.pool(), self.session()) else { return };
        let home = self.next_home(scope);
        let cleaning = cleaning(scope, &session.identity, home.is_some());
        pool.behind_the_scenes(async move { self.clean(&cleaning, home).await });
    }

    pub(super) async fn clean(mut self, cleaning: &str, home: Option<Life>) {
        if let Ok(rows) = self.batch(cleaning).await {
            self.give_back_if_clean(&rows, home);
        }
    }

    pub(super) fn give_back_if_clean(&mut self, rows: &[PgRow], home: Option<Life>) {
        if self.is_clean(rows) {
            self.give_back(home);
        } else {
            self.cause = Cause::Unclean;
        }
    }

    fn is_this_session(&self, who: &PgRow) -> bool {
        self.session().is_ok_and(|session| clean::shows(who, &session.identity))
    }

    fn give_back(&mut self, home: Option<Life>) {
        if let Some(taken) = self.taken.take() {
            taken.give_back(home);
        }
    }

    /// Whether a cleaning showed a session that holds nothing of its last user. One that is shared shows it to whoever opens
    /// the next transaction there.
    pub(super) fn is_clean(&self, rows: &[PgRow]) -> bool {
        let Some(taken) = self.taken.as_ref().filter(|_| !self.handed_out) else { return false };
        let session = taken.session();
        let prepared = session.connection.cached_statements_size();
        !taken.keeps_its_session() || clean::shows_clean(rows, &session.identity, prepared)
    }
}
