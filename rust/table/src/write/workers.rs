//! Locating on the workers of another engine where a key does not tell its file group: each file group is asked for the
//! keys of its partition, and new keys get their slots once the write was placed.
//!
//! What is looked for where is as in `located`, which does the same for rows that one machine holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, BooleanArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use serde::{Deserialize, Serialize};

use super::action::Action;
use super::locate::{KEY_COLUMN, PARTITION_COLUMN, SLOT_COLUMN, WIDTH_COLUMN};
use super::place::NEW_KEYS;
use super::sizes::{Point, Spread};
use crate::bytes_form::BytesForm;
use crate::index::{Keys, Lookup};
use crate::storage::Storage;
use crate::table::Location;
use crate::{Error, Result};

/// Keys that are looked for at once. They are held in memory; more of them cost another look at the files.
const KEYS_AT_ONCE: usize = 1 << 20;

/// Where in a file group keys are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Within {
    Base,
    Logs,
}

/// One file group that is asked for keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LookupTask {
    location: Location,
    within: Within,
    lookup: Lookup,
}

impl BytesForm for LookupTask {
    const KIND: (u8, &'static str) = (b'K', "look-up of keys");
}

impl LookupTask {
    pub fn slot(&self) -> i32 {
        self.lookup.slot()
    }

    pub fn partition(&self) -> &str {
        self.lookup.partition()
    }

    /// The schema of the keys that were found.
    pub fn output_schema() -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new(KEY_COLUMN, DataType::Utf8, false)]))
    }

    /// Runs on a worker: opens the storage itself. Of batches with a column of keys, those that the file group has.
    pub fn run<I>(&self, input: I) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<I>>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        Ok(self.run_on(&self.location.open()?, KEYS_AT_ONCE, input))
    }

    /// Runs on a storage that is open.
    pub fn run_on<I>(
        &self,
        storage: &Arc<dyn Storage>,
        at_once: usize,
        input: I,
    ) -> impl Iterator<Item = Result<RecordBatch>> + use<I>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let (task, storage, mut input) = (self.clone(), Arc::clone(storage), input.into_iter());
        std::iter::from_fn(move || match collect(&mut input, at_once) {
            Ok(keys) if keys.is_empty() => None,
            Ok(keys) => Some(task.found(&storage, &keys)),
            Err(e) => Some(Err(e)),
        })
    }

    fn found(&self, storage: &Arc<dyn Storage>, keys: &Keys) -> Result<RecordBatch> {
        let numbers = match self.within {
            Within::Base => self.lookup.in_base(storage, keys),
            Within::Logs => self.lookup.in_logs(storage, keys),
        }?;
        let mut found = vec![false; keys.len()];
        for number in numbers {
            if let Some(found) = found.get_mut(number as usize) {
                *found = true;
            }
        }
        let is_found = |number: u32| found.get(number as usize) == Some(&true);
        let found = keys.iter().filter(|(_, number)| is_found(*number)).map(|(key, _)| key);
        let column = Arc::new(StringArray::from_iter_values(found));
        Ok(RecordBatch::try_new(Self::output_schema(), vec![column])?)
    }
}

/// The next keys, and the rest of the batch that reaches `at_once`.
fn collect(input: &mut impl Iterator<Item = Result<RecordBatch>>, at_once: usize) -> Result<Keys> {
    let mut keys = Keys::default();
    while keys.len() < at_once {
        let Some(batch) = input.next() else { break };
        for key in text(&batch?, KEY_COLUMN)?.iter().flatten() {
            keys.number(key)?;
        }
    }
    Ok(keys)
}

