//! What a server is told apart by from the one that it was restored from, or that it has taken over from.

use crate::epoch::Epoch;

/// A process and its data's line of descent: `run_id`, which every start changes, and `master_replid`, which every promotion
/// changes. What was written under another history may have been removed there since.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct History([u8; 16]);

impl History {
    /// Reads `INFO`. A replica's answer is none: it is behind its primary.
    pub(super) fn parse(info: &str) -> Option<Self> {
        let value =
            |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim_end);
        if value("role")? != "master" {
            return None;
        }
        let half = |name| u64::from_str_radix(value(name)?.get(..16)?, 16).ok();
        let mut history = [0; 16];
        history[..8].copy_from_slice(&half("run_id")?.to_be_bytes());
        history[8..].copy_from_slice(&half("master_replid")?.to_be_bytes());
        Some(Self(history))
    }

    /// An epoch made here.
    pub(super) fn with(self, epoch: Epoch) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(epoch.as_bytes());
        bytes[16..].copy_from_slice(&self.0);
        bytes
    }

    /// The epoch of such bytes, if it was made here.
    pub(super) fn epoch(self, bytes: &[u8]) -> Option<Epoch> {
        let (epoch, history) = bytes.split_first_chunk()?;
        (history == self.0).then(|| Epoch::from_bytes(*epoch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(role: &str, run: &str, replid: &str) -> String {
        format!(
            "# Server\r\nredis_version:7.0.15\r\nrun_id:{run}\r\n# Replication\r\nrole:{role}\r\nmaster_replid:{replid}\r\n\
             master_replid2:0000000000000000000000000000000000000000\r\n"
        )
    }

    #[test]
    fn a_start_or_a_promotion_is_another_history() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let of = |run: &str, replid: &str| History::parse(&info("master", run, replid)).unwrap();
        let here = of(&a, &a);
        let kept = here.with(Epoch::from_bytes([7; 16]));
        assert!(of(&a, &a).epoch(&kept) == Some(Epoch::from_bytes([7; 16])));
        for (what, other) in [("another process", of(&b, &a)), ("another line of data", of(&a, &b))] {
            assert!(other.epoch(&kept).is_none(), "{what}");
        }
        for (what, bytes) in [("nothing", &[][..]), ("half", &kept[..16]), ("cut", &kept[..31])] {
            assert!(here.epoch(bytes).is_none(), "{what}");
        }
        assert!(here.epoch(&[&kept[..], &[0]].concat()).is_none(), "one too many");
    }

    #[test]
    fn what_says_no_history_has_none() {
        let a = "a".repeat(40);
        for (what, said) in [
            ("a replica", info("slave", &a, &a)),
            ("nothing", String::new()),
            ("no run", info("master", "", &a)),
            ("no hex", info("master", &"x".repeat(40), &a)),
            ("a refusal", "NOPERM".to_owned()),
        ] {
            assert!(History::parse(&said).is_none(), "{what}");
        }
    }
}
