//! Datums of a writer's schema to record batches of a wanted schema.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Fields, SchemaRef};

use super::column::Column;
use super::cursor::Cursor;
use crate::schema::{Node, Record};
use crate::{Error, Result};

/// Reads rows one by one, hands out batches.
#[derive(Debug)]
pub struct RowDecoder {
    plan: Plan,
    schema: SchemaRef,
    rows: usize,
}

impl RowDecoder {
    /// `schema` is what is wanted: fields are found by name, others of the writer skipped; a wanted field that the
    /// writer lacks is null.
    pub fn new(writer: &Record, schema: SchemaRef) -> Result<Self> {
        Ok(Self { plan: Plan::new(writer, schema.fields())?, schema, rows: 0 })
    }

    /// Reads one datum, which must fill `datum` exactly.
    pub fn decode(&mut self, datum: &[u8]) -> Result<()> {
        let mut cursor = Cursor::new(datum);
        self.plan.read(&mut cursor)?;
        if cursor.left() > 0 {
            return Err(Error::corrupt(format!("{} bytes after the end of an Avro row", cursor.left())));
        }
        self.rows += 1;
        Ok(())
    }

    /// Rows read since the last batch.
    pub fn buffered(&self) -> usize {
        self.rows
    }

    /// Hands out the rows read since the last call. After an error of `decode` the decoder is spent.
    pub fn flush(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        let columns = self.plan.finish()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::schema("log records do not fit the table's schema").caused_by(e))
    }
}

/// How to walk a record: one step for each of the writer's fields, one slot for each wanted field.
#[derive(Debug)]
pub(super) struct Plan {
    steps: Vec<Step>,
    slots: Vec<Slot>,
    /// Columns that are read, in the order of the writer's fields.
    columns: Vec<Column>,
    rows: usize,
}

#[derive(Debug)]
enum Step {
    /// Feeds the next of `columns`.
    Read,
    Skip(Node),
}

/// Where a wanted field comes from.
#[derive(Debug)]
enum Slot {
    Column(usize),
    Missing(DataType),
}

impl Plan {
    pub(super) fn new(writer: &Record, wanted: &Fields) -> Result<Self> {
        let mut steps = Vec::with_capacity(writer.fields.len());
        let mut columns = Vec::new();
        let mut found: Vec<&str> = Vec::new();
        for field in &writer.fields {
            match wanted.iter().find(|w| *w.name() == field.name) {
                Some(want) => {
                    let column = Column::new(&field.node, want.data_type())
                        .map_err(|e| Error::new(e.kind(), format!("column '{}': {}", field.name, e.message())))?;
                    columns.push(column);
                    found.push(&field.name);
                    steps.push(Step::Read);
                }
                None => steps.push(Step::Skip(field.node.clone())),
            }
        }
        let slots = wanted
            .iter()
            .map(|w| match found.iter().position(|name| name == w.name()) {
                Some(column) => Slot::Column(column),
                None => Slot::Missing(w.data_type().clone()),
            })
            .collect();
        Ok(Self { steps, slots, columns, rows: 0 })
    }

    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let mut columns = self.columns.iter_mut();
        for step in &self.steps {
            match step {
                Step::Read => {
                    if let Some(column) = columns.next() {
                        column.read(cursor)?;
                    }
                }
                Step::Skip(node) => skip(node, cursor)?,
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// The children of a struct that is null.
    pub(super) fn push_nulls(&mut self) -> Result<()> {
        for column in &mut self.columns {
            column.push_null()?;
        }
        self.rows += 1;
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        let rows = std::mem::take(&mut self.rows);
        let read = self.columns.iter_mut().map(Column::finish).collect::<Result<Vec<_>>>()?;
        let lost = || Error::internal("a decoded column went missing");
        self.slots
            .iter()
            .map(|slot| match slot {
                Slot::Column(at) => read.get(*at).map(Arc::clone).ok_or_else(lost),
                Slot::Missing(data_type) => Ok(new_null_array(data_type, rows)),
            })
            .collect()
    }
}

fn skip(node: &Node, cursor: &mut Cursor<'_>) -> Result<()> {
    match node {
        Node::Null => {}
        Node::Boolean => drop(cursor.boolean()?),
        Node::Int | Node::Long | Node::Date | Node::Time(_) | Node::Timestamp { .. } | Node::Enum(_) => {
            cursor.long()?;
        }
        Node::Float => drop(cursor.take(4)?),
        Node::Double => drop(cursor.take(8)?),
        Node::Bytes | Node::String | Node::Decimal { size: None, .. } => drop(cursor.bytes()?),
        Node::Fixed(size) | Node::Decimal { size: Some(size), .. } => drop(cursor.take(*size)?),
        Node::Array(item) => skip_items(cursor, |cursor| skip(item, cursor))?,
        Node::Map(value) => skip_items(cursor, |cursor| {
            cursor.bytes()?;
            skip(value, cursor)
        })?,
        Node::Record(record) => record.fields.iter().try_for_each(|f| skip(&f.node, cursor))?,
        Node::Union(branches) => {
            let at = cursor.long()?;
            let branch = usize::try_from(at).ok().and_then(|i| branches.get(i));
            skip(
                branch.ok_or_else(|| Error::corrupt(format!("branch {at} of a union of {}", branches.len())))?,
                cursor,
            )?;
        }
    }
    Ok(())
}

/// Items that take no bytes need no walk.
fn skip_items(cursor: &mut Cursor<'_>, mut item: impl FnMut(&mut Cursor<'_>) -> Result<()>) -> Result<()> {
    while let Some(count) = cursor.block()? {
        for _ in 0..count {
            let before = cursor.left();
            item(cursor)?;
            if cursor.left() == before {
                break;
            }
        }
    }
    Ok(())
}
