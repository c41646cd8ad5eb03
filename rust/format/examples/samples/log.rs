//! Log files: each kind of block, alone and behind each other.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, StructArray, new_null_array};
use arrow_schema::{DataType, Field, Schema};
use hudini_format::hfile::{Codec, DEFAULT_BLOCK_BYTES, Options};
use hudini_format::log::block::ROLLBACK_COMMAND;
use hudini_format::log::{
    BlockKind, CdcMode, DECIMAL_SCALE, DeleteRecord, HeaderKey, OrderingValue, RowBlockWriter, cdc, encode_block,
    encode_deletes, hfile_block, rollback_command,
};
use hudini_format::name::LogFileName;
use hudini_format::positions::Positions;
use hudini_format::schema::text::without_meta_columns;
use hudini_format::schema::{Record, meta};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use crate::folder::{Done, Folder};
use crate::rows::{self, INSTANT, SCHEMA, hex, rows, told, without};

const KIND: &str = "log";
const BASE_INSTANT: &str = "20260306000000000";

/// A block's bytes, and what is in it.
pub(crate) type Block = (Vec<u8>, Value);

pub(crate) fn write(folder: &mut Folder) -> Done {
    let sparse = [0, 7, 65_536, 5_000_000_000];
    let dense: Vec<u64> = (0..every_ordering().len() as u64).collect();
    let (all, none) = (rows()?, rows()?.slice(0, 0));
    let partial = without(&all, |field| ["id", "größe", "tags"].contains(&field.name().as_str()))?;
    file(folder, "avro", &[avro(&all, &[])?])?;
    file(folder, "avro_no_rows", &[avro(&none, &[])?])?;
    file(folder, "avro_positions", &[at(&sparse, |headers| avro(&all, headers))?])?;
    file(folder, "avro_partial", &[avro_of(&partial, PARTIAL_SCHEMA, INSTANT, &[(HeaderKey::IsPartial, "true")])?])?;
    file(
        folder,
        "avro_compacted",
        &[avro(&all, &[(HeaderKey::CompactedBlockTimes, "20260101000000000,20260101000000001")])?],
    )?;
    file(folder, "parquet", &[parquet(&all)?])?;
    file(folder, "hfile_numbered", &[hfile(&all, SCHEMA, Codec::Gzip)?])?;
    file(folder, "hfile_keyed", &[hfile(&keyed_rows()?, KEYED_SCHEMA, Codec::None)?])?;
    file(folder, "deletes", &[deletes(&every_ordering(), &[])?])?;
    file(folder, "deletes_none", &[deletes(&[], &[])?])?;
    file(folder, "deletes_positions", &[at(&dense, |headers| deletes(&every_ordering(), headers))?])?;
    file(folder, "command", &[command()?])?;
    file(
        folder,
        "every_kind",
        &[
            avro(&all, &[])?,
            deletes(&every_ordering(), &[])?,
            command()?,
            parquet(&all)?,
            hfile(&all, SCHEMA, Codec::None)?,
            at(&sparse, |headers| avro(&all, headers))?,
        ],
    )?;
    for mode in CdcMode::ALL {
        let sample = format!("cdc_{}", mode.name().to_lowercase());
        file(folder, &sample, &[cdc_block(mode, &all)?])?;
        folder.put(KIND, &sample, "table.avsc", without_meta_columns(SCHEMA)?)?;
    }
    Ok(())
}

/// Blocks that this crate can read and Apache Hudi cannot, and what its refusal says.
pub(crate) fn write_refused(folder: &mut Folder) -> Done {
    let values = [
        ("time_as_ordering", OrderingValue::TimeMicros(1), "LocalTime"),
        ("null_in_ordering", OrderingValue::Array(vec![OrderingValue::Null]), "Union is malformed"),
    ];
    for (sample, ordering, because) in values {
        let record = DeleteRecord { key: Some("k".to_owned()), partition: None, ordering };
        let (bytes, _) = deletes(&[record], &[])?;
        folder.put("refused", sample, &name_of(sample).to_string(), bytes)?;
        folder.tell("refused", sample, json!({"as": KIND, "because": because}));
    }
    Ok(())
}

