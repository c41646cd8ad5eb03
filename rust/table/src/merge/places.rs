//! Which rows of the base file the changes of a slice stand for, by record key.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use hudini_format::log::delete;

use super::blocks::{PositionsLeft, Taker};
use super::bounded::Changes;
use super::deleted::record_keys;
use super::index::Index;
use super::packed::unpacked;
use super::rule::{MergeRule, columns_of};
use super::slice::Batches;
use crate::{Error, ErrorKind, Result};

/// The keys of changes, in the order in which they first come; nothing else is taken of the changes.
pub(super) struct Keys {
    rule: MergeRule,
    index: Index,
    most_bytes: u64,
}

impl Keys {
    /// Of changes that have these columns.
    pub(super) fn of(changes: &mut impl Changes, columns: &SchemaRef, most_bytes: u64) -> Result<Self> {
        let mut keys = Self { rule: changes.rule().clone(), index: Index::default(), most_bytes };
        let needed = keys.columns(columns);
        changes.read(&needed, &mut keys)?;
        Ok(keys)
    }

    /// Those that make a key.
    pub(super) fn columns(&self, columns: &SchemaRef) -> SchemaRef {
        Arc::new(columns_of(columns, |name| self.rule.makes_keys(name)))
    }

    fn add(&mut self, keys: &StringArray) -> Result<()> {
        let count = keys.len();
        if let Some(row) = (0..count).find(|row| keys.is_null(*row)) {
            return Err(Error::corrupt(format!("row {row} has no record key")));
        }
        // As large as they are: decoders make room for a whole batch.
        let column = self.index.add_keys(StringArray::from_iter_values(keys.iter().flatten()));
        for row in 0..count {
            self.index.find_or_add(Index::key(column, row)?)?;
        }
        if self.index.bytes() + self.index.key_bytes() > self.most_bytes {
            let message =
                format!("the keys of more than {} changed rows take more memory than the limit", self.index.len());
            let error = Error::new(ErrorKind::MemoryLimit, message);
            let hint =
                "only the rows themselves go to disk; raise memory_limit or hoodie.memory.merge.max.size, or compact";
            return Err(error.with_hint(hint));
        }
        Ok(())
    }
}

impl Taker for Keys {
    fn wants_positions(&self) -> bool {
        false
    }

    fn rows(&mut self, rows: RecordBatch, _: Option<&mut PositionsLeft>, _: Option<&[bool]>) -> Result<()> {
        self.add(record_keys(&self.rule.with_keys(rows)?)?)
    }

    fn deletes(&mut self, deletes: delete::Records<'_>, _: Option<&mut PositionsLeft>) -> Result<()> {
        let keys = deletes.filter_map(|delete| delete.map(|delete| delete.key).transpose());
        self.add(&StringArray::from_iter_values(keys.collect::<Result<Vec<_>, _>>()?))
    }
}

/// A place for every key: that of the first row of the base file which has it, or else one behind all its rows.
#[derive(Debug)]
pub(super) struct Places {
    index: Index,
    places: Vec<u64>,
    end: u64,
    /// Whether each is that of the only row of the base file with its key.
    are_single_rows: bool,
}

impl Places {
    /// Goes through the keys of the base file.
    pub(super) fn of(keys: Keys, base: Batches) -> Result<Self> {
        const NONE: u64 = u64::MAX;
        let Keys { rule, index, .. } = keys;
        let mut places = vec![NONE; index.len()];
        let mut end = 0;
        let mut are_single_rows = true;
        for rows in base {
            let rows = rule.with_keys(unpacked(rows?, |_| true)?)?;
            for (key, at) in record_keys(&rows)?.iter().zip(end..) {
                let entry = key.and_then(|key| index.find(key));
                match entry.and_then(|entry| places.get_mut(entry)) {
                    Some(place) if *place == NONE => *place = at,
                    Some(_) => are_single_rows = false,
                    None => {}
                }
            }
            end += rows.num_rows() as u64;
        }
        for place in places.iter_mut().filter(|place| **place == NONE) {
            *place = end;
            end += 1;
            are_single_rows = false;
        }
        Ok(Self { index, places, end, are_single_rows })
    }

    pub(super) fn are_single_rows(&self) -> bool {
        self.are_single_rows
    }

    /// As if there were no base file.
    pub(super) fn by_arrival(self) -> Self {
        let end = self.places.len() as u64;
        Self { places: (0..end).collect(), end, are_single_rows: false, ..self }
    }

    pub(super) fn of_key(&self, key: &str) -> Result<u64> {
        let place = self.index.find(key).and_then(|entry| self.places.get(entry)).copied();
        place.ok_or_else(|| Error::internal(format!("record key '{key}' came only when the logs were read again")))
    }

    /// Behind all of them.
    pub(super) fn end(&self) -> u64 {
        self.end
    }
}
