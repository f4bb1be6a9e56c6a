//! P4, P5, P6 and their relatives: who logs in, as whom it acts, and what it or its like owns.
//!
//! Each wrong one shows on the server itself what it can get at, and stands beside the right one, which is opened and
//! shows each tenant its own rows.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection};
use tenancy_pg::{Code, Database, PgError, PgOptions};

use crate::common::{ACME, GLOBEX, World, bodies};
use crate::inspection::report;

/// A wrong login.
struct Wrong {
    /// The mechanism.
    what: &'static str,
    make: &'static str,
    login: Login,
    /// What a statement on such a session does first, and how many of the five rows are then seen with no tenant set;
    /// `None` where it is something else than rows that it gets at.
    way: &'static str,
    sees: Option<i64>,
    codes: &'static [Code],
    undo: &'static str,
}

#[derive(Clone, Copy)]
enum Login {
    /// The role that was made for the case.
    Role,
    Owner,
    App,
    /// The superuser, with an option in the startup message, as a URL or a hook would put it there.
    SuperuserWith(&'static str, &'static str),
}

impl World {
    fn login(&self, login: Login) -> PgConnectOptions {
        match login {
            Login::Role => self.server.options(&self.named("{role}")),
            Login::Owner => self.server.owner_options(),
            Login::App => self.server.app_options(),
            Login::SuperuserWith(name, value) => self.server.superuser_options().options([(name, value)]),
        }
    }

    async fn each_is_fatal(&self, all: &[Wrong]) {
        self.the_right_one_serves("before").await;
        for Wrong { what, make, login, way, sees, codes, undo } in all {
            self.server.run(&self.named(make)).await;
            let found = report(self, self.login(*login)).await;
            for code in *codes {
                assert!(found.fatal().any(|finding| finding.code == *code), "{what}: {code:?}: {found}");
            }
            let options = PgOptions::new(self.login(*login));
            let refused = Database::open(self.tenants.realm(), options, &self.declaration).await.unwrap_err();
            assert!(matches!(refused, PgError::Inspection(_)), "{what}: {refused:?}");
            if let Some(expected) = sees {
                assert_eq!(
                    rows_seen(&self.login(*login), &self.named(way)).await,
                    *expected,
                    "{what}: what it gets at"
                );
            }
            self.server.run(&self.named(undo)).await;
            self.the_right_one_serves(what).await;
        }
    }

    /// A plain role beside it, under the policies that are generated.
    async fn the_right_one_serves(&self, what: &str) {
        assert_eq!(rows_seen(&self.server.app_options(), "").await, 0, "{what}: the right one, with no tenant set");
        let database = Database::open(self.tenants.realm(), self.options(), &self.declaration).await;
        let database = database.unwrap_or_else(|e| match e {
            PgError::Inspection(report) => panic!("{what}: the right one: {report}"),
            other => panic!("{what}: the right one: {other}"),
        });
        assert_eq!(bodies(&self.scoped(&database, "acme").await).await, ACME, "{what}: the right one");
        assert_eq!(bodies(&self.scoped(&database, "globex").await).await, GLOBEX, "{what}: the right one");
        database.close().await;
    }
}

async fn rows_seen(login: &PgConnectOptions, way: &str) -> i64 {
    let mut connection = PgConnection::connect_with(login).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(way)).execute(&mut connection).await.unwrap_or_else(|e| panic!("{way}: {e}"));
    let seen = sqlx::query_scalar("select count(*) from note").fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    seen
}

const DROP: &str = "drop role {role}";
const DROP_BOTH: &str = "drop role {role}; drop role {role}_mid";

