//! What is on disk, and what happens when shards are opened, closed and dropped under load.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[path = "../../tenancy-vector/tests/cases/mod.rs"]
#[expect(dead_code, reason = "the cases have tests of their own")]
mod cases;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenancy_core::{Credential, CrossTenantGrant, Denial, Reach, StoreVerdict, TenantId};
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::tiers::{MemoryTiers, Mover, Tier, TieredBackend};
use tenancy_vector::{Schema, VectorError, VectorQuery, VectorStore};
use tenancy_vector_edge::{EdgeBackend, EdgeError, EdgeOptions};

fn store(tenants: &TestTenants, root: &Path, open: usize) -> VectorStore {
    let backend = EdgeBackend::open(EdgeOptions::new(root).max_open_shards(open)).unwrap();
    VectorStore::new(tenants.realm(), backend, cases::schema())
}

fn directories(root: &Path) -> HashSet<String> {
    let entries = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap());
    let directories = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    directories.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

async fn grant(tenants: &TestTenants, tenant: &str) -> CrossTenantGrant {
    let credential = Credential::bearer(tenants.operator_token());
    let reach = Reach::One(TenantId::parse(tenant).unwrap());
    let operators = tenants.realm().operators();
    operators.open(&credential, "offboarding", "CASE-1", reach, Duration::from_secs(60)).await.unwrap()
}

#[test]
fn a_back_end_is_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<EdgeBackend>();
    shared::<VectorStore>();
    shared::<tenancy_vector::TenantVectors>();
}

