//! Why a file operation did not work. No variant shows a path.

use std::io;

use tenancy_core::{Denial, Face, Redacted};

/// Why a file operation did not work. Shows no path of the host: mcp servers#3317.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// Refused and on record: [`Denial::OutOfReach`] for a path that leads outside or to a file with a second name,
    /// [`Denial::NotVisible`] for one that names nothing.
    #[error("{0}")]
    Denied(#[from] Denial),
    /// Not a path: empty, too long, or with a NUL byte in it.
    #[error("not a path")]
    InvalidPath,
    /// Not a regular file: a directory, a pipe, a device or a socket.
    #[error("not a regular file")]
    NotAFile,
    /// Not a directory.
    #[error("not a directory")]
    NotADirectory,
    /// The directory still holds something.
    #[error("the directory is not empty")]
    NotEmpty,
    /// The handle was given to a tool that only reads.
    #[error("the tool may only read")]
    ReadOnly,
    /// More bytes than a file may have here.
    #[error("more than {limit} bytes")]
    TooLarge {
        /// The most a file may have, in bytes.
        limit: u64,
    },
    /// The system refused.
    #[error("the file system refused: {kind}")]
    Io {
        /// What kind of refusal.
        kind: io::ErrorKind,
        /// The error itself, which may name paths.
        source: Redacted<io::Error>,
    },
}

impl FilesError {
    /// What a caller may learn. A path that leads outside and one that names nothing have one face.
    #[must_use]
    pub const fn face(&self) -> Face {
        match self {
            Self::Denied(denial) => denial.face(),
            Self::InvalidPath
            | Self::NotAFile
            | Self::NotADirectory
            | Self::NotEmpty
            | Self::ReadOnly
            | Self::TooLarge { .. } => Face::Invalid,
            Self::Io { .. } => Face::Unavailable,
        }
    }

    /// What an error of the system means here.
    pub(super) fn of(error: io::Error) -> Self {
        match error.kind() {
            // cap-std makes this one itself, without a code of the system, when a path leaves the directory.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::Denied(Denial::OutOfReach),
            io::ErrorKind::NotFound => Self::Denied(Denial::NotVisible),
            io::ErrorKind::NotADirectory => Self::NotADirectory,
            io::ErrorKind::IsADirectory => Self::NotAFile,
            io::ErrorKind::DirectoryNotEmpty => Self::NotEmpty,
            io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput => Self::InvalidPath,
            _ => match error.raw_os_error() {
                // A ring of links, or a magic link as in /proc: the kernel does not say which.
                Some(ELOOP) => Self::Denied(Denial::OutOfReach),
                Some(ENXIO) => Self::NotAFile,
                _ => Self::Io { kind: error.kind(), source: Redacted::new(error) },
            },
        }
    }
}

impl From<io::Error> for FilesError {
    fn from(error: io::Error) -> Self {
        Self::of(error)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const ELOOP: i32 = 40;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const ELOOP: i32 = 62;
/// Opening a socket, or a pipe that nobody reads.
const ENXIO: i32 = 6;
