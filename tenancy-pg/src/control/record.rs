//! A tenant's record as rows.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use tenancy_core::{
    CellName, Isolation, Life, Placement, Plan, Region, RowKey, ServiceClass, Standing, TenantId, TenantRecord,
};
use uuid::Uuid;

use crate::error::PgError;

/// A row of `tenancy_control.tenant`, with the claims beside it.
#[derive(sqlx::FromRow)]
pub(super) struct Row {
    pub(super) life: Uuid,
    pub(super) name: String,
    pub(super) born: i64,
    pub(super) row_key_type: String,
    pub(super) row_key: String,
    pub(super) standing: String,
    pub(super) details: Json<Details>,
    pub(super) issuers: Vec<String>,
    pub(super) claims: Vec<String>,
}

/// What is never looked up by.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Details {
    plan: String,
    service_class: String,
    isolation: String,
    region: Option<String>,
    cells: BTreeMap<String, String>,
    roles: Vec<RoleDetails>,
    training_consent: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleDetails {
    issuer: String,
    role: String,
    permissions: Vec<String>,
}

impl Row {
    pub(super) fn of(record: &TenantRecord) -> Result<Self, PgError> {
        let (row_key_type, row_key) = match record.row_key() {
            RowKey::Uuid(id) => ("uuid", id.hyphenated().to_string()),
            RowKey::BigInt(number) => ("bigint", number.to_string()),
            RowKey::Text(text) => ("text", text.as_str().to_owned()),
            _unknown => return Err(PgError::RowKeyType),
        };
        let (issuers, claims) = record.claims().map(|(issuer, value)| (issuer.to_owned(), value.to_owned())).unzip();
        Ok(Self {
            life: record.life().uuid(),
            name: record.id().as_str().to_owned(),
            born: micros(record.born()),
            row_key_type: row_key_type.to_owned(),
            row_key,
            standing: standing_word(record.standing())?.to_owned(),
            details: Json(Details::of(record)?),
            issuers,
            claims,
        })
    }

    /// Checks every field like one that came from outside.
    pub(super) fn into_record(self) -> Result<TenantRecord, PgError> {
        let Self { life, name, born, row_key_type, row_key, standing, details, issuers, claims } = self;
        let life = Life::parse(&life.to_string()).map_err(|_| PgError::Record)?;
        let row_key = match row_key_type.as_str() {
            "uuid" => RowKey::Uuid(row_key.parse().map_err(|_| PgError::Record)?),
            "bigint" => RowKey::BigInt(row_key.parse().map_err(|_| PgError::Record)?),
            "text" => RowKey::Text(TenantId::parse(&row_key).map_err(|_| PgError::Record)?),
            _unknown => return Err(PgError::Record),
        };
        let name = TenantId::parse(&name).map_err(|_| PgError::Record)?;
        let record =
            TenantRecord::new(name, life, time(born)?).row_key_of(row_key).standing_of(standing_of(&standing)?);
        let record = details.0.add_to(record)?;
        Ok(issuers.iter().zip(&claims).fold(record, |record, (issuer, value)| record.claim(issuer, value)))
    }
}

impl Details {
    fn of(record: &TenantRecord) -> Result<Self, PgError> {
        let placement = record.placement();
        let roles = record.roles().map(|(issuer, role, permissions)| RoleDetails {
            issuer: issuer.to_owned(),
            role: role.to_owned(),
            permissions: permissions.iter().map(|name| name.to_string()).collect(),
        });
        Ok(Self {
            plan: record.plan().name.to_string(),
            service_class: class_word(record.plan().service_class)?.to_owned(),
            isolation: isolation_word(placement.isolation)?.to_owned(),
            region: placement.region.as_ref().map(|region| region.as_str().to_owned()),
            cells: placement.cells.iter().map(|(store, cell)| (store.clone(), cell.as_str().to_owned())).collect(),
            roles: roles.collect(),
            training_consent: record.training_consent(),
        })
    }

    fn add_to(self, record: TenantRecord) -> Result<TenantRecord, PgError> {
        let Self { plan, service_class, isolation, region, cells, roles, training_consent } = self;
        let mut placement = Placement::default();
        placement.isolation = word(&isolation)?;
        placement.region = region.map(|name| Region::parse(&name)).transpose().map_err(|_| PgError::Record)?;
        for (store, cell) in cells {
            placement.cells.insert(store, CellName::parse(&cell).map_err(|_| PgError::Record)?);
        }
        let record = record
            .plan_of(Plan::new(&plan, word(&service_class)?))
            .placed(placement)
            .training_consent_of(training_consent);
        Ok(roles.iter().fold(record, |record, RoleDetails { issuer, role, permissions }| {
            record.role(issuer, role, permissions.iter().map(String::as_str))
        }))
    }
}

/// Core's own parser of its words.
fn word<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, PgError> {
    serde_json::from_value(text.into()).map_err(|_| PgError::Record)
}

fn standing_of(text: &str) -> Result<Standing, PgError> {
    word(text)
}

pub(super) fn standing_word(standing: Standing) -> Result<&'static str, PgError> {
    match standing {
        Standing::Active => Ok("active"),
        Standing::Suspended => Ok("suspended"),
        Standing::Erased => Ok("erased"),
        _unknown => Err(PgError::Record),
    }
}

fn class_word(class: ServiceClass) -> Result<&'static str, PgError> {
    match class {
        ServiceClass::Free => Ok("free"),
        ServiceClass::Standard => Ok("standard"),
        ServiceClass::Enterprise => Ok("enterprise"),
        _unknown => Err(PgError::Record),
    }
}

fn isolation_word(isolation: Isolation) -> Result<&'static str, PgError> {
    match isolation {
        Isolation::Pooled => Ok("pooled"),
        Isolation::PartitionedData => Ok("partitioned-data"),
        Isolation::DedicatedPool => Ok("dedicated-pool"),
        Isolation::DedicatedDeployment => Ok("dedicated-deployment"),
        _unknown => Err(PgError::Record),
    }
}

/// Microseconds since 1970.
pub(super) fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

fn time(micros: i64) -> Result<SystemTime, PgError> {
    let since = u64::try_from(micros).map(Duration::from_micros).map_err(|_| PgError::Record)?;
    SystemTime::UNIX_EPOCH.checked_add(since).ok_or(PgError::Record)
}
