//! Rows by the file group that they go to: their keys are hashed or looked up, on this machine's threads.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, PrimitiveArray, RecordBatch, StringArray};
use arrow_select::take::{take, take_record_batch};
use hudini_format::empty::are_same;

use super::action::Action;
use super::locate::{Locator, Names};
use super::place::{GroupProfile, NEW_KEYS};
use super::{recorded, scattered};
use crate::context::pool::run_all;
use crate::index::{Index, Keys, Lookup};
use crate::table::Table;
use crate::{Error, Result};

/// The rows of each file group, in the order in which they came.
pub type Groups = BTreeMap<(String, i32), Vec<Share>>;

/// Rows of a batch. They are brought together when they are asked for, so that they are not in memory twice.
#[derive(Debug, Clone)]
pub struct Share {
    batch: RecordBatch,
    /// In order; `None` of all rows.
    rows: Option<Vec<u32>>,
}

impl Share {
    fn of(batch: &RecordBatch, rows: Vec<u32>) -> Self {
        Self { batch: batch.clone(), rows: (rows.len() < batch.num_rows()).then_some(rows) }
    }

    fn len(&self) -> usize {
        self.rows.as_ref().map_or(self.batch.num_rows(), Vec::len)
    }

    /// Some of them, by their places in the batch.
    fn part(&self, places: &[u32]) -> Self {
        let row = |place: &u32| match &self.rows {
            Some(rows) => rows.get(*place as usize).copied(),
            None => Some(*place),
        };
        Self::of(&self.batch, places.iter().filter_map(row).collect())
    }

    /// Batches of at most so many rows.
    pub fn batches(self, at_once: usize) -> impl Iterator<Item = Result<RecordBatch>> {
        let starts = (0..self.len()).step_by(at_once.max(1));
        starts.map(move |start| {
            let count = at_once.min(self.len() - start);
            let Some(rows) = &self.rows else { return Ok(self.batch.slice(start, count)) };
            let rows = rows.get(start..start + count).unwrap_or_default();
            Ok(take_record_batch(&self.batch, &PrimitiveArray::<UInt32Type>::from(rows.to_vec()))?)
        })
    }
}

/// The rows of a write, with the file groups that have their keys.
#[derive(Debug)]
pub struct Located {
    groups: Groups,
    new: New,
}

impl Located {
    pub fn of(table: &Table, action: &mut Action, batches: &[RecordBatch]) -> Result<Self> {
        let mut named = name(table, action, batches)?;
        let is_recorded = *action.locator().index() == Index::Records;
        let homes = match (action.looks_up(), is_recorded) {
            (false, _) => {
                if action.combines_partitions()? {
                    scattered::reunite(action, &mut named)?;
                }
                Homes::new()
            }
            (true, false) => find(table, action, &named)?,
            (true, true) => {
                let places = recorded::find(action, &named)?;
                named.iter_mut().for_each(|named| recorded::follow(&places, &mut named.names));
                if action.operation().brings_rows() {
                    scattered::reunite(action, &mut named)?;
                }
                recorded::homes(&places, &named)?
            }
        };
        let (groups, new) = group(table, action, &named, &homes)?;
        Ok(Self { groups, new })
    }

    pub fn profile(&self) -> Vec<GroupProfile> {
        let of = |partition: &str, slot, rows: usize| GroupProfile {
            partition: partition.to_owned(),
            slot,
            rows: rows as u64,
        };
        let known =
            self.groups.iter().map(|((partition, slot), rows)| of(partition, *slot, rows.iter().map(Share::len).sum()));
        let new = self
            .new
            .iter()
            .map(|(partition, rows)| of(partition, NEW_KEYS, rows.iter().map(|unplaced| unplaced.keys.len()).sum()));
        known.chain(new).collect()
    }

    /// The rows by file group, new ones among them, once the write was placed.
    pub fn placed(mut self, action: &Action) -> Result<Groups> {
        if action.new_slots().are_written() {
            place_new(action, self.new, &mut self.groups)?;
        }
        Ok(self.groups)
    }
}

