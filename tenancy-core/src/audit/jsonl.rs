//! A sink that keeps one record a line in a local file.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::reader::list_lines;
use super::record::AuditRecord;
use super::sink::{AuditBatch, AuditError, AuditSink, Recovered};
use crate::id::Life;

/// Keeps records in a local file, one line of JSON each, readable and writable by the owner alone (mode 0600).
///
/// One writer at a time holds the file's lock. Every batch is one write and one `fdatasync`; what a crash tore is cut
/// off when the file is opened again. To rotate, close the realm and open another path: a file that gets shorter under
/// an open sink is refused from then on, and with it every check.
///
/// [`verify_log`](super::verify_log) checks such a file.
pub struct JsonlSink {
    path: PathBuf,
    log: Mutex<Log>,
    recovered: Option<Recovered>,
}

struct Log {
    file: File,
    /// Where the last durable record ends.
    good: u64,
}

impl JsonlSink {
    /// Opens the log, or begins it, and locks it for this sink.
    ///
    /// A last line that is incomplete or can't be read is cut off, see [`AuditSink::recovered`]. Not more than that: a
    /// file whose line before that can't be read either is left as it is. Blocks while it reads the end of the file.
    ///
    /// # Errors
    /// [`AuditError::Locked`] while another sink has the file open, [`AuditError::NotALog`] for a file that holds
    /// something else, [`AuditError::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, AuditError> {
        let path = path.as_ref().to_owned();
        let mut file = open_private(&path)?;
        file.try_lock().map_err(|refusal| match refusal {
            TryLockError::WouldBlock => AuditError::Locked,
            TryLockError::Error(error) => error.into(),
        })?;
        let length = file.seek(SeekFrom::End(0))?;
        let good = good_length(&mut file, length)?;
        if good < length {
            file.set_len(good)?;
        }
        file.sync_all()?;
        sync_directory(&path)?;
        let recovered = (good < length).then(|| Recovered::new(length - good));
        Ok(Self { path, log: Mutex::new(Log { file, good }), recovered })
    }
}

impl AuditSink for JsonlSink {
    fn append(&self, batch: &AuditBatch<'_>) -> Result<(), AuditError> {
        let mut lines = Vec::new();
        for record in batch.records() {
            lines.extend_from_slice(record.to_json().as_bytes());
            lines.push(b'\n');
        }
        self.log.lock().unwrap_or_else(PoisonError::into_inner).append(&lines)
    }

    fn recovered(&self) -> Option<Recovered> {
        self.recovered
    }

    fn list(&self, life: Life) -> Result<Vec<AuditRecord>, AuditError> {
        // Up to the last durable record: what is being written is not seen half, and a failed batch not at all.
        let good = self.log.lock().unwrap_or_else(PoisonError::into_inner).good;
        list_lines(BufReader::new(File::open(&self.path)?.take(good)), life)
    }
}

impl fmt::Debug for JsonlSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JsonlSink")
    }
}

impl Log {
    fn append(&mut self, lines: &[u8]) -> Result<(), AuditError> {
        let length = self.file.metadata()?.len();
        if length < self.good {
            return Err(AuditError::Shortened);
        }
        if length > self.good {
            // What a failed try left, or a stranger who minded no lock.
            self.file.set_len(self.good)?;
        }
        // A failed sync counts as not written, and what follows is written again: the system may have dropped the pages
        // then, and would call a second sync alone a success.
        self.file.seek(SeekFrom::Start(self.good))?;
        self.file.write_all(lines)?;
        self.file.sync_data()?;
        self.good += lines.len() as u64;
        Ok(())
    }
}

