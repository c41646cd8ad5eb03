//! The schema a file was written with, compiled: which field is read and written where.
//!
//! Fields and branches are found by name. One that is not known is passed over while it is null, and refused otherwise.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::schema::{Field as AvroField, Node, Record, TimeUnit};
use crate::wire::Reader as Wire;
use crate::wire::{put_avro_bytes, put_avro_long};
use crate::{Error, Result};

use super::record::FileEntry;
use super::stats::StatValue;

/// The schema text of release 1.0, to the letter; for tables of version 8.
pub const SCHEMA_V8: &str = include_str!("schemas/v8.avsc");
/// The schema text of releases 1.1 and 1.2, to the letter; for tables of version 9.
pub const SCHEMA_V9: &str = include_str!("schemas/v9.avsc");

/// How many of the fields are the meta columns of every Hudi schema.
pub(super) const META_COLUMNS: usize = 5;

/// The schema text without the meta columns, to the letter: as commits of metadata tables state it.
pub fn without_meta_columns(schema: &'static str) -> String {
    const FIELDS: &str = "\"fields\":[";
    let fields = schema.find(FIELDS).map_or(0, |at| at + FIELDS.len());
    let first = schema.find("{\"name\":\"key\"").unwrap_or(fields);
    let (before, after) = (schema.get(..fields), schema.get(first..));
    format!("{}{}", before.unwrap_or_default(), after.unwrap_or_default())
}

const FILE_INFO: &[(&str, Type)] = &[("size", Type::Long), ("isDeleted", Type::Boolean)];
const BLOOM: &[(&str, Type)] =
    &[("type", Type::String), ("timestamp", Type::String), ("bloomFilter", Type::Bytes), ("isDeleted", Type::Boolean)];
const STATS: &[(&str, Type)] = &[
    ("fileName", Type::String),
    ("columnName", Type::String),
    ("minValue", Type::Wrapped),
    ("maxValue", Type::Wrapped),
    ("valueCount", Type::Long),
    ("nullCount", Type::Long),
    ("totalSize", Type::Long),
    ("totalUncompressedSize", Type::Long),
    ("isDeleted", Type::Boolean),
    ("isTightBound", Type::Boolean),
    ("valueType", Type::Record(VALUE_TYPE)),
];
const VALUE_TYPE: &[(&str, Type)] = &[("typeOrdinal", Type::Int), ("additionalInfo", Type::String)];
const RECORD_INDEX: &[(&str, Type)] = &[
    ("partitionName", Type::String),
    ("fileIdHighBits", Type::Long),
    ("fileIdLowBits", Type::Long),
    ("fileIndex", Type::Int),
    ("fileId", Type::String),
    ("instantTime", Type::Long),
    ("fileIdEncoding", Type::Int),
    ("position", Type::Long),
];
const SECONDARY_INDEX: &[(&str, Type)] = &[("isDeleted", Type::Boolean)];

/// The fields of `HoodieMetadataRecord`, the meta columns in front.
const METADATA_RECORD: &[(&str, Type)] = &[
    ("_hoodie_commit_time", Type::String),
    ("_hoodie_commit_seqno", Type::String),
    ("_hoodie_record_key", Type::String),
    ("_hoodie_partition_path", Type::String),
    ("_hoodie_file_name", Type::String),
    ("key", Type::String),
    ("type", Type::Int),
    ("filesystemMetadata", Type::Files),
    ("BloomFilterMetadata", Type::Record(BLOOM)),
    ("ColumnStatsMetadata", Type::Record(STATS)),
    ("recordIndexMetadata", Type::Record(RECORD_INDEX)),
    ("SecondaryIndexMetadata", Type::Record(SECONDARY_INDEX)),
];

pub(super) const FIELDS: usize = METADATA_RECORD.len();

/// What a known field holds, null aside.
#[derive(Debug, Clone, Copy)]
enum Type {
    Boolean,
    Int,
    Long,
    String,
    Bytes,
    /// A union of the records that wrap one value each.
    Wrapped,
    Record(&'static [(&'static str, Type)]),
    /// A map of [`FILE_INFO`].
    Files,
}

