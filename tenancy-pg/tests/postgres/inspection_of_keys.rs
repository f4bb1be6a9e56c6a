//! Comparisons that the server makes past every policy, or that hold two tenants for one.

use tenancy_pg::{Code, Database, Declaration, Finding, InspectPolicy, PgOptions, RowKeyType, TenantTable, policy_sql};

use crate::common::{World, scalar};

async fn findings(world: &World, declaration: &Declaration, code: Code) -> Vec<Finding> {
    let options = PgOptions::new(world.server.app_options());
    let database = Database::connect(world.tenants.realm(), options).await.unwrap();
    let report = database.report(declaration, InspectPolicy::new()).await.unwrap();
    report.findings.into_iter().filter(|finding| finding.code == code).collect()
}

fn tables(names: &[&str], key: RowKeyType) -> Declaration {
    names
        .iter()
        .map(|name| TenantTable::new("public", name, "tenant_id", key).unwrap())
        .fold(Declaration::builder(), |builder, table| builder.tenant_table(table))
        .global_table("public", "country")
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_collation_that_holds_two_keys_for_one_is_fatal() {
    let world = World::new().await;
    let declaration = tables(&["paper"], RowKeyType::Text);
    // Some builds of the server are without ICU; from 16 on they list one collation of it all the same.
    let icu = "select count(*) from pg_collation where collprovider = 'i' and collname <> 'unicode'";
    let has_icu = scalar(&world.server.superuser_options(), icu).await > 0;
    for (what, collation, fatal) in [
        ("case", "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)", true),
        ("case and accents", "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)", true),
        ("equivalent code points", "(provider = icu, locale = 'und', deterministic = false)", true),
        ("punctuation", "(provider = icu, locale = 'und-u-ka-shifted', deterministic = false)", true),
        ("a language's own", "(provider = icu, locale = 'de-u-ks-level2', deterministic = false)", true),
        ("ordered by ICU", "(provider = icu, locale = 'und')", false),
        ("ordered so that case does not count", "(provider = icu, locale = 'und-u-ks-level2')", false),
        ("the server's plain one", "(provider = libc, locale = 'C')", false),
    ] {
        if collation.contains("icu") && !has_icu {
            continue;
        }
        let make = format!("create collation c {collation}; create table paper (tenant_id text collate c not null);");
        world.server.run_as_owner(&(make + &policy_sql(&declaration))).await;
        let found = findings(&world, &declaration, Code::TenantColumn).await;
        assert_eq!(found.len(), usize::from(fatal), "{what}: {found:?}");
        for finding in &found {
            world.server.run_as_owner(&finding.fix).await;
        }
        assert_eq!(findings(&world, &declaration, Code::TenantColumn).await, [], "{what}: mended");
        world.server.run_as_owner("drop table paper; drop collation c").await;
    }
}

#[tokio::test]
async fn a_foreign_key_between_tenants_is_fatal_until_it_pairs_their_columns() {
    let world = World::new().await;
    world
        .server
        .run_as_owner(
            "create table parent (id int primary key, tenant_id uuid not null, other uuid, n int,
                                  unique (tenant_id, id), unique (id, n), unique (id, other));
             create table child (id int primary key, tenant_id uuid not null, parent_id int, n int, other uuid,
                                 code text, unique (tenant_id, id));
             create table parts (tenant_id uuid not null, parent_id int) partition by hash (tenant_id);
             create table parts_0 partition of parts for values with (modulus 1, remainder 0);",
        )
        .await;
    let declaration = tables(&["parent", "child", "parts"], RowKeyType::Uuid);
    for (what, table, key, fatal) in [
        ("one column", "child", "(parent_id) references parent (id)", true),
        ("with cascades", "child", "(parent_id) references parent on delete cascade on update cascade", true),
        ("checked at the commit", "child", "(parent_id) references parent deferrable initially deferred", true),
        ("not validated", "child", "(parent_id) references parent not valid", true),
        ("to itself", "child", "(parent_id) references child (id)", true),
        ("two columns, the tenant not among them", "child", "(parent_id, n) references parent (id, n)", true),
        (
            "the tenant here and another column there",
            "child",
            "(parent_id, tenant_id) references parent (id, other)",
            true,
        ),
        (
            "another column here and the tenant there",
            "child",
            "(parent_id, other) references parent (id, tenant_id)",
            true,
        ),
        ("of a partitioned table", "parts", "(parent_id) references parent", true),
        ("both", "child", "(tenant_id, parent_id) references parent (tenant_id, id)", false),
        ("both, the other way round", "child", "(parent_id, tenant_id) references parent (id, tenant_id)", false),
        ("to itself, with both", "child", "(tenant_id, parent_id) references child (tenant_id, id)", false),
        ("to a global table", "child", "(code) references country", false),
    ] {
        let add = format!("alter table {table} add constraint \"Its Key\" foreign key {key}");
        world.server.run_as_owner(&add).await;
        let found = findings(&world, &declaration, Code::ForeignKey).await;
        assert_eq!(found.len(), usize::from(fatal), "{what}: {found:?}");
        for finding in &found {
            assert_eq!(finding.object, format!("\"Its Key\" ON \"public\".\"{table}\""), "{what}");
            world.server.run_as_owner(&finding.fix).await;
        }
        assert_eq!(findings(&world, &declaration, Code::ForeignKey).await, [], "{what}: mended");
        world.server.run_as_owner(&format!("alter table {table} drop constraint \"Its Key\"")).await;
    }
}

