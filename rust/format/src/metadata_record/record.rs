//! A record of the metadata table.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::index::RecordIndexEntry;
use super::schema::{Datum, FIELDS, META_COLUMNS, RecordSchema};
use super::stats::ColumnStats;
use crate::wire::utf8;
use crate::{Error, Result};

/// A record with its key, the key of the HFile's entry.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataRecord {
    pub key: String,
    pub payload: Payload,
    /// `_hoodie_file_name`: some base files repeat their name here. The other meta columns are null.
    pub file_name: Option<String>,
}

/// What a record says. The order is that of its number, `type`, from 1 on.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// The partitions of the table; sizes are 0.
    Partitions(BTreeMap<String, FileEntry>),
    /// The files of a partition, by name.
    Files(BTreeMap<String, FileEntry>),
    /// Of a column in a file.
    ColumnStats(Box<ColumnStats>),
    BloomFilter(BloomFilterEntry),
    RecordIndex(RecordIndexEntry),
    /// Of a column in a partition, whose path stands in the place of the file's name.
    PartitionStats(Box<ColumnStats>),
    SecondaryIndex {
        is_deleted: bool,
    },
}

/// An entry of a list of files or partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileEntry {
    /// Positive for a file that is there, 0 for a partition or a file that is deleted. Not to be relied upon: rolled-back
    /// log files of table version 6 are listed with a size of 1.
    pub size: i64,
    pub is_deleted: bool,
}

impl FileEntry {
    pub fn new(size: i64) -> Self {
        Self { size, is_deleted: false }
    }

    pub fn deleted() -> Self {
        Self { size: 0, is_deleted: true }
    }
}

/// The bloom filter of a base file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BloomFilterEntry {
    /// A code of [`crate::bloom::BloomKind`].
    pub kind: String,
    /// The instant that wrote the base file.
    pub instant: String,
    /// The filter's Base64 text, as in the footer of the file; empty if deleted.
    pub filter: Vec<u8>,
    pub is_deleted: bool,
}

impl MetadataRecord {
    pub fn new(key: impl Into<String>, payload: Payload) -> Self {
        Self { key: key.into(), payload, file_name: None }
    }

    /// Decodes an entry of an HFile, whose schema `schema` is.
    pub fn decode(key: &[u8], value: &[u8], schema: &RecordSchema) -> Result<Self> {
        let key = utf8(key, "key of a metadata record", 0)?;
        let record = schema.read(value).and_then(|fields| Self::from_fields(key, fields));
        record.map_err(|e| {
            Error::new(e.kind(), format!("metadata record '{}' cannot be decoded", key.escape_debug())).caused_by(e)
        })
    }

    /// The value of the entry, as the schema has it; the key of the entry is [`MetadataRecord::key`].
    pub fn encode(&self, schema: &RecordSchema) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.encode_to(&mut out, self.file_name.as_deref(), schema)?;
        Ok(out)
    }

    /// The same behind other bytes, for a file that repeats its name in its records or does not.
    pub fn encode_to(&self, out: &mut Vec<u8>, file_name: Option<&str>, schema: &RecordSchema) -> Result<()> {
        schema.write(out, &self.fields(file_name))
    }

    fn from_fields(key: &str, fields: Vec<Datum<'_>>) -> Result<Self> {
        let mut fields = fields.into_iter();
        let mut meta = fields.by_ref().take(META_COLUMNS);
        let others_are_null = meta.by_ref().take(META_COLUMNS - 1).all(|datum| datum == Datum::Null);
        let file_name = match meta.next() {
            Some(Datum::String(name)) => Some(name.to_owned()),
            _ => None,
        };
        if !others_are_null {
            return Err(Error::unsupported("a metadata record with meta columns beside _hoodie_file_name"));
        }
        let mut next = || fields.next().unwrap_or_default();
        match next() {
            Datum::String("") => {}
            Datum::String(own) if own == key => {}
            _ => return Err(Error::corrupt("a metadata record that names another key")),
        }
        let Datum::Int(number) = next() else { return Err(Error::corrupt("a metadata record without type")) };
        let mut parts = [next(), next(), next(), next(), next()];
        let payload = Payload::from_parts(number, &mut parts)?;
        if parts.iter().any(|part| *part != Datum::Null) {
            return Err(Error::corrupt(format!("a metadata record of type {number} holds more than that type does")));
        }
        Ok(Self { key: key.to_owned(), payload, file_name })
    }

    pub(super) fn fields<'a>(&'a self, file_name: Option<&'a str>) -> Vec<Datum<'a>> {
        let mut fields = Vec::with_capacity(FIELDS);
        fields.resize(META_COLUMNS - 1, Datum::Null);
        fields.push(file_name.map_or(Datum::Null, Datum::String));
        fields.push(Datum::String(""));
        fields.push(Datum::Int(self.payload.number()));
        let mut parts = [const { Datum::Null }; 5];
        let [files, bloom, stats, record_index, secondary] = &mut parts;
        match &self.payload {
            Payload::Partitions(map) | Payload::Files(map) => *files = Datum::Files(Cow::Borrowed(map)),
            Payload::ColumnStats(of) | Payload::PartitionStats(of) => *stats = Datum::Record(of.fields()),
            Payload::BloomFilter(of) => *bloom = Datum::Record(of.fields()),
            Payload::RecordIndex(of) => *record_index = Datum::Record(of.fields()),
            Payload::SecondaryIndex { is_deleted } => *secondary = Datum::Record(vec![Datum::Boolean(*is_deleted)]),
        }
        fields.extend(parts);
        fields
    }
}

