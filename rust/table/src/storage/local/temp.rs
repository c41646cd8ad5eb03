//! Temporary siblings: how a file appears under its name with all of its content, or not at all.
//!
//! ```text
//! a~b.parquet   →   .a~tb~dparquet.<16 hex digits>.tmp        ('.' is written "~d", '~' is written "~t")
//! ```
//! Apache Hudi takes every name that *contains* `.parquet` for a base file, and in older releases every name with
//! `.log.1` inside for a log file. A leftover that kept the dots of its file's name would be read as data once the
//! instant in its name completes, so they are written otherwise.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, ErrorKind as Io, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use tempfile::TempPath;

use super::{absent, meta_of, remove};
use crate::context::Ids;
use crate::storage::{Meta, Put};

/// Length of the random part, in hex digits.
const RANDOM: usize = 16;
const SUFFIX: &str = ".tmp";
/// How often a random name may be taken (a seeded source meets its own leftovers) before something else is wrong.
const TRIES: usize = 100;

/// An unfinished file beside its target; removed when dropped.
#[derive(Debug)]
pub(super) struct Temp {
    file: File,
    path: PathBuf,
    target: PathBuf,
    published: bool,
    owner: u32,
}

impl Temp {
    /// Opens a new one, and makes the directories above it.
    pub(super) fn beside(target: &Path, ids: &dyn Ids) -> io::Result<Self> {
        let (dir, name) = split(target)?;
        fs::create_dir_all(dir)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let random = ids.next_u128() as u64;
            let path = dir.join(format!("{}{random:0width$x}{SUFFIX}", prefix(name), width = RANDOM));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let target = target.to_owned();
                    return Ok(Self { file, path, target, published: false, owner: process::id() });
                }
                Err(e) if e.kind() == Io::AlreadyExists && tries < TRIES => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Shows the file under its name, unless something is there.
    pub(super) fn publish_new(mut self) -> io::Result<Put> {
        self.file.sync_all()?;
        let meta = meta_of(&self.file.metadata()?);
        if self.target.symlink_metadata().is_ok() {
            return Ok(Put::Refused);
        }
        remove(&sidecar(&self.target))?;
        // An exclusive rename where the file system has it, else a hard link and an unlink.
        match TempPath::try_from_path(&self.path)?.persist_noclobber(&self.target) {
            Ok(()) => self.published = true,
            Err(e) if e.error.kind() == Io::AlreadyExists => return Ok(Put::Refused),
            Err(e) => return Err(unpublishable(e.error)),
        }
        sync_dir(&self.target)?;
        Ok(Put::Done(meta))
    }

    /// Puts the file in place of `old`, which the caller has locked, with a later modification time.
    pub(super) fn publish_over(mut self, old: &fs::Metadata) -> io::Result<Meta> {
        if let (Ok(before), Ok(now)) = (old.modified(), self.file.metadata()?.modified())
            && now <= before
        {
            // A microsecond: some file systems keep no finer time.
            self.file.set_times(FileTimes::new().set_modified(before + Duration::from_micros(1)))?;
        }
        self.file.sync_all()?;
        let meta = meta_of(&self.file.metadata()?);
        remove(&sidecar(&self.target))?;
        fs::rename(&self.path, &self.target)?;
        self.published = true;
        sync_dir(&self.target)?;
        Ok(meta)
    }
}

impl Write for Temp {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        // A forked child holds a copy of this value; the file is its parent's.
        if !self.published && self.owner == process::id() {
            // Nobody is left to hear of a failure, and a leftover does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Where Hadoop's local file system keeps the checksum of a file.
pub(super) fn sidecar(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".crc");
    target.with_file_name(name)
}

/// Whether a name is that of a temporary sibling of some file.
pub(super) fn is_temp_name(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(SUFFIX)) else { return false };
    rest.rsplit_once('.').is_some_and(|(of, random)| !of.is_empty() && !of.contains('.') && is_random(random))
}

/// Removes the temporary siblings of a file.
pub(super) fn discard(target: &Path) -> io::Result<()> {
    let (dir, name) = split(target)?;
    let children = match fs::read_dir(dir) {
        Ok(children) => children,
        Err(e) if absent(&e) => return Ok(()),
        Err(e) => return Err(e),
    };
    let prefix = prefix(name);
    let is_ours =
        |found: &str| found.strip_prefix(&*prefix).and_then(|rest| rest.strip_suffix(SUFFIX)).is_some_and(is_random);
    for child in children {
        let child = child?;
        if child.file_name().to_str().is_some_and(is_ours) {
            remove(&child.path())?;
        }
    }
    Ok(())
}

fn is_random(text: &str) -> bool {
    text.len() == RANDOM && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn prefix(name: &str) -> String {
    format!(".{}.", name.replace('~', "~t").replace('.', "~d"))
}

fn split(target: &Path) -> io::Result<(&Path, &str)> {
    let name = target.file_name().and_then(|name| name.to_str());
    target.parent().zip(name).ok_or_else(|| io::Error::new(Io::InvalidInput, "the path has no file name"))
}

fn unpublishable(e: io::Error) -> io::Error {
    if !matches!(e.kind(), Io::Unsupported | Io::PermissionDenied) {
        return e;
    }
    let why = "the file system must offer exclusive renames or hard links, so that no file is overwritten";
    io::Error::new(e.kind(), format!("{e} ({why})"))
}

/// Makes the new name itself survive a loss of power.
fn sync_dir(target: &Path) -> io::Result<()> {
    let Some(dir) = target.parent() else { return Ok(()) };
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        // Not every system can sync a directory, or open one.
        Err(e) if !matches!(e.kind(), Io::Unsupported | Io::InvalidInput | Io::PermissionDenied) => Err(e),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_name_shows_apache_hudi_neither_extension_nor_log_version() {
        let name = format!("{}{:016x}{SUFFIX}", prefix(".f1-0_20250101000000000.log.1_0-1-2"), 5);
        assert_eq!(name, ".~df1-0_20250101000000000~dlog~d1_0-1-2.0000000000000005.tmp");
        assert!(is_temp_name(&name));
        assert!(!prefix("f1_0-1-2_20250101000000000.parquet").contains(".parquet"));
        assert_ne!(prefix("a.b"), prefix("a~b"));
        assert_ne!(prefix("a~d"), prefix("a."));
    }

    #[test]
    fn other_names_are_not_taken_for_temporary_ones() {
        for name in ["a.tmp", ".a.tmp", ".a.b.0000000000000005.tmp", ".a.000000000000000g.tmp", ".0000000000000005.tmp"]
        {
            assert!(!is_temp_name(name), "{name}");
        }
    }

    #[test]
    fn a_file_system_that_can_not_publish_is_named() {
        let error = unpublishable(Io::Unsupported.into());
        assert!(error.to_string().contains("hard links"), "{error}");
    }
}
