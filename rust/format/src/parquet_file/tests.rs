//! Files that lie, made of one that does not.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, StringArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, GzipLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use rstest::rstest;

use super::*;
use crate::ErrorKind;

fn rows() -> RecordBatch {
    let mut lists = ListBuilder::new(Int32Builder::new());
    (0..200).for_each(|row| lists.append_value((0..row % 5).map(Some)));
    let columns: [(&str, ArrayRef); 3] = [
        ("number", Arc::new((0..200).map(|row| (row % 7 > 0).then_some(row)).collect::<Int64Array>())),
        ("text", Arc::new((0..200).map(|row| Some(format!("text {}", row % 20))).collect::<StringArray>())),
        ("list", Arc::new(lists.finish())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

fn written(properties: WriterProperties) -> Vec<u8> {
    let rows = rows();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.into_inner().unwrap()
}

fn read(file: &[u8], limits: Limits) -> Result<Vec<RecordBatch>> {
    let file = ParquetFile::open_with_limits(Bytes::copy_from_slice(file), limits)?;
    file.batches(&file.whole(), ProjectionMask::all(), 64)?.collect()
}

fn plain() -> Vec<u8> {
    written(WriterProperties::builder().build())
}

#[rstest]
#[case::plain(WriterProperties::builder().set_dictionary_enabled(false))]
#[case::dictionary(WriterProperties::builder())]
#[case::compressed(WriterProperties::builder().set_compression(Compression::SNAPPY))]
#[case::gzip(WriterProperties::builder().set_compression(Compression::GZIP(GzipLevel::default())))]
#[case::version_2(WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_2_0))]
#[case::version_2_gzip(WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_2_0).set_compression(Compression::GZIP(GzipLevel::default())))]
#[case::a_dictionary_that_is_given_up(WriterProperties::builder().set_dictionary_page_size_limit(50).set_data_page_row_count_limit(20).set_write_batch_size(20))]
#[case::many_pages(WriterProperties::builder().set_data_page_row_count_limit(10).set_write_batch_size(10).set_compression(Compression::GZIP(GzipLevel::default())))]
#[case::row_groups(WriterProperties::builder().set_max_row_group_row_count(Some(50)))]
#[case::deltas(WriterProperties::builder().set_dictionary_enabled(false).set_column_encoding("number".into(), Encoding::DELTA_BINARY_PACKED))]
fn any_layout_is_read(#[case] properties: WriterPropertiesBuilder) {
    for text in [Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::PLAIN] {
        let file = written(properties.clone().set_column_encoding("text".into(), text).build());
        let batches = read(&file, Limits::default()).unwrap();
        assert_eq!(arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap(), rows());
    }
}

/// Row groups of 100 rows: texts that are the same in all of them, in each of them, but for nulls, and nulls alone.
#[test]
fn columns_of_one_text_are_shared_by_batches() {
    let texts =
        |text: fn(usize) -> Option<&'static str>| Arc::new((0..300).map(text).collect::<StringArray>()) as ArrayRef;
    let rows = RecordBatch::try_from_iter_with_nullable([
        ("all", texts(|_| Some("one text")), true),
        ("groups", texts(|row| Some(["first", "second", "second"][row / 100])), true),
        ("nulls", texts(|row| (row % 9 > 0).then_some("some")), true),
        ("none", texts(|_| None), true),
    ])
    .unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(100)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    let batches = read(&writer.into_inner().unwrap(), Limits::default()).unwrap();
    assert_eq!(arrow_select::concat::concat_batches(&rows.schema(), &batches).unwrap(), rows);
    let place = |batch: &RecordBatch| batch.column(0).as_string::<i32>().values().as_ptr();
    assert!(batches.len() > 4 && batches.iter().all(|batch| place(batch) == place(&batches[0])));
}

#[test]
fn limits_hold() {
    let file = plain();
    let small = |page_bytes, page_values| read(&file, Limits { page_bytes, page_values }).unwrap_err();
    assert_eq!(small(100, 1 << 20).kind(), ErrorKind::UnsupportedFeature);
    assert_eq!(small(1 << 20, 100).kind(), ErrorKind::UnsupportedFeature);
    assert!(read(&file, Limits { page_bytes: 1 << 20, page_values: 1 << 10 }).is_ok());
}

/// Puts a footer of Thrift bytes behind some bytes of pages.
fn with_footer(pages: &[u8], footer: &[u8]) -> Vec<u8> {
    [b"PAR1", pages, footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

/// A schema element: repetition, name, children.
fn group(children: u32) -> Vec<u8> {
    let mut varint = Vec::new();
    let mut rest = children << 1;
    while rest > 0x7f {
        varint.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    varint.push(rest as u8);
    [&[0x35, 0, 0x18, 1, b'a', 0x15][..], &varint, &[0]].concat()
}

/// A leaf of type boolean.
const LEAF: [u8; 8] = [0x15, 0, 0x25, 0, 0x18, 1, b'a', 0];

/// Groups within groups, and a leaf.
fn nested(levels: usize) -> Vec<Vec<u8>> {
    std::iter::repeat_n(group(1), levels).chain([LEAF.to_vec()]).collect()
}

fn with_schema(elements: &[Vec<u8>]) -> Vec<u8> {
    let count = elements.len();
    let head = [0x15, 2, 0x19, 0xfc, (count & 0x7f) as u8 | 0x80, (count >> 7) as u8];
    with_footer(&[], &[&head[..], &elements.concat(), &[0x16, 0, 0x19, 0x0c, 0]].concat())
}

#[rstest]
#[case::empty(vec![])]
#[case::too_short(b"PAR1".to_vec())]
#[case::not_parquet(b"PAR1 and so on, to the end".to_vec())]
#[case::footer_longer_than_the_file([b"PAR1".as_slice(), &100_u32.to_le_bytes(), b"PAR1"].concat())]
#[case::more_row_groups_than_bytes(with_footer(&[], &[0x15, 2, 0x19, 0x1c, 0x48, 1, b'r', 0, 0x16, 0, 0x19, 0xfc, 0xff, 0xff, 0x7f, 0]))]
#[case::two_billion_children(with_schema(&[group(i32::MAX as u32)]))]
#[case::deep(with_schema(&nested(2000)))]
#[case::two_roots(with_schema(&[group(1), LEAF.to_vec(), group(1), LEAF.to_vec()]))]
#[case::a_child_is_missing(with_schema(&[group(2), LEAF.to_vec()]))]
fn what_is_no_file_is_refused(#[case] bytes: Vec<u8>) {
    let error = read(&bytes, Limits::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
    assert!(error.offset().is_some(), "{error}");
}

#[test]
fn as_many_levels_as_are_allowed_fit_the_stack_of_a_thread() {
    for (levels, fits) in [(99, true), (110, false)] {
        let opened = ParquetFile::open(Bytes::from(with_schema(&nested(levels))));
        assert_eq!(opened.is_ok(), fits, "{levels}: {:?}", opened.err());
        if let Ok(file) = opened {
            assert_eq!(file.batches(&[], ProjectionMask::all(), 8).unwrap().count(), 0);
        }
    }
}

#[test]
fn encrypted_files_are_refused_by_name() {
    let mut file = plain();
    let tail = file.len() - 4;
    file[tail..].copy_from_slice(b"PARE");
    let error = read(&file, Limits::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
}

/// Replaces bytes that are in the file once.
fn replaced(file: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let at: Vec<_> = file.windows(old.len()).enumerate().filter(|(_, w)| *w == old).map(|(at, _)| at).collect();
    let [at] = at.as_slice() else { panic!("{old:02x?} at {at:?}") };
    [&file[..*at], new, &file[at + old.len()..]].concat()
}

/// One column of deltas: blocks of 256 in 4 parts, 200 values, the first one 0.
#[test]
fn deltas_do_not_say_how_much_memory_there_is() {
    let rows = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200)) as ArrayRef)]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding("n".into(), Encoding::DELTA_BINARY_PACKED)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    let file = writer.into_inner().unwrap();
    assert_eq!(read(&file, Limits::default()).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 200);
    // 201 values in the deltas, 200 in the page.
    let lying = replaced(&file, &[0x80, 2, 4, 0xc8, 1], &[0x80, 2, 4, 0xc9, 1]);
    let error = read(&lying, Limits::default()).unwrap_err();
    assert!(error.message().contains("201 deltas in a Parquet page of 200 values"), "{error}");
}

#[test]
fn damage_is_an_error_or_other_rows() {
    let file = written(WriterProperties::builder().set_compression(Compression::SNAPPY).build());
    for at in 0..file.len() {
        assert!(read(&file[..at], Limits::default()).is_err());
        let mut flipped = file.clone();
        flipped[at] ^= [0x80, 1, 0x40, 0xff][at % 4];
        let _ = read(&flipped, Limits::default());
    }
}

/// Behind the magic number.
const FIRST_PAGE: u64 = 4;

/// A file whose source fails behind the footer.
struct Failing(Bytes);

impl parquet::file::reader::Length for Failing {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ChunkReader for Failing {
    type T = std::io::Cursor<Bytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        self.get_bytes(start, 1).map(std::io::Cursor::new)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        if start == FIRST_PAGE {
            return Err(ParquetError::External(Box::new(Error::storage("the disk is gone"))));
        }
        self.0.get_bytes(start, length)
    }
}

#[test]
fn a_failure_of_storage_stays_one() {
    let file = ParquetFile::open(Failing(Bytes::from(plain()))).unwrap();
    let mut batches = file.batches(&file.whole(), ProjectionMask::all(), 8).unwrap();
    let error = batches.next().unwrap().unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::StorageFailure, "the disk is gone"));
    assert!(batches.next().is_none());
}

/// Rows that the footer does not announce could be had by the billion from runs of one value.
#[test]
fn pages_hold_no_more_rows_than_the_footer_says() {
    let rows = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200)) as ArrayRef)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    let mut file = writer.into_inner().unwrap();
    // 200, the rows of the file, of its row group, and the values of the column.
    let found: Vec<_> = (0..file.len() - 2).filter(|at| file[*at..at + 3] == [0x16, 0x90, 3]).collect();
    assert_eq!(found.len(), 3);
    found.into_iter().for_each(|at| file[at + 1] = 0x8e);
    let error = read(&file, Limits::default()).unwrap_err();
    assert_eq!(error.message(), "a Parquet page of 200 values where 199 are left");
}

