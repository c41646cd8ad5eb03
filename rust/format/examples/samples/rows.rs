//! Rows of every type, with the values that are easily lost on the way.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampMillisecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int32Array, Int64Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use hudini_format::schema::Record;
use serde_json::{Map, Value, json};

use crate::folder::Done;

/// The time at which all samples were written.
pub(crate) const INSTANT: &str = "20260307162459123";

/// Rows as Apache Hudi's writers declare them, and some types that it takes from others: a column that cannot be null,
/// one that is null last, decimals of bytes, an enum, a bare fixed.
pub(crate) const SCHEMA: &str = r#"{"type":"record","name":"trips_record","namespace":"hoodie.trips","fields":[
{"name":"_hoodie_commit_time","type":["null","string"],"doc":"","default":null},
{"name":"_hoodie_commit_seqno","type":["null","string"],"doc":"","default":null},
{"name":"_hoodie_record_key","type":["null","string"],"doc":"","default":null},
{"name":"_hoodie_partition_path","type":["null","string"],"doc":"","default":null},
{"name":"_hoodie_file_name","type":["null","string"],"doc":"","default":null},
{"name":"id","type":"string"},
{"name":"flag","type":["null","boolean"],"default":null},
{"name":"größe","type":["null","int"],"default":null},
{"name":"count","type":["long","null"],"default":7},
{"name":"ratio","type":["null","float"],"default":null},
{"name":"weight","type":["null","double"],"default":null},
{"name":"raw","type":["null","bytes"],"default":null},
{"name":"code","type":["null",{"type":"fixed","name":"code","size":3}],"default":null},
{"name":"color","type":["null",{"type":"enum","name":"color","symbols":["RED","GREEN"]}],"default":null},
{"name":"price","type":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.trips.trips_record.price","size":5,"logicalType":"decimal","precision":10,"scale":2}],"default":null},
{"name":"amount","type":["null",{"type":"bytes","logicalType":"decimal","precision":38,"scale":18}],"default":null},
{"name":"day","type":["null",{"type":"int","logicalType":"date"}],"default":null},
{"name":"at_time","type":["null",{"type":"long","logicalType":"time-micros"}],"default":null},
{"name":"at","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null},
{"name":"at_ms","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},
{"name":"local","type":["null",{"type":"long","logicalType":"local-timestamp-micros"}],"default":null},
{"name":"tags","type":["null",{"type":"array","items":["null","string"]}],"default":null},
{"name":"counts","type":["null",{"type":"map","values":["null","long"]}],"default":null},
{"name":"place","type":["null",{"type":"record","name":"place","namespace":"hoodie.trips.trips_record","fields":[
{"name":"city","type":["null","string"],"default":null},
{"name":"path","type":["null",{"type":"array","items":["null",{"type":"record","name":"path","namespace":"hoodie.trips.trips_record.place","fields":[
{"name":"x","type":["null","double"],"default":null},{"name":"y","type":["null","double"],"default":null}]}]}],"default":null}]}],"default":null}]}"#;

/// Rows of [`SCHEMA`]: plain values, the greatest and empty ones, the least and odd ones, nulls.
pub(crate) fn rows() -> Done<RecordBatch> {
    let keys = ["key-1", "größe:\"7\"\\\n", "鍵 🔑", "null"];
    let seqnos = (0..keys.len()).map(|row| format!("{INSTANT}_0_{row}"));
    let repeated = |text: &'static str| -> ArrayRef { Arc::new(StringArray::from(vec![text; 4])) };
    let columns: Vec<ArrayRef> = vec![
        repeated(INSTANT),
        Arc::new(StringArray::from_iter_values(seqnos)),
        Arc::new(StringArray::from_iter_values(keys)),
        repeated("city=Zürich"),
        repeated("f1-0"),
        Arc::new(StringArray::from_iter_values(keys)),
        Arc::new(BooleanArray::from(vec![Some(true), Some(false), Some(true), None])),
        Arc::new(Int32Array::from(vec![Some(-7), Some(i32::MAX), Some(i32::MIN), None])),
        Arc::new(Int64Array::from(vec![Some(1 << 40), Some(i64::MAX), Some(i64::MIN), None])),
        Arc::new(Float32Array::from(vec![Some(0.1), Some(f32::MAX), Some(f32::NAN), None])),
        Arc::new(Float64Array::from(vec![Some(-0.0), Some(f64::MIN_POSITIVE), Some(f64::NEG_INFINITY), None])),
        Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\x00\xff\x7f"), Some(b""), Some(&[0x80; 70]), None])),
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(
            [Some(*b"\x00\xff\x80"), Some([0; 3]), Some(*b"abc"), None].into_iter(),
            3,
        )?),
        Arc::new(StringArray::from(vec![Some("RED"), Some("GREEN"), Some("GREEN"), None])),
        Arc::new(
            Decimal128Array::from(vec![Some(-5), Some(9_999_999_999), Some(-9_999_999_999), None])
                .with_precision_and_scale(10, 2)?,
        ),
        Arc::new(
            Decimal128Array::from(vec![Some(-128), Some(10_i128.pow(38) - 1), Some(1 - 10_i128.pow(38)), None])
                .with_precision_and_scale(38, 18)?,
        ),
        Arc::new(Date32Array::from(vec![Some(0), Some(2_932_896), Some(-719_162), None])),
        Arc::new(Time64MicrosecondArray::from(vec![Some(0), Some(86_399_999_999), Some(1), None])),
        Arc::new(
            TimestampMicrosecondArray::from(vec![Some(-1), Some(1 << 53), Some(-62_135_596_800_000_000), None])
                .with_timezone("UTC"),
        ),
        Arc::new(TimestampMillisecondArray::from(vec![Some(-1), Some(1 << 41), Some(0), None]).with_timezone("UTC")),
        Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), Some(1 << 53), Some(0), None])),
        Arc::new(tags()?),
        Arc::new(counts()?),
        Arc::new(places()?),
    ];
    Ok(RecordBatch::try_new(Arc::new(Record::parse(SCHEMA)?.to_arrow()?), columns)?)
}

