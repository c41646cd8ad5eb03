//! Keys looked up in the record index, which is one for all partitions: a row goes where its key is, whatever partition its
//! own values name.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::metadata_record::RecordIndexEntry;

use super::action::Action;
use super::locate::Names;
use super::located::Homes;
use super::place;
use crate::{Error, Result};

/// What the index says of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) partition: String,
    pub(super) file_ids: Vec<String>,
}

impl Recorded {
    /// Of several places that it has for one key the first tells the partition.
    pub(super) fn of(entries: &[RecordIndexEntry]) -> Option<Self> {
        let partition = entries.first()?.partition.clone();
        let here = entries.iter().filter(|entry| entry.partition == partition);
        Some(Self { file_ids: here.map(|entry| entry.file_id.to_string()).collect(), partition })
    }
}

/// Where a key is, by the slots of the file groups of its partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    partition: String,
    slots: Vec<i32>,
}

/// Of keys that are there.
pub(super) type Places = BTreeMap<String, Place>;

pub(super) fn find(action: &mut Action, names: &[Names]) -> Result<Places> {
    let keys = names.iter().flat_map(|names| names.keys.iter().flatten());
    let wanted: BTreeSet<String> = keys.map(str::to_owned).collect();
    action.recorded(wanted)
}

/// Moves rows to the partitions of their keys.
pub(super) fn follow(places: &Places, names: &mut Names) {
    names.move_keys(|key| Some(places.get(key)?.partition.as_str()));
}

/// The slots of the keys, in the partitions to which their rows were moved.
pub(super) fn homes<'n>(places: &Places, names: &'n [Names]) -> Result<Homes<'n>> {
    let mut homes = Homes::new();
    for names in names {
        for (partition, key) in names.partitions.iter().zip(&names.keys) {
            let (Some(partition), Some(key)) = (partition, key) else { continue };
            let Some(place) = places.get(key) else { continue };
            homes.entry(partition).or_default().put(key, place.slots.clone())?;
        }
    }
    Ok(homes)
}

/// A file group that the index names, with one of the keys that it has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedGroup {
    pub partition: String,
    pub file_id: String,
    pub key: String,
}

impl Action {
    /// Where the record index has keys.
    fn recorded(&mut self, keys: BTreeSet<String>) -> Result<Places> {
        let found = self.records()?.locations_of(&self.table().storage, keys)?;
        let found = found.into_iter().filter_map(|(key, entries)| Some((key, Recorded::of(&entries)?)));
        let found: BTreeMap<String, Recorded> = found.collect();
        let partitions: BTreeSet<&str> = found.values().map(|recorded| recorded.partition.as_str()).collect();
        self.list(partitions.into_iter())?;
        let place = |(key, Recorded { partition, file_ids }): (String, Recorded)| {
            let slots =
                file_ids.iter().map(|file_id| self.slot_of(&partition, file_id, &key)).collect::<Result<_>>()?;
            Ok((key, Place { partition, slots }))
        };
        found.into_iter().map(place).collect()
    }

    /// The slots of file groups that the record index names.
    pub fn recorded_slots(&mut self, groups: &[RecordedGroup]) -> Result<Vec<i32>> {
        let partitions: BTreeSet<&str> = groups.iter().map(|group| group.partition.as_str()).collect();
        self.list(partitions.into_iter())?;
        groups.iter().map(|group| self.slot_of(&group.partition, &group.file_id, &group.key)).collect()
    }

    fn slot_of(&self, partition: &str, file_id: &str, key: &str) -> Result<i32> {
        let slot = self.live(partition)?.binary_search_by(|slice| slice.file_id.as_str().cmp(file_id));
        let slot = slot.map_err(|_| {
            Error::corrupt(format!(
                "the record index has the key '{key}' in {file_id}, which is no file group of partition '{partition}'"
            ))
            .with_hint("hoodie.index.type=SIMPLE finds keys without it")
        })?;
        place::slot_of(slot)
    }
}