#[tokio::test]
async fn each_life_has_a_directory_that_names_nobody() {
    let root = tempfile::tempdir().unwrap();
    let tenants = TestTenants::new().await;
    let store = store(&tenants, root.path(), 8);
    for tenant in ["acme", "globex"] {
        let mine = cases::of(&tenants, &store, tenant).await;
        assert_eq!(mine.count(None).await.unwrap(), 0);
        assert!(mine.query(&cases::near()).await.unwrap().is_empty());
    }
    assert!(directories(root.path()).is_empty(), "a read makes no directory");
    for tenant in ["acme", "globex"] {
        cases::of(&tenants, &store, tenant).await.upsert(vec![cases::point("x", 0.5, tenant)]).await.unwrap();
    }
    let directories = directories(root.path());
    assert_eq!(directories.len(), 2);
    assert!(directories.iter().all(|name| name.len() == 65 && !name.contains("acme") && !name.contains("globex")));
    #[cfg(unix)]
    for name in &directories {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(root.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}

#[tokio::test]
async fn points_survive_closing_and_reopening() {
    let root = tempfile::tempdir().unwrap();
    let tenants = TestTenants::new().await;
    let before = {
        let store = store(&tenants, root.path(), 8);
        let mine = cases::of(&tenants, &store, "acme").await;
        mine.upsert((0..20u8).map(|n| cases::point(&format!("p{n}"), f32::from(n) / 20.0, "a")).collect())
            .await
            .unwrap();
        mine.upsert(vec![cases::point("p3", 0.15, "changed")]).await.unwrap();
        let _gone = mine.delete(&[cases::id("p7")]).await.unwrap();
        mine.query(&cases::near()).await.unwrap()
    };
    let store = store(&tenants, root.path(), 8);
    let mine = cases::of(&tenants, &store, "acme").await;
    assert_eq!(mine.count(None).await.unwrap(), 19);
    let after = mine.query(&cases::near()).await.unwrap();
    assert_eq!(
        before.iter().map(|hit| hit.id()).collect::<Vec<_>>(),
        after.iter().map(|hit| hit.id()).collect::<Vec<_>>()
    );
    assert_eq!(mine.get(&[cases::id("p3")]).await.unwrap()[0].point().unwrap().payload()["owner"], "changed");
}

/// The engine does not replay its log, so what was acknowledged must be in the files when the process dies.
#[tokio::test]
async fn acknowledged_points_survive_a_crash() {
    let (root, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tenants = TestTenants::new().await;
    let running = store(&tenants, root.path(), 8);
    let mine = cases::of(&tenants, &running, "acme").await;
    mine.upsert(vec![cases::point("A1", 0.5, "a"), cases::point("A2", 0.5, "a")]).await.unwrap();
    let _gone = mine.delete(&[cases::id("A2")]).await.unwrap();
    // The files as they are now, without a shard having been closed.
    copy_all(root.path(), copy.path());
    let restarted = store(&tenants, copy.path(), 8);
    let mine = cases::of(&tenants, &restarted, "acme").await;
    assert_eq!(mine.count(None).await.unwrap(), 1);
    assert_eq!(mine.query(&cases::near()).await.unwrap()[0].id(), &cases::id("A1"));
}

fn copy_all(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_all(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test]
async fn a_root_belongs_to_one_back_end() {
    let root = tempfile::tempdir().unwrap();
    let first = EdgeBackend::open(EdgeOptions::new(root.path())).unwrap();
    assert!(matches!(EdgeBackend::open(EdgeOptions::new(root.path())), Err(EdgeError::Locked)));
    drop(first);
    assert!(EdgeBackend::open(EdgeOptions::new(root.path())).is_ok());
}

#[tokio::test]
async fn another_schema_is_refused_before_and_after_reopening() {
    let root = tempfile::tempdir().unwrap();
    let tenants = TestTenants::new().await;
    let context = tenants.context("acme").await;
    for _reopened in 0..2 {
        let backend = EdgeBackend::open(EdgeOptions::new(root.path())).unwrap();
        let right = VectorStore::new(tenants.realm(), backend.clone(), cases::schema()).scoped(&context).unwrap();
        right.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
        let wrong =
            VectorStore::new(tenants.realm(), backend.clone(), Schema::dense(4).unwrap()).scoped(&context).unwrap();
        let none = tenancy_vector::SparseVector::empty();
        let point = tenancy_vector::Point::hybrid(cases::id("A2"), vec![1.0; 4], none, serde_json::Map::new()).unwrap();
        assert!(matches!(wrong.upsert(vec![point]).await, Err(VectorError::Unfit(_))));
        let wider = VectorStore::new(tenants.realm(), backend, Schema::hybrid(5).unwrap()).scoped(&context).unwrap();
        let query = VectorQuery::dense(vec![1.0; 5]).unwrap();
        assert!(matches!(wider.query(&query).await, Err(VectorError::Unfit(_))));
        assert_eq!(right.count(None).await.unwrap(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tenants_share_few_open_shards() {
    let root = tempfile::tempdir().unwrap();
    let names: Vec<_> = (0..4).map(|n| format!("tenant-{n}")).collect();
    let tenants = names.iter().fold(TestTenants::builder(), |builder, name| builder.tenant(name)).build().await;
    for open in [1, 2] {
        let store = store(&tenants, root.path(), open);
        let mut tasks = Vec::new();
        for name in &names {
            let mine = cases::of(&tenants, &store, name).await;
            let owner = name.clone();
            // Two tasks a tenant: a shard is opened once, however many ask, and not closed under a call.
            for task in 0..2u8 {
                let (mine, owner) = (mine.clone(), owner.clone());
                tasks.push(tokio::spawn(async move {
                    for n in 0..3u8 {
                        mine.upsert(vec![cases::point(&format!("{task}-{n}"), 0.5, &owner)]).await.unwrap();
                        let hits = mine.query(&cases::near()).await.unwrap();
                        assert!(!hits.is_empty() && hits.iter().all(|hit| hit.payload()["owner"] == owner.as_str()));
                    }
                }));
            }
        }
        for task in tasks {
            tokio::time::timeout(Duration::from_secs(60), task).await.expect("no call waits for ever").unwrap();
        }
        for name in &names {
            assert_eq!(cases::of(&tenants, &store, name).await.count(None).await.unwrap(), 6);
        }
        assert!(open_shards(root.path()) <= open, "at most {open} are open");
    }
}

/// How many shards this process has open, by the lock that the engine holds on the log of each.
fn open_shards(root: &Path) -> usize {
    let logs = directories(root).into_iter().map(|name| std::fs::File::open(root.join(name).join("wal")).unwrap());
    logs.filter(|log| log.try_lock().is_err()).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_partition_is_dropped_safely_under_load() {
    let root = tempfile::tempdir().unwrap();
    let tenants = TestTenants::new().await;
    let store = store(&tenants, root.path(), 8);
    let (mine, theirs) = (cases::of(&tenants, &store, "acme").await, cases::of(&tenants, &store, "globex").await);
    mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
    theirs.upsert(vec![cases::point("B1", 0.5, "b")]).await.unwrap();
    let go_on = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let tasks: Vec<_> = (0..4u8)
        .map(|task| {
            let (mine, go_on) = (mine.clone(), Arc::clone(&go_on));
            tokio::spawn(async move {
                while go_on.load(std::sync::atomic::Ordering::Relaxed) {
                    let ended = if task % 2 == 0 {
                        mine.query(&cases::near()).await.map(drop)
                    } else {
                        mine.upsert(vec![cases::point(&format!("late-{task}"), 0.5, "a")]).await
                    };
                    match ended {
                        Ok(()) | Err(VectorError::Denied(Denial::TenantErased)) => {}
                        Err(other) => panic!("{other:?}"),
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let grant = grant(&tenants, "acme").await;
    let life = tenants.life("acme");
    tenants.erase("acme");
    assert_eq!(tenants.realm().erase_store(&grant, life, &store).await, Ok(StoreVerdict::Verified));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(directories(root.path()).len(), 1, "no late writer brings the directory back");
    go_on.store(false, std::sync::atomic::Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    assert!(matches!(mine.count(None).await, Err(VectorError::Denied(Denial::TenantErased))));
    assert_eq!(tenants.realm().erase_store(&grant, life, &store).await, Ok(StoreVerdict::Verified), "again");
    assert_eq!(theirs.query(&cases::near()).await.unwrap().len(), 1, "the other tenant's points stay");
}

#[tokio::test]
async fn what_a_crash_left_of_a_shard_is_no_shard() {
    let root = tempfile::tempdir().unwrap();
    let tenants = TestTenants::new().await;
    {
        let store = store(&tenants, root.path(), 8);
        cases::of(&tenants, &store, "acme").await.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
    }
    let name = directories(root.path()).into_iter().next().unwrap();
    std::fs::remove_file(root.path().join(&name).join("manifest.json")).unwrap();
    let store = store(&tenants, root.path(), 8);
    let mine = cases::of(&tenants, &store, "acme").await;
    assert_eq!(mine.count(None).await.unwrap(), 0, "half dropped is dropped");
    mine.upsert(vec![cases::point("A2", 0.5, "a")]).await.unwrap();
    assert_eq!(mine.count(None).await.unwrap(), 1, "and nothing of it comes back");
}

/// A life that was moved away leaves no directory, and one that comes back has a new one.
#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_was_moved_away_leaves_no_directory() {
    let root = tempfile::tempdir().unwrap();
    let tenants = TestTenants::new().await;
    let edge = EdgeBackend::open(EdgeOptions::new(root.path())).unwrap();
    let tiered = TieredBackend::new(ReferenceBackend::new(), edge, MemoryTiers::new());
    let tiered = tiered.patience(Duration::from_secs(2));
    let mover = Mover::new(tenants.realm(), tiered.clone(), cases::schema());
    let store = VectorStore::new(tenants.realm(), tiered, cases::schema());
    let mine = cases::of(&tenants, &store, "acme").await;
    mine.upsert(vec![cases::point("x", 0.5, "a"), cases::point("y", 0.5, "a")]).await.unwrap();
    let mover = mover.scoped(&tenants.context("acme").await).unwrap();
    for (tier, there) in [(Tier::Dedicated, 1), (Tier::Shared, 0), (Tier::Dedicated, 1)] {
        mover.move_to(tier, |_| {}).await.unwrap();
        assert_eq!(directories(root.path()).len(), there, "{tier:?}");
        assert_eq!(mine.query(&cases::near()).await.unwrap().len(), 2, "{tier:?}");
    }
}

/// Writes of a life wait for each other, each on a thread. They leave some to the neighbours.
#[test]
fn a_flood_of_one_life_leaves_threads_to_others() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).max_blocking_threads(8).enable_all().build().unwrap();
    let in_time = async { tokio::time::timeout(Duration::from_secs(60), flood()).await.unwrap() };
    let done = runtime.block_on(in_time);
    assert!(done < FLOOD / 2, "the neighbour waited for {done} of {FLOOD} writes");
}

const FLOOD: usize = 60;

/// How many of the writes were done when the neighbour had its answer.
async fn flood() -> usize {
    let root = tempfile::tempdir().unwrap();
    let tenants = TestTenants::new().await;
    let backend = EdgeBackend::open(EdgeOptions::new(root.path()).max_calls(8)).unwrap();
    let store = VectorStore::new(tenants.realm(), backend, cases::schema());
    let (mine, theirs) = (cases::of(&tenants, &store, "acme").await, cases::of(&tenants, &store, "globex").await);
    theirs.upsert(vec![cases::point("x", 0.5, "b")]).await.unwrap();
    let done = Arc::new(AtomicUsize::new(0));
    let writes: Vec<_> = (0..FLOOD)
        .map(|n| {
            let (mine, done) = (mine.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                mine.upsert((0..20).map(|at| cases::point(&format!("{n}:{at}"), 0.5, "a")).collect()).await.unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    while done.load(Ordering::Relaxed) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(theirs.count(None).await.unwrap(), 1);
    let before = done.load(Ordering::Relaxed);
    for write in writes {
        write.await.unwrap();
    }
    assert_eq!(mine.count(None).await.unwrap(), 20 * FLOOD as u64, "positive control");
    before
}
