//! Settings of one transaction, each with a method of its own.

use crate::seeds::SynchronousCommit;

/// Settings that a transaction has other than its session, for [`TxOptions::settings`](crate::TxOptions::settings).
///
/// They are set with `SET LOCAL` in the batch that opens the scope and gone when the transaction is over, however it
/// ends. What has no method here can't be set: a setting by name could be the row key, the role or the search path.
/// None of these changes which rows a statement sees under a policy, only how it gets at them, or what a commit is worth.
///
/// A number outside the server's bounds becomes the nearest bound: the server would refuse the whole transaction.
/// Those of pgvector need the extension, at least 0.8 for scanning on; without it the server takes them and they do
/// nothing.
///
/// ```no_run
/// # async fn run(db: &tenancy_pg::TenantDb) -> Result<(), Box<dyn std::error::Error>> {
/// use tenancy_pg::{IterativeScan, TxOptions, TxSettings};
///
/// let settings = TxSettings::new().work_mem(64 << 20).hnsw_ef_search(200).hnsw_iterative_scan(IterativeScan::Strict);
/// let mut tx = db.begin_with(TxOptions::new().read_only().settings(settings)).await?;
/// let near: Vec<i64> = sqlx::query_scalar("select id from chunk order by embedding <=> $1::vector limit 20")
///     .bind("[0.1, 0.2]")
///     .fetch_all(&mut tx)
///     .await?;
/// # let _ = near;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct TxSettings {
    work_mem: Option<u64>,
    synchronous_commit: Option<SynchronousCommit>,
    hnsw_ef_search: Option<u32>,
    hnsw_iterative_scan: Option<IterativeScan>,
    hnsw_max_scan_tuples: Option<u32>,
    ivfflat_probes: Option<u32>,
    ivfflat_max_probes: Option<u32>,
}

/// Whether a scan of an HNSW index goes on when a filter, such as a policy, has left too few rows (`hnsw.iterative_scan`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IterativeScan {
    /// It ends with what one look at the index gave. pgvector's own default: a tenant with few rows among many gets too
    /// few, or none.
    Off,
    /// It goes on, and rows come in the exact order of their distance.
    Strict,
    /// It goes on, and rows may come a little out of order, which finds more.
    Relaxed,
}

impl TxSettings {
    /// None that differs.
    pub const fn new() -> Self {
        Self {
            work_mem: None,
            synchronous_commit: None,
            hnsw_ef_search: None,
            hnsw_iterative_scan: None,
            hnsw_max_scan_tuples: None,
            ivfflat_probes: None,
            ivfflat_max_probes: None,
        }
    }

    /// The memory of one sort or hash before it goes to disk (`work_mem`), in bytes, rounded down to KiB. At least 64 KiB.
    pub const fn work_mem(mut self, bytes: u64) -> Self {
        self.work_mem = Some(bytes);
        self
    }

    /// When the server says that this commit is kept.
    pub const fn synchronous_commit(mut self, when: SynchronousCommit) -> Self {
        self.synchronous_commit = Some(when);
        self
    }

    /// How many candidates a scan of an HNSW index keeps, from 1 to 1,000 (`hnsw.ef_search`, 40 unless set). At least as
    /// many as rows are wanted.
    pub const fn hnsw_ef_search(mut self, candidates: u32) -> Self {
        self.hnsw_ef_search = Some(candidates);
        self
    }

    /// Whether a scan of an HNSW index goes on when there are too few rows.
    pub const fn hnsw_iterative_scan(mut self, scan: IterativeScan) -> Self {
        self.hnsw_iterative_scan = Some(scan);
        self
    }

    /// After how many tuples a scan that goes on ends (`hnsw.max_scan_tuples`, 20,000 unless set). At least 1.
    pub const fn hnsw_max_scan_tuples(mut self, tuples: u32) -> Self {
        self.hnsw_max_scan_tuples = Some(tuples);
        self
    }

