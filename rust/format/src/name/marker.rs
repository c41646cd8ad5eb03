//! Signs of writes under way: markers below `.hoodie/.temp/<instant>`, heartbeats in `.hoodie/.heartbeat`.
//!
//! ```text
//! direct              <partition>/<file name>.marker.<kind>     an empty file each
//! timeline server     MARKERS.type                              says TIMELINE_SERVER_BASED
//!                     MARKERS0, MARKERS1, …                     names as above, one a line
//! ```

use std::fmt;

use super::is_digits;
use crate::{Error, Result};

const MARKER_MARK: &str = ".marker.";
const MARKERS_PREFIX: &str = "MARKERS";
/// Says how the markers of an instant are kept. Where it is missing, each is a file.
pub const MARKER_TYPE_FILE: &str = "MARKERS.type";
/// Digits of an instant without milliseconds.
const SECOND_DIGITS: usize = 14;
const DIRECT: &str = "DIRECT";
const TIMELINE_SERVER_BASED: &str = "TIMELINE_SERVER_BASED";

/// What a marker announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MarkerKind {
    /// A file of its own: a log file, or the first base file of a group.
    Create,
    /// A base file that takes the place of an earlier one.
    Merge,
    /// More blocks on an existing log (table version 6).
    Append,
}

impl MarkerKind {
    const ALL: [Self; 3] = [Self::Create, Self::Merge, Self::Append];

    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Merge => "MERGE",
            Self::Append => "APPEND",
        }
    }
}

/// The path of a marker below `.hoodie/.temp/<instant>`: it is put before a data file, so that a rollback finds the file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MarkerName {
    /// Relative to the table; `""` when unpartitioned.
    pub partition: String,
    /// The data file's name.
    pub file: String,
    pub kind: MarkerKind,
}

impl MarkerName {
    /// Parses a path below the marker directory of an instant; `None` for anything else.
    pub fn parse(path: &str) -> Option<Self> {
        let (data_file, kind) = path.rsplit_once(MARKER_MARK)?;
        let kind = MarkerKind::ALL.into_iter().find(|k| k.name() == kind)?;
        let (partition, file) = data_file.rsplit_once('/').unwrap_or(("", data_file));
        (!file.is_empty()).then(|| Self { partition: partition.to_owned(), file: file.to_owned(), kind })
    }
}

impl fmt::Display for MarkerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { partition, file, kind } = self;
        let separator = if partition.is_empty() { "" } else { "/" };
        write!(f, "{partition}{separator}{file}{MARKER_MARK}{}", kind.name())
    }
}

/// What a file in the marker directory of an instant is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkerFile {
    /// [`MARKER_TYPE_FILE`].
    Type,
    /// One of several files with names of markers.
    Names(u32),
    /// A marker itself.
    Direct(MarkerName),
}

impl MarkerFile {
    /// Parses a path below the directory; `None` for anything else.
    pub fn parse(path: &str) -> Option<Self> {
        if path == MARKER_TYPE_FILE {
            return Some(Self::Type);
        }
        match path.strip_prefix(MARKERS_PREFIX).filter(|digits| is_digits(digits)) {
            Some(digits) => digits.parse().ok().map(Self::Names),
            None => MarkerName::parse(path).map(Self::Direct),
        }
    }
}

impl fmt::Display for MarkerFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type => f.write_str(MARKER_TYPE_FILE),
            Self::Names(number) => write!(f, "{MARKERS_PREFIX}{number}"),
            Self::Direct(marker) => marker.fmt(f),
        }
    }
}

/// How the markers of an instant are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Markers {
    Direct,
    TimelineServerBased,
}

impl Markers {
    /// Reads [`MARKER_TYPE_FILE`].
    pub fn decode_type(bytes: &[u8]) -> Result<Self> {
        let text = str::from_utf8(bytes).map_err(|e| Error::corrupt("MARKERS.type is no UTF-8").caused_by(e))?;
        match text.trim() {
            DIRECT => Ok(Self::Direct),
            TIMELINE_SERVER_BASED => Ok(Self::TimelineServerBased),
            _ => {
                Err(Error::unsupported(format!("markers of the type '{}'", text.chars().take(64).collect::<String>())))
            }
        }
    }

    /// What [`MARKER_TYPE_FILE`] says.
    pub fn encode_type(self) -> &'static str {
        match self {
            Self::Direct => DIRECT,
            Self::TimelineServerBased => TIMELINE_SERVER_BASED,
        }
    }

    /// Reads a file of names. What is no name is left out at the end of a file that ends within a line: it was cut while
    /// somebody wrote it, and no data file followed.
    pub fn decode_names(bytes: &[u8]) -> Result<Vec<MarkerName>> {
        let text = str::from_utf8(bytes).map_err(|e| Error::corrupt("a file of markers is no UTF-8").caused_by(e))?;
        let (whole, last) = text.rsplit_once('\n').unwrap_or(("", text));
        let names = whole.split('\n').filter(|line| !line.trim().is_empty());
        let name =
            |line| MarkerName::parse(line).ok_or_else(|| Error::corrupt(format!("'{line}' is no name of a marker")));
        names.map(name).chain(MarkerName::parse(last).map(Ok)).collect()
    }

    /// A file of names.
    pub fn encode_names(names: &[MarkerName]) -> String {
        names.iter().map(|name| format!("{name}\n")).collect()
    }
}

/// The instant whose writer renews a file of this name in `.hoodie/.heartbeat`; `None` for anything else.
pub fn heartbeat_instant(name: &str) -> Option<&str> {
    // Old instants end with their seconds, and those of metadata tables of version 6 carry more digits.
    (is_digits(name) && name.len() >= SECOND_DIGITS).then_some(name)
}
