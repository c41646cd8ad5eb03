//! Base files of the metadata table, with records of each of its partitions.

use std::collections::BTreeMap;

use hudini_format::bloom::{BloomFilter, BloomKind};
use hudini_format::hfile::{Options, Writer, info};
use hudini_format::metadata_record::{
    BloomFilterEntry, ColumnStats, FileEntry, FileId, IndexVersion, MetadataRecord, Partition, Payload,
    RecordIndexEntry, RecordSchema, SCHEMA_V8, SCHEMA_V9, StatValue, ValueType, key,
};
use hudini_format::name::BaseFileName;
use serde_json::{Value, json};

use crate::folder::{Done, Folder};
use crate::rows::{INSTANT, float, hex};

const KIND: &str = "metadata";
const PARTITION: &str = "city=Zürich/day=1";
const FILE: &str = "größe-0_0-1-0_20260307162459123.parquet";
const GROUPS: u32 = 7;

/// A record, what its key is made of, and what it means.
struct Sample {
    record: MetadataRecord,
    made_of: Value,
    means: Value,
}

impl Sample {
    fn new(key: impl Into<String>, made_of: Value, payload: Payload, means: Value) -> Self {
        Self { record: MetadataRecord::new(key, payload), made_of, means }
    }
}

pub(crate) fn write(folder: &mut Folder) -> Done {
    file(folder, "files", &Partition::Files, SCHEMA_V9, files())?;
    file(folder, "column_stats", &Partition::ColumnStats, SCHEMA_V9, column_stats())?;
    file(folder, "column_stats_of_old_releases", &Partition::ColumnStats, SCHEMA_V8, old_column_stats())?;
    file(folder, "partition_stats", &Partition::PartitionStats, SCHEMA_V9, partition_stats())?;
    file(folder, "bloom_filters", &Partition::BloomFilters, SCHEMA_V9, bloom_filters()?)?;
    file(folder, "record_index", &Partition::RecordIndex, SCHEMA_V9, record_index())?;
    file(folder, "secondary_index", &Partition::SecondaryIndex("größe".to_owned()), SCHEMA_V9, secondary_index())
}

fn file(folder: &mut Folder, sample: &str, partition: &Partition, schema: &str, mut records: Vec<Sample>) -> Done {
    let shape = RecordSchema::parse(schema)?;
    records.sort_by(|a, b| a.record.key.cmp(&b.record.key));
    let mut writer = Writer::new(Options::default())?;
    let mut filter = BloomFilter::simple(1000, 1e-6)?;
    for Sample { record, .. } in &records {
        writer.put(record.key.as_bytes(), &record.encode(&shape)?)?;
        filter.add(&record.key);
    }
    let (least, greatest) = (&records[0].record.key, &records[records.len() - 1].record.key);
    writer.info(info::SCHEMA, schema);
    writer.info(info::MIN_RECORD_KEY, least.as_str());
    writer.info(info::MAX_RECORD_KEY, greatest.as_str());
    writer.info(info::BLOOM_FILTER_TYPE, BloomKind::Simple.code());
    writer.meta_block("bloomFilter", filter.to_text().into_bytes());
    let name = BaseFileName {
        file_id: partition.file_id(3),
        write_token: "0-1-0".to_owned(),
        instant: INSTANT.to_owned(),
        extension: "hfile".to_owned(),
    };
    folder.put(KIND, sample, &name.to_string(), writer.finish()?)?;
    let made_of: Value = records.iter().map(|sample| sample.made_of.clone()).collect();
    folder.put(KIND, sample, "made_of.json", made_of.to_string())?;
    let mut told = Vec::new();
    for Sample { record, means, .. } in &records {
        let group = partition.file_group(IndexVersion::V2, &record.key, GROUPS)?;
        let mut holds = holds(record);
        let stats = holds.get_mut("ColumnStatsMetadata").and_then(Value::as_object_mut);
        if let Some(stats) = stats.filter(|_| !schema.contains("valueType")) {
            stats.remove("valueType");
        }
        told.push(json!({"key": record.key, "holds": holds, "means": means, "file_group": group}));
    }
    folder.tell(
        KIND,
        sample,
        json!({
            "records": told, "looked_up": told, "file_group": 3, "least": least, "greatest": greatest,
            "filter": filter.to_text(),
        }),
    );
    Ok(())
}