/// Where the last readable record ends.
fn good_length(file: &mut File, length: u64) -> Result<u64, AuditError> {
    let (start, bytes) = last_lines(file, length)?;
    let mut good = line_start(&bytes);
    if last_line(&bytes[..good]).is_some_and(unreadable) {
        good = line_start(&bytes[..good - 1]);
    }
    let is_log = match last_line(&bytes[..good]) {
        Some(line) => !unreadable(line),
        // Nothing but a torn first record, if it looks like one: a crash leaves its beginning, or zeros.
        None => bytes.first().is_none_or(|first| matches!(first, b'{' | 0)),
    };
    if is_log { Ok(start + good as u64) } else { Err(AuditError::NotALog) }
}

/// The end of the file, from where to where at least two whole lines and a torn one fit.
fn last_lines(file: &mut File, length: u64) -> io::Result<(u64, Vec<u8>)> {
    let mut size = TAIL;
    loop {
        let start = length.saturating_sub(size);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        Read::by_ref(file).take(length - start).read_to_end(&mut bytes)?;
        if start == 0 || bytes.iter().filter(|byte| **byte == b'\n').count() > 2 {
            return Ok((start, bytes));
        }
        size *= 4;
    }
}

/// Where the line begins that the bytes end in: behind the last line feed.
fn line_start(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// The last of whole lines, without its line feed.
fn last_line(lines: &[u8]) -> Option<&[u8]> {
    let line = lines.strip_suffix(b"\n")?;
    Some(&line[line_start(line)..])
}

fn unreadable(line: &[u8]) -> bool {
    AuditRecord::parse_bytes(line).is_err()
}

fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Without it a crash can take away the name of a file whose content is durable.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// How much of the end of a log is read at first, in bytes.
const TAIL: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::SystemTime;

    use super::super::chain::Chains;
    use super::super::event::{AuditEvent, Outcome};
    use super::super::lanes::Lane;
    use super::super::verify::verify_log;
    use super::*;
    use crate::id::RealmName;

    struct Fixture {
        _directory: tempfile::TempDir,
        path: PathBuf,
        chains: Chains,
    }

    fn fixture() -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        Fixture { _directory: directory, path, chains: Chains::new(&RealmName::parse("test").unwrap()) }
    }

    impl Fixture {
        fn record(&mut self, lane: Lane) -> AuditRecord {
            self.chains.append(lane, AuditEvent::new("query", Outcome::Changed, SystemTime::UNIX_EPOCH), 1)
        }

        fn append(&mut self, sink: &JsonlSink, lanes: &[Lane]) {
            let records: Vec<_> = lanes.iter().map(|lane| self.record(*lane)).collect();
            sink.append(&AuditBatch::new(&records)).unwrap();
        }
    }

    #[test]
    fn a_torn_tail_is_cut_off_wherever_it_was_torn() {
        let mut log = fixture();
        let sink = JsonlSink::open(&log.path).unwrap();
        log.append(&sink, &[Lane::Anonymous, Lane::Operators, Lane::Anonymous]);
        drop(sink);
        let whole = fs::read(&log.path).unwrap();
        let last = line_start(&whole[..whole.len() - 1]);
        for length in last..=whole.len() {
            fs::write(&log.path, &whole[..length]).unwrap();
            let torn = if length == whole.len() { 0 } else { length - last };
            let sink = JsonlSink::open(&log.path).unwrap();
            assert_eq!(sink.recovered(), (torn > 0).then(|| Recovered::new(torn as u64)), "at {length}");
            drop(sink);
            let report = verify_log(&log.path).unwrap();
            assert!(report.is_clean());
            assert_eq!(report.records, if torn == 0 && length > last { 3 } else { 2 });
        }
    }

    #[test]
    fn a_torn_first_record_and_a_garbled_last_one_are_cut_off_too() {
        let mut log = fixture();
        fs::write(&log.path, "{\"realm\":\"te").unwrap();
        let sink = JsonlSink::open(&log.path).unwrap();
        assert_eq!(sink.recovered(), Some(Recovered::new(12)));
        log.append(&sink, &[Lane::Anonymous]);
        drop(sink);
        let good = fs::read(&log.path).unwrap();
        fs::write(&log.path, [good.as_slice(), b"\0\0\0\0\n{\"re"].concat()).unwrap();
        assert_eq!(JsonlSink::open(&log.path).unwrap().recovered(), Some(Recovered::new(9)));
        assert_eq!(fs::read(&log.path).unwrap(), good);
    }

    #[test]
    fn a_file_that_is_no_log_is_left_as_it_is() {
        let log = fixture();
        for text in ["hello", "hello\n", "one\ntwo\nthree\n", "{}\n{}\n"] {
            fs::write(&log.path, text).unwrap();
            assert!(matches!(JsonlSink::open(&log.path), Err(AuditError::NotALog)), "{text:?}");
            assert_eq!(fs::read_to_string(&log.path).unwrap(), text);
        }
    }

    #[test]
    fn the_end_of_a_long_log_is_found() {
        let mut log = fixture();
        let sink = JsonlSink::open(&log.path).unwrap();
        for _ in 0..40 {
            log.append(&sink, &[Lane::Anonymous; 10]);
        }
        drop(sink);
        let whole = fs::read(&log.path).unwrap();
        assert!(whole.len() as u64 > 2 * TAIL);
        fs::write(&log.path, &whole[..whole.len() - 5]).unwrap();
        drop(JsonlSink::open(&log.path).unwrap());
        assert_eq!(verify_log(&log.path).unwrap().records, 399);
    }

    #[test]
    fn one_writer_at_a_time() {
        let log = fixture();
        let first = JsonlSink::open(&log.path).unwrap();
        assert!(matches!(JsonlSink::open(&log.path), Err(AuditError::Locked)));
        drop(first);
        assert!(JsonlSink::open(&log.path).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let log = fixture();
        let _sink = JsonlSink::open(&log.path).unwrap();
        assert_eq!(fs::metadata(&log.path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_a_failed_try_left_is_gone_before_the_next() {
        let mut log = fixture();
        let sink = JsonlSink::open(&log.path).unwrap();
        log.append(&sink, &[Lane::Anonymous]);
        let mine = Life::random();
        let record = log.record(Lane::Life(mine));
        // A try whose sync failed, and more than this one will write over.
        let left = format!("{}\n{}", record.to_json(), "x".repeat(1000));
        sink.log.lock().unwrap().file.write_all(left.as_bytes()).unwrap();
        assert!(sink.list(mine).unwrap().is_empty());
        sink.append(&AuditBatch::new(&[record])).unwrap();
        assert_eq!(sink.list(mine).unwrap().len(), 1);
        let report = verify_log(&log.path).unwrap();
        assert!(report.is_clean() && report.records == 2, "{report:?}");
    }

    #[test]
    fn a_log_that_was_truncated_meanwhile_takes_nothing_more() {
        let mut log = fixture();
        let sink = JsonlSink::open(&log.path).unwrap();
        log.append(&sink, &[Lane::Anonymous]);
        fs::write(&log.path, "").unwrap();
        let record = log.record(Lane::Anonymous);
        assert!(matches!(sink.append(&AuditBatch::new(&[record])), Err(AuditError::Shortened)));
    }

    #[test]
    fn a_garbled_line_takes_the_listing_of_its_own_tenant_only() {
        let mut log = fixture();
        let (mine, theirs) = (Life::random(), Life::random());
        let sink = JsonlSink::open(&log.path).unwrap();
        log.append(&sink, &[Lane::Life(mine), Lane::Life(theirs)]);
        assert_eq!(sink.list(mine).unwrap().len(), 1);
        let text = fs::read_to_string(&log.path).unwrap();
        let (first, second) = text.split_once('\n').unwrap();
        let forged = second.replace("\"count\":1", "\"count\":2");
        fs::write(&log.path, format!("{first}\n{forged}")).unwrap();
        assert_eq!(sink.list(mine).unwrap().len(), 1);
        assert!(matches!(sink.list(theirs), Err(AuditError::Altered)));
    }
}
