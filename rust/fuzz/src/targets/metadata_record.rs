//! Records of the metadata table, their keys, and what two of one key are together.
//!
//! ```text
//! choice of schema (1) | schema text, 00 if the choice is neither of the two known | frames: key, value, key, value …
//! ```

use std::sync::LazyLock;

use hudini_format::metadata_record::{
    FileId, IndexVersion, MetadataRecord, Partition, RecordSchema, SCHEMA_V8, SCHEMA_V9, data_partition_of,
    file_group_of, key, merge,
};

use super::{Input, Target, check_error, decode, nothing_to_mend};

pub(super) const TARGET: Target = Target {
    name: "metadata_record",
    run,
    words: &[
        b"__all_partitions__",
        b"\x02\x02\x02\x02\x02",
        b"\x02\x06",
        b"$",
        b"\\$",
        b"\0\x12",
        b"HoodieMetadataRecord",
        b"ColumnStatsMetadata",
        b"secondary_index_idx",
        b"record-index-0000-0",
    ],
    mend: nothing_to_mend,
};

/// What the first byte chooses.
pub(crate) const V8: u8 = 0;
pub(crate) const V9: u8 = 1;
pub(crate) const OTHER: u8 = 2;

/// To parse them takes longer than to read a record.
static KNOWN: [LazyLock<RecordSchema>; 2] =
    [LazyLock::new(|| known_schema(SCHEMA_V8)), LazyLock::new(|| known_schema(SCHEMA_V9))];

fn known_schema(text: &str) -> RecordSchema {
    RecordSchema::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (text, known) = match input.choice() % 3 {
        V8 => (SCHEMA_V8, Some(&*KNOWN[0])),
        V9 => (SCHEMA_V9, Some(&*KNOWN[1])),
        _ => (input.text(), None),
    };
    let own = if known.is_none() { decode(text.as_bytes(), |_| RecordSchema::parse(text)) } else { None };
    let Some(schema) = known.or(own.as_ref()) else { return };
    let mut before: Option<MetadataRecord> = None;
    while let (Some(key), Some(value)) = (input.frame(), input.frame()) {
        run_key(&String::from_utf8_lossy(key));
        // A schema may have fields that take memory before any byte of a value.
        let both = [key, value, text.as_bytes()].concat();
        let Some(record) = decode(&both, |_| MetadataRecord::decode(key, value, schema)) else { continue };
        check_writing(&record, schema);
        if let Some(older) = before.take() {
            let twice = [both.as_slice(), &both].concat();
            let merged = decode(&twice, |_| merge(MetadataRecord { key: record.key.clone(), ..older }, record.clone()));
            merged.and_then(MetadataRecord::settle);
        }
        before = Some(record);
    }
}

/// A schema of the file's own may have no place for what it does not need to be read.
fn check_writing(record: &MetadataRecord, schema: &RecordSchema) {
    let written = match record.encode(schema) {
        Ok(written) => written,
        Err(error) => return check_error(&error),
    };
    let again = MetadataRecord::decode(record.key.as_bytes(), &written, schema);
    let again = again.unwrap_or_else(|error| panic!("what was encoded does not decode: {error}"));
    assert_eq!(format!("{again:?}"), format!("{record:?}"));
}

fn run_key(text: &str) {
    if let Ok((value, record_key)) = key::split_secondary(text) {
        let again = key::secondary(value.as_deref(), &record_key);
        assert_eq!(key::split_secondary(&again).ok(), Some((value, record_key)), "{text:?}");
    }
    if let Some(partition) = Partition::parse(text) {
        assert_eq!(partition.to_string(), text);
        assert_eq!(file_group_of(&partition.file_id(7)), Some(7));
    }
    let secondary = Partition::SecondaryIndex("idx".to_owned());
    for version in [IndexVersion::V1, IndexVersion::V2] {
        match secondary.file_group(version, text, 9) {
            Ok(group) => assert!(group < 9),
            Err(error) => check_error(&error),
        }
    }
    let within = Partition::RecordIndex.file_id_within(text, 3);
    assert_eq!((data_partition_of(&within).as_deref(), file_group_of(&within)), (Some(text), Some(3)));
    let _ = (data_partition_of(text), file_group_of(text));
    assert_eq!(FileId::parse(text).to_string(), text);
}
