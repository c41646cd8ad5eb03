//! The local file system.
//!
//! * A new file is written to a temporary sibling, synced, and published by an exclusive rename (see `temp`).
//! * `replace` and `put_if_match` lock the very file that they are about to replace: whoever waited for that lock
//!   then finds another file under the name and looks again. This needs no lock file, and orders the two among all
//!   processes of one machine. `delete` is unconditional and takes no part in that order.
//! * An etag is inode, modification time and size. Each replacement is made younger than the file it replaces, so
//!   that an etag never comes back within a chain of replacements, however coarse the file system's clock.
//! * Hadoop keeps a checksum of `NAME` in `.NAME.crc` and refuses a file that does not fit it. Such a sidecar is
//!   removed when its file is written or deleted.

mod lock;
mod temp;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind as Io, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use super::{Entry, LockGuard, Meta, Put, Storage, Ticket, Writer};
use super::{complete, dir_parts, file_parts, not_there, part_len};
use crate::context::Ids;
use crate::{Error, Result};
use temp::Temp;

/// A directory tree of the local file system.
#[derive(Debug)]
pub struct Local {
    root: PathBuf,
    shown: String,
    ids: Arc<dyn Ids>,
}

impl Local {
    /// The tree below `root`, which need not exist yet. A relative path is taken from the working directory of now;
    /// symbolic links in it are followed at each use. `ids` name temporary files.
    pub fn new(root: &str, ids: Arc<dyn Ids>) -> Result<Self> {
        let absolute = std::path::absolute(root).map_err(|e| failed("not a usable path", root, e))?;
        let shown = absolute.to_str().ok_or_else(|| Error::storage("the path is not Unicode").at_path(root))?;
        let shown = if shown.len() > 1 { shown.trim_end_matches('/') } else { shown }.to_owned();
        Ok(Self { root: absolute, shown, ids })
    }

    fn file(&self, path: &str) -> Result<PathBuf> {
        Ok(self.below(&file_parts(path)?))
    }

    fn dir(&self, path: &str) -> Result<PathBuf> {
        Ok(self.below(&dir_parts(path)?))
    }

    fn below(&self, parts: &[&str]) -> PathBuf {
        let mut full = self.root.clone();
        full.extend(parts);
        full
    }

    /// The path as messages show it.
    fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.shown.trim_end_matches('/'))
    }

    fn failed(&self, what: &str, path: &str) -> impl Fn(io::Error) -> Error {
        let shown = self.shown(path);
        move |e| failed(what, &shown, e)
    }

    fn temp(&self, target: &Path, bytes: &[u8]) -> io::Result<Temp> {
        let mut temp = Temp::beside(target, &*self.ids)?;
        temp.write_all(bytes)?;
        Ok(temp)
    }

    /// Puts new content in place of a file, if it has the etag (or whatever is there, without an etag).
    fn swap(&self, target: &Path, bytes: &[u8], etag: Option<&str>) -> io::Result<Put> {
        loop {
            let old = match OpenOptions::new().read(true).write(true).open(target) {
                Ok(old) => old,
                Err(e) if absent(&e) && etag.is_some() => return Ok(Put::Refused),
                Err(e) if absent(&e) => match self.temp(target, bytes)?.publish_new()? {
                    // Someone made the file in between: then it is to be replaced.
                    Put::Refused => continue,
                    done => return Ok(done),
                },
                Err(e) => return Err(e),
            };
            old.lock()?;
            let seen = meta_of(&old.metadata()?);
            match stat(target)? {
                Some(now) if now == seen => {}
                // Someone replaced or removed the file while we waited for its lock.
                _ => continue,
            }
            if etag.is_some_and(|etag| etag != seen.etag) {
                return Ok(Put::Refused);
            }
            return self.temp(target, bytes)?.publish_over(&old.metadata()?).map(Put::Done);
        }
    }
}

impl Storage for Local {
    fn root(&self) -> &str {
        &self.shown
    }

    fn head(&self, path: &str) -> Result<Option<Meta>> {
        stat(&self.file(path)?).map_err(self.failed("the file can't be looked up", path))
    }

    fn read(&self, path: &str) -> Result<Option<Bytes>> {
        let Some((mut file, size)) =
            open_file(&self.file(path)?).map_err(self.failed("the file can't be opened", path))?
        else {
            return Ok(None);
        };
        read_part(&mut file, &(0..size), size).map(Some).map_err(|e| e.at_path(self.shown(path)))
    }

