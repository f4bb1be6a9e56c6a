//! A first `tenancy.toml` for a database that is already there.

mod catalog;
mod text;

use std::collections::BTreeMap;

use sqlx::Connection;

use self::catalog::Column;
use crate::declaration::{DEFAULT_SETTING, RowKeyType};
use crate::error::PgError;
use crate::options::PgOptions;

/// What a live database looks like to somebody who is about to declare it.
///
/// `Display` is a `tenancy.toml` with comments. It claims no more than the catalog shows: a relation without the tenant
/// column stands there commented out, because nothing but a person can say whose its rows are, and an undeclared
/// relation keeps the service from starting. So does a report across tenants, of which no catalog tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proposal {
    /// The setting that the present policies read, if all of them read one.
    pub setting: Option<String>,
    /// Whether the present policies call a verifier of the signed mode.
    pub signed: bool,
    /// The tenant column that was found, or was asked for.
    pub column: Option<String>,
    /// Tables with the tenant column.
    pub tenant: Vec<Proposed>,
    /// Relations without it.
    pub undecided: Vec<Undecided>,
    /// Views. None is declared: what a view shows is for the tables behind it to say.
    pub views: Vec<ProposedView>,
}

/// A table that has the tenant column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proposed {
    /// The schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// The tenant column.
    pub column: String,
    /// Its type.
    pub key: RowKeyType,
    /// Whether it may be null, which has to be mended before the table is protected.
    pub nullable: bool,
    /// Whether the table has partitions.
    pub partitioned: bool,
    /// Whether the role that asked may put rows in, and neither change nor delete any.
    pub append_only: bool,
}

/// A relation of which nobody has said whose its rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undecided {
    /// The schema.
    pub schema: String,
    /// The relation.
    pub relation: String,
    /// Whether it is a table, which could get the tenant column.
    pub table: bool,
    /// What the catalog says about it, in a few words.
    pub why: String,
}

/// A view.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProposedView {
    /// The schema.
    pub schema: String,
    /// The view.
    pub view: String,
    /// Whether it reads as whoever asks, not as its owner.
    pub invoker: bool,
}

/// Reads the catalog and proposes a declaration. Changes nothing, and reads no table.
///
/// The tenant column is `column` where that is given. Otherwise it is the one that most tables have, of the names that
/// schemas use for it (`tenant_id`, `org_id`, `account_id` and the like), if its type can hold a row key.
///
/// Dropped: the connection is closed.
///
/// # Errors
/// [`PgError`] when the database can't be reached or read.
pub async fn propose(options: &PgOptions, column: Option<&str>) -> Result<Proposal, PgError> {
    let mut connection = options.session(DEFAULT_SETTING).await?;
    let relations = catalog::relations(&mut connection).await;
    let read_by_policies = catalog::read_by_policies(&mut connection).await;
    // What was read is worth more than a polite good-bye.
    let _closed = connection.close().await;
    let (relations, read_by_policies) = (relations?, read_by_policies?);
    let column = match column {
        Some(column) => Some(column.to_owned()),
        None => {
            usual_column(relations.iter().filter(|relation| relation.is_table()).flat_map(|relation| &relation.columns))
        }
    };
    let mut proposal = Proposal {
        setting: read_by_policies.setting,
        signed: read_by_policies.signed,
        column,
        tenant: Vec::new(),
        undecided: Vec::new(),
        views: Vec::new(),
    };
    for relation in relations {
        if relation.kind == "v" {
            let (schema, view, invoker) = (relation.schema, relation.name, relation.invoker);
            proposal.views.push(ProposedView { schema, view, invoker });
            continue;
        }
        let found = proposal.column.as_deref().and_then(|name| relation.columns.iter().find(|c| c.name == name));
        match found.and_then(|column| Some((column, column.key()?))) {
            Some((column, key)) if relation.is_table() => proposal.tenant.push(Proposed {
                schema: relation.schema,
                table: relation.name,
                column: column.name.clone(),
                key,
                nullable: column.nullable,
                partitioned: relation.kind == "p",
                append_only: relation.append_only,
            }),
            _other => {
                let (why, table) = (relation.why(found), relation.is_table());
                proposal.undecided.push(Undecided { schema: relation.schema, relation: relation.name, table, why });
            }
        }
    }
    Ok(proposal)
}

/// Of the columns with a usual name the one that most relations have; the more telling one in a tie.
fn usual_column<'c>(columns: impl Iterator<Item = &'c Column>) -> Option<String> {
    let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for column in columns.filter(|column| column.key().is_some()) {
        if let Some(place) = USUAL.iter().position(|usual| column.name.eq_ignore_ascii_case(usual)) {
            *counts.entry((place, &column.name)).or_default() += 1;
        }
    }
    let ((_place, name), _count) = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some(name.to_owned())
}

/// What schemas call the column, most telling first.
const USUAL: [&str; 17] = [
    "tenant_id",
    "tenant",
    "org_id",
    "organization_id",
    "organisation_id",
    "account_id",
    "workspace_id",
    "company_id",
    "customer_id",
    "team_id",
    "client_id",
    "site_id",
    "store_id",
    "shop_id",
    "project_id",
    "realm_id",
    "owner_id",
];
