//! Partition paths made of times: numbers and texts in, a date by a pattern out.
//!
//! | `timestamp.type` | numbers count | texts |
//! |---|---|---|
//! | `UNIX_TIMESTAMP`, `EPOCHMILLISECONDS`, `EPOCHMICROSECONDS` | seconds, milliseconds, microseconds | refused |
//! | `SCALAR` | what `timestamp.scalar.time.unit` says | refused |
//! | `DATE_STRING`, `MIXED` | refused | by the first of `input.dateformat` that fits all of it |
//!
//! A null is one unit, or one millisecond, after the epoch. Where no zone is set, that of the machine counts in Apache
//! Hudi; here UTC.

mod calendar;
mod parse;
mod pattern;
mod zone;

use crate::properties::Properties;
use crate::{Error, Result};

use pattern::Pattern;
use zone::{UTC, Zone};

const PREFIX: &str = "hoodie.keygen.timebased.";
const OLD_PREFIX: &str = "hoodie.deltastreamer.keygen.timebased.";
const TYPE: &str = "timestamp.type";
const UNIT: &str = "timestamp.scalar.time.unit";
const INPUT_FORMAT: &str = "input.dateformat";
const INPUT_DELIMITER: &str = "input.dateformat.list.delimiter.regex";
const OUTPUT_FORMAT: &str = "output.dateformat";
const ZONE: &str = "timezone";
const INPUT_ZONE: &str = "input.timezone";
const OUTPUT_ZONE: &str = "output.timezone";
const PARSER_CLASSES: [&str; 2] =
    ["hoodie.keygen.datetime.parser.class", "hoodie.deltastreamer.keygen.datetime.parser.class"];
const PARSER_CLASS: &str = "org.apache.hudi.keygen.parser.HoodieDateTimeParser";

/// A value of a partition column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TimeValue<'a> {
    Null,
    Number(i64),
    /// Of a timestamp column whose unit is known, when the table is told to mind it.
    Millis(i64),
    Text(&'a str),
}

/// How the directory of a time is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimePartition {
    input: Input,
    input_zone: Option<Zone>,
    output: Pattern,
    output_zone: Option<Zone>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Input {
    /// Nanoseconds of one unit.
    Numbers(i64),
    Texts {
        patterns: Vec<Pattern>,
        first: Pattern,
    },
}

impl TimePartition {
    /// Reads the settings of a table, also by their names from before release 0.15.
    pub fn from_properties(properties: &Properties) -> Result<Self> {
        let get = |key: &str| {
            let named = |prefix: &str| properties.get(&format!("{prefix}{key}"));
            named(PREFIX).or_else(|| named(OLD_PREFIX))
        };
        let missing = |key: &str| Error::option(format!("a time partition needs {PREFIX}{key}"));
        let required = |key: &str| get(key).ok_or_else(|| missing(key));
        if let Some(class) = PARSER_CLASSES.iter().find_map(|key| properties.get(key)).filter(|c| *c != PARSER_CLASS) {
            return Err(Error::unsupported(format!("the date parser {class}")));
        }
        let kind = required(TYPE)?;
        let input = match kind {
            "UNIX_TIMESTAMP" => Input::Numbers(unit_nanos("SECONDS")?),
            "EPOCHMILLISECONDS" => Input::Numbers(unit_nanos("MILLISECONDS")?),
            "EPOCHMICROSECONDS" => Input::Numbers(unit_nanos("MICROSECONDS")?),
            "SCALAR" => Input::Numbers(unit_nanos(&get(UNIT).unwrap_or("SECONDS").to_uppercase())?),
            "DATE_STRING" | "MIXED" => {
                let formats = get(INPUT_FORMAT).filter(|f| !f.is_empty()).ok_or_else(|| missing(INPUT_FORMAT))?;
                texts(formats, get(INPUT_DELIMITER).map(str::trim).filter(|d| !d.is_empty()).unwrap_or(","))?
            }
            other => return Err(Error::option(format!("{PREFIX}{TYPE} is '{other}'"))),
        };
        // The common zone goes before the others even when it is empty.
        let zone = |key: &str| get(ZONE).or_else(|| get(key)).filter(|name| !name.trim().is_empty()).map(Zone::named);
        Ok(Self {
            input,
            input_zone: zone(INPUT_ZONE),
            output: Pattern::parse(required(OUTPUT_FORMAT)?)?,
            output_zone: zone(OUTPUT_ZONE),
        })
    }

