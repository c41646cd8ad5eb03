//! Memory that rows take without paying for it in bytes.
//!
//! A value in Arrow takes at most eight times the bytes it takes in a datum, with a few exceptions: a null, one byte long
//! or none, fills the slot of a decimal, of a long fixed, of a struct with a thousand fields; an enum is a number in the
//! datum and text in Arrow; a wanted column that the writer lacks takes no byte at all; and items of no bytes can be
//! claimed by the billion. These spend from an allowance, so that no row and no batch outgrows its input without bound.

use crate::{Error, Result};

/// Free for everybody.
const BASE: usize = 256 << 10;

/// And so many times the bytes of the input.
const FACTOR: usize = 8;

/// What `input` bytes may spend.
pub(super) fn limit(input: usize) -> usize {
    input.saturating_mul(FACTOR).saturating_add(BASE)
}

/// What is left for one row.
#[derive(Debug)]
pub(super) struct Allowance {
    left: usize,
}

impl Allowance {
    pub(super) fn new(datum: usize) -> Self {
        Self { left: limit(datum) }
    }

    pub(super) fn left(&self) -> usize {
        self.left
    }

    #[inline(always)]
    pub(super) fn spend(&mut self, bytes: usize) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(exhausted()),
        }
    }
}

#[cold]
fn exhausted() -> Error {
    Error::unsupported(format!(
        "an Avro row whose nulls, enums or empty items take {FACTOR} times its own size and {} KiB more",
        BASE >> 10
    ))
}