/// The value of a field, as it lies between bytes and records.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Datum<'a> {
    #[default]
    Null,
    Boolean(bool),
    Int(i32),
    Long(i64),
    String(&'a str),
    Bytes(&'a [u8]),
    Wrapped(StatValue),
    /// By slot; as many as the record has known fields.
    Record(Vec<Datum<'a>>),
    Files(Cow<'a, BTreeMap<String, FileEntry>>),
}

/// A schema of metadata records, compiled.
#[derive(Debug, Clone)]
pub struct RecordSchema(pub(super) Shape);

/// The fields of one record, in the order of the writer.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    name: String,
    pub(super) fields: Vec<Field>,
    /// The known fields; a slot is a place in it.
    known: &'static [(&'static str, Type)],
}

#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    /// None for a field that is not known.
    pub(super) slot: Option<usize>,
    /// The branch of null, in a union with it.
    pub(super) null: Option<i64>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Boolean,
    Int,
    Long,
    String,
    Bytes,
    Wrapped(Vec<Branch>),
    Record(Shape),
    Files(Shape),
    Unknown,
}

/// A branch of a union of wrappers.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    /// Null, or the name of a record.
    pub(super) name: String,
    /// Of the items, in the wrapper of arrays.
    pub(super) items: Vec<Branch>,
}

impl RecordSchema {
    /// Compiles the schema that a base file has in its file info, or a log block in its header.
    pub fn parse(text: &str) -> Result<Self> {
        let record = Record::parse(text)?;
        Ok(Self(Shape::compile(&record, METADATA_RECORD)?))
    }

    /// The same. Those of releases, which nearly every file has, are compiled once a process.
    pub fn shared(text: &str) -> Result<Arc<Self>> {
        static RELEASES: [(&str, OnceLock<Arc<RecordSchema>>); 2] =
            [(SCHEMA_V8, OnceLock::new()), (SCHEMA_V9, OnceLock::new())];
        let Some((_, known)) = RELEASES.iter().find(|(release, _)| *release == text) else {
            return Self::parse(text).map(Arc::new);
        };
        if let Some(schema) = known.get() {
            return Ok(Arc::clone(schema));
        }
        let schema = Arc::new(Self::parse(text)?);
        Ok(Arc::clone(known.get_or_init(|| schema)))
    }

    /// Decodes a record's fields, by slot.
    pub(super) fn read<'a>(&self, value: &'a [u8]) -> Result<Vec<Datum<'a>>> {
        let mut wire = Wire::new(value, 0);
        let fields = self.0.read(&mut wire)?;
        if !wire.is_empty() {
            return Err(wire.corrupt(format!("{} bytes are left behind a metadata record", wire.left())));
        }
        Ok(fields)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>, fields: &[Datum<'_>]) -> Result<()> {
        self.0.write(out, fields)
    }
}

impl Shape {
    fn compile(record: &Record, known: &'static [(&'static str, Type)]) -> Result<Self> {
        let fields = record.fields.iter().map(|field| Field::compile(field, known)).collect::<Result<_>>()?;
        Ok(Self { name: record.name.clone(), fields, known })
    }

    fn read<'a>(&self, wire: &mut Wire<'a>) -> Result<Vec<Datum<'a>>> {
        let mut values = vec![Datum::Null; self.known.len()];
        for field in &self.fields {
            let value = field.read(wire)?;
            if let Some(slot) = field.slot.and_then(|slot| values.get_mut(slot)) {
                *slot = value;
            }
        }
        Ok(values)
    }

    fn write(&self, out: &mut Vec<u8>, values: &[Datum<'_>]) -> Result<()> {
        for field in &self.fields {
            let value = field.slot.and_then(|slot| values.get(slot)).unwrap_or(&Datum::Null);
            field.write(out, value)?;
        }
        let written = |slot: usize| self.fields.iter().any(|field| field.slot == Some(slot));
        for (slot, ((name, _), value)) in self.known.iter().zip(values).enumerate() {
            // Before release 1.0 bounds were tight, or it did not matter: false is what its absence means.
            let absent = matches!(value, Datum::Null | Datum::Boolean(false));
            if !absent && !written(slot) {
                return Err(Error::schema(format!("the schema of {} has no field {name}", self.name)));
            }
        }
        Ok(())
    }
}

