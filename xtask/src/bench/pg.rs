//! Postgres: one statement for a tenant, our ways beside the usual ones and a peer's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use serde::Deserialize;

use super::program::{self, Program};
use super::table::{self, Reach, Row};
use crate::failure::Failure;
use crate::{servers, shell};

/// What is run by how many callers at once, for how many tenants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    work: &'static str,
    callers: u32,
    tenants: u32,
    /// Milliseconds between two calls of a caller.
    pause: u32,
}

/// Microseconds at the middle of each round.
type Rounds = BTreeMap<(Case, &'static str), Vec<f64>>;

#[derive(Deserialize)]
struct Ready {
    url: String,
    proxied: String,
}

#[derive(Deserialize)]
struct Times {
    p50: f64,
}

#[derive(Deserialize)]
struct Trips {
    trips: f64,
}

pub(super) fn run(quick: bool, json: bool) -> Result<(), Failure> {
    servers::ensure_postgres()?;
    let keys = shell::root().join("target/bench/pg.keys");
    let folder = keys.with_file_name("");
    std::fs::create_dir_all(&folder).map_err(Failure::at(folder.display()))?;
    let (ours, peers) = (program::build("tenancy-pg", "pg")?, build_peers()?);
    eprintln!("Filling a database with ten thousand tenants.");
    let (mut ours, ready): (_, Ready) = Program::start(Command::new(ours).arg("--keys").arg(&keys))?;
    let peer =
        |url: &str| Program::start::<Empty>(Command::new(&peers).arg(url).arg(&keys)).map(|(program, _)| program);
    let mut peers = peer(&ready.url)?;

    let (rounds, milliseconds) = if quick { (3, 60) } else { (11, 200) };
    let start = Instant::now();
    let mut all = Rounds::new();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}, {}", round + 1, shell::since(start));
        for case in CASES {
            let Case { work, callers, tenants, pause } = case;
            // Each round begins with another way, so that none always follows the same one.
            for way in WAYS.iter().cycle().skip(round).take(WAYS.len()) {
                let program = if way.starts_with(PEER) { &mut peers } else { &mut ours };
                let times: Times =
                    program.ask(&format!("round {way} {work} {callers} {tenants} {pause} {milliseconds}"))?;
                all.entry((*case, way)).or_default().push(times.p50);
            }
        }
    }
    let trips = trips(&mut ours, &mut peer(&ready.proxied)?)?;
    let rows = rows(&all);
    let file = folder.join("pg.json");
    table::write(&file, &rows)?;
    if json {
        return table::print_json(&rows);
    }
    table::print(&rows);
    println!("\nround-trips of one read by its key, what goes on behind the scenes included:");
    for (way, count) in trips {
        println!("{way:<52} {count:>9.2}");
    }
    Ok(())
}

/// The peer's, in a workspace of its own.
fn build_peers() -> Result<PathBuf, Failure> {
    let (manifest, target) = (shell::root().join("benches/peers/Cargo.toml"), shell::root().join("target/peers"));
    let mut cargo = shell::cargo();
    cargo.args(["build", "--release", "--locked", "--manifest-path"]).arg(manifest).arg("--target-dir").arg(&target);
    shell::run(&mut cargo)?;
    Ok(target.join("release/peers"))
}

/// Round-trips of one call of each way, counted on the wire.
fn trips(ours: &mut Program, peers: &mut Program) -> Result<Vec<(&'static str, f64)>, Failure> {
    let mut all = Vec::new();
    for way in WAYS {
        let Trips { trips } = if way.starts_with(PEER) {
            let _warm: Times = peers.ask(&format!("round {way} key 1 1 0 50"))?;
            let before: Trips = ours.ask("traffic . .")?;
            let calls: Calls = peers.ask(&format!("round {way} key 1 1 0 50"))?;
            let after: Trips = ours.ask("traffic . .")?;
            Trips { trips: (after.trips - before.trips) / calls.calls }
        } else {
            ours.ask(&format!("trips {way} key"))?
        };
        all.push((*way, trips));
    }
    Ok(all)
}

