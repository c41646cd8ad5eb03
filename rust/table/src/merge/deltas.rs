//! Changes to one file group, merged among themselves by key.
//!
//! They are log records when a slice is read, and incoming rows when one is written: the rule is the same. Logs merge
//! among themselves first and only the outcome meets the base row; that is visible, because a delete of everything
//! before it can be followed by a row that loses against the base.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch, StringArray};
use arrow_schema::DataType;
use arrow_select::filter::filter_record_batch;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hudini_format::log::{DeleteRecord, OrderingValue};
use hudini_format::schema::meta;

use super::ordering::{OrderingColumns, OrderingKey};
use crate::options::MergeMode;
use crate::{Error, Result};

/// How two versions of a row are merged.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MergeRule {
    pub by_event_time: bool,
    /// Ordering fields, used in event-time mode.
    pub ordering: Vec<String>,
}

impl MergeRule {
    pub fn new(mode: MergeMode, ordering: &[String]) -> Self {
        // Without a field to order by, event time is commit time.
        let by_event_time = mode == MergeMode::EventTime && !ordering.is_empty();
        Self { by_event_time, ordering: if by_event_time { ordering.to_vec() } else { Vec::new() } }
    }
}

/// The last word on one key.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// A row of one of the batches.
    Row { batch: usize, row: usize },
    Delete {
        /// `None`: delete whatever came before, whatever its ordering value.
        ordering: Option<OrderingKey>,
        /// The row that asked for it, if it was a row.
        row: Option<(usize, usize)>,
    },
}

impl Change {
    fn row(&self) -> Option<(usize, usize)> {
        match self {
            Self::Row { batch, row } => Some((*batch, *row)),
            Self::Delete { .. } => None,
        }
    }
}

#[derive(Debug)]
struct Entry {
    key: Box<str>,
    change: Change,
    /// A base row has met it.
    used: bool,
}

/// Rows and deletes by key, in the order in which keys first arrived.
#[derive(Debug)]
pub struct Deltas {
    rule: MergeRule,
    batches: Vec<RecordBatch>,
    orderings: Vec<OrderingColumns>,
    entries: Vec<Entry>,
    by_key: HashMap<Box<str>, usize, FixedState>,
}

