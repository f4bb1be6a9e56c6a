//! The verbs, on an open directory of one life. They block.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, File, FileType, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use tenancy_core::Denial;

use super::FilesError;
use super::handle::{Entry, EntryKind, FileStat, Listing};
use super::path::RelPath;
use super::root::FilesLimits;

pub(super) fn read(dir: &Dir, path: &RelPath, limits: FilesLimits) -> Result<Vec<u8>, FilesError> {
    let limit = limits.file_bytes;
    let (file, metadata) = open_regular(dir, path.as_path())?;
    if metadata.len() > limit {
        return Err(FilesError::TooLarge { limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // The file may grow while it is read.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(FilesError::TooLarge { limit }) } else { Ok(bytes) }
}

/// Replaces the file as a whole: a reader sees the old bytes or the new ones.
pub(super) fn write(dir: &Dir, path: &RelPath, bytes: &[u8], limits: FilesLimits) -> Result<(), FilesError> {
    let limit = limits.file_bytes;
    if bytes.len() as u64 > limit {
        return Err(FilesError::TooLarge { limit });
    }
    let (parent, name) = place_for_write(dir, path)?;
    let temporary = format!(".{}.tmp", uuid::Uuid::new_v4().simple());
    let written = write_new(&parent, &temporary, bytes).and_then(|()| Ok(parent.rename(&temporary, &parent, &name)?));
    if written.is_err() {
        // What failed is reported; a temporary that can't be removed either is only litter.
        let _ = parent.remove_file(&temporary);
    }
    written
}

pub(super) fn list(dir: &Dir, path: &RelPath, limits: FilesLimits) -> Result<Listing, FilesError> {
    let mut listing = Listing { entries: Vec::new(), truncated: false };
    for entry in dir.open_dir(path.as_path())?.entries()? {
        let entry = entry?;
        // A name that is no text can't be asked for either.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if listing.entries.len() >= limits.entries {
            listing.truncated = true;
            break;
        }
        listing.entries.push(Entry { name, kind: kind_of(entry.file_type()?) });
    }
    listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(listing)
}

pub(super) fn stat(dir: &Dir, path: &RelPath) -> Result<FileStat, FilesError> {
    let metadata = dir.open_with(path.as_path(), &reading())?.metadata()?;
    if metadata.is_dir() {
        return Ok(FileStat { kind: EntryKind::Directory, bytes: 0 });
    }
    vet(&metadata)?;
    Ok(FileStat { kind: EntryKind::File, bytes: metadata.len() })
}

/// Removes a name. A link goes, not what it leads to.
pub(super) fn delete(dir: &Dir, path: &RelPath) -> Result<(), FilesError> {
    if path.is_root() {
        return Err(FilesError::NotAFile);
    }
    if dir.symlink_metadata(path.as_path())?.is_dir() {
        dir.remove_dir(path.as_path())?;
    } else {
        dir.remove_file(path.as_path())?;
    }
    Ok(())
}

pub(super) fn create_dir(dir: &Dir, path: &RelPath) -> Result<(), FilesError> {
    Ok(dir.create_dir_all(path.as_path())?)
}

/// Where a write goes: the open directory, and a name in it that is free or a regular file's. Links are followed as
/// they are for a read, so that a name means the same to both.
fn place_for_write(dir: &Dir, path: &RelPath) -> Result<(Dir, OsString), FilesError> {
    let target = match dir.canonicalize(path.as_path()).map_err(FilesError::of) {
        Ok(target) => target,
        Err(FilesError::Denied(Denial::NotVisible)) => path.as_path().to_owned(),
        Err(error) => return Err(error),
    };
    let name = target.file_name().map(OsStr::to_owned).ok_or(FilesError::NotAFile)?;
    let parent = dir.open_dir(parent_of(&target))?;
    match open_regular(&parent, Path::new(&name)) {
        Ok(_) => Ok((parent, name)),
        Err(FilesError::Denied(Denial::NotVisible)) if parent.symlink_metadata(&name).is_err() => Ok((parent, name)),
        // A link that leads to nothing.
        Err(FilesError::Denied(Denial::NotVisible)) => Err(FilesError::NotAFile),
        Err(error) => Err(error),
    }
}

fn parent_of(target: &Path) -> PathBuf {
    match target.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn write_new(parent: &Dir, name: &str, bytes: &[u8]) -> Result<(), FilesError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = parent.open_with(name, &options)?;
    file.write_all(bytes)?;
    Ok(file.sync_data()?)
}

fn open_regular(dir: &Dir, path: &Path) -> Result<(File, Metadata), FilesError> {
    let file = dir.open_with(path, &reading())?;
    let metadata = file.metadata()?;
    vet(&metadata)?;
    Ok((file, metadata))
}

/// Judges what was opened, by its handle: a regular file with one name. A second name may be another tenant's, and
/// nothing in the path shows it (Codewhale#5569).
fn vet(metadata: &Metadata) -> Result<(), FilesError> {
    if !metadata.is_file() {
        return Err(FilesError::NotAFile);
    }
    if metadata.nlink() != 1 { Err(Denial::OutOfReach.into()) } else { Ok(()) }
}

/// Without waiting: opening a pipe that nobody writes to would hang.
fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(O_NONBLOCK);
    options
}

fn kind_of(kind: FileType) -> EntryKind {
    if kind.is_dir() {
        EntryKind::Directory
    } else if kind.is_file() {
        EntryKind::File
    } else if kind.is_symlink() {
        EntryKind::Link
    } else {
        EntryKind::Other
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const O_NONBLOCK: i32 = 0o4000;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const O_NONBLOCK: i32 = 4;
