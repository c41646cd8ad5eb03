//! Row groups, column by column.

use std::io;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, FieldRef, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves};
use parquet::errors::Result;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::TypePtr;

use super::extremes::is_repeated;
use super::repeated::{Repeated, repeated};

/// Rows of a repeated value that are encoded at a time.
const REPEATED_ROWS: usize = 1 << 16;

/// Writes batches as `ArrowWriter` does, but does not go over columns whose rows all have one text.
pub(super) struct RowGroups<W: io::Write + Send> {
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    open: Option<RowGroup>,
}

struct RowGroup {
    rows: usize,
    columns: Vec<Column>,
}

impl<W: io::Write + Send> RowGroups<W> {
    pub(super) fn new(sink: W, schema: SchemaRef, options: ArrowWriterOptions) -> Result<Self> {
        let whole = ArrowWriter::try_new_with_options(sink, SchemaRef::clone(&schema), options)?;
        let (file, factory) = whole.into_serialized_writer()?;
        Ok(Self { file, factory, schema, open: None })
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
        let properties = self.file.properties().clone();
        let mut row_group = self.file.next_row_group()?;
        for column in group.columns {
            column.end(&properties, &mut row_group)?;
        }
        row_group.close()?;
        Ok(())
    }

    pub(super) fn flushed_row_groups(&self) -> &[RowGroupMetaData] {
        self.file.flushed_row_groups()
    }

    /// Ends the file.
    pub(super) fn into_inner(mut self) -> Result<W> {
        self.flush()?;
        self.file.into_inner()
    }

    fn new_group(&self) -> Result<RowGroup> {
        let parquet = self.file.schema_descr();
        let fields = self.schema.fields().iter().zip(parquet.root_schema().get_fields());
        let mut columns: Vec<Column> = fields.map(Column::new).collect();
        let writers = self.factory.create_column_writers(self.file.flushed_row_groups().len())?;
        for (leaf, writer) in writers.into_iter().enumerate() {
            if let Some(column) = columns.get_mut(parquet.get_column_root_idx(leaf)) {
                column.leaves.push(writer);
            }
        }
        Ok(RowGroup { rows: 0, columns })
    }
}

/// One column of a row group.
struct Column {
    field: FieldRef,
    parquet: TypePtr,
    leaves: Vec<ArrowColumnWriter>,
    /// As long as there was one value only, none of it was encoded.
    held: Option<Held>,
}

/// A text and in how many rows it is.
struct Held {
    value: String,
    rows: usize,
    /// The last column that had it. Those of the next batch are often parts of the same one.
    last: StringArray,
}

impl Column {
    fn new((field, parquet): (&FieldRef, &TypePtr)) -> Self {
        let held = (*field.data_type() == DataType::Utf8).then(Held::new);
        Self { field: FieldRef::clone(field), parquet: TypePtr::clone(parquet), leaves: Vec::new(), held }
    }

    fn write(&mut self, values: &ArrayRef) -> Result<()> {
        if self.held.as_mut().is_some_and(|held| held.takes(values)) {
            return Ok(());
        }
        if let Some(held) = self.held.take() {
            self.encode_held(&held)?;
        }
        self.encode(values)
    }

    fn encode(&mut self, values: &ArrayRef) -> Result<()> {
        let leaves = compute_leaves(&self.field, values)?;
        leaves.iter().zip(&mut self.leaves).try_for_each(|(leaf, writer)| writer.write(leaf))
    }

    fn encode_held(&mut self, held: &Held) -> Result<()> {
        for start in (0..held.rows).step_by(REPEATED_ROWS) {
            self.encode(&repeated(&held.value, REPEATED_ROWS.min(held.rows - start))?)?;
        }
        Ok(())
    }

    fn size(&self) -> usize {
        self.leaves.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum()
    }

    fn end<W: io::Write + Send>(
        mut self,
        properties: &WriterPropertiesPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        if let Some(held) = self.held.take() {
            let (field, parquet, value) = (&self.field, &self.parquet, held.value.as_str());
            if let Some((bytes, chunk)) = (Repeated { field, parquet, properties, value }).chunk(held.rows)? {
                return group.append_column(&bytes, chunk);
            }
            self.encode_held(&held)?;
        }
        self.leaves.into_iter().try_for_each(|leaf| leaf.close()?.append_to_row_group(group))
    }
}

impl Held {
    fn new() -> Self {
        Self { value: String::new(), rows: 0, last: StringArray::new_null(0) }
    }

    /// Whether these rows all have the same text as those before.
    fn takes(&mut self, values: &ArrayRef) -> bool {
        let Some(texts) = values.as_string_opt::<i32>().filter(|texts| texts.null_count() == 0) else { return false };
        if !(is_part(texts, &self.last) || is_repeated(texts)) {
            return false;
        }
        if self.rows == 0 {
            texts.value(0).clone_into(&mut self.value);
        }
        let is_same = self.value == texts.value(0);
        if is_same {
            self.rows += texts.len();
            self.last = texts.clone();
        }
        is_same
    }
}

