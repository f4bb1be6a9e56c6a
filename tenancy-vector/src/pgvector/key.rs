//! The key of an owner of points.

use tenancy_core::{Life, RowKey};
use tenancy_pg::RowKeyType;
use uuid::Uuid;

use super::session::Statement;

/// As the column holds it: a tenant's row key, or a corpus' mark.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Key {
    Uuid(Uuid),
    BigInt(i64),
    /// Of the alphabet of names of tenants.
    Text(String),
}

/// Of which type the keys of a pair of tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    Uuid,
    BigInt,
    Text,
}

impl Key {
    /// `None` for a kind of key that this version does not know.
    pub(super) fn of(row_key: &RowKey) -> Option<Self> {
        match row_key {
            RowKey::Uuid(id) => Some(Self::Uuid(*id)),
            RowKey::BigInt(number) => Some(Self::BigInt(*number)),
            RowKey::Text(text) => Some(Self::Text(text.as_str().to_owned())),
            _unknown => None,
        }
    }

    pub(super) fn of_corpus(mark: Life) -> Self {
        Self::Uuid(mark.uuid())
    }

    pub(super) const fn kind(&self) -> KeyKind {
        match self {
            Self::Uuid(_) => KeyKind::Uuid,
            Self::BigInt(_) => KeyKind::BigInt,
            Self::Text(_) => KeyKind::Text,
        }
    }

    pub(super) fn push(&self, statement: &mut Statement) {
        match self {
            Self::Uuid(id) => statement.push_bind(*id),
            Self::BigInt(number) => statement.push_bind(*number),
            Self::Text(text) => statement.push_bind(text.clone()),
        };
    }

    /// As SQL writes it.
    pub(super) fn literal(&self) -> String {
        match self {
            Self::Uuid(id) => format!("'{id}'"),
            Self::BigInt(number) => format!("'{number}'"),
            Self::Text(text) => super::pair::quoted_text(text),
        }
    }

    /// A part of a name of at most 33 bytes.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Uuid(id) => id.simple().to_string(),
            Self::BigInt(number) => format!("n{number}").replace('-', "m"),
            // A text may be longer than a name. Two of one name would be in each other's way, and read nothing.
            Self::Text(text) => format!("t{:032x}", fnv(text.as_bytes())),
        }
    }
}

impl KeyKind {
    /// `None` for a type that this version does not know.
    pub(super) const fn of(key: RowKeyType) -> Option<Self> {
        match key {
            RowKeyType::Uuid => Some(Self::Uuid),
            RowKeyType::BigInt => Some(Self::BigInt),
            RowKeyType::Text => Some(Self::Text),
            _later => None,
        }
    }

    pub(super) const fn declared(self) -> RowKeyType {
        match self {
            Self::Uuid => RowKeyType::Uuid,
            Self::BigInt => RowKeyType::BigInt,
            Self::Text => RowKeyType::Text,
        }
    }

    pub(super) const fn sql(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::BigInt => "bigint",
            Self::Text => "text",
        }
    }

    /// A key that no tenant has, for a life that was dropped before it wrote: nobody knows its row key then. `$1` is the life.
    /// Of a number, a negative one that is as random as the life.
    pub(super) const fn nobodys(self) -> &'static str {
        match self {
            Self::Uuid => "$1",
            Self::BigInt => "-1 - ('x' || substr(replace($1::uuid::text, '-', ''), 1, 15))::bit(60)::bigint",
            Self::Text => "$1::uuid::text",
        }
    }
}

/// FNV-1a of 128 bits.
fn fnv(bytes: &[u8]) -> u128 {
    let step =
        |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys_are_short_and_apart() {
        let keys = [
            Key::Uuid(Uuid::nil()),
            Key::BigInt(i64::MIN),
            Key::BigInt(i64::MAX),
            Key::Text("a".repeat(128)),
            Key::Text("A".repeat(128)),
        ];
        let names: std::collections::BTreeSet<_> = keys.iter().map(Key::name).collect();
        assert_eq!(names.len(), keys.len());
        assert!(
            names.iter().all(|name| name.len() <= 33 && name.bytes().all(|b| b.is_ascii_alphanumeric())),
            "{names:?}"
        );
        assert_eq!(fnv(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964, "as published");
    }
}