impl Payload {
    /// Takes the part that belongs to the number out of the parts of a record.
    fn from_parts(number: i32, parts: &mut [Datum<'_>; 5]) -> Result<Self> {
        let [files, bloom, stats, record_index, secondary] = parts;
        match number {
            1 | 2 => {
                let map = match std::mem::take(files) {
                    Datum::Files(map) => map.into_owned(),
                    _ => BTreeMap::new(),
                };
                Ok(if number == 1 { Self::Partitions(map) } else { Self::Files(map) })
            }
            3 => Ok(Self::ColumnStats(Box::new(ColumnStats::from_fields(part_of(stats, number)?)?))),
            4 => Ok(Self::BloomFilter(BloomFilterEntry::from_fields(part_of(bloom, number)?)?)),
            5 => Ok(Self::RecordIndex(RecordIndexEntry::from_fields(part_of(record_index, number)?)?)),
            6 => Ok(Self::PartitionStats(Box::new(ColumnStats::from_fields(part_of(stats, number)?)?))),
            7 => match part_of(secondary, number)?.as_slice() {
                [Datum::Boolean(is_deleted)] => Ok(Self::SecondaryIndex { is_deleted: *is_deleted }),
                _ => Err(Error::corrupt("a secondary index entry without isDeleted")),
            },
            other => Err(Error::unsupported(format!("metadata record type {other} is unknown"))),
        }
    }

    /// The field `type`.
    pub fn number(&self) -> i32 {
        match self {
            Self::Partitions(_) => 1,
            Self::Files(_) => 2,
            Self::ColumnStats(_) => 3,
            Self::BloomFilter(_) => 4,
            Self::RecordIndex(_) => 5,
            Self::PartitionStats(_) => 6,
            Self::SecondaryIndex { .. } => 7,
        }
    }

    /// Whether the whole record is the mark of a deletion, as releases before 1.2 wrote them. Entries of lists are
    /// deleted one by one, and rows of the record index by delete blocks.
    pub fn is_deleted(&self) -> bool {
        match self {
            Self::Partitions(_) | Self::Files(_) | Self::RecordIndex(_) => false,
            Self::ColumnStats(stats) | Self::PartitionStats(stats) => stats.is_deleted,
            Self::BloomFilter(entry) => entry.is_deleted,
            Self::SecondaryIndex { is_deleted } => *is_deleted,
        }
    }
}

fn part_of<'a>(slot: &mut Datum<'a>, number: i32) -> Result<Vec<Datum<'a>>> {
    match std::mem::take(slot) {
        Datum::Record(fields) => Ok(fields),
        _ => Err(Error::corrupt(format!("a metadata record of type {number} without its part"))),
    }
}

impl BloomFilterEntry {
    fn from_fields(fields: Vec<Datum<'_>>) -> Result<Self> {
        match fields.as_slice() {
            [Datum::String(kind), Datum::String(instant), Datum::Bytes(filter), Datum::Boolean(is_deleted)] => {
                Ok(Self {
                    kind: (*kind).to_owned(),
                    instant: (*instant).to_owned(),
                    filter: filter.to_vec(),
                    is_deleted: *is_deleted,
                })
            }
            _ => Err(Error::corrupt("a bloom filter of the metadata table without all its fields")),
        }
    }

    fn fields(&self) -> Vec<Datum<'_>> {
        vec![
            Datum::String(&self.kind),
            Datum::String(&self.instant),
            Datum::Bytes(&self.filter),
            Datum::Boolean(self.is_deleted),
        ]
    }
}
