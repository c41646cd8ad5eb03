use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array,
    Int32Array, Int64Array, ListArray, MapArray, NullArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use rstest::rstest;

use super::*;
use crate::{ErrorKind, Result};

fn to(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    Promotion::between(column.data_type(), data_type)?.apply(column, data_type)
}

fn array(column: impl Array + 'static) -> ArrayRef {
    Arc::new(column)
}

fn decimals(precision: u8, scale: i8, values: &[i128]) -> ArrayRef {
    array(Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).unwrap())
}

fn texts(values: &[&str]) -> ArrayRef {
    array(StringArray::from(values.to_vec()))
}

/// The values that Apache Hudi 1.2.0 makes of them when it reads a log of the first type for a table of the second.
#[rstest]
#[case(array(Int32Array::from(vec![1, -7, i32::MAX])), array(Int64Array::from(vec![1, -7, 2_147_483_647])))]
#[case(array(Int32Array::from(vec![16_777_217])), array(Float32Array::from(vec![16_777_216.0])))]
#[case(array(Int32Array::from(vec![16_777_217])), array(Float64Array::from(vec![16_777_217.0])))]
#[case(array(Int64Array::from(vec![i64::MAX, (1 << 53) + 1])), array(Float32Array::from(vec![9.223_372E18, 9.007_199E15])))]
#[case(array(Int64Array::from(vec![(1 << 53) + 1])), array(Float64Array::from(vec![9.007_199_254_740_992E15])))]
#[case(array(Float32Array::from(vec![0.1, -0.0, 1.4e-45, f32::INFINITY])), array(Float64Array::from(vec![0.1, -0.0, 1.4e-45, f64::INFINITY])))]
#[case(array(Int32Array::from(vec![-7])), texts(&["-7"]))]
#[case(array(Int64Array::from(vec![i64::MIN])), texts(&["-9223372036854775808"]))]
#[case(array(Float32Array::from(vec![0.1, 1e10, f32::NAN, f32::NEG_INFINITY, -0.0])), texts(&["0.1", "1.0E10", "NaN", "-Infinity", "-0.0"]))]
#[case(array(Float64Array::from(vec![1e7, 0.002, 4.9E-324, 123_456_789_012.0])), texts(&["1.0E7", "0.002", "4.9E-324", "1.23456789012E11"]))]
#[case(decimals(5, 2, &[12_345, -100]), texts(&["123.45", "-1.00"]))]
#[case(decimals(30, 10, &[12_345, -100]), texts(&["0.0000012345", "-1.00E-8"]))]
#[case(array(Date32Array::from(vec![0, -1, 18_000])), texts(&["1970-01-01", "1969-12-31", "2019-04-14"]))]
#[case(texts(&["é"]), array(BinaryArray::from(vec![b"\xc3\xa9".as_slice()])))]
#[case(array(BinaryArray::from(vec![b"abc".as_slice()])), texts(&["abc"]))]
#[case(decimals(5, 2, &[12_345, -100]), decimals(12, 4, &[1_234_500, -10_000]))]
#[case(decimals(5, 2, &[12_345, -100]), decimals(10, 2, &[12_345, -100]))]
#[case(array(Int32Array::from(vec![1, -7])), decimals(5, 2, &[100, -700]))]
#[case(array(Int64Array::from(vec![i64::MAX])), decimals(30, 10, &[92_233_720_368_547_758_070_000_000_000]))]
#[case(array(Float32Array::from(vec![0.1])), decimals(12, 4, &[1000]))]
#[case(array(Float64Array::from(vec![1.005, 2.675, -0.125, 0.135])), decimals(10, 2, &[101, 268, -13, 14]))]
#[case(texts(&["12.345", "7", "1e3"]), decimals(10, 2, &[1235, 700, 100_000]))]
#[case(texts(&["2020-02-03", "2020-2-3", "1969-12-31"]), array(Date32Array::from(vec![18_295, 18_295, -1])))]
#[case(array(TimestampMillisecondArray::from(vec![1_580_000_000_123, -1])), array(TimestampMicrosecondArray::from(vec![1_580_000_000_123_000, -1000])))]
#[case(array(TimestampMicrosecondArray::from(vec![1_580_000_000_123, -1])), array(TimestampMillisecondArray::from(vec![1_580_000_000, -1])))]
#[case(array(Int64Array::from(vec![5])), array(TimestampMillisecondArray::from(vec![5]).with_timezone("UTC")))]
#[case::said_wrongly(array(TimestampMicrosecondArray::from(vec![5_001]).with_timezone("UTC")), array(TimestampMillisecondArray::from(vec![5_001]).with_timezone("UTC")))]
fn values_as_apache_hudi_has_them(#[case] column: ArrayRef, #[case] wanted: ArrayRef) {
    assert_eq!(to(&column, wanted.data_type()).unwrap().as_ref(), wanted.as_ref());
    let null = new_null_array(column.data_type(), 2);
    let nulls = to(&null, wanted.data_type()).unwrap();
    assert_eq!((nulls.len(), nulls.null_count()), (2, 2));
    assert_eq!(to(&wanted, wanted.data_type()).unwrap().as_ref(), wanted.as_ref());
}

