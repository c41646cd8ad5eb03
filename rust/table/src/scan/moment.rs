//! Moments as people write them: instants of any length, or ISO dates and times.

use crate::{Error, Result};

/// The instant that a text means. Date and time are in the table's own zone.
///
/// Of a written-out second all milliseconds count, as in Apache Hudi; a bare run of digits is taken as it is.
pub(super) fn parse(text: &str) -> Result<String> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    let bad = || {
        Error::option(format!("'{text}' is no instant and no time"))
            .with_hint("write 20261121084838673, 2026-11-21 or 2026-11-21 08:48:38.673")
    };
    let plain = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = plain.split_once(['T', ' ']).unwrap_or((plain, ""));
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
        assert_eq!(parse(text).unwrap(), instant);
    }

    #[rstest]
    #[case("")]
    #[case("yesterday")]
    #[case("2026-1-2")]
    #[case("2026-11-21 08:48")]
    #[case("2026-11-21 08:48:38.")]
    fn not_moments(#[case] text: &str) {
        assert_eq!(parse(text).unwrap_err().kind(), crate::ErrorKind::InvalidOption);
    }
}
