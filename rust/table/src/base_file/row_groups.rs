//! Row groups, column by column.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use hudini_format::counted::Counted;
use hudini_format::parquet_chunk::{
    ChunkWriter, OrderedFooter, TextExtremes, WrittenChunk, chunk_writer, in_type_order,
};
use hudini_format::schema::meta;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnDescPtr;

use super::twins::Twins;

/// Writes batches as `ArrowWriter` does, with chunk writers of our own where there are any.
pub(super) struct RowGroups<W: io::Write + Send> {
    file: SerializedFileWriter<OrderedFooter<W>>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    open: Option<RowGroup>,
    /// The column of sequence numbers.
    numbered: Option<usize>,
    /// Not written to, but for the keys.
    twins: Twins,
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
        let whole = ArrowWriter::try_new_with_options(OrderedFooter::new(sink), SchemaRef::clone(&schema), options)?;
        let (file, factory) = whole.into_serialized_writer()?;
        let twins = Twins::possible(&schema);
        let numbered = schema.index_of(meta::COMMIT_SEQNO).ok();
        Ok(Self { file, factory, schema, open: None, numbered, twins, texts: TextBounds::new() })
    }

    pub(super) fn append_key_value_metadata(&mut self, pair: KeyValue) {
        self.file.append_key_value_metadata(pair);
    }

    /// `numbers` stand for what the batch has as sequence numbers.
    pub(super) fn write(&mut self, batch: &RecordBatch, numbers: Option<&Counted>) -> Result<()> {
        if numbers.is_some_and(|numbers| numbers.count() != batch.num_rows()) {
            return Err(ParquetError::General("not as many sequence numbers as rows".to_owned()));
        }
        let parting = self.twins.parting(batch);
        if !parting.is_empty() {
            // What it has so far are copies.
            self.flush()?;
            self.twins.part(&parting);
        }
        let most = self.file.properties().max_row_group_row_count().unwrap_or(usize::MAX);
        let mut at = 0;
        while at < batch.num_rows() {
            let mut group = match self.open.take() {
                Some(group) => group,
                None => self.new_group()?,
            };
            let rows = (batch.num_rows() - at).min(most.saturating_sub(group.rows).max(1));
            for (place, (column, array)) in group.columns.iter_mut().zip(batch.columns()).enumerate() {
                match numbers.filter(|_| self.numbered == Some(place)) {
                    Some(numbers) => column.write_counted(&numbers.part(at, rows))?,
                    None if self.twins.keys_of(place).is_none() => column.write(&array.slice(at, rows))?,
                    None => {}
                }
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
        let Some(RowGroup { columns, .. }) = &self.open else { return 0 };
        let written = (0..columns.len()).map(|place| self.twins.keys_of(place).unwrap_or(place));
        written.filter_map(|place| columns.get(place)).map(Column::size).sum()
    }

    /// Ends the row group under way.
    pub(super) fn flush(&mut self) -> Result<()> {
        let Some(group) = self.open.take() else { return Ok(()) };
        let mut row_group = self.file.next_row_group()?;
        let mut of_keys = None;
        for (place, column) in group.columns.into_iter().enumerate() {
            if self.twins.keys_of(place).is_some() {
                column.end_as_twin(of_keys.as_ref(), &mut row_group, &mut self.texts)?;
            } else if let Some(chunk) = column.end(&mut row_group, &mut self.texts)? {
                of_keys = if self.twins.are_keys(place) { Some(chunk) } else { of_keys };
            }
        }
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
        let columns = self.file.schema_descr().num_columns();
        self.file.inner_mut().keep_end();
        self.file.into_inner()?.into_inner(columns)
    }

    fn new_group(&mut self) -> Result<RowGroup> {
        let (parquet, properties) = (self.file.schema_descr(), self.file.properties());
        let mut columns: Vec<Column> = self.schema.fields().iter().map(Column::new).collect();
        let writers = self.factory.create_column_writers(self.file.flushed_row_groups().len())?;
        for (leaf, writer) in writers.into_iter().enumerate() {
            if let Some(column) = columns.get_mut(parquet.get_column_root_idx(leaf)) {
                let descriptor = parquet.column(leaf);
                column.own =
                    chunk_writer(&descriptor, column.field.data_type(), properties).map(|own| (descriptor, own));
                column.leaves.push(writer);
            }
        }
        self.twins.keep(|place| columns.get(place).is_some_and(|column| column.own.is_some()));
        Ok(RowGroup { rows: 0, columns })
    }
}

/// One column of a row group.
struct Column {
    field: FieldRef,
    /// For a column with one leaf, which is not written to then.
    own: Option<(ColumnDescPtr, Box<dyn ChunkWriter>)>,
    leaves: Vec<ArrowColumnWriter>,
}

impl Column {
    fn new(field: &FieldRef) -> Self {
        Self { field: FieldRef::clone(field), own: None, leaves: Vec::new() }
    }

    fn write(&mut self, values: &ArrayRef) -> Result<()> {
        if let Some((_, own)) = &mut self.own {
            return own.write(values);
        }
        let leaves = compute_leaves(&self.field, values)?;
        leaves.iter().zip(&mut self.leaves).try_for_each(|(leaf, writer)| writer.write(leaf))
    }

    fn write_counted(&mut self, texts: &Counted) -> Result<()> {
        match &mut self.own {
            Some((_, own)) => own.write_counted(texts),
            None => {
                let array = texts.to_array().map_err(|e| ParquetError::External(Box::new(e)))?;
                self.write(&(Arc::new(array) as ArrayRef))
            }
        }
    }

    fn size(&self) -> usize {
        let of_leaves = || self.leaves.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum();
        self.own.as_ref().map_or_else(of_leaves, |(_, own)| own.bytes())
    }

    /// The chunk, if it is one of our own.
    fn end<W: io::Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        texts: &mut TextBounds,
    ) -> Result<Option<WrittenChunk>> {
        if let Some((_, own)) = self.own {
            let chunk = own.close()?;
            append(&self.field, chunk.clone(), group, texts)?;
            return Ok(Some(chunk));
        }
        for leaf in self.leaves {
            let mut chunk = leaf.close()?;
            in_type_order(chunk.close_mut())?;
            chunk.append_to_row_group(group)?;
        }
        Ok(None)
    }

    /// For a column that was not written to, since it has the same values as another one.
    fn end_as_twin<W: io::Write + Send>(
        self,
        other: Option<&WrittenChunk>,
        group: &mut SerializedRowGroupWriter<'_, W>,
        texts: &mut TextBounds,
    ) -> Result<()> {
        let both = self.own.as_ref().zip(other);
        let ((descriptor, _), other) = both.ok_or_else(|| ParquetError::General("a twin of nothing".to_owned()))?;
        append(&self.field, other.of_twin(descriptor)?, group, texts)
    }
}

