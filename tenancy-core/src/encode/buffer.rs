//! Where fields are gathered.

/// Bytes that are gathered on the stack and, from the first field on that has no place there, on the heap.
///
/// An array with a length beside it, since a field is written in one piece then, behind one comparison of lengths: a key
/// of four kibibytes has some eighty fields, and the hash of it takes a microsecond and a half.
#[derive(Clone)]
pub(super) struct Buffer {
    stack: [u8; STACK],
    length: usize,
    /// All of it, once there is anything.
    heap: Vec<u8>,
}

impl Buffer {
    /// Adds a header, which is the first twelve bytes of a number, and what comes after it.
    #[inline]
    pub(super) fn add(&mut self, header: u128, bytes: &[u8]) {
        let header = &header.to_le_bytes()[..HEADER];
        let end = self.length + HEADER + bytes.len();
        if let Some(place) = self.stack.get_mut(self.length..end) {
            let (head, body) = place.split_at_mut(HEADER);
            head.copy_from_slice(header);
            body.copy_from_slice(bytes);
            self.length = end;
        } else {
            self.add_on_the_heap(header, bytes);
        }
    }

    /// Afterwards the stack counts as full.
    #[cold]
    fn add_on_the_heap(&mut self, header: &[u8], bytes: &[u8]) {
        if self.heap.is_empty() {
            self.heap.extend_from_slice(&self.stack[..self.length]);
            self.length = STACK;
        }
        self.heap.extend_from_slice(header);
        self.heap.extend_from_slice(bytes);
    }

    /// Fills in a number that was not known when its place was written.
    #[inline]
    pub(super) fn set(&mut self, at: usize, number: u64) {
        let bytes = if self.heap.is_empty() { &mut self.stack[..] } else { &mut self.heap };
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.as_slice().len()
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        if self.heap.is_empty() { &self.stack[..self.length] } else { &self.heap }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self { stack: [0; STACK], length: 0, heap: Vec::new() }
    }
}

const HEADER: usize = 12;
/// Four kibibytes and a little.
pub(super) const STACK: usize = 4096 + 512;