fn file(folder: &mut Folder, sample: &str, blocks: &[Block]) -> Done {
    let bytes: Vec<u8> = blocks.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
    folder.put(KIND, sample, &name_of(sample).to_string(), bytes)?;
    folder.tell(KIND, sample, blocks.iter().map(|(_, holds)| holds.clone()).collect());
    Ok(())
}

fn name_of(sample: &str) -> LogFileName {
    LogFileName {
        file_id: format!("{}-0", sample.replace('_', "-")),
        instant: INSTANT.to_owned(),
        version: 1,
        token: Some("0-1-0".to_owned()),
        cdc: sample.starts_with("cdc"),
    }
}

type Header<'a> = (HeaderKey, &'a str);

/// A block whose records have positions.
fn at(positions: &[u64], block: impl FnOnce(&[Header<'_>]) -> Done<Block>) -> Done<Block> {
    let text = positions.iter().copied().collect::<Positions>().to_header();
    let base = (HeaderKey::BaseFileInstantTimeOfRecordPositions, BASE_INSTANT);
    let (bytes, mut holds) = block(&[(HeaderKey::RecordPositions, &text), base])?;
    holds["positions"] = json!(positions);
    Ok((bytes, holds))
}

fn headers<'a>(instant: &'a str, schema: Option<&'a str>, more: &[Header<'a>]) -> Vec<Header<'a>> {
    let schema = schema.map(|schema| (HeaderKey::Schema, schema));
    [(HeaderKey::InstantTime, instant)].into_iter().chain(schema).chain(more.iter().copied()).collect()
}

fn tell(kind: BlockKind, headers: &[Header<'_>], records: Value) -> Value {
    let headers: serde_json::Map<_, _> =
        headers.iter().map(|(key, text)| (key.name().to_owned(), json!(text))).collect();
    json!({"kind": kind.name(), "headers": headers, "positions": [], "records": records})
}

fn avro(rows: &RecordBatch, more: &[Header<'_>]) -> Done<Block> {
    avro_of(rows, SCHEMA, INSTANT, more)
}

pub(crate) fn avro_of(rows: &RecordBatch, schema: &str, instant: &str, more: &[Header<'_>]) -> Done<Block> {
    row_block(BlockKind::AvroData, rows, schema, &headers(instant, Some(schema), more))
}

fn row_block(kind: BlockKind, rows: &RecordBatch, schema: &str, headers: &[Header<'_>]) -> Done<Block> {
    let mut block = RowBlockWriter::new(kind, headers.iter().copied());
    block.write_rows(&Record::parse(schema)?, rows)?;
    Ok((block.finish()?, tell(kind, headers, told(rows)?)))
}

const PARTIAL_SCHEMA: &str = r#"{"type":"record","name":"trips_record","namespace":"hoodie.trips","fields":[
{"name":"id","type":"string"},{"name":"größe","type":["null","int"],"default":null},
{"name":"tags","type":["null",{"type":"array","items":["null","string"]}],"default":null}]}"#;

const PARQUET_SCHEMA: &str = r#"{"type":"record","name":"trips_record","namespace":"hoodie.trips","fields":[
{"name":"_hoodie_record_key","type":["null","string"],"default":null},{"name":"id","type":"string"},
{"name":"flag","type":["null","boolean"],"default":null},{"name":"größe","type":["null","int"],"default":null},
{"name":"ratio","type":["null","float"],"default":null},{"name":"weight","type":["null","double"],"default":null},
{"name":"raw","type":["null","bytes"],"default":null},
{"name":"day","type":["null",{"type":"int","logicalType":"date"}],"default":null},
{"name":"at","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null}]}"#;

fn parquet(rows: &RecordBatch) -> Done<Block> {
    let schema = Record::parse(PARQUET_SCHEMA)?;
    parquet_of(&without(rows, |field| schema.field(field.name()).is_some())?, PARQUET_SCHEMA, INSTANT)
}

/// The block is ours, the Parquet file in it is not.
pub(crate) fn parquet_of(rows: &RecordBatch, schema: &str, instant: &str) -> Done<Block> {
    let footer = KeyValue::new("parquet.avro.schema".to_owned(), schema.to_owned());
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![footer])).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties))?;
    writer.write(rows)?;
    let headers = headers(instant, Some(schema), &[]);
    let block = encode_block(BlockKind::ParquetData, &headers, &writer.into_inner()?)?;
    Ok((block, tell(BlockKind::ParquetData, &headers, told(rows)?)))
}

