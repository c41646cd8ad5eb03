//! Row groups, column by column.

use std::collections::BTreeMap;
use std::io;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, FieldRef, SchemaRef};
use hudini_format::parquet_chunk::{ChunkWriter, TextExtremes, chunk_writer};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves};
use parquet::errors::Result;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

/// Writes batches as `ArrowWriter` does, with chunk writers of our own where there are any.
pub(super) struct RowGroups<W: io::Write + Send> {
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    open: Option<RowGroup>,
    texts: TextBounds,
}

/// By column of texts: the least and the greatest, `None` if all are null.
pub(crate) type TextBounds = BTreeMap<String, Option<TextExtremes>>;

struct RowGroup {
    rows: usize,
    columns: Vec<Column>,
}

impl<W: io::Write + Send> RowGroups<W> {
    pub(super) fn new(sink: W, schema: SchemaRef, options: ArrowWriterOptions) -> Result<Self> {
        let whole = ArrowWriter::try_new_with_options(sink, SchemaRef::clone(&schema), options)?;
        let (file, factory) = whole.into_serialized_writer()?;
        Ok(Self { file, factory, schema, open: None, texts: TextBounds::new() })
    }

    pub(super) fn append_key_value_metadata(&mut self, pair: KeyValue) {
        self.file.append_key_value_metadata(pair);
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let most = self.file.properties().max_row_group_row_count().unwrap_or(usize::MAX);
        let mut at = 0;
        while at < batch.num_rows() {
            let mut group = match self.open.take() {
                Some(group) => group,
                None => self.new_group()?,
            };
            let rows = (batch.num_rows() - at).min(most.saturating_sub(group.rows).max(1));
            for (column, array) in group.columns.iter_mut().zip(batch.columns()) {
                column.write(&array.slice(at, rows))?;
            }
            (group.rows, at) = (group.rows + rows, at + rows);
            let is_full = group.rows >= most;
            self.open = Some(group);
            if is_full {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Bytes of the row group under way.
    pub(super) fn in_progress_size(&self) -> usize {
        self.open.iter().flat_map(|group| &group.columns).map(Column::size).sum()
    }

    /// Ends the row group under way.
    pub(super) fn flush(&mut self) -> Result<()> {
        let Some(group) = self.open.take() else { return Ok(()) };
        let mut row_group = self.file.next_row_group()?;
        group.columns.into_iter().try_for_each(|column| column.end(&mut row_group, &mut self.texts))?;
        row_group.close()?;
        Ok(())
    }

    pub(super) fn flushed_row_groups(&self) -> &[RowGroupMetaData] {
        self.file.flushed_row_groups()
    }

    /// Of the row groups that ended.
    pub(super) fn text_bounds(&self) -> &TextBounds {
        &self.texts
    }

    /// Ends the file.
    pub(super) fn into_inner(mut self) -> Result<W> {
        self.flush()?;
        self.file.into_inner()
    }

    fn new_group(&self) -> Result<RowGroup> {
        let (parquet, properties) = (self.file.schema_descr(), self.file.properties());
        let mut columns: Vec<Column> = self.schema.fields().iter().map(Column::new).collect();
        let writers = self.factory.create_column_writers(self.file.flushed_row_groups().len())?;
        for (leaf, writer) in writers.into_iter().enumerate() {
            if let Some(column) = columns.get_mut(parquet.get_column_root_idx(leaf)) {
                column.own = chunk_writer(&parquet.column(leaf), column.field.data_type(), properties);
                column.leaves.push(writer);
            }
        }
        Ok(RowGroup { rows: 0, columns })
    }
}

/// One column of a row group.
struct Column {
    field: FieldRef,
    /// For a column with one leaf, which is not written to then.
    own: Option<Box<dyn ChunkWriter>>,
    leaves: Vec<ArrowColumnWriter>,
}

impl Column {
    fn new(field: &FieldRef) -> Self {
        Self { field: FieldRef::clone(field), own: None, leaves: Vec::new() }
    }

    fn write(&mut self, values: &ArrayRef) -> Result<()> {
        if let Some(own) = &mut self.own {
            return own.write(values);
        }
        let leaves = compute_leaves(&self.field, values)?;
        leaves.iter().zip(&mut self.leaves).try_for_each(|(leaf, writer)| writer.write(leaf))
    }

    fn size(&self) -> usize {
        let of_leaves = || self.leaves.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum();
        self.own.as_ref().map_or_else(of_leaves, |own| own.bytes())
    }

    fn end<W: io::Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        texts: &mut TextBounds,
    ) -> Result<()> {
        if let Some(own) = self.own {
            let chunk = own.close()?;
            if matches!(self.field.data_type(), DataType::Utf8 | DataType::Binary) {
                widen(texts.entry(self.field.name().clone()).or_default(), chunk.extremes);
            }
            return group.append_column(&chunk.bytes, chunk.told);
        }
        self.leaves.into_iter().try_for_each(|leaf| leaf.close()?.append_to_row_group(group))
    }
}

fn widen(bounds: &mut Option<TextExtremes>, more: Option<TextExtremes>) {
    *bounds = match (bounds.take(), more) {
        (Some((least, greatest)), Some((low, high))) => Some((least.min(low), greatest.max(high))),
        (one, other) => one.or(other),
    };
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BinaryArray, Int64Array, StringArray};
    use arrow_schema::{Field, Schema};
    use arrow_select::concat::concat_batches;
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::file::properties::WriterProperties;

    use super::*;

    fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
        let items = Field::new_list_field(DataType::Utf8, true);
        let fields = [
            Field::new("one", DataType::Utf8, false),
            Field::new("text", DataType::Utf8, true),
            Field::new("number", DataType::Int64, true),
            Field::new("list", DataType::List(Arc::new(items)), true),
            Field::new("binary", DataType::Binary, true),
            Field::new("null", DataType::Utf8, true),
        ];
        let mut lists = arrow_array::builder::ListBuilder::new(arrow_array::builder::StringBuilder::new());
        rows.clone().for_each(|n| lists.append_value((0..n % 4).map(|item| Some(item.to_string()))));
        let count = usize::try_from(rows.end - rows.start).unwrap();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::new_repeated("one", count)),
            Arc::new(rows.clone().map(|n| (n % 7 > 0).then(|| format!("text {n:06}"))).collect::<StringArray>()),
            Arc::new(rows.clone().map(Some).collect::<Int64Array>()),
            Arc::new(lists.finish()),
            Arc::new(BinaryArray::from_iter_values(rows.map(|n| n.to_be_bytes()))),
            Arc::new(StringArray::new_null(count)),
        ];
        RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), columns).unwrap()
    }

    #[test]
    fn rows_come_back_over_several_row_groups() {
        let batches = [batch(1..70_001), batch(70_001..70_002), batch(70_002..120_000)];
        let options = ArrowWriterOptions::new()
            .with_properties(WriterProperties::builder().set_max_row_group_row_count(Some(50_000)).build());
        let mut groups = RowGroups::new(Vec::new(), batches[0].schema(), options).unwrap();
        batches.iter().for_each(|batch| groups.write(batch).unwrap());
        groups.flush().unwrap();
        let extremes = |least: &[u8], greatest: &[u8]| Some((least.to_vec(), greatest.to_vec()));
        let expected = [
            ("binary", extremes(&1_i64.to_be_bytes(), &119_999_i64.to_be_bytes())),
            ("null", None),
            ("one", extremes(b"one", b"one")),
            ("text", extremes(b"text 000001", b"text 119999")),
        ];
        assert_eq!(*groups.text_bounds(), expected.map(|(name, bounds)| (name.to_owned(), bounds)).into());
        let file = Bytes::from(groups.into_inner().unwrap());
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 3);
        let read: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
        let all = concat_batches(&batches[0].schema(), &batches).unwrap();
        assert_eq!(concat_batches(&read[0].schema(), &read).unwrap().columns(), all.columns());
    }
}
