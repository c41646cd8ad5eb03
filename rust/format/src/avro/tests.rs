mod hostile;
mod types;

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;

use super::*;
use crate::schema::{Record, avro_text};

fn encode(batch: &RecordBatch, record: &Record) -> Vec<Vec<u8>> {
    let encoder = RowEncoder::new(record, batch).unwrap();
    (0..batch.num_rows())
        .map(|row| {
            let mut out = Vec::new();
            encoder.encode(row, &mut out).unwrap();
            out
        })
        .collect()
}

fn decode(datums: &[Vec<u8>], writer: &Record, schema: Schema) -> RecordBatch {
    let mut decoder = RowDecoder::new(writer, Arc::new(schema)).unwrap();
    datums.iter().for_each(|d| decoder.decode(d).unwrap());
    decoder.flush().unwrap()
}

fn everything() -> RecordBatch {
    let mut list = ListBuilder::new(Int64Builder::new()).with_field(Field::new("element", DataType::Int64, true));
    list.append_value([Some(1), None, Some(-3)]);
    list.append_null();
    list.append_value([] as [Option<i64>; 0]);
    let names = MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() };
    let mut map = MapBuilder::new(Some(names), StringBuilder::new(), Int64Builder::new());
    map.keys().append_value("k");
    map.values().append_value(7);
    map.append(true).unwrap();
    map.append(false).unwrap();
    map.append(true).unwrap();
    let child: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, None]));
    let nulls = Some(vec![true, false, true].into());
    let st = StructArray::new(vec![Field::new("x", DataType::Int32, true)].into(), vec![child], nulls);
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("id", Arc::new(StringArray::from(vec!["a", "b", "ü"])), false),
        ("bo", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])), true),
        ("i", Arc::new(Int32Array::from(vec![i32::MIN, 0, i32::MAX])), false),
        ("l", Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None])), true),
        ("f", Arc::new(Float32Array::from(vec![0.1, f32::NAN, -0.0])), true),
        ("d", Arc::new(Float64Array::from(vec![1e300, 2.5, f64::INFINITY])), true),
        ("b", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\x00\xff"), None, Some(b"")])), true),
        ("dt", Arc::new(Date32Array::from(vec![-1, 0, 19737])), true),
        ("ts", Arc::new(TimestampMicrosecondArray::from(vec![1, -1, 0]).with_timezone("UTC")), true),
        ("tn", Arc::new(TimestampMicrosecondArray::from(vec![1, -1, 0])), true),
        (
            "dec",
            Arc::new(
                Decimal128Array::from(vec![Some(-1), None, Some(99_999_999_999)])
                    .with_precision_and_scale(11, 2)
                    .unwrap(),
            ),
            true,
        ),
        ("ar", Arc::new(list.finish()), true),
        ("mp", Arc::new(map.finish()), true),
        ("st", Arc::new(st), true),
    ];
    let fields: Vec<_> = columns.iter().map(|(n, a, null)| Field::new(*n, a.data_type().clone(), *null)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|c| c.1).collect()).unwrap()
}

fn record_of(batch: &RecordBatch) -> Record {
    Record::parse(&avro_text(&batch.schema(), "t").unwrap()).unwrap()
}

#[test]
fn every_type_round_trips() {
    let batch = everything();
    let record = record_of(&batch);
    let back = decode(&encode(&batch, &record), &record, record.to_arrow().unwrap());
    // NaN is not equal to itself: compare what the rows print.
    assert_eq!(
        format!("{back:?}"),
        format!("{:?}", RecordBatch::try_new(back.schema(), batch.columns().to_vec()).unwrap())
    );
}

#[test]
fn the_datum_of_apache_hudi() {
    // One row of a log block that Apache Hudi wrote: (a, 7) under (string, int), both nullable.
    let text = r#"{"type":"record","name":"r","fields":[{"name":"k","type":["null","string"]},{"name":"n","type":["null","int"]}]}"#;
    let record = Record::parse(text).unwrap();
    let rows = [vec![2, 2, b'a', 2, 14], vec![2, 2, b'b', 0]];
    let batch = decode(&rows, &record, record.to_arrow().unwrap());
    assert_eq!(batch.column(0).as_string::<i32>().value(0), "a");
    assert_eq!(batch.column(1).as_primitive::<Int32Type>().value(0), 7);
    assert!(batch.column(1).is_null(1));
    assert_eq!(encode(&batch, &record), rows);
}

