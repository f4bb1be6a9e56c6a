//! Paths and links: T1, T2 and their relatives.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::house::{House, SECRET, names, scaled};
use serde_json::json;
use tenancy_core::{Denial, Face, Outcome};
use tenancy_tools::{EntryKind, FilesError, TenantTools, ToolsError};

/// What an attempt must come to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    OutOfReach,
    NotVisible,
    Invalid,
    NotAFile,
}

fn kind(error: &FilesError) -> Expected {
    match error {
        FilesError::Denied(Denial::OutOfReach) => Expected::OutOfReach,
        FilesError::Denied(Denial::NotVisible) => Expected::NotVisible,
        FilesError::InvalidPath => Expected::Invalid,
        FilesError::NotAFile => Expected::NotAFile,
        other => panic!("unexpected: {other:?}"),
    }
}

/// Reads and stats the path as acme, and checks the outcome, the record, and that nothing of the host or of globex shows.
async fn attempt(house: &House, path: &str, expected: Expected, mechanism: &str) {
    let files = house.acme.files();
    for (verb, error) in
        [("files.read", files.read(path).await.map(drop)), ("files.stat", files.stat(path).await.map(drop))]
    {
        let error = error.expect_err(mechanism);
        assert_eq!(kind(&error), expected, "{mechanism}: {verb}");
        let shown = format!("{error} {error:?}");
        for part in ["root", "secret", "globex", "tmp", SECRET] {
            assert!(!shown.contains(part), "{mechanism}: {shown}");
        }
        let last = house.outcomes(verb).await.pop().unwrap();
        let on_record = match expected {
            Expected::OutOfReach => (Outcome::Denied, Some("scope.out_of_reach".to_owned())),
            Expected::NotVisible => (Outcome::Denied, Some("scope.not_visible".to_owned())),
            Expected::Invalid | Expected::NotAFile => (Outcome::Failed, None),
        };
        assert_eq!(last, on_record, "{mechanism}: {verb}");
    }
}

#[tokio::test]
async fn t1_a_path_does_not_leave_the_tenants_directory() {
    let house = House::new().await;
    let (acme, globex) = (house.acme_home(), house.globex_home());
    let sibling = globex.file_name().unwrap().to_str().unwrap().to_owned();
    // A sibling whose name begins with ours: what a comparison of prefixes lets through.
    let evil = acme.with_file_name(format!("{}-evil", acme.file_name().unwrap().to_str().unwrap()));
    std::fs::create_dir(&evil).unwrap();
    std::fs::write(evil.join("secret.txt"), SECRET).unwrap();
    let evil = evil.file_name().unwrap().to_str().unwrap().to_owned();
    std::fs::create_dir(acme.join("a")).unwrap();

    use Expected::{Invalid, NotVisible, OutOfReach};
    for (path, expected, mechanism) in [
        (format!("../{evil}/secret.txt"), OutOfReach, "sibling with our name as its prefix"),
        (format!("a/../../{evil}/secret.txt"), OutOfReach, "climbing through a folder that exists"),
        (format!("no/../../{evil}/secret.txt"), OutOfReach, "climbing through a folder that does not"),
        (format!("{}/secret.txt", globex.display()), OutOfReach, "absolute"),
        (format!("/{sibling}/secret.txt"), OutOfReach, "absolute as if the root were ours"),
        (format!("//{sibling}/secret.txt"), OutOfReach, "two slashes"),
        (format!("./../{sibling}/secret.txt"), OutOfReach, "dot first"),
        (format!("a/.././../{sibling}/secret.txt"), OutOfReach, "dots mixed"),
        (format!("a//..//..//{sibling}/secret.txt"), OutOfReach, "empty names between"),
        (format!("{}/own.txt", acme.display()), OutOfReach, "our own file by its absolute path"),
        ("..".to_owned(), OutOfReach, "the root of all"),
        ("/proc/self/root/etc/hostname".to_owned(), OutOfReach, "magic link, absolute"),
        (format!("%2e%2e/{sibling}/secret.txt"), NotVisible, "encoded dots are a name"),
        (format!("..%2f{sibling}%2fsecret.txt"), NotVisible, "encoded slash is a name"),
        (format!("%252e%252e/{sibling}/secret.txt"), NotVisible, "encoded twice"),
        (format!("..\\{sibling}\\secret.txt"), NotVisible, "a backslash is a letter"),
        (format!("\u{ff0e}\u{ff0e}/{sibling}/secret.txt"), NotVisible, "full-width dots are a name"),
        (format!("..\u{2215}{sibling}\u{2215}secret.txt"), NotVisible, "division slash is a letter"),
        (format!("file:../{sibling}/secret.txt"), NotVisible, "a scheme is part of a name"),
        (format!("file://../../{sibling}/secret.txt"), OutOfReach, "a scheme is a name, and climbing counts"),
        ("OWN.TXT".to_owned(), NotVisible, "case alias"),
        ("own.txt.".to_owned(), NotVisible, "trailing dot"),
        ("own.txt ".to_owned(), NotVisible, "trailing space"),
        ("~/own.txt".to_owned(), NotVisible, "home is a name"),
        (format!("own.txt\0/../../{sibling}/secret.txt"), Invalid, "NUL byte"),
        (String::new(), Invalid, "empty"),
        ("x".repeat(256), Invalid, "a name longer than the system takes"),
        ("d/".repeat(4000), Invalid, "a path longer than the system takes"),
    ] {
        attempt(&house, &path, expected, mechanism).await;
    }

    assert_eq!(house.acme.files().read("own.txt").await.unwrap(), b"acme's own");
    assert_eq!(house.acme.files().read("a/../own.txt").await.unwrap(), b"acme's own");
    assert_eq!(house.globex.files().read("secret.txt").await.unwrap(), SECRET.as_bytes());
}

