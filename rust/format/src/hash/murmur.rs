//! 32-bit MurmurHash2 as Hadoop has it: the one to three bytes after the last whole word are signed, and enter counted
//! from the wrong end compared with the original.

use super::logical_shift;

const MULTIPLIER: i32 = 0x5bd1_e995;
const SHIFT: u32 = 24;

pub fn hadoop_murmur2(data: &[u8], seed: i32) -> i32 {
    let (words, tail) = data.as_chunks::<4>();
    let hash = words.iter().fold(start(data.len(), seed), |hash, word| with_word(hash, mixed(*word)));
    finished(if tail.is_empty() { hash } else { with_tail(hash, mixed_tail(tail)) })
}

/// The same of several texts of one length, with one seed after the other: what no seed changes is done once, and the hashes
/// of all texts are made side by side.
#[derive(Debug)]
pub(crate) struct MurmurLanes<const N: usize> {
    length: i32,
    words: Vec<[i32; N]>,
    tail: Option<[i32; N]>,
}

impl<const N: usize> MurmurLanes<N> {
    pub(crate) fn new() -> Self {
        Self { length: 0, words: Vec::new(), tail: None }
    }

    /// Takes other texts: of at most `N`, all as long as the first one.
    pub(crate) fn take(&mut self, texts: &[&[u8]]) {
        let length = texts.first().map_or(0, |first| first.len());
        self.length = start(length, 0);
        self.words.clear();
        self.words.resize(length / 4, [0; N]);
        let mut tails = [0; N];
        for (lane, (text, in_tail)) in texts.iter().zip(&mut tails).enumerate() {
            let (words, tail) = text.as_chunks::<4>();
            for (lanes, word) in self.words.iter_mut().zip(words) {
                if let Some(place) = lanes.get_mut(lane) {
                    *place = mixed(*word);
                }
            }
            *in_tail = mixed_tail(tail);
        }
        self.tail = (!length.is_multiple_of(4)).then_some(tails);
    }

    /// Puts the hashes in the place of their seeds. Compiled into its caller, with the instructions that that one may use.
    #[inline(always)]
    pub(crate) fn hash(&self, seeds: &mut [i32; N]) {
        seeds.iter_mut().for_each(|hash| *hash ^= self.length);
        self.words.iter().for_each(|words| each_lane(seeds, words, with_word));
        if let Some(tails) = &self.tail {
            each_lane(seeds, tails, with_tail);
        }
        seeds.iter_mut().for_each(|hash| *hash = finished(*hash));
    }
}

#[inline(always)]
fn each_lane<const N: usize>(hashes: &mut [i32; N], others: &[i32; N], step: impl Fn(i32, i32) -> i32) {
    hashes.iter_mut().zip(others).for_each(|(hash, other)| *hash = step(*hash, *other));
}

fn start(length: usize, seed: i32) -> i32 {
    seed ^ i32::try_from(length).unwrap_or(i32::MAX)
}

#[inline]
fn mixed(word: [u8; 4]) -> i32 {
    let mixed = i32::from_le_bytes(word).wrapping_mul(MULTIPLIER);
    (mixed ^ logical_shift(mixed, SHIFT)).wrapping_mul(MULTIPLIER)
}

#[inline(always)]
fn with_word(hash: i32, mixed: i32) -> i32 {
    hash.wrapping_mul(MULTIPLIER) ^ mixed
}

fn mixed_tail(tail: &[u8]) -> i32 {
    tail.iter().rev().zip([0, 8, 16]).fold(0, |mixed, (byte, shift)| mixed ^ i32::from(byte.cast_signed()) << shift)
}

#[inline(always)]
fn with_tail(hash: i32, mixed: i32) -> i32 {
    (hash ^ mixed).wrapping_mul(MULTIPLIER)
}

#[inline(always)]
fn finished(hash: i32) -> i32 {
    let hash = (hash ^ logical_shift(hash, 13)).wrapping_mul(MULTIPLIER);
    hash ^ logical_shift(hash, 15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("TXN-001", -1_349_093_075)]
    #[case("id:1,name:Alice", 71_696_166)]
    #[case("a", -1_838_653_602)]
    fn murmur(#[case] key: &str, #[case] expected: i32) {
        assert_eq!(hadoop_murmur2(key.as_bytes(), 0), expected);
    }

    proptest! {
        #[test]
        fn lanes_are_the_hash_of_each(
            texts in (0_usize..20, 0_usize..=3).prop_flat_map(|(length, count)| {
                prop::collection::vec(prop::collection::vec(any::<u8>(), length), count)
            }),
            seeds: [i32; 3],
        ) {
            let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            let mut lanes = MurmurLanes::new();
            lanes.take(&[b"longer", b"before", b"and so"]);
            lanes.take(&texts);
            let expected: Vec<i32> = texts.iter().zip(seeds).map(|(text, seed)| hadoop_murmur2(text, seed)).collect();
            let mut hashes = seeds;
            lanes.hash(&mut hashes);
            prop_assert_eq!(&hashes[..texts.len()], &expected);
        }
    }
}
