use std::collections::BTreeMap;

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::ErrorKind;

fn v9() -> RecordSchema {
    RecordSchema::parse(SCHEMA_V9).unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn stats() -> ColumnStats {
    ColumnStats { file_name: Some("f.parquet".into()), column_name: Some("v".into()), ..ColumnStats::default() }
}

fn of_type(ordinal: i32) -> Option<ValueType> {
    Some(ValueType { ordinal, additional: None })
}

fn files<const N: usize>(files: [(&str, FileEntry); N]) -> BTreeMap<String, FileEntry> {
    files.into_iter().map(|(name, file)| (name.to_owned(), file)).collect()
}

/// Read by Apache Hudi 1.2.0.
#[rstest]
#[case::files(
    "0000000000 00 04 02 04 12662e70617271756574 d804 00 0267 00 01 00 00000000",
    Payload::Files(files([("f.parquet", FileEntry::new(300)), ("g", FileEntry::deleted())]))
)]
#[case::partitions(
    "0000000000 00 02 02 02 047366 00 00 00 00000000",
    Payload::Partitions(files([("sf", FileEntry::new(0))]))
)]
#[case::record_index(
    "0000000000 00 0a 000000 02 02047366 02f6b7fa8ae783b9a112 0295bfe089be84c5e2ad01 0200 0200 02fea7d3d5bf68 00 00 00",
    Payload::RecordIndex(RecordIndexEntry {
        partition: "sf".into(),
        file_id: FileId::parse("0921720f-38af-4dfb-a91d-75ee0f63f035-0"),
        instant_millis: 1_795_251_923_455,
        position: None,
    })
)]
#[case::secondary("0000000000 00 0e 00000000 02 00", Payload::SecondaryIndex { is_deleted: false })]
#[case::stats(
    "0000000000 00 06 0000 02 0212662e70617271756574 020276 0a000000000000f83f 0a0000000000000040 0206 0202 0200 0200 \
     00 00 02 0c 00 00 00",
    Payload::ColumnStats(Box::new(ColumnStats {
        min_value: Some(StatValue::Double(1.5)),
        max_value: Some(StatValue::Double(2.0)),
        value_count: Some(3),
        null_count: Some(1),
        total_size: Some(0),
        total_uncompressed_size: Some(0),
        value_type: of_type(6),
        ..stats()
    }))
)]
#[case::stats_of_no_rows(
    "0000000000 00 06 0000 02 0212662e70617271756574 020276 00 00 0200 0200 0200 0200 00 00 02 02 00 00 00",
    Payload::ColumnStats(Box::new(ColumnStats {
        value_count: Some(0),
        null_count: Some(0),
        total_size: Some(0),
        total_uncompressed_size: Some(0),
        value_type: of_type(1),
        ..stats()
    }))
)]
fn records_that_apache_hudi_reads(#[case] hex: &str, #[case] payload: Payload) {
    let bytes = unhex(hex);
    let record = MetadataRecord::decode(b"k", &bytes, &v9()).unwrap();
    assert_eq!(record, MetadataRecord::new("k", payload));
    assert_eq!(record.encode(&v9()).unwrap(), bytes);
}

// Answers of Apache Hudi 1.2.0.
#[test]
fn keys() {
    assert_eq!([key::h64(""), key::h64("a"), key::h64("Ω")], ["DW/eaNVbRdo=", "BFHqp2KLzrM=", "j2Ntx8ALN/I="]);
    assert_eq!([key::h128(""), key::h128("Ω")], ["1B2M2Y8AsgTpgAmY7PhCfg==", "ZhGFUoMtwbgiPYs6vXv4IQ=="]);
    let column_stats = "hPjzBX1OK5M=HPdM43JrNDs=QXr1OuoMTENX8Qw34YLATA==";
    assert_eq!(key::column_stats("v", "sf", "f.parquet"), column_stats);
    assert_eq!(key::column_stats_prefix("v", Some("sf")), "hPjzBX1OK5M=HPdM43JrNDs=");
    assert_eq!(key::partition_stats("v", "sf"), "hPjzBX1OK5M=HPdM43JrNDs=");
    assert_eq!(key::bloom_filter("sf", "f.parquet"), "HPdM43JrNDs=QXr1OuoMTENX8Qw34YLATA==");
    assert!(key::expression_partition_stats("v", "sf").contains("2CMHrhWVE9w="));
    assert_eq!(key::partition_stats("v", ""), key::h64("v") + "FXThHwelITM=");
}

