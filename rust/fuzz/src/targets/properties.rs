//! Properties files and the files of partitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use hudini_format::key::KeyConfig;
use hudini_format::properties::{PartitionMetadata, Properties};

use super::{Target, check_error, decode, decode_declared, nothing_to_mend};

/// What a row holds in every column: a date, a number, a name.
const VALUES: [&str; 3] = ["2026-03-07 16:24:59", "1772900699", "a/b"];

pub(super) const TARGET: Target = Target {
    name: "properties",
    run,
    words: &[
        b"hoodie.table.name=",
        b"hoodie.table.checksum=",
        b"hoodie.database.name=",
        b"commitTime=",
        b"partitionDepth=",
        b"\\\n",
        b"\r\n",
        b"\\u00e9",
        b"\\uD83D\\uDE00",
        b"#",
        b"!",
        b"\\=",
        b" : ",
        b"hoodie.table.recordkey.fields=a,b",
        b"hoodie.table.partition.fields=a:TIMESTAMP,b:SIMPLE",
        b"hoodie.table.keygenerator.type=CUSTOM",
        b"hoodie.keygen.timebased.timestamp.type=DATE_STRING",
        b"hoodie.keygen.timebased.input.dateformat=yyyy-MM-dd HH:mm:ss",
        b"hoodie.keygen.timebased.output.dateformat=yyyy/MM/dd",
        b"hoodie.keygen.timebased.timezone=GMT+01:00",
    ],
    mend: nothing_to_mend,
};

fn run(bytes: &[u8]) {
    let Some(properties) = decode(bytes, Properties::parse) else { return };
    if let Err(error) = properties.verify_checksum() {
        check_error(&error);
    }
    let written = properties.to_bytes("", "");
    let again = Properties::parse(&written).unwrap_or_else(|error| panic!("{error}\n{written:?}"));
    assert!(again.iter().eq(properties.iter()), "{properties:?} became {again:?}");
    if let Some(config) = decode(bytes, |_| KeyConfig::from_properties(&properties)) {
        check_keys(&config, bytes);
    }
    if let Some(partition) = decode(bytes, PartitionMetadata::parse) {
        assert_eq!(PartitionMetadata::parse(&partition.to_bytes("date")).ok(), Some(partition));
    }
}

/// A row of texts through the key generator that the properties describe.
fn check_keys(config: &KeyConfig, bytes: &[u8]) {
    let fields = config.key_fields.iter().chain(config.partition_fields.iter().map(|field| &field.name));
    let names: BTreeSet<&String> = fields.filter(|name| !name.contains('.')).collect();
    let value = |at: usize| Arc::new(StringArray::from(vec![VALUES[at % VALUES.len()]])) as ArrayRef;
    let Ok(batch) = RecordBatch::try_from_iter(names.iter().enumerate().map(|(at, name)| (name, value(at)))) else {
        return;
    };
    // Each name stands for a value.
    let declared = names.len() * 32;
    decode_declared(bytes, declared, |_| config.record_keys(&batch));
    decode_declared(bytes, declared, |_| config.partition_paths(&batch));
}
