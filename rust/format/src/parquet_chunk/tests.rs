use std::sync::Arc;

use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{
    ArrayRef, BinaryArray, Date32Array, DictionaryArray, Float32Array, Float64Array, Int32Array, Int64Array,
    PrimitiveArray, RecordBatch, RecordBatchReader, StringArray,
};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, EncodingMask, GzipLevel, ZstdLevel};
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// So many rows are a page, and so many are looked at at a time by the crate.
const PAGE: usize = 100;

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_data_page_row_count_limit(PAGE).set_write_batch_size(PAGE)
}

fn batch(is_nullable: bool, columns: Vec<ArrayRef>) -> RecordBatch {
    let field =
        |(at, column): (usize, &ArrayRef)| Field::new(format!("c{at}"), column.data_type().clone(), is_nullable);
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn by_the_crate(rows: &RecordBatch, properties: WriterProperties) -> Bytes {
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.into_inner().unwrap().into()
}

type File = SerializedFileWriter<Vec<u8>>;

fn new_file(schema: &SchemaRef, properties: WriterProperties) -> File {
    let whole = ArrowWriter::try_new(Vec::new(), SchemaRef::clone(schema), Some(properties)).unwrap();
    whole.into_serialized_writer().unwrap().0
}

fn written_chunks(file: &File, batches: &[RecordBatch]) -> Vec<WrittenChunk> {
    let chunk = |(at, field): (usize, &FieldRef)| {
        let column = file.schema_descr().column(at);
        let mut chunk = chunk_writer(&column, field.data_type(), file.properties()).unwrap();
        batches.iter().for_each(|batch| chunk.write(batch.column(at)).unwrap());
        chunk.close().unwrap()
    };
    batches[0].schema().fields().iter().enumerate().map(chunk).collect()
}

fn by_us(batches: &[RecordBatch], properties: WriterProperties) -> Bytes {
    let mut file = new_file(&batches[0].schema(), properties);
    let chunks = written_chunks(&file, batches);
    let mut group = file.next_row_group().unwrap();
    chunks.into_iter().for_each(|chunk| group.append_column(&chunk.bytes, chunk.told).unwrap());
    group.close().unwrap();
    file.into_inner().unwrap().into()
}

fn read(file: &Bytes) -> RecordBatch {
    let rows =
        ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap().with_batch_size(1 << 20).build().unwrap();
    let schema = rows.schema();
    concat_batches(&schema, &rows.map(Result::unwrap).collect::<Vec<_>>()).unwrap()
}

fn chunks(file: &Bytes) -> Vec<ColumnChunkMetaData> {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
    let footer = ArrowReaderMetadata::load(file, options).unwrap();
    footer.metadata().row_group(0).columns().to_vec()
}

fn has_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    chunk.dictionary_page_offset().is_some()
}

/// Every kind of column, of `rows` rows with so many distinct values.
fn columns(rows: usize, distinct: usize, is_nullable: bool) -> Vec<ArrayRef> {
    let numbers = (0..rows).map(move |row| (row * 7919 % distinct) as i64 - 3);
    let numbers = numbers.enumerate().map(|(row, n)| (!is_nullable || row % 11 > 2).then_some(n)).collect::<Vec<_>>();
    let of = |wrap: &dyn Fn(i64) -> Option<f64>| numbers.iter().map(|n| n.and_then(wrap)).collect::<Vec<_>>();
    let floats = of(&|n| {
        Some(match n {
            1 => f64::NAN,
            2 => -0.0,
            3 => 0.0,
            n => n as f64 / 7.0,
        })
    });
    let text = |n: i64| format!("{}é{n}", "text ".repeat(n as usize % 30));
    let texts: Vec<Option<String>> = numbers.iter().map(|n| n.map(text)).collect();
    vec![
        Arc::new(StringArray::from(texts.clone())),
        Arc::new(BinaryArray::from_iter(texts.iter().map(|t| t.as_ref().map(|t| [&[0xff], t.as_bytes()].concat())))),
        Arc::new(Int32Array::from_iter(numbers.iter().map(|n| n.map(|n| n as i32)))),
        Arc::new(Int64Array::from(numbers.clone())),
        Arc::new(Float32Array::from_iter(floats.iter().map(|n| n.map(|n| n as f32)))),
        Arc::new(Float64Array::from(floats)),
        Arc::new(Date32Array::from_iter(numbers.iter().map(|n| n.map(|n| n as i32)))),
        Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from(numbers)),
    ]
}