    fn submit(&self, path: &str, ranges: Vec<Range<u64>>) -> Box<dyn Ticket> {
        Box::new(Parts { file: self.file(path), shown: self.shown(path), ranges })
    }

    fn list(&self, dir: &str) -> Result<Vec<Entry>> {
        let failed = self.failed("the directory can't be listed", dir);
        let children = match fs::read_dir(self.dir(dir)?) {
            Ok(children) => children,
            Err(e) if absent(&e) => return Ok(Vec::new()),
            Err(e) => return Err(failed(e)),
        };
        let mut entries = Vec::new();
        for child in children {
            let child = child.map_err(&failed)?;
            let name = child.file_name();
            let Some(name) = name.to_str() else {
                let shown = self.shown(dir);
                return Err(Error::storage(format!("the name {name:?} is not Unicode")).at_path(shown));
            };
            if !temp::is_temp_name(name) {
                entries.extend(entry(name, &child.path()).map_err(&failed)?);
            }
        }
        entries.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        Ok(entries)
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<Put> {
        let target = self.file(path)?;
        let failed = self.failed("the file can't be created", path);
        // Saves the writing in the common case; publishing decides.
        if target.symlink_metadata().is_ok() {
            return Ok(Put::Refused);
        }
        again(|| self.temp(&target, bytes)?.publish_new()).map_err(failed)
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<Meta> {
        match self.swap(&self.file(path)?, bytes, None).map_err(self.failed("the file can't be replaced", path))? {
            Put::Done(meta) => Ok(meta),
            Put::Refused => Err(Error::internal("an unconditional write was refused").at_path(self.shown(path))),
        }
    }

    fn put_if_match(&self, path: &str, bytes: &[u8], etag: &str) -> Result<Put> {
        self.swap(&self.file(path)?, bytes, Some(etag)).map_err(self.failed("the file can't be replaced", path))
    }

    fn delete(&self, path: &str) -> Result<bool> {
        let target = self.file(path)?;
        let failed = self.failed("the file can't be deleted", path);
        match target.symlink_metadata() {
            Ok(meta) if meta.is_dir() => return Ok(false),
            Ok(_) => {}
            Err(e) if absent(&e) => return Ok(false),
            Err(e) => return Err(failed(e)),
        }
        let removed = remove(&target).map_err(&failed)?;
        remove(&temp::sidecar(&target)).map_err(&failed)?;
        Ok(removed)
    }

    fn make_dir(&self, dir: &str) -> Result<()> {
        fs::create_dir_all(self.dir(dir)?).map_err(self.failed("the directory can't be made", dir))
    }

    fn delete_dir(&self, dir: &str) -> Result<()> {
        let target = self.dir(dir)?;
        again(|| match fs::remove_dir_all(&target) {
            Err(e) if absent(&e) && target.symlink_metadata().is_err() => Ok(()),
            done => done,
        })
        .map_err(self.failed("the directory can't be deleted", dir))
    }

    fn writer(&self, path: &str) -> Result<Box<dyn Writer>> {
        let temp = Temp::beside(&self.file(path)?, &*self.ids);
        let temp = temp.map_err(self.failed("the file can't be created", path))?;
        Ok(Box::new(LocalWriter { temp, shown: self.shown(path), failed: false }))
    }

    fn discard_unfinished(&self, path: &str) -> Result<()> {
        temp::discard(&self.file(path)?).map_err(self.failed("unfinished writes can't be removed", path))
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn LockGuard>>> {
        lock::try_lock(&self.file(path)?, &self.shown(path))
    }
}

/// How often others may be faster in what `again` does, before something else is wrong.
const TRIES: usize = 100;

/// A file needs its directories, and a directory goes with what is in it: others who make and remove the same ones at this very
/// moment may undo the first step of either before the last one.
fn again<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..TRIES {
        match attempt() {
            Err(e) if matches!(e.kind(), Io::NotFound | Io::AlreadyExists | Io::DirectoryNotEmpty) => {}
            done => return done,
        }
    }
    attempt()
}

#[derive(Debug)]
struct LocalWriter {
    temp: Temp,
    shown: String,
    failed: bool,
}

impl Writer for LocalWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let result = self.temp.write_all(bytes);
        self.failed |= result.is_err();
        result.map_err(|e| failed("the file can't be written", &self.shown, e))
    }

