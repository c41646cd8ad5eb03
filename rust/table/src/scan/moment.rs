//! Moments as people write them: instants of any length, or ISO dates and times.

use hudini_format::instant::{format_time, parse_time};

use crate::{Error, Result};

/// The instant that a text means. Date and time are in the table's own zone, unless a `Z` or an offset says in which; `zone`
/// tells how far that of the table lies east of UTC.
pub(super) fn parse(text: &str, zone: impl Fn(i64) -> i64) -> Result<String> {
    let text = text.trim();
    let read = || {
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return is_instant(text).then(|| text.to_owned());
        }
        let (local, offset) = split_offset(text)?;
        let digits = digits_of(local)?;
        let epoch_ms = time_of(&digits)?;
        Some(match offset {
            None => digits,
            Some(offset) => {
                let utc = epoch_ms - offset;
                format_time(utc, zone(utc))
            }
        })
    };
    read().ok_or_else(|| {
        Error::option(format!("'{text}' is no instant and no time"))
            .with_hint("write 20261121084838673, 2026-11-21, 2026-11-21 08:48:38.673 or 2026-11-21T08:48:38.673+02:00")
    })
}

/// Where digits end that do not tell the whole time.
const BEGINNING: &str = "00010101000000000";

/// Digits that are no time would name a state all the same, mostly the newest: the milliseconds of a Unix clock for one.
/// What is before all times begins with a zero.
fn is_instant(digits: &str) -> bool {
    let is_time = || time_of(&format!("{digits}{}", BEGINNING.get(digits.len()..)?));
    digits.starts_with('0') || is_time().is_some()
}

/// A day or an hour that there is not is no time.
fn time_of(digits: &str) -> Option<i64> {
    parse_time(digits, 0).ok().filter(|epoch_ms| format_time(*epoch_ms, 0) == digits)
}

/// A time without what is said of its zone at its end, and how many milliseconds that lies east of UTC.
fn split_offset(text: &str) -> Option<(&str, Option<i64>)> {
    if let Some(utc) = text.strip_suffix('Z') {
        return Some((utc, Some(0)));
    }
    let Some(clock) = text.find(['T', ' ']) else { return Some((text, None)) };
    let Some(sign) = text.rfind(['+', '-']).filter(|sign| *sign > clock) else { return Some((text, None)) };
    let (local, offset) = text.split_at_checked(sign)?;
    let (hours, minutes) = hours_and_minutes(offset.get(1..)?)?;
    let east = (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60_000)?;
    Some((local, Some(if offset.starts_with('-') { -east } else { east })))
}

/// As in 02:00, 0200 or 02: ISO 8601 has all three.
fn hours_and_minutes(text: &str) -> Option<(i64, i64)> {
    let digits = fixed(text, ':', &[2, 2]).or_else(|| fixed(text, ':', &[4])).or_else(|| fixed(text, ':', &[2]));
    let digits = digits?;
    let (hours, minutes) = digits.split_at_checked(2)?;
    Some((hours.parse().ok()?, if minutes.is_empty() { 0 } else { minutes.parse().ok()? }))
}

/// Of a written-out second all milliseconds count, as in Apache Hudi.
fn digits_of(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let mut digits = fixed(date, '-', &[4, 2, 2])?;
    if time.is_empty() {
        return Some(digits + "000000000");
    }
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "999"));
    digits += &fixed(clock, ':', &[2, 2, 2])?;
    let millis: String = fraction.chars().chain(std::iter::repeat('0')).take(3).collect();
    (!fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit())).then(|| digits + &millis)
}

/// Numbers of fixed widths between separators, run together.
fn fixed(text: &str, separator: char, widths: &[usize]) -> Option<String> {
    let parts: Vec<_> = text.split(separator).collect();
    let fits = parts.len() == widths.len()
        && parts.iter().zip(widths).all(|(p, w)| p.len() == *w && p.bytes().all(|b| b.is_ascii_digit()));
    fits.then(|| parts.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("20261121084838673", "20261121084838673")]
    #[case("20261121084838", "20261121084838")]
    #[case("9", "9")]
    #[case("2001", "2001")]
    #[case("20261121", "20261121")]
    #[case("2026112108", "2026112108")]
    #[case("202611210848386", "202611210848386")]
    #[case("0", "0")]
    #[case("000", "000")]
    #[case("00000000000001", "00000000000001")]
    #[case("2026-11-21", "20261121000000000")]
    #[case("2026-11-21 08:48:38", "20261121084838999")]
    #[case("2026-11-21T08:48:38.6Z", "20261121084838600")]
    #[case("2026-11-21T08:48:38.673456", "20261121084838673")]
    #[case("2026-11-21T08:48:38.673+00:00", "20261121084838673")]
    #[case("2026-11-21 23:48:38.673-02:30", "20261122021838673")]
    #[case("2026-11-21T00:48:38+01:00", "20261120234838999")]
    #[case("2026-11-21T00:48:38.000+0130", "20261120231838000")]
    #[case("2026-11-21T00:48:38.000-02", "20261121024838000")]
    fn moments(#[case] text: &str, #[case] instant: &str) {
        assert_eq!(parse(text, |_| 0).unwrap(), instant);
    }

    #[test]
    fn utc_is_brought_to_the_zone_of_the_table() {
        assert_eq!(parse("2026-11-21T23:00:00.000Z", |_| 3_600_000).unwrap(), "20261122000000000");
        assert_eq!(parse("2026-11-21T23:00:00.000-02:00", |_| 3_600_000).unwrap(), "20261122020000000");
        assert_eq!(parse("2026-11-21T23:00:00.000", |_| 3_600_000).unwrap(), "20261121230000000");
    }

    #[rstest]
    #[case("")]
    #[case("yesterday")]
    #[case("20269999")]
    #[case("1795902000000")]
    #[case("20261399999999")]
    #[case("20261128996199000")]
    #[case("20261121084838673000")]
    #[case("2026-1-2")]
    #[case("2026-11-21 08:48")]
    #[case("2026-11-21 08:48:38.")]
    #[case("2026-13-21")]
    #[case("2026-02-29")]
    #[case("2026-11-21T25:00:00")]
    #[case("2026-11-21T08:48:38+1")]
    #[case("2026-11-21T08:48:38+24:00")]
    #[case("2026-11-21T08:48:38+0260")]
    #[case("2026-11-21T08:48:38+02:0")]
    #[case("2026-11-21+01:00")]
    fn not_moments(#[case] text: &str) {
        assert_eq!(parse(text, |_| 0).unwrap_err().kind(), crate::ErrorKind::InvalidOption);
    }
}
