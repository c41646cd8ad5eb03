//! What rows may take in memory for the bytes they have.
//!
//! A datum can be much smaller than what Arrow makes of it: a null, one byte long, fills the slot of a decimal, of a long
//! fixed, of a struct with a thousand fields; an enum is a number in the datum and text in Arrow; a wanted column that the
//! writer lacks takes no byte at all; and items of no bytes can be claimed by the billion. So slots are counted: those of
//! a row are the same in every row, those of items are known from their number before they are read. A row that takes
//! far too much is refused. A batch that takes too much is full, and goes on as another batch.

use crate::{Error, ErrorKind, Result};

/// Free for everybody.
const BASE: usize = 256 << 10;

/// So many times its bytes may a row take. No batch is smaller than a row.
const ROW_FACTOR: usize = 16;

/// And so many times their bytes the rows of a batch: half as many, because what grows reserves up to twice its need.
const BATCH_FACTOR: usize = 7;

fn limit(bytes: usize, factor: usize) -> usize {
    bytes.saturating_mul(factor).saturating_add(BASE)
}

/// What is left for one row.
#[derive(Debug)]
pub(super) struct Allowance {
    limit: usize,
    left: usize,
}

impl Allowance {
    pub(super) fn new(datum: usize) -> Self {
        let limit = limit(datum, ROW_FACTOR);
        Self { limit, left: limit }
    }

    /// For those that spend nothing.
    pub(super) fn none() -> Self {
        Self { limit: 0, left: 0 }
    }

    #[inline(always)]
    pub(super) fn spend(&mut self, bytes: usize) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(too_much()),
        }
    }

    pub(super) fn spent(&self) -> usize {
        self.limit - self.left
    }
}

#[cold]
fn too_much() -> Error {
    Error::unsupported(format!(
        "an Avro row whose nulls, enums or empty items take more than {ROW_FACTOR} times its bytes and {} KiB",
        BASE >> 10
    ))
}

/// What the rows of a batch may still take.
#[derive(Debug)]
pub(super) struct Balance(i64);

impl Balance {
    pub(super) fn new() -> Self {
        Self(signed(limit(0, BATCH_FACTOR)))
    }

    /// Adds what rows have, and takes off what they take.
    #[inline]
    pub(super) fn add(&mut self, bytes: usize, memory: usize) {
        self.0 = self.0.saturating_add(signed(bytes.saturating_mul(BATCH_FACTOR))).saturating_sub(signed(memory));
    }

    /// Whether so many rows of that width are fine by themselves and together, however few bytes they have.
    #[inline]
    pub(super) fn bears(&self, rows: usize, width: usize) -> bool {
        width <= BASE && signed(width.saturating_mul(rows)) <= self.0
    }

    #[inline]
    pub(super) fn is_exceeded(&self) -> bool {
        self.0 < 0
    }

    /// Refuses a row for a batch that is full.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        if self.is_exceeded() { Err(full()) } else { Ok(()) }
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cold]
fn full() -> Error {
    Error::new(ErrorKind::MemoryLimit, "rows that take too much memory for one batch")
        .with_hint("take the batch from the decoder when it says that it is full")
}