/// The type of a column of [`SCHEMA`].
fn type_of(column: &str) -> Done<DataType> {
    Ok(Record::parse(SCHEMA)?.to_arrow()?.field_with_name(column)?.data_type().clone())
}

fn tags() -> Done<ListArray> {
    let DataType::List(item) = type_of("tags")? else { return Err("tags are a list".into()) };
    let values = StringArray::from(vec![Some("a"), None, Some("ß")]);
    let offsets = OffsetBuffer::from_lengths([2, 0, 1, 0]);
    Ok(ListArray::try_new(item, offsets, Arc::new(values), nulls([true, true, true, false]))?)
}

fn counts() -> Done<MapArray> {
    let DataType::Map(entry, sorted) = type_of("counts")? else { return Err("counts are a map".into()) };
    let DataType::Struct(fields) = entry.data_type() else { return Err("entries are records".into()) };
    let keys = StringArray::from(vec!["", "é", "🔑"]);
    let values = Int64Array::from(vec![Some(0), None, Some(-1)]);
    let entries = StructArray::try_new(fields.clone(), vec![Arc::new(keys), Arc::new(values)], None)?;
    let offsets = OffsetBuffer::from_lengths([0, 2, 1, 0]);
    Ok(MapArray::try_new(entry, offsets, entries, nulls([true, true, true, false]), sorted)?)
}

fn places() -> Done<StructArray> {
    let DataType::Struct(fields) = type_of("place")? else { return Err("a place is a record".into()) };
    let DataType::List(point) = fields[1].data_type() else { return Err("a path is a list".into()) };
    let DataType::Struct(axes) = point.data_type() else { return Err("a point is a record".into()) };
    let x: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), Some(0.0), None]));
    let y: ArrayRef = Arc::new(Float64Array::from(vec![Some(f64::MAX), Some(0.0), Some(-1e-300)]));
    let points = StructArray::try_new(axes.clone(), vec![x, y], nulls([true, false, true]))?;
    let offsets = OffsetBuffer::from_lengths([2, 0, 1, 0]);
    let paths = ListArray::try_new(Arc::clone(point), offsets, Arc::new(points), nulls([true, true, true, false]))?;
    let cities = StringArray::from(vec![Some("Zürich"), Some(""), None, None]);
    Ok(StructArray::try_new(fields, vec![Arc::new(cities), Arc::new(paths)], nulls([true, true, true, false]))?)
}

fn nulls<const N: usize>(valid: [bool; N]) -> Option<NullBuffer> {
    Some(NullBuffer::from(valid.to_vec()))
}

/// All rows of a batch as JSON. What JSON lacks: decimals and numbers beyond all numbers are text, bytes are text in hex,
/// dates and times count from their beginning.
pub(crate) fn told(rows: &RecordBatch) -> Done<Value> {
    let rows = StructArray::from(rows.clone());
    (0..rows.len()).map(|row| value(&rows, row)).collect()
}

fn value(array: &dyn Array, row: usize) -> Done<Value> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::Float32 => float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Binary => hex(array.as_binary::<i32>().value(row)).into(),
        DataType::FixedSizeBinary(_) => hex(array.as_fixed_size_binary().value(row)).into(),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row).into(),
        DataType::Date32 => array.as_primitive::<Date32Type>().value(row).into(),
        DataType::Time64(TimeUnit::Microsecond) => array.as_primitive::<Time64MicrosecondType>().value(row).into(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().value(row).into()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().value(row).into()
        }
        DataType::List(_) => values(&array.as_list::<i32>().value(row))?.into(),
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let keys = entries.column(0).as_string::<i32>();
            let pairs = keys.iter().flatten().map(str::to_owned).zip(values(entries.column(1))?);
            Value::Object(pairs.collect())
        }
        DataType::Struct(fields) => Value::Object(object(fields, array.as_struct(), row)?),
        other => return Err(format!("no way to tell of a {other}").into()),
    })
}

fn values(array: &dyn Array) -> Done<Vec<Value>> {
    (0..array.len()).map(|row| value(array, row)).collect()
}

fn object(fields: &Fields, array: &StructArray, row: usize) -> Done<Map<String, Value>> {
    let member = |(field, column): (&Arc<Field>, &ArrayRef)| Ok((field.name().clone(), value(column, row)?));
    fields.iter().zip(array.columns()).map(member).collect()
}

pub(crate) fn float(value: f64) -> Value {
    match value {
        _ if value.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        _ => json!(value),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The rows without some of their columns.
pub(crate) fn without(rows: &RecordBatch, wanted: impl Fn(&Field) -> bool) -> Done<RecordBatch> {
    let fields = rows.schema_ref().fields();
    let columns: Vec<usize> = (0..fields.len()).filter(|at| wanted(&fields[*at])).collect();
    Ok(rows.project(&columns)?)
}
