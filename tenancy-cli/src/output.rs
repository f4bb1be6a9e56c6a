//! Where a command writes: what was asked for to stdout, everything else to stderr.
//!
//! Whoever reads may stop reading, as `head` does. That is no failure: the work goes on, which for an adoption under way
//! matters, and the exit code is the same. `println!` would end it in a panic, so it is not used here.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::failure::Failure;

/// What was asked for, as it is.
pub(crate) fn print(text: impl Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Write { path: "stdout".to_owned(), source })
        }
        _written_or_unread => Ok(()),
    }
}

/// A line about the run.
pub(crate) fn tell(line: impl Display) {
    say(format_args!("tenancy: {line}"));
}

/// A line about a file, as it is.
pub(crate) fn say(line: impl Display) {
    // Where nobody hears it there is nobody to tell that.
    let _unheard = writeln!(io::stderr().lock(), "{line}");
}
