//! Bloom filters of record keys in base file footers, and the names of the footer entries.
//!
//! ```text
//! simple       i32 -1 | i32 hashes | u8 hash | i32 bits | ceil(bits/8) bytes          bit i: byte i/8, 1 << i%8
//! DYNAMIC_V0   i32 -1 | i32 hashes | u8 hash | i32 bits
//!              | i32 row capacity | i32 keys in the last row | i32 rows | rows × simple
//! footer       Base64 of either; which one it is stands in another footer entry
//! bits         ceil(n · -ln(p) / ln(2)²)        hashes   ceil(ln(2) · bits / n)
//! hash         1: Murmur, with which all are written; 0: Jenkins
//! position i   |hᵢ % bits|, h₁ = hash(key, 0), hᵢ₊₁ = hash(key, hᵢ)
//! ```
//!
//! All integers are big-endian. Before there were versions a filter began with its hashes, and was Jenkins'. A dynamic filter starts a row when the last one is full, until its rows hold the allowed
//! number of entries; then keys go round the rows and false positives grow. Of that state only the rows are stored.

mod modulus;
mod wide;

use std::f64::consts::LN_2;

use arrow_array::{Array, StringArray};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::hash::{hadoop_jenkins, hadoop_murmur2};
use crate::wire::Reader;
use crate::{Error, Result};

use modulus::Modulus;

/// Footer key of the filter's Base64 text.
pub const BLOOM_FILTER_FOOTER: &str = "org.apache.hudi.bloomfilter";
/// Footer key of [`BloomKind::code`]. Without it Apache Hudi misreads the filter and writes duplicates.
pub const BLOOM_TYPE_FOOTER: &str = "hoodie_bloom_filter_type_code";
/// Footer key of the least record key by Java's string order; absent from files without rows.
pub const MIN_RECORD_KEY_FOOTER: &str = "hoodie_min_record_key";
/// Footer key of the greatest record key by Java's string order; absent from files without rows.
pub const MAX_RECORD_KEY_FOOTER: &str = "hoodie_max_record_key";
/// Footer key of the Avro schema of the rows, meta columns included.
pub const AVRO_SCHEMA_FOOTER: &str = "parquet.avro.schema";

/// `hoodie.index.bloom.num_entries` unless set.
pub const DEFAULT_ENTRIES: u32 = 60_000;
/// `hoodie.index.bloom.fpp` unless set.
pub const DEFAULT_FALSE_POSITIVES: f64 = 1e-9;
/// `hoodie.bloom.index.filter.dynamic.max.entries` unless set.
pub const DEFAULT_MAX_ENTRIES: u32 = 100_000;

/// Stands where releases before all others wrote the number of hashes.
const VERSION: i32 = -1;
/// A false-positive rate of 10⁻³⁰⁰ asks for a thousand hashes; a larger number is damage that would only burn time.
const MAX_HASHES: u32 = 4096;
/// Least bytes of a simple filter: one without a version and without bits.
const ROW_HEADER: usize = 4 + 4;

/// How a filter is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BloomKind {
    Simple,
    DynamicV0,
}

impl BloomKind {
    /// As in the footer, and the value of `hoodie.bloom.index.filter.type`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Simple => "SIMPLE",
            Self::DynamicV0 => "DYNAMIC_V0",
        }
    }

    pub fn parse(code: &str) -> Result<Self> {
        [Self::Simple, Self::DynamicV0]
            .into_iter()
            .find(|kind| kind.code().eq_ignore_ascii_case(code))
            .ok_or_else(|| Error::unsupported(format!("bloom filter type {code} is unknown")))
    }
}

/// How keys are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyHash {
    Jenkins,
    Murmur,
}

impl KeyHash {
    fn code(self) -> u8 {
        match self {
            Self::Jenkins => 0,
            Self::Murmur => 1,
        }
    }

    fn of(self, key: &str, seed: i32) -> i32 {
        match self {
            Self::Jenkins => hadoop_jenkins(key.as_bytes(), seed),
            Self::Murmur => hadoop_murmur2(key.as_bytes(), seed),
        }
    }
}

/// Size of a row and hash of its keys, shared by all rows of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    hashes: u32,
    bits: u32,
    hash: KeyHash,
}

impl Shape {
    fn for_entries(entries: u32, false_positives: f64) -> Result<Self> {
        let sane = entries > 0 && entries <= i32::MAX.unsigned_abs() && false_positives > 0.0 && false_positives < 1.0;
        let bits = (f64::from(entries) * (-false_positives.ln() / (LN_2 * LN_2))).ceil();
        if !sane || bits > f64::from(i32::MAX) {
            let message = format!("a bloom filter for {entries} entries at a false-positive rate of {false_positives}");
            return Err(
                Error::option(message).with_hint("entries from 1 on, a rate between 0 and 1, less than 2^31 bits")
            );
        }
        let hashes = (LN_2 * bits / f64::from(entries)).ceil();
        Ok(Self { hashes: hashes as u32, bits: bits as u32, hash: KeyHash::Murmur })
    }

