//! What may be found.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Where something is kept, and who asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) process: usize,
    pub(super) tenant: usize,
    pub(super) question: usize,
}

/// Half of the questions are asked in one layer, half in another.
pub(super) const fn is_response(question: usize) -> bool {
    question.is_multiple_of(2)
}

impl Spot {
    pub(super) const fn is_response(self) -> bool {
        is_response(self.question)
    }
}

/// Numbers values in the order in which their places were reserved. A value whose place was reserved before a removal began
/// may not be found by who asks after the removal has ended: at once in the process that removed it; in others after a
/// while, since a reply that is held back says what was true when it was given.
pub(super) struct Oracle {
    next: AtomicU64,
    cells: Vec<Vec<Mutex<Cell>>>,
    removals: Vec<[Removals; 2]>,
    salts: Mutex<HashMap<String, usize>>,
}

/// The least number that may be found.
#[derive(Default)]
struct Cell {
    here: [u64; 2],
    everywhere: u64,
    /// For everywhere, when its time has come.
    soon: Vec<(Instant, u64)>,
}

/// Of one tenant in one process: how many removals have begun and ended.
#[derive(Default)]
struct Removals {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A removal that is under way.
pub(super) struct Removal {
    spot: Spot,
    all: bool,
    /// What was reserved before has a lower number.
    below: u64,
    begun: u64,
    ended: u64,
}

impl Oracle {
    pub(super) fn new(tenants: usize, questions: usize) -> Self {
        let cells = || (0..questions).map(|_| Mutex::default()).collect();
        Self {
            next: AtomicU64::new(1),
            cells: (0..tenants).map(|_| cells()).collect(),
            removals: (0..tenants).map(|_| Default::default()).collect(),
            salts: Mutex::default(),
        }
    }

    /// A value for a place that is reserved.
    pub(super) fn value(&self, spot: Spot) -> String {
        format!("{} {} {}", spot.tenant, spot.question, self.next.fetch_add(1, SeqCst))
    }

    /// The least number that may be found by who asks now.
    pub(super) fn floor(&self, spot: Spot) -> u64 {
        let mut cell = self.cells[spot.tenant][spot.question].lock().unwrap();
        let now = Instant::now();
        let Cell { everywhere, soon, .. } = &mut *cell;
        soon.retain(|(at, below)| {
            let waits = *at > now;
            if !waits {
                *everywhere = (*everywhere).max(*below);
            }
            waits
        });
        cell.everywhere.max(cell.here[spot.process])
    }

    pub(super) fn check(&self, spot: Spot, floor: u64, value: &str) {
        let numbers: Vec<u64> = value.split(' ').map(|number| number.parse().unwrap()).collect();
        let [tenant, question, number] = numbers[..] else { panic!("nobody put {value:?}") };
        assert_eq!((tenant, question), (spot.tenant as u64, spot.question as u64), "{spot:?} is given {value}");
        assert!(number >= floor, "{spot:?} is given {number}, and what was before {floor} is gone");
        assert!(number < self.next.load(SeqCst), "nobody put {value:?}");
    }

    /// One salt is never two tenants'.
    pub(super) fn check_salt(&self, spot: Spot, salt: &str) {
        let of = *self.salts.lock().unwrap().entry(salt.to_owned()).or_insert(spot.tenant);
        assert_eq!(of, spot.tenant, "{spot:?} is given the salt of {of}");
    }

    pub(super) fn begin(&self, spot: Spot, all: bool) -> Removal {
        let removals = &self.removals[spot.tenant][spot.process];
        let ended = removals.ended.load(SeqCst);
        let begun = removals.begun.fetch_add(1, SeqCst);
        Removal { spot, all, below: self.next.load(SeqCst), begun, ended }
    }

    /// Says whether no other was about.
    pub(super) fn end(&self, removal: &Removal, done: bool) -> bool {
        let Removal { spot, all, below, .. } = *removal;
        let questions = if all { 0..self.cells[spot.tenant].len() } else { spot.question..spot.question + 1 };
        for question in questions.filter(|_| done) {
            let mut cell = self.cells[spot.tenant][question].lock().unwrap();
            cell.here[spot.process] = cell.here[spot.process].max(below);
            cell.soon.push((Instant::now() + SOON, below));
        }
        self.removals[spot.tenant][spot.process].ended.fetch_add(1, SeqCst);
        self.is_alone_since(removal)
    }

    /// Whether no other removal of the tenant has been under way in the process since this one began.
    pub(super) fn is_alone_since(&self, removal: &Removal) -> bool {
        let removals = &self.removals[removal.spot.tenant][removal.spot.process];
        let (begun, ended) = (removals.begun.load(SeqCst), removals.ended.load(SeqCst));
        removal.begun == removal.ended && begun == removal.begun + 1 && ended == removal.ended + 1
    }
}

/// Longer than the network holds anything back.
const SOON: Duration = Duration::from_secs(3);
