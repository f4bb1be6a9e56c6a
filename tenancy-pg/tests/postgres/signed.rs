//! The signed scope's construction: which seals the server takes, and what it says to the others.

use secrecy::ExposeSecret;
use tenancy_pg::{
    Declaration, RowKeyType, SigningKey, TenantTable, grant_sql, policy_sql, registrar_sql, retire_key_sql,
    signed_schema_sql, signing_key_sql,
};
use tenancy_testkit::{APP, CONTROL, OWNER, ThrowawayPostgres};

use crate::common::{ACME, GLOBEX};
use crate::sealed::{Nonce, Parts, Sealed, begin, hex, look, mac, parts_of_nonce, set};
use crate::wire::{Reply, Wire};

/// One refusal for everything: the same code, the same text, from the same line.
fn assert_refused(reply: &Reply, what: &str) {
    assert_eq!(reply.error.as_deref(), Some("28000"), "{what}: {} {:?}", reply.message, reply.rows);
    assert_eq!(reply.message, "tenant seal refused", "{what}");
    let line = reply.everything.contains("signed_row_key_") && reply.everything.contains(" at RAISE");
    assert!(line && reply.rows.is_empty(), "{what}: {}", reply.everything);
    assert!(!reply.everything.contains("SQL statement"), "{what}: {}", reply.everything);
}

#[tokio::test]
async fn a_seal_shows_its_tenants_rows_and_no_seal_shows_none() {
    let world = Sealed::new().await;
    let (mut acme, _) = world.begun("acme").await;
    let (mut globex, _) = world.begun("globex").await;
    assert_eq!(look(&mut acme).await.column(), ACME);
    assert_eq!(look(&mut globex).await.column(), GLOBEX);
    let planted = format!("insert into note values ('{}', 9, 'planted')", world.life("globex").uuid());
    assert_eq!(acme.query(&planted).await.error.as_deref(), Some("42501"));
    for end in ["commit", "rollback"] {
        globex.query(end).await;
        assert!(look(&mut globex).await.rows.is_empty());
        globex.run("begin").await;
        assert!(look(&mut globex).await.rows.is_empty());
    }
}

/// Every byte is under the MAC, is it, or names the key.
#[tokio::test]
async fn every_change_of_a_single_byte_is_refused() {
    let world = Sealed::new().await;
    let (mut wire, seal) = world.begun("acme").await;
    wire.run("savepoint s").await;
    for at in 0..seal.len() {
        for change in [1_u8, 2, 32] {
            let mut bytes = seal.clone().into_bytes();
            bytes[at] ^= change;
            let changed = String::from_utf8(bytes).unwrap();
            wire.run(&set(&changed)).await;
            assert_refused(&look(&mut wire).await, &changed);
            wire.run("rollback to s").await;
        }
    }
    for (what, changed) in [
        ("cut short by one", seal[..seal.len() - 1].to_owned()),
        ("the MAC alone", seal[..108].to_owned()),
        ("short", seal[..20].to_owned()),
        ("one character", "x".to_owned()),
        ("a space", " ".to_owned()),
        ("longer by one", format!("{seal}0")),
        ("a space after it", format!("{seal} ")),
        ("a space before it", format!(" {seal}")),
        ("in upper case", seal.to_uppercase()),
        ("twice", seal.repeat(2)),
        ("a megabyte", seal.repeat(7000)),
        ("characters of several bytes", format!("{}ä{}", &seal[..60], &seal[61..])),
        ("characters of several bytes at the end", format!("{seal}表")),
        ("nothing but those", "表".repeat(144)),
        ("backslashes", format!("{}\\000{}", &seal[..108], &seal[108..])),
        ("a quote", format!("{seal}'")),
    ] {
        wire.run(&set(&changed)).await;
        assert_refused(&look(&mut wire).await, what);
        wire.run("rollback to s").await;
    }
    assert_eq!(look(&mut wire).await.column(), ACME);
}

