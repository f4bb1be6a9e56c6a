//! What is beneath the tables, and what reaches a tenant table by way of another: a parent, a chain of keys, a copy.

use tenancy_pg::{Code, Severity};
use tenancy_testkit::APP;

use crate::common::{World, scalar};
use crate::inspection::report;
use crate::inspection_of_objects::each_mends_itself;

/// Predefined roles and grants below the policies.
#[tokio::test]
async fn what_the_server_keeps_beneath_the_tables_is_found() {
    let world = World::new().await;
    let toast = |change: &str| {
        format!(
            "do $$ begin execute (select format('{change}', reltoastrelid::regclass) from pg_class where oid = 'note'::regclass); end $$"
        )
    };
    let granted = toast("grant select on %s to app");
    let of_role = "alter role app noinherit; create role {role}; grant {role} to app";
    let undo_role = "drop owned by {role}; drop role {role}; alter role app inherit";
    each_mends_itself(
        &world,
        &[
            ("samples of each column", "grant select on pg_statistic to app", Code::BeneathTables, Severity::Fatal, ""),
            (
                "one column of them, through PUBLIC",
                "grant select (stavalues1) on pg_statistic to public",
                Code::BeneathTables,
                Severity::Fatal,
                "",
            ),
            (
                "samples of several columns",
                "grant select on pg_statistic_ext_data to app",
                Code::BeneathTables,
                Severity::Fatal,
                "",
            ),
            (
                "large objects past their rights",
                "grant select on pg_largeobject to app",
                Code::BeneathTables,
                Severity::Fatal,
                "",
            ),
            (
                "passwords",
                &format!("{of_role}; grant select on pg_authid to {{role}}"),
                Code::BeneathTables,
                Severity::Fatal,
                undo_role,
            ),
            (
                "long values",
                &format!("{granted}; grant usage on schema pg_toast to app"),
                Code::BeneathTables,
                Severity::Fatal,
                "revoke usage on schema pg_toast from app",
            ),
            (
                "files",
                "grant execute on function pg_read_binary_file(text) to app",
                Code::BeneathTables,
                Severity::Fatal,
                "",
            ),
            (
                "files, by a role between",
                &format!("{of_role}; grant execute on function pg_read_file(text, bigint, bigint) to {{role}}"),
                Code::BeneathTables,
                Severity::Fatal,
                undo_role,
            ),
            ("all of it", "grant pg_read_all_data to app", Code::PredefinedRole, Severity::Fatal, ""),
            (
                "all of it, for a role that app can become",
                &format!("{of_role}; grant pg_read_all_data to {{role}}"),
                Code::PredefinedRole,
                Severity::Fatal,
                "drop role {role}; alter role app inherit",
            ),
        ],
    )
    .await;

    // In the flesh: values too long for their row, none of which the policy shows.
    let long = "update note set body = (select string_agg(gen_random_uuid()::text, '') from generate_series(1, 300))";
    world.server.run(&format!("{long}; analyze note; grant pg_read_all_data to {APP}")).await;
    let app = world.server.app_options();
    assert_eq!(scalar(&app, "select count(*) from note").await, 0);
    assert!(scalar(&app, &toast_sql(&world).await).await >= 5);
    assert!(scalar(&app, "select count(*) from pg_statistic where starelid = 'note'::regclass").await > 0);
    world.server.run(&format!("revoke pg_read_all_data from {APP}")).await;
    assert_eq!(report(&world, app).await.fatal().count(), 0);
}

/// Counts the chunks beneath the table.
async fn toast_sql(world: &World) -> String {
    let table = scalar(&world.server.superuser_options(), "select 'note'::regclass::oid::bigint").await;
    format!("select count(*) from pg_toast.pg_toast_{table}")
}
