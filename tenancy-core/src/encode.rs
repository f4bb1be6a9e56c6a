//! The one encoder: an injective byte form of typed fields, hashed or authenticated as a whole.
//!
//! ```text
//! field = id u16 LE | type u8 | presence u8 | byte length u64 LE | bytes
//! list  = a field whose bytes are: item count u64 LE | items, each a field with id 0
//! ```
//!
//! Joining texts with a separator is how `("a:b","c")` came to share a cache entry with `("a","b:c")` in one product
//! after another (LightRAG 3392, msal-js 8713, CVE-2026-35030 by truncation). Here every field says its id, type,
//! presence and byte length, so two different sequences of calls never give the same bytes: an absent text, an empty
//! one and a zero differ. Text is taken as it is, without normalisation: a needless miss is safe, a false hit is not.

mod buffer;

use std::fmt;

use uuid::Uuid;

use self::buffer::Buffer;
use crate::chat::Decimal;

/// Typed fields in a fixed order, gathered in one buffer (on the stack up to 4 KiB and a little) and hashed once.
///
/// Ids rise within one record; a debug build asserts it. Holding a `Fields` opens nothing: keys and names come from
/// operations on a [`TenantContext`](crate::TenantContext).
#[derive(Clone, Default)]
pub struct Fields {
    bytes: Buffer,
    last: Option<u16>,
}

impl Fields {
    /// No fields yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A text, byte for byte.
    #[inline]
    pub fn text(&mut self, id: u16, value: &str) -> &mut Self {
        self.put(id, Type::Text, Some(value.as_bytes()))
    }

    /// A text that may be absent. `None` and `Some("")` differ.
    #[inline]
    pub fn opt_text(&mut self, id: u16, value: Option<&str>) -> &mut Self {
        self.put(id, Type::Text, value.map(str::as_bytes))
    }

    /// Bytes.
    #[inline]
    pub fn bytes(&mut self, id: u16, value: &[u8]) -> &mut Self {
        self.put(id, Type::Bytes, Some(value))
    }

    /// Bytes that may be absent.
    #[inline]
    pub fn opt_bytes(&mut self, id: u16, value: Option<&[u8]>) -> &mut Self {
        self.put(id, Type::Bytes, value)
    }

    /// An unsigned number.
    #[inline]
    pub fn u64(&mut self, id: u16, value: u64) -> &mut Self {
        self.put(id, Type::U64, Some(&value.to_le_bytes()))
    }

    /// An unsigned number that may be absent.
    #[inline]
    pub fn opt_u64(&mut self, id: u16, value: Option<u64>) -> &mut Self {
        self.put(id, Type::U64, value.map(u64::to_le_bytes).as_ref().map(<[u8; 8]>::as_slice))
    }

    /// A signed number.
    pub fn i64(&mut self, id: u16, value: i64) -> &mut Self {
        self.put(id, Type::I64, Some(&value.to_le_bytes()))
    }

    /// A truth value.
    pub fn bool(&mut self, id: u16, value: bool) -> &mut Self {
        self.put(id, Type::Bool, Some(&[u8::from(value)]))
    }

    /// A decimal that may be absent; `1.0` and `1.00` are equal.
    #[inline]
    pub fn opt_decimal(&mut self, id: u16, value: Option<Decimal>) -> &mut Self {
        self.put(id, Type::Decimal, value.map(|d| d.micros().to_le_bytes()).as_ref().map(<[u8; 8]>::as_slice))
    }

    /// A uuid.
    #[inline]
    pub fn uuid(&mut self, id: u16, value: Uuid) -> &mut Self {
        self.put(id, Type::Uuid, Some(value.as_bytes()))
    }

    /// A list whose order matters. `write` adds exactly one item as fields of its own record.
    pub fn list<I: IntoIterator>(&mut self, id: u16, items: I, mut write: impl FnMut(&mut Self, I::Item)) -> &mut Self {
        let mut count = 0u64;
        let outer = self.open(id, Type::List, &[0; 8]);
        for item in items {
            count += 1;
            self.last = None;
            let inner = self.open(0, Type::Record, &[]);
            self.last = None;
            write(self, item);
            self.close(inner);
        }
        self.bytes.set(outer, count);
        self.close(outer);
        self.last = Some(id);
        self
    }

    /// A nested record.
    pub fn record(&mut self, id: u16, write: impl FnOnce(&mut Self)) -> &mut Self {
        let outer = self.open(id, Type::Record, &[]);
        self.last = None;
        write(self);
        self.close(outer);
        self.last = Some(id);
        self
    }

    /// The encoded bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    #[inline]
    fn put(&mut self, id: u16, kind: Type, value: Option<&[u8]>) -> &mut Self {
        let bytes = value.unwrap_or_default();
        self.add(id, kind, value.is_some(), bytes.len() as u64, bytes);
        self
    }

    /// Begins a field whose length is not known yet, with what comes first in it; [`close`](Self::close) fills the length
    /// in. Where the field's bytes begin.
    #[inline]
    fn open(&mut self, id: u16, kind: Type, first: &[u8]) -> usize {
        self.add(id, kind, true, 0, first);
        self.bytes.len() - first.len()
    }

    #[inline]
    fn close(&mut self, start: usize) {
        self.bytes.set(start - 8, (self.bytes.len() - start) as u64);
    }

    #[inline]
    fn add(&mut self, id: u16, kind: Type, present: bool, length: u64, bytes: &[u8]) {
        debug_assert!(self.last.is_none_or(|last| last < id), "field ids rise within a record");
        self.last = Some(id);
        // One number: what is put together in memory byte by byte can't be copied in words until each byte is there.
        let header = u128::from(id) | (kind as u128) << 16 | u128::from(present) << 24 | u128::from(length) << 32;
        self.bytes.add(header, bytes);
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fields({} bytes)", self.bytes.len())
    }
}