/// Rows as the table holds them, with what they are called.
pub(super) struct Named {
    pub(super) rows: RecordBatch,
    pub(super) names: Names,
}

fn name(table: &Table, action: &Action, batches: &[RecordBatch]) -> Result<Vec<Named>> {
    let (intake, locator) = (action.intake()?, action.locator());
    run_all(table.context.threads, batches.iter().collect(), |_, batch: &RecordBatch| {
        let rows = intake.accept(batch)?;
        Ok(Named { names: locator.names(&rows)?, rows })
    })
}

/// By partition, the slots of its file groups that have a key.
pub(super) type Homes<'k> = BTreeMap<&'k str, KnownKeys>;

#[derive(Default)]
pub(super) struct KnownKeys {
    keys: Keys,
    /// By the key's number. A key that was added as it is may be in several.
    slots: Vec<Vec<i32>>,
}

impl KnownKeys {
    fn slots(&self, key: &str) -> &[i32] {
        let slots = self.keys.get(key).and_then(|number| self.slots.get(number as usize));
        slots.map_or(&[], Vec::as_slice)
    }

    /// Tells of one key where it is.
    pub(super) fn put(&mut self, key: &str, slots: Vec<i32>) -> Result<()> {
        let number = self.keys.number(key)? as usize;
        if self.slots.len() <= number {
            self.slots.resize(number + 1, Vec::new());
        }
        if let Some(of_key) = self.slots.get_mut(number) {
            *of_key = slots;
        }
        Ok(())
    }

    fn add(&mut self, slot: i32, numbers: &[u32]) {
        for number in numbers {
            if let Some(slots) = self.slots.get_mut(*number as usize) {
                slots.push(slot);
            }
        }
    }

    /// Those that no base file has. As in Apache Hudi a key that has a row there is not looked for in logs.
    fn homeless(&self) -> Result<Keys> {
        let mut homeless = Keys::default();
        let without = self.keys.iter().filter(|(_, n)| self.slots.get(*n as usize).is_none_or(Vec::is_empty));
        for (key, _) in without {
            homeless.number(key)?;
        }
        Ok(homeless)
    }
}

/// Looks the keys up in the file groups of their partitions.
fn find<'n>(table: &Table, action: &mut Action, named: &'n [Named]) -> Result<Homes<'n>> {
    let mut homes = Homes::new();
    for Named { names, .. } in named {
        for (partition, key) in names.partitions.iter().zip(&names.keys) {
            if let (Some(partition), Some(key)) = (partition, key) {
                homes.entry(partition).or_default().keys.number(key)?;
            }
        }
    }
    homes.values_mut().for_each(|known| known.slots = vec![Vec::new(); known.keys.len()]);
    let lookups = action.lookups(homes.keys().copied())?;
    let in_bases = run_all(table.context.threads, lookups.iter().collect(), |_, lookup: &Lookup| {
        homes.get(lookup.partition()).map_or(Ok(Vec::new()), |known| lookup.in_base(&table.storage, &known.keys))
    })?;
    for (lookup, found) in lookups.iter().zip(&in_bases) {
        if let Some(known) = homes.get_mut(lookup.partition()) {
            known.add(lookup.slot(), found);
        }
    }
    find_in_logs(table, &lookups, &mut homes)?;
    Ok(homes)
}

fn find_in_logs(table: &Table, lookups: &[Lookup], homes: &mut Homes<'_>) -> Result<()> {
    let homeless = homes.iter().map(|(partition, known)| Ok((*partition, known.homeless()?)));
    let homeless = homeless.collect::<Result<BTreeMap<&str, Keys>>>()?;
    let in_logs = run_all(table.context.threads, lookups.iter().collect(), |_, lookup: &Lookup| {
        let Some(keys) = homeless.get(lookup.partition()).filter(|keys| !keys.is_empty()) else { return Ok(vec![]) };
        let found: BTreeSet<u32> = lookup.in_logs(&table.storage, keys)?.into_iter().collect();
        Ok(keys.iter().filter(|(_, number)| found.contains(number)).map(|(key, _)| key.to_owned()).collect())
    })?;
    for (lookup, found) in lookups.iter().zip(in_logs) {
        if let Some(known) = homes.get_mut(lookup.partition()) {
            let numbers: Vec<u32> = found.iter().filter_map(|key: &String| known.keys.get(key)).collect();
            known.add(lookup.slot(), &numbers);
        }
    }
    Ok(())
}