#[rstest]
#[case::one_page_and_a_bit(Compression::UNCOMPRESSED, 130, 5)]
#[case::whole_pages(Compression::SNAPPY, 400, 20)]
#[case::zstd(Compression::ZSTD(ZstdLevel::default()), 1001, 20)]
#[case::lz4(Compression::LZ4_RAW, 1001, 10)]
fn the_bytes_are_those_of_the_crate(
    #[case] codec: Compression,
    #[case] rows: usize,
    #[case] distinct: usize,
    #[values(false, true)] is_nullable: bool,
    #[values(false, true)] has_dictionary: bool,
) {
    let rows = batch(is_nullable, columns(rows, distinct, is_nullable));
    let properties = || properties().set_compression(codec).set_dictionary_enabled(has_dictionary).build();
    let file = by_us(std::slice::from_ref(&rows), properties());
    assert!(file == by_the_crate(&rows, properties()));
    assert!(chunks(&file).iter().all(|chunk| self::has_dictionary(chunk) == has_dictionary));
}

#[rstest]
fn counted_texts_are_laid_down_as_an_array_of_them_is(
    #[values(0, 95, 9_990)] first: u64,
    #[values(false, true)] is_nullable: bool,
    #[values(false, true)] has_dictionary: bool,
    #[values(1 << 20, 300, 3)] page_bytes: usize,
) {
    let counted = Counted::new("i_7_".to_owned(), first, 12 * PAGE + 34);
    let others = StringArray::from_iter((0..60).map(|row| (!is_nullable || row % 7 > 0).then(|| format!("i_{row}"))));
    let others = batch(is_nullable, vec![Arc::new(others)]);
    let properties = properties().set_dictionary_enabled(has_dictionary).set_data_page_size_limit(page_bytes).build();
    let file = new_file(&others.schema(), properties);
    let written = |write: &dyn Fn(&mut dyn ChunkWriter)| {
        let mut chunk = chunk_writer(&file.schema_descr().column(0), &DataType::Utf8, file.properties()).unwrap();
        chunk.write(others.column(0)).unwrap();
        write(chunk.as_mut());
        chunk.write(others.column(0)).unwrap();
        let WrittenChunk { bytes, told, extremes } = chunk.close().unwrap();
        (bytes, format!("{told:?}"), extremes)
    };
    let found = written(&|chunk| chunk.write_counted(&counted).unwrap());
    assert_eq!(found, written(&|chunk| chunk.write(&counted.to_array().unwrap()).unwrap()));
    let numbers = batch(is_nullable, vec![Arc::new(Int64Array::from(vec![1]))]);
    let file = new_file(&numbers.schema(), WriterProperties::builder().set_dictionary_enabled(false).build());
    let mut chunk = chunk_writer(&file.schema_descr().column(0), &DataType::Int64, file.properties()).unwrap();
    assert!(chunk.write_counted(&counted).is_err());
}

/// Many values only come when the dictionary has shown to be worth its room.
#[rstest]
fn a_dictionary_that_is_full_is_left_as_the_crate_leaves_it(#[values(false, true)] is_nullable: bool) {
    let few = batch(is_nullable, columns(5 * PAGE, 10, is_nullable));
    let many = batch(is_nullable, columns(120 * PAGE, 100_000, is_nullable));
    let rows = concat_batches(&few.schema(), &[few, many]).unwrap();
    let properties = || properties().set_dictionary_page_size_limit(1 << 15).build();
    let file = by_us(std::slice::from_ref(&rows), properties());
    assert_eq!(read(&file).columns()[..4], rows.columns()[..4]);
    let data_pages = |chunk: &ColumnChunkMetaData| *chunk.page_encoding_stats_mask().unwrap();
    let both = EncodingMask::new_from_encodings([Encoding::PLAIN, Encoding::RLE_DICTIONARY].iter());
    assert!(chunks(&file).iter().all(|chunk| data_pages(chunk) == both));
    // Of texts the crate looks at fewer at a time where they are long.
    let numbers = rows.project(&(2..rows.num_columns()).collect::<Vec<_>>()).unwrap();
    assert!(by_us(std::slice::from_ref(&numbers), properties()) == by_the_crate(&numbers, properties()));
}

#[rstest]
fn a_dictionary_that_is_not_worth_its_room_is_none(#[values(false, true)] is_nullable: bool) {
    let rows = batch(is_nullable, columns(10 * PAGE, 100_000, is_nullable));
    let file = by_us(std::slice::from_ref(&rows), properties().build());
    assert!(file == by_the_crate(&rows, properties().set_dictionary_enabled(false).build()));
}

