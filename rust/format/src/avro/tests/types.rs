//! Types one by one: what they are read as, what they are promoted to, and what must be exactly right to be written.

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{NullArray, TimestampMillisecondArray, new_null_array};
use arrow_schema::TimeUnit;
use rstest::rstest;

use super::*;

fn one_column(kind: &str) -> Record {
    Record::parse(&format!(r#"{{"type":"record","name":"r","fields":[{{"name":"c","type":{kind}}}]}}"#)).unwrap()
}

fn batch_of(column: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("c", column, true)]).unwrap()
}

#[rstest]
#[case::enumeration(r#"{"type":"enum","name":"e","symbols":["A","B"]}"#, &[2], Arc::new(StringArray::from(vec!["B"])))]
#[case::null_last(r#"["string","null"]"#, &[0, 2, b'x'], Arc::new(StringArray::from(vec!["x"])))]
#[case::null_of_null_last(r#"["string","null"]"#, &[2], Arc::new(StringArray::from(vec![None::<&str>])))]
#[case::union_of_one(r#"["int"]"#, &[0, 14], Arc::new(Int32Array::from(vec![7])))]
#[case::null_alone(r#""null""#, &[], Arc::new(NullArray::new(1)))]
#[case::union_of_null(r#"["null"]"#, &[0], Arc::new(NullArray::new(1)))]
#[case::uuid(r#"{"type":"string","logicalType":"uuid"}"#, &[2, b'u'], Arc::new(StringArray::from(vec!["u"])))]
#[case::unknown_logical_type(r#"{"type":"long","logicalType":"moon-phase"}"#, &[2], Arc::new(Int64Array::from(vec![1])))]
#[case::decimal_of_fewest_bytes(
    r#"{"type":"bytes","logicalType":"decimal","precision":38,"scale":1}"#,
    &[4, 0xff, 0x7f],
    Arc::new(Decimal128Array::from(vec![-129]).with_precision_and_scale(38, 1).unwrap())
)]
#[case::greatest_decimal(
    r#"{"type":"fixed","name":"f","size":16,"logicalType":"decimal","precision":38}"#,
    &(10_i128.pow(38) - 1).to_be_bytes(),
    Arc::new(Decimal128Array::from(vec![10_i128.pow(38) - 1]).with_precision_and_scale(38, 0).unwrap())
)]
fn both_ways(#[case] kind: &str, #[case] datum: &[u8], #[case] column: ArrayRef) {
    let record = one_column(kind);
    let wanted = Schema::new(vec![Field::new("c", column.data_type().clone(), true)]);
    let batch = decode(&[datum.to_vec()], &record, wanted);
    assert_eq!(batch.column(0), &column);
    assert_eq!(encode(&batch, &record), [datum]);
}

#[test]
fn a_duration_is_twelve_bytes() {
    let record = one_column(r#"{"type":"fixed","name":"d","size":12,"logicalType":"duration"}"#);
    let datum: Vec<u8> = (1..=12).collect();
    let batch = decode(std::slice::from_ref(&datum), &record, record.to_arrow().unwrap());
    let mut column = FixedSizeBinaryBuilder::new(12);
    column.append_value(&datum).unwrap();
    assert_eq!(batch.column(0).as_ref(), &column.finish());
    assert_eq!(encode(&batch, &record), [datum]);
}

#[rstest]
#[case::float_by_text("float", Arc::new(Float32Array::from(vec![Some(0.1), None])), Arc::new(Float64Array::from(vec![Some(0.1), None])))]
#[case::int_to_long("int", Arc::new(Int32Array::from(vec![Some(-1), None])), Arc::new(Int64Array::from(vec![Some(-1), None])))]
#[case::long_to_float("long", Arc::new(Int64Array::from(vec![Some(16_777_217), None])), Arc::new(Float32Array::from(vec![Some(16_777_216.0), None])))]
#[case::long_to_double("long", Arc::new(Int64Array::from(vec![Some(1), None])), Arc::new(Float64Array::from(vec![Some(1.0), None])))]
#[case::text_to_bytes("string", Arc::new(StringArray::from(vec![Some("ü"), None])), Arc::new(BinaryArray::from_opt_vec(vec![Some("ü".as_bytes()), None])))]
#[case::bytes_to_text("bytes", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"x"), None])), Arc::new(StringArray::from(vec![Some("x"), None])))]
#[case::long_to_instant("long", Arc::new(Int64Array::from(vec![Some(1), None])), Arc::new(TimestampMicrosecondArray::from(vec![Some(1), None]).with_timezone("UTC")))]
fn promotions(#[case] kind: &str, #[case] written: ArrayRef, #[case] read: ArrayRef) {
    let record = one_column(&format!(r#"["null","{kind}"]"#));
    let datums = encode(&batch_of(written), &record);
    assert_eq!(decode(&datums, &record, batch_of(read.clone()).schema().as_ref().clone()).column(0), &read);
}

#[test]
fn promotions_reach_into_nested_types() {
    let kind = r#"{"type":"map","values":{"type":"array","items":["null",{"type":"record","name":"s","fields":[
        {"name":"gone","type":"string"},{"name":"f","type":"float"}]}]}}"#;
    let record = one_column(kind);
    let fields = vec![Field::new("f", DataType::Float64, true), Field::new("new", DataType::Date32, true)];
    let item = Field::new("element", DataType::Struct(fields.into()), true);
    let value = Field::new("value", DataType::List(Arc::new(item)), true);
    let entries = DataType::Struct(vec![Field::new("key", DataType::Utf8, false), value].into());
    let map = DataType::Map(Arc::new(Field::new("key_value", entries, false)), false);
    let datum = [&[2, 2, b'k', 4, 0, 2, 4, b'x', b'y'][..], &0.1_f32.to_le_bytes(), &[0, 0]].concat();
    let batch = decode(&[datum], &record, Schema::new(vec![Field::new("c", map, false)]));
    let items = batch.column(0).as_map().value(0).column(1).as_list::<i32>().value(0);
    assert!(items.is_null(0));
    let structs = items.as_struct();
    assert_eq!(structs.column(0).as_primitive::<Float64Type>().value(1), 0.1);
    assert!(structs.column(1).as_primitive::<Date32Type>().is_null(1));
}