    fn close(self: Box<Self>) -> Result<Put> {
        let Self { temp, shown, failed: broken } = *self;
        if broken {
            return Err(Error::storage("a write to the file failed before").at_path(shown));
        }
        temp.publish_new().map_err(|e| failed("the file can't be published", &shown, e))
    }
}

#[derive(Debug)]
struct Parts {
    file: Result<PathBuf>,
    shown: String,
    ranges: Vec<Range<u64>>,
}

impl Ticket for Parts {
    fn wait(self: Box<Self>) -> Result<Vec<Bytes>> {
        let Self { file, shown, ranges } = *self;
        let opened = open_file(&file?).map_err(|e| failed("the file can't be opened", &shown, e))?;
        let (mut file, size) = opened.ok_or_else(|| not_there().at_path(&shown))?;
        ranges.iter().map(|part| read_part(&mut file, part, size).map_err(|e| e.at_path(&shown))).collect()
    }
}

/// Opens a file with its size; `None` if there is none.
fn open_file(path: &Path) -> io::Result<Option<(File, u64)>> {
    // Looked up before it is opened: opening a pipe would wait for its other end.
    let Some(_) = stat(path)? else { return Ok(None) };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if absent(&e) => return Ok(None),
        Err(e) => return Err(e),
    };
    let size = file.metadata()?.len();
    Ok(Some((file, size)))
}

fn read_part(file: &mut File, part: &Range<u64>, size: u64) -> Result<Bytes> {
    let len = part_len(part, size)?;
    let wrong = |e: io::Error| Error::storage("the file can't be read").at_offset(part.start).caused_by(e);
    let mut bytes = Vec::with_capacity(usize::try_from(len).map_err(|e| Error::storage("too large").caused_by(e))?);
    file.seek(SeekFrom::Start(part.start)).map_err(wrong)?;
    file.take(len).read_to_end(&mut bytes).map_err(wrong)?;
    complete(bytes.into(), len, part.start)
}

/// `None`: there is no such file, or it is no file.
fn stat(path: &Path) -> io::Result<Option<Meta>> {
    match fs::metadata(path) {
        Ok(meta) => Ok(meta.is_file().then(|| meta_of(&meta))),
        Err(e) if absent(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// `None`: gone since the directory was read, a link to nothing, or neither file nor directory.
fn entry(name: &str, path: &Path) -> io::Result<Option<Entry>> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if absent(&e) => return Ok(None),
        Err(e) => return Err(e),
    };
    let name = name.to_owned();
    let file = meta.is_file().then(|| meta_of(&meta));
    Ok(match file {
        Some(meta) => Some(Entry::File { name, meta }),
        None => meta.is_dir().then_some(Entry::Dir { name }),
    })
}

fn meta_of(meta: &fs::Metadata) -> Meta {
    let nanos = match meta.modified().unwrap_or(SystemTime::UNIX_EPOCH).duration_since(UNIX_EPOCH) {
        Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => i128::try_from(before.duration().as_nanos()).map_or(i128::MIN, |n| -n),
    };
    let modified_ms = i64::try_from(nanos.div_euclid(1_000_000)).unwrap_or(i64::MAX);
    let etag = format!("{:x}-{nanos:x}-{:x}", inode(meta), meta.len());
    Meta { size: meta.len(), modified_ms, etag }
}

#[cfg(unix)]
fn inode(meta: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}

/// Also where a file stands in place of a directory of the path: nothing is below it.
fn absent(e: &io::Error) -> bool {
    matches!(e.kind(), Io::NotFound | Io::NotADirectory)
}

/// `false`: there was nothing.
fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if absent(&e) => Ok(false),
        Err(e) => Err(e),
    }
}

fn failed(what: &str, shown: &str, e: io::Error) -> Error {
    let error = Error::storage(what).at_path(shown);
    let error = match e.kind() {
        Io::PermissionDenied => error.with_hint("check the permissions of the path"),
        Io::StorageFull | Io::QuotaExceeded => error.with_hint("make room on the file system"),
        _ => error,
    };
    error.caused_by(e)
}