#[test]
fn a_page_of_nulls_does_not_judge_the_dictionary() {
    let texts = (0..10 * PAGE).map(|row| (row >= 2 * PAGE).then(|| format!("one of a few {}", row % 3)));
    let rows = batch(true, vec![Arc::new(StringArray::from_iter(texts))]);
    let file = by_us(std::slice::from_ref(&rows), properties().build());
    assert_eq!(read(&file).columns(), rows.columns());
    assert!(has_dictionary(&chunks(&file)[0]));
    let nulls = batch(true, vec![Arc::new(StringArray::new_null(3 * PAGE))]);
    let file = by_us(std::slice::from_ref(&nulls), properties().build());
    assert_eq!(read(&file).columns(), nulls.columns());
    assert!(!has_dictionary(&chunks(&file)[0]));
}

#[rstest]
fn one_text_in_all_rows(#[values("", "one", &"x".repeat(200))] text: &str, #[values(1, 99, 100, 1001)] rows: usize) {
    let batches: Vec<_> = (0..3).map(|_| batch(false, vec![Arc::new(StringArray::new_repeated(text, rows))])).collect();
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    let file = by_us(&batches, properties().build());
    assert_eq!(read(&file).columns(), all.columns());
    if rows > 1 && !text.is_empty() {
        assert!(file == by_the_crate(&all, properties().build()));
    }
}

#[test]
fn texts_longer_than_a_page_have_pages_of_their_own() {
    let texts = (0..40).map(|n| n.to_string().repeat(if n % 3 == 0 { 3000 } else { 100 }));
    let rows = batch(false, vec![Arc::new(StringArray::from_iter_values(texts))]);
    let properties = properties().set_data_page_size_limit(1000).set_dictionary_page_size_limit(2000).build();
    let file = by_us(std::slice::from_ref(&rows), properties.clone());
    assert_eq!(read(&file).columns(), rows.columns());
    let chunks = written_chunks(&new_file(&rows.schema(), properties), &[rows]);
    let pages = chunks[0].told.offset_index.as_ref().unwrap().page_locations().len();
    // Between two of 14 long ones there are two that share a page.
    assert_eq!(pages, 14 + 13);
}

#[test]
fn extremes_of_texts_are_told_in_full() {
    let long = "long ".repeat(100);
    let texts = StringArray::from(vec![Some("b"), None, Some(&long), Some("a")]);
    let rows =
        batch(true, vec![Arc::new(texts), Arc::new(StringArray::new_null(4)), Arc::new(Int64Array::from(vec![1; 4]))]);
    let chunks = written_chunks(&new_file(&rows.schema(), properties().build()), &[rows]);
    let extremes: Vec<_> = chunks.iter().map(|chunk| chunk.extremes.clone()).collect();
    assert_eq!(extremes, [Some((b"a".to_vec(), long.into_bytes())), None, None]);
}

#[rstest]
fn the_chunk_of_a_twin_is_what_it_would_have_written(#[values(false, true)] has_dictionary: bool) {
    let texts: ArrayRef =
        Arc::new((0..1000).map(|n| (n % 9 > 0).then(|| format!("text {}", n % 30))).collect::<StringArray>());
    let rows = batch(true, vec![Arc::clone(&texts), texts]);
    let properties = properties().set_dictionary_enabled(has_dictionary).build();
    let file = new_file(&rows.schema(), properties);
    let chunks = written_chunks(&file, std::slice::from_ref(&rows));
    let twin = chunks[0].of_twin(&file.schema_descr().column(1)).unwrap();
    assert_eq!(format!("{twin:?}"), format!("{:?}", chunks[1]));
}

#[test]
fn gzip_is_that_of_libdeflate_and_read_by_all() {
    let rows = batch(true, columns(1001, 50, true));
    let properties = properties().set_compression(Compression::GZIP(GzipLevel::default())).build();
    let file = by_us(std::slice::from_ref(&rows), properties);
    assert_eq!(read(&file).columns()[..4], rows.columns()[..4]);
}

#[test]
fn nested_columns_and_odd_settings_are_left_to_the_crate() {
    let rows = batch(true, columns(3, 3, true));
    let is_known = |properties: WriterPropertiesBuilder, values: &DataType| {
        let file = new_file(&rows.schema(), properties.build());
        chunk_writer(&file.schema_descr().column(0), values, file.properties()).is_some()
    };
    assert!(is_known(properties(), &DataType::Utf8));
    assert!(!is_known(properties(), &DataType::Int32));
    assert!(!is_known(properties(), &DataType::Boolean));
    assert!(!is_known(properties().set_bloom_filter_enabled(true), &DataType::Utf8));
    assert!(!is_known(properties().set_writer_version(WriterVersion::PARQUET_2_0), &DataType::Utf8));
    assert!(!is_known(properties().set_statistics_enabled(EnabledStatistics::Chunk), &DataType::Utf8));
}

