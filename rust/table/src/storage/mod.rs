//! Where the bytes lie: a small, synchronous trait over a tree of files.
//!
//! Paths are relative to the store's root, separated by `/`, without a leading `/`; `""` is the root itself. Names are
//! taken as they are: nothing is escaped, decoded or normalised; the parts `.`, `..` and the empty one are refused.
//!
//! | call | promise |
//! |---|---|
//! | `create`, `Writer::close` | all or nothing, and never over a file that is there |
//! | `replace` | a reader sees the old content or the new, never a mix |
//! | `put_if_match` | as `replace`, if the file's etag is still the given one |
//! | `read`, `Ticket::wait` | every byte asked for, or an error |
//! | `try_lock` | at most one holder at a time; a holder that dies lets go |
//!
//! Only files are read and written: asked about a directory, `head` and `read` answer "not there".
//! A store holds nothing global, and no thread that a forked child would miss, so a process may fork at any time.
#![allow(clippy::disallowed_methods, reason = "this room is where the file system comes in")]

mod aws_profile;
mod connect;
pub mod faulty;
pub mod folder;
pub mod local;
pub mod memory;
pub mod object;
mod open;
pub(crate) mod scratch;
mod sink;
mod walk;
pub mod watched;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::Range;

use bytes::Bytes;

pub use open::open;
pub(crate) use sink::{Sink, from_io};
pub(crate) use walk::{joined, walk};

use crate::{Error, Result};

/// What a store knows of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    pub size: u64,
    /// Milliseconds since 1970-01-01T00:00Z.
    pub modified_ms: i64,
    /// Changes whenever the content may have changed; means nothing else.
    pub etag: String,
}

/// A direct child of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    File { name: String, meta: Meta },
    Dir { name: String },
}

impl Entry {
    /// The last part of its path.
    pub fn name(&self) -> &str {
        match self {
            Self::File { name, .. } | Self::Dir { name } => name,
        }
    }
}

/// The files right in a folder; none if it is not there.
pub(crate) fn file_names(storage: &dyn Storage, folder: &str) -> Result<BTreeSet<String>> {
    let files = storage.list(folder)?.into_iter().filter_map(|entry| match entry {
        Entry::File { name, .. } => Some(name),
        Entry::Dir { .. } => None,
    });
    Ok(files.collect())
}

/// The outcome of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Put {
    Done(Meta),
    /// The condition did not hold: something is there already, or its etag is another. Nothing was changed.
    Refused,
}

/// The whole path of a file, without a scheme: so plans of Apache Hudi name it.
pub(crate) fn absolute(storage: &dyn Storage, path: &str) -> String {
    format!("{}/{path}", without_scheme(storage.root()))
}

/// The same of a store's root.
pub(crate) fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

/// A place for files. One conformance suite runs over every implementation.
pub trait Storage: Send + Sync + Debug {
    /// The root, for messages.
    fn root(&self) -> &str;

    /// `None`: there is no such file.
    fn head(&self, path: &str) -> Result<Option<Meta>>;

    /// The whole file. `None`: there is no such file.
    fn read(&self, path: &str) -> Result<Option<Bytes>>;

    /// Asks for parts of a file; the answer is fetched with [`Ticket::wait`]. So a caller can have many under way.
    fn submit(&self, path: &str, ranges: Vec<Range<u64>>) -> Box<dyn Ticket>;

    /// The direct children, sorted by name. A directory that is not there has none. Unfinished writes are not listed.
    fn list(&self, dir: &str) -> Result<Vec<Entry>>;

    /// Writes a new file and the directories above it. Refused if something is there.
    fn create(&self, path: &str, bytes: &[u8]) -> Result<Put>;

    /// Writes a file, new or not.
    fn replace(&self, path: &str, bytes: &[u8]) -> Result<Meta>;

    /// Rewrites a file that is as it was when `etag` was seen.
    fn put_if_match(&self, path: &str, bytes: &[u8], etag: &str) -> Result<Put>;

    /// `false`: there was no such file.
    fn delete(&self, path: &str) -> Result<bool>;

    /// Makes a directory and those above it. Fine if it is there.
    fn make_dir(&self, dir: &str) -> Result<()>;

