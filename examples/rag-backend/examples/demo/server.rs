//! A Postgres server for the demo: a throwaway one, or the one that `DATABASE_URL` names.

use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;

use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection};
use tenancy_stack::pg::{Declaration, grant_sql};
use tenancy_testkit::{TestDatabase, ThrowawayPostgres};
use uuid::Uuid;

use crate::Failure;

/// Where databases are made.
pub(crate) enum Server {
    /// Started for the demo and gone with it.
    Throwaway(ThrowawayPostgres),
    /// A server that runs anyway; the demo's own databases and roles are dropped at the end.
    Existing { admin: Box<PgConnectOptions>, made: Mutex<Vec<String>>, suffix: String, password: SecretString },
}

/// A database with an owner role and an application role that may do nothing but what the owner grants.
pub(crate) struct Tables {
    pub(crate) owner: PgConnectOptions,
    pub(crate) app: PgConnectOptions,
    pub(crate) app_role: String,
}

impl Server {
    pub(crate) async fn start() -> Result<Self, Failure> {
        let Ok(url) = std::env::var("DATABASE_URL") else {
            return Ok(Self::Throwaway(ThrowawayPostgres::start().await?));
        };
        // The error would quote the URL, password and all.
        let admin = PgConnectOptions::from_str(&url).map_err(|_| "DATABASE_URL is no Postgres URL")?;
        let suffix = Uuid::new_v4().simple().to_string()[..12].to_owned();
        let password = SecretString::from(Uuid::new_v4().simple().to_string());
        let server = Self::Existing { admin: Box::new(admin), made: Mutex::default(), suffix, password };
        for role in ["own", "app"] {
            let Self::Existing { suffix, password, .. } = &server else { continue };
            let made = format!(
                "create role tenancy_demo_{role}_{suffix} login nosuperuser nobypassrls nocreaterole nocreatedb \
                 password '{}'",
                password.expose_secret()
            );
            server.admin(&made).await.map_err(|_| {
                "the role in DATABASE_URL can't connect or may not create roles and databases; \
                 give it CREATEROLE and CREATEDB, or unset DATABASE_URL for a throwaway server"
            })?;
        }
        Ok(server)
    }

    /// A new empty database.
    pub(crate) async fn tables(&self) -> Result<Tables, Failure> {
        match self {
            Self::Throwaway(server) => {
                let database: TestDatabase = server.fresh_database().await;
                let app_role = tenancy_testkit::APP.to_owned();
                Ok(Tables { owner: database.owner_options(), app: database.app_options(), app_role })
            }
            Self::Existing { admin, made, suffix, password } => {
                let name = format!("tenancy_demo_{}", Uuid::new_v4().simple());
                self.admin(&format!("grant tenancy_demo_own_{suffix} to current_user")).await?;
                self.admin(&format!("create database {name} owner tenancy_demo_own_{suffix}")).await?;
                made.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(name.clone());
                let role = |role: &str| {
                    let options = (**admin).clone().database(&name);
                    options.username(&format!("tenancy_demo_{role}_{suffix}")).password(password.expose_secret())
                };
                Ok(Tables { owner: role("own"), app: role("app"), app_role: format!("tenancy_demo_app_{suffix}") })
            }
        }
    }

    /// Drops what was made on an existing server. A throwaway one goes by itself.
    pub(crate) async fn stop(self) {
        let Self::Existing { made, suffix, .. } = &self else { return };
        let made = std::mem::take(&mut *made.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        for name in made {
            let _gone = self.admin(&format!("drop database if exists {name} with (force)")).await;
        }
        for role in ["own", "app"] {
            let _gone = self.admin(&format!("drop role if exists tenancy_demo_{role}_{suffix}")).await;
        }
    }

    async fn admin(&self, sql: &str) -> Result<(), Failure> {
        let Self::Existing { admin, .. } = self else { return Ok(()) };
        let mut connection = PgConnection::connect_with(admin).await.map_err(|_| "can't connect")?;
        let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await;
        connection.close().await.map_err(|_| "the connection broke")?;
        done.map(drop).map_err(|_| "the server refused to make a role or database".into())
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Throwaway(_) => "a throwaway server, non-superuser application role",
            Self::Existing { .. } => "the server of DATABASE_URL, in databases and roles of the demo's own",
        })
    }
}

/// What the application role may do. The migrations don't know its name.
pub(crate) async fn grant(tables: &Tables, declaration: &Declaration) -> Result<(), Failure> {
    let mut owner = PgConnection::connect_with(&tables.owner).await.map_err(|_| "can't connect as the owner")?;
    let done = sqlx::raw_sql(AssertSqlSafe(grant_sql(declaration, &tables.app_role))).execute(&mut owner).await;
    owner.close().await.map_err(|_| "the owner's connection broke")?;
    done.map(drop).map_err(|_| "the grants failed".into())
}