/// A record's fields that are not null, as the schema names them.
fn holds(record: &MetadataRecord) -> Value {
    let (name, part) = match &record.payload {
        Payload::Partitions(files) | Payload::Files(files) => {
            let entry = |(name, entry): (&String, &FileEntry)| {
                (name.clone(), json!({"size": entry.size, "isDeleted": entry.is_deleted}))
            };
            ("filesystemMetadata", Value::Object(files.iter().map(entry).collect()))
        }
        Payload::ColumnStats(stats) | Payload::PartitionStats(stats) => ("ColumnStatsMetadata", statistics(stats)),
        Payload::BloomFilter(entry) => (
            "BloomFilterMetadata",
            json!({"type": entry.kind, "timestamp": entry.instant, "bloomFilter": hex(&entry.filter), "isDeleted": entry.is_deleted}),
        ),
        Payload::RecordIndex(entry) => ("recordIndexMetadata", location(entry)),
        Payload::SecondaryIndex { is_deleted } => ("SecondaryIndexMetadata", json!({"isDeleted": is_deleted})),
    };
    json!({"key": record.key, "type": record.payload.number(), name: part})
}

fn statistics(stats: &ColumnStats) -> Value {
    let of_type = |of: &ValueType| json!({"typeOrdinal": of.ordinal, "additionalInfo": of.additional});
    json!({
        "fileName": stats.file_name, "columnName": stats.column_name,
        "minValue": stats.min_value.as_ref().map(wrapped), "maxValue": stats.max_value.as_ref().map(wrapped),
        "valueCount": stats.value_count, "nullCount": stats.null_count, "totalSize": stats.total_size,
        "totalUncompressedSize": stats.total_uncompressed_size,
        "isDeleted": stats.is_deleted, "isTightBound": stats.is_tight_bound,
        "valueType": stats.value_type.as_ref().map(of_type),
    })
}

fn wrapped(value: &StatValue) -> Value {
    use StatValue as S;
    match value {
        S::Boolean(value) => json!(["BooleanWrapper", value]),
        S::Int(value) => json!(["IntWrapper", value]),
        S::Long(value) => json!(["LongWrapper", value]),
        S::Float(value) => json!(["FloatWrapper", float((*value).into())]),
        S::Double(value) => json!(["DoubleWrapper", float(*value)]),
        S::Bytes(value) => json!(["BytesWrapper", hex(value)]),
        S::String(value) => json!(["StringWrapper", value]),
        S::Date(value) => json!(["DateWrapper", value]),
        S::Decimal(value) => json!(["DecimalWrapper", decimal(value)]),
        S::TimeMicros(value) => json!(["TimeMicrosWrapper", value]),
        S::TimestampMicros(value) => json!(["TimestampMicrosWrapper", value]),
        S::LocalDate(value) => json!(["LocalDateWrapper", value]),
        S::Array(_) => json!("no release writes arrays"),
    }
}

/// The samples of old releases hold this one.
fn decimal(bytes: &[u8]) -> &'static str {
    if bytes == [0x80] { "-0.000000000000128" } else { "0.000000000000005" }
}

fn location(entry: &RecordIndexEntry) -> Value {
    let (high, low, number, text, encoding) = match &entry.file_id {
        FileId::Uuid { bits, number } => ((bits >> 64) as i64, *bits as i64, number.unwrap_or(-1), "", 0),
        FileId::Text(text) => (-1, -1, -1, text.as_str(), 1),
    };
    json!({
        "partitionName": entry.partition, "fileIdHighBits": high, "fileIdLowBits": low, "fileIndex": number,
        "fileId": text, "instantTime": entry.instant_millis, "fileIdEncoding": encoding, "position": entry.position,
    })
}

fn files() -> Vec<Sample> {
    let list = |entries: &[(&str, FileEntry)]| -> BTreeMap<String, FileEntry> {
        entries.iter().map(|(name, entry)| ((*name).to_owned(), *entry)).collect()
    };
    let partitions = list(&[(".", FileEntry::new(0)), (PARTITION, FileEntry::new(0)), ("gone", FileEntry::deleted())]);
    let of_partition = list(&[
        (FILE, FileEntry::new(i64::MAX)),
        (".größe-0_1.log.1_0-1-0", FileEntry::new(1)),
        ("deleted.parquet", FileEntry::deleted()),
    ]);
    let of_none = list(&[("f1-0_0-1-0_1.parquet", FileEntry::new(1 << 40))]);
    vec![
        Sample::new(
            key::ALL_PARTITIONS,
            json!(["all"]),
            Payload::Partitions(partitions),
            json!({
                "there": [".", PARTITION], "gone": ["gone"],
            }),
        ),
        Sample::new(
            key::partition_name(PARTITION),
            json!(["files", PARTITION]),
            Payload::Files(of_partition),
            json!({
                "there": [".größe-0_1.log.1_0-1-0", FILE], "gone": ["deleted.parquet"],
            }),
        ),
        Sample::new(
            key::partition_name(""),
            json!(["files", ""]),
            Payload::Files(of_none),
            json!({
                "there": ["f1-0_0-1-0_1.parquet"], "gone": [],
            }),
        ),
    ]
}