    fn row_bytes(self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// Each position of a key.
    fn positions(self, key: &str) -> impl Iterator<Item = Position> {
        let bits = Modulus::new(self.bits);
        let hashes = std::iter::successors(Some(self.hash.of(key, 0)), move |seed| Some(self.hash.of(key, *seed)));
        hashes.take(self.hashes as usize).map(move |hash| Position::of(hash, bits))
    }

    fn add(self, row: &mut [u8], key: &str) {
        self.positions(key).for_each(|position| position.set(row));
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self> {
        let offset = reader.offset();
        let version = reader.i32("bloom filter version")?;
        let (hashes, hash) = match version {
            VERSION => (reader.count("number of hashes")? as u32, reader.u8("hash type")?),
            hashes if hashes > 0 => (hashes.unsigned_abs(), KeyHash::Jenkins.code()),
            _ => return Err(Error::unsupported(format!("bloom filter version {version}")).at_offset(offset)),
        };
        let known = [KeyHash::Jenkins, KeyHash::Murmur].into_iter().find(|known| known.code() == hash);
        let hash = known.ok_or_else(|| {
            Error::unsupported(format!("bloom filter hash {hash}, neither 0 (Jenkins) nor 1 (Murmur)"))
                .at_offset(offset)
        })?;
        let bits = reader.count("number of bits")? as u32;
        if bits == 0 || hashes == 0 || hashes > MAX_HASHES {
            return Err(Error::corrupt(format!("bloom filter of {bits} bits and {hashes} hashes")).at_offset(offset));
        }
        Ok(Self { hashes, bits, hash })
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&self.hashes.to_be_bytes());
        out.push(self.hash.code());
        out.extend_from_slice(&self.bits.to_be_bytes());
    }
}

/// Byte and mask.
#[derive(Debug, Clone, Copy)]
struct Position(usize, u8);

impl Position {
    #[inline]
    fn of(hash: i32, bits: Modulus) -> Self {
        Self::at(bits.remainder(hash.unsigned_abs()))
    }

    #[inline]
    fn at(bit: u32) -> Self {
        let (byte, mask) = Self::split(bit);
        Self(byte as usize, mask as u8)
    }

    /// In numbers of one width, with which processors do several at once.
    #[inline(always)]
    fn split(bit: u32) -> (u32, u32) {
        (bit / 8, 1 << (bit % 8))
    }

    #[inline]
    fn set(self, row: &mut [u8]) {
        if let Some(byte) = row.get_mut(self.0) {
            *byte |= self.1;
        }
    }

    fn is_set(self, row: &[u8]) -> bool {
        row.get(self.0).is_some_and(|byte| byte & self.1 != 0)
    }
}

/// How a dynamic filter grows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Growth {
    row_capacity: u32,
    /// Keys added since the last row was started.
    row_keys: u32,
    max_entries: u32,
    /// The row that is next once no further row may start.
    turn: Option<usize>,
}

impl Growth {
    fn is_row_full(&self) -> bool {
        self.row_keys >= self.row_capacity
    }

    /// Counts keys of the only row that there may be.
    fn count(&mut self, keys: usize) {
        let has_room = (self.row_capacity.saturating_sub(self.row_keys)) as usize >= keys;
        self.turn = if has_room { self.turn } else { Some(0) };
        self.row_keys = self.row_keys.saturating_add(u32::try_from(keys).unwrap_or(u32::MAX));
    }

    fn may_add_row(&self, rows: usize) -> bool {
        (rows as u64).saturating_mul(u64::from(self.row_capacity)) < u64::from(self.max_entries)
    }
}

/// A set of record keys that may claim a key it does not hold, and never denies one it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BloomFilter {
    shape: Shape,
    rows: Vec<Vec<u8>>,
    growth: Option<Growth>,
}

impl BloomFilter {
    /// A filter of one size.
    pub fn simple(entries: u32, false_positives: f64) -> Result<Self> {
        let shape = Shape::for_entries(entries, false_positives)?;
        Ok(Self { shape, rows: vec![vec![0; shape.row_bytes()]], growth: None })
    }

    /// A filter that grows by `entries` at a time up to `max_entries`.
    pub fn dynamic(entries: u32, false_positives: f64, max_entries: u32) -> Result<Self> {
        let growth = Growth { row_capacity: entries, row_keys: 0, max_entries, turn: None };
        Ok(Self { growth: Some(growth), ..Self::simple(entries, false_positives)? })
    }

    pub fn kind(&self) -> BloomKind {
        if self.growth.is_some() { BloomKind::DynamicV0 } else { BloomKind::Simple }
    }

    /// How many keys a row takes before another one is started; `None` of a filter that has one row.
    pub fn row_capacity(&self) -> Option<u32> {
        self.growth.as_ref().map(|growth| growth.row_capacity)
    }