#[test]
fn what_is_never_null_has_no_null_under_a_null_struct_either() {
    let inner =
        r#"{"type":"record","name":"t","fields":[{"name":"z","type":"int"},{"name":"may","type":["null","int"]}]}"#;
    let fields = format!(r#"[{{"name":"x","type":"string"}},{{"name":"y","type":{inner}}}]"#);
    let record = one_column(&format!(r#"["null",{{"type":"record","name":"s","fields":{fields}}}]"#));
    let deep = vec![Field::new("z", DataType::Int32, false), Field::new("may", DataType::Int32, true)];
    let wanted = vec![Field::new("x", DataType::Utf8, false), Field::new("y", DataType::Struct(deep.into()), false)];
    let schema = Schema::new(vec![Field::new("c", DataType::Struct(wanted.into()), true)]);
    let batch = decode(&[vec![0], vec![2, 2, b'a', 6, 0]], &record, schema);
    let (column, nulls) = (batch.column(0).as_struct(), |array: &ArrayRef| array.null_count());
    let y = column.column(1).as_struct();
    assert_eq!((column.null_count(), nulls(column.column(0)), y.null_count()), (1, 0, 0));
    assert_eq!((nulls(y.column(0)), nulls(y.column(1))), (0, 2));
    assert_eq!(y.column(0).as_primitive::<Int32Type>().value(1), 3);
}

/// Each would be written as another value than it is.
#[rstest]
#[case::millis_as_micros(
    r#"{"type":"long","logicalType":"timestamp-micros"}"#,
    Arc::new(TimestampMillisecondArray::from(vec![1]).with_timezone("UTC"))
)]
#[case::local_as_instant(
    r#"{"type":"long","logicalType":"timestamp-micros"}"#,
    Arc::new(TimestampMicrosecondArray::from(vec![1]))
)]
#[case::other_scale(
    r#"{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}"#,
    Arc::new(Decimal128Array::from(vec![1]).with_precision_and_scale(9, 3).unwrap())
)]
#[case::number_as_text(r#""string""#, Arc::new(Int32Array::from(vec![1])))]
fn what_does_not_fit_the_schema_is_not_written(#[case] kind: &str, #[case] column: ArrayRef) {
    let (record, batch) = (one_column(kind), batch_of(column));
    let error = RowEncoder::new(&record, &batch).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::UnsupportedFeature);
    assert!(error.message().starts_with("column 'c': writing"), "{error}");
}

#[test]
fn values_that_the_schema_has_no_place_for() {
    let symbols = one_column(r#"{"type":"enum","name":"e","symbols":["A"]}"#);
    let batch = batch_of(Arc::new(StringArray::from(vec!["B"])));
    let error = RowEncoder::new(&symbols, &batch).unwrap().encode(0, &mut Vec::new()).unwrap_err();
    assert_eq!(error.message(), "'B' is no symbol of the enum");
    assert_eq!(
        RowEncoder::new(&symbols, &batch).unwrap().encode(1, &mut Vec::new()).unwrap_err().kind(),
        crate::ErrorKind::Internal
    );
    let narrow = one_column(r#"{"type":"fixed","name":"f","size":1,"logicalType":"decimal","precision":2}"#);
    let batch = batch_of(Arc::new(Decimal128Array::from(vec![128]).with_precision_and_scale(2, 0).unwrap()));
    let error = RowEncoder::new(&narrow, &batch).unwrap().encode(0, &mut Vec::new()).unwrap_err();
    assert_eq!(error.message(), "the decimal 128 (unscaled) does not fit 1 bytes");
}

#[test]
fn any_zone_is_the_same_instant() {
    let record = one_column(r#"["null",{"type":"long","logicalType":"timestamp-micros"}]"#);
    let batch = batch_of(Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("+02:00")));
    let back = decode(&encode(&batch, &record), &record, record.to_arrow().unwrap());
    assert_eq!(back.column(0).as_primitive::<TimestampMicrosecondType>().value(0), 1);
    let zone = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    assert_eq!(back.column(0).data_type(), &zone);
    let nulls = batch_of(new_null_array(&zone, 2));
    assert_eq!(encode(&nulls, &record), [[0], [0]]);
}
