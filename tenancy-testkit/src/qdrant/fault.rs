//! What goes wrong when a test says so.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use qdrant_client::qdrant::UpdateStatus;
use tonic::{Code, Status};

/// What happens to one call of a method of a [`QdrantServer`](super::QdrantServer).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WireFault {
    /// It is answered with this code and does nothing.
    Refuse(Code),
    /// The connection is closed before anything is done.
    CutBefore,
    /// It is done, and the connection is closed before anything is answered.
    CutAfter,
    /// It is done and answered after this time.
    Delay(Duration),
    /// A write is answered with this status. `ClockRejected` does nothing; with any other the write is done, which its
    /// caller can't know.
    Answer(UpdateStatus),
}

impl WireFault {
    pub(super) fn refusal(&self) -> Option<Status> {
        match self {
            Self::Refuse(code) => Some(Status::new(*code, "a fault that a test asked for: acme globex secret-key")),
            Self::CutBefore | Self::CutAfter | Self::Delay(_) | Self::Answer(_) => None,
        }
    }
}

/// The faults that are still to come.
#[derive(Default)]
pub(super) struct Faults(Mutex<Vec<Planned>>);

struct Planned {
    method: &'static str,
    /// Calls until then; 1 is the next.
    calls: usize,
    fault: WireFault,
}

impl Faults {
    pub(super) fn plan(&self, method: &'static str, calls: usize, fault: WireFault) {
        assert!(calls > 0, "the next call is the first");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Planned { method, calls, fault });
    }

    /// Counts a call, and takes what was planned for it.
    pub(super) fn take(&self, method: &str) -> Option<WireFault> {
        let mut planned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for fault in planned.iter_mut().filter(|fault| fault.method == method) {
            fault.calls = fault.calls.saturating_sub(1);
        }
        let due = planned.iter().position(|fault| fault.method == method && fault.calls == 0)?;
        Some(planned.remove(due).fault)
    }
}