impl Field {
    fn compile(field: &AvroField, known: &'static [(&'static str, Type)]) -> Result<Self> {
        let slot = known.iter().position(|(name, _)| *name == field.name);
        let kind = slot.and_then(|slot| known.get(slot)).map(|(_, kind)| *kind);
        let wrapped = matches!(kind, Some(Type::Wrapped));
        let (node, null) = if wrapped { (&field.node, None) } else { without_null(&field.node) };
        let kind = match kind {
            None => Some(Kind::Unknown),
            Some(kind) => Kind::compile(node, kind)?,
        };
        let Some(kind) = kind else {
            let message = format!("field '{}' of metadata records is of type {}", field.name, node.kind());
            return Err(Error::unsupported(message));
        };
        Ok(Self { name: field.name.clone(), slot, null, kind })
    }

    fn read<'a>(&self, wire: &mut Wire<'a>) -> Result<Datum<'a>> {
        if let Some(null) = self.null {
            let branch = wire.avro_long(&self.name)?;
            if branch == null {
                return Ok(Datum::Null);
            }
            if branch != 1 - null {
                return Err(wire.corrupt(format!("{} has the unknown branch {branch}", self.name)));
            }
        }
        Ok(match &self.kind {
            Kind::Boolean => match wire.u8(&self.name)? {
                0 => Datum::Boolean(false),
                1 => Datum::Boolean(true),
                other => return Err(wire.corrupt(format!("{} is {other}, no boolean", self.name))),
            },
            Kind::Int => Datum::Int(wire.avro_int(&self.name)?),
            Kind::Long => Datum::Long(wire.avro_long(&self.name)?),
            Kind::String => Datum::String(wire.avro_string(&self.name)?),
            Kind::Bytes => Datum::Bytes(wire.avro_bytes(&self.name)?),
            Kind::Wrapped(branches) => match StatValue::read(wire, branches)? {
                Some(value) => Datum::Wrapped(value),
                None => Datum::Null,
            },
            Kind::Record(shape) => Datum::Record(shape.read(wire)?),
            Kind::Files(shape) => Datum::Files(Cow::Owned(read_files(wire, shape, &self.name)?)),
            Kind::Unknown => {
                return Err(Error::unsupported(format!("a metadata record with the field {}", self.name)));
            }
        })
    }

    fn write(&self, out: &mut Vec<u8>, value: &Datum<'_>) -> Result<()> {
        if let Kind::Wrapped(branches) = &self.kind {
            let value = if let Datum::Wrapped(value) = value { Some(value) } else { None };
            return StatValue::write(out, value, branches);
        }
        match self.null {
            Some(null) if *value == Datum::Null => {
                put_avro_long(out, null);
                return Ok(());
            }
            Some(null) => put_avro_long(out, 1 - null),
            None => {}
        }
        match (&self.kind, value) {
            (Kind::Boolean, Datum::Boolean(value)) => out.push(u8::from(*value)),
            (Kind::Int, Datum::Int(value)) => put_avro_long(out, (*value).into()),
            (Kind::Long, Datum::Long(value)) => put_avro_long(out, *value),
            (Kind::String, Datum::String(value)) => put_avro_bytes(out, value.as_bytes()),
            (Kind::Bytes, Datum::Bytes(value)) => put_avro_bytes(out, value),
            (Kind::Record(shape), Datum::Record(values)) => shape.write(out, values)?,
            (Kind::Files(shape), Datum::Files(files)) => {
                if !files.is_empty() {
                    put_avro_long(out, files.len() as i64);
                }
                for (name, file) in &**files {
                    put_avro_bytes(out, name.as_bytes());
                    shape.write(out, &[Datum::Long(file.size), Datum::Boolean(file.is_deleted)])?;
                }
                put_avro_long(out, 0);
            }
            _ => return Err(Error::schema(format!("a metadata record cannot go without {}", self.name))),
        }
        Ok(())
    }
}