/// Parsers disagree about what they do not expect, and then about all that follows.
#[rstest]
#[case::empty(&[0], true)]
#[case::sizes(&[0x15, 0, 0x15, 8, 0x15, 8, 0], true)]
#[case::a_field_of_later_releases(&[0x15, 0, 0x86, 2, 0], true)]
#[case::sizes_backwards(&[0x35, 0, 0x05, 2, 0, 0], false)]
#[case::a_size_twice(&[0x25, 0, 0x05, 4, 0, 0], false)]
#[case::a_size_that_is_text(&[0x28, 1, b'a', 0], false)]
#[case::booleans(&[0x99, 0x31, 1, 1, 1, 0], false)]
#[case::more_items_than_bytes(&[0x99, 0xf5, 0xff, 0xff, 0xff, 0xff, 7, 0], false)]
#[case::a_map(&[0x9b, 1, 0x55, 0, 0, 0], false)]
#[case::lists_within_lists(&[[0x99].as_slice(), &[0x19; 40], &[0; 8]].concat(), false)]
#[case::cut(&[0x15], false)]
fn page_headers_are_what_parquet_has(#[case] bytes: &[u8], #[case] fits: bool) {
    let passed = thrift::structure(&mut crate::wire::Reader::new(bytes, 0), shapes::PAGE, |_, _| Ok(false));
    assert_eq!(passed.is_ok(), fits, "{passed:?}");
}

