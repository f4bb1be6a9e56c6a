//! The executor: T4, T7 and their relatives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Deserialize;
use tenancy_core::{BreakerSettings, Denial, Face, Life, Outcome, Placement, Region, TenantId, TenantRecord};
use tenancy_testkit::TestTenants;
use tenancy_tools::{
    Effect, InvalidArguments, Limits, NoArguments, Tool, ToolError, ToolOutput, ToolRegistry, ToolScope, ToolsError,
};
use tokio::sync::Notify;

use crate::house::{House, ReadFile, SECRET};

#[tokio::test]
async fn t4_a_smuggled_scope_is_refused_and_on_record() {
    let house = House::new().await;
    let scope =
        |outcome: &Result<ToolOutput, ToolsError>| matches!(outcome, Err(ToolsError::Denied(Denial::ScopeArgument)));
    let invalid = |outcome: &Result<ToolOutput, ToolsError>| matches!(outcome, Err(ToolsError::Invalid(_)));
    let on_scope = (Outcome::Denied, Some("scope_argument_supplied".to_owned()));
    let on_invalid = (Outcome::Failed, Some("tool.arguments".to_owned()));

    for (arguments, is_scope, mechanism) in [
        (r#"{"path":"own.txt","tenant_id":"globex"}"#, true, "extra name"),
        (r#"{"path":"own.txt","tenantId":null}"#, true, "extra name, camel, null"),
        (r#"{"path":"own.txt","t\u0435nant":"globex"}"#, true, "look-alike letter by its escape"),
        (r#"{"path":"own.txt","filter":{"customer-id":"globex"}}"#, true, "nested"),
        (r#"{"path":"own.txt","tenant_id":"acme","tenant_id":"globex"}"#, true, "repeated, first our own"),
        (r#"{"path":"own.txt","_meta":{"tenant":"globex"}}"#, true, "under _meta"),
        (r#"{"path":"own.txt","account":"globex"}"#, true, "an ambiguous name that nobody declared"),
        (r#"{"tenant_id":"globex","path":"#, true, "cut off after the name"),
        (r#"{"path":"own.txt","_meta":{}}"#, false, "_meta is a name like any other"),
        (r#"{"path":"own.txt","path":"../x"}"#, false, "repeated name"),
        (r#"{"path":"own.txt","p\u0061th":"../x"}"#, false, "repeated name by its escape"),
        (r#"{"path":"own.txt","Path":"x"}"#, false, "another case"),
        (r#"{"path":["own.txt"]}"#, false, "another type"),
        ("{}", false, "a name is missing"),
        (r#"["own.txt"]"#, false, "no object"),
        (r#"{"path":"own.txt"} {"tenant":"x"}"#, false, "a second document"),
    ] {
        let outcome = house.acme.call("read_file", arguments).await;
        let (expected, on_record) =
            if is_scope { (scope(&outcome), &on_scope) } else { (invalid(&outcome), &on_invalid) };
        assert!(expected, "{mechanism}: {outcome:?}");
        assert_eq!(outcome.unwrap_err().face(), Face::Invalid, "{mechanism}");
        assert_eq!(house.outcomes("read_file").await.last(), Some(on_record), "{mechanism}");
    }

    let own = house.acme.call("read_file", r#"{"path":"own.txt"}"#).await.unwrap();
    assert_eq!(own.as_str(), "acme's own");
    // A value is data, whatever it says.
    house.acme.files().write("tenant_id=globex", "data").await.unwrap();
    let data = house.acme.call("read_file", r#"{"path":"tenant_id=globex"}"#).await.unwrap();
    assert_eq!(data.as_str(), "data");
}

#[tokio::test]
async fn the_rule_that_arguments_break_is_named_and_nothing_of_them_shown() {
    let house = House::new().await;
    let error = house.acme.call("read_file", r#"{"path":"own.txt","secret-extra":"hunter2"}"#).await.unwrap_err();
    let ToolsError::Invalid(InvalidArguments::Schema { pointer }) = &error else { panic!("{error:?}") };
    assert_eq!(pointer, "/additionalProperties");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("secret-extra"), "{shown}");
}

#[tokio::test]
async fn an_unknown_tool_is_one_answer_for_everybody() {
    let house = House::new().await;
    for (mine, name) in
        [(&house.acme, "no_such"), (&house.globex, "no_such"), (&house.acme, "READ_FILE"), (&house.acme, "")]
    {
        let error = mine.call(name, "{}").await.unwrap_err();
        assert_eq!(format!("{error:?}"), "UnknownTool");
        assert_eq!(error.face(), Face::NotFound);
    }
    let unknown = (Outcome::Failed, Some("tool.unknown".to_owned()));
    assert_eq!(house.outcomes("call").await, vec![unknown; 3]);
}

#[derive(Deserialize, JsonSchema)]
struct How {
    how: String,
}

/// Does what it is told, harm included.
struct Wild(Arc<Signals>);

#[derive(Default)]
struct Signals {
    started: AtomicUsize,
    finished: AtomicUsize,
    go_on: Notify,
}

impl Tool for Wild {
    type Args = How;
    const NAME: &'static str = "wild";
    const VERSION: &'static str = "1";
    const DESCRIPTION: &'static str = "Misbehaves";
    const EFFECT: Effect = Effect::ReadOnly;

    async fn call(&self, scope: &ToolScope<'_>, args: How) -> Result<ToolOutput, ToolError> {
        match args.how.as_str() {
            "panic" => panic!("wild"),
            "hang" => std::future::pending().await,
            "flood" => Ok(ToolOutput::text("x".repeat(100 * 1024 * 1024))),
            "fail" => Err(ToolError::failed(std::io::Error::other("postgres://app:hunter2@db"))),
            "decline" => Err(ToolError::declined("not today")),
            "write" => {
                scope.files().write("by-a-reader", "x").await?;
                Ok(ToolOutput::text("written"))
            }
            "block" => {
                std::thread::sleep(Duration::from_millis(2000));
                Ok(ToolOutput::text("blocked"))
            }
            "wait" => {
                self.0.started.fetch_add(1, Ordering::SeqCst);
                self.0.go_on.notified().await;
                self.0.finished.fetch_add(1, Ordering::SeqCst);
                Ok(ToolOutput::text("waited"))
            }
            _ => Ok(ToolOutput::text("well")),
        }
    }
}

async fn wild(limits: Limits) -> (House, Arc<Signals>) {
    wild_in(TestTenants::new().await, limits).await
}

async fn wild_in(tenants: TestTenants, limits: Limits) -> (House, Arc<Signals>) {
    let signals = Arc::new(Signals::default());
    let mut registry = ToolRegistry::new();
    registry.register(Wild(Arc::clone(&signals))).unwrap().register(ReadFile).unwrap();
    (House::of(tenants, registry, limits).await, signals)
}

fn how(how: &str) -> String {
    format!(r#"{{"how":"{how}"}}"#)
}

#[tokio::test]
async fn t7_a_tool_that_misbehaves_ends_its_own_call() {
    // Long enough for 100 MB on a busy machine.
    let (house, _) = wild(Limits::default().time(Duration::from_secs(2))).await;
    for (word, rule, face) in [
        ("panic", "tool.panicked", Face::Unavailable),
        ("hang", "tool.timed_out", Face::Unavailable),
        ("flood", "tool.output_too_large", Face::Unavailable),
        ("fail", "tool.failed", Face::Unavailable),
        ("decline", "tool.declined", Face::Invalid),
        ("write", "tool.declined", Face::Invalid),
    ] {
        let error = house.acme.call("wild", &how(word)).await.unwrap_err();
        assert_eq!((error.rule(), error.face()), (rule, face), "{word}");
        assert!(!format!("{error:?} {error}").contains("hunter2"));
        let record = (Outcome::Failed, Some(rule.to_owned()));
        assert_eq!(house.outcomes("wild").await.last(), Some(&record), "{word}");
        // The executor lives, for this tenant and for the other.
        assert_eq!(house.acme.call("wild", &how("behave")).await.unwrap().as_str(), "well", "{word}");
        assert_eq!(house.globex.call("wild", &how("behave")).await.unwrap().as_str(), "well", "{word}");
    }
    assert!(house.acme.files().list(".").await.unwrap().entries.is_empty(), "a tool that only reads wrote");
}

#[tokio::test]
async fn a_failing_tool_opens_the_breaker_of_one_tenant_and_one_tool() {
    let mut settings = BreakerSettings::default();
    settings.failures = 3;
    let (house, _) = wild(Limits::default().breaker(settings)).await;
    house.acme.files().write("f", "x").await.unwrap();
    for _ in 0..3 {
        // Neither bad arguments nor a tool that declines count, or break the row.
        assert!(house.acme.call("wild", "{}").await.is_err());
        assert!(matches!(house.acme.call("wild", &how("panic")).await, Err(ToolsError::Panicked)));
    }
    let open = house.acme.call("wild", &how("behave")).await;
    assert!(matches!(open, Err(ToolsError::Denied(Denial::BreakerOpen))), "{open:?}");
    assert_eq!(house.outcomes("wild").await.pop().unwrap(), (Outcome::Denied, Some("breaker.open".to_owned())));
    assert!(house.acme.call("read_file", r#"{"path":"f"}"#).await.is_ok(), "another tool");
    assert!(house.globex.call("wild", &how("behave")).await.is_ok(), "another tenant");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_of_a_tenant_are_capped_and_the_other_is_not_held_up() {
    let (house, signals) = wild(Limits::default().calls(2)).await;
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let mine = house.acme.clone();
            tokio::spawn(async move { mine.call("wild", &how("wait")).await })
        })
        .collect();
    let mut seen = 0;
    while seen < 5 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(signals.started.load(Ordering::SeqCst) <= seen + 2, "more than two ran at a time");
        assert!(house.globex.call("wild", &how("behave")).await.is_ok());
        seen = signals.started.load(Ordering::SeqCst);
        signals.go_on.notify_waiters();
    }
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().as_str(), "waited");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_tool_that_blocks_its_thread_keeps_its_place_and_not_its_caller() {
    let (house, _) = wild(Limits::default().calls(2).time(Duration::from_millis(200))).await;
    let block = how("block");
    let (first, second) = tokio::join!(house.acme.call("wild", &block), house.acme.call("wild", &block));
    assert!(matches!(first, Err(ToolsError::TimedOut { .. })) && matches!(second, Err(ToolsError::TimedOut { .. })));
    // Another handle of the same life shares the places.
    let again = house.tools.scoped(&house.tenants.context("acme").await).unwrap();
    assert!(matches!(again.call("wild", &how("behave")).await, Err(ToolsError::Busy)));
    assert_eq!(house.outcomes("wild").await.last(), Some(&(Outcome::Failed, Some("tool.busy".to_owned()))));
    assert!(house.globex.call("wild", &how("behave")).await.is_ok());
    while let Err(error) = again.call("wild", &how("behave")).await {
        assert!(matches!(error, ToolsError::Busy), "{error:?}");
    }
}

#[tokio::test]
async fn a_dropped_call_aborts_its_tool() {
    let (house, signals) = wild(Limits::default()).await;
    let mine = house.acme.clone();
    let call = tokio::spawn(async move { mine.call("wild", &how("wait")).await });
    while signals.started.load(Ordering::SeqCst) < 1 {
        tokio::task::yield_now().await;
    }
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    tokio::task::yield_now().await;
    signals.go_on.notify_waiters();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(signals.finished.load(Ordering::SeqCst), 0, "the tool went on after its caller was gone");
    assert_eq!(house.outcomes("wild").await, [(Outcome::Cancelled, None)]);
    assert!(house.acme.call("wild", &how("behave")).await.is_ok());
}

#[tokio::test]
async fn a_tenant_that_is_stopped_meanwhile_gets_no_answer() {
    let (house, signals) = wild(Limits::default()).await;
    let mine = house.acme.clone();
    let call = tokio::spawn(async move { mine.call("wild", &how("wait")).await });
    while signals.started.load(Ordering::SeqCst) < 1 {
        tokio::task::yield_now().await;
    }
    house.tenants.suspend("acme");
    // Whoever asks next makes the suspension known to this process.
    assert!(house.acme.call("wild", &how("behave")).await.is_err());
    signals.go_on.notify_waiters();
    let answer = call.await.unwrap();
    assert!(matches!(answer, Err(ToolsError::Denied(Denial::TenantSuspended))), "{answer:?}");
}

/// The clock's step is longer than what the directory said lasts.
#[tokio::test]
async fn a_tool_that_takes_longer_than_the_fence_is_answered_unless_the_tenant_was_stopped() {
    let tenants = TestTenants::builder().clock().build().await;
    let (house, signals) = wild_in(tenants, Limits::default()).await;
    for (stopped, runs) in [(false, 1), (true, 2)] {
        let mine = house.acme.clone();
        let call = tokio::spawn(async move { mine.call("wild", &how("wait")).await });
        while signals.started.load(Ordering::SeqCst) < runs {
            tokio::task::yield_now().await;
        }
        if stopped {
            house.tenants.directory().suspend(&TenantId::parse("acme").unwrap()).unwrap();
        }
        house.tenants.clock().advance(Duration::from_secs(6));
        signals.go_on.notify_waiters();
        let answer = call.await.unwrap();
        let on_record = house.outcomes("wild").await.pop().unwrap();
        if stopped {
            assert!(matches!(answer, Err(ToolsError::Denied(Denial::TenantSuspended))), "{answer:?}");
            assert_eq!(on_record, (Outcome::Denied, Some("tenant.suspended".to_owned())));
        } else {
            assert_eq!(answer.unwrap().as_str(), "waited");
            assert_eq!(on_record, (Outcome::Done, None));
        }
    }
}

#[tokio::test]
async fn a_tenant_is_served_in_its_own_region_only() {
    let tenants = TestTenants::new().await;
    let west = Region::parse("eu-west").unwrap();
    let record = TenantRecord::new(
        TenantId::parse("umbrella").unwrap(),
        Life::random(),
        SystemTime::now() - std::time::Duration::from_secs(60),
    )
    .claim(tenants.issuer().issuer(), "umbrella")
    .placed(Placement::in_region(west.clone()));
    tenants.directory().add(record).unwrap();
    let mut registry = ToolRegistry::new();
    registry.register(WhoAmI).unwrap();
    let house = House::of(tenants, registry, Limits::default()).await;
    let abroad = house.tenants.context("umbrella").await;
    let at_home = house.tenants.context("acme").await;
    assert_eq!(house.tools.scoped(&abroad).err(), Some(Denial::WrongRegion));

    let there = house.tools.clone().in_region(west);
    assert_eq!(there.scoped(&at_home).err(), Some(Denial::WrongRegion));
    let mine = there.scoped(&abroad).unwrap();
    assert_eq!(mine.call("who_am_i", "{}").await.unwrap().as_str(), "umbrella");
    mine.files().write("f", "x").await.unwrap();
    assert_eq!(house.acme.call("who_am_i", "{}").await.unwrap().as_str(), "acme", "the others stay where they are");
    let wrong = house.tenants.audit().await;
    let wrong = wrong.iter().filter(|record| record.rule() == Some("placement.wrong_region"));
    assert_eq!(wrong.map(|record| record.life()).collect::<Vec<_>>(), [Some(abroad.life()), Some(at_home.life())]);
}

struct WhoAmI;

impl Tool for WhoAmI {
    type Args = NoArguments;
    const NAME: &'static str = "who_am_i";
    const VERSION: &'static str = "1";
    const DESCRIPTION: &'static str = "Names the tenant";
    const EFFECT: Effect = Effect::ReadOnly;

    async fn call(&self, scope: &ToolScope<'_>, _: NoArguments) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(scope.context().tenant().as_str()))
    }
}

#[tokio::test]
async fn a_tool_is_given_its_callers_context_and_no_other() {
    let mut registry = ToolRegistry::new();
    registry.register(WhoAmI).unwrap();
    let house = House::with(registry, Limits::default()).await;
    let calls = (0..40).map(|i| {
        let (mine, name) = if i % 2 == 0 { (house.acme.clone(), "acme") } else { (house.globex.clone(), "globex") };
        tokio::spawn(async move { assert_eq!(mine.call("who_am_i", "{}").await.unwrap().as_str(), name) })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn a_stopped_tenant_and_a_foreign_realm_call_nothing() {
    let house = House::new().await;
    let other = tenancy_testkit::TestTenants::new().await;
    assert_eq!(house.tools.scoped(&other.context("acme").await).err(), Some(Denial::ForeignRealm));
    house.tenants.suspend("acme");
    let read = house.acme.call("read_file", r#"{"path":"own.txt"}"#).await;
    assert!(matches!(read, Err(ToolsError::Denied(Denial::TenantSuspended))), "{read:?}");
    let direct = house.acme.files().read("own.txt").await;
    assert_eq!(tenancy_core::Denial::of(&direct.unwrap_err()), Some(Denial::TenantSuspended));
    let other = house.globex.call("read_file", r#"{"path":"secret.txt"}"#).await.unwrap();
    assert_eq!(other.as_str(), SECRET);
}
