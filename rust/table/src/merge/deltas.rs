//! Changes to one file group, merged among themselves by key.
//!
//! They are log records when a slice is read, and incoming rows when one is written: the rule is the same. Logs merge
//! among themselves first and only the outcome meets the base row; that is visible, because a delete of everything
//! before it can be followed by a row that loses against the base.

mod logged;

use arrow_array::{Array, RecordBatch, StringArray};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use hudini_format::log::DeleteRecord;
use hudini_format::schema::meta;

use super::change::{Change, Id};
use super::custom::{self, Merger};
use super::deleted::{deleted_rows, record_keys};
use super::index::{Index, Name};
use super::ordering::{Ordered, OrderingColumns, OrderingKey};
use super::rows::{self, Batches, Composition, Place};
use super::rule::{DeleteOrder, MergeRule};
use crate::{Error, Result};

#[derive(Debug)]
struct Entry {
    change: Change,
    /// A base row has met it.
    used: bool,
}

/// Entries, each with the one row that met it.
#[derive(Debug, Default)]
struct Pairs {
    rows: Vec<(usize, Place)>,
    entries: HashSet<usize, FixedState>,
}

impl Pairs {
    fn add(&mut self, entry: usize, row: Place) {
        self.entries.insert(entry);
        self.rows.push((entry, row));
    }
}

/// Rows and deletes by key, in the order in which keys first arrived.
#[derive(Debug)]
pub struct Deltas {
    rule: MergeRule,
    merger: Option<Merger>,
    batches: Vec<RecordBatch>,
    /// For batches of partial updates: which columns they have.
    present: HashMap<usize, Vec<bool>, FixedState>,
    orderings: Vec<OrderingColumns>,
    entries: Vec<Entry>,
    index: Index,
    row_bytes: u64,
}