fn stats(column: &str, min: StatValue, max: StatValue, value_type: Option<(i32, Option<&str>)>) -> ColumnStats {
    ColumnStats {
        file_name: Some(FILE.to_owned()),
        column_name: Some(column.to_owned()),
        min_value: Some(min),
        max_value: Some(max),
        value_count: Some(i64::MAX),
        null_count: Some(0),
        total_size: Some(1 << 40),
        total_uncompressed_size: Some(1 << 41),
        is_deleted: false,
        is_tight_bound: true,
        value_type: value_type.map(|(ordinal, more)| ValueType { ordinal, additional: more.map(str::to_owned) }),
    }
}

/// A type with precision and scale, bounds as they are stored, and as Java prints what they mean.
type OfType = (i32, Option<&'static str>, [StatValue; 2], [&'static str; 2]);

fn every_type() -> Vec<OfType> {
    use StatValue as S;
    let micros = 1_772_900_699_123_456;
    vec![
        (2, None, [S::Boolean(false), S::Boolean(true)], ["false", "true"]),
        (3, None, [S::Int(i32::MIN), S::Int(i32::MAX)], ["-2147483648", "2147483647"]),
        (4, None, [S::Long(i64::MIN), S::Long(i64::MAX)], ["-9223372036854775808", "9223372036854775807"]),
        (5, None, [S::Float(-0.5), S::Float(1.5)], ["-0.5", "1.5"]),
        (6, None, [S::Double(-1e-300), S::Double(0.1)], ["-1.0E-300", "0.1"]),
        (7, None, [S::String(String::new()), S::String("größe 🔑".to_owned())], ["", "größe 🔑"]),
        (8, None, [S::Bytes(vec![]), S::Bytes(vec![0, 0xff])], ["bytes:", "bytes:00ff"]),
        (9, None, [S::Bytes(vec![0; 3]), S::Bytes(vec![0x80; 3])], ["bytes:000000", "bytes:808080"]),
        (10, Some("10,2"), [S::Bytes(vec![0x80]), S::Bytes(vec![0x01, 0x00])], ["-1.28", "2.56"]),
        (
            11,
            None,
            [
                S::String("00000000-0000-0000-0000-000000000001".to_owned()),
                S::String("ffffffff-0000-0000-0000-000000000001".to_owned()),
            ],
            ["00000000-0000-0000-0000-000000000001", "ffffffff-0000-0000-0000-000000000001"],
        ),
        (12, None, [S::Int(-1), S::Int(20_519)], ["1969-12-31", "2026-03-07"]),
        (13, None, [S::Int(0), S::Int(86_399_999)], ["00:00", "23:59:59.999"]),
        (14, None, [S::Long(1), S::Long(86_399_999_999)], ["00:00:00.000001", "23:59:59.999999"]),
        (15, None, [S::Long(-1), S::Long(micros / 1000)], ["1969-12-31T23:59:59.999Z", "2026-03-07T16:24:59.123Z"]),
        (16, None, [S::Long(-1), S::Long(micros)], ["1969-12-31T23:59:59.999999Z", "2026-03-07T16:24:59.123456Z"]),
        (
            17,
            None,
            [S::Long(-1), S::Long(micros * 1000)],
            ["1969-12-31T23:59:59.999999999Z", "2026-03-07T16:24:59.123456Z"],
        ),
        (18, None, [S::Long(-1), S::Long(micros / 1000)], ["1969-12-31T23:59:59.999", "2026-03-07T16:24:59.123"]),
        (19, None, [S::Long(-1), S::Long(micros)], ["1969-12-31T23:59:59.999999", "2026-03-07T16:24:59.123456"]),
        (
            20,
            None,
            [S::Long(-1), S::Long(micros * 1000)],
            ["1969-12-31T23:59:59.999999999", "2026-03-07T16:24:59.123456"],
        ),
    ]
}

fn column_stats() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (ordinal, more, [min, max], [least, greatest]) in every_type() {
        let column = format!("größe.type_{ordinal}");
        let stats = stats(&column, min, max, Some((ordinal, more)));
        samples.push(of_column(PARTITION, stats, json!({"least": least, "greatest": greatest})));
    }
    let nothing = json!({"least": null, "greatest": null});
    let only_nulls = ColumnStats {
        min_value: None,
        max_value: None,
        null_count: Some(i64::MAX),
        ..stats("only_nulls", StatValue::Int(0), StatValue::Int(0), Some((1, None)))
    };
    let deleted = ColumnStats {
        file_name: Some(FILE.to_owned()),
        column_name: Some("gone".to_owned()),
        is_deleted: true,
        ..ColumnStats::default()
    };
    samples.push(of_column("", only_nulls, nothing.clone()));
    samples.push(of_column("", deleted, nothing));
    samples
}

