//! Small numbers as runs: Parquet's "RLE / bit-packing hybrid", which levels and places in a dictionary are written in.
//!
//! ```text
//! run of one number    varint 2 * count | the number in whole bytes
//! numbers, packed      varint 2 * groups + 1 | 8 numbers a group, `width` bits each, lowest bits first
//! ```

/// Numbers that are packed together.
const GROUP: usize = 8;
/// Of a run, so that its header is one byte.
const MOST_GROUPS: usize = 63;

/// Bits that every number up to this one fits into.
pub(super) fn width_of(most: u32) -> u8 {
    (u32::BITS - most.leading_zeros()) as u8
}

/// Appends the runs of these numbers, each of at most `width` bits.
pub(super) fn append_runs(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    let mut rest = numbers;
    let mut packed = Packed::default();
    while let Some((group, behind)) = rest.split_at_checked(GROUP) {
        let repeats = if is_repeated(group) { repeats(rest) } else { 0 };
        if repeats > 0 {
            packed.end(out);
            append_repeated(group, repeats, width, out);
            rest = rest.get(repeats..).unwrap_or_default();
        } else {
            packed.append(group, width, out);
            rest = behind;
        }
    }
    if !packed.is_open() && is_repeated(rest) {
        append_repeated(rest, rest.len(), width, out);
    } else if !rest.is_empty() {
        packed.append(rest, width, out);
    }
    packed.end(out);
}

/// The run of a number that is in all rows.
pub(super) fn append_run(number: u32, count: usize, width: u8, out: &mut Vec<u8>) {
    append_repeated(&[number], count, width, out);
}

fn is_repeated(numbers: &[u32]) -> bool {
    numbers.split_first().is_some_and(|(first, others)| others.iter().all(|number| number == first))
}

/// How often the first number stands there before another one comes.
fn repeats(numbers: &[u32]) -> usize {
    let Some(first) = numbers.first() else { return 0 };
    let mut all = 0;
    for part in numbers.chunks(64) {
        // Counted without a branch, which the compiler does several at a time.
        let same = part.iter().filter(|number| *number == first).count();
        if same < part.len() {
            return all + part.iter().take_while(|number| *number == first).count();
        }
        all += same;
    }
    all
}

fn append_repeated(numbers: &[u32], count: usize, width: u8, out: &mut Vec<u8>) {
    let mut header = count << 1;
    while header > 0x7f {
        out.push((header & 0x7f) as u8 | 0x80);
        header >>= 7;
    }
    out.push(header as u8);
    let number = numbers.first().copied().unwrap_or_default().to_le_bytes();
    out.extend(number.iter().take(usize::from(width).div_ceil(8)));
}

/// A run of packed numbers, under way.
#[derive(Default)]
struct Packed {
    /// Where its header stands.
    header: usize,
    groups: usize,
}

impl Packed {
    fn is_open(&self) -> bool {
        self.groups > 0
    }

    /// Appends a group, or the last numbers of all.
    fn append(&mut self, group: &[u32], width: u8, out: &mut Vec<u8>) {
        if !self.is_open() {
            self.header = out.len();
            out.push(0);
        }
        let mut bits = 0_u64;
        let mut held = 0;
        let end = out.len() + usize::from(width);
        for number in group {
            bits |= u64::from(*number) << held;
            held += u32::from(width);
            if held >= u32::BITS {
                out.extend_from_slice(&(bits as u32).to_le_bytes());
                bits >>= u32::BITS;
                held -= u32::BITS;
            }
        }
        out.extend_from_slice(&bits.to_le_bytes());
        out.resize(end, 0);
        self.groups += 1;
        if self.groups == MOST_GROUPS {
            self.end(out);
        }
    }

    fn end(&mut self, out: &mut [u8]) {
        if let Some(header) = out.get_mut(self.header).filter(|_| self.groups > 0) {
            *header = (self.groups << 1 | 1) as u8;
        }
        self.groups = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn runs(numbers: &[u32], width: u8) -> Vec<u8> {
        let mut out = Vec::new();
        append_runs(numbers, width, &mut out);
        out
    }

    /// By the specification, a bit at a time.
    fn numbers_of(runs: &[u8], width: u8, count: usize) -> Vec<u32> {
        let mut bytes = runs.iter().copied();
        let mut numbers = Vec::new();
        while let Some(mut byte) = bytes.next() {
            let (mut header, mut shift) = (usize::from(byte & 0x7f), 7);
            while byte & 0x80 > 0 {
                byte = bytes.next().unwrap();
                header |= usize::from(byte & 0x7f) << shift;
                shift += 7;
            }
            if header & 1 == 0 {
                let whole = usize::from(width).div_ceil(8);
                let number = (0..whole).fold(0, |n, at| n | u32::from(bytes.next().unwrap()) << (8 * at));
                numbers.extend(std::iter::repeat_n(number, header >> 1));
                continue;
            }
            for _ in 0..header >> 1 {
                let group: Vec<u8> = bytes.by_ref().take(width.into()).collect();
                assert_eq!(group.len(), usize::from(width));
                let bit = |at: usize| u32::from(group[at / 8] >> (at % 8) & 1);
                let number =
                    |n: usize| (0..usize::from(width)).fold(0, |all, at| all | bit(n * usize::from(width) + at) << at);
                numbers.extend((0..GROUP).map(number));
            }
        }
        assert!((count..count + GROUP).contains(&numbers.len()));
        numbers.truncate(count);
        numbers
    }

    #[rstest]
    #[case::none(&[], 3, &[])]
    #[case::one(&[5], 3, &[2, 5])]
    #[case::few_of_one_kind(&[5; 7], 3, &[14, 5])]
    #[case::a_run(&[1; 1000], 1, &[0xd0, 0x0f, 1])]
    #[case::two_bytes(&[300; 8], 9, &[16, 0x2c, 1])]
    #[case::no_bits(&[0; 9], 0, &[18])]
    // The example of the specification.
    #[case::packed(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &[3, 0b1000_1000, 0b1100_0110, 0b1111_1010])]
    fn runs_are_those_of_the_specification(#[case] numbers: &[u32], #[case] width: u8, #[case] expected: &[u8]) {
        assert_eq!(runs(numbers, width), expected);
    }

    #[rstest]
    #[case(0, 0)]
    #[case(1, 1)]
    #[case(255, 8)]
    #[case(256, 9)]
    #[case(u32::MAX, 32)]
    fn widths(#[case] most: u32, #[case] width: u8) {
        assert_eq!(width_of(most), width);
    }

    proptest! {
        #[test]
        fn numbers_come_back(
            parts in prop::collection::vec((any::<u32>(), 1_usize..700, any::<bool>()), 0..8),
            width in 0_u8..=32,
        ) {
            let kept = u32::MAX.checked_shr(32 - u32::from(width)).unwrap_or(0);
            let numbers: Vec<u32> = parts
                .iter()
                .flat_map(|(seed, count, is_run)| {
                    (0..*count as u32 / if *is_run { 1 } else { 20 })
                        .map(|n| if *is_run { *seed } else { seed.wrapping_mul(n | 1) } & kept)
                        .collect::<Vec<_>>()
                })
                .collect();
            prop_assert_eq!(numbers_of(&runs(&numbers, width), width, numbers.len()), numbers);
        }
    }
}
