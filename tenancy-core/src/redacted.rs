//! Errors of drivers, kept for the operator and kept out of everything that is printed.

use std::error::Error;
use std::fmt;

/// An error whose text may hold a customer's data, a secret or a URL.
///
/// `Display` and `Debug` print its type only, and its own sources are not reachable through [`Error::source`]. Driver
/// texts quote what they choke on: Postgres puts key values into `DETAIL`, HTTP clients print URLs with credentials.
/// An operator's tool that must see it calls [`danger::expose`](crate::danger::expose).
pub struct Redacted<E>(E);

impl<E> Redacted<E> {
    /// Wraps an error.
    pub const fn new(error: E) -> Self {
        Self(error)
    }

    pub(crate) const fn expose(&self) -> &E {
        &self.0
    }
}

impl<E> From<E> for Redacted<E> {
    fn from(error: E) -> Self {
        Self(error)
    }
}

impl<E> fmt::Debug for Redacted<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<E> fmt::Display for Redacted<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (text withheld)", short_name::<E>())
    }
}

impl<E> Error for Redacted<E> {}

/// The name of a type without its path and parameters.
pub(crate) fn short_name<T>() -> &'static str {
    let full = std::any::type_name::<T>();
    let plain = full.split('<').next().unwrap_or(full);
    plain.rsplit("::").next().unwrap_or(plain)
}

/// An error of any type, boxed for a trait that users implement.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_text_is_printed_or_reachable() {
        let inner = std::io::Error::other("postgres://app:hunter2@db/acme");
        let wrapped = Redacted::new(inner);
        for shown in [format!("{wrapped}"), format!("{wrapped:?}"), format!("{wrapped:#?}")] {
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(shown.contains("Error"), "{shown}");
        }
        assert!(wrapped.source().is_none());
        assert!(wrapped.expose().to_string().contains("hunter2"));
    }
}