/// What files say less about than tables do.
#[rstest]
#[case(array(Int32Array::from(vec![7])), array(Date32Array::from(vec![7])))]
#[case(array(TimestampNanosecondArray::from(vec![-1, 5_999])), array(TimestampMicrosecondArray::from(vec![-1, 5]).with_timezone("UTC")))]
#[case(array(TimestampMicrosecondArray::from(vec![5]).with_timezone("UTC")), array(Int64Array::from(vec![5])))]
#[case(array(FixedSizeBinaryArray::try_from_iter([b"abc"].into_iter()).unwrap()), array(BinaryArray::from(vec![b"abc".as_slice()])))]
fn values_under_another_label(#[case] column: ArrayRef, #[case] wanted: ArrayRef) {
    assert_eq!(to(&column, wanted.data_type()).unwrap().as_ref(), wanted.as_ref());
}

/// As Spark prints them, to whom Apache Hudi leaves it.
#[rstest]
#[case(0, "1970-01-01 00:00:00")]
#[case(1_704_153_600_123_000, "2024-01-02 00:00:00.123")]
#[case(1_704_153_600_123_456, "2024-01-02 00:00:00.123456")]
#[case(-1, "1969-12-31 23:59:59.999999")]
#[case(253_402_300_800_000_010, "+10000-01-01 00:00:00.00001")]
fn times_as_texts(#[case] micros: i64, #[case] text: &str) {
    let local = TimestampMicrosecondArray::from(vec![Some(micros), None]);
    for times in [local.clone().with_timezone("UTC"), local] {
        let found = to(&array(times), &DataType::Utf8).unwrap();
        assert_eq!(found.as_string::<i32>().iter().collect::<Vec<_>>(), [Some(text), None]);
    }
}

#[test]
fn a_column_of_nulls_is_one_of_any_type() {
    let nulls = to(&array(NullArray::new(3)), &DataType::Date32).unwrap();
    assert_eq!((nulls.null_count(), nulls.data_type()), (3, &DataType::Date32));
}

#[rstest]
#[case(DataType::Int64, DataType::Int32)]
#[case(DataType::Float64, DataType::Float32)]
#[case(DataType::Float32, DataType::Int64)]
#[case(DataType::Int32, DataType::Boolean)]
#[case(DataType::Boolean, DataType::Utf8)]
#[case(DataType::Utf8, DataType::Int32)]
#[case(DataType::Int64, DataType::Date32)]
#[case(DataType::Timestamp(TimeUnit::Nanosecond, None), DataType::Utf8)]
#[case(DataType::Decimal128(10, 2), DataType::Decimal128(10, 1))]
#[case(DataType::Decimal128(10, 2), DataType::Decimal128(10, 4))]
#[case(DataType::Decimal128(10, 2), DataType::Decimal128(5, 2))]
#[case(DataType::Decimal128(10, 2), DataType::Float64)]
#[case(DataType::Binary, DataType::FixedSizeBinary(3))]
#[case(DataType::Struct(Fields::empty()), DataType::Utf8)]
fn narrowing_is_refused(#[case] from: DataType, #[case] to: DataType) {
    let e = Promotion::between(&from, &to).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert_eq!(e.message(), format!("the value is {from} in the file and {to} in the table"));
}