/// Each part that the MAC covers, exchanged for another with everything else right and the right key.
#[tokio::test]
async fn a_seal_over_anything_else_is_refused() {
    let world = Sealed::new().await;
    let mut wire = Wire::connect(&world.server).await;
    let nonce = begin(&mut wire).await;
    let acme = world.life("acme").uuid().to_string();
    let globex = world.life("globex").uuid().to_string();
    let right = Parts { row_key_type: "uuid", row_key: &acme, life: &acme, nonce: &nonce };
    wire.run(&set(&right.seal(&world.key))).await;
    assert_eq!(look(&mut wire).await.column(), ACME);
    let id = world.key.id().as_str();
    let with_mac = |fields: &[&str]| format!("{id}{acme}{}{acme}", hex(&mac(&world.key, fields)));
    let mut later = nonce.clone();
    later.replace_range(nonce.len() - 1.., if nonce.ends_with('0') { "1" } else { "0" });
    let never = "00000000-0000-4000-8000-000000000000";
    for (what, seal) in [
        ("another life of the registry", Parts { life: &globex, ..right }.seal(&world.key)),
        ("another row key of the registry", Parts { row_key: &globex, ..right }.seal(&world.key)),
        ("a tenant that is not in it", Parts { row_key: never, life: never, ..right }.seal(&world.key)),
        ("an empty row key", Parts { row_key: "", ..right }.seal(&world.key)),
        ("the row key in upper case", Parts { row_key: &acme.to_uppercase(), ..right }.seal(&world.key)),
        ("the text type", Parts { row_key_type: "text", ..right }.seal(&world.key)),
        ("the bigint type", Parts { row_key_type: "bigint", ..right }.seal(&world.key)),
        ("no type", Parts { row_key_type: "", ..right }.seal(&world.key)),
        ("a microsecond away", Parts { nonce: &later, ..right }.seal(&world.key)),
        ("no nonce", Parts { nonce: "", ..right }.seal(&world.key)),
        ("a key that was never there", right.seal(&SigningKey::generate())),
        ("another key under a known id", right.seal(&other_key_of_the_same_id(&world.key))),
        ("fields in another order", with_mac(&[id, "uuid", &nonce, &acme, &acme])),
        ("a field more", with_mac(&[id, "uuid", &acme, &acme, &nonce, ""])),
        ("a field less", with_mac(&[id, "uuid", &acme, &nonce])),
        ("two fields in one", with_mac(&[id, "uuid", &format!("{acme}{acme}"), &nonce])),
        ("no MAC", format!("{id}{acme}{}{acme}", "0".repeat(64))),
        ("the MAC in upper case", {
            let seal = right.seal(&world.key);
            format!("{}{}{acme}", &seal[..44], seal[44..108].to_uppercase())
        }),
    ] {
        wire.run("savepoint s").await;
        wire.run(&set(&seal)).await;
        assert_refused(&look(&mut wire).await, what);
        wire.run("rollback to s").await;
        assert_eq!(look(&mut wire).await.column(), ACME, "{what}: the savepoint brings the seal back");
    }
}

fn other_key_of_the_same_id(key: &SigningKey) -> SigningKey {
    SigningKey::parse(&format!("{}.{}", key.id(), "5a".repeat(32))).unwrap()
}

/// The seal of an open transaction is worth something there alone.
#[tokio::test]
async fn a_seal_is_worth_nothing_anywhere_else() {
    let world = Sealed::new().await;
    let elsewhere = ThrowawayPostgres::shared().await.fresh_database().await;
    world.furnish(&elsewhere).await;

    let (mut first, seal) = world.begun("globex").await;
    for (what, database) in [("another backend", &world.server), ("another database", &elsewhere)] {
        let mut second = Wire::connect(database).await;
        begin(&mut second).await;
        second.run(&set(&seal)).await;
        assert_refused(&look(&mut second).await, what);
        second.run("rollback").await;
        let nonce = begin(&mut second).await;
        second.run(&set(&world.seal("acme", &nonce))).await;
        assert_eq!(look(&mut second).await.column(), ACME, "{what}: a seal of its own");
    }
    for (what, next) in [
        ("COMMIT AND CHAIN", "commit and chain"),
        ("the next transaction", "commit; begin"),
        ("the next one in the same message", "commit; begin; select 1"),
        ("ROLLBACK AND CHAIN", "rollback and chain"),
        ("a message of its own", "commit"),
    ] {
        first.run(next).await;
        let both = format!("begin; {}; select body from public.note", set(&seal));
        assert_refused(&first.query(&both).await, what);
        first.run("rollback").await;
        let nonce = begin(&mut first).await;
        first.run(&set(&world.seal("globex", &nonce))).await;
        assert_eq!(look(&mut first).await.column(), GLOBEX, "{what}: a seal of its own");
    }
}

/// Each part of the nonce alone, everything else being right: no two of these differ in one part in practice.
#[tokio::test]
async fn each_part_of_the_nonce_counts() {
    let world = Sealed::new().await;
    let mut wire = Wire::connect(&world.server).await;
    let right = parts_of_nonce(&mut wire).await;
    let other = |part: &str| part.chars().rev().collect::<String>();
    for (what, nonce) in [
        ("another database", Nonce { database: hex(b"postgres"), ..right.clone() }),
        ("another backend", Nonce { backend: other(&right.backend), ..right.clone() }),
        ("another start", Nonce { start: other(&right.start), ..right.clone() }),
    ] {
        wire.run("savepoint s").await;
        wire.run(&set(&world.seal("globex", &nonce.text()))).await;
        assert_refused(&look(&mut wire).await, what);
        wire.run("rollback to s").await;
        wire.run(&set(&world.seal("globex", &right.text()))).await;
        assert_eq!(look(&mut wire).await.column(), GLOBEX, "{what}: the right one");
    }
}

