//! What the directory knows of one tenant.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde::Deserialize;

use crate::id::{CellName, Life, Region, RowKey, TenantId};

/// One tenant in one life: who it is, where it is placed, what was bought, and which claims and roles lead to it.
///
/// A record opens nothing. It is made by directories, with [`new`](Self::new) and setters.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct TenantRecord {
    id: TenantId,
    life: Life,
    born: SystemTime,
    row_key: RowKey,
    standing: Standing,
    plan: Plan,
    placement: Placement,
    claims: Vec<(Arc<str>, Arc<str>)>,
    roles: RoleMap,
    training_consent: bool,
}

impl TenantRecord {
    /// An active tenant whose life began at `born`, pooled, in no named region, bound to no claim yet.
    pub fn new(id: TenantId, life: Life, born: SystemTime) -> Self {
        Self {
            id,
            life,
            born,
            row_key: life.into(),
            standing: Standing::Active,
            plan: Plan::default(),
            placement: Placement::default(),
            claims: Vec::new(),
            roles: BTreeMap::new(),
            training_consent: false,
        }
    }

    /// Binds a claim of an issuer to this tenant.
    pub fn claim(mut self, issuer: &str, value: &str) -> Self {
        self.claims.push((issuer.into(), value.into()));
        self
    }

    /// Lets a role of an issuer carry permissions, named as in [`Permission::NAME`](crate::Permission::NAME). API keys
    /// use the issuer [`API_KEYS`](Self::API_KEYS).
    pub fn role<'a>(mut self, issuer: &str, role: &str, permissions: impl IntoIterator<Item = &'a str>) -> Self {
        let names = self.roles.entry((issuer.into(), role.into())).or_default();
        names.extend(permissions.into_iter().map(Arc::from));
        self
    }

    /// Sets the key that tenant tables of an adopted schema hold. It must be new for every life.
    pub fn row_key_of(mut self, row_key: RowKey) -> Self {
        self.row_key = row_key;
        self
    }

    /// Sets the standing.
    pub const fn standing_of(mut self, standing: Standing) -> Self {
        self.standing = standing;
        self
    }

    /// Sets what was bought.
    pub fn plan_of(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// Sets the placement.
    pub fn placed(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Renames the tenant; its life goes on.
    pub fn renamed(mut self, id: TenantId) -> Self {
        self.id = id;
        self
    }

    /// Records whether the tenant lets its data train models.
    pub const fn training_consent_of(mut self, consent: bool) -> Self {
        self.training_consent = consent;
        self
    }

    /// The name.
    #[must_use]
    pub const fn id(&self) -> &TenantId {
        &self.id
    }

    /// The life.
    #[must_use]
    pub const fn life(&self) -> Life {
        self.life
    }

    /// When the life began. Credentials that may have been issued earlier, the issuer's leeway included, are refused.
    #[must_use]
    pub const fn born(&self) -> SystemTime {
        self.born
    }

    /// What tenant tables hold.
    #[must_use]
    pub const fn row_key(&self) -> &RowKey {
        &self.row_key
    }

    /// The standing.
    #[must_use]
    pub const fn standing(&self) -> Standing {
        self.standing
    }

    /// What was bought.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where it is placed.
    #[must_use]
    pub const fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The claims that lead here, as (issuer, value).
    pub fn claims(&self) -> impl Iterator<Item = (&str, &str)> {
        self.claims.iter().map(|(issuer, value)| (&**issuer, &**value))
    }

    /// Whether the tenant lets its data train models.
    #[must_use]
    pub const fn training_consent(&self) -> bool {
        self.training_consent
    }

    /// Whether a claim of an issuer leads here, both compared by bytes.
    #[must_use]
    pub fn is_bound_to(&self, issuer: &str, claim: &str) -> bool {
        self.claims().any(|bound| bound == (issuer, claim))
    }

    /// The mapped roles, as (issuer, role, permissions), for a directory that keeps records elsewhere.
    pub fn roles(&self) -> impl Iterator<Item = (&str, &str, &[Arc<str>])> {
        self.roles.iter().map(|((issuer, role), permissions)| (&**issuer, &**role, &**permissions))
    }

    /// The permissions that a role of an issuer carries; none for a role nobody mapped.
    pub fn permissions(&self, issuer: &str, role: &str) -> impl Iterator<Item = &Arc<str>> {
        self.roles.get(&(Arc::from(issuer), Arc::from(role))).into_iter().flatten()
    }

    /// The issuer under which roles of API keys are mapped.
    pub const API_KEYS: &'static str = "api-keys";
}

/// From (issuer, role) to the names of permissions.
type RoleMap = BTreeMap<(Arc<str>, Arc<str>), Vec<Arc<str>>>;

/// Whether a tenant is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Standing {
    /// Served.
    Active,
    /// Not served for now; nothing is deleted.
    Suspended,
    /// Being erased, or gone. There is no way back: a tenant that returns gets a new life.
    Erased,
}

/// What was bought.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The plan's name.
    pub name: Arc<str>,
    /// The service class.
    pub service_class: ServiceClass,
}

impl Plan {
    /// A plan.
    #[must_use]
    pub fn new(name: &str, service_class: ServiceClass) -> Self {
        Self { name: name.into(), service_class }
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self::new("standard", ServiceClass::Standard)
    }
}

/// How well a plan is served when not everybody can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ServiceClass {
    /// Shed first.
    Free,
    /// The usual.
    Standard,
    /// Shed last.
    Enterprise,
}

/// Where a tenant's data may be.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Placement {
    /// How much is shared with others.
    pub isolation: Isolation,
    /// The region; `None` means the realm's own.
    pub region: Option<Region>,
    /// For a store's name, the cell that holds this tenant.
    pub cells: BTreeMap<String, CellName>,
}

impl Placement {
    /// A placement in a region.
    #[must_use]
    pub fn in_region(region: Region) -> Self {
        Self { region: Some(region), ..Self::default() }
    }
}

/// The four tiers of sharing, on one code path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Isolation {
    /// Everything shared, separated by key and policy.
    #[default]
    Pooled,
    /// Own partitions in shared stores.
    PartitionedData,
    /// Own stores and engines in a shared deployment.
    DedicatedPool,
    /// Own deployment.
    DedicatedDeployment,
}