    /// Deletes a directory and all below it. Fine if it is not there.
    fn delete_dir(&self, dir: &str) -> Result<()>;

    /// Starts a new file that shows only when the writer is closed.
    fn writer(&self, path: &str) -> Result<Box<dyn Writer>>;

    /// Removes what interrupted writes to `path` left behind. A writer to it that is still at work will fail.
    fn discard_unfinished(&self, path: &str) -> Result<()>;

    /// Takes the lock named `path`, if it is free. `None`: someone has it. A file stands at the path from then on, also
    /// when the lock is free again; who deletes the file breaks the lock.
    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn LockGuard>>>;
}

/// Parts of a file under way.
pub trait Ticket: Send + Debug {
    /// The parts in the order they were asked for. A missing file or a part beyond its end is an error.
    fn wait(self: Box<Self>) -> Result<Vec<Bytes>>;
}

/// A new file in the making. Dropped without `close`, it leaves nothing. Works best with large pieces: it does not
/// gather small ones.
pub trait Writer: Send + Debug {
    /// Appends. After a failure the writer can't be closed any more.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Shows the file under its name, unless something is there.
    fn close(self: Box<Self>) -> Result<Put>;
}

/// A lock that is held; dropping it lets go.
pub trait LockGuard: Send + Sync + Debug {
    /// Whether the lock is still ours: false once someone removed the lock file or broke the lock.
    fn still_held(&self) -> Result<bool>;
}

/// The parts of a path to a file.
fn file_parts(path: &str) -> Result<Vec<&str>> {
    let parts: Vec<&str> = path.split('/').collect();
    if parts.iter().any(|part| matches!(*part, "" | "." | "..") || part.contains('\0')) {
        return Err(Error::storage(format!("{path:?} is not a path inside the store")));
    }
    Ok(parts)
}

/// The parts of a path to a directory; none for the root.
fn dir_parts(path: &str) -> Result<Vec<&str>> {
    if path.is_empty() { Ok(Vec::new()) } else { file_parts(path) }
}

/// The length of a part, which must lie inside a file of `size` bytes; checked before anything is allocated.
fn part_len(part: &Range<u64>, size: u64) -> Result<u64> {
    let len = part.end.checked_sub(part.start);
    let len = len.ok_or_else(|| Error::internal(format!("the range {part:?} ends before it starts")))?;
    if part.end > size {
        let beyond = format!("the file ends at byte {size}; bytes {} to {} were asked for", part.start, part.end);
        return Err(Error::storage(beyond).at_offset(part.start));
    }
    Ok(len)
}

/// Fewer bytes than asked for (a file cut while it was read, a connection that broke) are never handed on as data.
fn complete(bytes: Bytes, wanted: u64, offset: u64) -> Result<Bytes> {
    let got = bytes.len();
    if u64::try_from(got).is_ok_and(|got| got == wanted) {
        return Ok(bytes);
    }
    Err(Error::storage(format!("the read brought {got} bytes instead of {wanted}")).at_offset(offset))
}

fn not_there() -> Error {
    Error::storage("the file is not there")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_store_are_refused() {
        for bad in ["", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/.", "a\0b"] {
            assert!(file_parts(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "a/b", ".hoodie/x", "a=1/b%2F c", "...", "ü/日本:x\\y"] {
            assert_eq!(file_parts(good).unwrap().join("/"), good);
        }
        assert!(dir_parts("").unwrap().is_empty());
        assert!(dir_parts("a/").is_err());
    }

    #[test]
    fn a_part_lies_inside_its_file() {
        assert_eq!(part_len(&(2..5), 5).unwrap(), 3);
        assert_eq!(part_len(&(5..5), 5).unwrap(), 0);
        assert!(part_len(&(2..6), 5).is_err());
        assert!(part_len(&(6..6), 5).is_err());
        let backwards = Range { start: 3, end: 2 };
        assert!(part_len(&backwards, 5).is_err());
    }

    #[test]
    fn short_data_is_an_error_that_says_how_much_came() {
        assert_eq!(complete(Bytes::from_static(b"abc"), 3, 0).unwrap(), "abc");
        let error = complete(Bytes::from_static(b"ab"), 3, 7).unwrap_err();
        assert_eq!(error.to_string(), "the read brought 2 bytes instead of 3 (offset 7)");
    }
}
