//! Files that lie, made of one that does not.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array, StringArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
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
    let groups = (0..file.metadata().num_row_groups()).collect();
    file.batches(groups, ProjectionMask::all(), 64)?.collect()
}

fn plain() -> Vec<u8> {
    written(WriterProperties::builder().build())
}

#[rstest]
#[case::plain(WriterProperties::builder().set_dictionary_enabled(false))]
#[case::dictionary(WriterProperties::builder())]
#[case::compressed(WriterProperties::builder().set_compression(Compression::SNAPPY))]
#[case::version_2(WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_2_0))]
#[case::deltas(WriterProperties::builder().set_dictionary_enabled(false).set_column_encoding("number".into(), Encoding::DELTA_BINARY_PACKED))]
fn any_layout_is_read(#[case] properties: WriterPropertiesBuilder) {
    for text in [Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::PLAIN] {
        let file = written(properties.clone().set_column_encoding("text".into(), text).build());
        let batches = read(&file, Limits::default()).unwrap();
        assert_eq!(arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap(), rows());
    }
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
            assert_eq!(file.batches(vec![], ProjectionMask::all(), 8).unwrap().count(), 0);
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

/// A file whose source fails behind the footer.
struct Failing(Bytes);

impl parquet::file::reader::Length for Failing {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ChunkReader for Failing {
    type T = std::io::Cursor<Bytes>;

    fn get_read(&self, _: u64) -> parquet::errors::Result<Self::T> {
        Err(ParquetError::External(Box::new(Error::storage("the disk is gone"))))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

#[test]
fn a_failure_of_storage_stays_one() {
    let file = ParquetFile::open(Failing(Bytes::from(plain()))).unwrap();
    let mut batches = file.batches(vec![0], ProjectionMask::all(), 8).unwrap();
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
    use parquet::file::statistics::Statistics;
    let order = ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::UNSIGNED);
    for (old, order, believed) in [
        (false, Some(&order), true),
        (false, None, false),
        (false, Some(&ColumnOrder::UNDEFINED), false),
        (true, Some(&order), false),
    ] {
        let text = Statistics::byte_array(Some("a".into()), Some("b".into()), None, None, old);
        assert_eq!(statistics::is_ordered(&text, Type::BYTE_ARRAY, order), believed);
        assert!(
            statistics::is_ordered(&text, Type::INT64, order) && !statistics::is_ordered(&text, Type::INT96, order)
        );
    }
}