#[rstest]
#[case(Some("b$x"), "2", "b\\$x$2")]
#[case(None, "3", "\0$3")]
#[case(Some(""), "4", "$4")]
#[case(Some("a\\b"), "5$6", "a\\\\b$5\\$6")]
#[case(Some("\0"), "7", "\\\0$7")]
#[case(Some("$"), "$", "\\$$\\$")]
fn secondary_keys(#[case] value: Option<&str>, #[case] record_key: &str, #[case] expected: &str) {
    assert_eq!(key::secondary(value, record_key), expected);
    assert_eq!(key::split_secondary(expected).unwrap(), (value.map(str::to_owned), record_key.to_owned()));
    assert!(expected.starts_with(&key::secondary_prefix(value)));
}

#[test]
fn a_secondary_key_has_a_separator() {
    assert_eq!(key::split_secondary("a\\$b").unwrap_err().kind(), ErrorKind::CorruptFile);
}

// Answers of Apache Hudi 1.2.0, with ten file groups.
#[rstest]
#[case("a$r", 3)]
#[case("upd$r", 5)]
#[case("b\\$x$r", 2)]
#[case("G\\$$r", 5)]
#[case("\0$r", 6)]
fn from_version_2_on_a_secondary_index_hashes_values(#[case] key: &str, #[case] group: u32) {
    let partition = Partition::parse("secondary_index_x").unwrap();
    assert_eq!(partition.file_group(IndexVersion::V2, key, 10).unwrap(), group);
}

#[test]
fn in_version_1_it_hashes_whole_keys() {
    let partition = Partition::parse("secondary_index_x").unwrap();
    assert_eq!(partition.file_group(IndexVersion::V1, "u9$1", 10).unwrap(), 9);
}

#[rstest]
#[case("files", "files-0007-0")]
#[case("column_stats", "col-stats-0007-0")]
#[case("bloom_filters", "bloom-filters-0007-0")]
#[case("record_index", "record-index-0007-0")]
#[case("partition_stats", "partition-stats-0007-0")]
#[case("secondary_index_my_Idx-1", "secondary-index-my-Idx-1-0007-0")]
#[case("expr_index_a_b", "expr-index-a-b-0007-0")]
fn file_ids(#[case] name: &str, #[case] file_id: &str) {
    let partition = Partition::parse(name).unwrap();
    assert_eq!((partition.to_string().as_str(), partition.file_id(7).as_str()), (name, file_id));
    assert_eq!(file_group_of(file_id), Some(7));
}

#[test]
fn file_ids_of_other_kinds() {
    assert_eq!(Partition::RecordIndex.file_id_within("2024/01/15", 7), "record-index-2024%2F01%2F15-0007-0");
    assert_eq!(Partition::RecordIndex.file_id_within("a_b=c", 0), "record-index-a%5Fb%3Dc-0000-0");
    assert_eq!(Partition::RecordIndex.file_id_within("", 0), "record-index--0000-0");
    assert_eq!(Partition::RecordIndex.file_id_within("a-b", 3), "record-index-a%2Db-0003-0");
    for partition in ["2024/01/15", "a_b=c", "a-b", "", "ä +&.}"] {
        let file_id = Partition::RecordIndex.file_id_within(partition, 12);
        assert_eq!(data_partition_of(&file_id).as_deref(), Some(partition), "{file_id}");
    }
    assert_eq!(data_partition_of("record-index-0007-0"), None);
    assert_eq!(data_partition_of("files-0000-0"), None);
    assert_eq!(file_group_of("files-0003"), Some(3));
    assert_eq!(file_group_of("files"), None);
    assert_eq!(Partition::parse("vector_index_a"), None);
}

