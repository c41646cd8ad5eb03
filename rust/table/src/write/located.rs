//! Rows by the file group that they go to: their keys are hashed or looked up, on this machine's threads.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{Array, RecordBatch, StringArray};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hudini_format::short::are_same;

use super::action::Action;
use super::kept::Kept;
use super::locate::{Locator, Names};
use super::place::{GroupProfile, NEW_KEYS};
use super::recorded::{self, Places};
use super::rows::Intake;
use super::scattered;
use super::shares::{self, Groups, Pick, Place};
use super::sizes::Point;
use crate::context::pool::run_all;
use crate::index::{Index, Keys, Lookup};
use crate::table::Table;
use crate::{Error, Result};

/// The rows of a write, with the file groups that have their keys.
#[derive(Debug)]
pub struct Located<'k> {
    rows: Accepted<'k>,
    groups: BTreeMap<Place, Vec<Pick>>,
    new: BTreeMap<String, Vec<Unplaced>>,
}

impl<'k> Located<'k> {
    pub fn of(table: &Table, action: &mut Action, kept: &'k Kept) -> Result<Self> {
        let threads = table.context.threads;
        let rows = Accepted::of(threads, action, kept)?;
        let parts = if action.looks_up() || action.combines_partitions()? {
            let mut names = rows.each(threads, action, |locator, _, rows| locator.names(rows))?;
            let places = settled(action, &mut names, &rows)?;
            let homes = match &places {
                Some(places) => recorded::homes(places, &names)?,
                None if action.looks_up() => find(table, action, &names)?,
                None => Homes::new(),
            };
            let locator = action.locator();
            run_all(threads, names.iter().collect(), |batch, names| parts(locator, batch, names, &homes))?
        } else {
            // Their names are let go at once, for there may be more of them than memory has room for.
            let homes = Homes::new();
            rows.each(threads, action, |locator, batch, rows| parts(locator, batch, &locator.names(rows)?, &homes))?
        };
        let (mut groups, mut new) = (BTreeMap::<Place, Vec<Pick>>::new(), BTreeMap::<String, Vec<Unplaced>>::new());
        for (partition, slot, part) in parts.into_iter().flatten() {
            match part {
                Part::Known(rows) => groups.entry((partition, slot)).or_default().push(rows),
                Part::New(unplaced) => new.entry(partition).or_default().push(unplaced),
            }
        }
        Ok(Self { rows, groups, new })
    }

    pub fn profile(&self) -> Vec<GroupProfile> {
        let rows_of = |picks: &mut dyn Iterator<Item = &Pick>| picks.map(|pick| pick.count() as u64).sum();
        let known = self.groups.iter().map(|((partition, slot), picks)| GroupProfile {
            partition: partition.clone(),
            slot: *slot,
            rows: rows_of(&mut picks.iter()),
            bytes: 0,
        });
        let new = self.new.iter().map(|(partition, unplaced)| GroupProfile {
            partition: partition.clone(),
            slot: NEW_KEYS,
            rows: rows_of(&mut unplaced.iter().map(|of_batch| &of_batch.rows)),
            bytes: unplaced.iter().map(|of_batch| of_batch.bytes).sum(),
        });
        known.chain(new).collect()
    }

    /// The rows by file group, new ones among them, once the write was placed.
    pub fn placed(mut self, action: &Action) -> Result<Groups> {
        if action.new_slots().are_written() {
            place_new(action, self.new, &mut self.groups)?;
        }
        let intake = action.intake()?;
        shares::shared(self.rows.kept, &self.rows.here, self.groups, |batch| intake.accept(batch))
    }
}

/// Rows as the table holds them: those in memory, and on request those on disk.
#[derive(Debug)]
pub(super) struct Accepted<'k> {
    kept: &'k Kept,
    here: Vec<RecordBatch>,
}

impl<'k> Accepted<'k> {
    fn of(threads: usize, action: &Action, kept: &'k Kept) -> Result<Self> {
        let intake = action.intake()?;
        let here = run_all(threads, kept.here().iter().collect(), |_, batch: &RecordBatch| intake.accept(batch))?;
        Ok(Self { kept, here })
    }

    /// Goes over the batches, by number.
    fn each<T: Send>(
        &self,
        threads: usize,
        action: &Action,
        work: impl Fn(&Locator, usize, &RecordBatch) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let (intake, locator) = (action.intake()?, action.locator());
        let numbers = (0..self.kept.len()).collect();
        run_all(threads, numbers, |_, number| work(locator, number, &self.batch(&intake, number)?))
    }

    pub(super) fn batch(&self, intake: &Intake<'_>, number: usize) -> Result<RecordBatch> {
        match self.here.get(number) {
            Some(batch) => Ok(batch.clone()),
            None => intake.accept(&self.kept.read(number)?),
        }
    }
}

