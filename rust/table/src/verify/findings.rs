//! Findings, gathered.

use std::collections::BTreeMap;

use crate::metadata;
use crate::storage::Storage;
use crate::view::in_partition;
use crate::{Error, ErrorKind, Result};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Rows are lost, wrong or doubled, or a reader fails.
    Damage,
    /// Not as it should be; it may be meant, or costs nothing but time.
    Warning,
    /// Worth knowing: what crashed writers left, what was not checked.
    Note,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Damage => "damage",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    /// Which check found it: a name for programs.
    pub check: &'static str,
    pub path: Option<String>,
    pub instant: Option<String>,
    pub message: String,
}

/// Findings of one check and level that are kept; of more, the number is told.
pub(super) const MOST: usize = 100;

/// What was found so far, and how much was looked at.
#[derive(Debug, Default)]
pub(super) struct Found {
    findings: BTreeMap<(Level, &'static str), Kept>,
    checked: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Default)]
struct Kept {
    first: Vec<Finding>,
    total: usize,
}

/// Where a finding is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct At<'a> {
    pub(super) path: Option<&'a str>,
    pub(super) instant: Option<&'a str>,
}

impl<'a> At<'a> {
    pub(super) fn path(path: &'a str) -> Self {
        Self { path: Some(path), instant: None }
    }

    pub(super) fn of(path: &'a str, instant: &'a str) -> Self {
        Self { path: Some(path), instant: Some(instant) }
    }
}

fn is_there(storage: &dyn Storage, path: &str) -> Result<bool> {
    Ok(storage.head(path)?.is_some() || !storage.list(path)?.is_empty())
}

impl Found {
    pub(super) fn damage(&mut self, check: &'static str, at: At<'_>, message: impl Into<String>) {
        self.add(Level::Damage, check, at, message);
    }

    pub(super) fn warning(&mut self, check: &'static str, at: At<'_>, message: impl Into<String>) {
        self.add(Level::Warning, check, at, message);
    }

    pub(super) fn note(&mut self, check: &'static str, at: At<'_>, message: impl Into<String>) {
        self.add(Level::Note, check, at, message);
    }

    pub(super) fn add(&mut self, level: Level, check: &'static str, at: At<'_>, message: impl Into<String>) {
        let [path, instant] = [at.path, at.instant].map(|text| text.map(str::to_owned));
        self.keep(Finding { level, check, path, instant, message: message.into() });
    }

    fn keep(&mut self, finding: Finding) {
        let kept = self.findings.entry((finding.level, finding.check)).or_default();
        kept.total += 1;
        if kept.first.len() < MOST {
            kept.first.push(finding);
        }
    }

    /// Counts findings that are not told one by one.
    pub(super) fn more(&mut self, level: Level, check: &'static str, count: usize) {
        self.findings.entry((level, check)).or_default().total += count;
    }

    /// An error of the table's bytes as a finding: what contradicts its format is damage, what hudini does not know was
    /// not checked.
    pub(super) fn error(&mut self, check: &'static str, error: Error) {
        let (level, check) = match error.kind() {
            ErrorKind::UnsupportedFeature => (Level::Note, "not_checked"),
            _ => (Level::Damage, check),
        };
        let [path, instant] = [error.path(), error.instant()].map(|text| text.map(str::to_owned));
        self.keep(Finding { level, check, path, instant, message: told(&error) });
    }

    /// The value, or a finding in its place. An error that says nothing of the table stays one.
    pub(super) fn attempt<T>(
        &mut self,
        check: &'static str,
        storage: &dyn Storage,
        path: &str,
        result: Result<T>,
    ) -> Result<Option<T>> {
        let error = match result {
            Ok(value) => return Ok(Some(value)),
            Err(error) => error.at_path(path),
        };
        match error.kind() {
            ErrorKind::CorruptFile | ErrorKind::SchemaMismatch | ErrorKind::UnsupportedFeature => {
                self.error(check, error);
                Ok(None)
            }
            ErrorKind::StorageFailure => {
                // The file or folder that it names; of the metadata table, from there.
                let file = error.path().unwrap_or(path).to_owned();
                if is_there(storage, &file)? || is_there(storage, &in_partition(metadata::FOLDER, &file))? {
                    return Err(error);
                }
                self.warning(check, At::path(&file), "the file vanished while the table was looked over");
                Ok(None)
            }
            _ => Err(error),
        }
    }

    pub(super) fn count(&mut self, what: &'static str, more: usize) {
        *self.checked.entry(what).or_default() += more as u64;
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (key, kept) in other.findings {
            let own = self.findings.entry(key).or_default();
            own.total += kept.total;
            let room = MOST.saturating_sub(own.first.len());
            own.first.extend(kept.first.into_iter().take(room));
        }
        for (what, more) in other.checked {
            *self.checked.entry(what).or_default() += more;
        }
    }

    /// All findings, the worst first.
    pub(super) fn finish(self) -> (Vec<Finding>, BTreeMap<&'static str, u64>) {
        let mut findings = Vec::new();
        for ((level, check), kept) in self.findings {
            let more = kept.total - kept.first.len();
            findings.extend(kept.first);
            if more > 0 {
                let message = format!("{more} more of these");
                findings.push(Finding { level, check, path: None, instant: None, message });
            }
        }
        (findings, self.checked)
    }
}

/// The error without its place, which the finding has.
fn told(error: &Error) -> String {
    let mut message = error.message().to_owned();
    if let Some(cause) = std::error::Error::source(error) {
        message += &format!(": {cause}");
    }
    match error.offset() {
        Some(offset) => format!("{message} (offset {offset})"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_comes_first_and_a_flood_is_counted() {
        let mut found = Found::default();
        found.note("leftover_file", At::path("a"), "left");
        let mut other = Found::default();
        (0..MOST + 7).for_each(|n| other.damage("missing_file", At::path(&n.to_string()), "gone"));
        found.merge(other);
        let (findings, _) = found.finish();
        assert_eq!(findings.len(), MOST + 2);
        assert_eq!(findings[0].path.as_deref(), Some("0"));
        assert_eq!(findings[MOST].message, "7 more of these");
        assert_eq!(findings[MOST + 1].level, Level::Note);
    }
}
