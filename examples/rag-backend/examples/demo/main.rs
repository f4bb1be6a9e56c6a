//! Two customers on one service, and each of them attacks the other.
//!
//! Run it with `cargo xtask demo`, which sees to it that a Postgres server is installed.

mod args;
mod attacks;
mod client;
mod engine;
mod quality;
mod report;
mod server;
mod warm;
mod world;

use std::fs::Permissions;
use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{Args, Corpus};
use crate::attacks::Attempt;
use crate::report::Report;
use crate::server::Server;
use crate::world::World;

/// What a step of the demo can end with. The text is for the person who started it.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let args = Args::parse();
    let folder = tempfile::Builder::new().prefix("tenancy-demo-").permissions(Permissions::from_mode(0o700)).tempdir();
    let (Ok(folder), Ok(runtime)) = (folder, tokio::runtime::Runtime::new()) else {
        return failed(&"no folder or no threads to work with".into());
    };
    let code = runtime.block_on(demo(args, folder.path()));
    // Whatever still runs has let go of its files before the folder is removed.
    drop(runtime);
    drop(folder);
    code
}

async fn demo(args: Args, folder: &Path) -> ExitCode {
    let json = args.json;
    // What was asked for is looked at before anything is started.
    let corpora = match Corpus::of(&args) {
        Ok(corpora) => corpora,
        Err(failure) => return failed(&failure),
    };
    // Ctrl-C drops the run, and with it everything that was started; what is left on a server that runs anyway is
    // dropped by `stop`.
    let Some(started) = unless_interrupted(Server::start()).await else { return interrupted() };
    let server = match started {
        Ok(server) => server,
        Err(failure) => return failed(&failure),
    };
    let outcome = unless_interrupted(run(args, &corpora, &server, folder)).await;
    server.stop().await;
    match outcome {
        None => interrupted(),
        Some(Err(failure)) => failed(&failure),
        Some(Ok(report)) => {
            show(&report, json);
            if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}

async fn run(args: Args, corpora: &[Corpus], server: &Server, folder: &Path) -> Result<Report, Failure> {
    let say = |text: String| {
        if !args.json {
            eprintln!("{text}");
        }
    };
    say(format!("postgres: {server}"));
    let together = World::start(server, folder, "demo", corpora).await?;
    say(format!("service:  {}", together.base()));
    let ingested = quality::ingest(&together, corpora, args.json).await?;
    say(format!("ingested: {ingested} documents of {} tenants, as jobs", corpora.len()));

    let mut report = Report::new(corpora.len(), ingested);
    for corpus in corpora {
        say(format!(
            "asking:   {} questions of {}, with and without its neighbour",
            corpus.questions.len(),
            corpus.tenant
        ));
        let beside = quality::ask_all(&together, corpus).await?;
        let alone = World::start(server, folder, "alone", std::slice::from_ref(corpus)).await?;
        quality::ingest(&alone, std::slice::from_ref(corpus), true).await?;
        let by_itself = quality::ask_all(&alone, corpus).await?;
        alone.stop().await?;
        report.quality(quality::compare(corpus, &beside, &by_itself));
    }

    say("asking:   the same again, in the same words and in others".to_owned());
    report.warmth(warm::ask_again(&together, corpora).await?);

    say("attacking: each tenant with the other's names, words, files, tickets and tokens".to_owned());
    let stranger = World::start(server, folder, "demo", corpora).await?;
    for (attacker, victim) in [(0, 1), (1, 0)] {
        let attempts: Vec<Attempt> = attacks::play(&together, &stranger, &corpora[attacker], &corpora[victim]).await?;
        report.attempts(attempts);
    }
    stranger.stop().await?;
    let audit = together.verify_audit().await?;
    report.audit(audit);
    if args.serve {
        show(&report, args.json);
        together.serve_until_interrupted(corpora).await;
    }
    together.stop().await?;
    Ok(report)
}

fn show(report: &Report, json: bool) {
    if json {
        println!("{}", report.to_json());
        eprintln!("{}", report.last_line());
    } else {
        print!("{report}");
        println!("{}", report.last_line());
    }
}

/// The output, or `None` after Ctrl-C or a request to end, which drops the future.
async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    let Ok(mut ended) = signal(SignalKind::terminate()) else { return Some(work.await) };
    tokio::select! {
        output = work => Some(output),
        Ok(()) = tokio::signal::ctrl_c() => None,
        Some(()) = ended.recv() => None,
    }
}

fn interrupted() -> ExitCode {
    eprintln!("\ndemo: interrupted; everything it started is gone");
    ExitCode::from(130)
}

fn failed(failure: &Failure) -> ExitCode {
    eprintln!("demo: {failure}");
    ExitCode::FAILURE
}