#[rstest]
#[case(texts(&["abc"]), DataType::Decimal128(10, 2), "'abc' cannot become Decimal128(10, 2)")]
#[case(array(Float64Array::from(vec![f64::NAN])), DataType::Decimal128(10, 2), "'NaN'")]
#[case(array(Int32Array::from(vec![i32::MAX])), DataType::Decimal128(5, 2), "'2147483647'")]
#[case(texts(&["2020-02-30"]), DataType::Date32, "'2020-02-30' cannot become Date32")]
#[case(texts(&["20200203"]), DataType::Date32, "'20200203'")]
#[case(texts(&["2020-02-03 00:00:00"]), DataType::Date32, "cannot become")]
#[case(texts(&["2020-13-01"]), DataType::Date32, "cannot become")]
#[case(array(BinaryArray::from(vec![b"\xff".as_slice()])), DataType::Utf8, "cannot become Utf8")]
#[case(array(TimestampMillisecondArray::from(vec![i64::MAX])), DataType::Timestamp(TimeUnit::Microsecond, None), "beyond")]
fn values_that_do_not_fit_are_named(#[case] column: ArrayRef, #[case] wanted: DataType, #[case] message: &str) {
    let e = to(&column, &wanted).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert!(e.message().contains(message), "{e}");
}

#[test]
fn a_decimal_beyond_its_own_type_is_damage() {
    let wrong = decimals(38, 0, &[10_i128.pow(37)]);
    let wrong = array(
        wrong.as_primitive::<arrow_array::types::Decimal128Type>().clone().with_data_type(DataType::Decimal128(5, 2)),
    );
    assert_eq!(to(&wrong, &DataType::Decimal128(38, 4)).unwrap_err().kind(), ErrorKind::CorruptFile);
}

fn nullable(fields: &[(&str, DataType)]) -> Fields {
    fields.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect()
}

fn structs() -> ArrayRef {
    let children = vec![array(Int32Array::from(vec![1, 2])), array(Float32Array::from(vec![0.1, 0.2]))];
    let fields = nullable(&[("a", DataType::Int32), ("x", DataType::Float32)]);
    array(StructArray::new(fields, children, Some(vec![true, false].into())))
}

fn wanted() -> DataType {
    DataType::Struct(nullable(&[("x", DataType::Float64), ("later", DataType::Utf8), ("a", DataType::Int64)]))
}

fn check_wanted(column: &ArrayRef) {
    let column = column.as_struct();
    assert_eq!(column.column(0).as_primitive::<Float64Type>().value(0), 0.1);
    assert_eq!(column.column(1).null_count(), column.len());
    assert_eq!(column.column(2).as_ref(), &Int64Array::from(vec![1, 2]));
    assert!(column.is_null(1));
}

#[test]
fn records_go_field_by_field() {
    check_wanted(&to(&structs(), &wanted()).unwrap());
    let renamed = DataType::Struct(nullable(&[("a", DataType::Int32), ("y", DataType::Float32)]));
    assert_eq!(to(&structs(), &renamed).unwrap().as_struct().column(1).null_count(), 2);
}