#[rstest]
#[case("0921720f-38af-4dfb-a91d-75ee0f63f035-0", true)]
#[case("0921720f-38af-4dfb-a91d-75ee0f63f035-12", true)]
#[case("ffffffff-ffff-ffff-ffff-ffffffffffff", true)]
#[case("00000003-0000-0000-0000-000000000000-0", true)]
#[case("0921720f-38af-4dfb-a91d-75ee0f63f035--1", false)]
#[case("0921720f-38af-4dfb-a91d-75ee0f63f035-01", false)]
#[case("0921720F-38af-4dfb-a91d-75ee0f63f035-0", false)]
#[case("0921720f-38af-4dfb-a91d-75ee0f63f03-0", false)]
#[case("files-0000-0", false)]
#[case("", false)]
fn file_ids_of_the_record_index(#[case] text: &str, #[case] uuid: bool) {
    let file_id = FileId::parse(text);
    assert_eq!((file_id.to_string().as_str(), matches!(file_id, FileId::Uuid { .. })), (text, uuid));
}

fn merged(older: Payload, newer: Payload) -> Payload {
    merge(MetadataRecord::new("k", older), MetadataRecord::new("k", newer)).unwrap().payload
}

#[test]
fn lists_of_files_are_united() {
    let (there, gone) = (FileEntry::new, FileEntry::deleted());
    let older = files([("a", there(5)), ("b", there(1)), ("c", gone), ("d", there(9)), ("f", gone)]);
    let newer = files([("a", there(3)), ("b", gone), ("c", gone), ("e", gone), ("f", there(2))]);
    let expected = files([("a", there(5)), ("c", gone), ("d", there(9)), ("e", gone), ("f", there(2))]);
    assert_eq!(merged(Payload::Files(older), Payload::Files(newer)), Payload::Files(expected.clone()));
    let settled = MetadataRecord::new("k", Payload::Files(expected)).settle().unwrap();
    assert_eq!(settled.payload, Payload::Files(files([("a", there(5)), ("d", there(9)), ("f", there(2))])));
}

fn bounds(min: Option<StatValue>, max: Option<StatValue>, value_type: Option<ValueType>) -> Payload {
    Payload::PartitionStats(Box::new(ColumnStats {
        min_value: min,
        max_value: max,
        value_count: Some(2),
        null_count: Some(0),
        value_type,
        ..stats()
    }))
}

fn both(value: StatValue, ordinal: i32) -> Payload {
    bounds(Some(value.clone()), Some(value), of_type(ordinal))
}

// Answers of Apache Hudi 1.2.0, but for texts and bytes: it takes both the other way round, and so misses rows.
#[rstest]
#[case::ints(StatValue::Int(5), StatValue::Int(3), 3, true)]
#[case::texts_by_bytes(StatValue::String("\u{ffff}".into()), StatValue::String("\u{10000}".into()), 7, false)]
#[case::bytes_without_signs(StatValue::Bytes(vec![0x7f]), StatValue::Bytes(vec![0x80]), 8, false)]
#[case::zeros(StatValue::Double(0.0), StatValue::Double(-0.0), 6, true)]
#[case::nan(StatValue::Double(f64::INFINITY), StatValue::Double(-f64::NAN), 6, false)]
#[case::booleans(StatValue::Boolean(true), StatValue::Boolean(false), 2, true)]
fn loose_bounds_widen(#[case] old: StatValue, #[case] new: StatValue, #[case] ordinal: i32, #[case] new_is_less: bool) {
    let (min, max) = if new_is_less { (&new, &old) } else { (&old, &new) };
    let Payload::PartitionStats(found) = merged(both(old.clone(), ordinal), both(new.clone(), ordinal)) else {
        panic!("partition stats")
    };
    // NaN is not equal to itself.
    assert_eq!(format!("{:?}", (found.min_value, found.max_value)), format!("{:?}", (Some(min), Some(max))));
    assert_eq!((found.value_count, found.null_count), (Some(4), Some(0)));
}

#[test]
fn nulls_leave_bounds_alone() {
    let ints = bounds(Some(StatValue::Int(1)), Some(StatValue::Int(5)), of_type(3));
    for (older, newer) in [(ints.clone(), bounds(None, None, of_type(1))), (bounds(None, None, of_type(1)), ints)] {
        let Payload::PartitionStats(found) = merged(older, newer) else { panic!("partition stats") };
        assert_eq!((found.min().unwrap(), found.max().unwrap()), (Some(Scalar::Int(1)), Some(Scalar::Int(5))));
    }
}