fn hfile(rows: &RecordBatch, schema: &str, codec: Codec) -> Done<Block> {
    hfile_of(rows, schema, INSTANT, codec)
}

pub(crate) fn hfile_of(rows: &RecordBatch, schema: &str, instant: &str, codec: Codec) -> Done<Block> {
    let content = hfile_block::encode(schema, rows, Options { codec, block_bytes: DEFAULT_BLOCK_BYTES })?;
    let headers = headers(instant, Some(schema), &[]);
    let block = encode_block(BlockKind::HfileData, &headers, &content)?;
    Ok((block, tell(BlockKind::HfileData, &headers, told(rows)?)))
}

const KEYED_SCHEMA: &str = r#"{"type":"record","name":"index_record","namespace":"hoodie.index","fields":[
{"name":"key","type":"string"},{"name":"value","type":["null","string"],"default":null}]}"#;

/// More than one HFile block, in the order of the keys as bytes, in which they are read again.
fn keyed_rows() -> Done<RecordBatch> {
    let schema = Arc::new(Record::parse(KEYED_SCHEMA)?.to_arrow()?);
    let mut keys: Vec<String> = (0..400).map(|n| format!("{}-{n}", ["k", "ß", "鍵", "🔑"][n % 4])).collect();
    keys.sort();
    let values = keys.iter().enumerate().map(|(n, key)| (n % 7 > 0).then(|| key.repeat(n)));
    let values: ArrayRef = Arc::new(values.collect::<StringArray>());
    Ok(RecordBatch::try_new(schema, vec![Arc::new(StringArray::from(keys)), values])?)
}

