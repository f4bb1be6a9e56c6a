//! A tenant's own listing.

use std::io::BufRead;

use super::record::AuditRecord;
use super::sink::AuditError;
use crate::id::Life;

/// Whether a tenant may see the record: it is about its life, whichever lane it came through, or it is an operator's
/// act that reaches everyone.
pub(super) fn concerns(record: &AuditRecord, life: Life) -> bool {
    record.life() == Some(life) || record.everyone()
}

/// The tenant's records among the lines of a log.
///
/// Only lines that mention the life are parsed. That is faster, and it keeps a line of another tenant that can't be read
/// from taking this tenant's listing away. A line of its own that can't be read does: half a listing is no listing.
pub(super) fn list_lines(log: impl BufRead, life: Life) -> Result<Vec<AuditRecord>, AuditError> {
    let mention = life.uuid().to_string();
    let mut found = Vec::new();
    for line in log.split(b'\n') {
        let line = line?;
        if !contains(&line, mention.as_bytes()) && !contains(&line, EVERYONE) {
            continue;
        }
        let record = AuditRecord::parse_bytes(&line)?;
        if concerns(&record, life) {
            if !record.is_intact() {
                return Err(AuditError::Altered);
            }
            found.push(record);
        }
    }
    Ok(found)
}

fn contains(line: &[u8], mention: &[u8]) -> bool {
    line.windows(mention.len()).any(|window| window == mention)
}

/// As it stands in a line of ours; inside a text the quotes would be escaped.
const EVERYONE: &[u8] = b"\"everyone\":true";
