//! Why a store failed, as far as that may be told.

use std::error::Error;
use std::fmt;

use crate::denial::Denial;
use crate::redacted::{BoxError, Redacted, short_name};

/// Why a store failed, as far as that may be told.
///
/// A text of the program's own is shown, a literal that was there before any tenant was. What a driver or a server said is
/// withheld, since it quotes what it chokes on; only its type is named. An operator's tool that must see it calls
/// [`danger::expose`](crate::danger::expose) on [`withheld`](Self::withheld).
pub struct Reason(Kind);

enum Kind {
    Text(&'static str),
    Tellable(BoxError),
    Foreign(&'static str, Redacted<BoxError>),
}

/// An error that withholds what is foreign in it: what it and its sources print is fit for a log.
pub trait Tellable: Error + Send + Sync + 'static {}

impl Tellable for Denial {}

impl Reason {
    /// A text that was there before any tenant was.
    #[must_use]
    pub const fn text(text: &'static str) -> Self {
        Self(Kind::Text(text))
    }

    /// An error that says itself what may be told.
    #[must_use]
    pub fn told(error: impl Tellable) -> Self {
        Self(Kind::Tellable(Box::new(error)))
    }

    /// An error of anybody's, of which the type alone is told.
    pub fn foreign<E: Into<BoxError>>(error: E) -> Self {
        Self(Kind::Foreign(short_name::<E>(), Redacted::new(error.into())))
    }

    /// What a driver or a server said, for [`danger::expose`](crate::danger::expose); `None` where nothing is withheld here.
    #[must_use]
    pub fn withheld(&self) -> Option<&Redacted<BoxError>> {
        let told = match &self.0 {
            Kind::Foreign(_, error) => return Some(error),
            Kind::Text(_) => return None,
            Kind::Tellable(error) => error,
        };
        let mut next: Option<&(dyn Error + 'static)> = Some(told.as_ref());
        while let Some(error) = next {
            if let Some(withheld) = error.downcast_ref() {
                return Some(withheld);
            }
            if let Some(withheld) = error.downcast_ref::<Self>().and_then(Self::withheld) {
                return Some(withheld);
            }
            next = error.source();
        }
        None
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Text(text) => f.write_str(text),
            Kind::Tellable(error) => fmt::Display::fmt(error, f),
            Kind::Foreign(name, _) => write!(f, "{name} (text withheld)"),
        }
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reason({self})")
    }
}

impl Error for Reason {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Kind::Tellable(error) => Some(error.as_ref()),
            Kind::Text(_) | Kind::Foreign(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the disk is full")]
    struct Full(#[source] Reason);

    impl Tellable for Full {}

    #[test]
    fn a_text_of_ours_is_told_and_a_drivers_is_withheld() {
        let foreign = Reason::foreign(std::io::Error::other("acme's secret"));
        for shown in [format!("{foreign}"), format!("{foreign:?}"), format!("{foreign:#?}")] {
            assert!(shown.contains("Error (text withheld)") && !shown.contains("secret"), "{shown}");
        }
        assert!(foreign.source().is_none() && foreign.withheld().is_some());
        let text = Reason::text("no such table");
        assert_eq!((text.to_string().as_str(), text.withheld().is_some()), ("no such table", false));
    }

    #[test]
    fn what_a_tellable_error_withholds_is_found_in_it() {
        let told = Reason::told(Full(Reason::foreign("acme's secret")));
        assert_eq!((told.to_string().as_str(), told.withheld().is_some()), ("the disk is full", true));
        let nothing = Reason::told(Full(Reason::text("/var")));
        assert!(nothing.withheld().is_none(), "{nothing:?}");
    }

    #[test]
    fn a_denial_is_found_in_a_reason() {
        assert_eq!(Denial::of(&Reason::told(Denial::ForeignRealm)), Some(Denial::ForeignRealm));
    }
}
