//! File names inside a table: base files, log files, markers, heartbeats, and the file ids they carry.
//!
//! ```text
//! base file    <file id>_<token>_<instant>.<extension>              3f6c…-0_0-12-30_20260307162459000.parquet
//! log file     .<file id>_<instant>.log.<version>[_<token>[.cdc]]   .3f6c…-0_20260307162459000.log.1_0-12-30
//! archive      .commits_.archive.<version>[_<token>]                of version 6
//! marker       <partition>/<file name>.marker.<CREATE|MERGE|APPEND>
//! file id      <uuid>-<n>      token   <task>-<stage>-<attempt>     instant   requested time of the writer
//! ```
//!
//! The metadata table has file ids of its own, see [`Partition`](crate::metadata_record::Partition); the index of a bootstrapped table has base files with
//! the id of zeros and the instant `00000000000001`. The instant of a log file is the delta commit's own in table versions 8 and 9; in version 6 it is that of the slice.

mod marker;

use std::cmp::Ordering;
use std::fmt;

use crate::hash::bucket_file_id_prefix;

pub use marker::{MARKER_TYPE_FILE, MarkerFile, MarkerKind, MarkerName, Markers, heartbeat_instant};

const LOG_MARK: &str = ".log.";
const CDC_SUFFIX: &str = ".cdc";
const ARCHIVE_MARK: &str = ".commits_.archive.";
/// The version of the first log file of a writer.
pub const FIRST_LOG_VERSION: u32 = 1;

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a name is that of a checksum that Hadoop's local file system lays beside each file that it writes.
pub fn is_checksum(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".crc")
}

/// The name of a base file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BaseFileName {
    pub file_id: String,
    pub write_token: String,
    pub instant: String,
    /// Without the dot.
    pub extension: String,
}

impl BaseFileName {
    /// Parses the last component of a path; `None` for anything else.
    ///
    /// The instant must be digits: that sets apart the names of table version 10, whose logs look like base files.
    pub fn parse(name: &str) -> Option<Self> {
        let (file_id, rest) = name.split_once('_')?;
        let (write_token, rest) = rest.split_once('_')?;
        let (instant, extension) = rest.split_once('.')?;
        let plain = !file_id.is_empty() && !file_id.starts_with('.') && !file_id.contains('/');
        let token = !write_token.is_empty() && !write_token.contains(['.', '/']);
        let extended = !extension.is_empty() && extension.bytes().all(|b| b.is_ascii_alphanumeric());
        (plain && token && is_digits(instant) && extended).then(|| Self {
            file_id: file_id.to_owned(),
            write_token: write_token.to_owned(),
            instant: instant.to_owned(),
            extension: extension.to_owned(),
        })
    }
}

impl fmt::Display for BaseFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file_id, write_token, instant, extension } = self;
        write!(f, "{file_id}_{write_token}_{instant}.{extension}")
    }
}

/// The name of a log file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogFileName {
    pub file_id: String,
    pub instant: String,
    /// Counts the files of one instant; nothing to do with a format.
    pub version: u32,
    /// Always written; files of old releases lack it.
    pub token: Option<String>,
    /// Holds changes for CDC queries only. Needs a token.
    pub cdc: bool,
}

impl LogFileName {
    /// Parses the last component of a path; `None` for anything else, as for checksum files and AppleDouble files beside a
    /// log, archived timelines of version 6 (`.archive.`), and tokens other than three numbers.
    ///
    /// Printing gives the same name back unless the version has leading zeros.
    pub fn parse(name: &str) -> Option<Self> {
        let (file_id, rest) = name.strip_prefix('.')?.split_once('_')?;
        // Neither the instant nor what precedes it holds a dot, so the mark is where the first dot is.
        let (instant, rest) = rest.split_once(LOG_MARK)?;
        if file_id.is_empty() || file_id.contains(['.', '/']) || instant.contains(['.', '/']) {
            return None;
        }
        let (version, token) = match rest.split_once('_') {
            Some((version, token)) => (version, Some(token)),
            None => (rest, None),
        };
        let (token, cdc) = match token.map(|token| (token, token.strip_suffix(CDC_SUFFIX))) {
            Some((_, Some(token))) => (Some(token), true),
            Some((token, None)) => (Some(token), false),
            None => (None, false),
        };
        if !is_digits(version) || !token.is_none_or(is_write_token) {
            return None;
        }
        Some(Self {
            file_id: file_id.to_owned(),
            instant: instant.to_owned(),
            version: version.parse().ok()?,
            token: token.map(str::to_owned),
            cdc,
        })
    }

