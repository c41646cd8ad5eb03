//! The one error type of hudini: what happened, where, and what to do about it.
//!
//! An [`ErrorKind`] stands for one thing the caller would do next; it becomes one Python exception class.
//! The text may change between releases, the kind and its code may not.

use std::error::Error as StdError;
use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, by what the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A defect of hudini itself.
    Internal,
    /// There is no Hudi table at the path.
    TableNotFound,
    /// There is one already.
    TableExists,
    /// The table, file or option needs something that hudini does not do.
    UnsupportedFeature,
    /// A file's bytes contradict its format.
    CorruptFile,
    /// Rows and table do not fit.
    SchemaMismatch,
    /// An option is unknown, malformed or contradicts another or the table.
    InvalidOption,
    /// A filter could not be understood.
    InvalidFilter,
    /// No such instant.
    InstantNotFound,
    /// The instant's files are gone.
    InstantCleaned,
    /// Another writer changed the same files first.
    CommitConflict,
    /// The table's lock was not to be had in time.
    LockUnavailable,
    /// A record key appears twice where it must not.
    DuplicateKey,
    /// The storage failed, or answered what it must not.
    StorageFailure,
    /// The memory limit was reached.
    MemoryLimit,
}

impl ErrorKind {
    /// The stable code, as printed and as Python's `.code`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Internal => "HUDINI-000",
            Self::TableNotFound => "HUDINI-101",
            Self::TableExists => "HUDINI-102",
            Self::UnsupportedFeature => "HUDINI-201",
            Self::CorruptFile => "HUDINI-301",
            Self::SchemaMismatch => "HUDINI-401",
            Self::InvalidOption => "HUDINI-402",
            Self::InvalidFilter => "HUDINI-403",
            Self::InstantNotFound => "HUDINI-501",
            Self::InstantCleaned => "HUDINI-502",
            Self::CommitConflict => "HUDINI-601",
            Self::LockUnavailable => "HUDINI-602",
            Self::DuplicateKey => "HUDINI-603",
            Self::StorageFailure => "HUDINI-701",
            Self::MemoryLimit => "HUDINI-702",
        }
    }

    /// The name of the Python exception class.
    pub fn name(self) -> &'static str {
        match self {
            Self::Internal => "HudiniError",
            Self::TableNotFound => "TableNotFound",
            Self::TableExists => "TableExists",
            Self::UnsupportedFeature => "UnsupportedFeature",
            Self::CorruptFile => "CorruptFile",
            Self::SchemaMismatch => "SchemaMismatch",
            Self::InvalidOption => "InvalidOption",
            Self::InvalidFilter => "InvalidFilter",
            Self::InstantNotFound => "InstantNotFound",
            Self::InstantCleaned => "InstantCleaned",
            Self::CommitConflict => "CommitConflict",
            Self::LockUnavailable => "LockUnavailable",
            Self::DuplicateKey => "DuplicateKey",
            Self::StorageFailure => "StorageFailure",
            Self::MemoryLimit => "MemoryLimit",
        }
    }
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    path: Option<String>,
    instant: Option<String>,
    offset: Option<u64>,
    hint: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
    gone: bool,
}

/// An error with its place and its remedy. Boxed, so that `Result` stays small on the happy path.
#[derive(Debug)]
pub struct Error(Box<Inner>);

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            path: None,
            instant: None,
            offset: None,
            hint: None,
            source: None,
            gone: false,
        }))
    }

    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::CorruptFile, message)
    }

    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::UnsupportedFeature, message)
    }

    pub fn schema(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::SchemaMismatch, message)
    }

    pub fn option(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidOption, message)
    }

    pub fn storage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::StorageFailure, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Names the file, unless a deeper floor already named one.
    #[must_use]
    pub fn at_path(mut self, path: impl Into<String>) -> Self {
        self.0.path.get_or_insert_with(|| path.into());
        self
    }

    #[must_use]
    pub fn at_instant(mut self, instant: impl Into<String>) -> Self {
        self.0.instant.get_or_insert_with(|| instant.into());
        self
    }

    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Counts the offset from the start of a file, of which the bytes read were a part that starts at `start`.
    #[must_use]
    pub fn from_offset(mut self, start: u64) -> Self {
        self.0.offset = Some(start.saturating_add(self.0.offset.unwrap_or(0)));
        self
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says that something was there when the work began, and is not any more: done again, the work may succeed.
    #[must_use]
    pub fn gone(mut self) -> Self {
        self.0.gone = true;
        self
    }

    pub fn is_gone(&self) -> bool {
        self.0.gone
    }

    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    pub fn instant(&self) -> Option<&str> {
        self.0.instant.as_deref()
    }

    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, path, instant, offset, hint, source, .. } = &*self.0;
        write!(f, "{message}")?;
        let mut place = Vec::new();
        place.extend(path.as_ref().map(|p| format!("file {p}")));
        place.extend(instant.as_ref().map(|i| format!("instant {i}")));
        place.extend(offset.as_ref().map(|o| format!("offset {o}")));
        if !place.is_empty() {
            write!(f, " ({})", place.join(", "))?;
        }
        if let Some(source) = source {
            write!(f, ": {source}")?;
        }
        if let Some(hint) = hint {
            write!(f, ". Hint: {hint}")?;
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|s| &**s as &(dyn StdError + 'static))
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(e: arrow_schema::ArrowError) -> Self {
        Self::internal("Arrow refused an operation").caused_by(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_place_cause_and_hint() {
        let e = Error::corrupt("bad magic")
            .at_path("a/b.log")
            .at_offset(12)
            .caused_by("short read")
            .with_hint("restore the file");
        assert_eq!(e.to_string(), "bad magic (file a/b.log, offset 12): short read. Hint: restore the file");
        assert_eq!(e.kind().code(), "HUDINI-301");
    }

    #[test]
    fn the_deepest_place_wins() {
        let e = Error::corrupt("x").at_path("inner").at_path("outer");
        assert_eq!(e.path(), Some("inner"));
    }
}