impl Kind {
    /// None if the type does not fit.
    fn compile(node: &Node, known: Type) -> Result<Option<Self>> {
        Ok(match (known, node) {
            (Type::Boolean, Node::Boolean) => Some(Self::Boolean),
            (Type::Int, Node::Int) => Some(Self::Int),
            (Type::Long, Node::Long) => Some(Self::Long),
            (Type::String, Node::String) => Some(Self::String),
            (Type::Bytes, Node::Bytes) => Some(Self::Bytes),
            (Type::Wrapped, Node::Union(branches)) => {
                Some(Self::Wrapped(branches.iter().map(Branch::compile).collect::<Result<_>>()?))
            }
            (Type::Record(fields), Node::Record(record)) => Some(Self::Record(Shape::compile(record, fields)?)),
            (Type::Files, Node::Map(values)) => match &**values {
                Node::Record(record) => Some(Self::Files(Shape::compile(record, FILE_INFO)?)),
                _ => None,
            },
            _ => None,
        })
    }
}

impl Branch {
    fn compile(node: &Node) -> Result<Self> {
        let odd = || Error::unsupported(format!("statistics of type {} in the metadata table", node.kind()));
        match node {
            Node::Null => Ok(Self { name: "null".to_owned(), items: Vec::new() }),
            Node::Record(record) => {
                let name = record.name.rsplit('.').next().unwrap_or_default().to_owned();
                let [field] = record.fields.as_slice() else { return Err(odd()) };
                let items = match without_null(&field.node).0 {
                    Node::Array(items) => match &**items {
                        Node::Union(branches) => branches.iter().map(Self::compile).collect::<Result<_>>()?,
                        _ => return Err(odd()),
                    },
                    other if StatValue::fits(&name, other) => Vec::new(),
                    _ => return Err(odd()),
                };
                Ok(Self { name, items })
            }
            _ => Err(odd()),
        }
    }
}

/// A union of null and one other type, taken apart.
fn without_null(node: &Node) -> (&Node, Option<i64>) {
    match node {
        Node::Union(branches) => match branches.as_slice() {
            [Node::Null, other] => (other, Some(0)),
            [other, Node::Null] => (other, Some(1)),
            _ => (node, None),
        },
        _ => (node, None),
    }
}

pub(super) fn is_int(node: &Node) -> bool {
    matches!(node, Node::Int | Node::Date | Node::Time(TimeUnit::Millis))
}

pub(super) fn is_long(node: &Node) -> bool {
    matches!(node, Node::Long | Node::Timestamp { .. } | Node::Time(TimeUnit::Micros | TimeUnit::Nanos))
}

fn read_files(wire: &mut Wire<'_>, shape: &Shape, field: &str) -> Result<BTreeMap<String, FileEntry>> {
    let mut files = BTreeMap::new();
    while let Some(count) = read_block(wire, field)? {
        for _ in 0..count {
            let name = wire.avro_string(field)?;
            let offset = wire.offset();
            let [Datum::Long(size), Datum::Boolean(is_deleted)] = *shape.read(wire)? else {
                return Err(Error::corrupt(format!("file '{name}' without size or isDeleted")).at_offset(offset));
            };
            files.insert(name.to_owned(), FileEntry { size, is_deleted });
        }
    }
    Ok(files)
}

/// The head of the next block of an array or a map: how many items follow, none at the end. Every item has a byte.
pub(super) fn read_block(wire: &mut Wire<'_>, field: &str) -> Result<Option<usize>> {
    let count = wire.avro_long(field)?;
    if count < 0 {
        wire.avro_long(field)?;
    }
    let count = usize::try_from(count.unsigned_abs()).ok().filter(|count| *count <= wire.left());
    let count = count.ok_or_else(|| wire.corrupt(format!("{field} has more items than bytes are left")))?;
    Ok((count > 0).then_some(count))
}
