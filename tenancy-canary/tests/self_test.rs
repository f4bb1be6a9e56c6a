//! D1: the suite against back ends whose verdict is known.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use tenancy_canary::{
    AttackPath, Canary, Cause, Evidence, Expect, Form, NotPlanted, Observation, OracleAnswers, Probe, Report, Suite,
    SuiteError, Verdict,
};
use tenancy_core::{Denial, TenantContext};
use tenancy_testkit::TestTenants;

/// How a back end behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Correct,
    LeaksEverything,
    AlwaysEmpty,
    Erroring,
    LeaksOneWay,
    Leaks(Form),
    LeaksInItsError,
    LeaksInADenial,
    DeniesTheOwnerToo,
    SameForEveryone,
    MixesIntoOwnReads,
    Panics,
    Hangs,
    Oracle,
    OracleWithTheCanary,
    EmptyWhereDeniedBelongs,
    DiesDuringTheAttack,
    BlindAttacker,
    BreakerOpen,
    CannotBePlanted,
    FailsTheAttackOnly,
    ForgetsHalf,
}

/// One store of two tenants.
struct BackEnd {
    kind: Kind,
    expect: Expect,
    notes: Mutex<HashMap<String, (String, String)>>,
    first: Mutex<Option<(String, String)>>,
    attacked: Mutex<bool>,
}

impl BackEnd {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            expect: Expect::Denied,
            notes: Mutex::default(),
            first: Mutex::default(),
            attacked: Mutex::default(),
        }
    }

    fn searching(kind: Kind) -> Self {
        Self { expect: Expect::Absent, ..Self::new(kind) }
    }

    fn text_of(&self, reference: &str) -> Option<(String, String)> {
        self.notes.lock().unwrap().get(reference).cloned()
    }
}

fn disguised(form: Form, text: &str) -> String {
    use data_encoding::{BASE64, HEXUPPER};
    match form {
        Form::Plain => text.to_uppercase(),
        Form::Part => text[8..28].to_owned(),
        Form::Base64 => BASE64.encode(format!("{{\"note\":\"{text}\"}}").as_bytes()),
        Form::Hex => HEXUPPER.encode(text.as_bytes()),
        Form::Percent => text.bytes().map(|b| format!("%{b:02X}")).collect(),
        _ => text.bytes().map(|b| format!("\\u{b:04x}")).collect(),
    }
}

#[async_trait]
impl Probe for BackEnd {
    fn name(&self) -> &str {
        "notes"
    }

    fn path(&self) -> AttackPath {
        AttackPath::DirectId
    }

    fn expect(&self) -> Expect {
        self.expect
    }

    async fn plant(&self, owner: &TenantContext, canary: &Canary) -> Result<(), NotPlanted> {
        if self.kind == Kind::CannotBePlanted {
            return Err(NotPlanted::because("the disk is full"));
        }
        let note = (owner.tenant().as_str().to_owned(), canary.as_str().to_owned());
        self.first.lock().unwrap().get_or_insert_with(|| note.clone());
        self.notes.lock().unwrap().insert(canary.reference().to_owned(), note);
        Ok(())
    }

