//! Floating-point numbers as `Float.toString` and `Double.toString` print them up to Java 18.
//!
//! Those do not print the shortest digits that read back: the digits are developed one by one until the rest is smaller than
//! half the gap to the next number, with a coarse view of that gap; so one number in fifty has a digit or two more. Keys
//! were written with them, hence the same steps here. Plain from 1e-3 to 1e7, else `d.dddEn`, always with a point.
//!
//! ```text
//! value = B / S · 10^exponent        M: half the gap to the next number, on the scale of B
//! digit = B / S; B = 10 · (B mod S); M = 10 · M       until B < M or B + M > 10 · S
//! ```

use std::cmp::Ordering;

use super::bignum::Bignum;

/// Bits of a double's fraction; a float's is shifted to stand where a double's does.
const FRACTION_BITS: i32 = 52;
const FLOAT_FRACTION_BITS: i32 = 23;
/// Exponents of numbers that 64 bits may hold after scaling away their fraction.
const SMALL_EXPONENTS: std::ops::RangeInclusive<i32> = -21..=62;
/// Powers of five below 2^63.
const SMALL_FIVES: i32 = 27;
/// Decimal exponents (of `0.ddd`) of numbers that are printed without an exponent.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -2..8;

pub(crate) fn push_double(value: f64, out: &mut String) {
    let bits = value.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    push(value, (bits >> FRACTION_BITS & 0x7ff) as i32, fraction, FRACTION_BITS, 1023, out);
}

pub(crate) fn push_float(value: f32, out: &mut String) {
    let bits = value.to_bits();
    let fraction = u64::from(bits & ((1 << FLOAT_FRACTION_BITS) - 1)) << (FRACTION_BITS - FLOAT_FRACTION_BITS);
    push(value.into(), (bits >> FLOAT_FRACTION_BITS & 0xff) as i32, fraction, FLOAT_FRACTION_BITS, 127, out);
}

fn push(value: f64, biased: i32, fraction: u64, fraction_bits: i32, bias: i32, out: &mut String) {
    if value.is_nan() {
        return out.push_str("NaN");
    }
    if value.is_sign_negative() {
        out.push('-');
    }
    if value.is_infinite() {
        return out.push_str("Infinity");
    }
    if value == 0.0 {
        return out.push_str("0.0");
    }
    let (fraction, exponent, significant) = if biased == 0 {
        // Subnormal: the highest bit set takes the place of the hidden one.
        let shift = fraction.leading_zeros() as i32 - (63 - FRACTION_BITS);
        (fraction << shift, 1 - shift, fraction_bits + 1 - shift)
    } else {
        (fraction | 1 << FRACTION_BITS, biased, fraction_bits + 1)
    };
    let number = Binary { exponent: exponent - bias, fraction, significant };
    let (digits, point) = number.digits();
    push_digits(&digits, point, out);
}

/// `0.ddd · 10^point` in Java's form.
fn push_digits(digits: &str, point: i32, out: &mut String) {
    let split = |at: usize| digits.split_at_checked(at).unwrap_or((digits, ""));
    let or_zero = |text: &'_ str| if text.is_empty() { "0".to_owned() } else { text.to_owned() };
    if !PLAIN_EXPONENTS.contains(&point) {
        let (first, rest) = split(1);
        out.push_str(&format!("{first}.{}E{}", or_zero(rest), point - 1));
    } else if point <= 0 {
        out.push_str(&format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)));
    } else {
        let places = point as usize;
        let (whole, rest) = split(places);
        out.push_str(&format!("{whole:0<places$}.{}", or_zero(rest)));
    }
}

/// `fraction / 2^52 · 2^exponent`, of whose bits so many are significant.
struct Binary {
    exponent: i32,
    fraction: u64,
    significant: i32,
}

impl Binary {
    /// Decimal digits, and how many of them stand before the point.
    fn digits(&self) -> (String, i32) {
        let tail_zeros = self.fraction.trailing_zeros() as i32;
        let bits = FRACTION_BITS + 1 - tail_zeros;
        let behind_point = (bits - self.exponent - 1).max(0);
        if behind_point == 0 && SMALL_EXPONENTS.contains(&self.exponent) && bits < 64 {
            return self.whole_digits();
        }
        self.developed_digits(tail_zeros, bits, behind_point)
    }

    /// A whole number below 2^63: its own digits, less those that are beyond its precision.
    fn whole_digits(&self) -> (String, i32) {
        let doubtful = if self.exponent > self.significant { self.exponent - self.significant - 1 } else { 0 };
        // Whole decimal digits in so many bits.
        let dropped = if doubtful > 1 { (f64::from(doubtful) * std::f64::consts::LOG10_2) as u32 } else { 0 };
        let mut value = if self.exponent >= FRACTION_BITS {
            self.fraction << (self.exponent - FRACTION_BITS)
        } else {
            self.fraction >> (FRACTION_BITS - self.exponent)
        };
        if dropped > 0 {
            let unit = 10_u64.pow(dropped);
            value = value / unit + u64::from(value % unit >= unit / 2);
        }
        let text = value.to_string();
        let point = text.len() as i32 + dropped as i32;
        (text.trim_end_matches('0').to_owned(), point)
    }