/// P12 and relatives.
#[tokio::test]
async fn a_unique_index_without_the_tenant_is_a_warning() {
    let world = World::new().await;
    world.server.run("delete from note; alter table note drop constraint note_pkey").await;
    for (what, index, found) in [
        ("a column", "note (slug)", true),
        ("an expression", "note (lower(slug))", true),
        ("a part of the rows", "note (slug) where id > 3", true),
        ("the tenant only carried along", "note (slug) include (tenant_id)", true),
        ("two columns", "note (slug, body)", true),
        ("the tenant first", "note (tenant_id, slug)", false),
        ("the tenant last", "note (slug, tenant_id)", false),
        ("of a global table", "country (lower(code))", false),
    ] {
        world.server.run_as_owner(&format!("create unique index its_index on {index}")).await;
        let warnings = findings(&world, &world.declaration, Code::UniqueIndex).await;
        world.server.run_as_owner("drop index its_index").await;
        assert_eq!(warnings.len(), usize::from(found), "{what}: {warnings:?}");
        assert!(warnings.iter().all(|w| w.object == "\"its_index\" ON \"public\".\"note\""), "{what}");
    }
    world.server.run_as_owner("alter table note add primary key (id)").await;
    let key = findings(&world, &world.declaration, Code::UniqueIndex).await;
    assert_eq!(key.len(), 1);
    world.open().await;
}

/// What a mend would make is made once.
#[tokio::test]
async fn a_unique_key_is_not_led_by_the_tenant_twice() {
    let world = World::new().await;
    for (what, keys, drops_only) in [
        ("a primary key", "primary key (tenant_id, id), constraint u unique (id)", true),
        ("in another order", "unique (id, tenant_id), constraint u unique (id)", true),
        ("of several", "unique (tenant_id, id, slug), constraint u unique (slug, id)", true),
        ("of more", "unique (tenant_id, id, slug), constraint u unique (id)", false),
        ("of others", "unique (tenant_id, slug), constraint u unique (id)", false),
        ("an index", "primary key (tenant_id, id)); create unique index u on paper (id", true),
        (
            "of some rows",
            "id2 int); create unique index on paper (tenant_id, id) where id > 0; create unique index u on paper (id",
            false,
        ),
        ("of an expression", "primary key (tenant_id, id)); create unique index u on paper ((id + 1)", false),
    ] {
        let declaration = tables(&["paper"], RowKeyType::Uuid);
        let make = format!("create table paper (tenant_id uuid not null, id int not null, slug text, {keys});");
        world.server.run_as_owner(&(make + &policy_sql(&declaration))).await;
        let found = findings(&world, &declaration, Code::UniqueIndex).await;
        assert_eq!(found.len(), 1, "{what}: {found:?}");
        let makes = ["ADD CONSTRAINT", "CREATE"].iter().any(|word| found[0].fix.contains(word));
        assert_eq!(makes, !drops_only, "{what}: {}", found[0].fix);
        world.server.run_as_owner(&found[0].fix).await;
        assert_eq!(findings(&world, &declaration, Code::UniqueIndex).await, [], "{what}: mended");
        world.server.run_as_owner("drop table paper").await;
    }
}