    async fn owner_reads(&self, owner: &TenantContext, canary: &Canary) -> Observation {
        let text = self.text_of(canary.reference()).unwrap().1;
        match self.kind {
            Kind::AlwaysEmpty => Observation::Absent,
            Kind::Erroring => Observation::Failed("connection refused".to_owned()),
            Kind::DeniesTheOwnerToo => Observation::denied("scope.not_visible"),
            Kind::SameForEveryone => Observation::Found(self.first.lock().unwrap().clone().unwrap().1),
            Kind::MixesIntoOwnReads => {
                let notes = self.notes.lock().unwrap();
                Observation::Found(notes.values().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" "))
            }
            Kind::DiesDuringTheAttack if *self.attacked.lock().unwrap() => Observation::Failed("gone".to_owned()),
            Kind::BlindAttacker if owner.tenant().as_str() == "globex" => Observation::Failed("no route".to_owned()),
            Kind::ForgetsHalf => Observation::Found(text[..20].to_owned()),
            _ => Observation::Found(format!("the note says {text}")),
        }
    }

    async fn attack(&self, other: &TenantContext, canary: &Canary) -> Observation {
        *self.attacked.lock().unwrap() = true;
        let (owner, text) = self.text_of(canary.reference()).unwrap();
        assert_ne!(owner, other.tenant().as_str(), "the attacker is somebody else");
        match self.kind {
            Kind::LeaksEverything => Observation::Found(text),
            Kind::AlwaysEmpty | Kind::EmptyWhereDeniedBelongs => Observation::Absent,
            Kind::Erroring | Kind::FailsTheAttackOnly => Observation::Failed("connection refused".to_owned()),
            Kind::LeaksOneWay if owner == "acme" => Observation::Found(text),
            Kind::Leaks(form) => Observation::Found(format!("<{}>", disguised(form, &text))),
            Kind::LeaksInItsError => Observation::Failed(format!("duplicate key: {text}")),
            Kind::LeaksInADenial => {
                Observation::Denied { rule: "scope.not_visible".to_owned(), shown: format!("{text} is not yours") }
            }
            Kind::SameForEveryone => Observation::Found(self.first.lock().unwrap().clone().unwrap().1),
            Kind::Panics => panic!("the driver panicked"),
            Kind::Hangs => std::future::pending().await,
            Kind::BreakerOpen => Observation::of_error(&Denial::BreakerOpen),
            _ if self.expect == Expect::Absent => Observation::Found("the attacker's own near-duplicate".to_owned()),
            _ => Observation::of_error(&Denial::NotVisible),
        }
    }

    async fn oracle(&self, _: &TenantContext, canary: &Canary) -> Option<OracleAnswers> {
        match self.kind {
            Kind::Oracle => Some(OracleAnswers::new("403 forbidden", "404 not found")),
            Kind::OracleWithTheCanary => {
                let text = self.text_of(canary.reference()).unwrap().1;
                Some(OracleAnswers::new(text.clone(), text))
            }
            _ => Some(OracleAnswers::new("404 not found", "404 not found")),
        }
    }
}

async fn run(probe: BackEnd) -> Report {
    let tenants = TestTenants::new().await;
    let suite = Suite::new(tenants.context("acme").await, tenants.context("globex").await).unwrap();
    suite.time(Duration::from_millis(300)).probe(probe).run().await
}

/// The verdicts for acme's canary and for globex's.
async fn verdicts(probe: BackEnd) -> ([Verdict; 2], u8) {
    let report = run(probe).await;
    assert_eq!(report.rows[0].owner, "acme");
    ([report.rows[0].verdict, report.rows[1].verdict], report.exit_code())
}

const PASS: Verdict = Verdict::Pass;

const fn leak(form: Form) -> Verdict {
    Verdict::Leak { evidence: Evidence::Canary(form) }
}

const fn unproved(cause: Cause) -> Verdict {
    Verdict::Inconclusive { cause }
}

#[tokio::test]
async fn d1_the_four_reference_back_ends() {
    for (kind, verdict, code) in [
        (Kind::Correct, PASS, 0),
        (Kind::LeaksEverything, leak(Form::Plain), 1),
        (Kind::AlwaysEmpty, unproved(Cause::NoPositiveControl), 2),
        (Kind::Erroring, unproved(Cause::NoPositiveControl), 2),
    ] {
        assert_eq!(verdicts(BackEnd::new(kind)).await, ([verdict; 2], code), "{kind:?}");
        assert_eq!(verdicts(BackEnd::searching(kind)).await, ([verdict; 2], code), "{kind:?}, searching");
    }
}

