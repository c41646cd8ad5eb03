//! Partition paths and the values in them: escapes, `field=value`, dates with slashes.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::{Error, Result};

/// The directory of rows whose partition value is null or empty.
pub const DEFAULT_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// Percent-encodes what Apache Hudi encodes in partition values, and nothing else.
pub fn push_escaped(value: &str, out: &mut String) {
    for c in value.chars() {
        let special = matches!(
            c,
            '\0'..='\x1f'
                | '\x7f'
                | '"'
                | '#'
                | '%'
                | '\''
                | '*'
                | '/'
                | ':'
                | '='
                | '?'
                | '\\'
                | '{'
                | '['
                | ']'
                | '^'
        );
        if special {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{:02X}", u32::from(c));
        } else {
            out.push(c);
        }
    }
}

/// Undoes [`push_escaped`]: every percent sign with two hexadecimal digits is a character, any other is itself.
pub fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('%') {
        out.push_str(plain);
        let digits = after.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(unit) => {
                out.push(char::from(unit));
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push('%');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// How a table names the directories of its partitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathStyle {
    /// `field=value` instead of `value`.
    pub hive: bool,
    /// Values are percent-encoded.
    pub url_encoded: bool,
    /// The dashes of the one partition value are slashes: `2020/02/29`.
    pub slashed_dates: bool,
}

impl PathStyle {
    /// The values of the partition fields in a path relative to the table; `None` for null.
    ///
    /// As Apache Hudi reads them on Spark: escapes are undone whether or not the table escapes its values, but of one field a
    /// path of several levels is the value as it stands. Values of time partitions are printed dates, and what was
    /// printed cannot always be told from the date.
    pub fn values<'a>(&self, path: &'a str, fields: &[impl AsRef<str>]) -> Result<Vec<Option<Cow<'a, str>>>> {
        match fields {
            [] if path.is_empty() => Ok(Vec::new()),
            [field] => Ok(vec![self.only_value(path, field.as_ref())]),
            _ => {
                let levels: Vec<_> = path.split('/').collect();
                if path.is_empty() || levels.len() != fields.len() {
                    let message =
                        format!("the partition path '{path}' has not the {} levels of its table", fields.len());
                    return Err(Error::schema(message).with_hint("values with slashes need URL encoding"));
                }
                Ok(levels.into_iter().zip(fields).map(|(level, field)| value(level, field.as_ref())).collect())
            }
        }
    }

    fn only_value<'a>(&self, path: &'a str, field: &str) -> Option<Cow<'a, str>> {
        if !path.contains('/') {
            return value(path, field);
        }
        let whole = without_name(path, field).unwrap_or(path);
        Some(if self.slashed_dates { whole.replace('/', "-").into() } else { Cow::Borrowed(whole) })
    }
}

/// The prefix is taken off wherever it stands, as it is from tables that changed their style.
fn without_name<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    text.strip_prefix(field)?.strip_prefix('=')
}

/// As Apache Hudi has it: whatever stands before the first `=` of a level is a name, and not asked whose.
fn bare<'a>(level: &'a str, field: &str) -> &'a str {
    let unnamed = || level.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    without_name(level, field).or_else(|| Some(unnamed()?.1)).unwrap_or(level)
}

fn value<'a>(level: &'a str, field: &str) -> Option<Cow<'a, str>> {
    let bare = bare(level, field);
    (bare != DEFAULT_PARTITION).then(|| unescape(bare))
}