    /// The order in which the log files of one slice merge: by instant as text, version as number, token as text (none
    /// first, `0-10-23` before `0-9-5`), CDC files last.
    ///
    /// So the order follows requested times, not completion: a slow writer that began first is merged first.
    pub fn slice_order(&self, other: &Self) -> Ordering {
        (&self.instant, self.version, &self.token, self.cdc).cmp(&(
            &other.instant,
            other.version,
            &other.token,
            other.cdc,
        ))
    }
}

impl fmt::Display for LogFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file_id, instant, version, token, cdc } = self;
        write!(f, ".{file_id}_{instant}{LOG_MARK}{version}")?;
        if let Some(token) = token {
            write!(f, "_{token}{}", if *cdc { CDC_SUFFIX } else { "" })?;
        }
        Ok(())
    }
}

/// A file of the archived timeline of table version 6: `.commits_.archive.<version>[_<token>]`, a log of its own kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArchiveFileName {
    /// Counts the files; later ones hold later actions, or those of several merged ones.
    pub version: u32,
    pub token: Option<String>,
}

impl ArchiveFileName {
    /// Parses the last component of a path; `None` for anything else.
    pub fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix(ARCHIVE_MARK)?;
        let (version, token) = match rest.split_once('_') {
            Some((version, token)) => (version, Some(token)),
            None => (rest, None),
        };
        if !is_digits(version) || !token.is_none_or(is_write_token) {
            return None;
        }
        Some(Self { version: version.parse().ok()?, token: token.map(str::to_owned) })
    }
}

impl fmt::Display for ArchiveFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ARCHIVE_MARK}{}", self.version)?;
        self.token.as_ref().map_or(Ok(()), |token| write!(f, "_{token}"))
    }
}

/// The token of a writing attempt. It keeps apart the files of attempts at one task.
pub fn write_token(task: u32, stage: u32, attempt: u32) -> String {
    format!("{task}-{stage}-{attempt}")
}

fn is_write_token(text: &str) -> bool {
    let mut numbers = text.split('-');
    numbers.by_ref().take(3).filter(|number| is_digits(number)).count() == 3 && numbers.next().is_none()
}

/// The file id of a new group, made of 122 of the bits given: a random UUID's text and `-0`.
pub fn new_file_id(bits: u128) -> String {
    format!("{}-0", uuid_v4(bits))
}

/// The file id of a bucket: its number in the place of the first eight digits of a UUID.
pub fn bucket_file_id(bucket: u32, bits: u128) -> String {
    let uuid = uuid_v4(bits);
    let tail = uuid.split_once('-').map_or("", |(_, tail)| tail);
    format!("{}-{tail}-0", bucket_file_id_prefix(bucket))
}

/// The file id of a bucket on which writers agree without asking each other (non-blocking concurrency control).
pub fn shared_bucket_file_id(bucket: u32) -> String {
    format!("{}-0000-0000-0000-000000000000-0", bucket_file_id_prefix(bucket))
}

fn uuid_v4(bits: u128) -> String {
    const VERSION: u128 = 0xf << 76;
    const VARIANT: u128 = 0b11 << 62;
    let bits = bits & !VERSION & !VARIANT | 4 << 76 | 0b10 << 62;
    let group = |low: u32, digits: u32| bits >> low & ((1 << (4 * digits)) - 1);
    let [a, b, c, d, e] = [group(96, 8), group(80, 4), group(64, 4), group(48, 4), group(0, 12)];
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}

#[cfg(test)]
mod tests;
