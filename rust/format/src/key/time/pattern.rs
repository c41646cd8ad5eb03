//! Patterns of dates and times as Joda has them: letters for fields, quoted and other text as it is.
//!
//! | letters | field | | letters | field |
//! |---|---|---|---|---|
//! | `y` `Y` `C` `G` | year, year of era, century, era | | `H` `k` | hour 0–23, 1–24 |
//! | `x` `w` `e` | year, number and day of an ISO week | | `K` `h` `a` | hour 0–11, 1–12, half of the day |
//! | `M` `d` `D` `E` | month, day of month, of year, of week | | `m` `s` `S` | minute, second, fraction |
//! | `Z` `ZZ` | offset `+hhmm`, `+hh:mm` | | `z` `ZZZ` | names of zones: refused |
//!
//! Three letters and more of month and weekday are English words, four spell them out.

use crate::instant::civil_from_days;
use crate::{Error, Result};

use super::calendar::{Civil, MILLIS_PER_DAY};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// From the first day of an ISO week on.
pub(super) const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
pub(super) const HALFDAYS: [&str; 2] = ["AM", "PM"];
/// Letters of the short form of a month or weekday.
const SHORT: usize = 3;

/// In the order in which a date is put together: by the length of what a field counts within, then of what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Era,
    YearOfEra,
    Century,
    Year,
    WeekYear,
    Month,
    DayOfYear,
    Week,
    DayOfMonth,
    DayOfWeek,
    HalfDay,
    Hour,
    ClockHour,
    HourOfHalf,
    ClockHourOfHalf,
    Minute,
    Second,
    Fraction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// At least so many digits.
    Number(Field, usize),
    /// The last two digits of a year.
    ShortYear(Field),
    /// A word, spelled out or short.
    Word(Field, bool),
    /// So many digits of a second.
    Fraction(usize),
    /// With or without a colon.
    Offset(bool),
    Text(String),
}

impl Item {
    /// Whether it starts with a digit, so that a number before it must know where to stop.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Number(..) | Self::ShortYear(_) | Self::Fraction(_))
    }
}

/// A pattern, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) items: Vec<Item>,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut items = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if first.is_ascii_alphabetic() {
                let count = rest.chars().take_while(|c| *c == first).count();
                items.push(field_item(first, count).map_err(|e| refusal(text, &e))?);
                rest = rest.get(count..).unwrap_or_default();
            } else {
                let (literal, after) = literal(rest);
                if literal.is_empty() {
                    return Err(refusal(text, "quotes around nothing"));
                }
                items.push(Item::Text(literal));
                rest = after;
            }
        }
        if items.is_empty() {
            return Err(refusal(text, "nothing in it"));
        }
        Ok(Self { text: text.to_owned(), items })
    }

    /// Prints a time as clocks show it that are `offset_ms` ahead of UTC.
    pub(super) fn print(&self, utc_ms: i64, offset_ms: i64) -> String {
        // Joda gives up the offset where the sum leaves 64 bits.
        let (local, offset_ms) = utc_ms.checked_add(offset_ms).map_or((utc_ms, 0), |local| (local, offset_ms));
        let time = Civil::of(local);
        let mut out = String::new();
        for item in &self.items {
            match item {
                Item::Number(field, width) => out.push_str(&padded(number(&time, *field), *width)),
                Item::ShortYear(field) => out.push_str(&padded(number(&time, *field).abs() % 100, 2)),
                Item::Word(field, full) => out.push_str(word(&time, *field, *full)),
                Item::Fraction(digits) => out.push_str(&fraction(time.millis, *digits)),
                Item::Offset(colon) => out.push_str(&offset(offset_ms, *colon)),
                Item::Text(text) => out.push_str(text),
            }
        }
        out
    }
}

fn refusal(pattern: &str, why: &str) -> Error {
    Error::unsupported(format!("the date pattern '{pattern}': {why}"))
        .with_hint("patterns are Joda's: yMdDHhkKmsSaEewxYCGZ, text in single quotes")
}