#[tokio::test]
async fn composed_and_decomposed_names_are_two_names_of_one_tenant() {
    let house = House::new().await;
    house.acme.files().write("caf\u{e9}", "composed").await.unwrap();
    assert!(matches!(house.acme.files().read("cafe\u{301}").await, Err(FilesError::Denied(Denial::NotVisible))));
    assert_eq!(house.acme.files().read("caf\u{e9}").await.unwrap(), b"composed");
}

#[tokio::test]
async fn outside_is_answered_alike_whether_or_not_it_exists() {
    let house = House::new().await;
    let sibling = house.globex_home().file_name().unwrap().to_str().unwrap().to_owned();
    let there = house.acme.files().read(&format!("../{sibling}/secret.txt")).await.unwrap_err();
    let not_there = house.acme.files().read(&format!("../{sibling}/never.txt")).await.unwrap_err();
    let missing = house.acme.files().read("never.txt").await.unwrap_err();
    assert_eq!(format!("{there:?} {there}"), format!("{not_there:?} {not_there}"));
    assert_eq!([there.face(), not_there.face(), missing.face()], [Face::NotFound; 3]);
}

#[tokio::test]
async fn t2_links_do_not_lead_out() {
    let house = House::new().await;
    let (acme, globex) = (house.acme_home(), house.globex_home());
    let sibling = globex.file_name().unwrap().to_str().unwrap().to_owned();
    let link = |target: &str, name: &str| symlink(target, acme.join(name)).unwrap();
    link(&format!("../{sibling}"), "relative_dir");
    link(globex.to_str().unwrap(), "absolute_dir");
    link(&format!("../{sibling}/secret.txt"), "relative_file");
    link(globex.join("secret.txt").to_str().unwrap(), "absolute_file");
    link("relative_dir", "chain");
    link("chain", "longer_chain");
    link(&format!("../{sibling}/never"), "dangling_outside");
    link("never", "dangling_inside");
    link("ring", "ring");
    link("/proc/self/root", "magic");
    link("/proc/self/cwd", "magic_cwd");
    link("..", "up");
    link(acme.join("own.txt").to_str().unwrap(), "absolute_to_our_own");
    std::fs::create_dir_all(acme.join("deep/er")).unwrap();
    link(&format!("../../../{sibling}"), "deep/er/link");
    std::fs::hard_link(globex.join("secret.txt"), acme.join("hard")).unwrap();
    link("hard", "link_to_hard");
    assert!(Command::new("mkfifo").arg(acme.join("pipe")).status().unwrap().success());
    link("pipe", "link_to_pipe");
    let _socket = UnixListener::bind(acme.join("socket")).unwrap();

    use Expected::{NotAFile, NotVisible, OutOfReach};
    for (path, expected, mechanism) in [
        ("relative_dir/secret.txt", OutOfReach, "relative link to a directory"),
        ("absolute_dir/secret.txt", OutOfReach, "absolute link to a directory"),
        ("relative_file", OutOfReach, "relative link to a file"),
        ("absolute_file", OutOfReach, "absolute link to a file"),
        ("chain/secret.txt", OutOfReach, "link to a link"),
        ("longer_chain/secret.txt", OutOfReach, "link to a link to a link"),
        ("relative_dir/never.txt", OutOfReach, "outside, does not exist"),
        ("dangling_outside", OutOfReach, "dangling, outside"),
        ("dangling_inside", NotVisible, "dangling, inside"),
        ("ring", OutOfReach, "link to itself"),
        ("magic/etc/hostname", OutOfReach, "link to a magic link"),
        ("magic_cwd/Cargo.toml", OutOfReach, "link to another magic link"),
        ("up/own.txt", OutOfReach, "link to the parent"),
        ("deep/er/link/secret.txt", OutOfReach, "link deep inside"),
        ("absolute_to_our_own", OutOfReach, "absolute link, even to our own"),
        ("hard", OutOfReach, "hard link"),
        ("link_to_hard", OutOfReach, "link to a hard link"),
        ("pipe", NotAFile, "pipe, without hanging"),
        ("link_to_pipe", NotAFile, "link to a pipe"),
        ("socket", NotAFile, "socket"),
    ] {
        attempt(&house, path, expected, mechanism).await;
    }

    // Positive controls: links that stay inside work, for both verbs, and the owner reads what was attacked.
    std::fs::create_dir(acme.join("real")).unwrap();
    link("real", "inner");
    link("../real", "deep/inner");
    link("own.txt", "inner_file");
    house.acme.files().write("inner/f", "through a link").await.unwrap();
    assert_eq!(house.acme.files().read("real/f").await.unwrap(), b"through a link");
    assert_eq!(house.acme.files().read("deep/inner/f").await.unwrap(), b"through a link");
    house.acme.files().write("inner_file", "written through").await.unwrap();
    assert_eq!(house.acme.files().read("own.txt").await.unwrap(), b"written through");
    assert!(acme.join("inner_file").symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read(globex.join("secret.txt")).unwrap(), SECRET.as_bytes());
}