impl Action {
    /// What has to be looked up in these partitions, in rounds: a key that one round found is not looked for in the next. As
    /// in Apache Hudi a key that has a row in a base file is not looked for in logs.
    pub fn lookup_rounds<'p>(&mut self, partitions: impl Iterator<Item = &'p str>) -> Result<Vec<Vec<LookupTask>>> {
        let lookups = self.lookups(partitions)?;
        let round = |within, has: fn(&Lookup) -> bool| -> Vec<LookupTask> {
            let of = |lookup: &Lookup| LookupTask { location: self.location().clone(), within, lookup: lookup.clone() };
            lookups.iter().filter(|lookup| has(lookup)).map(of).collect()
        };
        let rounds = [round(Within::Base, Lookup::has_base), round(Within::Logs, Lookup::has_logs)];
        Ok(rounds.into_iter().filter(|round| !round.is_empty()).collect())
    }
}

/// Where the new keys of a write go, once it was placed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSlots {
    by_partition: BTreeMap<String, Spread>,
    /// A delete names them in vain.
    are_written: bool,
}

impl BytesForm for NewSlots {
    const KIND: (u8, &'static str) = (b'N', "plan for new keys");
}

impl NewSlots {
    pub(super) fn new(by_partition: BTreeMap<String, Spread>, are_written: bool) -> Self {
        Self { by_partition, are_written }
    }

    pub(super) fn are_written(&self) -> bool {
        self.are_written
    }

    /// The slot of a key that no file group has.
    fn slot(&self, partition: &str, key: &str) -> Result<i32> {
        self.slots_of(partition)?(Point::of(key))
    }

    /// The same for the keys of one partition, of which only their points are known.
    pub(super) fn slots_of(&self, partition: &str) -> Result<impl Fn(Point) -> Result<i32>> {
        let nowhere = move || Error::internal(format!("no place for new keys of '{partition}'"));
        let spread = self.by_partition.get(partition).ok_or_else(nowhere)?;
        Ok(move |point| spread.slot(point).ok_or_else(nowhere))
    }

    /// The one slot of all new keys of a partition, if it has no other.
    pub(super) fn only_slot(&self, partition: &str) -> Option<i32> {
        self.by_partition.get(partition)?.only()
    }

    /// The schema of rows that have found their slots.
    pub fn output_schema(located: &Schema) -> SchemaRef {
        let is_kept = |name: &str| ![KEY_COLUMN, WIDTH_COLUMN].contains(&name);
        let kept = located.fields().iter().filter(|field| is_kept(field.name()));
        Arc::new(Schema::new(kept.cloned().collect::<Vec<_>>()))
    }

    /// Located rows, each with the slot of a task, and without their keys and widths. Those that nobody writes are not among
    /// them.
    pub fn settle(&self, located: &RecordBatch) -> Result<RecordBatch> {
        let slots = located.column_by_name(SLOT_COLUMN).and_then(|column| column.as_primitive_opt::<Int32Type>());
        let slots = slots.ok_or_else(|| Error::internal("located rows without slots"))?;
        let schema = Self::output_schema(&located.schema());
        let is_new = |row: usize| slots.value(row) == NEW_KEYS;
        let settled: Int32Array = if self.are_written {
            let (partitions, keys) = (text(located, PARTITION_COLUMN)?, text(located, KEY_COLUMN)?);
            let slot = |row| {
                if is_new(row) { self.slot(partitions.value(row), keys.value(row)) } else { Ok(slots.value(row)) }
            };
            (0..located.num_rows()).map(slot).collect::<Result<Vec<i32>>>()?.into()
        } else {
            slots.clone()
        };
        let columns = schema.fields().iter().map(|field| match located.column_by_name(field.name()) {
            Some(_) if field.name() == SLOT_COLUMN => Ok(Arc::new(settled.clone()) as _),
            Some(column) => Ok(Arc::clone(column)),
            None => Err(Error::internal("located rows lack a column")),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let rows = RecordBatch::try_new(schema, columns)?;
        if self.are_written {
            return Ok(rows);
        }
        let known: BooleanArray = (0..rows.num_rows()).map(|row| Some(!is_new(row))).collect();
        Ok(filter_record_batch(&rows, &known)?)
    }
}

pub(super) fn text<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b StringArray> {
    let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
    column.filter(|c| c.null_count() == 0).ok_or_else(|| Error::internal(format!("rows without the column {name}")))
}
