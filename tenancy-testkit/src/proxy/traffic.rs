//! What passed.

use std::collections::BTreeMap;

use super::script::Direction;

/// What passed a proxy or one of its connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Connections that came, whether or not they have ended.
    pub connections: u64,
    /// How often the client spoke and the server then answered, on the same connection. What the server says unasked is
    /// none, nor is a farewell that nobody answers.
    pub round_trips: u64,
    /// What the client said.
    pub to_server: Flow,
    /// What the server said.
    pub to_client: Flow,
}

/// What passed one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flow {
    /// Bytes that were passed on.
    pub bytes: u64,
    /// Bytes that arrived and are held back, by a stall or a delay.
    pub held: u64,
    by_type: BTreeMap<u8, u64>,
}

impl Traffic {
    /// One way of it.
    #[must_use]
    pub fn flow(&self, direction: Direction) -> &Flow {
        match direction {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        }
    }

    /// What came after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            connections: self.connections - earlier.connections,
            round_trips: self.round_trips - earlier.round_trips,
            to_server: self.to_server.since(&earlier.to_server),
            to_client: self.to_client.since(&earlier.to_client),
        }
    }

    pub(super) fn flow_mut(&mut self, direction: Direction) -> &mut Flow {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        }
    }
}

impl Flow {
    /// Whole messages that were passed on.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.by_type.values().sum()
    }

    /// Those of one type, by its byte: `b'Q'` to a Postgres server is a simple query, `b'P'` a parse, `b'B'` a bind;
    /// `0` is a packet without a type: the startup packet or a request to cancel.
    #[must_use]
    pub fn of_type(&self, byte: u8) -> u64 {
        self.by_type.get(&byte).copied().unwrap_or_default()
    }

    pub(super) fn count(&mut self, byte: u8) {
        *self.by_type.entry(byte).or_default() += 1;
    }

    fn since(&self, earlier: &Self) -> Self {
        let by_type = self.by_type.keys().map(|byte| (*byte, self.of_type(*byte) - earlier.of_type(*byte)));
        Self { bytes: self.bytes - earlier.bytes, held: self.held, by_type: by_type.filter(|(_, n)| *n > 0).collect() }
    }

    fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.held += other.held;
        for (byte, count) in &other.by_type {
            *self.by_type.entry(*byte).or_default() += count;
        }
    }
}

impl std::iter::Sum for Traffic {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum.connections += one.connections;
            sum.round_trips += one.round_trips;
            sum.to_server.add(&one.to_server);
            sum.to_client.add(&one.to_client);
            sum
        })
    }
}