/// Brings the rows of a key that has one place in the whole table there, and says where it is if it has one already.
fn settled(action: &mut Action, names: &mut [Names], rows: &Accepted<'_>) -> Result<Option<Places>> {
    let is_recorded = action.looks_up() && *action.locator().index() == Index::Records;
    let places = if is_recorded { Some(recorded::find(action, names)?) } else { None };
    if let Some(places) = &places {
        names.iter_mut().for_each(|names| recorded::follow(places, names));
    }
    let brings_new = if is_recorded { action.operation().brings_rows() } else { action.combines_partitions()? };
    if brings_new {
        scattered::reunite(action, names, rows)?;
    }
    Ok(places)
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
fn find<'n>(table: &Table, action: &mut Action, names: &'n [Names]) -> Result<Homes<'n>> {
    let mut homes = Homes::new();
    for names in names {
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
    rows: Pick,
    /// What tells their file groups, once there are some.
    points: Vec<Point>,
    bytes: u64,
}

#[derive(Debug)]
enum Part {
    Known(Pick),
    New(Unplaced),
}

/// The rows of a batch by partition and slot.
fn parts(locator: &Locator, batch: usize, names: &Names, homes: &Homes<'_>) -> Result<Vec<(String, i32, Part)>> {
    let mut parts = Vec::new();
    for (partition, slots) in by_group(locator, names, homes)? {
        for (slot, rows) in slots.each() {
            let told = (slot == NEW_KEYS).then(|| (points_of(&names.keys, &rows), bytes_of(names, &rows)));
            let rows = Pick::new(batch, rows, names.keys.len());
            let part = match told {
                Some((points, bytes)) => Part::New(Unplaced { rows, points, bytes }),
                None => Part::Known(rows),
            };
            parts.push((partition.to_owned(), slot, part));
        }
    }
    Ok(parts)
}

fn by_group<'n>(locator: &Locator, names: &'n Names, homes: &Homes<'_>) -> Result<BTreeMap<&'n str, BySlot>> {
    let Names { partitions, keys, .. } = names;
    if partitions.null_count() + keys.null_count() > 0 {
        return Err(Error::internal("a row without a key or a partition"));
    }
    let count = u32::try_from(keys.len()).map_err(|_| Error::unsupported("a batch of more than 4 billion rows"))?;
    let buckets = locator.buckets(keys)?;
    let mut rows: BTreeMap<&str, BySlot> = BTreeMap::new();
    // Rows of one partition often follow each other: it is looked for once.
    let (mut last, mut by_slot) = ("", rows.entry("").or_default());
    for (row, partition) in (0..count).zip(partitions.iter().flatten()) {
        if !are_same(partition.as_bytes(), last.as_bytes()) {
            (last, by_slot) = (partition, rows.entry(partition).or_default());
        }
        if let Some(bucket) = buckets.as_ref().and_then(|buckets| buckets.get(row as usize)) {
            by_slot.rows(*bucket).push(row);
            continue;
        }
        let slots = homes.get(partition).map_or(&[][..], |known| known.slots(keys.value(row as usize)));
        let slots = if slots.is_empty() { &[NEW_KEYS] } else { slots };
        slots.iter().for_each(|slot| by_slot.rows(*slot).push(row));
    }
    Ok(rows)
}

/// Numbers of slots that are found without being looked for.
const FEW: usize = 64;

/// The rows of a partition by slot.
#[derive(Default)]
struct BySlot {
    few: Vec<Vec<u32>>,
    others: HashMap<i32, Vec<u32>, FixedState>,
}

impl BySlot {
    #[inline]
    fn rows(&mut self, slot: i32) -> &mut Vec<u32> {
        let number = usize::try_from(slot).unwrap_or(FEW);
        if number < FEW && self.few.len() <= number {
            self.few.resize_with(number + 1, Vec::new);
        }
        self.few.get_mut(number).unwrap_or_else(|| self.others.entry(slot).or_default())
    }

    fn each(self) -> impl Iterator<Item = (i32, Vec<u32>)> {
        let few = (0..).zip(self.few).filter(|(_, rows)| !rows.is_empty());
        few.chain(self.others)
    }
}

/// Gives new keys to the file groups that were chosen for them.
fn place_new(
    action: &Action,
    new: BTreeMap<String, Vec<Unplaced>>,
    groups: &mut BTreeMap<Place, Vec<Pick>>,
) -> Result<()> {
    for (partition, unplaced) in new {
        if let Some(slot) = action.new_slots().only_slot(&partition) {
            groups.entry((partition, slot)).or_default().extend(unplaced.into_iter().map(|of_batch| of_batch.rows));
            continue;
        }
        let slot_of = action.new_slots().slots_of(&partition)?;
        for Unplaced { rows, points, .. } in unplaced {
            let mut by_slot = BySlot::default();
            for (row, point) in (0..).zip(points) {
                by_slot.rows(slot_of(point)?).push(row);
            }
            for (slot, places) in by_slot.each() {
                groups.entry((partition.clone(), slot)).or_default().push(rows.part(places));
            }
        }
    }
    Ok(())
}

fn points_of(keys: &StringArray, rows: &[u32]) -> Vec<Point> {
    rows.iter().map(|row| Point::of(keys.value(*row as usize))).collect()
}

fn bytes_of(names: &Names, rows: &[u32]) -> u64 {
    let widths = names.widths.as_deref().unwrap_or_default();
    let width = |row: &u32| widths.get(*row as usize).map_or(0, |width| width.unsigned_abs());
    rows.iter().map(width).sum()
}

#[cfg(test)]
mod tests {
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
