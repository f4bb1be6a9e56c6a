//! The role that reads reports: what it may have, what the inspection says of everything else, and what mends it.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tenancy_core::Reach;
use tenancy_pg::{Code, Finding, InspectPolicy, Migration, PgError, PgOptions, Severity};
use tenancy_testkit::APP;

use crate::common::plain_role;
use crate::reports::{ALL, ROLE, Reporting, ids};

async fn found(world: &Reporting, options: PgOptions) -> Vec<Finding> {
    let policy = InspectPolicy::new().hardening(Severity::Warning);
    tenancy_pg::inspect(&options, &world.declaration, policy).await.unwrap().findings
}

fn fatal(findings: &[Finding]) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.severity == Severity::Fatal).collect()
}

/// The one line that breaks it, what is found, and the same after the finding's own SQL was run. Everything here is in the
/// database and not about the role itself, which other tests use too.
#[tokio::test]
async fn one_right_too_many_stops_the_start_and_the_finding_mends_it() {
    for world in [Reporting::plain().await, Reporting::signed().await] {
        let name = world.server.name();
        assert_eq!(fatal(&found(&world, world.options()).await), [] as [&Finding; 0], "as generated");
        for (broken, code) in [
            ("grant select (body) on note to reports", Code::ReportRight),
            ("grant select on note to reports", Code::ReportRight),
            ("grant select (ctid) on note to reports", Code::ReportRight),
            ("grant insert on note to reports", Code::ReportRight),
            ("grant update (id) on note to reports", Code::ReportRight),
            ("grant delete on note to reports", Code::ReportRight),
            ("grant select on draft to reports", Code::ReportRight),
            ("grant select (id) on draft to reports", Code::ReportRight),
            ("grant select on country to public", Code::ReportRight),
            ("create sequence seq; grant usage on sequence seq to reports", Code::ReportRight),
            ("create materialized view m as select 1 as x; grant select on m to reports", Code::ReportRight),
            ("create table plain (x int); grant select (x) on plain to reports", Code::ReportRight),
            ("grant truncate on note to reports", Code::TableRight),
            ("grant create on schema public to reports", Code::CreateRight),
            (&format!("alter role reports in database {name} set tenancy.reach = 'every'"), Code::DefaultSetting),
            ("drop policy tenancy_report on note", Code::PolicyMissing),
            ("alter policy tenancy_report on note using (true)", Code::PolicyUnbound),
            ("alter policy tenancy_report on note using (current_setting('x.y', true) = 'on')", Code::PolicyUnbound),
            ("create policy more on note for select to reports using (id > 0)", Code::PolicyUnbound),
            ("alter table note disable row level security", Code::RlsDisabled),
            ("alter table note owner to reports", Code::Ownership),
            ("alter view note_ids reset (security_invoker)", Code::ReportRelation),
        ] {
            world.server.run(broken).await;
            let after = found(&world, world.options()).await;
            let stops = fatal(&after);
            assert!(stops.iter().any(|finding| finding.code == code), "{broken}: {stops:#?}");
            let refused = world.open_with(world.options()).await.unwrap_err();
            assert!(matches!(refused, PgError::Inspection(_)), "{broken}: {refused:?}");
            for finding in stops {
                assert_eq!(finding.why.matches(". ").count(), 1, "two sentences: {finding}");
                world.server.run(&finding.fix).await;
            }
            let mended = found(&world, world.options()).await;
            assert_eq!(fatal(&mended), [] as [&Finding; 0], "{broken}: mended");
            world.open_with(world.options()).await.unwrap();
        }
    }
}