    /// The same filter with another limit to its growth, which one that was read back does not know.
    pub fn growing_to(mut self, max_entries: u32) -> Self {
        if let Some(growth) = &mut self.growth {
            growth.max_entries = max_entries;
        }
        self
    }

    pub fn add(&mut self, key: &str) {
        let index = self.row_for_next_key();
        if let Some(row) = self.rows.get_mut(index) {
            self.shape.add(row, key);
        }
    }

    /// Adds keys in their order, faster than one by one.
    pub fn add_all(&mut self, keys: &StringArray) {
        if let (Some(growth), [row]) = (&mut self.growth, self.rows.as_mut_slice())
            && !growth.may_add_row(1)
        {
            growth.count(keys.len() - keys.null_count());
            return wide::add_all(self.shape, row, keys.iter().flatten());
        }
        let mut by_row: Vec<Vec<&str>> = Vec::new();
        for key in keys.iter().flatten() {
            let index = self.row_for_next_key();
            by_row.resize_with(self.rows.len(), Vec::new);
            if let Some(of_row) = by_row.get_mut(index) {
                of_row.push(key);
            }
        }
        // Row by row: one row stays in a processor's cache, several do not.
        for (row, keys) in self.rows.iter_mut().zip(&by_row) {
            wide::add_all(self.shape, row, keys.iter().copied());
        }
    }

    /// `false` only if the key was never added.
    pub fn contains(&self, key: &str) -> bool {
        let holds = |row: &Vec<u8>| self.shape.positions(key).all(|position| position.is_set(row));
        self.rows.iter().any(holds)
    }

    fn row_for_next_key(&mut self) -> usize {
        let last = self.rows.len().saturating_sub(1);
        let Some(growth) = &mut self.growth else {
            return last;
        };
        let row = match growth.turn {
            Some(turn) => {
                growth.turn = Some((turn + 1) % self.rows.len());
                turn
            }
            None if !growth.is_row_full() => last,
            None if growth.may_add_row(self.rows.len()) => {
                self.rows.push(vec![0; self.shape.row_bytes()]);
                growth.row_keys = 0;
                last + 1
            }
            None => {
                // Row 0 gets two keys in a row here, as in Apache Hudi.
                growth.turn = Some(0);
                0
            }
        };
        growth.row_keys = growth.row_keys.saturating_add(1);
        row
    }

    /// Reads the footer text of a filter. A dynamic filter read back grows no further rows: its limit is not stored.
    pub fn from_text(kind: BloomKind, text: &str) -> Result<Self> {
        let bytes = STANDARD.decode(text).map_err(|e| Error::corrupt("bloom filter is no Base64 text").caused_by(e))?;
        Self::parse(kind, &bytes)
    }

    /// The footer text of a filter.
    pub fn to_text(&self) -> String {
        STANDARD.encode(self.to_bytes())
    }

    /// Reads the bytes behind the footer text.
    pub fn parse(kind: BloomKind, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, 0);
        let shape = Shape::parse(&mut reader)?;
        let filter = match kind {
            BloomKind::Simple => Self { shape, rows: vec![read_row(&mut reader, shape)?], growth: None },
            BloomKind::DynamicV0 => {
                let row_capacity = reader.count("capacity of a row")? as u32;
                let row_keys = reader.count("keys in the last row")? as u32;
                let rows = reader.count("number of rows")?;
                if rows == 0 || rows > reader.left() / ROW_HEADER {
                    return Err(reader.corrupt(format!("{rows} bloom filter rows in {} bytes", reader.left())));
                }
                let rows = (0..rows).map(|_| read_inner_row(&mut reader, shape)).collect::<Result<_>>()?;
                Self { shape, rows, growth: Some(Growth { row_capacity, row_keys, max_entries: 0, turn: None }) }
            }
        };
        if !reader.is_empty() {
            return Err(reader.corrupt(format!("{} bytes behind the rows of a bloom filter", reader.left())));
        }
        Ok(filter)
    }

    /// The bytes behind the footer text.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.shape.write(&mut out);
        if let Some(growth) = &self.growth {
            out.extend_from_slice(&growth.row_capacity.to_be_bytes());
            out.extend_from_slice(&growth.row_keys.to_be_bytes());
            out.extend_from_slice(&(self.rows.len() as u32).to_be_bytes());
        }
        for row in &self.rows {
            if self.growth.is_some() {
                self.shape.write(&mut out);
            }
            out.extend_from_slice(row);
        }
        out
    }
}

fn read_inner_row(reader: &mut Reader<'_>, shape: Shape) -> Result<Vec<u8>> {
    let offset = reader.offset();
    if Shape::parse(reader)? != shape {
        return Err(
            Error::corrupt("a row of a dynamic bloom filter has another size than the filter").at_offset(offset)
        );
    }
    read_row(reader, shape)
}

fn read_row(reader: &mut Reader<'_>, shape: Shape) -> Result<Vec<u8>> {
    reader.take(shape.row_bytes(), "bits of a bloom filter").map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests;