#[test]
fn so_do_those_in_lists_and_maps() {
    let item = Arc::new(Field::new("array", structs().data_type().clone(), true));
    let list = array(ListArray::new(item, OffsetBuffer::from_lengths([2]), structs(), None));
    let listed = DataType::List(Arc::new(Field::new("element", wanted(), true)));
    check_wanted(to(&list, &listed).unwrap().as_list::<i32>().values());

    let entries = |value: DataType| {
        let pair = Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", value, true)]);
        Arc::new(Field::new("key_value", DataType::Struct(pair), false))
    };
    let field = entries(structs().data_type().clone());
    let DataType::Struct(pair) = field.data_type().clone() else { panic!("{field}") };
    let pairs = StructArray::new(pair, vec![texts(&["k", "l"]), structs()], None);
    let map = array(MapArray::new(field, OffsetBuffer::from_lengths([2]), pairs, None, false));
    let mapped = to(&map, &DataType::Map(entries(wanted()), false)).unwrap();
    check_wanted(mapped.as_map().values());
    assert_eq!(mapped.as_map().keys().as_ref(), texts(&["k", "l"]).as_ref());
}

#[test]
fn misfits_are_named_by_their_path() {
    let inner = |t: DataType| DataType::Struct(vec![Field::new("x", t, true)].into());
    let listed = |t: DataType| {
        let item = Field::new("element", inner(t), true);
        Arc::new(Schema::new(vec![Field::new("c", DataType::List(item.into()), true)]))
    };
    let e = Projection::new(&listed(DataType::Utf8), &listed(DataType::Int32), &Mapping::default()).unwrap_err();
    assert_eq!(e.message(), "column 'c.element.x' is Utf8 in the file and Int32 in the table");
    let none = Schema::empty();
    let strict = Arc::new(Schema::new(vec![Field::new("c", DataType::Int32, false)]));
    let e = Projection::new(&none, &strict, &Mapping::default()).unwrap_err();
    assert_eq!(e.message(), "column 'c' is missing in the file and must not be null in the table");
}

fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(n, c)| (*n, Arc::clone(c), true))).unwrap()
}

#[test]
fn a_projection_reads_only_what_it_needs() {
    let file = batch(&[
        ("z", texts(&["no"])),
        ("a", array(Int32Array::from(vec![1]))),
        ("b", array(Int32Array::from(vec![2]))),
        ("c", array(Int32Array::from(vec![3]))),
    ]);
    let wanted: SchemaRef =
        Arc::new(Schema::new(nullable(&[("c", DataType::Int64), ("new", DataType::Utf8), ("a", DataType::Int32)])));
    let projection = Projection::new(&file.schema(), &wanted, &Mapping::default()).unwrap();
    assert_eq!(projection.columns(), [1, 3]);
    let out = projection.apply(&file.project(projection.columns()).unwrap()).unwrap();
    assert_eq!(out.schema(), wanted);
    assert_eq!(out.column(0).as_primitive::<Int64Type>().value(0), 3);
    assert_eq!(out.column(1).null_count(), 1);
    assert_eq!(out.column(2).as_primitive::<Int32Type>().value(0), 1);
    assert!(projection.apply(&file).is_err());

    let nothing = Projection::new(&file.schema(), &Arc::new(Schema::empty()), &Mapping::default()).unwrap();
    assert_eq!(nothing.apply(&file.project(&[]).unwrap()).unwrap().num_rows(), 1);
}