/// P4: a login that policies do not hold, or that can become one.
#[tokio::test]
async fn a_superuser_by_any_path_is_fatal() {
    let wrong = |what, make, way, sees, code: &'static [Code], undo| Wrong {
        what,
        make,
        login: Login::Role,
        way,
        sees,
        codes: code,
        undo,
    };
    World::new()
        .await
        .each_is_fatal(&[
            wrong("P4: it is one", "create role {role} login superuser", "", Some(5), &[Code::Superuser], DROP),
            wrong("it was made one later", "create role {role} login; grant app to {role}; alter role {role} superuser", "", Some(5), &[Code::Superuser], DROP),
            wrong("it is a member: attributes are not inherited, but SET ROLE has them", "create role {role} login; grant app, postgres to {role}", "set role postgres", Some(5), &[Code::Superuser], DROP),
            wrong("it is a member that does not inherit", "create role {role} login noinherit; grant app, postgres to {role}", "set role postgres", Some(5), &[Code::Superuser], DROP),
            wrong("it is a member of a member", "create role {role}_mid; grant postgres to {role}_mid; create role {role} login; grant app, {role}_mid to {role}", "set role postgres", Some(5), &[Code::Superuser], DROP_BOTH),
            wrong("it may pass the membership on", "create role {role} login; grant app to {role}; grant postgres to {role} with admin option", "set role postgres", Some(5), &[Code::Superuser], DROP),
            wrong("BYPASSRLS is enough", "create role {role} login bypassrls; grant app to {role}", "", Some(5), &[Code::BypassRls], DROP),
            wrong("it can become a role with BYPASSRLS", "create role {role}_mid bypassrls; grant app to {role}_mid; create role {role} login; grant app, {role}_mid to {role}", "set role {role}_mid", Some(5), &[Code::BypassRls], DROP_BOTH),
            wrong("it runs programs as the server", "create role {role} login; grant app, pg_execute_server_program to {role}", "", None, &[Code::PredefinedRole], DROP),
            wrong("it reads the files of the server", "create role {role} login; grant app, pg_read_server_files to {role}", "", None, &[Code::PredefinedRole], DROP),
            wrong("it writes them, by way of a role between", "create role {role}_mid in role pg_write_server_files; create role {role} login; grant app, {role}_mid to {role}", "", None, &[Code::PredefinedRole], DROP_BOTH),
            wrong("it makes roles", "create role {role} login createrole; grant app to {role}", "", None, &[Code::RoleAttribute], DROP),
            wrong("it streams the log, which has no policies", "create role {role} login replication; grant app to {role}", "", None, &[Code::RoleAttribute], DROP),
        ])
        .await;
}

/// P5: a session that acts as another role than the one that logged in, and takes that back.
#[tokio::test]
async fn a_facade_over_another_role_is_fatal() {
    let facade = |what, make, way, sees, codes, undo| Wrong { what, make, login: Login::Role, way, sees, codes, undo };
    let option = |what, name, value, way, codes| Wrong {
        what,
        make: "",
        login: Login::SuperuserWith(name, value),
        way,
        sees: Some(5),
        codes,
        undo: "",
    };
    const BOTH: &[Code] = &[Code::RoleFacade, Code::Superuser];
    let world = World::new().await;
    world
        .each_is_fatal(&[
            option("P5: a superuser whose session starts as app", "role", "app", "set role none", BOTH),
            facade("another authorization as the role's own default, which the server passes over", "create role {role} login superuser; alter role {role} in database {db} set session_authorization = 'app'", "", Some(5), &[Code::Superuser], DROP),
            facade("the role's own default here", "create role {role} login superuser; alter role {role} in database {db} set role = 'app'", "set role none", Some(5), BOTH, DROP),
            facade("the role's own default everywhere", "create role {role} login superuser; alter role {role} set role = 'app'", "set session authorization default; set role none", Some(5), BOTH, DROP),
            facade("the default of the database", "create role {role} login superuser; alter database {db} set role = 'app'", "set role none", Some(5), BOTH, "set role none; alter database {db} reset role; drop role {role}"),
            facade("over BYPASSRLS", "create role {role} login bypassrls; grant app to {role}; alter role {role} in database {db} set role = 'app'", "set role none", Some(5), &[Code::RoleFacade, Code::BypassRls], DROP),
            facade("over a member of the owner", "create role {role} login; grant app, own to {role}; alter role {role} in database {db} set role = 'app'", "set role own; alter table note no force row level security", Some(5), &[Code::RoleFacade, Code::Ownership], "alter table note force row level security; drop role {role}"),
            facade("over a role that may no more than app: whoever acts is not who was judged", "create role {role} login; grant app to {role}; alter role {role} in database {db} set role = 'app'", "set role none", Some(0), &[Code::RoleFacade], DROP),
        ])
        .await;
    let found = report(&world, world.login(Login::SuperuserWith("role", "app"))).await;
    assert_eq!((&*found.session_user, &*found.current_user), ("postgres", "app"), "both are told");
}