#[test]
fn statistics_are_told_by_row_group() {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(100)).build();
    let file = ParquetFile::open(Bytes::from(written(properties))).unwrap();
    let [number, text] = [0, 1].map(|column| file.statistics(column).unwrap());
    assert_eq!(number.len(), 2);
    let one: ArrayRef = Arc::new(Int64Array::from(vec![100]));
    assert_eq!((number[1].least.as_ref(), number[1].rows), (Some(&one), Some(100)));
    assert_eq!(number.iter().map(|group| group.nulls.unwrap()).sum::<u64>(), 29);
    let one: ArrayRef = Arc::new(StringArray::from(vec!["text 9"]));
    assert_eq!(text[0].greatest.as_ref(), Some(&one));
    assert!(file.statistics(2).is_none() && file.statistics(3).is_none(), "a list, and nothing");
}

#[test]
fn only_orders_that_are_certain_are_believed() {
    use parquet::basic::{ColumnOrder, SortOrder, Type};
    let order = ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::UNSIGNED);
    for (old, order, believed) in [
        (false, Some(&order), true),
        (false, None, false),
        (false, Some(&ColumnOrder::UNDEFINED), false),
        (true, Some(&order), false),
    ] {
        assert_eq!(statistics::is_ordered(old, Type::BYTE_ARRAY, order), believed);
        assert!(statistics::is_ordered(old, Type::INT64, order) && !statistics::is_ordered(old, Type::INT96, order));
    }
}

