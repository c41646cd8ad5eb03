//! `hoodie.properties` and its copy `.backup`, `.hoodie_partition_metadata`: Java properties files, their checksum and their
//! dates; `index.json`, which `hoodie.properties` points to.
//!
//! ```text
//! #<comment>                          Properties saved on 2026-03-07T16:24:59Z
//! #<java.util.Date of the writer>     Sat Mar 07 16:24:59 UTC 2026
//! key=value                           escaped as java.util.Properties does (see `text`)
//! ```
//!
//! Apache Hudi writes a changed file anew, with its pairs in whatever order and two comments in front: [`Properties`]. To
//! change a file and keep every other byte of it, there is [`Document`].

mod date;
mod document;
mod indexes;
mod partition;
mod text;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use crate::{Error, Result};

pub use date::java_date;
pub use document::Document;
pub use indexes::{INDEX_DEFINITIONS_FILE, IndexDefinition, IndexDefinitions};
pub use partition::{PARTITION_METADATA_FILE, PartitionMetadata};

/// The table's name.
pub const TABLE_NAME: &str = "hoodie.table.name";
/// The database the table lives in; metadata tables have none.
pub const DATABASE_NAME: &str = "hoodie.database.name";
/// CRC-32 of database and table name: it tells a cut file, nothing else.
pub const TABLE_CHECKSUM: &str = "hoodie.table.checksum";

/// Keys with their values, in order of first insertion.
#[derive(Clone, Default)]
pub struct Properties {
    // A rank beside each value keeps the order and leaves look-ups and removals logarithmic on files of any size.
    entries: BTreeMap<String, (u64, String)>,
    next_rank: u64,
}

impl Properties {
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the text as `java.util.Properties.load` does. Of a repeated key the last value counts.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut properties = Self::new();
        for entry in text::entries(bytes) {
            let entry = entry?;
            properties.set(entry.key, entry.value);
        }
        Ok(properties)
    }

    /// Prints the text as `java.util.Properties.store` does. `comment` and `date` become the first two lines.
    pub fn to_bytes(&self, comment: &str, date: &str) -> Vec<u8> {
        let mut out = Vec::new();
        text::write_comment(&mut out, comment);
        text::write_comment(&mut out, date);
        for (key, value) in self.iter() {
            text::write_entry(&mut out, key, value);
        }
        out
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(|(_, value)| value.as_str())
    }

    /// Sets a value; a key that is there already keeps its place.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let rank = self.next_rank;
        self.next_rank += 1;
        let value = value.into();
        self.entries.entry(key.into()).and_modify(|(_, old)| old.clone_from(&value)).or_insert((rank, value));
    }

    pub fn remove(&mut self, key: &str) -> Option<String> {
        self.entries.remove(key).map(|(_, value)| value)
    }

    /// Pairs in order of first insertion.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(_, (rank, _))| *rank);
        entries.into_iter().map(|(key, (_, value))| (key.as_str(), value.as_str()))
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The checksum that belongs to the names in this file.
    pub fn computed_checksum(&self) -> u32 {
        table_checksum(self.get(DATABASE_NAME), self.get(TABLE_NAME).unwrap_or_default())
    }

    /// Fails if the file carries a checksum that contradicts its names. A file without one is accepted.
    pub fn verify_checksum(&self) -> Result<()> {
        let Some(stored) = self.get(TABLE_CHECKSUM) else {
            return Ok(());
        };
        let computed = self.computed_checksum();
        if stored.trim().parse() == Ok(computed) {
            return Ok(());
        }
        Err(Error::corrupt(format!("{TABLE_CHECKSUM} is {stored}, but the table's names give {computed}"))
            .with_hint("the file was cut or edited; restore it, or its copy hoodie.properties.backup"))
    }
}

/// Equal when the pairs are, in whatever order.
impl PartialEq for Properties {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.entries.iter().all(|(key, (_, value))| other.get(key) == Some(value))
    }
}

impl Eq for Properties {}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Properties {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut properties = Self::new();
        for (key, value) in pairs {
            properties.set(key, value);
        }
        properties
    }
}

/// CRC-32 of `<database>.<table>`, with an empty database when there is none.
pub fn table_checksum(database: Option<&str>, table: &str) -> u32 {
    crc32fast::hash(format!("{}.{table}", database.unwrap_or_default()).as_bytes())
}