    /// How many lists of an IVFFlat index are searched, from 1 to 32,768 (`ivfflat.probes`, 1 unless set).
    pub const fn ivfflat_probes(mut self, lists: u32) -> Self {
        self.ivfflat_probes = Some(lists);
        self
    }

    /// A scan of an IVFFlat index goes on when there are too few rows, over so many lists at most, from 1 to 32,768
    /// (`ivfflat.iterative_scan` and `ivfflat.max_probes`). Rows may come a little out of order.
    pub const fn ivfflat_max_probes(mut self, lists: u32) -> Self {
        self.ivfflat_max_probes = Some(lists);
        self
    }

    /// A statement for each, with its semicolon.
    pub(crate) fn sql(self) -> String {
        // A field that is added must come into the batch.
        let Self {
            work_mem,
            synchronous_commit,
            hnsw_ef_search,
            hnsw_iterative_scan,
            hnsw_max_scan_tuples,
            ivfflat_probes,
            ivfflat_max_probes,
        } = self;
        let within = |value: u32, most: u32| value.clamp(1, most).to_string();
        let settings = [
            ("work_mem", work_mem.map(|bytes| (bytes / 1024).clamp(LEAST_KIB, MOST).to_string())),
            ("synchronous_commit", synchronous_commit.map(|when| when.sql().to_owned())),
            ("hnsw.ef_search", hnsw_ef_search.map(|candidates| within(candidates, 1_000))),
            ("hnsw.iterative_scan", hnsw_iterative_scan.map(|scan| scan.sql().to_owned())),
            ("hnsw.max_scan_tuples", hnsw_max_scan_tuples.map(|tuples| within(tuples, i32::MAX as u32))),
            ("ivfflat.probes", ivfflat_probes.map(|lists| within(lists, 32_768))),
            ("ivfflat.iterative_scan", ivfflat_max_probes.map(|_| IterativeScan::Relaxed.sql().to_owned())),
            ("ivfflat.max_probes", ivfflat_max_probes.map(|lists| within(lists, 32_768))),
        ];
        let set = |(name, value): (&str, Option<String>)| Some(format!("set local {name} = {}; ", value?));
        settings.into_iter().filter_map(set).collect()
    }
}

impl IterativeScan {
    const fn sql(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Strict => "strict_order",
            Self::Relaxed => "relaxed_order",
        }
    }
}

/// The server keeps `work_mem` as KiB in 32 bits.
const MOST: u64 = i32::MAX as u64;
const LEAST_KIB: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_sent_within_its_bounds_and_nothing_else() {
        let new = TxSettings::new();
        assert_eq!((new.sql().as_str(), new), ("", TxSettings::default()));
        for (settings, sql) in [
            (new.work_mem(0), "set local work_mem = 64; "),
            (new.work_mem(64 << 20), "set local work_mem = 65536; "),
            (new.work_mem(u64::MAX), "set local work_mem = 2147483647; "),
            (new.synchronous_commit(SynchronousCommit::Off), "set local synchronous_commit = off; "),
            (new.hnsw_ef_search(0), "set local hnsw.ef_search = 1; "),
            (new.hnsw_ef_search(u32::MAX), "set local hnsw.ef_search = 1000; "),
            (new.hnsw_max_scan_tuples(u32::MAX), "set local hnsw.max_scan_tuples = 2147483647; "),
            (new.hnsw_iterative_scan(IterativeScan::Off), "set local hnsw.iterative_scan = off; "),
            (new.ivfflat_probes(7).hnsw_ef_search(40), "set local hnsw.ef_search = 40; set local ivfflat.probes = 7; "),
            (
                new.ivfflat_max_probes(40_000),
                "set local ivfflat.iterative_scan = relaxed_order; set local ivfflat.max_probes = 32768; ",
            ),
        ] {
            assert_eq!(settings.sql(), sql);
        }
    }
}