impl Deltas {
    pub fn new(rule: MergeRule) -> Result<Self> {
        let merger = rule.merger.as_deref().map(custom::find).transpose()?;
        Ok(Self {
            rule,
            merger,
            batches: Vec::new(),
            present: HashMap::default(),
            orderings: Vec::new(),
            entries: Vec::new(),
            index: Index::default(),
            row_bytes: 0,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Distinct keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// What they take in memory. Keys are counted with the rows that have them.
    pub(super) fn bytes(&self) -> u64 {
        self.row_bytes + self.index.bytes() + (self.entries.capacity() * size_of::<Entry>()) as u64
    }

    /// Takes rows in, later ones after earlier ones. They have the meta column with their record key; those marked as
    /// deleted become deletes with the row's own ordering value.
    pub fn push_rows(&mut self, rows: RecordBatch) -> Result<()> {
        let rows = self.rule.with_keys(rows)?;
        let keys = record_keys(&rows)?.clone();
        if let Some(row) = (0..keys.len()).find(|row| keys.is_null(*row)) {
            return Err(Error::corrupt(format!("row {row} has no record key")));
        }
        let column = self.index.add_keys(keys);
        self.push_batch(rows, |row| Index::key(column, row))
    }

    /// Takes rows in that stand for rows of the base file.
    pub(super) fn push_rows_at(&mut self, rows: RecordBatch, positions: &mut impl Iterator<Item = u64>) -> Result<()> {
        let positions: Vec<u64> = positions.take(rows.num_rows()).collect();
        let at = |row: usize| positions.get(row).copied().map(Name::Position).ok_or_else(too_few_positions);
        self.push_batch(rows, at)
    }

    /// Takes rows in that have only some columns, as [`Self::push_rows`] does or by position. The others are null in them.
    pub(super) fn push_partial(
        &mut self,
        rows: RecordBatch,
        present: Vec<bool>,
        positions: Option<&mut dyn Iterator<Item = u64>>,
    ) -> Result<()> {
        self.present.insert(self.batches.len(), present);
        match positions {
            Some(mut positions) => self.push_rows_at(rows, &mut positions),
            None => self.push_rows(rows),
        }
    }

    fn push_batch(&mut self, rows: RecordBatch, name: impl Fn(usize) -> Result<Name>) -> Result<()> {
        let deleted = deleted_rows(&rows, self.rule.delete_marker.as_ref())?;
        let count = rows.num_rows();
        let batch = self.add_batch(rows)?;
        let mut pairs = Pairs::default();
        for row in 0..count {
            let is_delete = deleted.as_ref().is_some_and(|d| d.is_valid(row) && d.value(row));
            let change = if is_delete {
                let ordering = self.delete_ordering_of(batch, row);
                Change::Delete { ordering, row: Some((batch, row)) }
            } else {
                Change::Row { batch, row }
            };
            self.push(name(row)?, change, &mut pairs)?;
        }
        self.merge_pairs(&mut pairs)
    }

    fn add_batch(&mut self, rows: RecordBatch) -> Result<usize> {
        let batch = self.batches.len();
        self.orderings.push(OrderingColumns::of(&rows, &self.rule)?);
        self.row_bytes += rows.get_array_memory_size() as u64;
        self.batches.push(rows);
        Ok(batch)
    }

    /// Takes deletes in, those of a delete block for example.
    pub fn push_deletes(&mut self, deletes: impl IntoIterator<Item = Result<DeleteRecord>>) -> Result<()> {
        let (mut keys, mut orderings) = (Vec::new(), Vec::new());
        for delete in deletes {
            let delete = delete?;
            if let Some(key) = delete.key {
                orderings.push(OrderingKey::of_delete(&delete.ordering)?);
                keys.push(key);
            }
        }
        let keys = keys.iter().map(|key| self.rule.spelled(key));
        let column = self.index.add_keys(StringArray::from_iter_values(keys));
        for (row, ordering) in orderings.into_iter().enumerate() {
            let ordering = ordering.filter(|_| self.orders_deletes());
            self.push(Index::key(column, row)?, Change::Delete { ordering, row: None }, &mut Pairs::default())?;
        }
        Ok(())
    }

    /// The same for deletes that stand for rows of the base file.
    pub(super) fn push_deletes_at(
        &mut self,
        deletes: impl IntoIterator<Item = Result<DeleteRecord>>,
        positions: &mut impl Iterator<Item = u64>,
    ) -> Result<()> {
        for delete in deletes {
            let ordering = OrderingKey::of_delete(&delete?.ordering)?.filter(|_| self.orders_deletes());
            let position = positions.next().ok_or_else(too_few_positions)?;
            self.push(Name::Position(position), Change::Delete { ordering, row: None }, &mut Pairs::default())?;
        }
        Ok(())
    }

    /// `pairs` collects what is left to a custom merger.
    fn push(&mut self, name: Name, new: Change, pairs: &mut Pairs) -> Result<()> {
        let Some(at) = self.index.find_or_add(name)? else {
            self.entries.push(Entry { change: new, used: false });
            return Ok(());
        };
        if pairs.entries.contains(&at) {
            self.merge_pairs(pairs)?;
        }
        let old = self.entries.get(at).map(|e| e.change.clone());
        let old = old.ok_or_else(|| Error::internal("a key without its entry"))?;
        if self.merger.is_some()
            && let (Some(_), Some(row)) = (old.row(), new.row())
        {
            pairs.add(at, row);
            return Ok(());
        }
        let merged = self.merged(old, new).map_err(|e| with_id(e, self.index.id(name)))?;
        if let (Some(merged), Some(entry)) = (merged, self.entries.get_mut(at)) {
            entry.change = merged;
        }
        Ok(())
    }

    /// What becomes of an entry when a newer change follows; `None` if it stays as it is.
    fn merged(&self, old: Change, new: Change) -> Result<Option<Change>> {
        let newer_wins = self.newer_wins(&old, &new)?;
        if !self.composes() {
            return Ok(newer_wins.then_some(new));
        }
        let (winner, loser) = if newer_wins { (new, old) } else { (old, new) };
        let (Some(row), Some(own), Some(lent)) = (winner.row(), winner.columns(), loser.columns()) else {
            return Ok(newer_wins.then_some(winner));
        };
        Ok(Some(Change::with_columns(row, self.patched(None, &own, &lent, newer_wins))))
    }

    /// Whether rows may be put together of several.
    pub(super) fn composes(&self) -> bool {
        self.rule.patches() || !self.present.is_empty()
    }

    /// The winner's columns, some of them lent by the loser. `base` is what batch 0 stands for.
    pub(super) fn patched(
        &self,
        base: Option<&RecordBatch>,
        winner: &Composition,
        loser: &Composition,
        newer_wins: bool,
    ) -> Composition {
        let schema = self.batches.first().map(RecordBatch::schema);
        let fields = schema.iter().flat_map(|schema| schema.fields());
        let of_loser = self.rule.as_partial_payload && !newer_wins;
        let turned: Vec<bool> = fields.map(|field| of_loser && meta::is_meta(field.name())).collect();
        let sources = Sources { base, deltas: self };
        rows::patched(winner, loser, &turned, &sources, self.rule.placeholder.as_ref())
    }

    /// Lets the custom merger decide about rows that met an entry.
    fn merge_pairs(&mut self, pairs: &mut Pairs) -> Result<()> {
        let Some(merger) = self.merger.clone().filter(|_| !pairs.rows.is_empty()) else { return Ok(()) };
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        let old = |(entry, _): &(usize, Place)| self.entries.get(*entry).and_then(|e| e.change.row());
        let old: Vec<Place> = pairs.rows.iter().filter_map(old).collect();
        let new: Vec<Place> = pairs.rows.iter().map(|(_, row)| *row).collect();
        let merged = custom::merge(&merger, &batches, &old, &batches, &new)?;
        let deleted = deleted_rows(&merged, self.rule.delete_marker.as_ref())?;
        let batch = self.add_batch(merged)?;
        for (row, (entry, _)) in std::mem::take(pairs).rows.into_iter().enumerate() {
            let is_delete = deleted.as_ref().is_some_and(|d| d.is_valid(row) && d.value(row));
            let ordering = if is_delete { self.delete_ordering_of(batch, row) } else { None };
            if let Some(entry) = self.entries.get_mut(entry) {
                let gone = || Change::Delete { ordering, row: Some((batch, row)) };
                entry.change = if is_delete { gone() } else { Change::Row { batch, row } };
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
            (Change::Delete { .. }, _) if self.rule.deletes == DeleteOrder::AgainstRows => Ok(new.row().is_some()),
            // A delete of everything stays what it is when a delete of a delete block follows; a row after it counts, and
            // so does a row that is marked as deleted.
            (Change::Delete { ordering: None, .. }, Change::Delete { row: None, .. }) => Ok(false),
            (Change::Delete { ordering: None, .. }, _) | (_, Change::Delete { ordering: None, .. }) => Ok(true),
            _ => match (self.ordered(old), self.ordered(new)) {
                (Some(old), Some(new)) => new.is_not_less(&old),
                _ => Err(Error::internal("a change without an ordering value")),
            },
        }
    }

    fn ordered<'a>(&'a self, change: &'a Change) -> Option<Ordered<'a>> {
        match change {
            Change::Row { batch, row } | Change::Mixed { batch, row, .. } => {
                self.orderings.get(*batch).map(|columns| Ordered::Row(columns, *row))
            }
            Change::Delete { ordering, .. } => ordering.as_ref().map(Ordered::Key),
        }
    }

    fn orders_deletes(&self) -> bool {
        self.rule.deletes != DeleteOrder::Nothing
    }

    fn delete_ordering_of(&self, batch: usize, row: usize) -> Option<OrderingKey> {
        let columns = self.orderings.get(batch).filter(|_| self.rule.by_event_time && self.orders_deletes())?;
        (!columns.is_default(row)).then(|| columns.key(row))
    }

    /// The rows that changes are about by their keys, and the entries of those.
    pub(super) fn find_all(&self, keys: &StringArray) -> Vec<(usize, usize)> {
        self.index.find_all(keys)
    }

    /// Entries by the positions that they are about, least first.
    pub(super) fn by_position(&self) -> Vec<(u64, u32)> {
        self.index.by_position()
    }

    /// The change that a base row meets, if any: each change meets one row, later rows of that key pass unchanged.
    pub(super) fn meet(&mut self, entry: usize) -> Option<Change> {
        let entry = self.entries.get_mut(entry).filter(|e| !e.used)?;
        entry.used = true;
        Some(entry.change.clone())
    }

    /// Whether a change wins over a base row with this ordering value.
    pub(super) fn wins_over_base(&self, change: &Change, base: &OrderingColumns, row: usize) -> Result<bool> {
        if !self.rule.by_event_time {
            return Ok(true);
        }
        match self.ordered(change) {
            Some(ordering) => ordering.is_not_less(&Ordered::Row(base, row)),
            None => Ok(true),
        }
    }

    /// The entries with rows whose key no base row had, in order of arrival.
    pub(super) fn inserts(&self) -> Vec<usize> {
        let entries = self.entries.iter().enumerate();
        entries.filter(|(_, e)| !e.used && e.change.row().is_some()).map(|(at, _)| at).collect()
    }

    /// Where the columns of an entry's row are.
    pub(super) fn columns_of(&self, entry: usize) -> Option<Composition> {
        self.entries.get(entry)?.change.columns()
    }

    /// Whether changes are known by their places in the base file.
    pub(super) fn is_by_position(&self) -> bool {
        self.index.is_of_positions()
    }

    pub(super) fn merger(&self) -> Option<&Merger> {
        self.merger.as_ref()
    }

    /// Whether a row of the base file may have to go.
    pub(super) fn may_delete(&self) -> bool {
        self.merger.is_some() || self.entries.iter().any(|entry| entry.change.row().is_none())
    }

    pub(crate) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    pub(crate) fn rule(&self) -> &MergeRule {
        &self.rule
    }
}

/// The batches of changes behind one of the base file.
struct Sources<'a> {
    base: Option<&'a RecordBatch>,
    deltas: &'a Deltas,
}

impl Batches for Sources<'_> {
    fn batch(&self, at: usize) -> Option<&RecordBatch> {
        match at.checked_sub(1) {
            None => self.base,
            Some(at) => self.deltas.batches.get(at),
        }
    }

    fn has(&self, batch: usize, column: usize) -> bool {
        let present = batch.checked_sub(1).and_then(|at| self.deltas.present.get(&at));
        present.is_none_or(|present| present.get(column).copied().unwrap_or(false))
    }
}

pub(super) fn too_few_positions() -> Error {
    Error::corrupt("a log block has fewer record positions than records")
}

fn with_id(e: Error, id: Id<'_>) -> Error {
    Error::new(e.kind(), format!("{id}: {}", e.message()))
}