/// A login that is more than a reader. Each case has a role of its own: roles are the server's.
#[tokio::test]
async fn a_role_that_is_more_or_not_its_own_is_refused() {
    let world = Reporting::plain().await;
    let service = || PgOptions::new(world.server.app_options());
    for (role, more, code) in [
        ("reports_plain", "", None),
        ("reports_super", "alter role reports_super superuser", Some(Code::Superuser)),
        ("reports_bypass", "alter role reports_bypass bypassrls", Some(Code::BypassRls)),
        ("reports_maker", "alter role reports_maker createrole", Some(Code::RoleAttribute)),
        ("reports_streams", "alter role reports_streams replication", Some(Code::RoleAttribute)),
        ("reports_files", "grant pg_read_server_files to reports_files", Some(Code::PredefinedRole)),
        ("reports_owner", "grant own to reports_owner", Some(Code::Ownership)),
        ("reports_member", "grant app to reports_member", Some(Code::ReportRole)),
        ("reports_idle", "alter role reports_idle noinherit; grant app to reports_idle", Some(Code::ReportRole)),
        (
            "reports_facade",
            "grant app to reports_facade; alter role reports_facade set role app",
            Some(Code::RoleFacade),
        ),
        ("app", "", Some(Code::ReportRole)),
    ] {
        let options = plain_role(&world.server, role).await;
        world.server.run(more).await;
        if role != APP {
            let roles = Reporting::roles().report(role);
            world.server.run_as_owner(&Migration::of(&world.declaration, &roles).unwrap().up()).await;
        }
        let after = found(&world, service().reports(options.clone())).await;
        let stops = fatal(&after);
        match code {
            None => assert_eq!(stops, [] as [&Finding; 0], "{role}"),
            Some(code) => assert!(stops.iter().any(|finding| finding.code == code), "{role}: {stops:#?}"),
        }
        assert_eq!(world.open_with(service().reports(options)).await.is_ok(), code.is_none(), "{role}");
        if role != APP {
            let undo = format!(
                "alter role {role} nosuperuser nobypassrls nocreaterole noreplication;
                 revoke app, own, pg_read_server_files from {role}"
            );
            world.server.run(&undo).await;
        }
    }
    // The other way round: a service that can become the role.
    let becomes = plain_role(&world.server, "reports_service").await;
    world.server.run("grant app to reports_service").await;
    let options = PgOptions::new(becomes).reports(plain_role(&world.server, "reports_plain").await);
    world
        .server
        .run_as_owner(&Migration::of(&world.declaration, &Reporting::roles().report("reports_plain")).unwrap().up())
        .await;
    assert_eq!(fatal(&found(&world, options.clone()).await), [] as [&Finding; 0]);
    world.server.run("grant reports_plain to reports_service").await;
    let after = found(&world, options).await;
    assert!(fatal(&after).iter().any(|finding| finding.code == Code::ReportRole), "{after:#?}");
    world.server.run("revoke reports_plain from reports_service").await;
}

/// Somebody answers for a function to the service, and to no report.
#[tokio::test]
async fn no_function_of_its_owner_is_within_a_reports_reach() {
    let mut world = Reporting::plain().await;
    let peek = "create function peek() returns bigint language sql security definer
                set search_path = pg_catalog, pg_temp as 'select count(*) from public.draft'";
    world.server.run_as_owner(peek).await;
    let table = |name| tenancy_pg::TenantTable::new("public", name, "tenant_id", tenancy_pg::RowKeyType::Uuid).unwrap();
    world.declaration = tenancy_pg::Declaration::builder()
        .tenant_table(table("note"))
        .tenant_table(table("draft"))
        .global_table("public", "country")
        .report("public", "note", ["tenant_id", "id"])
        .report("public", "note_ids", ["id"])
        .trusted_function("public", "peek()", "counts the scope's own drafts")
        .build()
        .unwrap();
    let codes = |findings: &[Finding]| fatal(findings).iter().map(|finding| finding.code).collect::<Vec<_>>();
    assert_eq!(codes(&found(&world, world.options()).await), [Code::DefinerFunction]);
    let service = PgOptions::new(world.server.app_options());
    assert_eq!(codes(&found(&world, service).await), [], "the service's own role may");
    world.server.run("revoke execute on function peek() from public; grant execute on function peek() to app").await;
    assert_eq!(codes(&found(&world, world.options()).await), []);
}