#[tokio::test]
async fn t2_no_verb_that_changes_anything_goes_through_a_link() {
    let house = House::new().await;
    let (acme, globex) = (house.acme_home(), house.globex_home());
    let sibling = globex.file_name().unwrap().to_str().unwrap().to_owned();
    symlink(format!("../{sibling}"), acme.join("link")).unwrap();
    symlink(format!("../{sibling}/new"), acme.join("dangling")).unwrap();
    symlink(format!("../{sibling}/secret.txt"), acme.join("file")).unwrap();
    symlink("nowhere", acme.join("dangling_inside")).unwrap();
    std::fs::hard_link(globex.join("secret.txt"), acme.join("hard")).unwrap();
    std::fs::create_dir(globex.join("empty")).unwrap();
    let before = names(&globex);
    let files = house.acme.files();

    for (outcome, mechanism) in [
        (files.write("link/x", "mine").await, "write into a linked directory"),
        (files.write("link/secret.txt", "mine").await, "replace in a linked directory"),
        (files.write("dangling", "mine").await, "write through a dangling link"),
        (files.write("file", "mine").await, "write through a link to a file"),
        (files.write("hard", "mine").await, "write to a hard link"),
        (files.write(&format!("../{sibling}/x"), "mine").await, "write by climbing"),
        (files.create_dir("link/x").await, "directory in a linked one"),
        (files.create_dir(&format!("../{sibling}/x")).await, "directory by climbing"),
        (files.delete("link/secret.txt").await, "delete in a linked directory"),
        (files.delete("link/empty").await, "delete a directory in a linked one"),
        (files.delete("link/never").await, "delete what does not exist outside"),
        (files.list("link").await.map(drop), "list a linked directory"),
    ] {
        assert!(matches!(outcome, Err(FilesError::Denied(Denial::OutOfReach))), "{mechanism}: {outcome:?}");
    }
    assert!(matches!(files.write("dangling_inside", "x").await, Err(FilesError::NotAFile)));
    assert_eq!(names(&globex), before);
    // While a file has two names it is nobody's, its owner's neither.
    std::fs::remove_file(acme.join("hard")).unwrap();
    assert_eq!(house.globex.files().read("secret.txt").await.unwrap(), SECRET.as_bytes());
    // No temporary is left of any of them.
    assert!(names(&acme).iter().all(|name| !name.ends_with(".tmp")), "{:?}", names(&acme));

    // A link goes, not what it leads to; the listing names it and not its target.
    let listing = files.list(".").await.unwrap();
    let kinds: Vec<_> = listing.entries.iter().map(|e| (e.name.as_str(), e.kind)).collect();
    assert!(kinds.contains(&("link", EntryKind::Link)) && kinds.contains(&("own.txt", EntryKind::File)), "{kinds:?}");
    assert!(!format!("{listing:?}").contains(&sibling));
    files.delete("file").await.unwrap();
    files.delete("link").await.unwrap();
    assert_eq!(names(&globex), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_a_folder_that_is_swapped_for_a_link_never_gives_the_others_bytes() {
    let house = House::new().await;
    let (acme, globex) = (house.acme_home(), house.globex_home());
    let sibling = globex.file_name().unwrap().to_str().unwrap().to_owned();
    std::fs::create_dir(acme.join("sub")).unwrap();
    std::fs::write(acme.join("sub/f"), "acme's f").unwrap();
    std::fs::write(globex.join("f"), SECRET).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (acme, stop) = (acme.clone(), Arc::clone(&stop));
        move || {
            while !stop.load(Ordering::Relaxed) {
                std::fs::rename(acme.join("sub"), acme.join("aside")).unwrap();
                symlink(format!("../{sibling}"), acme.join("sub")).unwrap();
                std::thread::yield_now();
                std::fs::remove_file(acme.join("sub")).unwrap();
                std::fs::rename(acme.join("aside"), acme.join("sub")).unwrap();
                std::thread::yield_now();
            }
        }
    });
    let (mut own, mut denied, rounds) = (0, 0, scaled(2000));
    for round in 0..20 * rounds {
        // Long enough for each side to have won the race.
        if round >= rounds && own > 0 && denied > 0 {
            break;
        }
        match house.acme.files().read("sub/f").await {
            Ok(bytes) => {
                assert_eq!(bytes, b"acme's f");
                own += 1;
            }
            Err(FilesError::Denied(Denial::OutOfReach)) => denied += 1,
            Err(FilesError::Denied(Denial::NotVisible) | FilesError::NotADirectory) => {}
            Err(other) => panic!("{other:?}"),
        }
        if round % 4 == 0 {
            let _ = house.acme.files().write("sub/x", "acme's x").await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(own > 0, "the race was never won by the real folder");
    assert!(denied > 0, "the race was never won by the link");
    assert_eq!(names(&globex), ["f", "secret.txt"]);
}

#[tokio::test]
async fn a_directory_of_another_life_under_our_name_is_refused() {
    let house = House::new().await;
    let (acme, globex) = (house.acme_home(), house.globex_home());
    std::fs::rename(&acme, acme.with_extension("aside")).unwrap();
    symlink(globex.file_name().unwrap(), &acme).unwrap();
    let fresh = house.tools.scoped(&house.tenants.context("acme").await).unwrap();
    let read = fresh.files().read("secret.txt").await;
    assert!(matches!(read, Err(FilesError::Denied(Denial::OutOfReach))), "{read:?}");
    let write = fresh.files().write("x", "mine").await;
    assert!(matches!(write, Err(FilesError::Denied(Denial::OutOfReach))), "{write:?}");
    assert_eq!(names(&globex), ["secret.txt"]);
}

#[tokio::test]
async fn verbs_do_what_they_say() {
    let house = House::new().await;
    let files = house.acme.files();
    files.create_dir("a/b").await.unwrap();
    files.create_dir("a/b").await.unwrap();
    files.write("a/b/c.txt", "one").await.unwrap();
    files.write("a/b/c.txt", "second").await.unwrap();
    let stat = files.stat("a/b/c.txt").await.unwrap();
    assert_eq!((stat.kind, stat.bytes), (EntryKind::File, 6));
    assert_eq!(files.stat("a").await.unwrap().kind, EntryKind::Directory);
    assert_eq!(files.list("a/b").await.unwrap().entries.len(), 1);
    assert!(matches!(files.read("a").await, Err(FilesError::NotAFile)));
    assert!(matches!(files.write("a/b", "x").await, Err(FilesError::NotAFile)));
    assert!(matches!(files.delete("a").await, Err(FilesError::NotEmpty)));
    assert!(matches!(files.delete(".").await, Err(FilesError::NotAFile)));
    assert!(matches!(files.list("a/b/c.txt").await, Err(FilesError::NotADirectory)));
    assert!(matches!(files.write("no/such/dir.txt", "x").await, Err(FilesError::Denied(Denial::NotVisible))));
    files.delete("a/b/c.txt").await.unwrap();
    files.delete("a/b").await.unwrap();
    assert!(files.list("a").await.unwrap().entries.is_empty());
    let changed = house.outcomes("files.write").await.into_iter().filter(|(o, _)| *o == Outcome::Changed).count();
    assert_eq!(changed, 3, "own.txt and two writes");
}

#[tokio::test]
async fn sizes_are_capped() {
    let tenants = tenancy_testkit::TestTenants::new().await;
    let folder = tempfile::tempdir().unwrap();
    let root = tenancy_tools::FilesRoot::provision(folder.path()).unwrap().file_bytes(10).entries(2);
    let tools = tenancy_tools::Tools::new(tenants.realm(), tenancy_tools::ToolRegistry::new().close(), root);
    let acme = tools.scoped(&tenants.context("acme").await).unwrap();
    let files = acme.files();
    files.write("ten", vec![0; 10]).await.unwrap();
    assert_eq!(files.read("ten").await.unwrap().len(), 10);
    assert!(matches!(files.write("eleven", vec![0; 11]).await, Err(FilesError::TooLarge { limit: 10 })));
    let home = folder.path().join(names(folder.path()).pop().unwrap());
    std::fs::write(home.join("grown"), [0; 11]).unwrap();
    assert!(matches!(files.read("grown").await, Err(FilesError::TooLarge { limit: 10 })));
    let before = files.list(".").await.unwrap();
    assert!(!before.truncated);
    files.write("third", "x").await.unwrap();
    let listing = files.list(".").await.unwrap();
    assert!(listing.truncated && listing.entries.len() == 2);
}

#[tokio::test]
async fn a_tool_is_stopped_by_the_same_refusals() {
    let house = House::new().await;
    let sibling = house.globex_home().file_name().unwrap().to_str().unwrap().to_owned();
    let read = |tools: TenantTools, path: String| async move {
        tools.call("read_file", &json!({ "path": path }).to_string()).await
    };
    let denied = read(house.acme.clone(), format!("../{sibling}/secret.txt")).await;
    assert!(matches!(denied, Err(ToolsError::Denied(Denial::OutOfReach))), "{denied:?}");
    let own = read(house.globex.clone(), "secret.txt".to_owned()).await.unwrap();
    assert_eq!(own.as_str(), SECRET);
    let denial = (Outcome::Denied, Some("scope.out_of_reach".to_owned()));
    assert_eq!(house.outcomes("read_file").await, [denial]);
}
