//! Remainders without division, which takes longer than a hash.

/// Divides by one number again and again. A remainder is the number times the fractional part of the quotient, which 64
/// bits hold exactly enough for all numbers of 32 bits (Lemire, Kaser and Kurz, "Faster remainder by direct computation").
#[derive(Debug, Clone, Copy)]
pub(super) struct Modulus {
    divisor: u32,
    inverse: u64,
}

impl Modulus {
    /// By zero all remainders are zero.
    pub(super) fn new(divisor: u32) -> Self {
        let inverse = u64::MAX.checked_div(u64::from(divisor)).map_or(0, |whole| whole.wrapping_add(1));
        Self { divisor, inverse }
    }

    #[inline]
    pub(super) fn remainder(self, number: u32) -> u32 {
        let fraction = self.inverse.wrapping_mul(u64::from(number));
        ((u128::from(fraction) * u128::from(self.divisor)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edge() -> impl Strategy<Value = u32> {
        prop_oneof![Just(1), Just(u32::MAX), Just(1 << 31), 1_u32..100, 1..=u32::MAX]
    }

    proptest! {
        #[test]
        fn remainders_are_those_of_division(number in prop_oneof![Just(0), edge()], divisor in edge()) {
            prop_assert_eq!(Modulus::new(divisor).remainder(number), number % divisor);
        }
    }
}