/// Savepoints, parallel workers, prepared plans and functions all ask the one question anew.
#[tokio::test]
async fn the_row_key_is_asked_for_in_every_statement() {
    let world = Sealed::new().await;
    let (mut wire, seal) = world.begun("acme").await;
    for parallel in ["force_parallel_mode", "debug_parallel_query"] {
        let known = wire.query(&format!("select from pg_settings where name = '{parallel}'")).await.rows.len() == 1;
        if known {
            wire.run(&format!("set local {parallel} = on")).await;
        }
    }
    wire.run(
        "set local parallel_setup_cost = 0; set local parallel_tuple_cost = 0; \
         set local min_parallel_table_scan_size = 0; set local enable_indexscan = off; \
         set local enable_bitmapscan = off; set local enable_indexonlyscan = off",
    )
    .await;
    let plan = wire.run("explain (costs off) select body from public.note where body <> ''").await;
    assert!(plan.everything.contains("Gather") && plan.everything.contains("InitPlan"), "{}", plan.everything);
    let found = wire.run("select body from public.note where body <> '' order by id").await;
    assert_eq!(found.column(), ACME, "in workers");

    wire.run("prepare seen as select body from public.note order by id").await;
    for _ in 0..7 {
        assert_eq!(wire.run("execute seen").await.column(), ACME, "custom and generic plans");
    }
    wire.run("savepoint s; set local tenancy.seal = ''").await;
    assert!(wire.run("execute seen").await.rows.is_empty());
    wire.run(&set(&seal.replace(&world.life("acme").uuid().to_string(), &world.life("globex").uuid().to_string())))
        .await;
    assert_refused(&wire.query("execute seen").await, "a prepared plan under another seal");
    wire.run("rollback to s").await;
    assert_eq!(wire.run("execute seen").await.column(), ACME);
    wire.run("commit").await;
    assert!(wire.run("execute seen").await.rows.is_empty(), "after the transaction");
}

/// A fence and a retirement hold from the next statement on, in transactions that are open.
#[tokio::test]
async fn a_fenced_life_and_a_retired_key_are_refused_at_once() {
    let world = Sealed::new().await;
    let next = SigningKey::generate();
    world.server.run(signing_key_sql(&next).expose_secret()).await;
    world.server.run(&registrar_sql(CONTROL)).await;
    let (mut wire, seal) = world.begun("acme").await;
    wire.run("savepoint s").await;
    assert_eq!(look(&mut wire).await.column(), ACME);

    let live = |live: bool| {
        format!(
            "set role {CONTROL}; update tenancy.tenant set live = {live} where life = '{}'",
            world.life("acme").uuid()
        )
    };
    world.server.run(&live(false)).await;
    assert_refused(&look(&mut wire).await, "fenced");
    wire.run("rollback to s").await;
    let (mut globex, _) = world.begun("globex").await;
    assert_eq!(look(&mut globex).await.column(), GLOBEX, "only the fenced one is");
    world.server.run(&live(true)).await;
    assert_eq!(look(&mut wire).await.column(), ACME, "the fence was it");

    world.server.run(&retire_key_sql(world.key.id())).await;
    assert_refused(&look(&mut wire).await, "retired");
    wire.run("rollback").await;
    let nonce = begin(&mut wire).await;
    let life = world.life("acme").uuid().to_string();
    let parts = Parts { row_key_type: "uuid", row_key: &life, life: &life, nonce: &nonce };
    wire.run(&set(&parts.seal(&next))).await;
    assert_eq!(look(&mut wire).await.column(), ACME, "under the next key");
    assert_eq!(seal.len(), 8 + 36 + 64 + 36);
}

