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
        match std::env::var("DATABASE_URL") {
            Ok(url) if !url.is_empty() => Self::existing(&url).await,
            _ => Ok(Self::Throwaway(ThrowawayPostgres::start().await?)),
        }
    }

    async fn existing(url: &str) -> Result<Self, Failure> {
        // The error would quote the URL, password and all.
        let admin = PgConnectOptions::from_str(url).map_err(
            |_| "DATABASE_URL is no Postgres URL; it has the form postgres://role:password@host:5432/database",
        )?;
        may_make_roles_and_databases(&admin).await?;
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
            server.admin(&made).await?;
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
        let mut connection = connect(admin).await?;
        let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await;
        connection.close().await.map_err(|_| "the connection broke")?;
        done.map(drop).map_err(|_| "the server refused to make a role or database".into())
    }
}

/// What the demo needs of a server that runs anyway, said before anything is made there.
async fn may_make_roles_and_databases(admin: &PgConnectOptions) -> Result<(), Failure> {
    let mut connection = connect(admin).await?;
    let rights = "select current_user::text, rolsuper or rolcreaterole, rolsuper or rolcreatedb from pg_roles \
                  where rolname = current_user";
    let (role, roles, databases): (String, bool, bool) =
        sqlx::query_as(rights).fetch_one(&mut connection).await.map_err(|_| "can't read the role's rights")?;
    connection.close().await.map_err(|_| "the connection broke")?;
    let lacks: Vec<&str> = [(roles, "CREATEROLE"), (databases, "CREATEDB")]
        .into_iter()
        .filter(|(has, _)| !has)
        .map(|(_, name)| name)
        .collect();
    if lacks.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the role {role} of DATABASE_URL lacks {}: ALTER ROLE \"{role}\" {}, or unset DATABASE_URL for a throwaway server",
        lacks.join(" and "),
        lacks.join(" ")
    )
    .into())
}

/// Says where it failed to connect, and why: the caller's own server, whose words quote no password.
async fn connect(admin: &PgConnectOptions) -> Result<PgConnection, Failure> {
    PgConnection::connect_with(admin).await.map_err(|error| {
        let why = match &error {
            sqlx::Error::Io(e) => e.to_string(),
            sqlx::Error::Database(e) => e.message().to_owned(),
            _ => "no answer that is a Postgres server's".to_owned(),
        };
        format!("can't connect to {}:{} of DATABASE_URL ({why})", admin.get_host(), admin.get_port()).into()
    })
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

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions;

    use super::*;

    async fn refused(url: &str) -> String {
        Server::existing(url).await.err().expect("a refusal").to_string()
    }

    #[tokio::test]
    async fn what_is_wrong_with_a_server_is_said_apart() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let dead = free.local_addr().unwrap().port();
        drop(free);
        let error = refused(&format!("postgres://me:secret@127.0.0.1:{dead}/x")).await;
        assert!(error.contains(&format!("127.0.0.1:{dead}")) && error.contains("refused"), "{error}");
        let error = refused("postgres://me:secret@nowhere.invalid/x").await;
        assert!(error.contains("nowhere.invalid:5432"), "{error}");
        let error = refused("localhost").await;
        assert!(error.contains("postgres://role:password@host:5432/database"), "{error}");

        let server = ThrowawayPostgres::start().await.unwrap();
        let superuser = server.superuser_options();
        let mut connection = connect(&superuser).await.unwrap();
        sqlx::raw_sql("create role weak login createrole").execute(&mut connection).await.unwrap();
        let error = refused(superuser.clone().username("weak").to_url_lossy().as_str()).await;
        assert!(error.contains("weak of DATABASE_URL lacks CREATEDB: ALTER ROLE"), "{error}");
        Server::existing(superuser.to_url_lossy().as_str()).await.expect("a role that may").stop().await;
    }
}
