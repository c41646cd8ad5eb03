//! Texts of dates and times back into times, by the rules of Joda.
//!
//! A number takes up to nine digits, or as many as the pattern has letters where another number follows. Fields are set one
//! after the other, the longest unit first, on 1970-01-01T00:00:00; then all of them once more, which finds contradictions.

use crate::instant::days_from_civil;
use crate::{Error, Result};

use super::calendar::{Civil, MILLIS_PER_DAY, days_of_month, first_week};
use super::pattern::{Field, HALFDAYS, Item, MONTHS, Pattern, WEEKDAYS};

/// Digits of a number that none follows.
const MAX_DIGITS: usize = 9;
/// The year of a text that starts with a month or day.
const DEFAULT_YEAR: i64 = 2000;
const MILLIS_PER_HOUR: i64 = 3_600_000;

/// A local time, and the offset if the text holds one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) local_ms: i64,
    pub(super) offset_ms: Option<i64>,
}

/// What a pattern found in a text.
#[derive(Debug, Default)]
pub(super) struct Found {
    fields: Vec<(Field, i64)>,
    offset_ms: Option<i64>,
}

impl Pattern {
    /// Refuses what can be printed but not read: two-digit years mean years around the day of reading.
    pub(super) fn check_readable(&self) -> Result<()> {
        let readable = |item: &Item| {
            !matches!(item, Item::ShortYear(_) | Item::Word(Field::Era, _) | Item::Number(Field::Century, _))
        };
        if self.items.iter().all(readable) {
            return Ok(());
        }
        let message = format!("reading dates by '{}': short years, centuries and eras", self.text);
        Err(Error::unsupported(message))
    }

    /// The fields in a text, if all of it fits.
    pub(super) fn find(&self, text: &str) -> Option<Found> {
        let mut found = Found::default();
        let mut rest = text;
        for (at, item) in self.items.iter().enumerate() {
            let before_number = self.items.get(at + 1).is_some_and(Item::is_number);
            rest = match item {
                Item::Number(field, letters) => {
                    let (value, rest) = number(rest, *field, max_digits(*field, *letters, before_number))?;
                    found.fields.push((*field, value));
                    rest
                }
                Item::Word(field, _) => {
                    let (value, rest) = word(rest, *field)?;
                    found.fields.push((*field, value));
                    rest
                }
                Item::Fraction(digits) => {
                    let (value, rest) = fraction(rest, *digits)?;
                    found.fields.push((Field::Fraction, value));
                    rest
                }
                Item::Offset(_) => {
                    let (value, rest) = offset(rest)?;
                    found.offset_ms = Some(value);
                    rest
                }
                Item::Text(literal) => strip_ignoring_case(rest, literal)?,
                Item::ShortYear(_) => return None,
            };
        }
        rest.is_empty().then_some(found)
    }
}

impl Found {
    pub(super) fn resolve(mut self) -> Result<Parsed> {
        // The order of Joda: by the unit in which a field counts within which other; a stable sort.
        self.fields.sort_by_key(|(field, _)| *field);
        if let Some((first, _)) = self.fields.first()
            && (Field::Month..=Field::DayOfWeek).contains(first)
        {
            self.fields.push((Field::Year, DEFAULT_YEAR));
            self.fields.sort_by_key(|(field, _)| *field);
        }
        let mut local_ms = 0;
        for (field, value) in &self.fields {
            local_ms = set(local_ms, *field, *value, true)?;
        }
        let last = self.fields.len().saturating_sub(1);
        for (at, (field, value)) in self.fields.iter().enumerate() {
            local_ms = set(local_ms, *field, *value, at == last)?;
        }
        Ok(Parsed { local_ms, offset_ms: self.offset_ms })
    }
}

fn max_digits(field: Field, letters: usize, before_number: bool) -> usize {
    match field {
        Field::Year | Field::YearOfEra | Field::WeekYear if before_number => letters,
        Field::Year | Field::YearOfEra | Field::WeekYear => MAX_DIGITS,
        Field::DayOfYear => 3,
        Field::DayOfWeek => 1,
        _ => 2,
    }
}

fn number(text: &str, field: Field, max_digits: usize) -> Option<(i64, &str)> {
    let signed = matches!(field, Field::Year | Field::WeekYear);
    let starts_number = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_digit());
    let (sign, digits) = match text.strip_prefix('-').filter(starts_number) {
        Some(rest) if signed => (-1, rest),
        _ => (1, text.strip_prefix('+').filter(|rest| signed && starts_number(rest)).unwrap_or(text)),
    };
    let count = digits.bytes().take(max_digits).take_while(u8::is_ascii_digit).count();
    let (taken, rest) = digits.split_at_checked(count)?;
    // A year of more than nine digits is none.
    let value: i32 = taken.parse().ok()?;
    Some((sign * i64::from(value), rest))
}

fn fraction(text: &str, max_digits: usize) -> Option<(i64, &str)> {
    let count = text.bytes().take(max_digits).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(count).filter(|_| count > 0)?;
    let millis = digits.bytes().chain([b'0'; 3]).take(3).fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0'));
    Some((millis, rest))
}

