//! Why an engine failed, as far as that may be told.

use std::error::Error;
use std::fmt;

use tenancy_core::{BoxError, Redacted};

/// Why an engine failed, as far as that may be told.
///
/// A text of the program's own is shown, a literal that was there before any tenant was. What a driver or a server said is
/// withheld, since it quotes what it chokes on; only its type is named. An operator's tool that must see it calls
/// [`danger::expose`](tenancy_core::danger::expose) on [`withheld`](Self::withheld).
pub struct Reason(Kind);

enum Kind {
    Text(&'static str),
    /// An error of ours, which withholds what is foreign in it.
    #[cfg_attr(
        not(any(feature = "qdrant", feature = "pgvector")),
        expect(dead_code, reason = "only they have such errors")
    )]
    Ours(BoxError),
    Foreign(&'static str, Redacted<BoxError>),
}

impl Reason {
    pub(crate) const fn text(text: &'static str) -> Self {
        Self(Kind::Text(text))
    }

    #[cfg(any(feature = "qdrant", feature = "pgvector"))]
    pub(crate) fn ours(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Kind::Ours(Box::new(error)))
    }

    pub(crate) fn foreign<E: Into<BoxError>>(error: E) -> Self {
        let full = std::any::type_name::<E>();
        let plain = full.split('<').next().unwrap_or(full);
        Self(Kind::Foreign(plain.rsplit("::").next().unwrap_or(plain), Redacted::new(error.into())))
    }

    /// What a driver or a server said, for [`danger::expose`](tenancy_core::danger::expose); `None` where nothing is withheld
    /// here.
    #[must_use]
    pub fn withheld(&self) -> Option<&Redacted<BoxError>> {
        let ours = match &self.0 {
            Kind::Foreign(_, error) => return Some(error),
            Kind::Text(_) => return None,
            Kind::Ours(error) => error,
        };
        let mut next = ours.source();
        while let Some(error) = next {
            if let Some(withheld) = error.downcast_ref() {
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
            Kind::Ours(error) => fmt::Display::fmt(error, f),
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
            Kind::Ours(error) => error.source(),
            Kind::Text(_) | Kind::Foreign(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{BackendError, VectorError};

    #[test]
    fn a_text_of_ours_is_told_and_a_drivers_is_withheld() {
        let ours = VectorError::from(BackendError::because("the server has no such collection"));
        assert_eq!(ours.to_string(), "the vector back end failed: the server has no such collection");
        let unfit = VectorError::from(BackendError::unfit("the life has no tenant index"));
        assert_eq!(unfit.to_string(), "the store can't be used: the life has no tenant index");
        let foreign = VectorError::from(BackendError::failed(std::io::Error::other("acme's secret")));
        for shown in [format!("{foreign}"), format!("{foreign:?}"), format!("{foreign:#?}")] {
            assert!(shown.contains("Error (text withheld)") && !shown.contains("secret"), "{shown}");
        }
        let VectorError::Backend(reason) = foreign else { panic!("{foreign}") };
        assert!(reason.source().is_none() && reason.withheld().is_some());
    }

    #[test]
    #[cfg(feature = "qdrant")]
    fn what_an_error_of_ours_withholds_is_found_in_it() {
        use crate::qdrant::QdrantError;

        let source = Redacted::new(BoxError::from("acme's secret"));
        let failed = QdrantError::Server { code: "Internal".to_owned(), source };
        let told = VectorError::from(BackendError::from(failed));
        assert_eq!(told.to_string(), "the vector back end failed: the server failed (Internal)");
        let reason = told.source().and_then(|reason| reason.downcast_ref::<Reason>());
        assert!(reason.is_some_and(|reason| reason.withheld().is_some()), "{told:?}");
        let text = BackendError::from(QdrantError::NoCollection);
        assert!(matches!(&text, BackendError::Failed(reason) if reason.withheld().is_none()), "{text:?}");
    }
}