/// Rows of a partition whose keys no file group has.
#[derive(Debug)]
struct Unplaced {
    rows: Share,
    keys: StringArray,
}

type New = BTreeMap<String, Vec<Unplaced>>;

/// Brings the rows of one group together, and those that have none yet.
fn group(table: &Table, action: &Action, named: &[Named], homes: &Homes<'_>) -> Result<(Groups, New)> {
    let locator = action.locator();
    let parts = run_all(table.context.threads, named.iter().collect(), |_, named: &Named| {
        by_group(locator, named, homes)?
            .into_iter()
            .flat_map(|(partition, slots)| slots.into_iter().map(move |(slot, rows)| (partition, slot, rows)))
            .map(|(partition, slot, rows)| {
                let keys = if slot == NEW_KEYS { Some(keys_at(&named.names.keys, &rows)?) } else { None };
                Ok((partition.to_owned(), slot, Share::of(&named.rows, rows), keys))
            })
            .collect::<Result<Vec<_>>>()
    })?;
    let (mut groups, mut new) = (Groups::new(), New::new());
    for (partition, slot, rows, keys) in parts.into_iter().flatten() {
        match keys {
            Some(keys) => new.entry(partition).or_default().push(Unplaced { rows, keys }),
            None => groups.entry((partition, slot)).or_default().push(rows),
        }
    }
    Ok((groups, new))
}

/// By partition and slot.
type RowsByGroup<'n> = BTreeMap<&'n str, BTreeMap<i32, Vec<u32>>>;

fn by_group<'n>(locator: &Locator, named: &'n Named, homes: &Homes<'_>) -> Result<RowsByGroup<'n>> {
    let has_buckets = locator.index().buckets().is_some();
    let mut rows = RowsByGroup::new();
    // Rows of one partition often follow each other: it is looked for once.
    let (mut last, mut by_slot) = ("", rows.entry("").or_default());
    for (row, (partition, key)) in named.names.partitions.iter().zip(&named.names.keys).enumerate() {
        let (Some(partition), Some(key)) = (partition, key) else {
            return Err(Error::internal("a row without a key or a partition"));
        };
        if !are_same(partition, last) {
            (last, by_slot) = (partition, rows.entry(partition).or_default());
        }
        let row = u32::try_from(row).map_err(|_| Error::unsupported("a batch of more than 4 billion rows"))?;
        let bucket = has_buckets.then(|| locator.bucket(key)).transpose()?;
        let slots = match &bucket {
            Some(bucket) => std::slice::from_ref(bucket),
            None => homes.get(partition).map_or(&[][..], |known| known.slots(key)),
        };
        let slots = if slots.is_empty() { &[NEW_KEYS] } else { slots };
        slots.iter().for_each(|slot| by_slot.entry(*slot).or_default().push(row));
    }
    Ok(rows)
}

/// Gives new keys to the file groups that were chosen for them.
fn place_new(action: &Action, new: New, groups: &mut Groups) -> Result<()> {
    for (partition, unplaced) in new {
        for Unplaced { rows, keys } in unplaced {
            let mut by_slot: BTreeMap<i32, Vec<u32>> = BTreeMap::new();
            for (row, key) in (0..).zip(keys.iter().flatten()) {
                let slot = action.new_slots().slot(&partition, key)?;
                by_slot.entry(slot).or_default().push(row);
            }
            for (slot, places) in by_slot {
                groups.entry((partition.clone(), slot)).or_default().push(rows.part(&places));
            }
        }
    }
    Ok(())
}

fn keys_at(keys: &StringArray, rows: &[u32]) -> Result<StringArray> {
    if rows.len() == keys.len() {
        return Ok(keys.clone());
    }
    Ok(take(keys, &PrimitiveArray::<UInt32Type>::from(rows.to_vec()), None)?.as_string::<i32>().clone())
}
