//! Days and times of day, as Spark reads, takes apart and prints them. The zone is UTC.

use std::fmt::Write as _;

use hudini_format::instant::{civil_from_days, days_from_civil};

use super::invalid_text;
use crate::Result;

pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(super) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// 1 January 1970 was a Thursday.
const DAYS_SINCE_MONDAY: i64 = 3;

/// `2024`, `2024-1` or `2024-01-02`; behind a whole date and a space or `T` may stand anything.
pub(super) fn date(text: &str) -> Option<i32> {
    let end = text.find([' ', 'T']).unwrap_or(text.len());
    let (date, behind) = text.split_at(end);
    let (days, whole) = days(date)?;
    (whole || behind.is_empty()).then(|| i32::try_from(days).ok())?
}

/// In days since 1970.
pub(super) fn first_day_of(year: i64) -> i64 {
    days_from_civil(year, 1, 1)
}

/// The day, and whether it was given to the day.
fn days(text: &str) -> Option<(i64, bool)> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let parts: Vec<_> = text.split('-').collect();
    let (year, month, day) = match parts.as_slice() {
        [year] => (*year, "1", "1"),
        [year, month] => (*year, *month, "1"),
        [year, month, day] => (*year, *month, *day),
        _ => return None,
    };
    let year = sign * digits(year, 4..=7)?;
    let (month, day) = (digits(month, 1..=2)?, digits(day, 1..=2)?);
    let days = days_from_civil(year, month, day);
    (civil_from_days(days) == (year, month, day)).then_some((days, parts.len() == 3))
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let plain = length.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

/// Microseconds since 1970: a date, and perhaps `T` or a space and `12:34[:56[.789]]`, and a zone as `Z` or `+01:00`.
pub(super) fn timestamp(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once([' ', 'T']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let (days, whole) = days(date)?;
    let micros = match time {
        Some(time) if whole => time_of_day(time)?,
        Some(_) => return None,
        None => 0,
    };
    days.checked_mul(MICROS_PER_DAY)?.checked_add(micros)
}

/// Microseconds of the day in UTC, which may be outside of the day.
fn time_of_day(text: &str) -> Option<i64> {
    let text = text.trim_end();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.')).unwrap_or(text.len());
    let (clock, zone) = text.split_at(end);
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (clock, None),
    };
    let parts: Vec<_> = clock.split(':').collect();
    let (hour, minute, second) = match parts.as_slice() {
        [hour, minute] if fraction.is_none() => (*hour, *minute, "0"),
        [hour, minute, second] => (*hour, *minute, *second),
        _ => return None,
    };
    let part = |text, most| digits(text, 1..=2).filter(|number| *number <= most);
    let seconds = part(hour, 23)? * 3600 + part(minute, 59)? * 60 + part(second, 59)?;
    let micros = match fraction {
        Some(fraction) if fraction.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{fraction:0<6}").get(..6)?.parse::<i64>().ok()?
        }
        Some(_) => return None,
        None => 0,
    };
    Some((seconds - zone_offset(zone.trim_start())?) * MICROS_PER_SECOND + micros)
}

/// Seconds east of UTC.
fn zone_offset(zone: &str) -> Option<i64> {
    if zone.is_empty() || ["Z", "UTC", "GMT"].iter().any(|utc| zone.eq_ignore_ascii_case(utc)) {
        return Some(0);
    }
    let (sign, rest) = match zone.strip_prefix('+') {
        Some(rest) => (1, rest),
        None => (-1, zone.strip_prefix('-')?),
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some((hours, minutes)) => (hours, minutes),
        None if rest.len() == 4 => rest.split_at_checked(2)?,
        None => (rest, "0"),
    };
    let (hours, minutes) = (digits(hours, 1..=2)?, digits(minutes, 1..=2)?);
    (hours <= 18 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// A number that a day or a time of day has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Year,
    Quarter,
    Month,
    Day,
    /// 1 is Sunday.
    DayOfWeek,
    /// 0 is Monday.
    Weekday,
    DayOfYear,
    /// Of the year that holds the week's Thursday.
    Week,
    Hour,
    Minute,
    Second,
}

impl Part {
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "year" => Self::Year,
            "quarter" => Self::Quarter,
            "month" => Self::Month,
            "day" | "dayofmonth" => Self::Day,
            "dayofweek" => Self::DayOfWeek,
            "weekday" => Self::Weekday,
            "dayofyear" => Self::DayOfYear,
            "weekofyear" => Self::Week,
            "hour" => Self::Hour,
            "minute" => Self::Minute,
            "second" => Self::Second,
            _ => return None,
        })
    }

    pub(super) fn is_of_time(self) -> bool {
        matches!(self, Self::Hour | Self::Minute | Self::Second)
    }

    /// Of a day since 1970 and the microseconds of the day.
    pub(super) fn of(self, days: i64, micros: i64) -> i64 {
        let (year, month, day) = civil_from_days(days);
        let since_monday = (days + DAYS_SINCE_MONDAY).rem_euclid(7);
        let seconds = micros / MICROS_PER_SECOND;
        match self {
            Self::Year => year,
            Self::Quarter => (month + 2) / 3,
            Self::Month => month,
            Self::Day => day,
            Self::DayOfWeek => (since_monday + 1) % 7 + 1,
            Self::Weekday => since_monday,
            Self::DayOfYear => days - first_day_of(year) + 1,
            Self::Week => {
                let thursday = days - since_monday + 3;
                (thursday - first_day_of(civil_from_days(thursday).0)) / 7 + 1
            }
            Self::Hour => seconds / 3600,
            Self::Minute => seconds / 60 % 60,
            Self::Second => seconds % 60,
        }
    }
}