#[test]
fn tight_bounds_and_deletions_replace() {
    let old = both(StatValue::Int(1), 3);
    let Payload::PartitionStats(mut tight) = both(StatValue::Int(7), 3) else { panic!("partition stats") };
    tight.is_tight_bound = true;
    let tight = Payload::PartitionStats(tight);
    assert_eq!(merged(old.clone(), tight.clone()), tight);
    let gone = Payload::PartitionStats(Box::new(ColumnStats { is_deleted: true, ..stats() }));
    assert_eq!(merged(old.clone(), gone.clone()), gone);
    assert_eq!(merged(gone.clone(), old.clone()), old);
    assert_eq!(MetadataRecord::new("k", gone).settle(), None);
}

/// A column that was widened: older files have statistics of the older type, in either order.
#[test]
fn bounds_of_a_widened_column_are_of_the_wider_type() {
    use StatValue::{Double, Float, Int, Long};
    let at = |min: StatValue, max: StatValue, ordinal| bounds(Some(min), Some(max), of_type(ordinal));
    let outcome = |older: Payload, newer: Payload| match merged(older, newer) {
        Payload::PartitionStats(stats) => (stats.min_value, stats.max_value, stats.value_type.map(|kind| kind.ordinal)),
        other => panic!("{other:?}"),
    };
    let expected = |min: StatValue, max: StatValue, ordinal| (Some(min), Some(max), Some(ordinal));
    let (ints, longs) = (at(Int(-5), Int(7), 3), at(Long(0), Long(1 << 40), 4));
    assert_eq!(outcome(ints.clone(), longs.clone()), expected(Long(-5), Long(1 << 40), 4));
    assert_eq!(outcome(longs.clone(), ints.clone()), expected(Long(-5), Long(1 << 40), 4));
    let doubles = at(Double(-0.5), Double(0.5), 6);
    assert_eq!(outcome(ints, doubles.clone()), expected(Double(-5.0), Double(7.0), 6));
    assert_eq!(outcome(at(Float(-1.5), Float(0.0), 5), doubles.clone()), expected(Double(-1.5), Double(0.5), 6));
    let tenths = outcome(at(Float(0.1), Float(0.3), 5), doubles.clone());
    assert_eq!(tenths, expected(Double(-0.5), Double(0.5), 6));
    let tenths = outcome(at(Double(1.0), Double(0.0), 6), at(Float(0.1), Float(0.1), 5));
    assert_eq!(tenths, expected(Double(0.1), Double(f64::from(0.1_f32)), 6), "as read by its text, and as it is");
    let floats = outcome(at(Int(-16_777_217), Int(16_777_217), 3), at(Float(0.0), Float(0.5), 5));
    assert_eq!(floats, expected(Float(-16_777_218.0), Float(16_777_218.0), 5));
    // No double is equal to these: the bounds go outwards.
    let odd = (1 << 53) + 1;
    let (low, high) = (-9_007_199_254_740_994.0, 9_007_199_254_740_994.0);
    assert_eq!(outcome(doubles, at(Long(-odd), Long(odd), 4)), expected(Double(low), Double(high), 6));
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let refused = |older, newer| merge(MetadataRecord::new("k", older), newer).unwrap_err().kind();
    let date = MetadataRecord::new("k", both(StatValue::Int(1), 12));
    assert_eq!(refused(both(StatValue::Int(1), 3), date), ErrorKind::UnsupportedFeature);
    let secondary = Payload::SecondaryIndex { is_deleted: false };
    assert_eq!(
        refused(both(StatValue::Int(1), 3), MetadataRecord::new("k", secondary.clone())),
        ErrorKind::CorruptFile
    );
    assert_eq!(refused(secondary.clone(), MetadataRecord::new("l", secondary)), ErrorKind::CorruptFile);
}

