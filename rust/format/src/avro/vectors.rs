//! What columns grow in: validity, and values of varying length.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::{Error, Result};

/// Which rows are not null. As long as none is, it is a number and no bitmap.
#[derive(Debug, Default)]
pub(super) struct Validity {
    length: usize,
    /// Least significant bit first; may end before the last row, and is all ones from there on.
    bits: Vec<u8>,
}

impl Validity {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    #[inline(always)]
    pub(super) fn push_valid(&mut self) {
        self.length += 1;
    }

    #[inline]
    pub(super) fn push_null(&mut self) {
        let at = self.length / 8;
        if at >= self.bits.len() {
            self.bits.resize(at + 1, u8::MAX);
        }
        if let Some(byte) = self.bits.get_mut(at) {
            *byte &= !(1 << (self.length % 8));
        }
        self.length += 1;
    }

    /// The bitmap, unless nothing is null, and the number of rows.
    pub(super) fn finish(&mut self) -> (Option<NullBuffer>, usize) {
        let Self { length, mut bits } = std::mem::take(self);
        if bits.is_empty() {
            return (None, length);
        }
        bits.resize(length.div_ceil(8), u8::MAX);
        (Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bits), 0, length))), length)
    }
}

/// Values of varying length, one behind the other.
#[derive(Debug)]
pub(super) struct Variable {
    offsets: Vec<i32>,
    data: Vec<u8>,
}

/// What is copied at once where a short value may take its neighbours along.
const CHUNK: usize = 32;

impl Variable {
    pub(super) fn new() -> Self {
        Self { offsets: vec![0], data: Vec::new() }
    }

    pub(super) fn reserve(&mut self, values: usize) {
        self.offsets.reserve(values);
    }

    /// Appends what `from` holds in front of `tail`, its end.
    #[inline(always)]
    pub(super) fn push_before(&mut self, from: &[u8], tail: &[u8]) -> Result<()> {
        let length = from.len() - tail.len();
        match from.first_chunk::<CHUNK>() {
            // A copy of fixed size takes a few instructions, one of any size a call.
            Some(chunk) if length <= CHUNK => {
                let end = self.data.len() + length;
                self.data.extend_from_slice(chunk);
                self.data.truncate(end);
            }
            _ => self.data.extend_from_slice(from.get(..length).unwrap_or(from)),
        }
        self.close()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.data.extend_from_slice(bytes);
        self.close()
    }

    #[inline(always)]
    fn close(&mut self) -> Result<()> {
        self.offsets.push(offset(self.data.len())?);
        Ok(())
    }

    pub(super) fn finish(&mut self) -> (OffsetBuffer<i32>, Buffer) {
        (finish_offsets(&mut self.offsets), Buffer::from_vec(std::mem::take(&mut self.data)))
    }
}

/// Offsets of the values so far; the next ones start at zero.
pub(super) fn finish_offsets(offsets: &mut Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(offsets, vec![0])))
}

#[inline(always)]
pub(super) fn offset(length: usize) -> Result<i32> {
    match i32::try_from(length) {
        Ok(offset) => Ok(offset),
        Err(_) => Err(Error::unsupported("more than 2 GiB of one column in one batch")),
    }
}