/// P6: the owner, whom policies hold only under FORCE, and who may switch that off.
#[tokio::test]
async fn an_owner_by_any_path_is_fatal() {
    const NO_FORCE: &str = "alter table note no force row level security";
    const FORCE: &str = "alter table note force row level security";
    let wrong = |what, make, login, way, sees, codes, undo| Wrong { what, make, login, way, sees, codes, undo };
    let world = World::new().await;
    world
        .each_is_fatal(&[
            wrong("P6: the owner, without FORCE", NO_FORCE, Login::Owner, "", Some(5), &[Code::Ownership, Code::NotForced, Code::NotActive], FORCE),
            wrong("P6: an owner by membership, with FORCE", "create role {role} login; grant app, own to {role}", Login::Role, NO_FORCE, Some(5), &[Code::Ownership], "alter table note force row level security; drop role {role}"),
            wrong("the owner itself, with FORCE", "", Login::Owner, NO_FORCE, Some(5), &[Code::Ownership], FORCE),
            wrong("the owner adds a policy", "", Login::Owner, "create policy mine on note using (true)", Some(5), &[Code::Ownership], "drop policy mine on note"),
            wrong("a member, without FORCE: the membership is enough", "create role {role} login; grant app, own to {role}; alter table note no force row level security", Login::Role, "", Some(5), &[Code::Ownership, Code::NotForced, Code::NotActive], "alter table note force row level security; drop role {role}"),
            wrong("a member that does not inherit", "create role {role} login noinherit; grant app, own to {role}", Login::Role, "set role own; alter table note no force row level security", Some(5), &[Code::Ownership], "alter table note force row level security; drop role {role}"),
            wrong("a member of a member", "create role {role}_mid; grant own to {role}_mid; create role {role} login; grant app, {role}_mid to {role}", Login::Role, NO_FORCE, Some(5), &[Code::Ownership], "alter table note force row level security; drop role {role}; drop role {role}_mid"),
            wrong("the service owns the table", "alter table note owner to app", Login::App, NO_FORCE, Some(5), &[Code::Ownership], "alter table note force row level security; alter table note owner to own; grant select, insert, update, delete on note to app"),
            wrong("the service owns it by another role", "create role {role}; alter table note owner to {role}; grant {role} to app", Login::App, NO_FORCE, Some(5), &[Code::Ownership], "alter table note force row level security; alter table note owner to own; drop role {role}"),
            wrong("the owner of the schema, who drops the table and puts another in its place", "create role {role}; alter schema public owner to {role}; grant {role} to app", Login::App, "", None, &[Code::Ownership], "alter schema public owner to pg_database_owner; drop role {role}"),
            wrong("the owner of the database, who is the owner of the schema", "create role {role}; alter database {db} owner to {role}; grant {role} to app", Login::App, "", None, &[Code::Ownership], "alter database {db} owner to own; drop role {role}"),
            wrong("the owner of the database alone, where another owns the schema", "create role {role}; alter schema public owner to own; alter database {db} owner to {role}; grant {role} to app", Login::App, "", None, &[Code::Ownership], "alter database {db} owner to own; alter schema public owner to pg_database_owner; drop role {role}"),
        ])
        .await;
    // The path is told, and where to cut it.
    world
        .server
        .run(&world.named(
            "create role {role} login; create role {role}_mid; grant {role}_mid to {role}; grant own to {role}_mid",
        ))
        .await;
    let by_path = report(&world, world.login(Login::Role)).await;
    let owner = by_path.findings.iter().find(|f| f.code == Code::Ownership && f.object.contains("note")).unwrap();
    let path = world.named("\"own\" (by \"{role}\" -> \"{role}_mid\" -> \"own\")");
    assert!(owner.why.contains(&path), "{owner}");
    assert_eq!(owner.fix, world.named("REVOKE \"own\" FROM \"{role}_mid\";"));
    world.server.run(&world.named(DROP_BOTH)).await;
}
