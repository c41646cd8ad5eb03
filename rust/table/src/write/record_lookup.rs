//! Looking keys up in the record index on the workers of another engine: each of its file groups is asked for those keys
//! that are there if anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::action::Action;
use super::locate::{KEY_COLUMN, PARTITION_COLUMN};
use super::recorded::Recorded;
use super::workers::text;
use crate::bytes_form::BytesForm;
use crate::index::Index;
use crate::metadata::RecordGroups;
use crate::storage::Storage;
use crate::table::Location;
use crate::{Error, Result};

/// Keys that are looked up at once. They are held in memory, with what is found of them; sorted, each portion is in another
/// part of the group.
const KEYS_AT_ONCE: usize = 1 << 18;

/// The file group of the record index that a key belongs to.
pub const GROUP_COLUMN: &str = "_hudini_group";
/// Whether the rows of a key name several partitions.
pub const SCATTERED_COLUMN: &str = "_hudini_scattered";
/// The file group that has a key, by its id.
pub const FILE_COLUMN: &str = "_hudini_file";

/// The record index as workers need it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordLookup {
    location: Location,
    groups: RecordGroups,
    /// A delete names keys in vain, wherever.
    brings_rows: bool,
}

impl BytesForm for RecordLookup {
    const KIND: (u8, &'static str) = (b'I', "look-up in the record index");
}

impl RecordLookup {
    /// How many file groups there are to be asked.
    pub fn groups(&self) -> usize {
        self.groups.count()
    }

    /// The schema of keys that are to be looked up, each once.
    pub fn input_schema() -> SchemaRef {
        let scattered = Field::new(SCATTERED_COLUMN, DataType::Boolean, false);
        Arc::new(Schema::new(vec![Field::new(KEY_COLUMN, DataType::Utf8, false), scattered]))
    }

    /// The schema of the same with their groups.
    pub fn grouped_schema() -> SchemaRef {
        let mut fields = vec![Field::new(GROUP_COLUMN, DataType::Int32, false)];
        fields.extend(Self::input_schema().fields().iter().map(|field| field.as_ref().clone()));
        Arc::new(Schema::new(fields))
    }

    /// The schema of the keys that were found.
    pub fn output_schema() -> SchemaRef {
        let text = |name| Field::new(name, DataType::Utf8, false);
        Arc::new(Schema::new([KEY_COLUMN, PARTITION_COLUMN, FILE_COLUMN].map(text).to_vec()))
    }

    /// Tells of keys which group has them, if any has.
    pub fn group(&self, keys: &RecordBatch) -> Result<RecordBatch> {
        let number = |key: &str| {
            let number = self.groups.number_of(key)?;
            i32::try_from(number).map_err(|_| Error::internal("a file group number beyond its range"))
        };
        let numbers = text(keys, KEY_COLUMN)?.iter().flatten().map(number).collect::<Result<Vec<_>>>()?;
        let mut columns = vec![Arc::new(Int32Array::from(numbers)) as ArrayRef];
        columns.extend(keys.columns().iter().cloned());
        Ok(RecordBatch::try_new(Self::grouped_schema(), columns)?)
    }

    /// Runs on a worker: opens the storage itself. Of the keys of one group, each once, those that are there, with the
    /// file groups that have them; and without a file those that are not there, if their rows name several partitions.
    /// Sorted keys are found more quickly.
    pub fn run<I>(&self, group: i32, input: I) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<I>>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        Ok(self.run_on(&self.location.open()?, group, KEYS_AT_ONCE, input))
    }

    /// Runs on a storage that is open.
    pub fn run_on<I>(
        &self,
        storage: &Arc<dyn Storage>,
        group: i32,
        at_once: usize,
        input: I,
    ) -> impl Iterator<Item = Result<RecordBatch>> + use<I>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let (lookup, storage, mut input) = (self.clone(), Arc::clone(storage), input.into_iter());
        std::iter::from_fn(move || match collect(&mut input, at_once) {
            Ok(asked) if asked.is_empty() => None,
            Ok(asked) => Some(lookup.found(&storage, group, &asked)),
            Err(e) => Some(Err(e)),
        })
    }

    fn found(&self, storage: &Arc<dyn Storage>, group: i32, asked: &Asked) -> Result<RecordBatch> {
        let number = u32::try_from(group).map_err(|_| Error::internal(format!("the file group {group}")))?;
        let wanted: BTreeSet<String> = asked.keys().cloned().collect();
        let found = self.groups.locations(storage, number, wanted)?;
        let (mut keys, mut partitions, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for (key, entries) in &found {
            let Some(Recorded { partition, file_ids }) = Recorded::of(entries) else { continue };
            for file_id in file_ids {
                keys.push(key.as_str());
                partitions.push(partition.clone());
                files.push(file_id);
            }
        }
        let is_lost = |key: &&String| self.brings_rows && !found.contains_key(*key);
        for key in asked.iter().filter(|(_, scattered)| **scattered).map(|(key, _)| key).filter(is_lost) {
            keys.push(key);
            partitions.push(String::new());
            files.push(String::new());
        }
        let columns: [ArrayRef; 3] = [
            Arc::new(StringArray::from(keys)),
            Arc::new(StringArray::from(partitions)),
            Arc::new(StringArray::from(files)),
        ];
        Ok(RecordBatch::try_new(Self::output_schema(), columns.to_vec())?)
    }
}

/// Keys, and whether their rows name several partitions.
type Asked = BTreeMap<String, bool>;

/// The next keys, and the rest of the batch that reaches `at_once`.
fn collect(input: &mut impl Iterator<Item = Result<RecordBatch>>, at_once: usize) -> Result<Asked> {
    let mut asked = Asked::new();
    while asked.len() < at_once {
        let Some(batch) = input.next() else { break };
        let batch = batch?;
        let scattered = batch.column_by_name(SCATTERED_COLUMN).and_then(|column| column.as_boolean_opt());
        let scattered = scattered.filter(|column| column.null_count() == 0);
        let scattered = scattered.ok_or_else(|| Error::internal("keys that do not say whether they are scattered"))?;
        let keys = text(&batch, KEY_COLUMN)?.iter().flatten().map(str::to_owned);
        asked.extend(keys.zip(scattered.values().iter()));
    }
    Ok(asked)
}

impl Action {
    /// What workers need to look keys up in the record index; `None` of a write whose keys are looked for elsewhere.
    pub fn record_lookup(&self) -> Result<Option<RecordLookup>> {
        if *self.locator().index() != Index::Records {
            return Ok(None);
        }
        Ok(Some(RecordLookup {
            location: self.location().clone(),
            groups: self.records()?.clone(),
            brings_rows: self.operation().brings_rows(),
        }))
    }
}
