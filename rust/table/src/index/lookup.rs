//! The look-up of keys in one file group: a task, which reads the record keys of its files and nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use crate::base_file::{self, Footer};
use crate::merge::{MergeRule, SliceLogs, record_keys};
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::view::FileSlice;
use crate::{Error, Result};

const BATCH_ROWS: usize = 8192;

/// Different keys of one partition, numbered.
#[derive(Debug, Default)]
pub struct Keys {
    numbers: HashMap<String, u32>,
}

impl Keys {
    /// The number of a key, which is added if it is new.
    pub fn number(&mut self, key: &str) -> Result<u32> {
        if let Some(number) = self.numbers.get(key) {
            return Ok(*number);
        }
        let number = u32::try_from(self.numbers.len());
        let number = number.map_err(|_| Error::unsupported("a write of more than 4 billion keys"))?;
        self.numbers.insert(key.to_owned(), number);
        Ok(number)
    }

    pub fn get(&self, key: &str) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.numbers.iter().map(|(key, number)| (key.as_str(), *number))
    }
}

/// One file group of a partition, and how it is looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lookup {
    pub(crate) slot: i32,
    pub(crate) slice: FileSlice,
    pub(crate) snapshot: Snapshot,
    pub(crate) rule: MergeRule,
    pub(crate) by_bloom: bool,
    /// What the keys of logs may take in memory.
    pub(crate) memory: u64,
}

impl Lookup {
    pub fn slot(&self) -> i32 {
        self.slot
    }

    pub fn partition(&self) -> &str {
        &self.slice.partition
    }

    pub fn has_base(&self) -> bool {
        self.slice.base.is_some()
    }

    pub fn has_logs(&self) -> bool {
        !self.slice.logs.is_empty()
    }

    /// The numbers of those keys that its base file holds.
    pub fn in_base(&self, storage: &Arc<dyn Storage>, keys: &Keys) -> Result<Vec<u32>> {
        let Some(base) = &self.slice.base else { return Ok(Vec::new()) };
        let path = self.slice.path(base);
        if self.by_bloom && !may_hold(&base_file::footer(storage, &path)?, keys).map_err(|e| e.at_path(&path))? {
            return Ok(Vec::new());
        }
        let mut found = Found::new(keys);
        for batch in base_file::read(storage, &path, &key_column(), &Mapping::default(), BATCH_ROWS)? {
            for key in record_keys(&batch?)?.iter().flatten() {
                found.add(key);
            }
            if found.is_all() {
                break;
            }
        }
        Ok(found.numbers)
    }

    /// The numbers of those keys that its logs hold. A key that they delete may be among them: its rows and its deletes
    /// belong into one file group.
    pub fn in_logs(&self, storage: &Arc<dyn Storage>, keys: &Keys) -> Result<Vec<u32>> {
        let mut found = Found::new(keys);
        if !self.slice.logs.is_empty() {
            let mut logs = SliceLogs::open(storage, &self.snapshot, &self.slice, &self.rule)?;
            for batch in logs.unmerged(&key_column(), self.memory)? {
                record_keys(&batch)?.iter().flatten().for_each(|key| found.add(key));
            }
        }
        Ok(found.numbers)
    }
}

pub(crate) fn key_column() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new(meta::RECORD_KEY, DataType::Utf8, true)]))
}

/// Whether the footer rules out all of them.
fn may_hold(footer: &Footer, keys: &Keys) -> Result<bool> {
    let Some(filter) = footer.bloom()? else { return Ok(true) };
    let (low, high) = footer.key_range();
    let within = |key: &str| {
        low.is_none_or(|low| !base_file::java_less(key, low))
            && high.is_none_or(|high| !base_file::java_less(high, key))
    };
    Ok(keys.iter().any(|(key, _)| key.is_empty() || (within(key) && filter.contains(key))))
}

/// Each key once.
struct Found<'k> {
    keys: &'k Keys,
    seen: Vec<bool>,
    numbers: Vec<u32>,
}

impl<'k> Found<'k> {
    fn new(keys: &'k Keys) -> Self {
        Self { keys, seen: vec![false; keys.len()], numbers: Vec::new() }
    }

    fn add(&mut self, key: &str) {
        let Some(number) = self.keys.get(key) else { return };
        if let Some(seen) = self.seen.get_mut(number as usize).filter(|seen| !**seen) {
            *seen = true;
            self.numbers.push(number);
        }
    }

    fn is_all(&self) -> bool {
        self.numbers.len() == self.keys.len()
    }
}
