//! Which entry of the changes is about a record key or a position.

use std::hash::BuildHasher;

use arrow_array::{Array, StringArray};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::change::Id;
use crate::{Error, Result};

/// What names the row that an entry is about, in little room.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    /// A record key, by its place in the index's columns of keys.
    Key {
        column: u32,
        row: u32,
    },
    Position(u64),
}

/// What of an entry is at hand while looking for it.
#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u32,
    entry: u32,
}

impl Slot {
    /// The table takes the place of a slot from the lower bits, and a first test from the upper ones.
    fn spread(hash: u32) -> u64 {
        u64::from(hash) << 32 | u64::from(hash)
    }
}

/// Entries by the rows they are about. Keys stay in the columns in which they came.
#[derive(Debug, Default)]
pub(super) struct Index {
    keys: Vec<StringArray>,
    names: Vec<Name>,
    slots: HashTable<Slot>,
}

impl Index {
    /// Takes a column of keys in; what it is known by.
    pub(super) fn add_keys(&mut self, keys: StringArray) -> usize {
        self.keys.push(keys);
        self.keys.len() - 1
    }

    pub(super) fn key(column: usize, row: usize) -> Result<Name> {
        match (u32::try_from(column), u32::try_from(row)) {
            (Ok(column), Ok(row)) => Ok(Name::Key { column, row }),
            _ => Err(too_many()),
        }
    }

    /// What a name says.
    pub(super) fn id(&self, name: Name) -> Id<'_> {
        id(&self.keys, name)
    }

    pub(super) fn id_of(&self, entry: usize) -> Option<Id<'_>> {
        self.names.get(entry).map(|name| self.id(*name))
    }

    pub(super) fn find(&self, key: &str) -> Option<usize> {
        let id = Id::Key(key);
        let hash = hash(id);
        let is_it = |slot: &Slot| slot.hash == hash && self.id_of(slot.entry as usize) == Some(id);
        self.slots.find(Slot::spread(hash), is_it).map(|slot| slot.entry as usize)
    }

    /// The rows with a key that an entry is about, and the entries. A key is compared only after all were looked up by
    /// their hashes: one row does not wait for what another one needs from memory.
    pub(super) fn find_all(&self, keys: &StringArray) -> Vec<(usize, usize)> {
        let key = |row: usize| keys.value(row);
        let hashes: Vec<u32> = (0..keys.len()).map(|row| hash(Id::Key(key(row)))).collect();
        let candidate = |(row, hash): (usize, &u32)| {
            Some((row, self.slots.find(Slot::spread(*hash), |slot| slot.hash == *hash)?.entry as usize))
        };
        let candidates: Vec<_> = hashes.iter().enumerate().filter_map(candidate).collect();
        let found = |(row, entry): (usize, usize)| match self.id_of(entry) == Some(Id::Key(key(row))) {
            true => Some((row, entry)),
            // Another key of that hash.
            false => Some((row, self.find(key(row))?)),
        };
        candidates.into_iter().filter_map(found).collect()
    }

    /// All entries by the positions that they are about, least first.
    pub(super) fn by_position(&self) -> Vec<(u64, u32)> {
        let position = |(name, entry): (&Name, u32)| match name {
            Name::Position(position) => Some((*position, entry)),
            Name::Key { .. } => None,
        };
        let mut entries: Vec<_> = self.names.iter().zip(0..).filter_map(position).collect();
        // Stable, because that finds what is in order already: the positions of each block are.
        entries.sort_by_key(|(position, _)| *position);
        entries
    }

    /// The entry about the row of that name, if there is one; else it becomes the next entry.
    pub(super) fn find_or_add(&mut self, name: Name) -> Result<Option<usize>> {
        if self.slots.is_empty() {
            if self.is_next_position(name) {
                self.names.push(name);
                return Ok(None);
            }
            self.hash_all()?;
        }
        let (keys, names) = (&self.keys, &self.names);
        let id = id(keys, name);
        let hash = hash(id);
        let is_it = |slot: &Slot| {
            slot.hash == hash && names.get(slot.entry as usize).is_some_and(|other| self::id(keys, *other) == id)
        };
        match self.slots.entry(Slot::spread(hash), is_it, |slot| Slot::spread(slot.hash)) {
            Entry::Occupied(slot) => Ok(Some(slot.get().entry as usize)),
            Entry::Vacant(place) => {
                let entry = u32::try_from(names.len()).map_err(|_| too_many())?;
                place.insert(Slot { hash, entry });
                self.names.push(name);
                Ok(None)
            }
        }
    }

    /// Whether it is a position behind all those before. One block names them in order: then none is met twice, and
    /// nobody asks for an entry by its hash.
    fn is_next_position(&self, name: Name) -> bool {
        match (self.names.last(), name) {
            (None, Name::Position(_)) => true,
            (Some(Name::Position(last)), Name::Position(next)) => *last < next,
            _ => false,
        }
    }

    fn hash_all(&mut self) -> Result<()> {
        for (entry, name) in self.names.iter().enumerate() {
            let slot = Slot { hash: hash(id(&self.keys, *name)), entry: u32::try_from(entry).map_err(|_| too_many())? };
            self.slots.insert_unique(Slot::spread(slot.hash), slot, |slot| Slot::spread(slot.hash));
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// What it takes in memory, but for the keys themselves.
    pub(super) fn bytes(&self) -> u64 {
        (self.names.capacity() * size_of::<Name>() + self.slots.allocation_size()) as u64
    }

    /// What the columns of keys take.
    pub(super) fn key_bytes(&self) -> u64 {
        self.keys.iter().map(|keys| keys.get_array_memory_size() as u64).sum()
    }

    /// Whether entries are known by their places in the base file.
    pub(super) fn is_of_positions(&self) -> bool {
        matches!(self.names.first(), Some(Name::Position(_)))
    }
}

fn id(keys: &[StringArray], name: Name) -> Id<'_> {
    match name {
        Name::Key { column, row } => Id::Key(keys.get(column as usize).map_or("", |keys| keys.value(row as usize))),
        Name::Position(position) => Id::Position(position),
    }
}

fn hash(id: Id<'_>) -> u32 {
    let hasher = FixedState::default();
    let hash = match id {
        Id::Key(key) => hasher.hash_one(key),
        Id::Position(position) => hasher.hash_one(position),
    };
    (hash >> 32) as u32 ^ hash as u32
}

fn too_many() -> Error {
    Error::internal("more changes in one file group than 32 bits count")
}