/// Many pages in two row groups; the numbers of a group ascend.
fn paged(properties: WriterPropertiesBuilder) -> Vec<u8> {
    let properties = properties
        .set_max_row_group_row_count(Some(100))
        .set_data_page_row_count_limit(10)
        .set_write_batch_size(10)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::Page);
    written(properties.build())
}

fn layouts() -> [WriterPropertiesBuilder; 4] {
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    [
        WriterProperties::builder(),
        plain(),
        plain().set_writer_version(WriterVersion::PARQUET_2_0).set_compression(Compression::SNAPPY),
        WriterProperties::builder().set_offset_index_disabled(true),
    ]
}

#[test]
fn pages_without_wanted_rows_are_left_out() {
    for (at, properties) in layouts().into_iter().enumerate() {
        let file = ParquetFile::open(Bytes::from(paged(properties))).unwrap();
        let wanted = [(0, vec![3..4, 55..70]), (1, vec![0..10, 99..100])];
        let parts = wanted.clone().map(|(group, rows)| Part { group, rows: Some(rows) });
        for batch_rows in [1, 7, 100] {
            let batches: Result<Vec<_>> = file.batches(&parts, ProjectionMask::all(), batch_rows).unwrap().collect();
            let batches = batches.unwrap();
            let found = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
            let expected = wanted.iter().flat_map(|(group, rows)| {
                rows.iter().map(move |rows| self::rows().slice(group * 100 + rows.start, rows.len()))
            });
            let expected: Vec<_> = expected.collect();
            assert_eq!(found, arrow_select::concat::concat_batches(&found.schema(), &expected).unwrap(), "layout {at}");
        }
    }
}

#[test]
fn pages_say_what_is_in_them() {
    let file = ParquetFile::open(Bytes::from(paged(WriterProperties::builder()))).unwrap();
    let pages = file.page_statistics(0, &[1, 7]).unwrap();
    assert!(pages[1].is_none(), "there is no such group");
    let pages = pages[0].as_ref().unwrap();
    assert_eq!(
        pages.iter().map(|page| page.rows.clone()).collect::<Vec<_>>(),
        (0..10).map(|n| n * 10..n * 10 + 10).collect::<Vec<_>>()
    );
    for (at, page) in pages.iter().enumerate() {
        let number = |value: &Option<ArrayRef>| value.as_ref().unwrap().as_primitive::<Int64Type>().value(0);
        let values: Vec<_> = (100 + at as i64 * 10..110 + at as i64 * 10).filter(|n| n % 7 > 0).collect();
        assert_eq!((number(&page.values.least), number(&page.values.greatest)), (values[0], values[values.len() - 1]));
        assert_eq!((page.values.nulls, page.values.rows), (Some(10 - values.len() as u64), Some(10)));
    }
    assert!(file.page_statistics(2, &[0]).unwrap()[0].is_none(), "lists");
}

/// The bytes of the offset index of the first column.
fn offset_index(file: &[u8]) -> std::ops::Range<usize> {
    let opened = ParquetFile::open(Bytes::copy_from_slice(file)).unwrap();
    let range = opened.metadata().row_group(0).column(0).offset_index_range().unwrap();
    range.start as usize..range.end as usize
}

#[test]
fn a_page_index_that_lies_is_not_there_or_found_out() {
    let whole = paged(WriterProperties::builder().set_dictionary_enabled(false));
    let part = || [Part { group: 0, rows: Some(vec![20..30, 95..100]) }];
    let read = |file: Vec<u8>| -> Result<Vec<RecordBatch>> {
        let file = ParquetFile::open(Bytes::from(file))?;
        file.batches(&part(), ProjectionMask::all(), 100)?.collect()
    };
    let right = read(whole.clone()).unwrap();
    for at in offset_index(&whole) {
        for bit in 0..8 {
            let mut file = whole.clone();
            file[at] ^= 1 << bit;
            match read(file) {
                Ok(rows) => assert_eq!(rows, right, "bit {bit} of {at}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}"),
            }
        }
    }
}

