//! Arrays and maps: blocks of items, with their number in front.

use super::allowance::Allowance;
use super::column::Column;
use super::cursor;
use crate::Result;

/// What arrays and maps hold.
#[derive(Debug)]
pub(super) struct Items<T> {
    /// The fewest bytes an item takes.
    fewest: usize,
    /// Bytes in memory of the slots of an item.
    width: usize,
    pub(super) columns: T,
}

pub(super) trait Item {
    fn reserve(&mut self, items: usize);
    fn read<'a>(&mut self, rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]>;
}

impl Item for Column {
    fn reserve(&mut self, items: usize) {
        Self::reserve(self, items);
    }

    #[inline(never)]
    fn read<'a>(&mut self, rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]> {
        Self::read(self, rest, allowance)
    }
}

/// Key and value.
impl Item for (Column, Column) {
    fn reserve(&mut self, items: usize) {
        self.0.reserve(items);
        self.1.reserve(items);
    }

    fn read<'a>(&mut self, rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]> {
        let rest = Item::read(&mut self.0, rest, allowance)?;
        Item::read(&mut self.1, rest, allowance)
    }
}

impl<T: Item> Items<T> {
    pub(super) fn new(fewest: usize, width: usize, columns: T) -> Self {
        Self { fewest, width, columns }
    }

    /// All blocks of an array or map.
    pub(super) fn read<'a>(&mut self, mut rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]> {
        loop {
            let (count, _, items) = cursor::block(rest)?;
            if count == 0 {
                return Ok(items);
            }
            let count = cursor::checked_count(count, self.fewest, items)?;
            allowance.spend(count.saturating_mul(self.width))?;
            self.columns.reserve(count);
            rest = (0..count).try_fold(items, |rest, _| self.columns.read(rest, allowance))?;
        }
    }
}