/// The letters of a pattern whose texts are in the order of their moments, and how often each stands; of the fraction of a
/// second any number of digits may.
const ORDERED: [(char, usize); 7] = [('y', 4), ('M', 2), ('d', 2), ('H', 2), ('m', 2), ('s', 2), ('S', 9)];
/// The longest time, in seconds, in which a text of so many of these letters stays the same.
const LENGTHS: [i64; 7] = [366 * 86_400, 31 * 86_400, 86_400, 3600, 60, 1, 1];

/// A pattern of `date_format`: letters and how often each stands, and what is printed as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Letters(char, usize),
    Plain(String),
}

impl Format {
    pub(super) fn parse(pattern: &str) -> Result<Self> {
        let mut pieces = Vec::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            let length = rest.find(|c| c != first).unwrap_or(rest.len());
            if first == '\'' {
                let (piece, after) = quoted(rest, pattern)?;
                pieces.push(piece);
                rest = after;
                continue;
            }
            pieces.push(match (first, length) {
                ('y', 1 | 2 | 4) | ('M' | 'd' | 'H' | 'm' | 's', 1 | 2) | ('S', 1..=9) => Piece::Letters(first, length),
                _ if first.is_ascii_alphabetic() || "#{}[]".contains(first) => {
                    let piece = rest.get(..length).unwrap_or_default();
                    return Err(invalid_text(format!(
                        "the date pattern '{pattern}' has '{piece}' in it, which filters do not know"
                    )));
                }
                _ => Piece::Plain(rest.get(..length).unwrap_or_default().to_owned()),
            });
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(Self(pieces))
    }

    /// Whether later moments have greater texts, of the years of four digits: from the year down, all of one width.
    pub(super) fn is_ordered(&self) -> bool {
        let letters = self.0.iter().filter_map(|piece| match piece {
            Piece::Letters(letter, width) => Some((*letter, *width)),
            Piece::Plain(_) => None,
        });
        let mut expected = ORDERED.iter();
        let mut is_next = |(letter, width)| match expected.next() {
            Some(('S', _)) => letter == 'S',
            next => next == Some(&(letter, width)),
        };
        let mut letters = letters.peekable();
        letters.peek().is_some() && letters.all(&mut is_next)
    }

    /// The first moment with that text, and a moment that none with that text is behind, in microseconds since 1970; of
    /// formats that are ordered.
    pub(super) fn moments_of(&self, text: &str) -> Option<(i64, i64)> {
        let mut rest = text;
        // Years, months, days, hours, minutes, seconds, nanoseconds.
        let mut parts = [1970, 1, 1, 0, 0, 0, 0];
        let mut known = 0;
        for piece in &self.0 {
            let width = match piece {
                Piece::Plain(plain) => {
                    rest = rest.strip_prefix(plain.as_str())?;
                    continue;
                }
                Piece::Letters(_, width) => *width,
            };
            let (digits_of_part, behind) = rest.split_at_checked(width)?;
            rest = behind;
            let padded = if known == parts.len() - 1 { format!("{digits_of_part:0<9}") } else { digits_of_part.into() };
            *parts.get_mut(known)? = digits(&padded, padded.len()..=padded.len())?;
            known += 1;
        }
        let [year, month, day, hours, minutes, seconds, nanos] = parts;
        let days = days_from_civil(year, month, day);
        let seconds = days.checked_mul(86_400)?.checked_add(hours * 3600 + minutes * 60 + seconds)?;
        let first = seconds.checked_mul(MICROS_PER_SECOND)?.checked_add(nanos / 1000)?;
        let length = LENGTHS.get(known.checked_sub(1)?)?.checked_mul(MICROS_PER_SECOND)?;
        rest.is_empty().then_some((first, first.checked_add(length)?))
    }

    pub(super) fn push(&self, days: i64, micros: i64, out: &mut String) {
        let (year, month, day) = civil_from_days(days);
        let seconds = micros / MICROS_PER_SECOND;
        // Years are counted within their era.
        let year = if year > 0 { year } else { 1 - year };
        for piece in &self.0 {
            // Writing to a String cannot fail.
            let _ = match piece {
                Piece::Plain(text) => write!(out, "{text}"),
                Piece::Letters('y', 2) => write!(out, "{:02}", year % 100),
                Piece::Letters('y', 4) if year > 9999 => write!(out, "+{year}"),
                Piece::Letters('y', width) => write!(out, "{year:0width$}"),
                Piece::Letters('M', width) => write!(out, "{month:0width$}"),
                Piece::Letters('d', width) => write!(out, "{day:0width$}"),
                Piece::Letters('H', width) => write!(out, "{:0width$}", seconds / 3600),
                Piece::Letters('m', width) => write!(out, "{:0width$}", seconds / 60 % 60),
                Piece::Letters('s', width) => write!(out, "{:0width$}", seconds % 60),
                Piece::Letters(_, width) => {
                    let nanos = format!("{:09}", micros % MICROS_PER_SECOND * 1000);
                    write!(out, "{}", nanos.get(..*width).unwrap_or(&nanos))
                }
            };
        }
    }
}

/// Text between single quotes; two of them are one.
fn quoted<'a>(rest: &'a str, pattern: &str) -> Result<(Piece, &'a str)> {
    let inside = rest.get(1..).unwrap_or_default();
    if let Some(after) = inside.strip_prefix('\'') {
        return Ok((Piece::Plain("'".to_owned()), after));
    }
    let mut text = String::new();
    let mut left = inside;
    loop {
        let Some((part, after)) = left.split_once('\'') else {
            return Err(invalid_text(format!("a quote of the date pattern '{pattern}' is never closed")));
        };
        text.push_str(part);
        match after.strip_prefix('\'') {
            Some(after) => {
                text.push('\'');
                left = after;
            }
            None => return Ok((Piece::Plain(text), after)),
        }
    }
}