    fn developed_digits(&self, tail_zeros: i32, bits: i32, behind_point: i32) -> (String, i32) {
        let mut exponent = self.estimated_exponent();
        let mut scale = self.scale(exponent, tail_zeros, bits, behind_point);
        let mut digits = Vec::new();
        let first = scale.next_digit();
        let (mut low, mut high) = scale.ends();
        if first == 0 && !high {
            exponent -= 1;
        } else {
            digits.push(first);
        }
        // Java wants a digit behind the point, which there is none of yet in the form with an exponent.
        if !(-3..8).contains(&exponent) {
            (low, high) = (false, false);
        }
        while !low && !high {
            digits.push(scale.next_digit());
            (low, high) = scale.ends();
        }
        if high && (!low || scale.is_nearer_to_next(digits.last().is_some_and(|d| d % 2 == 1))) {
            exponent += i32::from(round_up(&mut digits));
        }
        let digits = digits.into_iter().map(|d| char::from(b'0' + d)).collect::<String>();
        (digits, exponent + 1)
    }

    /// B, S and M as products of powers of two and five, with no more twos than needed.
    fn scale(&self, exponent: i32, tail_zeros: i32, bits: i32, behind_point: i32) -> Scale {
        let fives_of_b = (-exponent).max(0);
        let fives_of_s = exponent.max(0);
        let mut twos_of_b = fives_of_b + behind_point + self.exponent - (bits - 1);
        let mut twos_of_s = fives_of_s + behind_point;
        let mut twos_of_m = twos_of_b + (bits - 1) - self.significant;
        if bits == 1 {
            // Below a power of two the next number is only half as far away.
            twos_of_m -= 1;
        }
        let least = twos_of_b.min(twos_of_s).min(twos_of_m);
        for twos in [&mut twos_of_b, &mut twos_of_s, &mut twos_of_m] {
            *twos -= least;
        }
        let b = Bignum::new(self.fraction >> tail_zeros).times_five(fives_of_b).shifted(twos_of_b);
        let s = Bignum::new(1).times_five(fives_of_s).shifted(twos_of_s);
        let m = Bignum::new(1).times_five(fives_of_b).shifted(twos_of_m);
        let width_of_b = bits + twos_of_b + bits_of_five(fives_of_b);
        let width_of_tens = twos_of_s + 1 + bits_of_five(fives_of_s + 1);
        match width_of_b.max(width_of_tens) {
            ..32 => Scale::Narrow { b: b.low_bits(), s: s.low_bits(), m: m.low_bits(), ints: true },
            32..64 => Scale::Narrow { b: b.low_bits(), s: s.low_bits(), m: m.low_bits(), ints: false },
            _ => Scale::Wide { b, s, m },
        }
    }

    /// The decimal exponent, or one too many.
    #[expect(clippy::approx_constant, reason = "Java's own digits, so that the estimate is Java's")]
    fn estimated_exponent(&self) -> i32 {
        let mantissa = f64::from_bits(1023 << FRACTION_BITS | self.fraction & ((1 << FRACTION_BITS) - 1));
        let estimate =
            (mantissa - 1.5) * 0.289_529_654 + 0.176_091_259 + f64::from(self.exponent) * 0.301_029_995_663_981;
        estimate.floor() as i32
    }
}

/// Bits of a power of five, as Java's table and its rule of thumb have them.
fn bits_of_five(power: i32) -> i32 {
    if power == 0 {
        0
    } else if power < SMALL_FIVES {
        (f64::from(power) * std::f64::consts::LOG2_10 - f64::from(power)).ceil() as i32
    } else {
        power * 3
    }
}

/// The numbers of the drawing above.
enum Scale {
    /// In Java's own arithmetic, of 32 bits or 64: a sum with M may overflow there, and a tie does not end the digits.
    Narrow {
        b: i64,
        s: i64,
        m: i64,
        ints: bool,
    },
    Wide {
        b: Bignum,
        s: Bignum,
        m: Bignum,
    },
}

impl Scale {
    fn next_digit(&mut self) -> u8 {
        match self {
            Self::Narrow { b, s, m, ints } => {
                let digit = b.checked_div(*s).unwrap_or_default();
                *b = wrapped(b.checked_rem(*s).unwrap_or_default().wrapping_mul(10), *ints);
                *m = wrapped(m.wrapping_mul(10), *ints);
                digit as u8
            }
            Self::Wide { b, s, m } => {
                let digit = b.take_quotient(s);
                b.times_small(10);
                m.times_small(10);
                digit
            }
        }
    }

    /// Whether the rest is within the gap below, and above.
    fn ends(&self) -> (bool, bool) {
        match self {
            Self::Narrow { m, .. } if *m <= 0 => (true, true),
            Self::Narrow { b, s, m, ints } => (b < m, wrapped(b.wrapping_add(*m), *ints) > s.wrapping_mul(10)),
            Self::Wide { b, s, m } => (b < m, b.plus(m) >= s.clone().times_ten()),
        }
    }

    fn is_nearer_to_next(&self, odd: bool) -> bool {
        let order = match self {
            Self::Narrow { b, s, ints, .. } => {
                wrapped(b.wrapping_mul(2).wrapping_sub(s.wrapping_mul(10)), *ints).cmp(&0)
            }
            Self::Wide { b, s, .. } => b.plus(b).cmp(&s.clone().times_ten()),
        };
        order == Ordering::Greater || (order == Ordering::Equal && odd)
    }
}

fn wrapped(value: i64, ints: bool) -> i64 {
    if ints { (value as i32).into() } else { value }
}

/// Adds one to the last digit; `true` if a digit is added in front.
fn round_up(digits: &mut [u8]) -> bool {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return false;
        }
        *digit = 0;
    }
    if let Some(first) = digits.first_mut() {
        *first = 1;
    }
    true
}

#[cfg(test)]
mod tests;
