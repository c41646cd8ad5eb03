//! Changes on their way into logs.

use hudini_format::log::OrderingValue;

use super::super::change::{Change, Id};
use super::super::deleted::record_keys;
use super::super::rows::Place;
use super::Deltas;
use crate::Result;

impl Deltas {
    /// All rows that count, in order of arrival of their keys.
    pub(crate) fn rows(&self) -> Vec<(usize, usize)> {
        self.entries.iter().filter_map(|e| e.change.row()).collect()
    }

    /// All deletes that count: the key, and the ordering value in the form a delete block holds.
    pub(crate) fn deletes(&self) -> impl Iterator<Item = Result<(&str, OrderingValue)>> {
        self.entries.iter().enumerate().filter_map(|(at, e)| {
            let Change::Delete { row, .. } = &e.change else { return None };
            let Some(Id::Key(key)) = self.index.id_of(at) else { return None };
            let columns = row.and_then(|(batch, row)| Some((self.orderings.get(batch)?, row)));
            let value = columns.map_or(Ok(OrderingValue::NONE), |(columns, row)| columns.delete_value(row));
            Some(value.map(|value| (key, value)))
        })
    }

    /// All rows that count and have a place, in the order of their places.
    pub(crate) fn placed_rows(&self) -> Vec<(u64, Place)> {
        let row = |(place, entry): (u64, u32)| Some((place, self.entries.get(entry as usize)?.change.row()?));
        self.by_position().into_iter().filter_map(row).collect()
    }

    /// All rows that were marked as deleted and have a place, as [`Self::placed_rows`] and [`Self::deletes`] say.
    pub(crate) fn placed_deletes(&self) -> impl Iterator<Item = Result<(u64, &str, OrderingValue)>> {
        self.by_position().into_iter().filter_map(|(place, entry)| {
            let Change::Delete { row: Some((batch, row)), .. } = self.entries.get(entry as usize)?.change else {
                return None;
            };
            let (rows, columns) = (self.batches.get(batch)?, self.orderings.get(batch)?);
            let key = record_keys(rows).map(|keys| keys.value(row));
            Some(key.and_then(|key| Ok((place, key, columns.delete_value(row)?))))
        })
    }
}
