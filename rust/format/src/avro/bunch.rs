//! Some rows at a time, column by column.
//!
//! Within a datum each value starts where the one before it ends, so a processor that walks along one datum mostly waits.
//! Rows do not wait for each other: taking the same step of many rows, one row after the other, keeps it busy, and what the
//! step is gets looked up once for all of them.

use crate::{Error, Result};

/// Rows of a bunch: enough to pay for the look-up of a step, few enough to stay in the first cache.
pub(super) const MOST: usize = 32;

/// A datum, among several, that is no row of the writer's schema.
#[derive(Debug)]
pub struct BadDatum {
    /// The so-manieth of those that were given.
    pub index: usize,
    pub error: Error,
}

impl From<Error> for BadDatum {
    fn from(error: Error) -> Self {
        Self { index: 0, error }
    }
}

/// What is left to read of each row.
#[derive(Debug)]
pub(super) struct Bunch<'a> {
    rests: [&'a [u8]; MOST],
    rows: usize,
}

impl<'a> Bunch<'a> {
    /// The next of `datums`, as many as a bunch has.
    #[inline(always)]
    pub(super) fn new(datums: &mut impl Iterator<Item = &'a [u8]>) -> Self {
        let mut rests: [&[u8]; MOST] = [&[]; MOST];
        let mut met = 0;
        let mut rows = 0;
        for (rest, datum) in rests.iter_mut().zip(datums) {
            met ^= look_through(datum);
            *rest = datum;
            rows += 1;
        }
        std::hint::black_box(met);
        Self { rests, rows }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// What is left of all.
    pub(super) fn bytes(&self) -> usize {
        self.rests.iter().map(|rest| rest.len()).sum()
    }
}

/// Looks at each cache line once, in order: then the processor fetches what lies ahead. Without that, going through the
/// columns of rows that are not in the cache yet takes twice as long.
#[inline(always)]
fn look_through(datum: &[u8]) -> u8 {
    const CACHE_LINE: usize = 64;
    datum.iter().step_by(CACHE_LINE).fold(0, |met, byte| met ^ byte)
}

/// Datums that are read together: all take a step before any takes the next one.
pub(super) trait Rests<'a> {
    type Error;

    fn each(&mut self, step: impl FnMut(&'a [u8]) -> Result<&'a [u8]>) -> Result<(), Self::Error>;
}

impl<'a> Rests<'a> for Bunch<'a> {
    type Error = BadDatum;

    #[inline(always)]
    fn each(&mut self, mut step: impl FnMut(&'a [u8]) -> Result<&'a [u8]>) -> Result<(), BadDatum> {
        for (index, rest) in self.rests.get_mut(..self.rows).unwrap_or_default().iter_mut().enumerate() {
            match step(rest) {
                Ok(next) => *rest = next,
                Err(error) => return Err(BadDatum { index, error }),
            }
        }
        Ok(())
    }
}

/// One datum by itself.
impl<'a> Rests<'a> for &'a [u8] {
    type Error = Error;

    #[inline(always)]
    fn each(&mut self, mut step: impl FnMut(&'a [u8]) -> Result<&'a [u8]>) -> Result<()> {
        *self = step(self)?;
        Ok(())
    }
}
