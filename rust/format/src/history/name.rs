//! Names of history files: `<least>_<greatest>_<level>.parquet`, both requested times of actions inside.

use std::fmt;

/// A history file's name. Readers need open only those whose times overlap what they look for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName {
    pub least: String,
    pub greatest: String,
    /// One digit: how often its rows were merged.
    pub level: u8,
}

impl FileName {
    /// `None` for other files.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".parquet")?.split('_');
        let (least, greatest, level) = (parts.next()?, parts.next()?, parts.next()?);
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if parts.next().is_some() || !digits(least) || !digits(greatest) || level.len() != 1 {
            return None;
        }
        let level = level.parse().ok()?;
        Some(Self { least: least.to_owned(), greatest: greatest.to_owned(), level })
    }

    /// Whether actions requested from `from` to `to`, both included, may be inside.
    pub fn overlaps(&self, from: Option<&str>, to: Option<&str>) -> bool {
        from.is_none_or(|from| *from <= *self.greatest) && to.is_none_or(|to| *self.least <= *to)
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_{}.parquet", self.least, self.greatest, self.level)
    }
}
