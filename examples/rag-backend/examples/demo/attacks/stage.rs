//! The stage: what the victim has, and how an attempt is decided.

use std::time::Duration;

use serde_json::json;
use tenancy_stack::core::AuditRecord;
use uuid::Uuid;

use super::{Attempt, Outcome};
use crate::Failure;
use crate::client::{Client, Reply};
use crate::world::World;

/// Both sides, and what the victim has that the attacker wants.
pub(super) struct Stage<'w> {
    pub(super) world: &'w World,
    pub(super) attacker: Client,
    pub(super) victim: Client,
    pub(super) attacker_name: String,
    pub(super) victim_name: String,
    /// A word that only the victim's document and file hold.
    pub(super) secret: String,
    /// The victim's document that holds it.
    pub(super) document: String,
    /// The job that ingested it.
    pub(super) job: String,
    pub(super) attempts: Vec<Attempt>,
}

/// What should become of an attempt.
#[derive(Clone, Copy)]
pub(super) enum Expect {
    /// A refusal with this status, and this rule on record.
    Refused(u16, &'static str),
    /// The attacker gets its own things instead, from this store.
    OwnThings(&'static str),
}

impl<'w> Stage<'w> {
    pub(super) async fn set(world: &'w World, attacker: &str, victim: &str) -> Result<Self, Failure> {
        let secret = format!("{}", Uuid::new_v4().simple());
        let document = format!("private-{}", &secret[..8]);
        let (a, v) = (world.login(attacker).await?, world.login(victim).await?);
        let job = v.ingest(&document, "The vault", &vault(&secret)).await?;
        // The attacker has a document of the same name's kind and nearly the same words, with a word of its own.
        let own = Uuid::new_v4().simple().to_string();
        a.ingest(&format!("private-{}", &own[..8]), "The vault", &vault(&own)).await?;
        let written =
            v.post_text("/tools/write_file", &json!({ "path": "plan.txt", "text": secret }).to_string()).await?;
        if written.status != 200 {
            return Err("the victim's file could not be planted".into());
        }
        Ok(Self {
            world,
            attacker: a,
            victim: v,
            attacker_name: attacker.to_owned(),
            victim_name: victim.to_owned(),
            secret,
            document,
            job,
            attempts: Vec::new(),
        })
    }

    /// Decides an attempt: was the target there, did the attacker get it, and does the log say so?
    pub(super) async fn judge(
        &mut self,
        what: &'static str,
        mark: usize,
        proof: &Reply,
        seen: &Reply,
        expect: Expect,
    ) -> Result<(), Failure> {
        let there = proof.status == 200 && proof.body.contains(&self.secret);
        let leaked = seen.body.contains(&self.secret);
        let record = self.find_record(mark, expect).await?;
        let as_expected = match expect {
            Expect::Refused(status, _) => seen.status == status,
            Expect::OwnThings(_) => seen.status == 200,
        };
        let outcome = match (leaked, there && as_expected && record.is_some()) {
            (true, _) => Outcome::Leak,
            (false, true) => Outcome::Denied,
            (false, false) => Outcome::Unproven,
        };
        let shown = |r: &AuditRecord| format!("{} #{} {}", r.outcome().as_str(), r.sequence(), &r.hash()[..12]);
        let rule = match expect {
            Expect::Refused(..) => record.as_ref().and_then(|r| r.rule().map(str::to_owned)),
            Expect::OwnThings(store) => record.as_ref().map(|_| format!("own {store} only")),
        };
        self.attempts.push(Attempt {
            attacker: self.attacker_name.clone(),
            victim: self.victim_name.clone(),
            what,
            outcome,
            seen: if leaked { "the victim's secret".to_owned() } else { format!("status {}", seen.status) },
            rule,
            record: record.as_ref().map(shown),
            proof: if there { "the victim's own access works".to_owned() } else { format!("status {}", proof.status) },
        });
        Ok(())
    }

    pub(super) async fn mark(&self) -> Result<usize, Failure> {
        Ok(self.world.records().await?.len())
    }

    /// The record of the attempt, newer than the mark. Equal denials within a second are written as a count when the
    /// second is over, so it may take that long.
    pub(super) async fn find_record(&self, mark: usize, expect: Expect) -> Result<Option<AuditRecord>, Failure> {
        let attacker = self.world.life(&self.attacker_name);
        let fits = |r: &AuditRecord| match expect {
            Expect::Refused(_, rule) => r.rule() == Some(rule),
            Expect::OwnThings(store) => r.rule().is_none() && r.store() == Some(store) && r.life() == attacker,
        };
        for _ in 0..40 {
            let records = self.world.records().await?;
            if let Some(record) = records.into_iter().skip(mark).rev().find(|r| fits(r)) {
                return Ok(Some(record));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(None)
    }

    /// The folder of the victim, found by what is in it.
    pub(super) fn victims_folder(&self) -> Option<std::path::PathBuf> {
        let folders = std::fs::read_dir(self.world.files()).ok()?;
        folders
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|folder| std::fs::read_to_string(folder.join("plan.txt")).is_ok_and(|text| text == self.secret))
    }

    /// The secret, if a listing names the victim's document with the victim's title.
    pub(super) fn if_listed(&self, listing: &Reply) -> String {
        let documents = listing.json()["documents"].as_array().cloned().unwrap_or_default();
        let named = documents.iter().any(|d| d["id"] == json!(self.document) && d["title"] == json!("The vault"));
        if named { self.secret.clone() } else { String::new() }
    }
}

/// The words of a private document.
pub(super) fn vault(secret: &str) -> String {
    format!("The code word of the vault is {secret}. It changes with the seasons and is told to nobody by telephone.")
}
