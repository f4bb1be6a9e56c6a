//! The attempts, one after another: over HTTP, and before the worker.

use rag_backend::{Document, Queued, Service, enqueue, perform};
use secrecy::ExposeSecret;
use serde_json::json;
use tenancy_stack::Credential;
use uuid::Uuid;

use super::stage::{Expect, Stage, vault};
use crate::Failure;
use crate::client::{Client, Reply};
use crate::world::World;

impl Stage<'_> {
    pub(super) async fn direct_ids(&mut self) -> Result<(), Failure> {
        let path = format!("/documents/{}", self.document);
        let unknown = self.attacker.get("/documents/private-00000000").await?;
        let proof = self.victim.get(&path).await?;
        let mark = self.mark().await?;
        let mut seen = self.attacker.get(&path).await?;
        if seen != unknown {
            // An answer that differs from that of an id nobody has is an oracle.
            seen.body.push_str(&self.secret);
        }
        self.judge("read a document by its id", mark, &proof, &seen, Expect::Refused(404, "scope.not_visible")).await?;

        let mark = self.mark().await?;
        let seen = self.attacker.delete(&path).await?;
        let proof = self.victim.get(&path).await?;
        self.judge("delete a document by its id", mark, &proof, &seen, Expect::Refused(404, "scope.not_visible"))
            .await?;

        let job = format!("/jobs/{}", self.job);
        let mut proof = self.victim.get(&job).await?;
        proof.body.push_str(if proof.json()["document"] == json!(self.document) { &self.secret } else { "" });
        let mark = self.mark().await?;
        let seen = self.attacker.get(&job).await?;
        self.judge("look at a job by its id", mark, &proof, &seen, Expect::Refused(404, "scope.not_visible")).await?;

        let mark = self.mark().await?;
        let injected = format!("/documents/{}%27%20or%20%271%27=%271", self.document);
        let seen = self.attacker.get(&injected).await?;
        let proof = self.victim.get(&path).await?;
        self.judge("an id that closes the quote", mark, &proof, &seen, Expect::Refused(404, "scope.not_visible"))
            .await?;

        // Ids are the tenant's own: the same one is another document.
        let mark = self.mark().await?;
        self.attacker.ingest(&self.document, "Mine", "Nothing of yours.").await?;
        let proof = self.victim.get(&path).await?;
        let seen = self.attacker.get(&path).await?;
        self.judge("overwrite a document by its id", mark, &proof, &seen, Expect::OwnThings("postgres")).await
    }

    pub(super) async fn near_duplicate(&mut self) -> Result<(), Failure> {
        let question = vault(&self.secret);
        let proof = self.victim.ask(&question).await?;
        let mark = self.mark().await?;
        let seen = self.attacker.ask(&question.replace(&self.secret, "the code")).await?;
        self.judge("ask with the words of a private passage", mark, &proof, &seen, Expect::OwnThings("vectors"))
            .await?;
        let mark = self.mark().await?;
        let body = json!({ "query": "What is the code word of the vault?" }).to_string();
        let proof = self.victim.post_text("/tools/search_documents", &body).await?;
        let seen = self.attacker.post_text("/tools/search_documents", &body).await?;
        self.judge("let the model search for it", mark, &proof, &seen, Expect::OwnThings("vectors")).await
    }

    pub(super) async fn cache_replay(&mut self) -> Result<(), Failure> {
        let question = format!("What is the code word of the vault, round {}?", Uuid::new_v4());
        self.victim.ask(&question).await?;
        let proof = self.victim.ask(&question).await?;
        let warm = proof.json()["cached"] == json!(true);
        let mark = self.mark().await?;
        let mut seen = self.attacker.ask(&question).await?;
        if seen.json()["cached"] == json!(true) {
            seen.body.push_str(&self.secret);
        }
        let proof = if warm { proof } else { Reply { body: String::new(), ..proof } };
        self.judge("replay a question whose answer is cached", mark, &proof, &seen, Expect::OwnThings("cache")).await
    }

    pub(super) async fn tool_arguments(&mut self) -> Result<(), Failure> {
        let plain = json!({ "path": "plan.txt" }).to_string();
        let proof = self.victim.post_text("/tools/read_file", &plain).await?;
        let victim = self.victim_name.clone();
        for (what, arguments) in [
            ("name the tenant in a tool argument", json!({ "path": "plan.txt", "tenant_id": victim }).to_string()),
            ("name it in another spelling", json!({ "path": "plan.txt", "OrgID": victim }).to_string()),
        ] {
            let mark = self.mark().await?;
            let seen = self.attacker.post_text("/tools/read_file", &arguments).await?;
            self.judge(what, mark, &proof, &seen, Expect::Refused(400, "scope_argument_supplied")).await?;
        }
        Ok(())
    }

    pub(super) async fn file_paths(&mut self) -> Result<(), Failure> {
        let plain = json!({ "path": "plan.txt" }).to_string();
        let proof = self.victim.post_text("/tools/read_file", &plain).await?;
        let Some(folder) = self.victims_folder() else {
            return Err("the victim's folder is not where the demo put it".into());
        };
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (what, path) in [
            ("climb to the neighbour's folder", format!("../{name}/plan.txt")),
            ("climb through a folder that is not there", format!("a/../../{name}/plan.txt")),
            ("name the whole path", folder.join("plan.txt").display().to_string()),
        ] {
            let mark = self.mark().await?;
            let body = json!({ "path": path }).to_string();
            let mut seen = self.attacker.post_text("/tools/read_file", &body).await?;
            if seen.body.contains(&name) {
                // A refusal that shows the host's path tells where the neighbour lives.
                seen.body.push_str(&self.secret);
            }
            self.judge(what, mark, &proof, &seen, Expect::Refused(404, "scope.out_of_reach")).await?;
        }
        Ok(())
    }

    pub(super) async fn forged_tenant(&mut self) -> Result<(), Failure> {
        let victim = self.victim_name.clone();
        let mut proof = self.victim.get("/documents").await?;
        proof.body = self.if_listed(&proof);
        let mark = self.mark().await?;
        let mut seen = self.attacker.get_with("/documents", "x-tenant-id", &victim).await?;
        seen.body = self.if_listed(&seen);
        self.judge("name the tenant in a header", mark, &proof, &seen, Expect::OwnThings("postgres")).await?;
        let mark = self.mark().await?;
        let mut seen = self.attacker.get(&format!("/documents?tenant={victim}&tenant_id={victim}")).await?;
        seen.body = self.if_listed(&seen);
        self.judge("name the tenant in the query", mark, &proof, &seen, Expect::OwnThings("postgres")).await?;
        let mark = self.mark().await?;
        let proof = self.victim.ask("What is the code word of the vault?").await?;
        let body = json!({ "question": "What is the code word of the vault?", "tenant": victim, "tenant_id": victim });
        let seen = self.attacker.post("/ask", &body).await?;
        self.judge("name the tenant in the body", mark, &proof, &seen, Expect::OwnThings("cache")).await
    }

    pub(super) async fn foreign_token(&mut self, stranger: &World) -> Result<(), Failure> {
        let path = format!("/documents/{}", self.document);
        let proof = self.victim.get(&path).await?;
        let token = stranger.login(&self.victim_name).await?.token().clone();
        let mark = self.mark().await?;
        let seen = self.attacker.with_token(token.expose_secret()).get(&path).await?;
        self.judge(
            "the victim's token of another realm",
            mark,
            &proof,
            &seen,
            Expect::Refused(401, "credential.signature"),
        )
        .await?;
        let altered = altered(self.victim.token().expose_secret());
        let mark = self.mark().await?;
        let seen = self.attacker.with_token(&altered).get(&path).await?;
        self.judge(
            "the victim's token with one letter changed",
            mark,
            &proof,
            &seen,
            Expect::Refused(401, "credential.signature"),
        )
        .await
    }

    pub(super) async fn job_tickets(&mut self) -> Result<(), Failure> {
        let service = self.world.service();
        let stolen = overheard(service, &self.victim, "stolen", &vault(&self.secret)).await?;
        let other = overheard(service, &self.attacker, "mine", "Words of the attacker.").await?;
        let id = "/documents/stolen";

        let mark = self.mark().await?;
        let swapped = Queued { ticket: stolen.ticket.clone(), payload: other.payload.clone() };
        let seen = self.before_the_worker(swapped, "/documents/mine").await?;
        let works = perform(service, stolen.clone()).await.is_ok();
        let proof = if works { self.victim.get(id).await? } else { Reply { status: 500, body: String::new() } };
        self.judge(
            "another tenant's ticket on a payload of one's own",
            mark,
            &proof,
            &seen,
            Expect::Refused(0, "ticket.wrong_payload"),
        )
        .await?;

        let mark = self.mark().await?;
        let seen = self.before_the_worker(stolen.clone(), "/documents/stolen").await?;
        self.judge("another tenant's ticket once more", mark, &proof, &seen, Expect::Refused(0, "ticket.replayed"))
            .await?;

        let mark = self.mark().await?;
        let torn = Queued { ticket: altered(&stolen.ticket), payload: stolen.payload.clone() };
        let seen = self.before_the_worker(torn, "/documents/stolen").await?;
        self.judge(
            "another tenant's ticket with one letter changed",
            mark,
            &proof,
            &seen,
            Expect::Refused(0, "ticket.altered"),
        )
        .await?;

        let mark = self.mark().await?;
        let seen = self.attacker.with_token(&stolen.ticket).get(id).await?;
        self.judge(
            "another tenant's ticket at the edge",
            mark,
            &proof,
            &seen,
            Expect::Refused(401, "credential.ticket_at_edge"),
        )
        .await
    }

    /// Puts a job before the worker, then looks at what the attacker has of it. Status 0 stands for "no job was done".
    pub(super) async fn before_the_worker(&self, queued: Queued, id: &str) -> Result<Reply, Failure> {
        match perform(self.world.service(), queued).await {
            Err(_) => Ok(Reply { status: 0, body: self.attacker.get(id).await?.body }),
            Ok(()) => Ok(Reply { status: 200, body: self.secret.clone() }),
        }
    }
}

/// A job of a user as somebody would have it who reads the queue.
async fn overheard(service: &Service, user: &Client, id: &str, text: &str) -> Result<Queued, Failure> {
    let credential = Credential::bearer(user.token().expose_secret());
    let context = service.realm().authenticate(&credential).await?;
    let mine = service.stores().scoped(&context)?;
    let (queue, mut jobs) = tokio::sync::mpsc::channel(1);
    enqueue(&queue, &mine, Document::new(id, text)).await?;
    jobs.recv().await.ok_or_else(|| "the queue is closed".into())
}

/// The text with a letter in its middle changed.
fn altered(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    // The last part of a token is its signature; a ticket is one part.
    let at = text.rfind('.').map_or(0, |dot| dot + 1) + 60;
    if let Some(byte) = bytes.get_mut(at) {
        *byte = if *byte == b'A' { b'B' } else { b'A' };
    }
    String::from_utf8(bytes).unwrap_or_default()
}
