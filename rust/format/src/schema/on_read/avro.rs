//! Columns with ids ↔ Avro schemas.

use super::{Backing, Column, Kind, TableSchema};
use crate::schema::arrow::decimal_bytes;
use crate::schema::node::{Field, Node, Record, TimeUnit};
use crate::schema::parse::with_remarks;
use crate::schema::print::{self, Note, Notes};
use crate::{Error, Result};

impl TableSchema {
    /// The first version of a table whose rows have this schema: ids in order, those of a record's fields before those
    /// of anything inside them.
    pub fn first(avro: &str) -> Result<Self> {
        let (record, remarks) = with_remarks(avro)?;
        let mut next = 0;
        let mut columns = columns(&record, &mut next)?;
        for remark in remarks {
            if let Some(column) = find(&mut columns, &remark.path) {
                column.doc = remark.doc;
                let inside = inside(&mut column.kind);
                if remark.uuid && *inside == Kind::String {
                    *inside = Kind::Uuid;
                }
            }
        }
        Ok(Self { version: Some(0), max_column_id: Some(next - 1), columns })
    }

    /// The shape of the rows.
    pub fn to_record(&self, full_name: &str) -> Result<Record> {
        record(&self.columns, full_name)
    }

    /// The Avro text that Apache Hudi derives from the columns, nested types named after where they stand.
    pub fn to_avro(&self, full_name: &str) -> Result<String> {
        let mut notes = Notes::new();
        note(&self.columns, full_name, &mut notes);
        print::record(&self.to_record(full_name)?, &notes)
    }
}

fn find<'a>(columns: &'a mut [Column], path: &[String]) -> Option<&'a mut Column> {
    let (name, rest) = path.split_first()?;
    let column = columns.iter_mut().find(|column| column.name == *name)?;
    if rest.is_empty() {
        return Some(column);
    }
    match inside(&mut column.kind) {
        Kind::Record(columns) => find(columns, rest),
        _ => None,
    }
}

/// The kind itself, or that of its innermost items or values.
fn inside(kind: &mut Kind) -> &mut Kind {
    match kind {
        Kind::Array { element: inner, .. } | Kind::Map { value: inner, .. } => inside(inner),
        other => other,
    }
}

/// What nodes cannot say of the columns.
fn note<'a>(columns: &'a [Column], full_name: &str, notes: &mut Notes<'a>) {
    for column in columns {
        let full = format!("{full_name}.{}", column.name);
        let mut inside = &column.kind;
        while let Kind::Array { element: inner, .. } | Kind::Map { value: inner, .. } = inside {
            inside = inner;
        }
        if let Kind::Record(columns) = inside {
            note(columns, &full, notes);
        }
        notes.insert(full, Note { doc: column.doc.as_deref(), uuid: *inside == Kind::Uuid });
    }
}

fn take(next: &mut i32, ids: usize) -> Result<i32> {
    let first = *next;
    let after = i32::try_from(ids).ok().and_then(|ids| first.checked_add(ids));
    *next = after.ok_or_else(|| Error::unsupported("more columns than ids"))?;
    Ok(first)
}

fn columns(record: &Record, next: &mut i32) -> Result<Vec<Column>> {
    let first = take(next, record.fields.len())?;
    let ids = first..;
    let column = |(id, field): (i32, &Field)| {
        let (kind, optional) = kind(&field.node, next)
            .map_err(|e| Error::new(e.kind(), format!("column '{}': {}", field.name, e.message())))?;
        Ok(Column { id, name: field.name.clone(), optional, kind, doc: None })
    };
    ids.zip(&record.fields).map(column).collect()
}

