//! What an inspection found.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::error::PgError;

/// The report of an inspection. `Display` is for people, [`Serialize`] for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// The server, as `server_version_num` says it: 150018 is 15.18.
    pub server_version: i32,
    /// Who logged in.
    pub session_user: String,
    /// In whose name statements run.
    pub current_user: String,
    /// What was found, the fatal first.
    pub findings: Vec<Finding>,
}

impl Inspection {
    /// The findings that keep the database from being used.
    pub fn fatal(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Fatal)
    }

    /// Whether something with this code was found.
    #[must_use]
    pub fn has(&self, code: Code) -> bool {
        self.findings.iter().any(|finding| finding.code == code)
    }

    /// The codes of the fatal findings, each once.
    pub(crate) fn codes(&self) -> String {
        let codes: BTreeSet<&str> = self.fatal().map(|finding| finding.code.as_str()).collect();
        codes.into_iter().collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn passed(self) -> Result<Self, PgError> {
        if self.fatal().next().is_none() { Ok(self) } else { Err(PgError::Inspection(Box::new(self))) }
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server_version, session_user, current_user, findings } = self;
        let (major, minor) = (server_version / 10_000, server_version % 10_000);
        writeln!(f, "Postgres {major}.{minor}, logged in as {session_user:?}, acting as {current_user:?}")?;
        if findings.is_empty() {
            writeln!(f, "nothing found")?;
        }
        for finding in findings {
            writeln!(f, "\n{finding}")?;
        }
        Ok(())
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What kind of thing, stable across versions.
    pub code: Code,
    /// What it means for the start of the service.
    pub severity: Severity,
    /// The role, table or policy, as SQL names it.
    pub object: String,
    /// Why it matters, in two sentences.
    pub why: String,
    /// What mends it, as SQL or as what to type.
    pub fix: String,
}

impl Finding {
    pub(crate) fn fatal(code: Code, object: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { code, severity: Severity::Fatal, object: object.into(), why: why.into(), fix: fix.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, severity, object, why, fix } = self;
        let word = match severity {
            Severity::Fatal => "fatal",
            Severity::Warning => "warning",
        };
        write!(f, "{word}[{}] {} {object}\n  {why}\n  mend: {fix}", code.as_str(), code.title())
    }
}

/// What a finding means for the start of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Tenants are not kept apart, or it can't be told: the database is not used.
    Fatal,
    /// Worth mending; the database is used.
    Warning,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $class:literal, $title:literal;)*) => {
        /// The kinds of findings. Codes are never used for anything else.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// The code.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What it is about: `role`, `schema`, `policy`, `server` or `shared_objects`.
            #[must_use]
            pub const fn class(self) -> &'static str {
                match self { $(Self::$name => $class,)* }
            }

            const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

codes! {
    /// The login and the acting role differ: `RESET ROLE` undoes it.
    RoleFacade = "PG001", "role", "login and acting role differ";
    /// A superuser, here or within reach.
    Superuser = "PG002", "role", "superuser";
    /// A role that row level security does not hold, here or within reach.
    BypassRls = "PG003", "role", "BYPASSRLS";
    /// A role that can make itself more.
    RoleAttribute = "PG004", "role", "dangerous attribute";
    /// A predefined or vendor role that goes around tables.
    PredefinedRole = "PG005", "role", "dangerous membership";
    /// The owner of a tenant table or its schema is here or within reach.
    Ownership = "PG006", "role", "owner within reach";
    /// A declared table is not there.
    TableMissing = "PG007", "schema", "table missing";
    /// A declared tenant table is a view or another relation without row level security.
    NotATable = "PG008", "schema", "not a table";
    /// Row level security is off.
    RlsDisabled = "PG009", "schema", "row level security is off";
    /// Row level security does not hold the owner.
    NotForced = "PG010", "schema", "row level security is not forced";
    /// The tenant column is missing, nullable or of another type.
    TenantColumn = "PG011", "schema", "tenant column";
    /// A policy lets rows through without comparing the tenant column with the setting.
    PolicyUnbound = "PG012", "policy", "policy does not bind the tenant";
    /// A policy casts the setting without NULLIF.
    PolicyEmptySetting = "PG013", "policy", "policy fails on the empty setting";
    /// A command the role may run has no policy.
    PolicyMissing = "PG014", "policy", "no policy for a granted command";
    /// Postgres itself says that policies do not hold this role on this table.
    NotActive = "PG015", "schema", "row level security is not active for this role";
    /// A right that policies do not hold.
    TableRight = "PG016", "schema", "right that policies do not hold";
    /// A partition or child that is reached by its own name.
    ChildReachable = "PG017", "schema", "child table within reach";
    /// A relation within reach that nobody declared.
    Undeclared = "PG018", "schema", "undeclared relation within reach";
    /// A role or database that starts sessions with a tenant.
    DefaultSetting = "PG019", "role", "default for the setting";
    /// A relation that is declared global reads a tenant table.
    GlobalReadsTenant = "PG020", "schema", "global relation reads a tenant table";
    /// The server's release has known holes in row level security.
    ServerRelease = "PG021", "server", "old server release";
    /// A foreign key between tenant tables that does not pair their tenant columns.
    ForeignKey = "PG022", "schema", "foreign key across tenants";
    /// A unique index of a tenant table without the tenant column.
    UniqueIndex = "PG023", "schema", "unique across tenants";
    /// The service may make objects of its own, which no policy holds.
    CreateRight = "PG024", "schema", "right to create objects";
    /// The service may use large objects, which have no policies and are the role's, not a tenant's.
    LargeObjects = "PG025", "shared_objects", "large objects within reach";
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
