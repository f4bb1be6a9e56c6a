//! The kinds of findings.

use serde::Serialize;

/// What a finding of a kind says about rows, beside how much it matters for the start of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Effect {
    /// By itself it lets a statement of one tenant read, change or plant rows of another.
    Crosses,
    /// It lets rows cross if something holds that the catalog does not show: what a function's body does, say.
    MayCross,
    /// No row crosses, but another tenant's row or its number can be told.
    Tells,
    /// An outage, a tenant's own rows that do not stay as they were written, or something that only waits to become one of
    /// the others.
    Hygiene,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $class:literal, $effect:ident, $title:literal;)*) => {
        /// The kinds of findings. Codes are never used for anything else.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every kind, in the order of its code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What it is about: `role`, `schema`, `policy`, `object`, `signed`, `server`, `shared_objects`,
            /// `probe` or `report`.
            #[must_use]
            pub const fn class(self) -> &'static str {
                match self { $(Self::$name => $class,)* }
            }

            /// Whether rows cross by it.
            #[must_use]
            pub const fn effect(self) -> Effect {
                match self { $(Self::$name => Effect::$effect,)* }
            }

            /// What it is, in a few words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

codes! {
    /// The login and the acting role differ: `RESET ROLE` undoes it.
    RoleFacade = "PG001", "role", MayCross, "login and acting role differ";
    /// A superuser, here or within reach.
    Superuser = "PG002", "role", Crosses, "superuser";
    /// A role that row level security does not hold, here or within reach.
    BypassRls = "PG003", "role", Crosses, "BYPASSRLS";
    /// A role that can make itself more.
    RoleAttribute = "PG004", "role", MayCross, "dangerous attribute";
    /// A predefined or vendor role that goes around tables.
    PredefinedRole = "PG005", "role", MayCross, "dangerous membership";
    /// The owner of a tenant table, its schema or the database is here or within reach.
    Ownership = "PG006", "role", Crosses, "owner within reach";
    /// A declared table is not there.
    TableMissing = "PG007", "schema", Hygiene, "table missing";
    /// A declared tenant table is a view or another relation without row level security.
    NotATable = "PG008", "schema", MayCross, "not a table";
    /// Row level security is off.
    RlsDisabled = "PG009", "schema", Crosses, "row level security is off";
    /// Row level security does not hold the owner.
    NotForced = "PG010", "schema", Hygiene, "row level security is not forced";
    /// The tenant column is missing, nullable or of another type.
    TenantColumn = "PG011", "schema", MayCross, "tenant column";
    /// A policy lets rows through without comparing the tenant column with the setting.
    PolicyUnbound = "PG012", "policy", Crosses, "policy does not bind the tenant";
    /// A policy casts the setting without NULLIF.
    PolicyEmptySetting = "PG013", "policy", Hygiene, "policy fails on the empty setting";
    /// A command the role may run has no policy.
    PolicyMissing = "PG014", "policy", Hygiene, "no policy for a granted command";
    /// Postgres itself says that policies do not hold this role on this table.
    NotActive = "PG015", "schema", Crosses, "row level security is not active for this role";
    /// A right that policies do not hold.
    TableRight = "PG016", "schema", MayCross, "right that policies do not hold";
    /// A partition or child that is reached by its own name.
    ChildReachable = "PG017", "schema", Crosses, "child table within reach";
    /// A relation within reach that nobody declared.
    Undeclared = "PG018", "schema", MayCross, "undeclared relation within reach";
    /// A role or database that starts sessions with a tenant.
    DefaultSetting = "PG019", "role", MayCross, "default for the setting";
    /// A relation that is declared global reads a tenant table.
    GlobalReadsTenant = "PG020", "schema", MayCross, "global relation reads a tenant table";
    /// The server's release has known holes in row level security.
    ServerRelease = "PG021", "server", MayCross, "old server release";
    /// A foreign key between tenant tables that does not pair their tenant columns.
    ForeignKey = "PG022", "schema", Tells, "foreign key across tenants";
    /// A unique index of a tenant table without the tenant column.
    UniqueIndex = "PG023", "schema", Tells, "unique across tenants";
    /// The service may make objects of its own, which no policy holds.
    CreateRight = "PG024", "schema", MayCross, "right to create objects";
    /// The service may use large objects, which have no policies and are the role's, not a tenant's.
    LargeObjects = "PG025", "shared_objects", MayCross, "large objects within reach";
    /// A policy that binds the tenant also reads another setting, which any statement can set.
    SecondSetting = "PG026", "policy", Hygiene, "policy reads a second setting";
    /// A policy that does not bind the tenant, for a command that nobody within reach may run yet.
    LatentPolicy = "PG027", "policy", Hygiene, "policy does not bind, without a right to use it";
    /// A policy depends on who is connected, whom all tenants of a pool share.
    UserPolicy = "PG028", "policy", Hygiene, "policy reads the connected user";
    /// The service can replace a function that a policy calls.
    ReplaceableHelper = "PG029", "policy", MayCross, "policy function can be replaced";
    /// A policy calls a volatile function.
    VolatileHelper = "PG030", "policy", Hygiene, "volatile policy function";
    /// A view reads a tenant table as somebody whom policies do not hold.
    ViewUnheld = "PG031", "object", Crosses, "view past the policies";
    /// A view reads a tenant table as its owner, whom policies hold.
    ViewAsOwner = "PG032", "object", Hygiene, "view in its owner's name";
    /// A materialized view of a tenant table.
    MaterializedView = "PG033", "object", Crosses, "materialized view of a tenant table";
    /// A foreign table that is declared global.
    ForeignTable = "PG034", "object", Hygiene, "foreign table";
    /// A rewrite rule, which acts as the relation's owner.
    RewriteRule = "PG035", "object", MayCross, "rewrite rule";
    /// A `SECURITY DEFINER` function that the service may call and nobody declared to have read.
    DefinerFunction = "PG036", "object", MayCross, "SECURITY DEFINER function";
    /// A trigger that runs a `SECURITY DEFINER` function that nobody declared to have read.
    DefinerTrigger = "PG037", "object", MayCross, "SECURITY DEFINER trigger";
    /// A `SECURITY DEFINER` function whose names mean what the caller says.
    SearchPath = "PG038", "object", MayCross, "search path of a SECURITY DEFINER function";
    /// A function that is marked LEAKPROOF and is not the server's or an extension's.
    Leakproof = "PG039", "object", MayCross, "LEAKPROOF function";
    /// The service may call a function whose language or connection remembers, from one tenant's call to the next's.
    StatefulFunction = "PG040", "object", MayCross, "function that remembers";
    /// A foreign key carries what the service does to a table that is no tenant's on to all tenants' rows.
    KeyCarriesOn = "PG041", "schema", MayCross, "foreign key carries changes on to tenants";
    /// An index finds the nearest among all tenants' rows.
    VectorIndex = "PG042", "schema", Tells, "vector index across tenants";
    /// Tables to come are within reach as soon as they are made.
    DefaultRight = "PG043", "schema", Hygiene, "default privileges on tables";
    /// A sequence that the service may read or set.
    ReadableSequence = "PG044", "schema", Tells, "readable sequence";
    /// A column of references to large objects.
    LargeObjectColumn = "PG045", "schema", MayCross, "references to large objects";
    /// A tenant table is in a publication.
    Published = "PG046", "schema", Hygiene, "tenant table is published";
    /// Plans over many partitions.
    ManyPartitions = "PG047", "schema", Hygiene, "many partitions";
    /// What hardening closes is open to the service.
    NotHardened = "PG048", "shared_objects", MayCross, "not hardened";
    /// A role or database starts sessions with a dangerous setting.
    RoleSetting = "PG049", "role", MayCross, "dangerous setting of a role";
    /// The service's role was shown rows that are nobody's.
    ProbeSawRows = "PG050", "probe", Crosses, "rows without a tenant";
    /// A table in which looking proves nothing.
    NotProven = "PG051", "probe", Hygiene, "not proven";
    /// The verifier of the signed scope is not as generated.
    SignedVerifier = "PG052", "signed", Crosses, "verifier not as generated";
    /// The owner of the signed scope's schema can be more than that, or be become.
    SignedOwner = "PG053", "signed", Crosses, "owner of the signed scope";
    /// The signing keys or the registry are missing or within reach.
    SignedTables = "PG054", "signed", Crosses, "signing keys or registry within reach";
    /// The role that reads reports is the service's, or one of the two can become the other.
    ReportRole = "PG055", "report", MayCross, "reporting role is not its own";
    /// The role that reads reports has another right than on the declared columns, or lacks one.
    ReportRight = "PG056", "report", MayCross, "right beyond the reports";
    /// A report that no policy holds to one tenant.
    ReportRelation = "PG057", "report", MayCross, "report that no policy holds";
    /// What the server keeps of the rows outside of the tables is within reach: TOAST, statistics, large objects, files.
    BeneathTables = "PG058", "object", Crosses, "rows beneath the tables";
    /// A declared role of before an adoption whose day is past: it sees no rows.
    LegacyEnded = "PG059", "role", Hygiene, "legacy role past its day";
    /// The service can change or delete rows of a table that is declared as append-only.
    AppendOnly = "PG060", "schema", Hygiene, "append-only table can be changed";
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
