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

    /// What the caller may learn: the denial's face, that it asked for something that can't be, or that the service is not
    /// available now.
    #[must_use]
    pub fn face(&self) -> Face {
        match (self.denial(), self) {
            (Some(denial), _) => denial.face(),
            #[cfg(feature = "vector")]
            (None, Self::Vectors(error)) => error.face(),
            #[cfg(feature = "tools")]
            (None, Self::Tools(error)) => error.face(),
            (None, _) => Face::Unavailable,
        }
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

    #[test]
    #[cfg(all(feature = "vector", feature = "tools"))]
    fn a_callers_mistake_is_invalid_and_a_stores_is_not_its_business() {
        use tenancy_vector::{BackendError, ExternalId, PayloadKey, VectorError, VectorQuery};

        let mistakes = [
            ExternalId::parse("").unwrap_err(),
            PayloadKey::parse("tenancy.life").unwrap_err(),
            VectorQuery::dense(Vec::new()).unwrap_err(),
            VectorQuery::dense(vec![f32::NAN]).unwrap_err(),
            VectorQuery::dense(vec![1.0]).unwrap().limit(0).unwrap_err(),
        ];
        for mistake in mistakes {
            assert_eq!(Error::from(mistake).face(), Face::Invalid);
        }
        for (failed, face) in [
            (VectorError::from(BackendError::because("away")), Face::Unavailable),
            (BackendError::unfit("no tenant index").into(), Face::Unavailable),
            (VectorError::Busy, Face::Unavailable),
            (VectorError::CorpusErased, Face::NotFound),
        ] {
            assert_eq!(Error::from(failed).face(), face);
        }
        assert_eq!(Error::from(tenancy_tools::ToolsError::UnknownTool).face(), Face::NotFound);
        assert_eq!(Error::from(tenancy_tools::ToolsError::Busy).face(), Face::Unavailable);
    }
}