fn field_item(letter: char, count: usize) -> Result<Item, String> {
    let number = |field| Ok(Item::Number(field, count));
    let year = |field| Ok(if count == 2 { Item::ShortYear(field) } else { Item::Number(field, count) });
    match letter {
        'G' => Ok(Item::Word(Field::Era, false)),
        'C' => number(Field::Century),
        'Y' if count != 2 => number(Field::YearOfEra),
        'y' | 'Y' => year(Field::Year),
        'x' => year(Field::WeekYear),
        'M' if count >= SHORT => Ok(Item::Word(Field::Month, count > SHORT)),
        'M' => number(Field::Month),
        'w' => number(Field::Week),
        'D' => number(Field::DayOfYear),
        'd' => number(Field::DayOfMonth),
        'e' => number(Field::DayOfWeek),
        'E' => Ok(Item::Word(Field::DayOfWeek, count > SHORT)),
        'a' => Ok(Item::Word(Field::HalfDay, true)),
        'H' => number(Field::Hour),
        'k' => number(Field::ClockHour),
        'K' => number(Field::HourOfHalf),
        'h' => number(Field::ClockHourOfHalf),
        'm' => number(Field::Minute),
        's' => number(Field::Second),
        'S' => Ok(Item::Fraction(count)),
        'Z' if count <= 2 => Ok(Item::Offset(count == 2)),
        'Z' | 'z' => Err(format!("'{letter}' asks for the name of a time zone")),
        other => Err(format!("'{other}' is no letter of a pattern")),
    }
}

/// Text up to the next letter outside of quotes; two quotes are one.
fn literal(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\'' {
            if chars.next_if(|(_, next)| *next == '\'').is_some() {
                out.push('\'');
            } else {
                quoted = !quoted;
            }
        } else if !quoted && c.is_ascii_alphabetic() {
            return (out, text.get(at..).unwrap_or_default());
        } else {
            out.push(c);
        }
    }
    (out, "")
}

fn padded(value: i64, width: usize) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{:0width$}", value.unsigned_abs())
}

fn number(time: &Civil, field: Field) -> i64 {
    let hour = time.hour();
    // The year before year 1 is year 0, and the first before the era.
    let of_era = if time.year > 0 { time.year } else { 1 - time.year };
    match field {
        Field::Era => i64::from(time.year > 0),
        Field::Century => of_era / 100,
        Field::YearOfEra => of_era,
        Field::Year => time.year,
        Field::WeekYear => time.week().0,
        Field::Month => time.month,
        Field::Week => time.week().1,
        Field::DayOfYear => time.day_of_year(),
        Field::DayOfMonth => time.day,
        Field::DayOfWeek => time.weekday() + 1,
        Field::HalfDay => hour / 12,
        Field::Hour => hour,
        Field::ClockHour => from_one(hour, 24),
        Field::HourOfHalf => hour % 12,
        Field::ClockHourOfHalf => from_one(hour % 12, 12),
        Field::Minute => time.millis / 60_000 % 60,
        Field::Second => time.millis / 1000 % 60,
        Field::Fraction => time.millis % 1000,
    }
}

/// Midnight is the last hour where hours count from one.
fn from_one(hour: i64, last: i64) -> i64 {
    if hour == 0 { last } else { hour }
}

fn word(time: &Civil, field: Field, full: bool) -> &'static str {
    let (words, index): (&[&'static str], i64) = match field {
        Field::Month => (&MONTHS, time.month - 1),
        Field::DayOfWeek => (&WEEKDAYS, time.weekday()),
        Field::HalfDay => (&HALFDAYS, time.hour() / 12),
        _ => (&["BC", "AD"], number(time, Field::Era)),
    };
    let word = usize::try_from(index).ok().and_then(|i| words.get(i)).copied().unwrap_or_default();
    if full { word } else { word.get(..SHORT).unwrap_or(word) }
}

/// Digits behind the milliseconds are zeros.
fn fraction(millis_of_day: i64, digits: usize) -> String {
    let mut text = padded(millis_of_day % 1000, 3);
    while text.len() < digits {
        text.push('0');
    }
    text.truncate(digits);
    text
}

fn offset(offset_ms: i64, colon: bool) -> String {
    let sign = if offset_ms < 0 { '-' } else { '+' };
    let minutes = offset_ms.abs() / 60_000;
    let colon = if colon { ":" } else { "" };
    format!("{sign}{:02}{colon}{:02}", minutes / 60, minutes % 60)
}

impl Civil {
    /// The local time so many milliseconds after that of the epoch.
    pub(super) fn of(local_ms: i64) -> Self {
        let days = local_ms.div_euclid(MILLIS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        Self { year, month, day, millis: local_ms.rem_euclid(MILLIS_PER_DAY), days }
    }
}