/// The crate jumps over values without a look at what is left.
#[rstest]
#[case::version_1(WriterVersion::PARQUET_1_0)]
#[case::version_2(WriterVersion::PARQUET_2_0)]
fn a_text_that_is_passed_over_is_no_longer_than_its_page(#[case] version: WriterVersion, #[values(6, 7)] length: u8) {
    let properties = WriterProperties::builder().set_writer_version(version).set_dictionary_enabled(false);
    let mut file = written(properties.set_column_encoding("text".into(), Encoding::PLAIN).build());
    let value = b"\x06\0\0\0text 3";
    let at = file.windows(value.len()).position(|found| found == value).unwrap();
    let part = [Part { group: 0, rows: Some(vec![20..30, 95..100]) }];
    let mut read = |length: [u8; 4]| -> Result<Vec<RecordBatch>> {
        file[at..at + 4].copy_from_slice(&length);
        let file = ParquetFile::open(Bytes::from(file.clone()))?;
        file.batches(&part, ProjectionMask::all(), 100)?.collect()
    };
    assert_eq!(read([6, 0, 0, 0]).unwrap()[0].num_rows(), 15);
    let error = read([length, 0, 0, 0x7f]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptFile);
    assert!(error.to_string().contains("value in a Parquet page needs"), "{error}");
}

#[rstest]
#[case::whole_numbers("number", Arc::new(Int64Array::from(vec![5])), Arc::new(Int64Array::from(vec![1 << 40])))]
#[case::texts("text", Arc::new(StringArray::from(vec!["text 3"])), Arc::new(StringArray::from(vec!["text 33"])))]
fn a_bloom_filter_tells_what_is_not_there(
    #[case] column: &str,
    #[case] there: ArrayRef,
    #[case] missing: ArrayRef,
    #[values(true, false)] cut: bool,
) {
    let file = written(WriterProperties::builder().set_bloom_filter_enabled(true).build());
    let file = ParquetFile::open(Bytes::from(file)).unwrap();
    let at = file.schema().index_of(column).unwrap();
    let most = if cut { 16 } else { 1 << 20 };
    let Some(filter) = file.bloom_filter(0, at, most).unwrap() else { return assert!(cut) };
    assert!(!cut);
    assert!(filter.may_hold_any(&there) && !filter.may_hold_any(&missing));
    assert!(filter.may_hold_any(&arrow_array::new_null_array(there.data_type(), 1)));
    assert!(filter.may_hold_any(&(Arc::new(arrow_array::Float64Array::from(vec![1.0])) as ArrayRef)), "another type");
    assert!(file.bloom_filter(0, 2, most).unwrap().is_none(), "lists");
    assert!(ParquetFile::open(Bytes::from(plain())).unwrap().bloom_filter(0, at, most).unwrap().is_none());
}

#[test]
fn no_flipped_bit_in_an_index_or_a_filter_is_more_than_a_loss_of_it() {
    let whole = paged(WriterProperties::builder().set_bloom_filter_enabled(true));
    let file = ParquetFile::open(Bytes::from(whole.clone())).unwrap();
    let chunk = file.metadata().row_group(0).column(0);
    let index = chunk.column_index_range().unwrap();
    let filter = chunk.bloom_filter_offset().unwrap() as u64;
    let value: ArrayRef = Arc::new(Int64Array::from(vec![5]));
    for at in (index.start..index.end).chain(filter..filter + 24) {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at as usize] ^= 1 << bit;
            let file = ParquetFile::open(Bytes::from(flipped)).unwrap();
            let pages = file.page_statistics(0, &[0]).unwrap();
            assert!(pages[0].as_ref().is_none_or(|pages| pages.len() == 10));
            let filter = file.bloom_filter(0, 0, 1 << 20).unwrap();
            let _any_answer = filter.map(|filter| filter.may_hold_any(&value));
        }
    }
}

/// Keys, the same again, two of them exchanged, and the same but for a null; then the keys as bytes.
fn alike() -> RecordBatch {
    let key = |row: usize| format!("key {row:05}");
    let texts =
        |text: &dyn Fn(usize) -> Option<String>| Arc::new((0..4800).map(text).collect::<StringArray>()) as ArrayRef;
    let keys = texts(&|row| Some(key(row)));
    let bytes: BinaryArray = (0..4800).map(|row| Some(key(row).into_bytes())).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("number", Arc::new(Int64Array::from_iter_values(0..4800)) as ArrayRef, false),
        ("key", ArrayRef::clone(&keys), true),
        ("exchanged", texts(&|row| Some(key(if (4000..4002).contains(&row) { 8001 - row } else { row }))), true),
        ("null", texts(&|row| (row != 4000).then(|| key(row))), true),
        ("same", ArrayRef::clone(&keys), true),
        ("required", ArrayRef::clone(&keys), false),
        ("bytes", Arc::new(bytes), true),
        ("again", keys, true),
    ])
    .unwrap()
}