/// A word in full or its first three letters; as it is written, in capitals or in small letters. The longest one wins.
fn word(text: &str, field: Field) -> Option<(i64, &str)> {
    let words: &[&str] = match field {
        Field::Month => &MONTHS,
        Field::DayOfWeek => &WEEKDAYS,
        _ => &HALFDAYS,
    };
    let first = if field == Field::HalfDay { 0 } else { 1 };
    let forms =
        words.iter().zip(first..).flat_map(|(word, value)| [(*word, value), (word.get(..3).unwrap_or(word), value)]);
    let spelled = |word: &str, head: &str| head == word || head == word.to_lowercase() || head == word.to_uppercase();
    forms
        .filter_map(|(word, value)| {
            text.split_at_checked(word.len()).filter(|(head, _)| spelled(word, head)).map(|(_, rest)| (value, rest))
        })
        .min_by_key(|(_, rest)| rest.len())
}

fn strip_ignoring_case<'a>(text: &'a str, literal: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(literal.len())?;
    (head.to_lowercase() == literal.to_lowercase()).then_some(rest)
}

/// `Z`, or a sign and hh, hhmm, hhmmss, hhmmssSSS, hh:mm, hh:mm:ss, hh:mm:ss.SSS.
fn offset(text: &str) -> Option<(i64, &str)> {
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        return Some((0, rest));
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, mut rest) = two_digits(text.strip_prefix(['+', '-'])?, 23)?;
    let mut millis = hours * MILLIS_PER_HOUR;
    let colons = rest.starts_with(':');
    for unit in [60_000, 1000] {
        let next = if colons { rest.strip_prefix(':') } else { Some(rest).filter(|r| starts_with_digit(r)) };
        let Some(next) = next else { return Some((sign * millis, rest)) };
        let (value, after) = two_digits(next, 59)?;
        millis += value * unit;
        rest = after;
    }
    let digits = if colons { rest.strip_prefix(['.', ',']) } else { Some(rest).filter(|r| starts_with_digit(r)) };
    match digits {
        Some(digits) => fraction(digits, 3).map(|(value, rest)| (sign * (millis + value), rest)),
        None => Some((sign * millis, rest)),
    }
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

fn two_digits(text: &str, max: i64) -> Option<(i64, &str)> {
    let (digits, rest) = text.split_at_checked(2).filter(|(digits, _)| digits.bytes().all(|b| b.is_ascii_digit()))?;
    let value = digits.parse().ok()?;
    (value <= max).then_some((value, rest))
}

/// The time with one field changed, and all shorter units at their beginnings if `reset`.
fn set(local_ms: i64, field: Field, value: i64, reset: bool) -> Result<i64> {
    let time = Civil::of(local_ms);
    let outside = || Error::schema(format!("{value} for the {field:?} of a date"));
    let check = |from: i64, to: i64| if (from..=to).contains(&value) { Ok(value) } else { Err(outside()) };
    let at = |days: i64, millis: i64| days * MILLIS_PER_DAY + if reset { 0 } else { millis };
    let in_day = |unit: i64, value: i64, current: i64| {
        let below = if reset { time.millis % unit } else { 0 };
        time.days * MILLIS_PER_DAY + time.millis + (value - current) * unit - below
    };
    let hour = time.hour();
    Ok(match field {
        Field::Year | Field::YearOfEra => {
            let earliest = if field == Field::Year { -292_275_054 } else { 1 };
            let year = check(earliest, 292_278_993)?;
            let (month, day) = if reset { (1, 1) } else { (time.month, time.day) };
            at(days_from_civil(year, month, day.min(days_of_month(year, month))), time.millis)
        }
        Field::WeekYear => {
            let year = check(-292_275_054, 292_278_993)?;
            let into_year = if reset { 0 } else { (time.week().1 - 1) * 7 + time.weekday() };
            at(first_week(year) + into_year, time.millis)
        }
        Field::Month => {
            let month = check(1, 12)?;
            let day = if reset { 1 } else { time.day };
            at(days_from_civil(time.year, month, day.min(days_of_month(time.year, month))), time.millis)
        }
        Field::Week => {
            let year = time.week().0;
            let week = check(1, (first_week(year + 1) - first_week(year)) / 7)?;
            at(first_week(year) + (week - 1) * 7 + if reset { 0 } else { time.weekday() }, time.millis)
        }
        Field::DayOfYear => {
            let first = days_from_civil(time.year, 1, 1);
            at(first + check(1, days_from_civil(time.year + 1, 1, 1) - first)? - 1, time.millis)
        }
        Field::DayOfMonth => at(time.days - time.day + check(1, days_of_month(time.year, time.month))?, time.millis),
        Field::DayOfWeek => at(time.days - time.weekday() + check(1, 7)? - 1, time.millis),
        Field::HalfDay => in_day(12 * MILLIS_PER_HOUR, check(0, 1)?, hour / 12),
        Field::Hour => in_day(MILLIS_PER_HOUR, check(0, 23)?, hour),
        Field::ClockHour => in_day(MILLIS_PER_HOUR, check(1, 24)? % 24, hour),
        Field::HourOfHalf => in_day(MILLIS_PER_HOUR, check(0, 11)?, hour % 12),
        Field::ClockHourOfHalf => in_day(MILLIS_PER_HOUR, check(1, 12)? % 12, hour % 12),
        Field::Minute => in_day(60_000, check(0, 59)?, time.millis / 60_000 % 60),
        Field::Second => in_day(1000, check(0, 59)?, time.millis / 1000 % 60),
        Field::Fraction => in_day(1, check(0, 999)?, time.millis % 1000),
        Field::Era | Field::Century => return Err(outside()),
    })
}
