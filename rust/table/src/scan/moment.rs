//! Moments as people write them: instants of any length, or ISO dates and times.

use hudini_format::instant::{format_time, parse_time};

use crate::{Error, Result};

/// The instant that a text means. Date and time are in the table's own zone, unless a `Z` says UTC; `zone` tells how far
/// that zone lies east of UTC.
pub(super) fn parse(text: &str, zone: impl Fn(i64) -> i64) -> Result<String> {
    let text = text.trim();
    if let Some(utc) = text.strip_suffix('Z') {
        let epoch_ms = parse_time(&digits_of(utc)?, 0).map_err(|_| no_moment(text))?;
        return Ok(format_time(epoch_ms, zone(epoch_ms)));
    }
    digits_of(text)
}

fn no_moment(text: &str) -> Error {
    Error::option(format!("'{text}' is no instant and no time"))
        .with_hint("write 20261121084838673, 2026-11-21 or 2026-11-21 08:48:38.673")
}

/// Of a written-out second all milliseconds count, as in Apache Hudi; a bare run of digits is taken as it is.
fn digits_of(text: &str) -> Result<String> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    let bad = || no_moment(text);
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let mut digits = fixed(date, '-', &[4, 2, 2]).ok_or_else(bad)?;
    if time.is_empty() {
        return Ok(digits + "000000000");
    }
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "999"));
    digits += &fixed(clock, ':', &[2, 2, 2]).ok_or_else(bad)?;
    let millis: String = fraction.chars().chain(std::iter::repeat('0')).take(3).collect();
    if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    Ok(digits + &millis)
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
    #[case("2026-11-21", "20261121000000000")]
    #[case("2026-11-21 08:48:38", "20261121084838999")]
    #[case("2026-11-21T08:48:38.6Z", "20261121084838600")]
    #[case("2026-11-21T08:48:38.673456", "20261121084838673")]
    fn moments(#[case] text: &str, #[case] instant: &str) {
        assert_eq!(parse(text, |_| 0).unwrap(), instant);
    }

    #[test]
    fn utc_is_brought_to_the_zone_of_the_table() {
        assert_eq!(parse("2026-11-21T23:00:00.000Z", |_| 3_600_000).unwrap(), "20261122000000000");
        assert_eq!(parse("2026-11-21T23:00:00.000", |_| 3_600_000).unwrap(), "20261121230000000");
    }

    #[rstest]
    #[case("")]
    #[case("yesterday")]
    #[case("2026-1-2")]
    #[case("2026-11-21 08:48")]
    #[case("2026-11-21 08:48:38.")]
    fn not_moments(#[case] text: &str) {
        assert_eq!(parse(text, |_| 0).unwrap_err().kind(), crate::ErrorKind::InvalidOption);
    }
}