#[rstest]
fn columns_of_the_same_bytes_are_decoded_once(
    #[values(Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::GZIP(GzipLevel::default()))]
    compression: Compression,
    #[values(4800, 1600)] group_rows: usize,
    #[values(false, true)] has_dictionary: bool,
    #[values(&[1, 2, 3, 4, 5, 6, 7], &[4, 7], &[0, 2, 4], &[1, 6, 7])] roots: &[usize],
) {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(group_rows))
        .set_data_page_row_count_limit(320)
        .set_write_batch_size(320)
        .set_dictionary_enabled(has_dictionary)
        .set_dictionary_page_size_limit(9600);
    let rows = alike();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties.build())).unwrap();
    writer.write(&rows).unwrap();
    let file = ParquetFile::open(Bytes::from(writer.into_inner().unwrap())).unwrap();
    let read = |parts: &[Part], batch_rows| -> Vec<RecordBatch> {
        let mask = ProjectionMask::roots(file.metadata().file_metadata().schema_descr(), roots.iter().copied());
        file.batches(parts, mask, batch_rows).unwrap().map(Result::unwrap).collect()
    };
    let batches = read(&file.whole(), 1024);
    let wanted = rows.project(roots).unwrap();
    assert_eq!(arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap(), wanted);
    let are_one = |batch: &RecordBatch, a: usize, b: usize| {
        let data = |place: usize| batch.column(place).to_data().buffers()[1].as_ptr();
        data(a) == data(b)
    };
    let few = read(&file.whole(), 100);
    let same = |root: &usize| [1, 4, 7].contains(root);
    for (a, root) in roots.iter().enumerate() {
        for (b, other) in roots.iter().enumerate().filter(|(b, _)| *b > a && *root > 0) {
            assert_eq!(are_one(&batches[0], a, b), same(root) && same(other), "columns {root} and {other}");
            assert!(!are_one(&few[0], a, b), "who takes few rows may not take them all");
        }
    }
    let cut = [Part { group: 0, rows: Some(std::iter::once(300..700).collect()) }];
    assert_eq!(
        arrow_select::concat::concat_batches(&batches[0].schema(), &read(&cut, 1024)).unwrap(),
        wanted.slice(300, 400)
    );
}

/// Days of the Julian calendar, and nanoseconds of the day, as Spark has them.
fn int96(days_since_1970: i64, nanos: u64) -> parquet::data_type::Int96 {
    let julian = u32::try_from(days_since_1970 + 2_440_588).unwrap();
    let mut value = parquet::data_type::Int96::new();
    value.set_data(nanos as u32, (nanos >> 32) as u32, julian);
    value
}

#[test]
fn timestamps_of_twelve_bytes_reach_as_far_as_spark_does() {
    use parquet::data_type::{Int32Type, Int96Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let schema = "message m { optional int32 n; optional int96 t; optional group s { optional int96 t; }                   optional group l (LIST) { repeated group list { optional int96 element; } } }";
    // 0001-01-01, 1970-01-01 and 9999-12-31, each a microsecond after midnight.
    let days = [-719_162, 0, 2_932_896];
    let values: Vec<_> = days.iter().map(|day| int96(*day, 1000)).collect();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut numbers = group.next_column().unwrap().unwrap();
    numbers.typed::<Int32Type>().write_batch(&[1, 2, 3], Some(&[1; 3]), None).unwrap();
    numbers.close().unwrap();
    for (definition, repetition) in [(1, None), (2, None), (3, Some([0; 3]))] {
        let mut column = group.next_column().unwrap().unwrap();
        let repetition = repetition.as_ref().map(<[i16; 3]>::as_slice);
        column.typed::<Int96Type>().write_batch(&values, Some(&[definition; 3]), repetition).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    let rows = read(&writer.into_inner().unwrap(), Limits::default()).unwrap().remove(0);
    let expected: Vec<_> = days.iter().map(|day| day * 86_400_000_000 + 1).collect();
    let micros =
        |column: &ArrayRef| column.as_primitive::<arrow_array::types::TimestampMicrosecondType>().values().to_vec();
    assert_eq!(micros(rows.column(1)), expected);
    assert_eq!(micros(rows.column(2).as_struct().column(0)), expected);
    assert_eq!(micros(rows.column(3).as_list::<i32>().values()), expected);
}