#[test]
fn projection_skips_and_fills() {
    let batch = everything();
    let record = record_of(&batch);
    let datums = encode(&batch, &record);
    let wanted = Schema::new(vec![
        Field::new("later", DataType::Utf8, true),
        Field::new("l", DataType::Int64, true),
        Field::new("i", DataType::Int64, false),
        Field::new("f", DataType::Float64, true),
    ]);
    let back = decode(&datums, &record, wanted);
    assert_eq!(back.column(0).null_count(), 3);
    assert_eq!(back.column(1).as_ref(), batch.column_by_name("l").unwrap().as_ref());
    assert_eq!(back.column(2).as_primitive::<Int64Type>().value(2), i64::from(i32::MAX));
    assert_eq!(back.column(3).as_primitive::<Float64Type>().value(0), 0.1, "a float widens by its text");
    let none = decode(&datums, &record, Schema::empty());
    assert_eq!(none.num_rows(), 3);
}

#[test]
fn times_as_texts_are_numbers() {
    let times = TimestampMicrosecondArray::from(vec![Some(1_704_153_600_123_456), None]);
    for times in [times.clone().with_timezone("UTC"), times] {
        let batch = RecordBatch::try_from_iter_with_nullable([("at", Arc::new(times) as ArrayRef, true)]).unwrap();
        let record = record_of(&batch);
        let wanted = Schema::new(vec![Field::new("at", DataType::Utf8, true)]);
        let back = decode(&encode(&batch, &record), &record, wanted);
        let texts: Vec<_> = back.column(0).as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("1704153600123456"), None]);
    }
}