fn deletes(records: &[DeleteRecord], more: &[Header<'_>]) -> Done<Block> {
    deletes_at(records, INSTANT, more)
}

pub(crate) fn deletes_at(records: &[DeleteRecord], instant: &str, more: &[Header<'_>]) -> Done<Block> {
    let headers = headers(instant, None, more);
    let record = |record: &DeleteRecord| json!({"key": record.key, "partition": record.partition, "ordering": ordering(&record.ordering)});
    let holds = records.iter().map(record).collect();
    Ok((encode_deletes(&headers, records)?, tell(BlockKind::Delete, &headers, holds)))
}

fn every_ordering() -> Vec<DeleteRecord> {
    use OrderingValue as O;
    let most_digits = 10_i128.pow(30) - 1;
    let values = [
        O::Null,
        O::NONE,
        O::Bool(true),
        O::Bool(false),
        O::Int(i32::MIN),
        O::Long(i64::MAX),
        O::Float(0.1),
        O::Double(-1e-300),
        O::Bytes(vec![]),
        O::Bytes(vec![0, 0xff, 0x80]),
        O::String(String::new()),
        O::String("größer 🔑".to_owned()),
        O::Date(-719_162),
        O::Date(20_000),
        O::Decimal(0),
        O::Decimal(128),
        O::Decimal(-128),
        O::Decimal(most_digits),
        O::Decimal(-most_digits),
        O::TimestampMicros(-1),
        O::TimestampMicros(1_800_000_000_000_000),
        O::Array(vec![O::Int(1), O::String("ß".to_owned()), O::LocalDate(20_000), O::Decimal(5)]),
        O::Array(vec![O::Long(-1), O::Double(0.5), O::Bool(true), O::Float(1.5)]),
    ];
    let keys = [Some("key-1"), Some("größe:\"7\"\\\n"), Some("鍵 🔑"), Some("")];
    let partitions = [Some("city=Zürich"), Some(""), None];
    let record = |(n, ordering): (usize, OrderingValue)| DeleteRecord {
        key: keys[n % keys.len()].map(|key| format!("{key}{n}")),
        partition: partitions[n % partitions.len()].map(str::to_owned),
        ordering,
    };
    values.into_iter().enumerate().map(record).collect()
}

/// The name of the union's branch, and the value as JSON has it.
fn ordering(value: &OrderingValue) -> Value {
    use OrderingValue as O;
    match value {
        O::Null => Value::Null,
        O::Bool(value) => json!({"Bool": value}),
        O::Int(value) => json!({"Int": value}),
        O::Long(value) => json!({"Long": value}),
        O::Float(value) => json!({"Float": rows::float((*value).into())}),
        O::Double(value) => json!({"Double": rows::float(*value)}),
        O::Bytes(value) => json!({"Bytes": hex(value)}),
        O::String(value) => json!({"String": value}),
        O::Date(days) => json!({"Date": days}),
        O::Decimal(unscaled) => json!({"Decimal": [unscaled.to_string(), DECIMAL_SCALE]}),
        O::TimeMicros(value) => json!({"TimeMicros": value}),
        O::TimestampMicros(value) => json!({"TimestampMicros": value}),
        O::LocalDate(days) => json!({"LocalDate": days}),
        O::Array(values) => json!({"Array": values.iter().map(ordering).collect::<Vec<_>>()}),
        other => json!(format!("{other:?}")),
    }
}

fn command() -> Done<Block> {
    let headers = [
        (HeaderKey::InstantTime, INSTANT),
        (HeaderKey::TargetInstantTime, BASE_INSTANT),
        (HeaderKey::CommandBlockType, ROLLBACK_COMMAND),
    ];
    Ok((rollback_command(INSTANT, BASE_INSTANT)?, tell(BlockKind::Command, &headers, json!("ROLLBACK_BLOCK"))))
}

/// An insert, an update and a delete.
fn cdc_block(mode: CdcMode, table: &RecordBatch) -> Done<Block> {
    let schema = mode.schema(SCHEMA)?;
    let row = StructArray::from(without(table, |field| !meta::is_meta(field.name()))?);
    let shape = Record::parse(&schema)?.to_arrow()?;
    let row_type = shape.field_with_name(cdc::BEFORE).map_or(DataType::Null, |field| field.data_type().clone());
    let one = |at: usize| -> ArrayRef { Arc::new(row.slice(at, 1)) };
    let images = |images: [Option<usize>; 3]| -> Done<ArrayRef> {
        let parts = images.map(|image| image.map_or_else(|| new_null_array(row.data_type(), 1), one));
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        let column = arrow_select::concat::concat(&parts)?;
        if *column.data_type() == row_type { Ok(column) } else { Ok(arrow_cast::cast(&column, &row_type)?) }
    };
    let column = |field: &Arc<Field>| -> Done<ArrayRef> {
        Ok(match field.name().as_str() {
            cdc::OPERATION => Arc::new(StringArray::from(vec![cdc::INSERT, cdc::UPDATE, cdc::DELETE])),
            cdc::INSTANT => Arc::new(StringArray::from(vec![INSTANT; 3])),
            cdc::KEY => Arc::new(StringArray::from(vec![Some("key-1"), Some("鍵 🔑"), Some("")])),
            cdc::BEFORE => images([None, Some(1), Some(2)])?,
            cdc::AFTER => images([Some(0), Some(2), None])?,
            other => return Err(format!("no column '{other}'").into()),
        })
    };
    let columns = shape.fields().iter().map(column).collect::<Done<Vec<_>>>()?;
    let batch = RecordBatch::try_new(Arc::new(Schema::clone(&shape)), columns)?;
    row_block(BlockKind::CdcData, &batch, &schema, &headers(INSTANT, Some(&schema), &[]))
}
