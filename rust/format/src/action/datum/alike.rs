//! Records laid out like the one before: where each branch and each length is the same, each value stands where it stood. So
//! they are passed over by comparing bytes, many at once, while field by field each step waits for the length before it.

use std::{mem, ptr};

use super::de::Decoder;
use super::skip;
use crate::Result;
use crate::schema::{Node, Record};

/// Records of fewer fields are as quickly passed over one by one.
pub(super) const MANY_FIELDS: usize = 8;

/// Longer records are not remembered: a mask takes as much memory as its record.
const LONGEST: usize = 4096;

/// So many fields that were laid out otherwise, and another record is remembered: names and numbers grow longer in time.
const MOST_ODD: usize = 64;

/// Bytes that are compared at once.
const STEP: usize = 16;

/// How a record was laid out.
#[derive(Debug, Default)]
pub(super) struct Layout<'de> {
    /// Where its schema is in memory. A schema is borrowed as long as records are read by it, so there is no other in that place.
    schema: usize,
    bytes: &'de [u8],
    /// Which of their bits tell where something ends.
    mask: Vec<u8>,
    /// Where each field begins.
    starts: Vec<usize>,
    /// How many fields were laid out otherwise since.
    odd: usize,
}

/// Leaves the decoder behind the record.
pub(super) fn skip(decoder: &mut Decoder<'_>, record: &Record) -> Result<()> {
    let mut layout = mem::take(&mut decoder.layout);
    if layout.schema == ptr::from_ref(record).addr() && layout.odd < MOST_ODD {
        layout.pass(decoder, record)?;
        decoder.layout = layout;
    } else {
        decoder.layout = Layout::learn(decoder, record)?;
    }
    Ok(())
}

impl<'de> Layout<'de> {
    /// Passes over a record field by field, and remembers its layout.
    fn learn(decoder: &mut Decoder<'de>, record: &Record) -> Result<Self> {
        let bytes = decoder.reader.rest();
        let mut starts = Vec::with_capacity(record.fields.len());
        for field in &record.fields {
            starts.push(bytes.len() - decoder.reader.left());
            skip::skip_field(decoder, field)?;
        }
        let length = bytes.len() - decoder.reader.left();
        if length > LONGEST {
            return Ok(Self::default());
        }
        let bytes = bytes.get(..length).unwrap_or_default();
        let mut mask = Vec::with_capacity(length);
        let ends = starts.iter().skip(1).copied().chain([length]);
        for ((field, start), end) in record.fields.iter().zip(&starts).zip(ends) {
            tells(&field.node, bytes.get(*start..end).unwrap_or_default(), &mut mask);
        }
        Ok(Self { schema: ptr::from_ref(record).addr(), bytes, mask, starts, odd: 0 })
    }

    /// Passes over a record, field by field where it is laid out otherwise.
    fn pass(&mut self, decoder: &mut Decoder<'_>, record: &Record) -> Result<()> {
        let mut at = 0;
        loop {
            let fits = at + self.fitting(at, decoder.reader.rest());
            if fits == self.bytes.len() {
                decoder.reader.advance(fits - at);
                return Ok(());
            }
            // The last field that begins there or before; of several it is the one that has bytes.
            let next = self.starts.partition_point(|start| *start <= fits);
            let odd = next.saturating_sub(1);
            decoder.reader.advance(self.start(odd) - at);
            if let Some(field) = record.fields.get(odd) {
                skip::skip_field(decoder, field)?;
            }
            at = self.start(next);
            self.odd += 1;
        }
    }

    /// Where a field begins; behind the last one is the end.
    fn start(&self, field: usize) -> usize {
        self.starts.get(field).copied().unwrap_or(self.bytes.len())
    }

    /// How many bytes tell the same as those that begin at `at`.
    fn fitting(&self, at: usize, found: &[u8]) -> usize {
        let (told, mask) = (self.bytes.get(at..).unwrap_or_default(), self.mask.get(at..).unwrap_or_default());
        let steps = told.chunks_exact(STEP).zip(mask.chunks_exact(STEP)).zip(found.chunks_exact(STEP));
        let whole = steps.take_while(|((told, mask), found)| same(told, mask, found)).count() * STEP;
        let single = told.iter().zip(mask).zip(found).skip(whole);
        whole + single.take_while(|((told, mask), found)| (*told ^ *found) & *mask == 0).count()
    }
}

/// Whether all bytes tell the same. Without a way out in the middle, so that it is done at once.
#[inline]
fn same(told: &[u8], mask: &[u8], found: &[u8]) -> bool {
    let bytes = told.iter().zip(mask).zip(found);
    bytes.fold(0, |differing, ((told, mask), found)| differing | (told ^ found) & mask) == 0
}

/// Adds which bits of a field's bytes tell where it ends: of what may be a number the highest of each byte, of a text its
/// length, of all else every one.
fn tells(node: &Node, bytes: &[u8], mask: &mut Vec<u8>) {
    let end = mask.len() + bytes.len();
    let branches = match node {
        Node::Union(branches) => branches.as_slice(),
        _ => &[],
    };
    match (branches, bytes) {
        ([_, Node::Int | Node::Long, ..], [2, ..]) => {
            mask.push(0xff);
            mask.resize(end, 0x80);
        }
        ([_, Node::String, ..], [2, text @ ..]) => {
            let length = text.iter().take_while(|byte| **byte >= 0x80).count() + 1;
            mask.resize(mask.len() + 1 + length, 0xff);
            mask.resize(end, 0);
        }
        _ => mask.resize(end, 0xff),
    }
}
