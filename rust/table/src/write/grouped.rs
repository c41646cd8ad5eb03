//! The rows of a batch by the file groups that they go to.

use arrow_array::Array;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hudini_format::short::are_same;

use super::locate::{Locator, Names};
use super::located::Homes;
use super::place::NEW_KEYS;
use super::shares::Pick;
use super::sizes::Point;
use crate::{Error, Result};

/// Rows of one partition and slot.
#[derive(Debug)]
pub(super) enum Part {
    Known(Pick),
    New(Unplaced),
}

/// Rows of a partition whose keys no file group has.
#[derive(Debug)]
pub(super) struct Unplaced {
    pub(super) rows: Pick,
    /// What tells their file groups, once there are some.
    pub(super) points: Vec<Point>,
    pub(super) bytes: u64,
}

/// Collects the rows of one batch, some at a time.
#[derive(Default)]
pub(super) struct ByGroup {
    partitions: HashMap<String, OfPartition, FixedState>,
    /// So many so far.
    rows: u32,
}

#[derive(Default)]
struct OfPartition {
    known: BySlot,
    new: New,
}

#[derive(Default)]
struct New {
    rows: Vec<u32>,
    points: Vec<Point>,
    bytes: u64,
}

impl ByGroup {
    /// Adds those that come next.
    pub(super) fn add(&mut self, locator: &Locator, names: &Names, homes: &Homes<'_>) -> Result<()> {
        let Names { partitions, keys, widths } = names;
        if partitions.null_count() + keys.null_count() > 0 {
            return Err(Error::internal("a row without a key or a partition"));
        }
        let (first, count) = (self.rows, u32::try_from(keys.len()).ok());
        let end = count.and_then(|count| first.checked_add(count));
        self.rows = end.ok_or_else(|| Error::unsupported("a batch of more than 4 billion rows"))?;
        let buckets = locator.buckets(keys)?;
        // Rows of one partition often follow each other: it is looked for once.
        let (mut last, mut here) = ("", self.partitions.entry_ref("").or_default());
        for (at, (row, partition)) in (first..self.rows).zip(partitions.iter().flatten()).enumerate() {
            if !are_same(partition.as_bytes(), last.as_bytes()) {
                (last, here) = (partition, self.partitions.entry_ref(partition).or_default());
            }
            if let Some(bucket) = buckets.as_ref().and_then(|buckets| buckets.get(at)) {
                here.known.rows(*bucket).push(row);
                continue;
            }
            let key = keys.value(at);
            let slots = homes.get(partition).map_or(&[][..], |known| known.slots(key));
            if slots.is_empty() {
                let width = widths.as_ref().and_then(|widths| widths.get(at)).map_or(0, |width| width.unsigned_abs());
                here.new.add(row, key, width);
            }
            slots.iter().for_each(|slot| here.known.rows(*slot).push(row));
        }
        Ok(())
    }

    /// By partition and slot, once the batch, which has this number, is through.
    pub(super) fn parts(self, batch: usize) -> Vec<(String, i32, Part)> {
        let of = self.rows as usize;
        let parts = self.partitions.into_iter().flat_map(|(partition, OfPartition { known, new })| {
            let known = known.each().map(|(slot, rows)| (slot, Part::Known(Pick::new(batch, rows, of))));
            let new = new.unplaced(batch, of).map(|unplaced| (NEW_KEYS, Part::New(unplaced)));
            known.chain(new).map(move |(slot, part)| (partition.clone(), slot, part))
        });
        parts.collect()
    }
}

impl New {
    fn add(&mut self, row: u32, key: &str, width: u64) {
        self.rows.push(row);
        self.points.push(Point::of(key));
        self.bytes += width;
    }

    fn unplaced(self, batch: usize, of: usize) -> Option<Unplaced> {
        let Self { rows, points, bytes } = self;
        (!rows.is_empty()).then(|| Unplaced { rows: Pick::new(batch, rows, of), points, bytes })
    }
}

/// Numbers of slots that are found without being looked for.
const FEW: usize = 64;

/// Rows of a partition by slot.
#[derive(Default)]
pub(super) struct BySlot {
    few: Vec<Vec<u32>>,
    others: HashMap<i32, Vec<u32>, FixedState>,
}

impl BySlot {
    #[inline]
    pub(super) fn rows(&mut self, slot: i32) -> &mut Vec<u32> {
        let number = usize::try_from(slot).unwrap_or(FEW);
        if number < FEW && self.few.len() <= number {
            self.few.resize_with(number + 1, Vec::new);
        }
        self.few.get_mut(number).unwrap_or_else(|| self.others.entry(slot).or_default())
    }

    pub(super) fn each(self) -> impl Iterator<Item = (i32, Vec<u32>)> {
        let few = (0..).zip(self.few).filter(|(_, rows)| !rows.is_empty());
        few.chain(self.others)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn rows_stay_with_their_slots_whatever_their_numbers() {
        let slots = [7, NEW_KEYS, 63, 64, 0, 1000, 64, 7, i32::MAX];
        let (mut by_slot, mut expected) = (BySlot::default(), BTreeMap::<i32, Vec<u32>>::new());
        for (slot, row) in slots.into_iter().zip(0..) {
            by_slot.rows(slot).push(row);
            expected.entry(slot).or_default().push(row);
        }
        let found: Vec<_> = by_slot.each().collect();
        assert_eq!(found.len(), expected.len());
        assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), expected);
    }
}
