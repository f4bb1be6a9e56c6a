//! What the database does beside what its catalog says, how much the inspection asks, and how it is written down.

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tenancy_pg::{
    Code, Declaration, Effect, InspectPolicy, PgOptions, RowKeyType, Severity, TenantTable, grant_sql, policy_sql,
};
use tenancy_testkit::APP;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};

use crate::common::World;
use crate::inspection::report;

/// Each of these shows rows to nobody's scope, and each is seen doing it; no rows, no proof.
#[tokio::test]
async fn probes_see_what_is_shown_and_prove_nothing_by_an_empty_table() {
    let world = World::bare().await;
    world.server.run("alter table note enable row level security; alter table note force row level security").await;
    let bound = "tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid";
    for (what, policy, sees) in [
        ("held", bound.to_owned(), false),
        ("open", "true".to_owned(), true),
        (
            "open without a tenant",
            format!("{bound} or coalesce(current_setting('tenancy.row_key', true), '') = ''"),
            true,
        ),
        ("open with one", "current_setting('tenancy.row_key', true) <> ''".to_owned(), true),
        (
            "a default tenant",
            "tenant_id = coalesce(nullif(current_setting('tenancy.row_key', true), '')::uuid, tenant_id)".to_owned(),
            true,
        ),
        ("some rows", format!("{bound} or id = 4"), true),
        ("others' rows", format!("({bound}) is not true"), true),
    ] {
        world.server.run(&format!("drop policy if exists p on note; create policy p on note using ({policy})")).await;
        let report = report(&world, world.server.app_options()).await;
        assert_eq!(report.has(Code::ProbeSawRows), sees, "{what}: {report}");
        assert_eq!(report.has(Code::PolicyUnbound), sees, "{what}: the verdict agrees: {report}");
        assert!(!report.has(Code::NotProven), "{what}: {report}");
    }

    // As the finding says.
    let broken = report(&world, world.server.app_options()).await;
    for finding in broken.findings.iter().filter(|f| matches!(f.code, Code::ProbeSawRows | Code::PolicyUnbound)) {
        world.server.run(&finding.fix).await;
    }
    assert_eq!(report(&world, world.server.app_options()).await.fatal().count(), 0);

    // Whatever makes a look impossible is said, and is not called fine.
    for (what, make, undo) in [
        ("no rows", "truncate note", "select 1"),
        (
            "a policy that fails",
            "create policy f on note as restrictive using (1 / (id - id) = 1)",
            "drop policy f on note",
        ),
        (
            "a policy that takes too long",
            "create policy f on note as restrictive using (pg_sleep(5) is null)",
            "drop policy f on note",
        ),
    ] {
        if what != "no rows" {
            world.server.run("insert into note values (9, gen_random_uuid(), '') on conflict do nothing").await;
            world.server.run("drop policy if exists tenancy_row_key on note").await;
            world.server.run("drop policy if exists p on note; create policy p on note using (true)").await;
        }
        world.server.run(make).await;
        let report = report(&world, world.server.app_options()).await;
        let unproven = report.findings.iter().find(|finding| finding.code == Code::NotProven);
        assert!(
            unproven.is_some_and(|f| f.object.contains("note") && f.severity == Severity::Warning),
            "{what}: {report}"
        );
        assert!(!report.has(Code::ProbeSawRows), "{what}: {report}");
        world.server.run(undo).await;
    }
}