#[rstest]
#[case(StatValue::Bytes(vec![0x23, 0x27]), 10, Some("15,2"), Scalar::Decimal { unscaled: 8999, scale: 2 })]
#[case(StatValue::Bytes(vec![0xff]), 10, Some("5,2"), Scalar::Decimal { unscaled: -1, scale: 2 })]
#[case(StatValue::Int(19737), 12, None, Scalar::Date(19737))]
#[case(StatValue::Long(5), 16, None, Scalar::Timestamp { unit: crate::schema::TimeUnit::Micros, utc: true, value: 5 })]
#[case(StatValue::Date(3), 0, None, Scalar::Date(3))]
#[case(StatValue::Decimal(vec![1]), 0, None, Scalar::Decimal { unscaled: 1, scale: 15 })]
fn values_have_types(
    #[case] value: StatValue,
    #[case] ordinal: i32,
    #[case] additional: Option<&str>,
    #[case] scalar: Scalar,
) {
    let value_type = ValueType { ordinal, additional: additional.map(str::to_owned) };
    assert_eq!(Scalar::of(&value, Some(&value_type)).unwrap(), scalar);
}

#[test]
fn unknown_types_are_refused() {
    let error = Scalar::of(&StatValue::Int(1), of_type(21).as_ref()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    let error = MetadataRecord::decode(b"k", &unhex("0000000000 00 10 00 00 00 00 00"), &v9()).unwrap_err();
    assert!(error.to_string().contains("type 8"), "{error}");
}

/// A later release may add a field; it does no harm where it is null.
#[test]
fn unknown_fields_must_be_null() {
    let text = SCHEMA_V8.strip_suffix("]}").unwrap();
    let schema = RecordSchema::parse(&format!(r#"{text},{{"name":"vector","type":["null","long"]}}]}}"#)).unwrap();
    let record = MetadataRecord::new("k", Payload::SecondaryIndex { is_deleted: false });
    let mut bytes = record.encode(&schema).unwrap();
    assert_eq!(MetadataRecord::decode(b"k", &bytes, &schema).unwrap(), record);
    *bytes.last_mut().unwrap() = 2;
    bytes.push(0);
    let error = MetadataRecord::decode(b"k", &bytes, &schema).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    assert!(error.to_string().contains("vector"), "{error}");
}

#[test]
fn version_8_has_no_value_types() {
    let record = MetadataRecord::new("k", both(StatValue::Int(1), 3));
    let error = record.encode(&RecordSchema::parse(SCHEMA_V8).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
}

fn stat_value() -> impl Strategy<Value = StatValue> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(StatValue::Boolean),
        any::<i32>().prop_map(StatValue::Int),
        any::<i64>().prop_map(StatValue::Long),
        (-1e30_f32..1e30).prop_map(StatValue::Float),
        (-1e300..1e300).prop_map(StatValue::Double),
        proptest::collection::vec(any::<u8>(), 0..9).prop_map(StatValue::Bytes),
        any::<String>().prop_map(StatValue::String),
        any::<i32>().prop_map(StatValue::Date),
        proptest::collection::vec(any::<u8>(), 1..9).prop_map(StatValue::Decimal),
        any::<i64>().prop_map(StatValue::TimeMicros),
        any::<i64>().prop_map(StatValue::TimestampMicros),
        any::<i32>().prop_map(StatValue::LocalDate),
    ];
    let array = proptest::collection::vec(proptest::option::of(leaf.clone()), 0..4).prop_map(StatValue::Array);
    prop_oneof![4 => leaf, 1 => array]
}

prop_compose! {
    fn column_stats()(
        file_name in any::<Option<String>>(),
        column_name in any::<Option<String>>(),
        min_value in proptest::option::of(stat_value()),
        max_value in proptest::option::of(stat_value()),
        counts in any::<[Option<i64>; 4]>(),
        is_deleted in any::<bool>(),
        is_tight_bound in any::<bool>(),
        value_type in any::<Option<(i32, Option<String>)>>(),
    ) -> Box<ColumnStats> {
        let [value_count, null_count, total_size, total_uncompressed_size] = counts;
        let value_type = value_type.map(|(ordinal, additional)| ValueType { ordinal, additional });
        Box::new(ColumnStats { file_name, column_name, min_value, max_value, value_count, null_count, total_size,
            total_uncompressed_size, is_deleted, is_tight_bound, value_type })
    }
}

fn payload() -> impl Strategy<Value = Payload> {
    let entry = (any::<i64>(), any::<bool>()).prop_map(|(size, is_deleted)| FileEntry { size, is_deleted });
    let files = || proptest::collection::btree_map(any::<String>(), entry.clone(), 0..5);
    let bits = (any::<u128>(), proptest::option::of(0..i32::MAX));
    let file_id = prop_oneof![
        bits.prop_map(|(bits, number)| FileId::Uuid { bits, number }),
        any::<String>().prop_map(FileId::Text)
    ];
    prop_oneof![
        files().prop_map(Payload::Partitions),
        files().prop_map(Payload::Files),
        column_stats().prop_map(Payload::ColumnStats),
        column_stats().prop_map(Payload::PartitionStats),
        any::<(String, String, Vec<u8>, bool)>().prop_map(|(kind, instant, filter, is_deleted)| {
            Payload::BloomFilter(BloomFilterEntry { kind, instant, filter, is_deleted })
        }),
        (any::<String>(), file_id, any::<i64>(), any::<Option<i64>>()).prop_map(
            |(partition, file_id, millis, position)| {
                Payload::RecordIndex(RecordIndexEntry { partition, file_id, instant_millis: millis, position })
            }
        ),
        any::<bool>().prop_map(|is_deleted| Payload::SecondaryIndex { is_deleted }),
    ]
}

proptest! {
    #[test]
    fn what_is_encoded_decodes(key in any::<String>(), payload in payload(), file_name in any::<Option<String>>()) {
        let record = MetadataRecord { key, payload, file_name };
        let bytes = record.encode(&v9()).unwrap();
        prop_assert_eq!(&MetadataRecord::decode(record.key.as_bytes(), &bytes, &v9()).unwrap(), &record);
        for cut in 0..bytes.len().min(60) {
            prop_assert!(MetadataRecord::decode(record.key.as_bytes(), &bytes[..cut], &v9()).is_err());
        }
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = MetadataRecord::decode(b"k", &bytes, &v9());
        let _ = MetadataRecord::decode(b"k", &[&[0; 6][..], &bytes].concat(), &v9());
    }

    #[test]
    fn secondary_keys_come_apart(value in any::<Option<String>>(), record_key in any::<String>()) {
        let key = key::secondary(value.as_deref(), &record_key);
        prop_assert_eq!(key::split_secondary(&key).unwrap(), (value, record_key));
    }
}

#[test]
fn rows_have_the_columns_of_their_schema_and_the_key_of_their_entry() {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Decimal128Type, Int32Type};

    let of = |min: StatValue| {
        let stats = ColumnStats { min_value: Some(min), value_count: Some(3), ..ColumnStats::default() };
        MetadataRecord::new("k", Payload::ColumnStats(Box::new(stats)))
    };
    let items = vec![Some(StatValue::Int(7)), None];
    let records = [
        of(StatValue::Decimal(vec![0xff])),
        of(StatValue::Array(items)),
        MetadataRecord::new("f", Payload::Files(files([]))),
    ];
    let schema = RecordSchema::parse(SCHEMA_V9).unwrap();
    let rows = schema.rows(&records).unwrap();
    assert_eq!(*rows.schema(), schema.to_arrow().unwrap());
    assert_eq!(rows.num_columns(), 7);
    assert_eq!(rows["key"].as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["k", "k", "f"]);
    assert_eq!(rows["type"].as_primitive::<Int32Type>().values(), &[3, 3, 2]);
    let stats = rows["ColumnStatsMetadata"].as_struct();
    assert!(stats.is_null(2) && rows["filesystemMetadata"].is_valid(2));
    let min = stats.column_by_name("minValue").unwrap().as_struct();
    let decimal = min.column_by_name("member8").unwrap().as_struct();
    assert_eq!(decimal.column(0).as_primitive::<Decimal128Type>().value(0), -1);
    assert_eq!(decimal.null_count(), 2);
    let array = min.column_by_name("member12").unwrap().as_struct();
    let values = array.column(0).as_list::<i32>().value(1);
    let int = values.as_struct().column_by_name("member1").unwrap().as_struct();
    assert_eq!((int.column(0).as_primitive::<Int32Type>().value(0), values.null_count()), (7, 1));
    // Of the schema of older releases some columns are not there.
    assert_eq!(RecordSchema::parse(SCHEMA_V8).unwrap().rows(&[]).unwrap().num_rows(), 0);
}