impl Deltas {
    pub fn new(rule: MergeRule) -> Self {
        Self { rule, batches: Vec::new(), orderings: Vec::new(), entries: Vec::new(), by_key: HashMap::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Distinct keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Takes rows in, later ones after earlier ones. They have the meta column with their record key; those marked as
    /// deleted become deletes with the row's own ordering value.
    pub fn push_rows(&mut self, rows: RecordBatch) -> Result<()> {
        let keys = record_keys(&rows)?.clone();
        let deleted = deleted_rows(&rows)?;
        let ordering = OrderingColumns::of(&rows, &self.rule.ordering)?;
        let batch = self.batches.len();
        self.batches.push(rows);
        self.orderings.push(ordering);
        for row in 0..keys.len() {
            if keys.is_null(row) {
                return Err(Error::corrupt(format!("row {row} has no record key")));
            }
            let is_delete = deleted.as_ref().is_some_and(|d| d.is_valid(row) && d.value(row));
            let change = if is_delete {
                let ordering = self.delete_ordering_of(batch, row);
                Change::Delete { ordering, row: Some((batch, row)) }
            } else {
                Change::Row { batch, row }
            };
            self.push(keys.value(row), change)?;
        }
        Ok(())
    }

    /// Takes deletes in, those of a delete block for example.
    pub fn push_deletes(&mut self, deletes: impl IntoIterator<Item = Result<DeleteRecord>>) -> Result<()> {
        for delete in deletes {
            let delete = delete?;
            if let Some(key) = &delete.key {
                let ordering = OrderingKey::of_delete(&delete.ordering)?;
                self.push(key, Change::Delete { ordering, row: None })?;
            }
        }
        Ok(())
    }

    fn push(&mut self, key: &str, new: Change) -> Result<()> {
        match self.by_key.get(key).copied() {
            None => {
                let key: Box<str> = key.into();
                self.by_key.insert(key.clone(), self.entries.len());
                self.entries.push(Entry { key, change: new, used: false });
            }
            Some(at) => {
                let old = self.entries.get(at).map(|e| e.change.clone());
                let old = old.ok_or_else(|| Error::internal("a key without its entry"))?;
                if self.newer_wins(&old, &new).map_err(|e| with_key(e, key))?
                    && let Some(entry) = self.entries.get_mut(at)
                {
                    entry.change = new;
                }
            }
        }
        Ok(())
    }

    /// Whether the later of two changes counts.
    fn newer_wins(&self, old: &Change, new: &Change) -> Result<bool> {
        if !self.rule.by_event_time {
            return Ok(true);
        }
        match (old, new) {
            // A delete of everything stays what it is when a mere ordered delete follows; a row after it counts.
            (Change::Delete { ordering: None, .. }, Change::Delete { .. }) => Ok(false),
            (Change::Delete { ordering: None, .. }, Change::Row { .. })
            | (_, Change::Delete { ordering: None, .. }) => Ok(true),
            _ => match (self.ordering_key(old), self.ordering_key(new)) {
                (Some(old), Some(new)) => not_less(&new, &old),
                _ => Err(Error::internal("a change without an ordering value")),
            },
        }
    }

    fn ordering_key(&self, change: &Change) -> Option<OrderingKey> {
        match change {
            Change::Row { batch, row } => self.ordering_of(*batch, *row),
            Change::Delete { ordering, .. } => ordering.clone(),
        }
    }

    fn ordering_of(&self, batch: usize, row: usize) -> Option<OrderingKey> {
        self.orderings.get(batch).map(|columns| columns.key(row))
    }

    fn delete_ordering_of(&self, batch: usize, row: usize) -> Option<OrderingKey> {
        let columns = self.orderings.get(batch).filter(|_| self.rule.by_event_time)?;
        (!columns.is_default(row)).then(|| columns.key(row))
    }

    /// The change that a base row meets, if any: each change meets one row, later rows of that key pass unchanged.
    pub(super) fn meet(&mut self, key: &str) -> Option<Change> {
        let at = *self.by_key.get(key)?;
        let entry = self.entries.get_mut(at).filter(|e| !e.used)?;
        entry.used = true;
        Some(entry.change.clone())
    }

    /// Whether a change wins over a base row with this ordering value.
    pub(super) fn wins_over_base(&self, change: &Change, base: &OrderingColumns, row: usize) -> Result<bool> {
        if !self.rule.by_event_time {
            return Ok(true);
        }
        match self.ordering_key(change) {
            Some(ordering) => not_less(&ordering, &base.key(row)),
            None => Ok(true),
        }
    }

    /// Rows whose key no base row had, in order of arrival: (batch, row).
    pub(super) fn inserts(&self) -> Vec<(usize, usize)> {
        let unused = self.entries.iter().filter(|e| !e.used);
        unused.filter_map(|e| e.change.row()).collect()
    }

    /// All rows that count, in order of arrival of their keys.
    pub(crate) fn rows(&self) -> Vec<(usize, usize)> {
        self.entries.iter().filter_map(|e| e.change.row()).collect()
    }

    /// All deletes that count: the key, and the ordering value in the form a delete block holds.
    pub(crate) fn deletes(&self) -> impl Iterator<Item = Result<(&str, OrderingValue)>> {
        self.entries.iter().filter_map(|e| match &e.change {
            Change::Row { .. } => None,
            Change::Delete { row: Some((batch, row)), .. } => {
                let columns = self.orderings.get(*batch);
                let value = columns.map_or(Ok(OrderingValue::NONE), |columns| columns.delete_value(*row));
                Some(value.map(|value| (&*e.key, value)))
            }
            Change::Delete { row: None, .. } => Some(Ok((&*e.key, OrderingValue::NONE))),
        })
    }

    pub(crate) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    pub(crate) fn rule(&self) -> &MergeRule {
        &self.rule
    }
}

fn with_key(e: Error, key: &str) -> Error {
    Error::new(e.kind(), format!("record key '{key}': {}", e.message()))
}

fn not_less(new: &OrderingKey, old: &OrderingKey) -> Result<bool> {
    match new.compare(old) {
        Some(ordering) => Ok(ordering != Ordering::Less),
        None => Err(Error::schema("two ordering values of different types cannot be compared")),
    }
}

/// The record keys of rows that carry the meta columns.
pub(crate) fn record_keys(rows: &RecordBatch) -> Result<&StringArray> {
    let column = rows.column_by_name(meta::RECORD_KEY);
    column
        .and_then(|c| c.as_string_opt::<i32>())
        .ok_or_else(|| Error::schema(format!("rows without the column {}", meta::RECORD_KEY)))
}

/// The rows that are not marked as deleted.
pub(crate) fn without_deleted(rows: RecordBatch) -> Result<RecordBatch> {
    let Some(deleted) = deleted_rows(&rows)? else { return Ok(rows) };
    let live: BooleanArray =
        (0..rows.num_rows()).map(|row| Some(deleted.is_null(row) || !deleted.value(row))).collect();
    Ok(filter_record_batch(&rows, &live)?)
}

/// Where `_hoodie_is_deleted` is true, if the rows have such a column.
fn deleted_rows(rows: &RecordBatch) -> Result<Option<BooleanArray>> {
    match rows.column_by_name(meta::IS_DELETED) {
        None => Ok(None),
        Some(column) if *column.data_type() == DataType::Boolean => Ok(Some(column.as_boolean().clone())),
        Some(column) => Err(Error::schema(format!("{} must be boolean, not {}", meta::IS_DELETED, column.data_type()))),
    }
}