    /// The name of a value's directory, neither escaped nor in Hive's style.
    pub(super) fn path(&self, value: TimeValue<'_>) -> Result<String> {
        match (&self.input, value) {
            (_, TimeValue::Millis(utc_ms)) => Ok(self.print(utc_ms, None)),
            (Input::Numbers(unit), TimeValue::Number(number)) => Ok(self.print(to_millis(number, *unit), None)),
            (Input::Numbers(unit), TimeValue::Null) => Ok(self.print(to_millis(1, *unit), None)),
            (Input::Texts { patterns, .. }, TimeValue::Text(text)) => self.text_path(patterns, text),
            (Input::Texts { patterns, first }, TimeValue::Null) => {
                let zone = self.input_zone.as_ref().or(self.output_zone.as_ref()).unwrap_or(&UTC);
                self.text_path(patterns, &first.print(1, zone.offset_at(1)))
            }
            (Input::Numbers(_), TimeValue::Text(text)) => {
                Err(Error::schema(format!("'{text}' in a partition column that holds times as numbers")))
            }
            (Input::Texts { .. }, TimeValue::Number(number)) => {
                Err(Error::schema(format!("{number} in a partition column that holds times as texts")))
            }
        }
    }

    fn text_path(&self, patterns: &[Pattern], text: &str) -> Result<String> {
        let found = patterns.iter().find_map(|pattern| pattern.find(text));
        let unfit = || Error::schema(format!("'{text}' fits no {PREFIX}{INPUT_FORMAT}"));
        let parsed = found.ok_or_else(unfit)?.resolve().map_err(|e| unfit().caused_by(e))?;
        let Some(offset_ms) = parsed.offset_ms else {
            let zone = self.input_zone.as_ref().unwrap_or(&UTC);
            let utc_ms = zone.to_utc(parsed.local_ms).map_err(|e| unfit().caused_by(e))?;
            return Ok(self.print(utc_ms, Some(zone)));
        };
        let utc_ms = parsed.local_ms.saturating_sub(offset_ms);
        if self.input_zone.is_none() && self.output_zone.is_none() {
            return Ok(self.output.print(utc_ms, offset_ms));
        }
        Ok(self.print(utc_ms, self.input_zone.as_ref()))
    }

    /// In the zone that is set for output, else in that of the text, else in UTC.
    fn print(&self, utc_ms: i64, zone_of_text: Option<&Zone>) -> String {
        let zone = self.output_zone.as_ref().or(zone_of_text).unwrap_or(&UTC);
        self.output.print(utc_ms, zone.offset_at(utc_ms))
    }
}

fn texts(formats: &str, delimiter: &str) -> Result<Input> {
    let delimiter = plain_delimiter(delimiter)?;
    // Java drops what is empty at the end of a list.
    let formats = formats.trim_end_matches(&delimiter);
    let patterns: Vec<_> =
        formats.split(&delimiter).map(|format| Pattern::parse(format.trim())).collect::<Result<_>>()?;
    patterns.iter().try_for_each(Pattern::check_readable)?;
    let first = Pattern::parse(formats.split(&delimiter).next().unwrap_or_default())?;
    Ok(Input::Texts { patterns, first })
}

/// The text that a regular expression stands for, where it stands for one.
fn plain_delimiter(regex: &str) -> Result<String> {
    const SPECIAL: &[char] = &['\\', '.', '[', ']', '{', '}', '(', ')', '*', '+', '?', '^', '$', '|'];
    let escaped = regex.strip_prefix('\\').or_else(|| regex.strip_prefix('[').and_then(|r| r.strip_suffix(']')));
    if let Some(single) = escaped
        && let [only] = single.chars().collect::<Vec<_>>().as_slice()
        && !only.is_alphanumeric()
        && *only != '^'
    {
        return Ok(single.to_owned());
    }
    if regex.contains(SPECIAL) {
        let message = format!("{PREFIX}{INPUT_DELIMITER} = '{regex}', a regular expression");
        return Err(Error::unsupported(message).with_hint("a plain text, or one character after a backslash"));
    }
    Ok(regex.to_owned())
}

fn unit_nanos(name: &str) -> Result<i64> {
    const SECOND: i64 = 1_000_000_000;
    match name {
        "NANOSECONDS" => Ok(1),
        "MICROSECONDS" => Ok(1000),
        "MILLISECONDS" => Ok(1_000_000),
        "SECONDS" => Ok(SECOND),
        "MINUTES" => Ok(60 * SECOND),
        "HOURS" => Ok(3600 * SECOND),
        "DAYS" => Ok(86_400 * SECOND),
        other => Err(Error::option(format!("{PREFIX}{UNIT} is '{other}'"))),
    }
}

/// Rounds towards zero and stops at the ends of 64 bits, as Java's TimeUnit does.
fn to_millis(value: i64, unit_nanos: i64) -> i64 {
    let millis = i128::from(value) * i128::from(unit_nanos) / 1_000_000;
    i64::try_from(millis).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests;