/// The type tags. Their numbers are part of every key ever derived: append, never renumber.
#[derive(Clone, Copy)]
enum Type {
    Bytes = 1,
    Text = 2,
    U64 = 3,
    I64 = 4,
    Bool = 5,
    Uuid = 6,
    Decimal = 7,
    List = 8,
    Record = 9,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::buffer::STACK;
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    enum Value {
        Text(Option<String>),
        Bytes(Option<Vec<u8>>),
        U64(Option<u64>),
        I64(i64),
        Bool(bool),
        List(Vec<Vec<Value>>),
        Record(Vec<Value>),
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            proptest::option::of("[ab:\\x00]{0,3}").prop_map(Value::Text),
            proptest::option::of(proptest::collection::vec(0u8..3, 0..3)).prop_map(Value::Bytes),
            proptest::option::of(0u64..3).prop_map(Value::U64),
            (-1i64..2).prop_map(Value::I64),
            any::<bool>().prop_map(Value::Bool),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            let record = proptest::collection::vec(inner, 0..3);
            prop_oneof![
                record.clone().prop_map(Value::Record),
                proptest::collection::vec(record, 0..3).prop_map(Value::List),
            ]
        })
    }

    fn write(fields: &mut Fields, values: &[Value]) {
        for (id, value) in (1u16..).zip(values) {
            match value {
                Value::Text(t) => fields.opt_text(id, t.as_deref()),
                Value::Bytes(b) => fields.opt_bytes(id, b.as_deref()),
                Value::U64(n) => fields.opt_u64(id, *n),
                Value::I64(n) => fields.i64(id, *n),
                Value::Bool(b) => fields.bool(id, *b),
                Value::List(items) => fields.list(id, items, |f, item| write(f, item)),
                Value::Record(inner) => fields.record(id, |f| write(f, inner)),
            };
        }
    }

    fn encode(values: &[Value]) -> Vec<u8> {
        let mut fields = Fields::new();
        write(&mut fields, values);
        fields.as_bytes().to_vec()
    }

    /// Reads the encoding back without knowing what was written: what can be decoded is injective.
    fn decode(mut bytes: &[u8]) -> Vec<Value> {
        fn take<'a>(bytes: &mut &'a [u8], n: usize) -> &'a [u8] {
            let (head, tail) = bytes.split_at(n);
            *bytes = tail;
            head
        }
        let mut values = Vec::new();
        while !bytes.is_empty() {
            let head = take(&mut bytes, 12);
            let length = u64::from_le_bytes(head[4..12].try_into().unwrap()) as usize;
            let mut body = take(&mut bytes, length);
            let present = head[3] == 1;
            values.push(match head[2] {
                1 => Value::Bytes(present.then(|| body.to_vec())),
                2 => Value::Text(present.then(|| String::from_utf8(body.to_vec()).unwrap())),
                3 => Value::U64(present.then(|| u64::from_le_bytes(body.try_into().unwrap()))),
                4 => Value::I64(i64::from_le_bytes(body.try_into().unwrap())),
                5 => Value::Bool(body[0] == 1),
                8 => {
                    let count = u64::from_le_bytes(take(&mut body, 8).try_into().unwrap());
                    let items: Vec<_> = decode(body)
                        .into_iter()
                        .map(|item| match item {
                            Value::Record(inner) => inner,
                            other => panic!("a list item is a record, not {other:?}"),
                        })
                        .collect();
                    assert_eq!(items.len() as u64, count);
                    Value::List(items)
                }
                9 => Value::Record(decode(body)),
                other => panic!("unknown type {other}"),
            });
        }
        values
    }

    proptest! {
        #[test]
        fn what_was_written_can_be_read_back(values in proptest::collection::vec(value(), 0..4)) {
            prop_assert_eq!(decode(&encode(&values)), values);
        }
    }

    #[test]
    fn what_outgrows_the_stack_can_be_read_back() {
        let text = |length: usize| Value::Text(Some("x".repeat(length)));
        let few = || vec![Value::U64(Some(7)), Value::Bytes(None), Value::Bool(true)];
        for length in (STACK - 150..STACK + 10).chain([2 * STACK, 5 * STACK]) {
            let inner = Value::Record(vec![text(length), Value::List(vec![few(), few()]), text(3)]);
            let values = [Value::List(vec![vec![inner], few()]), Value::I64(-1)];
            assert_eq!(decode(&encode(&values)), values, "{length}");
        }
    }

    #[test]
    fn pinned_vectors() {
        let mut fields = Fields::new();
        fields.text(1, "é").opt_text(2, None).u64(3, 258).list(4, ["x", ""], |f, s| {
            f.text(1, s);
        });
        assert_eq!(
            data_encoding::HEXLOWER.encode(fields.as_bytes()),
            concat!(
                "010002010200000000000000c3a9",
                "020002000000000000000000",
                "0300030108000000000000000201000000000000",
                "040008013900000000000000",
                "0200000000000000",
                "000009010d00000000000000",
                "01000201010000000000000078",
                "000009010c00000000000000",
                "010002010000000000000000",
            )
        );
    }

    #[test]
    fn the_usual_collisions_stay_apart() {
        let text = |a: &str, b: &str| {
            let mut f = Fields::new();
            f.text(1, a).text(2, b);
            f.as_bytes().to_vec()
        };
        assert_ne!(text("abc", "x"), text("ab", "cx"));
        assert_ne!(text("org_1", "2345"), text("org_12345", ""));
        assert_ne!(text("e\u{301}", ""), text("\u{e9}", ""));
    }
}