/// The kind, and whether it may be null.
fn kind(node: &Node, next: &mut i32) -> Result<(Kind, bool)> {
    let (inner, null) = node.optional()?;
    let kind = match inner {
        Node::Boolean => Kind::Boolean,
        Node::Int => Kind::Int,
        Node::Long => Kind::Long,
        Node::Float => Kind::Float,
        Node::Double => Kind::Double,
        Node::Bytes => Kind::Binary,
        // Apache Hudi forgets the symbols of an enum.
        Node::String | Node::Enum(_) => Kind::String,
        Node::Fixed(size) => Kind::Fixed(size_of(*size)?),
        Node::Date => Kind::Date,
        Node::Time(unit) if *unit != TimeUnit::Nanos => Kind::Time(*unit),
        Node::Timestamp { unit, utc } if *unit != TimeUnit::Nanos => Kind::Timestamp { unit: *unit, utc: *utc },
        Node::Decimal { precision, scale, size } => Kind::Decimal {
            precision: *precision,
            scale: u8::try_from(*scale).map_err(|_| Error::unsupported("a decimal of negative scale"))?,
            backing: match size {
                Some(size) => Backing::Fixed(size_of(*size)?),
                None => Backing::Bytes,
            },
        },
        Node::Array(item) => {
            let element_id = take(next, 1)?;
            let (element, optional) = kind(item, next)?;
            Kind::Array { element_id, element: Box::new(element), optional }
        }
        Node::Map(value) => {
            let key_id = take(next, 2)?;
            let (value, optional) = kind(value, next)?;
            Kind::Map { key_id, key: Box::new(Kind::String), value_id: key_id + 1, value: Box::new(value), optional }
        }
        Node::Record(record) => Kind::Record(columns(record, next)?),
        Node::Null | Node::Union(_) | Node::Time(_) | Node::Timestamp { .. } | Node::Vector(_) => {
            return Err(Error::unsupported(format!("a column of the Avro type {} under schema-on-read", inner.kind())));
        }
    };
    Ok((kind, null.is_some()))
}

fn size_of(size: usize) -> Result<u32> {
    u32::try_from(size).map_err(|_| Error::unsupported(format!("a fixed of {size} bytes")))
}

fn record(columns: &[Column], full_name: &str) -> Result<Record> {
    let field = |column: &Column| {
        let node = node(&column.kind, &format!("{full_name}.{}", column.name))?;
        Ok(Field { name: column.name.clone(), node: nullable(node, column.optional) })
    };
    Ok(Record { name: full_name.to_owned(), fields: columns.iter().map(field).collect::<Result<_>>()? })
}

fn nullable(node: Node, optional: bool) -> Node {
    if optional { Node::Union(vec![Node::Null, node]) } else { node }
}

fn node(kind: &Kind, full_name: &str) -> Result<Node> {
    Ok(match kind {
        Kind::Boolean => Node::Boolean,
        Kind::Int => Node::Int,
        Kind::Long => Node::Long,
        Kind::Float => Node::Float,
        Kind::Double => Node::Double,
        Kind::Date => Node::Date,
        Kind::Time(unit) => Node::Time(*unit),
        Kind::Timestamp { unit, utc } => Node::Timestamp { unit: *unit, utc: *utc },
        Kind::String | Kind::Uuid => Node::String,
        Kind::Binary => Node::Bytes,
        Kind::Fixed(size) => Node::Fixed(*size as usize),
        Kind::Decimal { precision, scale, backing } => Node::Decimal {
            precision: *precision,
            scale: i8::try_from(*scale).map_err(|_| Error::unsupported(format!("a decimal of scale {scale}")))?,
            size: fixed_size(*precision, *backing),
        },
        Kind::Record(columns) => Node::Record(record(columns, full_name)?),
        Kind::Array { element, optional, .. } => Node::Array(Box::new(nullable(node(element, full_name)?, *optional))),
        Kind::Map { key, value, optional, .. } => {
            if **key != Kind::String {
                return Err(Error::unsupported(format!("map keys of type {key}: Avro knows only text")));
            }
            Node::Map(Box::new(nullable(node(value, full_name)?, *optional)))
        }
    })
}

/// The width of the fixed that holds a decimal; `None` for bytes.
pub(in crate::schema) fn fixed_size(precision: u8, backing: Backing) -> Option<usize> {
    match backing {
        Backing::Plain => Some(decimal_bytes(precision)),
        Backing::Bytes => None,
        Backing::Fixed(size) => Some(size as usize),
    }
}