/// A text key and a number have the same digits; a seal over one is none over the other.
#[tokio::test]
async fn row_keys_of_other_types_and_odd_texts() {
    let server = ThrowawayPostgres::shared().await.fresh_database().await;
    let key = SigningKey::generate();
    let declared = |table: &str, row_key_type| {
        let table = TenantTable::new("public", table, "tenant", row_key_type).unwrap();
        Declaration::builder().tenant_table(table).signed().build().unwrap()
    };
    let texts = declared("texts", RowKeyType::Text);
    server.run(&signed_schema_sql(&texts, OWNER, &[APP])).await;
    server.run(signing_key_sql(&key).expose_secret()).await;
    let long = "k".repeat(128);
    let row_keys = ["5", "007", "größe-表", " 5", &long, "a'b\\c"];
    let life = |at: usize| format!("00000000-0000-4000-8000-00000000000{at}");
    let quote = |text: &str| format!("'{}'", text.replace('\'', "''"));
    for (at, row_key) in row_keys.iter().enumerate() {
        server.run(&format!("insert into tenancy.tenant values ({}, '{}')", quote(row_key), life(at))).await;
    }
    for (declaration, column) in [(&texts, "text"), (&declared("numbers", RowKeyType::BigInt), "bigint")] {
        server.run(&signed_schema_sql(declaration, OWNER, &[APP])).await;
        let table = declaration.tenant_tables()[0].table().to_owned();
        server.run_as_owner(&format!("create table {table} (tenant {column} not null)")).await;
        server.run_as_owner(&(policy_sql(declaration) + &grant_sql(declaration, APP))).await;
        let digits = "case when row_key ~ '^[0-9 ]+$' then row_key else '5' end";
        let row_key = if column == "text" { "row_key" } else { digits };
        server.run(&format!("insert into {table} select ({row_key})::{column} from tenancy.tenant")).await;
    }
    let mut wire = Wire::connect(&server).await;
    for (at, row_key) in row_keys.iter().enumerate() {
        for (made, table) in [("text", "texts"), ("text", "numbers"), ("bigint", "texts"), ("uuid", "texts")] {
            let nonce = begin(&mut wire).await;
            let seal = Parts { row_key_type: made, row_key, life: &life(at), nonce: &nonce }.seal(&key);
            wire.run(&set(&seal)).await;
            let reply = wire.query(&format!("select tenant from {table}")).await;
            if (made, table) == ("text", "texts") {
                assert_eq!(reply.column(), [*row_key]);
            } else {
                assert_refused(&reply, &format!("{row_key:?} made for {made} in {table}"));
            }
            wire.run("rollback").await;
        }
    }
}

/// A number is sealed in the one form in which the server writes it.
#[tokio::test]
async fn other_ways_to_write_a_number_are_refused() {
    let server = ThrowawayPostgres::shared().await.fresh_database().await;
    let key = SigningKey::generate();
    let table = TenantTable::new("public", "numbers", "tenant", RowKeyType::BigInt).unwrap();
    let declaration = Declaration::builder().tenant_table(table).signed().build().unwrap();
    server.run(&signed_schema_sql(&declaration, OWNER, &[APP])).await;
    server.run(signing_key_sql(&key).expose_secret()).await;
    server.run_as_owner("create table numbers (tenant bigint not null)").await;
    server.run_as_owner(&(policy_sql(&declaration) + &grant_sql(&declaration, APP))).await;
    let life = "00000000-0000-4000-8000-000000000007";
    server.run(&format!("insert into numbers values (7), (8); insert into tenancy.tenant values (7, '{life}')")).await;
    let mut wire = Wire::connect(&server).await;
    for row_key in ["7", "007", "+7", " 7", "7 ", "7.0", "0x7", "8", "-7", ""] {
        let nonce = begin(&mut wire).await;
        wire.run(&set(&Parts { row_key_type: "bigint", row_key, life, nonce: &nonce }.seal(&key))).await;
        let reply = wire.query("select tenant from numbers").await;
        if row_key == "7" {
            assert_eq!(reply.column(), ["7"]);
        } else {
            assert_refused(&reply, row_key);
        }
        wire.run("rollback").await;
    }
}

/// In a database of another encoding, with a name of its own letters, and with a client that speaks a third one.
#[tokio::test]
async fn encodings_change_nothing() {
    let shared = ThrowawayPostgres::shared().await;
    let world = Sealed::new().await;
    for encoding in ["LATIN1", "SQL_ASCII", "EUC_JP"] {
        let latin = shared.fresh_database().await;
        let renamed =
            format!("drop database {0}; create database {0} encoding '{encoding}' template template0", latin.name());
        for statement in renamed.split("; ") {
            world.server.run(statement).await;
        }
        latin.run(&format!("grant create on schema public to {OWNER}")).await;
        world.furnish(&latin).await;
        let mut wire = Wire::connect(&latin).await;
        let seal = world.begin(&mut wire, "acme").await;
        assert_eq!(look(&mut wire).await.column(), ACME, "{encoding}");
        for client in ["LATIN1", "UTF8", "SQL_ASCII"] {
            wire.run("savepoint s").await;
            if wire.query(&format!("set local client_encoding = '{client}'")).await.error.is_some() {
                // The server knows no conversion between the two.
                wire.run("rollback to s").await;
                continue;
            }
            assert_eq!(look(&mut wire).await.column(), ACME, "{encoding}, {client}");
            let odd = wire.query(&set(&format!("{seal}é"))).await;
            match odd.error.as_deref() {
                // The text itself can't be put into this database.
                Some(code) => assert!(code == "22P05" || code == "22021", "{encoding}, {client}: {code}"),
                None => assert_refused(&look(&mut wire).await, &format!("{encoding}, {client}")),
            }
            wire.run("rollback to s").await;
        }
        wire.run("rollback").await;
    }
}