fn old_column_stats() -> Vec<Sample> {
    use StatValue as S;
    let bounds = [
        ("boolean", S::Boolean(false), S::Boolean(true), "false", "true"),
        ("int", S::Int(-1), S::Int(1), "-1", "1"),
        ("long", S::Long(-1), S::Long(1), "-1", "1"),
        ("float", S::Float(-0.5), S::Float(0.5), "-0.5", "0.5"),
        ("double", S::Double(-0.5), S::Double(0.5), "-0.5", "0.5"),
        ("bytes", S::Bytes(vec![]), S::Bytes(vec![0xff]), "bytes:", "bytes:ff"),
        ("string", S::String(String::new()), S::String("ß".to_owned()), "", "ß"),
        ("date", S::Date(-1), S::Date(20_519), "1969-12-31", "2026-03-07"),
        ("decimal", S::Decimal(vec![0x80]), S::Decimal(vec![5]), "-1.28E-13", "5E-15"),
        (
            "timestamp",
            S::TimestampMicros(-1),
            S::TimestampMicros(1),
            "1969-12-31 23:59:59.999999",
            "1970-01-01 00:00:00.000001",
        ),
    ];
    let sample = |(column, min, max, least, greatest): (&str, S, S, &str, &str)| {
        of_column(PARTITION, stats(column, min, max, None), json!({"least": least, "greatest": greatest}))
    };
    bounds.into_iter().map(sample).collect()
}

fn of_column(partition: &str, stats: ColumnStats, means: Value) -> Sample {
    let column = stats.column_name.clone().unwrap_or_default();
    let made_of = json!(["column_stats", partition, FILE, column]);
    Sample::new(key::column_stats(&column, partition, FILE), made_of, Payload::ColumnStats(Box::new(stats)), means)
}

fn partition_stats() -> Vec<Sample> {
    let sample = |partition: &str, is_tight_bound| {
        let column = "größe";
        let stats = ColumnStats {
            file_name: Some(partition.to_owned()),
            is_tight_bound,
            ..stats(column, StatValue::Int(-1), StatValue::Int(1), Some((3, None)))
        };
        let means = json!({"least": "-1", "greatest": "1"});
        let made_of = json!(["partition_stats", partition, column]);
        Sample::new(key::partition_stats(column, partition), made_of, Payload::PartitionStats(Box::new(stats)), means)
    };
    vec![sample(PARTITION, true), sample("", false)]
}

fn bloom_filters() -> Done<Vec<Sample>> {
    let mut samples = Vec::new();
    for (partition, mut filter, is_deleted) in [
        (PARTITION, BloomFilter::dynamic(10, 0.01, 100)?, false),
        ("", BloomFilter::simple(10, 0.01)?, false),
        ("gone", BloomFilter::simple(10, 0.01)?, true),
    ] {
        filter.add("größe");
        let entry = BloomFilterEntry {
            kind: filter.kind().code().to_owned(),
            instant: INSTANT.to_owned(),
            filter: if is_deleted { vec![] } else { filter.to_text().into_bytes() },
            is_deleted,
        };
        let means = if is_deleted { json!(null) } else { json!(["größe"]) };
        let made_of = json!(["bloom_filters", partition, FILE]);
        samples.push(Sample::new(key::bloom_filter(partition, FILE), made_of, Payload::BloomFilter(entry), means));
    }
    Ok(samples)
}

fn record_index() -> Vec<Sample> {
    let places = [
        ("key-1", PARTITION, "ffffffff-0000-1111-8000-0123456789ab-0", None),
        ("größe:7,ts:8", "", "01234567-89ab-cdef-0123-456789abcdef-2147483647", Some(i64::MAX)),
        ("鍵 🔑", PARTITION, "01234567-89ab-cdef-0123-456789abcdef", None),
        ("null", "", "00000007-größe-0", Some(0)),
    ];
    let sample = |(key, partition, id, position): (&str, &str, &str, _)| {
        let entry = RecordIndexEntry {
            partition: partition.to_owned(),
            file_id: FileId::parse(id),
            instant_millis: 1_772_900_699_123,
            position,
        };
        let means = json!({"partition": partition, "file_id": id, "instant": INSTANT});
        Sample::new(key, json!(["record_index", key]), Payload::RecordIndex(entry), means)
    };
    places.into_iter().map(sample).collect()
}

fn secondary_index() -> Vec<Sample> {
    let values = [
        (Some("größe"), "key-1", false),
        (Some(""), "key-2", false),
        (None, "key-3", false),
        (Some("a$b\\c\0d"), "k$\\\0", true),
        (Some("🔑"), "", false),
    ];
    let sample = |(value, record_key, is_deleted): (Option<&str>, &str, _)| {
        let means = json!({"value": value, "record_key": record_key});
        let made_of = json!(["secondary_index", value, record_key]);
        let payload = Payload::SecondaryIndex { is_deleted };
        Sample::new(key::secondary(value, record_key), made_of, payload, means)
    };
    values.into_iter().map(sample).collect()
}
