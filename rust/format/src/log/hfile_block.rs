//! The content of HFile blocks: rows by key, in a whole HFile.
//!
//! Rows with a column `key`, as in metadata tables, stand in the order of its values. Their datums leave the column empty,
//! because the HFile holds it already. Other rows stand as they came, under their number: `"  0"`, `"  1"` and so on.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, SchemaRef};

use super::reader::Reader as LogReader;
use crate::avro::{RowDecoder, RowEncoder};
use crate::hfile::{Cell, Options, Reader, Span, Writer, info};
use crate::schema::Record;
use crate::{Error, Result};

/// The column whose values are the keys.
pub const KEY_COLUMN: &str = "key";

/// Hands the rows of a block's content to `take`, in batches of `wanted`. The rows have the schema `writer`, that of the
/// block's header; `content_offset` is where the content starts in its file, for errors.
pub fn read(
    content: &[u8],
    content_offset: u64,
    writer: &Record,
    wanted: &SchemaRef,
    batch_rows: usize,
    take: impl FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut rows = Rows::new(writer, wanted, batch_rows, take)?;
    let file = Reader::open(content).map_err(|e| e.from_offset(content_offset))?;
    // What `take` says is not about this file.
    let mut taken = Ok(());
    let visited = file.visit(Span::All, |cell| {
        rows.add(cell)?;
        if rows.is_full() {
            taken = rows.flush();
        }
        match taken {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::internal("the rows were not taken")),
        }
    });
    taken?;
    visited.map_err(|e| e.from_offset(content_offset))?;
    rows.flush()
}

struct Rows<F> {
    decoder: RowDecoder,
    /// Where the key column is, if it is wanted, and the keys of the batch.
    keys: Option<(usize, StringBuilder)>,
    batch_rows: usize,
    bytes: usize,
    take: F,
}

impl<F: FnMut(RecordBatch) -> Result<()>> Rows<F> {
    fn new(writer: &Record, wanted: &SchemaRef, batch_rows: usize, take: F) -> Result<Self> {
        let column = wanted.index_of(KEY_COLUMN).ok().filter(|_| writer.field(KEY_COLUMN).is_some());
        let is_text = |column: &usize| *wanted.field(*column).data_type() == DataType::Utf8;
        let keys = column.filter(is_text).map(|column| (column, StringBuilder::new()));
        Ok(Self { decoder: RowDecoder::new(writer, Arc::clone(wanted))?, keys, batch_rows, bytes: 0, take })
    }

    fn add(&mut self, cell: &Cell<'_>) -> Result<()> {
        self.decoder.decode(cell.value)?;
        self.bytes += cell.value.len();
        if let Some((_, keys)) = &mut self.keys {
            keys.append_value(str::from_utf8(cell.key).map_err(|e| Error::corrupt("a key is no UTF-8").caused_by(e))?);
            self.bytes += cell.key.len();
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.decoder.buffered() >= self.batch_rows || self.bytes >= LogReader::BATCH_BYTES || self.decoder.is_full()
    }

    fn flush(&mut self) -> Result<()> {
        if self.decoder.buffered() == 0 {
            return Ok(());
        }
        let mut rows = self.decoder.flush()?;
        self.bytes = 0;
        if let Some((column, keys)) = &mut self.keys {
            rows = with_keys(&rows, *column, &keys.finish())?;
        }
        (self.take)(rows)
    }
}

/// Puts the keys where the column is empty.
fn with_keys(rows: &RecordBatch, column: usize, keys: &StringArray) -> Result<RecordBatch> {
    let stored = rows.column(column).as_string::<i32>();
    let filled = stored.iter().zip(keys).map(|(stored, key)| if stored == Some("") { key } else { stored });
    with_column(rows, column, Arc::new(filled.collect::<StringArray>()))
}

fn with_column(rows: &RecordBatch, at: usize, column: ArrayRef) -> Result<RecordBatch> {
    let mut columns = rows.columns().to_vec();
    if let Some(slot) = columns.get_mut(at) {
        *slot = column;
    }
    Ok(RecordBatch::try_new(rows.schema(), columns)?)
}

/// The content of a block from rows that have the Avro schema `schema`. The values of a column `key` must differ.
pub fn encode(schema: &str, rows: &RecordBatch, options: Options) -> Result<Vec<u8>> {
    let record = Record::parse(schema)?;
    let (rows, keys) = match rows.schema().index_of(KEY_COLUMN) {
        Ok(column) => without_keys(rows, column)?,
        Err(_) => (rows.clone(), numbers(rows.num_rows())),
    };
    let encoder = RowEncoder::new(&record, &rows)?;
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| keys.value(*a).cmp(keys.value(*b)));
    let mut file = Writer::new(options)?;
    file.info(info::SCHEMA, schema);
    let mut datum = Vec::new();
    for row in order {
        datum.clear();
        encoder.encode(row, &mut datum)?;
        file.put(keys.value(row).as_bytes(), &datum)?;
    }
    file.finish()
}

/// Rows and the keys that are taken out of them.
fn without_keys(rows: &RecordBatch, column: usize) -> Result<(RecordBatch, StringArray)> {
    let Some(keys) = rows.column(column).as_string_opt::<i32>().filter(|keys| keys.null_count() == 0) else {
        return Err(Error::unsupported(format!(
            "HFile blocks of rows whose column '{KEY_COLUMN}' is no text, or null"
        )));
    };
    let empty = StringArray::from_iter_values(std::iter::repeat_n("", rows.num_rows()));
    Ok((with_column(rows, column, Arc::new(empty))?, keys.clone()))
}

/// As wide as Apache Hudi makes them: by the natural logarithm, which is always enough.
fn numbers(rows: usize) -> StringArray {
    let width = (rows as f64).ln().ceil() as usize + 1;
    StringArray::from_iter_values((0..rows).map(|row| format!("{row:>width$}")))
}