#[test]
fn names_of_another_time() {
    let file = batch(&[
        ("old", structs()),
        ("swap1", texts(&["1", "1"])),
        ("swap2", texts(&["2", "2"])),
        ("back", texts(&["x", "y"])),
    ]);
    let inner = DataType::Struct(nullable(&[("b", DataType::Int64), ("x", DataType::Float32)]));
    let wanted: SchemaRef = Arc::new(Schema::new(nullable(&[
        ("new", inner),
        ("swap2", DataType::Utf8),
        ("swap1", DataType::Utf8),
        ("back", DataType::Utf8),
    ])));
    let renamed = |name: &str| Source { name: Some(name.to_owned()), within: Mapping::default() };
    let names = Mapping(
        [
            (
                "new",
                Source {
                    within: Mapping([("b".to_owned(), renamed("a")), ("x".to_owned(), Source::default())].into()),
                    ..renamed("old")
                },
            ),
            ("swap2", renamed("swap1")),
            ("swap1", renamed("swap2")),
            ("back", Source::default()),
        ]
        .map(|(name, source)| (name.to_owned(), source))
        .into(),
    );
    let projection = Projection::new(&file.schema(), &wanted, &names).unwrap();
    assert_eq!(projection.columns(), [0, 1, 2]);
    let out = projection.apply(&file.project(projection.columns()).unwrap()).unwrap();
    let record = out.column(0).as_struct();
    assert_eq!(record.column(0).as_primitive::<Int64Type>().value(0), 1);
    assert_eq!(record.column(1).null_count(), 2, "added again under an old name");
    assert_eq!(out.column(1).as_ref(), texts(&["1", "1"]).as_ref());
    assert_eq!(out.column(2).as_ref(), texts(&["2", "2"]).as_ref());
    assert_eq!(out.column(3).null_count(), 2);
}

/// The pairs of types that `HoodieSchemaCompatibility` of 1.2.0 lets a table go through by itself.
#[test]
fn changes_by_themselves() {
    let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
    let local = |unit| DataType::Timestamp(unit, None);
    let (ms, us) = (TimeUnit::Millisecond, TimeUnit::Microsecond);
    let types = [
        DataType::Boolean,
        DataType::Int32,
        DataType::Int64,
        DataType::Float32,
        DataType::Float64,
        DataType::Utf8,
        DataType::Binary,
        DataType::Date32,
        utc(ms),
        utc(us),
        local(ms),
        local(us),
        DataType::FixedSizeBinary(3),
        DataType::Decimal128(5, 2),
        DataType::Decimal128(12, 4),
        DataType::Decimal128(10, 4),
    ];
    let allowed: [(usize, &[usize]); 16] = [
        (0, &[0]),
        (1, &[1, 2, 3, 4, 5]),
        (2, &[2, 3, 4, 5, 8, 9, 10, 11]),
        (3, &[3, 4, 5]),
        (4, &[4, 5]),
        (5, &[5, 6]),
        (6, &[5, 6]),
        (7, &[7]),
        (8, &[8]),
        (9, &[8, 9]),
        (10, &[10]),
        (11, &[10, 11]),
        (12, &[12]),
        (13, &[5, 13, 14, 15]),
        (14, &[5, 14]),
        (15, &[5, 14, 15]),
    ];
    let schema = |t: &DataType| Schema::new(vec![Field::new("c", t.clone(), true)]);
    for (from, allowed) in allowed {
        for (to, data_type) in types.iter().enumerate() {
            let found = check_evolution(&schema(&types[from]), &schema(data_type)).is_ok();
            assert_eq!(found, allowed.contains(&to), "{} to {data_type}", types[from]);
        }
    }
}

#[test]
fn columns_come_but_do_not_go() {
    let schema = |fields: &[(&str, bool)]| {
        let inner: Fields = fields.iter().map(|(n, null)| Field::new(*n, DataType::Int32, *null)).collect();
        Schema::new(vec![Field::new("s", DataType::Struct(inner), true)])
    };
    let message = |to: &[(&str, bool)]| {
        check_evolution(&schema(&[("a", true), ("b", false)]), &schema(to)).map_err(|e| e.message().to_owned())
    };
    assert_eq!(message(&[("b", true), ("new", true), ("a", true)]), Ok(()));
    assert_eq!(message(&[("a", true)]), Err("column 's.b' of the table is missing".into()));
    let refused = message(&[("a", true), ("b", false), ("new", false)]).unwrap_err();
    assert!(refused.starts_with("column 's.new' is new and must not be null"), "{refused}");
    let refused = message(&[("a", false), ("b", false)]).unwrap_err();
    assert!(refused.starts_with("column 's.a' may be null in the table"), "{refused}");
}
