//! What one option is: its names, its default, and how its text becomes a value.

use std::fmt;

use hudini_format::Error;

/// Why a value cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It means nothing; the text says what would.
    Invalid(String),
    /// It means something that hudini does not do.
    Unsupported(String),
}

impl Refusal {
    pub(super) fn into_error(self, key: &str) -> Error {
        match self {
            Self::Invalid(why) => Error::option(format!("option {key}: {why}")),
            Self::Unsupported(what) => Error::unsupported(format!("option {key}: {what}")),
        }
    }

    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Invalid(why) | Self::Unsupported(why) => why,
        }
    }
}

/// An option that hudini follows, with the type of its value.
pub struct Opt<T: 'static> {
    pub(super) key: &'static str,
    pub(super) other_names: &'static [&'static str],
    pub(super) default: Option<&'static str>,
    pub(super) values: &'static str,
    pub(super) help: &'static str,
    pub(super) read: fn(&str) -> Result<T, Refusal>,
}

impl<T> Opt<T> {
    /// The name under which the option is kept and documented.
    pub const fn key(&self) -> &'static str {
        self.key
    }

    /// The value that counts when none is given, as text.
    pub const fn default(&self) -> Option<&'static str> {
        self.default
    }

    /// Reads a value given as text.
    pub fn read(&self, raw: &str) -> Result<T, Error> {
        (self.read)(raw.trim()).map_err(|refusal| refusal.into_error(self.key))
    }
}

impl<T> fmt::Debug for Opt<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Opt").field(&self.key).finish()
    }
}

/// An [`Opt`] without its type, so that options of every type stand in one list.
pub(super) trait Honoured: Sync {
    fn key(&self) -> &'static str;
    fn other_names(&self) -> &'static [&'static str];
    fn default(&self) -> Option<&'static str>;
    fn values(&self) -> &'static str;
    fn help(&self) -> &'static str;
    fn check(&self, raw: &str) -> Result<(), Refusal>;
    /// Whether two texts stand for one value; `None` if either is no value at all.
    fn same(&self, one: &str, other: &str) -> Option<bool>;

    /// Every name, the key first.
    fn names(&self) -> Vec<&'static str> {
        std::iter::once(self.key()).chain(self.other_names().iter().copied()).collect()
    }
}

impl<T: PartialEq + 'static> Honoured for Opt<T> {
    fn key(&self) -> &'static str {
        self.key
    }

    fn other_names(&self) -> &'static [&'static str] {
        self.other_names
    }

    fn default(&self) -> Option<&'static str> {
        self.default
    }

    fn values(&self) -> &'static str {
        self.values
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn check(&self, raw: &str) -> Result<(), Refusal> {
        (self.read)(raw).map(drop)
    }

    fn same(&self, one: &str, other: &str) -> Option<bool> {
        Some((self.read)(one).ok()? == (self.read)(other).ok()?)
    }
}
