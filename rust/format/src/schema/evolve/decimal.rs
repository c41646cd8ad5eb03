//! Decimal numbers from text, as Java's BigDecimal takes them and Apache Hudi rounds them.

/// The unscaled value of `text` at that scale, rounded half up; `None` if it is no number, or one of more digits than
/// `precision`. No step takes longer than the text is.
pub(super) fn parse(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (rest.get(..at)?, rest.get(at + 1..)?.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = || whole.bytes().chain(fraction.bytes()).map(|b| b - b'0');
    // How many of the digits stand before the point, once it has moved by the scale.
    let kept = i64::try_from(whole.len()).ok()? + i64::from(exponent) + i64::from(scale);
    let limit = 10_i128.checked_pow(u32::from(precision))?;
    let mut value: i128 = 0;
    for digit in digits().take(usize::try_from(kept).unwrap_or(0)) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
        if value >= limit {
            return None;
        }
    }
    let missing = kept - i64::try_from(whole.len() + fraction.len()).ok()?;
    if value != 0 && missing > 0 {
        value = value.checked_mul(10_i128.checked_pow(u32::try_from(missing).ok()?)?)?;
    }
    let half_or_more = usize::try_from(kept).ok().and_then(|kept| digits().nth(kept)).is_some_and(|next| next >= 5);
    value += i128::from(half_or_more);
    (value < limit).then_some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    // What Apache Hudi 1.2.0 makes of them.
    #[rstest]
    #[case("12.345", Some(1235))]
    #[case("-0.125", Some(-13))]
    #[case("0.125", Some(13))]
    #[case("1.005", Some(101))]
    #[case("+1.5", Some(150))]
    #[case(".5", Some(50))]
    #[case("5.", Some(500))]
    #[case("1E-2", Some(1))]
    #[case("1e3", Some(100_000))]
    #[case("0.004999", Some(0))]
    #[case("0.005", Some(1))]
    #[case("0.0005", Some(0))]
    #[case("000000000000000000000000000000000000000000000001", Some(100))]
    #[case("99999999.99", Some(9_999_999_999))]
    #[case("99999999.994", Some(9_999_999_999))]
    #[case("99999999.995", None)]
    #[case("100000000", None)]
    #[case("1e2147483647", None)]
    #[case("0e2147483647", Some(0))]
    #[case("1e-2147483648", Some(0))]
    #[case("1e99999999999", None)]
    #[case("", None)]
    #[case("-", None)]
    #[case(".", None)]
    #[case("e5", None)]
    #[case("1.2.3", None)]
    #[case(" 7 ", None)]
    #[case("NaN", None)]
    #[case("Infinity", None)]
    #[case("--1", None)]
    fn texts(#[case] text: &str, #[case] unscaled: Option<i128>) {
        assert_eq!(parse(text, 10, 2), unscaled);
    }

    #[test]
    fn the_widest() {
        let nines = "9".repeat(38);
        assert_eq!(parse(&nines, 38, 0), Some(10_i128.pow(38) - 1));
        assert_eq!(parse(&format!("{nines}9"), 38, 0), None);
        assert_eq!(parse("1e37", 38, 0), Some(10_i128.pow(37)));
        assert_eq!(parse("1e38", 38, 0), None);
        assert_eq!(parse("1", 38, 38), None);
    }
}