/// Read one by one and many at once, all columns and some, whatever is null, however long: the same rows.
#[test]
fn many_rows_at_once_are_the_rows_one_by_one() {
    let mut numbers = 1_u64;
    let mut below = |limit: u64| {
        numbers = numbers.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (numbers >> 33) % limit
    };
    let fields = ["string", "long", "double", "bytes", "int", "boolean"];
    let field = |(at, kind): (usize, &&str)| match at % 3 {
        0 => format!(r#"{{"name":"c{at}","type":["null","{kind}"]}}"#),
        1 => format!(r#"{{"name":"c{at}","type":["{kind}","null"]}}"#),
        _ => format!(r#"{{"name":"c{at}","type":"{kind}"}}"#),
    };
    let kinds: Vec<&str> = fields.iter().chain(&fields[1..]).chain(&fields[2..]).copied().collect();
    let listed: Vec<_> = kinds.iter().enumerate().map(field).collect();
    let record = Record::parse(&format!(r#"{{"type":"record","name":"r","fields":[{}]}}"#, listed.join(","))).unwrap();
    let mut datums: Vec<Vec<u8>> = Vec::new();
    for _ in 0..1000 {
        let mut datum = Vec::new();
        for (at, kind) in kinds.iter().enumerate() {
            let is_null = at % 3 < 2 && below(4) == 0;
            match at % 3 {
                0 => datum.push(if is_null { 0 } else { 2 }),
                1 => datum.push(if is_null { 2 } else { 0 }),
                _ => {}
            }
            if is_null {
                continue;
            }
            match *kind {
                "string" | "bytes" => {
                    let length = [0, 1, 31, 63, 64, 100, 8191, 8192, 9000][below(9) as usize];
                    long(&mut datum, length);
                    datum.extend((0..length).map(|_| b'a' + below(26) as u8));
                }
                "long" => long(&mut datum, (below(u64::MAX) << below(40)) as i64),
                "int" => long(&mut datum, below(1 << 31) as i64 - (1 << 30)),
                "double" => datum.extend_from_slice(&(below(1000) as f64).to_le_bytes()),
                _ => datum.push(below(2) as u8),
            }
        }
        datums.push(datum);
    }
    let all = record.to_arrow().unwrap();
    let picks =
        [vec![], (0..kinds.len()).collect(), vec![0, kinds.len() - 1], vec![kinds.len() - 1], vec![3, 7], vec![1]];
    for picked in picks {
        let wanted = Schema::new(picked.iter().map(|at| all.field(*at).clone()).collect::<Vec<_>>());
        let mut many = RowDecoder::new(&record, Arc::new(wanted.clone())).unwrap();
        assert_eq!(many.decode_many(datums.iter().map(Vec::as_slice)).unwrap(), datums.len());
        assert_eq!(many.flush().unwrap(), decode(&datums, &record, wanted), "{picked:?}");
    }
}

fn long(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest > 0x7f {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[test]
fn a_bad_row_among_many_is_named() {
    let batch = everything();
    let record = record_of(&batch);
    let wanted = Arc::new(Schema::new(vec![Field::new(
        "st",
        record.to_arrow().unwrap().field_with_name("st").unwrap().data_type().clone(),
        true,
    )]));
    let datum = encode(&batch, &record).remove(0);
    for bad in [0, 1, 31, 32, 33, 64, 150] {
        let datums: Vec<&[u8]> =
            (0..200).map(|at| if at == bad { &datum[..datum.len() - 1] } else { &datum[..] }).collect();
        let mut decoder = RowDecoder::new(&record, Arc::clone(&wanted)).unwrap();
        assert_eq!(decoder.decode_many(datums.into_iter()).unwrap_err().index, bad);
    }
}

#[test]
fn nulls_where_none_may_be_are_refused() {
    let text = r#"{"type":"record","name":"r","fields":[{"name":"i","type":"int"}]}"#;
    let record = Record::parse(text).unwrap();
    let schema = Arc::new(Schema::new(vec![Field::new("i", DataType::Int32, true)]));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(Int32Array::from(vec![None]))]).unwrap();
    let encoder = RowEncoder::new(&record, &batch).unwrap();
    assert_eq!(encoder.encode(0, &mut Vec::new()).unwrap_err().kind(), crate::ErrorKind::SchemaMismatch);
}

#[test]
fn promotions_that_lose_are_refused() {
    let text = r#"{"type":"record","name":"r","fields":[{"name":"i","type":"long"}]}"#;
    let record = Record::parse(text).unwrap();
    let wanted = Schema::new(vec![Field::new("i", DataType::Int32, true)]);
    let e = RowDecoder::new(&record, Arc::new(wanted)).unwrap_err();
    assert_eq!(e.kind(), crate::ErrorKind::SchemaMismatch);
    assert!(e.to_string().contains("column 'i'"));
}

#[test]
fn every_cut_of_a_row_is_an_error() {
    let batch = everything();
    let record = record_of(&batch);
    let schema = Arc::new(record.to_arrow().unwrap());
    for datum in encode(&batch, &record) {
        for end in 0..datum.len() {
            let mut decoder = RowDecoder::new(&record, schema.clone()).unwrap();
            assert!(decoder.decode(&datum[..end]).is_err(), "cut at {end}");
        }
    }
}

#[test]
fn a_claimed_billion_of_nothing_ends_soon() {
    let text = r#"{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":"null"}}]}"#;
    let record = Record::parse(text).unwrap();
    let mut datum = Vec::new();
    datum.extend_from_slice(&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    datum.push(0);
    let mut decoder = RowDecoder::new(&record, Arc::new(record.to_arrow().unwrap())).unwrap();
    assert!(decoder.decode(&datum).is_err());
    let mut skipper = RowDecoder::new(&record, Arc::new(Schema::empty())).unwrap();
    skipper.decode(&datum).unwrap();
}

proptest! {
    #[test]
    fn any_bytes_are_a_row_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let record = record_of(&everything());
        let mut decoder = RowDecoder::new(&record, Arc::new(record.to_arrow().unwrap())).unwrap();
        if decoder.decode(&bytes).is_ok() {
            let _ = decoder.flush();
        }
    }

    #[test]
    fn numbers_round_trip(values in proptest::collection::vec(any::<Option<i64>>(), 0..50)) {
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, true)]));
        let batch = RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from(values))]).unwrap();
        let record = record_of(&batch);
        let back = decode(&encode(&batch, &record), &record, record.to_arrow().unwrap());
        prop_assert_eq!(back, batch);
    }
}
