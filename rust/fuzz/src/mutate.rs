//! Mutations for the generator: blind to coverage, but not to what formats are made of.
//!
//! Every input starts as one of the corpus and suffers one to eight of the changes below. Half the inputs are then
//! mended by their target, so that damage in the depth is not always hidden by a wrong length in front of it.

use fastrand::Rng;

/// Numbers at the edges of the types that formats count with.
const NUMBERS: [i64; 24] = [
    -1,
    0,
    1,
    2,
    3,
    7,
    8,
    16,
    63,
    64,
    100,
    127,
    128,
    255,
    256,
    32_767,
    65_535,
    65_536,
    i32::MAX as i64 - 1,
    i32::MAX as i64,
    i32::MIN as i64,
    u32::MAX as i64,
    i64::MAX,
    i64::MIN,
];

/// The longest input made on purpose. A decoder whose time grows with the square of it takes minutes.
const LONGEST: usize = 1 << 18;
/// Inputs of this size are cheap; most are kept below.
const COMMON: usize = 1 << 14;

/// What a mutation may draw on.
#[derive(Debug)]
pub struct Material<'a> {
    pub corpus: &'a [Vec<u8>],
    /// Magics, keywords, names of fields.
    pub words: &'a [&'a [u8]],
}

impl Material<'_> {
    /// One input.
    pub fn input(&self, rng: &mut Rng) -> Vec<u8> {
        let mut bytes = rng.choice(self.corpus).cloned().unwrap_or_default();
        if bytes.len() > COMMON && rng.u8(..) > 16 {
            let start = rng.usize(..bytes.len() - COMMON / 2);
            bytes = if rng.bool() { bytes[start..].to_vec() } else { bytes };
            bytes.truncate(COMMON);
        }
        for _ in 0..=rng.usize(..8) {
            self.change(&mut bytes, rng);
        }
        if rng.u8(..) == 0 {
            repeat(&mut bytes, LONGEST, rng);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&self, bytes: &mut Vec<u8>, rng: &mut Rng) {
        let at = rng.usize(..=bytes.len());
        match rng.u8(..16) {
            0 | 1 => flip_bit(bytes, rng),
            2 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = rng.u8(..);
                }
            }
            3 => {
                let count = 1 + rng.usize(..8);
                let random: Vec<u8> = (0..count).map(|_| rng.u8(..)).collect();
                insert(bytes, at, &random);
            }
            4 => {
                let end = (at + piece_length(rng)).min(bytes.len());
                bytes.drain(at..end);
            }
            5 => bytes.truncate(at),
            6 => {
                bytes.drain(..at);
            }
            7 | 8 => overwrite(bytes, at, &number(rng)),
            9 => {
                let number = number(rng);
                insert(bytes, at, &number);
            }
            10 => add_to_number(bytes, at, rng),
            11 => {
                let piece = piece_of(bytes, rng).to_vec();
                insert(bytes, at, &piece);
            }
            12 => {
                let piece = piece_of(bytes, rng).to_vec();
                overwrite(bytes, at, &piece);
            }
            13 => {
                if let Some(other) = rng.choice(self.corpus) {
                    let piece = piece_of(other, rng);
                    if rng.bool() { insert(bytes, at, piece) } else { overwrite(bytes, at, piece) }
                }
            }
            14 => {
                if let Some(word) = rng.choice(self.words) {
                    if rng.bool() { insert(bytes, at, word) } else { overwrite(bytes, at, word) }
                }
            }
            _ => repeat(bytes, 64, rng),
        }
    }
}

fn flip_bit(bytes: &mut [u8], rng: &mut Rng) {
    if !bytes.is_empty() {
        let at = rng.usize(..bytes.len());
        bytes[at] ^= 1 << rng.u8(..8);
    }
}

/// Mostly short, now and then long.
fn piece_length(rng: &mut Rng) -> usize {
    let bits = rng.u32(..12);
    rng.usize(..=(1 << bits))
}

fn piece_of<'a>(bytes: &'a [u8], rng: &mut Rng) -> &'a [u8] {
    let start = rng.usize(..=bytes.len());
    let end = (start + piece_length(rng)).min(bytes.len());
    &bytes[start..end]
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

fn overwrite(bytes: &mut [u8], at: usize, piece: &[u8]) {
    bytes.iter_mut().skip(at).zip(piece).for_each(|(byte, new)| *byte = *new);
}

/// Repeats a piece of the input in place until the input is about `length` longer.
fn repeat(bytes: &mut Vec<u8>, length: usize, rng: &mut Rng) {
    let start = rng.usize(..=bytes.len());
    let end = (start + 1 + rng.usize(..64)).min(bytes.len());
    if end > start {
        let piece = bytes[start..end].repeat(length / (end - start) + 1);
        insert(bytes, end, &piece);
    }
}

/// An interesting number in one of the ways in which formats write numbers.
fn number(rng: &mut Rng) -> Vec<u8> {
    let number = NUMBERS[rng.usize(..NUMBERS.len())];
    match rng.u8(..8) {
        0 => vec![number as u8],
        1 => (number as i16).to_be_bytes().to_vec(),
        2 => (number as i32).to_be_bytes().to_vec(),
        3 => number.to_be_bytes().to_vec(),
        4 => (number as i32).to_le_bytes().to_vec(),
        5 => number.to_string().into_bytes(),
        6 => varint((number as u64) << 1 ^ (number >> 63) as u64),
        _ => varint(number as u64),
    }
}

fn varint(mut rest: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while rest > 0x7f {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out
}

/// Takes the bytes at `at` for a big-endian number, perhaps a length, and makes it a little wrong.
fn add_to_number(bytes: &mut [u8], at: usize, rng: &mut Rng) {
    let delta = rng.i64(-9..10);
    if let Some(chunk) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
        *chunk = i32::from_be_bytes(*chunk).wrapping_add(delta as i32).to_be_bytes();
    } else if let Some(byte) = bytes.get_mut(at) {
        *byte = byte.wrapping_add(delta as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_inputs_again() {
        let corpus = [b"hello, hello".to_vec(), vec![0; 40_000]];
        let material = Material { corpus: &corpus, words: &[b"word"] };
        let run = || {
            let mut rng = Rng::with_seed(7);
            (0..2_000).map(|_| material.input(&mut rng)).collect::<Vec<_>>()
        };
        let first = run();
        assert_eq!(first, run());
        assert!(first.iter().all(|input| input.len() <= LONGEST));
        assert!(first.iter().any(|input| input.len() > LONGEST / 2));
        assert!(first.iter().any(|input| input.windows(4).any(|four| four == b"word")));
    }

    #[test]
    fn an_empty_corpus_is_no_obstacle() {
        let mut rng = Rng::with_seed(1);
        let material = Material { corpus: &[], words: &[] };
        assert!((0..500).any(|_| !material.input(&mut rng).is_empty()));
    }
}