fn rows(all: &Rounds) -> Vec<Row> {
    let median = |case: Case, way: &'static str| table::median(all.get(&(case, way)));
    let runs = all.values().map(Vec::len).max().unwrap_or_default();
    let row = |id: String, case: Case, ours, against, reach| {
        Row::new(id, median(case, ours), median(case, against), reach, "us", runs)
    };
    let mut rows: Vec<Row> = NAMED
        .iter()
        .map(|(id, case, ours, against, reach)| row((*id).to_owned(), *case, ours, against, Some(Reach::Ratio(*reach))))
        .collect();
    for case in CASES {
        let Case { work, callers, tenants, pause } = case;
        for way in WAYS.iter().filter(|way| **way != "plain") {
            let paced = if *pause == 0 { "" } else { ".paced" };
            let id = format!("pg.{way}.{work}.callers{callers}.tenants{tenants}{paced}");
            rows.push(row(id, *case, way, "plain", None));
        }
    }
    rows
}

#[derive(Deserialize)]
struct Empty {}

#[derive(Deserialize)]
struct Calls {
    calls: f64,
}

const PEER: &str = "tenaxum";
const WAYS: &[&str] = &[
    "plain",
    "plain_without_ping",
    "five_step",
    "tenaxum_hooks",
    "tenaxum_transaction",
    "local",
    "local_db",
    "sticky",
    "signed",
    "signed_sticky",
];

const fn case(work: &'static str, callers: u32, tenants: u32) -> Case {
    Case { work, callers, tenants, pause: 0 }
}

/// A call, and the next one a moment later: what goes on behind the scenes is over by then, as in a service that has
/// cores to spare. Without the pause it takes its part of the next call's time on a machine this small.
const fn paced(work: &'static str, tenants: u32) -> Case {
    Case { work, callers: 1, tenants, pause: 1 }
}

const READ: Case = paced("key", 10);
const WRITE: Case = paced("insert", 10);
const AGAIN: Case = paced("key", 1);
const BUSY_READ: Case = case("key", 1, 10);
const BUSY_WRITE: Case = case("insert", 1, 10);
const BUSY_AGAIN: Case = case("key", 1, 1);
const CASES: &[Case] = &[
    READ,
    AGAIN,
    WRITE,
    BUSY_READ,
    BUSY_AGAIN,
    BUSY_WRITE,
    case("scan", 1, 10),
    case("join", 1, 10),
    case("key", 4, 10),
    case("key", 16, 10),
    case("key", 1, 10_000),
    case("key", 4, 10_000),
    case("key", 16, 10_000),
    case("insert", 4, 10),
    case("insert", 16, 10_000),
    case("scan", 4, 10),
    case("join", 4, 10),
];

/// What is to be reached.
const NAMED: &[(&str, Case, &str, &str, f64)] = &[
    ("pg.local_vs_plain", READ, "local", "plain", 1.45),
    ("pg.local_vs_five_step", READ, "local", "five_step", 0.60),
    ("pg.sticky_vs_floor", AGAIN, "sticky", "plain_without_ping", 1.10),
    ("pg.signed_read_vs_local", READ, "signed", "local", 2.0),
    ("pg.signed_write_vs_local", WRITE, "signed", "local", 1.6),
    ("pg.local_vs_tenaxum_hooks_read", READ, "local", "tenaxum_hooks", 1.0),
    ("pg.local_vs_tenaxum_transaction_read", READ, "local", "tenaxum_transaction", 1.0),
    ("pg.sticky_vs_tenaxum_hooks_read", AGAIN, "sticky", "tenaxum_hooks", 1.0),
    ("pg.local_vs_tenaxum_transaction_write", WRITE, "local", "tenaxum_transaction", 1.0),
    ("pg.busy.local_vs_plain", BUSY_READ, "local", "plain", 1.45),
    ("pg.busy.local_vs_five_step", BUSY_READ, "local", "five_step", 0.60),
    ("pg.busy.sticky_vs_floor", BUSY_AGAIN, "sticky", "plain_without_ping", 1.10),
    ("pg.busy.signed_read_vs_local", BUSY_READ, "signed", "local", 2.0),
    ("pg.busy.signed_write_vs_local", BUSY_WRITE, "signed", "local", 1.6),
];
