//! Remainders without division, which takes longer than a hash.

/// Divides by one number again and again. The quotient is the number times an inverse that was rounded up: for numbers up to
/// 2^31, and so for what a hash is without its sign, too little to show (Granlund and Montgomery, "Division by invariant
/// integers using multiplication").
#[derive(Debug, Clone, Copy)]
pub(super) struct Modulus {
    divisor: u32,
    inverse: u32,
    shift: u32,
}

/// Bits of what is divided, but for the greatest number.
const BITS: u32 = 31;

impl Modulus {
    /// Of a divisor that is as small. By zero all remainders are zero, as by one.
    pub(super) fn new(divisor: u32) -> Self {
        let divisor = divisor.clamp(1, 1 << BITS);
        let shift = BITS + u32::BITS - (divisor - 1).leading_zeros();
        Self { divisor, inverse: (1_u64 << shift).div_ceil(divisor.into()) as u32, shift }
    }

    #[inline(always)]
    pub(super) fn remainder(self, number: u32) -> u32 {
        let quotient = (u64::from(number) * u64::from(self.inverse)) >> self.shift;
        number.wrapping_sub((quotient as u32).wrapping_mul(self.divisor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: u32 = 1 << BITS;

    fn edge() -> impl Strategy<Value = u32> {
        let near_powers = (0..=BITS, 0_u32..3).prop_map(|(bits, more)| ((1 << bits) + more - 1).clamp(1, MOST));
        prop_oneof![Just(MOST), near_powers, 1_u32..100, 1..=MOST]
    }

    proptest! {
        #[test]
        fn remainders_are_those_of_division(number in prop_oneof![Just(0), edge()], divisor in edge()) {
            prop_assert_eq!(Modulus::new(divisor).remainder(number), number % divisor);
            // Where rounding would show first.
            let multiple = (number / divisor) * divisor;
            prop_assert_eq!(Modulus::new(divisor).remainder(multiple), 0);
            prop_assert_eq!(Modulus::new(divisor).remainder(multiple.saturating_sub(1)), multiple.saturating_sub(1) % divisor);
        }
    }
}