fn append<W: io::Write + Send>(
    field: &Field,
    mut chunk: WrittenChunk,
    group: &mut SerializedRowGroupWriter<'_, W>,
    texts: &mut TextBounds,
) -> Result<()> {
    if matches!(field.data_type(), DataType::Utf8 | DataType::Binary) {
        widen(texts.entry(field.name().clone()).or_default(), chunk.extremes);
    }
    in_type_order(&mut chunk.told)?;
    group.append_column(&chunk.bytes, chunk.told)
}

fn widen(bounds: &mut Option<TextExtremes>, more: Option<TextExtremes>) {
    *bounds = match (bounds.take(), more) {
        (Some((least, greatest)), Some((low, high))) => Some((least.min(low), greatest.max(high))),
        (one, other) => one.or(other),
    };
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{BinaryArray, Float32Array, Float64Array, Int64Array, StringArray, StructArray};
    use arrow_schema::Schema;
    use arrow_select::concat::concat_batches;
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
    use parquet::basic::ColumnOrder;
    use parquet::file::metadata::PageIndexPolicy;
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use parquet::file::statistics::Statistics;
    use rstest::rstest;

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
        batches.iter().for_each(|batch| groups.write(batch, None).unwrap());
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

    /// By a chunk writer of our own, and by the crate.
    #[rstest]
    fn sequence_numbers_that_count_stand_for_the_column(
        #[values(WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0)] version: WriterVersion,
    ) {
        let texts = |text: &str, rows: usize| Arc::new(StringArray::from(vec![text; rows])) as ArrayRef;
        let rows = |rows| {
            let columns =
                [("before", texts("b", rows)), (meta::COMMIT_SEQNO, texts("old", rows)), ("x", texts("c", rows))];
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
        };
        let properties =
            WriterProperties::builder().set_writer_version(version).set_max_row_group_row_count(Some(40)).build();
        let options = ArrowWriterOptions::new().with_properties(properties);
        let mut groups = RowGroups::new(Vec::new(), rows(1).schema(), options).unwrap();
        let numbers = |first, count| Counted::new("i_0_".to_owned(), first, count);
        groups.write(&rows(100), Some(&numbers(0, 100))).unwrap();
        groups.write(&rows(7), None).unwrap();
        groups.write(&rows(3), Some(&numbers(107, 3))).unwrap();
        assert!(groups.write(&rows(3), Some(&numbers(110, 4))).is_err());
        let file = Bytes::from(groups.into_inner().unwrap());
        let read = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let read: Vec<_> = read.map(Result::unwrap).collect();
        let read = concat_batches(&rows(1).schema(), &read).unwrap();
        let expected =
            (0..110).map(|row| if (100..107).contains(&row) { "old".to_owned() } else { format!("i_0_{row}") });
        assert_eq!(*read.column(1).as_string::<i32>(), StringArray::from_iter_values(expected));
        assert_eq!((read.column(0), read.column(2)), (&texts("b", 110), &texts("c", 110)));
    }

    #[test]
    fn floats_are_told_of_as_all_readers_know_it() {
        let rows = |least: f64, odd: f64| {
            let nested = |values: Vec<f64>| {
                let items = Arc::new(Field::new("x", DataType::Float64, true));
                let column: ArrayRef = Arc::new(Float64Array::from(values));
                Arc::new(StructArray::new(vec![items].into(), vec![column], None)) as ArrayRef
            };
            let columns: [(&str, ArrayRef); 5] = [
                ("double", Arc::new(Float64Array::from(vec![2.5, least]))),
                ("float", Arc::new(Float32Array::from(vec![Some(-0.0), None]))),
                ("odd", Arc::new(Float64Array::from(vec![odd, 1.0]))),
                ("nested", nested(vec![least, 7.0])),
                ("number", Arc::new(Int64Array::from(vec![1, 2]))),
            ];
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
        };
        let batches = [rows(0.0, 3.0), rows(-1.0, f64::NAN)];
        let mut groups = RowGroups::new(Vec::new(), batches[0].schema(), ArrowWriterOptions::new()).unwrap();
        for batch in &batches {
            groups.write(batch, None).unwrap();
            groups.flush().unwrap();
        }
        let file = Bytes::from(groups.into_inner().unwrap());
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap();
        let metadata = Arc::clone(reader.metadata());
        let orders = metadata.file_metadata().column_orders().unwrap();
        assert!(orders.iter().all(|order| matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_))), "{orders:?}");
        let bounds = |group: usize, leaf: usize| match metadata.row_group(group).column(leaf).statistics().unwrap() {
            Statistics::Double(found) => (found.min_opt().copied(), found.max_opt().copied()),
            Statistics::Float(found) => {
                (found.min_opt().map(|v| f64::from(*v)), found.max_opt().map(|v| f64::from(*v)))
            }
            other => panic!("{other:?}"),
        };
        let bits =
            |(least, greatest): (Option<f64>, Option<f64>)| (least.map(f64::to_bits), greatest.map(f64::to_bits));
        let expected = [
            [(-0.0, 2.5), (-0.0, 0.0), (1.0, 3.0), (-0.0, 7.0)].map(|(least, greatest)| (Some(least), Some(greatest))),
            [(Some(-1.0), Some(2.5)), (Some(-0.0), Some(0.0)), (None, None), (Some(-1.0), Some(7.0))],
        ];
        for (group, expected) in expected.into_iter().enumerate() {
            for (leaf, expected) in expected.into_iter().enumerate() {
                assert_eq!(bits(bounds(group, leaf)), bits(expected), "{group} {leaf}");
            }
        }
        let read: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
        let (all, read) = (concat_batches(&batches[0].schema(), &batches), concat_batches(&read[0].schema(), &read));
        assert_eq!(format!("{:?}", all.unwrap().columns()), format!("{:?}", read.unwrap().columns()));
    }

    /// Of a file with these columns: batches, and how many row groups they are to have.
    #[rstest]
    #[case::twins(&[(["a", "b"], ["a", "b"], ["x", "a"]), (["c", "d"], ["c", "d"], ["c", "d"])], 1)]
    #[case::that_part(&[(["a", "b"], ["a", "b"], ["x", "a"]), (["c", "d"], ["c", "dd"], ["c", "d"])], 2)]
    #[case::of_the_same_bytes(&[(["ab", "c"], ["a", "bc"], ["x", "a"]), (["c", "d"], ["c", "d"], ["c", "d"])], 1)]
    fn columns_with_the_values_of_the_keys_are_copies(
        #[case] batches: &[([&str; 2], [&str; 2], [&str; 2])],
        #[case] row_groups: usize,
        #[values(false, true)] are_shared: bool,
    ) {
        let rows = |(keys, field, other): &([&str; 2], [&str; 2], [&str; 2])| {
            let texts = |texts: &[&str; 2]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
            let keys_array = texts(keys);
            let field = if are_shared && keys == field { Arc::clone(&keys_array) } else { texts(field) };
            let columns =
                [("before", texts(keys)), (meta::RECORD_KEY, keys_array), ("id", field), ("other", texts(other))];
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
        };
        let batches: Vec<_> = batches.iter().map(rows).collect();
        let schema = batches[0].schema();
        let mut groups = RowGroups::new(Vec::new(), Arc::clone(&schema), ArrowWriterOptions::new()).unwrap();
        batches.iter().for_each(|batch| groups.write(batch, None).unwrap());
        groups.flush().unwrap();
        let all = concat_batches(&schema, &batches).unwrap();
        for (field, column) in schema.fields().iter().zip(all.columns()) {
            let mut texts: Vec<&[u8]> = column.as_string::<i32>().iter().flatten().map(str::as_bytes).collect();
            texts.sort_unstable();
            let extremes = Some((texts[0].to_vec(), texts[texts.len() - 1].to_vec()));
            assert_eq!(groups.text_bounds()[field.name()], extremes, "{}", field.name());
        }
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(groups.into_inner().unwrap())).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), row_groups);
        let read: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
        assert_eq!(concat_batches(&read[0].schema(), &read).unwrap().columns(), all.columns());
    }
}