/// Whether it is the beginning of the very same column.
fn is_part(texts: &StringArray, of: &StringArray) -> bool {
    (1..=of.len()).contains(&texts.len())
        && texts.values().ptr_eq(of.values())
        && texts.value_offsets().as_ptr() == of.value_offsets().as_ptr()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;
    use arrow_schema::{Field, Schema};
    use arrow_select::concat::concat_batches;
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};
    use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
    use rstest::rstest;

    use super::*;

    fn schema() -> SchemaRef {
        let text = |name| Field::new(name, DataType::Utf8, true);
        let required = Field::new("required", DataType::Utf8, false);
        Arc::new(Schema::new(vec![
            text("one"),
            text("long"),
            text("empty"),
            required,
            text("n"),
            Field::new("number", DataType::Int64, true),
        ]))
    }

    /// All columns but two say the same in every row.
    fn batch(from: usize, rows: usize, one: &str) -> RecordBatch {
        let repeated = |value: &str| -> ArrayRef { Arc::new(StringArray::new_repeated(value, rows)) };
        let texts = (from..from + rows).map(|n| (n % 7 > 0).then(|| (n % 1000).to_string()));
        let columns = vec![
            repeated(one),
            repeated(&"long ".repeat(30)),
            repeated(""),
            repeated("required"),
            Arc::new(texts.collect::<StringArray>()),
            Arc::new(Int64Array::from(vec![7; rows])),
        ];
        RecordBatch::try_new(schema(), columns).unwrap()
    }

    fn options(properties: WriterPropertiesBuilder) -> ArrowWriterOptions {
        ArrowWriterOptions::new().with_properties(properties.build())
    }

    fn written(batches: &[RecordBatch], properties: WriterPropertiesBuilder) -> Bytes {
        let mut groups = RowGroups::new(Vec::new(), schema(), options(properties)).unwrap();
        batches.iter().for_each(|batch| groups.write(batch).unwrap());
        groups.into_inner().unwrap().into()
    }

    fn written_row_by_row(rows: &RecordBatch, properties: WriterPropertiesBuilder) -> Bytes {
        let mut writer = ArrowWriter::try_new_with_options(Vec::new(), schema(), options(properties)).unwrap();
        writer.write(rows).unwrap();
        writer.into_inner().unwrap().into()
    }

    fn read(file: Bytes) -> RecordBatch {
        let rows = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        concat_batches(&schema(), &rows.map(Result::unwrap).collect::<Vec<_>>()).unwrap()
    }

    #[rstest]
    #[case::plain(Compression::UNCOMPRESSED, 200_000)]
    #[case::zstd(Compression::ZSTD(ZstdLevel::default()), 130_001)]
    #[case::gzip(Compression::GZIP(GzipLevel::default()), 150_000)]
    #[case::whole_pages(Compression::SNAPPY, 122_880)]
    #[case::few(Compression::SNAPPY, 1)]
    fn the_bytes_are_those_of_the_whole_way(#[case] codec: Compression, #[case] rows: usize) {
        let properties = || WriterProperties::builder().set_compression(codec);
        let rows = batch(0, rows, "one");
        let file = written(std::slice::from_ref(&rows), properties());
        assert!(file == written_row_by_row(&rows, properties()));
        assert_eq!(read(file), rows);
    }

    #[rstest]
    #[case::within_a_group(None)]
    #[case::over_several_groups(Some(50_000))]
    fn a_value_may_change(#[case] group_rows: Option<usize>) {
        let batches = [batch(0, 70_001, "one"), batch(70_001, 999, "another"), batch(71_000, 60_000, "one")];
        let file = written(&batches, WriterProperties::builder().set_max_row_group_row_count(group_rows));
        assert_eq!(read(file), concat_batches(&schema(), &batches).unwrap());
    }

    #[test]
    fn pages_that_end_before_are_encoded_row_by_row() {
        let batches = [batch(0, 1 << 17, &"x".repeat(100))];
        let properties = WriterProperties::builder().set_dictionary_enabled(false).set_data_page_size_limit(1 << 16);
        assert_eq!(read(written(&batches, properties)), batches[0]);
    }

    #[test]
    fn repeated_texts_are_not_encoded_row_by_row() {
        let mut groups = RowGroups::new(Vec::new(), schema(), ArrowWriterOptions::new()).unwrap();
        groups.write(&batch(0, 100_000, "one")).unwrap();
        let held = groups.open.iter().flat_map(|group| &group.columns).filter(|column| column.held.is_some());
        assert_eq!(
            held.map(|column| column.field.name().as_str()).collect::<Vec<_>>(),
            ["one", "long", "empty", "required"]
        );
        let properties = groups.file.properties().clone();
        for column in groups.open.take().unwrap().columns {
            let Some(held) = column.held else { continue };
            let (field, parquet, value) = (&column.field, &column.parquet, held.value.as_str());
            assert!(Repeated { field, parquet, properties: &properties, value }.chunk(held.rows).unwrap().is_some());
        }
    }
}
