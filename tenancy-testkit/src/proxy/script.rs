//! What a connection obeys.

use std::time::Duration;

use super::traffic::Traffic;

/// One of the two ways through a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two ways")]
pub enum Direction {
    /// What the client says.
    ToServer,
    /// What the server answers.
    ToClient,
}

/// How much passes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum After {
    /// So many bytes.
    Bytes(u64),
    /// So many whole messages; never, where the protocol has none.
    Messages(u64),
}

/// What then happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// This way is stalled.
    Stall,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// This way is closed, the other goes on.
    HalfClose,
}

/// Both ways, and whether it is over.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    pub(super) to_server: Way,
    pub(super) to_client: Way,
    pub(super) end: Option<End>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    pub(super) stalled: bool,
    pub(super) closed: bool,
    pub(super) delay: Duration,
    pub(super) plan: Option<Plan>,
}

/// The place is counted from the beginning of the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) at: After,
    pub(super) fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Closed,
    Reset,
}

impl Script {
    pub(super) fn way(&self, direction: Direction) -> &Way {
        match direction {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        }
    }

    pub(super) fn way_mut(&mut self, direction: Direction) -> &mut Way {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        }
    }

    pub(super) fn resume(&mut self) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let way = self.way_mut(direction);
            *way = Way { closed: way.closed, ..Way::default() };
        }
    }

    /// Plans from now, which is after `traffic`.
    pub(super) fn plan(&mut self, direction: Direction, after: After, fault: Fault, traffic: &Traffic) {
        let flow = traffic.flow(direction);
        let at = match after {
            After::Bytes(more) => After::Bytes(flow.bytes + more),
            After::Messages(more) => After::Messages(flow.messages() + more),
        };
        self.way_mut(direction).plan = Some(Plan { at, fault });
    }

    pub(super) fn carry_out(&mut self, direction: Direction, fault: Fault) {
        let way = self.way_mut(direction);
        way.plan = None;
        match fault {
            Fault::Stall => way.stalled = true,
            Fault::HalfClose => way.closed = true,
            Fault::Close => self.end = Some(End::Closed),
            Fault::Reset => self.end = Some(End::Reset),
        }
    }
}