#[tokio::test]
async fn d1_relatives() {
    use Cause::{
        AttackFailed, AttackerBlind, DeniedForAnotherReason, NoPositiveControl, NotDenied, NotPlanted, OwnerDenied,
        Panicked, TimedOut,
    };
    let oracle = Verdict::Leak { evidence: Evidence::Oracle };
    // (back end, acme's canary, globex's canary, exit code, mechanism)
    for (kind, acme, globex, code, mechanism) in [
        (Kind::LeaksOneWay, leak(Form::Plain), PASS, 1, "a direction that nobody tried"),
        (Kind::Leaks(Form::Plain), leak(Form::Plain), leak(Form::Plain), 1, "upper case"),
        (Kind::Leaks(Form::Part), leak(Form::Part), leak(Form::Part), 1, "a snippet"),
        (Kind::Leaks(Form::Base64), leak(Form::Base64), leak(Form::Base64), 1, "base64 inside another text"),
        (Kind::Leaks(Form::Hex), leak(Form::Hex), leak(Form::Hex), 1, "hex"),
        (Kind::Leaks(Form::Percent), leak(Form::Percent), leak(Form::Percent), 1, "percent-encoded"),
        (Kind::Leaks(Form::Escaped), leak(Form::Escaped), leak(Form::Escaped), 1, "escaped"),
        (Kind::LeaksInItsError, leak(Form::Plain), leak(Form::Plain), 1, "an error that quotes"),
        (Kind::LeaksInADenial, leak(Form::Plain), leak(Form::Plain), 1, "a refusal that quotes"),
        (Kind::DeniesTheOwnerToo, unproved(OwnerDenied), unproved(OwnerDenied), 2, "locked for everybody"),
        (Kind::SameForEveryone, leak(Form::Plain), unproved(NoPositiveControl), 1, "one canary for everybody"),
        (Kind::MixesIntoOwnReads, leak(Form::Plain), leak(Form::Plain), 1, "no attack needed"),
        (Kind::Panics, unproved(Panicked), unproved(Panicked), 2, "a probe that panics"),
        (Kind::Hangs, unproved(TimedOut), unproved(TimedOut), 2, "a probe that hangs"),
        (Kind::Oracle, oracle, oracle, 1, "foreign and unknown are answered differently"),
        (Kind::OracleWithTheCanary, leak(Form::Plain), leak(Form::Plain), 1, "alike, and both are the canary"),
        (Kind::EmptyWhereDeniedBelongs, unproved(NotDenied), unproved(NotDenied), 2, "empty is not denied"),
        (Kind::DiesDuringTheAttack, unproved(NoPositiveControl), unproved(NoPositiveControl), 2, "gone meanwhile"),
        (Kind::BlindAttacker, unproved(AttackerBlind), unproved(NoPositiveControl), 2, "an attacker that sees nothing"),
        (
            Kind::BreakerOpen,
            unproved(DeniedForAnotherReason),
            unproved(DeniedForAnotherReason),
            2,
            "refused by the way",
        ),
        (Kind::CannotBePlanted, unproved(NotPlanted), unproved(NotPlanted), 2, "nothing planted"),
        (Kind::FailsTheAttackOnly, unproved(AttackFailed), unproved(AttackFailed), 2, "dead for the attacker only"),
        (Kind::ForgetsHalf, unproved(NoPositiveControl), unproved(NoPositiveControl), 2, "the owner gets half of it"),
    ] {
        assert_eq!(verdicts(BackEnd::new(kind)).await, ([acme, globex], code), "{mechanism}");
    }
}

#[tokio::test]
async fn a_search_is_judged_by_what_it_brings() {
    // The attacker's own near-duplicate comes back, and that is what a search is for.
    assert_eq!(verdicts(BackEnd::searching(Kind::BlindAttacker)).await.1, 2);
    assert_eq!(verdicts(BackEnd::searching(Kind::Correct)).await.1, 0);
    let refused = verdicts(BackEnd::searching(Kind::BreakerOpen)).await;
    assert_eq!(refused.0, [unproved(Cause::NotSearched); 2]);
    let empty = verdicts(BackEnd::searching(Kind::EmptyWhereDeniedBelongs)).await;
    assert_eq!(empty.0, [PASS; 2]);
}

#[tokio::test]
async fn a_run_without_probes_or_with_one_bad_one_does_not_pass() {
    let tenants = TestTenants::new().await;
    let (acme, globex) = (tenants.context("acme").await, tenants.context("globex").await);
    let again = tenants.context("acme").await;
    assert_eq!(Suite::new(acme.clone(), again).err(), Some(SuiteError::OneTenant));
    let none = Suite::new(acme.clone(), globex.clone()).unwrap().run().await;
    assert_eq!((none.exit_code(), none.untried.len()), (2, 8));
    let mixed = Suite::new(acme, globex)
        .unwrap()
        .time(Duration::from_millis(300))
        .probe(BackEnd::new(Kind::Panics))
        .probe(BackEnd::new(Kind::Correct))
        .run()
        .await;
    assert_eq!(mixed.rows.iter().filter(|row| row.verdict == PASS).count(), 2, "the next probe runs");
    assert_eq!(mixed.exit_code(), 2);
}

#[tokio::test]
async fn the_report_reads_well_and_holds_no_content() {
    let report = run(BackEnd::new(Kind::LeaksOneWay)).await;
    let table = report.to_string();
    for part in ["notes", "direct id", "LEAK: the canary, as planted", "pass", "not tried: telemetry"] {
        assert!(table.contains(part), "{table}");
    }
    assert!(table.ends_with("1 passed, 1 leaked, 0 inconclusive"), "{table}");
    let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
    assert_eq!(json["rows"][0]["verdict"], "leak");
    assert_eq!(json["rows"][0]["evidence"]["canary"], "plain");
    assert_eq!(json["rows"][1]["verdict"], "pass");
    assert_eq!(json["untried"].as_array().unwrap().len(), 7);
    assert!(!table.contains("canary0") && !json.to_string().contains("the note says"));
}
