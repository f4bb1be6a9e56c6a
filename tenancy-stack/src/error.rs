//! One error for all stores of a request.

use tenancy_core::{Denial, Face};

/// What went wrong in some store. Every variant is safe to log: drivers' texts are withheld.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Refused.
    #[error("{0}")]
    Denied(#[from] Denial),
    /// The database.
    #[cfg(feature = "pg")]
    #[error(transparent)]
    Database(#[from] tenancy_pg::PgError),
    /// The vector store.
    #[cfg(feature = "vector")]
    #[error(transparent)]
    Vectors(#[from] tenancy_vector::VectorError),
    /// The caches.
    #[cfg(feature = "cache")]
    #[error(transparent)]
    Cache(#[from] tenancy_cache::CacheError),
    /// The tools.
    #[cfg(feature = "tools")]
    #[error(transparent)]
    Tools(#[from] tenancy_tools::ToolsError),
    /// The service was built without this store.
    #[error("the service has no {0}")]
    NotConfigured(&'static str),
}

impl Error {
    /// The denial in it, if it is one.
    #[must_use]
    pub fn denial(&self) -> Option<Denial> {
        Denial::of(self)
    }

    /// What the caller may learn: the denial's face, or that the service is not available now.
    #[must_use]
    pub fn face(&self) -> Face {
        self.denial().map_or(Face::Unavailable, |denial| denial.face())
    }
}

/// What a statement of yours gives back: a `?` is enough. The driver's text is withheld, and a denial stays one.
#[cfg(feature = "pg")]
impl From<tenancy_pg::DriverError> for Error {
    fn from(error: tenancy_pg::DriverError) -> Self {
        Self::Database(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "pg")]
    fn a_statement_gives_its_denial_and_withholds_the_drivers_text() {
        let denied = Error::from(sqlx::Error::from(tenancy_pg::PgError::from(Denial::DeadlinePassed)));
        assert_eq!(denied.denial(), Some(Denial::DeadlinePassed));
        let failed = Error::from(sqlx::Error::Protocol("acme's secret".to_owned()));
        assert_eq!((failed.denial(), failed.face()), (None, Face::Unavailable));
        assert!(!format!("{failed} {failed:?}").contains("secret"), "{failed:?}");
    }

    #[test]
    #[cfg(all(feature = "pg", feature = "vector", feature = "cache", feature = "tools"))]
    fn a_denial_keeps_its_face_through_every_store() {
        let denial = Denial::NotVisible;
        for error in [
            Error::from(denial),
            Error::Database(denial.into()),
            Error::Vectors(denial.into()),
            Error::Cache(denial.into()),
            Error::Tools(denial.into()),
        ] {
            assert_eq!((error.denial(), error.face()), (Some(denial), Face::NotFound), "{error:?}");
        }
        assert_eq!(Error::NotConfigured("database").face(), Face::Unavailable);
    }
}