/// Where one table's look fails, each is looked at alone: those beside it are judged by what they show.
#[tokio::test]
async fn a_table_that_fails_says_nothing_about_those_beside_it() {
    let world = World::new().await;
    let table = |name| TenantTable::new("public", name, "tenant_id", RowKeyType::Uuid).unwrap();
    let declaration = Declaration::builder().global_table("public", "country");
    let declaration =
        ["note", "held", "open", "ajar"].into_iter().fold(declaration, |all, name| all.tenant_table(table(name)));
    let declaration = declaration.build().unwrap();
    for name in ["held", "open", "ajar"] {
        world
            .server
            .run(&format!(
                "create table {name} (id int, tenant_id uuid not null, primary key (tenant_id, id));
                 insert into {name} values (1, gen_random_uuid())"
            ))
            .await;
    }
    world.server.run(&(policy_sql(&declaration) + &grant_sql(&declaration, APP))).await;
    world.server.run("create policy p on note using (true)").await;
    world.server.run("create policy f on note as restrictive using (1 / (id - id) = 1)").await;
    world
        .server
        .run("create policy everybody on open using (true); create policy everybody on ajar using (true)")
        .await;
    let options = PgOptions::new(world.server.app_options());
    let report = tenancy_pg::inspect(&options, &declaration, InspectPolicy::new()).await.unwrap();
    let of = |code| report.findings.iter().filter(move |finding| finding.code == code).map(|finding| &*finding.object);
    assert!(of(Code::NotProven).all(|object| object.contains("note")) && report.has(Code::NotProven), "{report}");
    let mut saw: Vec<_> = of(Code::ProbeSawRows).collect();
    saw.sort_unstable();
    assert_eq!(saw, [r#""public"."ajar""#, r#""public"."open""#], "each once: {report}");
}

/// The whole inspection is a fixed number of statements, however many tables there are: one more for each hundred, in
/// which the probes look.
#[tokio::test]
async fn three_hundred_tables_are_inspected_in_a_fixed_number_of_statements() {
    let world = World::new().await;
    let note = || TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid).unwrap();
    let one = Declaration::builder().tenant_table(note()).global_table("public", "country").build().unwrap();
    let mut builder = Declaration::builder().tenant_table(note()).global_table("public", "country");
    let mut make = String::new();
    for at in 0..299 {
        let name = format!("table_{at}");
        make += &format!(
            "create table {name} (id int, tenant_id uuid not null, primary key (tenant_id, id));
             insert into {name} values (1, gen_random_uuid());"
        );
        builder = builder.tenant_table(TenantTable::new("public", &name, "tenant_id", RowKeyType::Uuid).unwrap());
    }
    let many = builder.build().unwrap();
    let few = statements(&world, &one).await;
    world.server.run(&make).await;
    world.server.run(&(policy_sql(&many) + &grant_sql(&many, APP))).await;
    let more = statements(&world, &many).await;
    assert!(few > 10, "{few}");
    // Two probes of two further hundreds, each between a savepoint and its end.
    assert_eq!(more, few + 2 * 2 * 3, "{few}");
}

/// How many statements an inspection sends, counted on the wire.
async fn statements(world: &World, declaration: &Declaration) -> usize {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let options = PgConnectOptions::new_without_pgpass()
        .host("127.0.0.1")
        .port(listener.local_addr().unwrap().port())
        .username(APP)
        .database(world.server.name());
    let server = UnixStream::connect(world.server.socket().unwrap()).await.unwrap();
    let counting = tokio::spawn(async move {
        let (mut from_client, mut to_client) = listener.accept().await.unwrap().0.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
        // The first message has no kind; after it each is a kind and a length.
        let mut count = 0;
        let mut kind = None;
        while let Ok(length) = from_client.read_u32().await {
            let mut body = vec![0; usize::try_from(length).unwrap() - 4];
            from_client.read_exact(&mut body).await.unwrap();
            to_server.write_all(&Vec::from_iter(kind)).await.unwrap();
            to_server.write_u32(length).await.unwrap();
            to_server.write_all(&body).await.unwrap();
            count += usize::from(matches!(kind, Some(b'Q' | b'E')));
            match from_client.read_u8().await {
                Ok(next) => kind = Some(next),
                Err(_closed) => break,
            }
        }
        count
    });
    let options = PgOptions::new(options.ssl_mode(PgSslMode::Disable));
    let report = tenancy_pg::inspect(&options, declaration, InspectPolicy::new()).await.unwrap();
    assert_eq!(report.fatal().count(), 0, "{report}");
    assert!(!report.has(Code::NotProven), "{report}");
    counting.await.unwrap()
}

/// SARIF 2.1.0: what its schema requires of the parts that are used.
#[tokio::test]
async fn the_report_is_sarif() {
    let world = World::new().await;
    world.server.run("alter table note no force row level security").await;
    let report = report(&world, world.server.app_options()).await;
    let sarif = report.sarif();
    assert_eq!(sarif["version"], "2.1.0");
    assert!(sarif["$schema"].as_str().unwrap().ends_with("sarif-2.1.0.json"));
    let runs = sarif["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    let rules = runs[0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), Code::ALL.len());
    assert!(!runs[0]["tool"]["driver"]["name"].as_str().unwrap().is_empty());
    assert_eq!(runs[0]["invocations"][0]["executionSuccessful"], true);
    let results = runs[0]["results"].as_array().unwrap();
    assert_eq!(results.len(), report.findings.len());
    for (result, finding) in results.iter().zip(&report.findings) {
        assert_eq!(result["ruleId"], finding.code.as_str());
        let at = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[at]["id"], finding.code.as_str());
        let level = if finding.severity == Severity::Fatal { "error" } else { "warning" };
        assert_eq!(result["level"], level);
        assert!(result["message"]["text"].as_str().unwrap().contains(&finding.why));
        let location = &result["locations"][0]["logicalLocations"][0];
        assert_eq!(location["fullyQualifiedName"], finding.object.as_str());
        assert!(
            result["partialFingerprints"]["tenancyFinding/v1"].as_str().unwrap().starts_with(finding.code.as_str())
        );
    }
    assert!(results.iter().any(|result| result["level"] == "error" && result["ruleId"] == "PG010"));
}

/// A code means one thing for ever: the book lists every one, and the list is of the code.
#[test]
fn the_book_lists_every_code() {
    let effect = |effect| match effect {
        Effect::Crosses => "rows cross",
        Effect::MayCross => "rows may cross",
        Effect::Tells => "tells",
        Effect::Hygiene => "-",
        _unknown => "?",
    };
    let row = |code: &Code| {
        format!("| {} | `{code:?}` | {} | {} | {} |", code.as_str(), code.class(), effect(code.effect()), code.title())
    };
    let table: Vec<String> = Code::ALL.iter().map(row).collect();
    let book = include_str!("../../../docs/postgres/findings.md");
    let listed: Vec<&str> = book.lines().filter(|line| line.starts_with("| PG")).collect();
    assert_eq!(listed, table, "docs/postgres/findings.md should hold:\n{}", table.join("\n"));
    for (at, code) in Code::ALL.iter().enumerate() {
        assert_eq!(code.as_str(), format!("PG{:03}", at + 1), "no code is left out or used twice");
    }
}
