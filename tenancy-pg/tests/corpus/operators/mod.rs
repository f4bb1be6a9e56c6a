//! One-line mistakes, each applied to every place where it fits. None of the mutations is typed by hand.

mod objects;
mod policies;
mod reports;
mod rights;
mod roles;
mod signed;

use crate::facts::Facts;

/// A kind of mistake.
#[derive(Clone)]
pub(crate) struct Operator {
    pub(crate) name: &'static str,
    /// Why the judge refuses what the prober can't show, where that is in the nature of the thing.
    pub(crate) unprovable: Option<&'static str>,
    pub(crate) places: fn(&Facts) -> Vec<Mutation>,
}

/// The mistake in one place.
#[derive(Clone)]
pub(crate) struct Mutation {
    pub(crate) place: String,
    /// What a superuser runs in the database.
    pub(crate) sql: String,
    /// What makes the login `{login}` of the service, where it is not the usual one.
    pub(crate) login: Option<String>,
    /// Whether that is the login of whoever reads reports instead.
    pub(crate) reporter: bool,
}

impl Mutation {
    fn of(place: impl Into<String>, sql: impl Into<String>) -> Self {
        Self { place: place.into(), sql: sql.into(), login: None, reporter: false }
    }

    /// Another login with all the rights of the service's role, and something more.
    fn login(more: impl Into<String>) -> Self {
        let login = format!("create role {{login}} login in role app; {}", more.into());
        Self { place: "the login".to_owned(), sql: "select 1".to_owned(), login: Some(login), reporter: false }
    }

    /// The same with another login that reads reports.
    fn reporter(more: impl Into<String>) -> Self {
        let login = format!("create role {{login}} login in role corpus_reports; {}", more.into());
        Self { place: "the reporter".to_owned(), sql: "select 1".to_owned(), login: Some(login), reporter: true }
    }
}

const fn operator(name: &'static str, places: fn(&Facts) -> Vec<Mutation>) -> Operator {
    Operator { name, unprovable: None, places }
}

const fn unprovable(name: &'static str, why: &'static str, places: fn(&Facts) -> Vec<Mutation>) -> Operator {
    Operator { name, unprovable: Some(why), places }
}

pub(crate) fn all() -> Vec<Operator> {
    [
        policies::OPERATORS,
        reports::OPERATORS,
        objects::OPERATORS,
        rights::OPERATORS,
        roles::OPERATORS,
        signed::OPERATORS,
    ]
    .concat()
}