#[test]
fn packed_numbers_without_a_value_are_refused() {
    let rows = batch(true, vec![Arc::new(StringArray::new_null(1))]);
    let file = new_file(&rows.schema(), properties().build());
    let mut chunk = chunk_writer(&file.schema_descr().column(0), &DataType::Utf8, file.properties()).unwrap();
    let numbers = DictionaryArray::try_new(Int32Array::from(vec![0]), Arc::new(Int64Array::from(vec![1]))).unwrap();
    assert!(chunk.write(&numbers).is_err());
}

prop_compose! {
    fn texts()(
        distinct in prop_oneof![1_usize..3, 1_usize..400],
        rows in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..10), 0..700),
        long in 0_usize..3,
        nulls in 0_u8..3,
    ) -> StringArray {
        let text = |n: usize| format!("{}{}", ["", "é\u{10ffff}", "z"][n % 3].repeat(n * long % 90), n / 2);
        rows.iter().map(|(n, is)| (*is >= nulls).then(|| text(n.index(distinct)))).collect()
    }
}

/// The texts as numbers of a dictionary that begins with these values.
fn packed(texts: &StringArray, first: &[String]) -> ArrayRef {
    let mut values: Vec<String> = first.to_vec();
    let mut number = |text: &str| {
        let known = values.iter().position(|value| value == text);
        known.unwrap_or_else(|| {
            values.push(text.to_owned());
            values.len() - 1
        }) as i32
    };
    let numbers: Int32Array = texts.iter().map(|text| text.map(&mut number)).collect();
    Arc::new(DictionaryArray::try_new(numbers, Arc::new(StringArray::from_iter_values(values))).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn packed_values_are_written_as_unpacked_ones(
        texts in texts(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        dictionary_bytes in prop_oneof![Just(1 << 20), 1_usize..3000],
    ) {
        prop_assume!(!texts.is_empty());
        let rows = batch(true, vec![Arc::new(texts.clone())]);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(texts.len())).collect();
        cuts.extend([0, texts.len()]);
        cuts.sort_unstable();
        let properties = || properties().set_dictionary_page_size_limit(dictionary_bytes).build();
        let mut file = new_file(&rows.schema(), properties());
        let mut chunk = chunk_writer(&file.schema_descr().column(0), &DataType::Utf8, file.properties()).unwrap();
        // As of one file: some values in common, others behind them.
        let first: Vec<String> = texts.iter().flatten().step_by(7).map(str::to_owned).collect();
        for (n, cut) in cuts.windows(2).enumerate() {
            let part = texts.slice(cut[0], cut[1] - cut[0]);
            match n % 4 {
                3 => chunk.write(&part).unwrap(),
                2 => chunk.write(packed(&part, &first[..first.len() / 2]).as_ref()).unwrap(),
                _ => chunk.write(packed(&part, &first).as_ref()).unwrap(),
            }
        }
        let chunk = chunk.close().unwrap();
        let mut group = file.next_row_group().unwrap();
        group.append_column(&chunk.bytes, chunk.told).unwrap();
        group.close().unwrap();
        let file = file.into_inner().unwrap().into();
        let read = read(&file);
        prop_assert_eq!(read.columns(), rows.columns());
        if dictionary_bytes == 1 << 20 {
            prop_assert!(file == by_us(&[rows], properties()));
        }
    }

    /// Batches may end anywhere, and limits be small.
    #[test]
    fn rows_and_statistics_are_those_of_the_crate(
        texts in texts(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        page_bytes in 1_usize..3000,
        dictionary_bytes in 1_usize..3000,
    ) {
        let numbers: Int64Array = texts.iter().map(|text| text.map(|text| text.len() as i64)).collect();
        let rows = batch(true, vec![Arc::new(texts), Arc::new(numbers)]);
        prop_assume!(rows.num_rows() > 0);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(rows.num_rows())).collect();
        cuts.extend([0, rows.num_rows()]);
        cuts.sort_unstable();
        let batches: Vec<_> = cuts.windows(2).map(|cut| rows.slice(cut[0], cut[1] - cut[0])).collect();
        let limits = properties().set_data_page_size_limit(page_bytes).set_dictionary_page_size_limit(dictionary_bytes);
        let file = by_us(&batches, limits.build());
        let read = read(&file);
        prop_assert_eq!(read.columns(), rows.columns());
        let theirs = by_the_crate(&rows, properties().build());
        for (ours, theirs) in chunks(&file).iter().zip(chunks(&theirs)) {
            prop_assert_eq!(ours.statistics(), theirs.statistics());
            prop_assert_eq!(ours.unencoded_byte_array_data_bytes(), theirs.unencoded_byte_array_data_bytes());
            prop_assert_eq!(ours.definition_level_histogram(), theirs.definition_level_histogram());
        }
    }
}
