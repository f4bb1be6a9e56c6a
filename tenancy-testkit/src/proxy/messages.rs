//! Where messages end.

use super::script::Direction;

/// Finds the messages in one direction of a Postgres connection: a type byte, four bytes of length that count
/// themselves, a body. What a client says first has no type byte.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    header: [u8; TYPED],
    filled: usize,
    body: usize,
    /// Whether the next message has no type.
    untyped: bool,
}

impl Messages {
    pub(super) fn new(direction: Direction) -> Self {
        Self { header: [0; TYPED], filled: 0, body: 0, untyped: direction == Direction::ToServer }
    }

    /// Reads until `limit` messages have ended or the bytes do. Says how many bytes that were, and tells the type of
    /// each message at its end.
    pub(super) fn read(&mut self, bytes: &[u8], limit: u64, mut ended: impl FnMut(u8)) -> usize {
        let (mut used, mut count) = (0, 0);
        while used < bytes.len() && count < limit {
            if self.filled < self.header_length() {
                self.header[self.filled] = bytes[used];
                self.filled += 1;
                used += 1;
                if self.filled == self.header_length() {
                    self.body = self.length().saturating_sub(LENGTH);
                }
            } else {
                let part = self.body.min(bytes.len() - used);
                self.body -= part;
                used += part;
            }
            if self.filled == self.header_length() && self.body == 0 {
                ended(self.next());
                count += 1;
            }
        }
        used
    }

    /// Ends this message and says of what type it was.
    fn next(&mut self) -> u8 {
        let byte = if self.untyped { 0 } else { self.header[0] };
        // A request for encryption comes before the startup packet; it is no longer than this.
        self.untyped = self.untyped && self.length() == REQUEST;
        self.filled = 0;
        byte
    }

    fn header_length(&self) -> usize {
        if self.untyped { LENGTH } else { TYPED }
    }

    fn length(&self) -> usize {
        let start = self.header_length() - LENGTH;
        self.header[start..start + LENGTH].iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
    }
}

const LENGTH: usize = 4;
const TYPED: usize = 5;
const REQUEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"\0\0\0\x0a\0\x03\0\0ab\
                            Q\0\0\0\x06x\0\
                            S\0\0\0\x04\
                            X\0\0\0\x04";

    #[test]
    fn messages_are_found_however_the_bytes_are_cut() {
        for cut in 1..=STREAM.len() {
            let mut messages = Messages::new(Direction::ToServer);
            let mut seen = Vec::new();
            for part in STREAM.chunks(cut) {
                assert_eq!(messages.read(part, u64::MAX, |byte| seen.push(byte)), part.len());
            }
            assert_eq!(seen, [0, b'Q', b'S', b'X'], "in parts of {cut}");
        }
    }

    #[test]
    fn reading_stops_at_the_end_of_the_last_message_wanted() {
        for (limit, length) in [(0, 0), (1, 10), (2, 17), (3, 22), (4, 27), (9, 27)] {
            let mut messages = Messages::new(Direction::ToServer);
            assert_eq!(messages.read(STREAM, limit, |_| {}), length, "after {limit}");
        }
    }

    #[test]
    fn a_request_for_encryption_comes_before_the_startup_packet() {
        let mut seen = Vec::new();
        let stream = [b"\0\0\0\x08\x04\xd2\x16\x2f".as_slice(), STREAM].concat();
        Messages::new(Direction::ToServer).read(&stream, u64::MAX, |byte| seen.push(byte));
        assert_eq!(seen, [0, 0, b'Q', b'S', b'X']);
    }
}
