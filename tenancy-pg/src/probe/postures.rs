//! As whom and under which settings the attempts are made.

use std::collections::BTreeSet;

use super::catalog::{self, Relation};
use super::prober::{AS_IT_IS, Prober, role_sql};
use crate::error::PgError;
use crate::ident::{quote_ident, quote_text};
use crate::signed::EVERY;

/// What is tried in a posture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Everything.
    Whole,
    /// What a role or setting can change: not the keys, which hold everybody.
    Rows,
}

impl Prober<'_> {
    pub(super) async fn run(&mut self) -> Result<(), PgError> {
        let settings = catalog::settings(&mut self.session, self.scopes.setting()).await?;
        let (within_reach, worth_reaching) = catalog::roles(&mut self.session).await?;
        let relations = self.posture(AS_IT_IS, "select", Extent::Whole).await?;
        self.with_settings("", settings).await?;
        for role in within_reach {
            let become_it = format!("set local role {}", role_sql(&role));
            self.posture(&format!("after SET ROLE {}", role_sql(&role)), &become_it, Extent::Rows).await?;
        }
        for role in worth_reaching {
            let role = role_sql(&role);
            let (granted, become_it) = (format!("grant {role} to session_user"), format!("set local role {role}"));
            self.posture(&format!("after GRANT {role} to itself"), &format!("{granted}; {become_it}"), Extent::Rows)
                .await?;
        }
        self.session.leave().await?;
        self.conclude(&relations);
        Ok(())
    }

    /// With each of these settings at whatever switches policies off, and at a tenant's key.
    pub(super) async fn with_settings(&mut self, who: &str, settings: BTreeSet<String>) -> Result<(), PgError> {
        for name in settings {
            let keys = [self.key(super::Party::A), self.key(super::Party::B)];
            for value in BYPASS_VALUES.iter().map(|value| quote_text(value)).chain(keys) {
                let set = format!("set local {} = {value}", setting_sql(&name));
                self.posture(&format!("{who}with the setting {name}"), &set, Extent::Rows).await?;
            }
        }
        Ok(())
    }

    /// Tries everything after a preparation that holds for all of it. One that the server refuses is no posture.
    pub(super) async fn posture(
        &mut self,
        how: &str,
        preparation: &str,
        extent: Extent,
    ) -> Result<Vec<Relation>, PgError> {
        self.how = how.to_owned();
        let prepared = format!("set local lock_timeout = {LOCK_TIMEOUT_MS}; {preparation}");
        if !self.enter(&prepared).await? {
            return Ok(Vec::new());
        }
        let relations = self.relations().await?;
        let functions = catalog::functions(&mut self.session).await?;
        let own_ground = catalog::own_ground(&mut self.session).await?;
        let keys = catalog::keys(&mut self.session).await?;
        let sequences = catalog::sequences(&mut self.session).await?;
        let helpers = catalog::helpers(&mut self.session).await?;
        self.look(&relations).await?;
        self.select(&relations).await?;
        self.write(&relations).await?;
        self.call(&functions, &relations).await?;
        self.keep(&own_ground).await?;
        self.server_file().await?;
        self.select_after_disabling(&relations).await?;
        self.select_after_bending(&helpers, &relations).await?;
        self.select_with_forged_seals(&relations).await?;
        if self.reporting {
            self.beyond_the_reports(&relations).await?;
        }
        if extent == Extent::Whole {
            self.oracles(&keys, &relations).await?;
            self.sequences(&sequences).await?;
            self.copy_out(&relations).await?;
        }
        Ok(relations)
    }
}

/// `app.bypass` as `"app"."bypass"`.
fn setting_sql(name: &str) -> String {
    name.split('.').map(quote_ident).collect::<Vec<_>>().join(".")
}

/// What is written into settings that switch policies off, and into the one that opens a report to every tenant.
const BYPASS_VALUES: [&str; 5] = ["on", "true", "1", "admin", EVERY];
const LOCK_TIMEOUT_MS: u32 = 2_000;
