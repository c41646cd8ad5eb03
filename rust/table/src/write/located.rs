//! Rows by the file group that they go to: their keys are hashed or looked up, on this machine's threads.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;

use super::action::Action;
use super::grouped::{ByGroup, BySlot, Part, Unplaced};
use super::kept::Kept;
use super::locate::{Locator, Names};
use super::place::{GroupProfile, NEW_KEYS};
use super::recorded::{self, Places};
use super::rows::Intake;
use super::scattered;
use super::shares::{self, Groups, Pick, Place};
use super::task::BATCH_ROWS;
use crate::Result;
use crate::context::pool::run_all;
use crate::index::{Index, Keys, Lookup};
use crate::table::Table;

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
            run_all(threads, names.iter().collect(), |batch, names| {
                let mut grouped = ByGroup::default();
                grouped.add(locator, names, &homes)?;
                Ok(grouped.parts(batch))
            })?
        } else {
            rows.each(threads, action, named_and_grouped)?
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

/// For rows whose names suffice. Those are let go at once, for there may be more of them than memory has room for; so few at a
/// time take no fresh memory either.
fn named_and_grouped(locator: &Locator, batch: usize, rows: &RecordBatch) -> Result<Vec<(String, i32, Part)>> {
    let (namer, homes, mut grouped) = (locator.namer()?, Homes::new(), ByGroup::default());
    for first in (0..rows.num_rows()).step_by(BATCH_ROWS) {
        let next = rows.slice(first, BATCH_ROWS.min(rows.num_rows() - first));
        grouped.add(locator, &namer.names(&next)?, &homes)?;
    }
    Ok(grouped.parts(batch))
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
    pub(super) fn slots(&self, key: &str) -> &[i32] {
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