/// A floor that somebody laid under everybody makes counts over every tenant zero.
#[tokio::test]
async fn a_reach_that_has_no_effect_is_found() {
    let world = Reporting::plain().await;
    let floor = "create policy floor on note as restrictive using
                 (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid)";
    world.server.run(floor).await;
    let after = found(&world, world.options()).await;
    assert!(fatal(&after).iter().any(|finding| finding.code == Code::PolicyMissing), "{after:#?}");
}

/// What is found later ends what is in hand, until it is mended.
#[tokio::test]
async fn a_later_look_stops_reports_in_hand() {
    let world = Reporting::plain().await;
    let database = world.open().await;
    let every = world.grant(Reach::Every).await;
    let reports = database.across(&every).await.unwrap();
    world.server.run("grant select (body) on note to reports").await;
    assert!(matches!(database.reinspect().await, Err(PgError::Inspection(_))));
    assert!(matches!(database.across(&every).await, Err(PgError::Inspection(_))));
    assert!(matches!(reports.read().await, Err(PgError::Inspection(_))));
    let refused = sqlx::query("select body from note").fetch_all(&reports).await.unwrap_err();
    assert!(matches!(PgError::from(refused), PgError::Inspection(_)));
    world.server.run("revoke select (body) on note from reports").await;
    database.reinspect().await.unwrap();
    assert_eq!(ids(&reports).await, ALL);
}

/// The generator brings rights and policies to the declaration, and takes them back to what they were.
#[tokio::test]
async fn a_migration_brings_the_role_to_its_reports() {
    for world in [Reporting::plain().await, Reporting::signed().await] {
        let diff = async || {
            Migration::diff(world.server.owner_options(), &world.declaration, &Reporting::roles()).await.unwrap()
        };
        assert!(diff().await.is_empty(), "{}", diff().await.up());
        for broken in [
            "grant select on note to reports",
            "grant select (body), update (id) on note to reports with grant option",
            "revoke select (id) on note from reports",
            "grant select, insert on draft to reports",
            "create sequence own.seq; grant usage on sequence own.seq to reports",
            "alter policy tenancy_report on note using (true)",
            "drop policy tenancy_report on note",
        ] {
            world
                .server
                .run(&format!("create schema if not exists own authorization {}", tenancy_testkit::OWNER))
                .await;
            world.server.run(&format!("set role {}; {broken}", tenancy_testkit::OWNER)).await;
            let before = rights(&world).await;
            let migration = diff().await;
            assert!(!migration.is_empty(), "{broken}");
            world.server.run_as_owner(&migration.up()).await;
            assert!(diff().await.is_empty(), "{broken}: {}", diff().await.up());
            assert_eq!(fatal(&found(&world, world.options()).await), [] as [&Finding; 0], "{broken}");
            let mended = rights(&world).await;
            world.server.run_as_owner(&migration.down()).await;
            assert_eq!(rights(&world).await, before, "{broken}: taken back");
            world.server.run_as_owner(&migration.up()).await;
            assert_eq!(rights(&world).await, mended, "{broken}: again");
        }
    }
}

/// What the role was granted, and the policies that are for it.
async fn rights(world: &Reporting) -> Vec<String> {
    let mut connection = PgConnection::connect_with(&world.server.superuser_options()).await.unwrap();
    let sql = format!(
        "select distinct format('%s %s %s %s', c.relname, a.privilege_type, a.is_grantable, '') from pg_class c, aclexplode(c.relacl) a
         where a.grantee = '{ROLE}'::regrole
         union select format('%s %s %s %s', c.relname, a.privilege_type, a.is_grantable, t.attname)
         from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a where a.grantee = '{ROLE}'::regrole
         union select format('%s %s', tablename, qual) from pg_policies where '{ROLE}' = any(roles) order by 1"
    );
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap()
}
