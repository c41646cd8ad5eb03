//! Whole numbers of any size, as far as printing a floating-point number needs them: a thousand bits or so.

use std::cmp::Ordering;

/// Least significant word first, no zero word at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bignum(Vec<u32>);

impl Bignum {
    pub(super) fn new(value: u64) -> Self {
        Self(vec![value as u32, (value >> 32) as u32]).trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    /// All of a number below 2^63.
    pub(super) fn low_bits(&self) -> i64 {
        let word = |at: usize| u64::from(self.0.get(at).copied().unwrap_or_default());
        (word(0) | word(1) << 32).cast_signed()
    }

    pub(super) fn times_small(&mut self, factor: u32) {
        let mut carry = 0;
        for word in &mut self.0 {
            let product = u64::from(*word) * u64::from(factor) + carry;
            *word = product as u32;
            carry = product >> 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    pub(super) fn times_ten(mut self) -> Self {
        self.times_small(10);
        self
    }

    pub(super) fn times_five(mut self, power: i32) -> Self {
        (0..power).for_each(|_| self.times_small(5));
        self
    }

    /// Times a power of two that is not negative.
    pub(super) fn shifted(mut self, power: i32) -> Self {
        let power = power.unsigned_abs();
        self.times_small(1 << (power % 32));
        self.0.splice(0..0, std::iter::repeat_n(0, power as usize / 32));
        self.trimmed()
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut carry = 0;
        let mut sum = Vec::with_capacity(self.0.len() + 1);
        for at in 0..self.0.len().max(other.0.len()) {
            let word = |number: &Self| u64::from(number.0.get(at).copied().unwrap_or_default());
            let total = word(self) + word(other) + carry;
            sum.push(total as u32);
            carry = total >> 32;
        }
        sum.push(carry as u32);
        Self(sum).trimmed()
    }

    /// How often `divisor` goes into this number, which is left with the rest. Meant for a few times.
    pub(super) fn take_quotient(&mut self, divisor: &Self) -> u8 {
        let mut times = 0;
        while *self >= *divisor && times < 10 {
            self.minus(divisor);
            times += 1;
        }
        times
    }

    fn minus(&mut self, other: &Self) {
        let mut borrow = false;
        for (at, word) in self.0.iter_mut().enumerate() {
            let (less, first) = word.overflowing_sub(other.0.get(at).copied().unwrap_or_default());
            let (less, second) = less.overflowing_sub(u32::from(borrow));
            *word = less;
            borrow = first || second;
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl Ord for Bignum {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Bignum {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
