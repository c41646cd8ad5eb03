//! Every record of the metadata tables of the golden tables, and what their keys must be.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{golden_files, golden_hfiles};
use hudini_format::hfile::Reader;
use hudini_format::metadata_record::{
    FileId, IndexVersion, MetadataRecord, Partition, Payload, RecordSchema, SCHEMA_V8, SCHEMA_V9, file_group_of, key,
    merge,
};

struct Found {
    case: String,
    partition: Partition,
    file_id: String,
    record: MetadataRecord,
}

/// All records, each decoded with the schema of its file, and found to encode to the same bytes.
fn records() -> Vec<Found> {
    let mut schemas: BTreeMap<String, RecordSchema> = BTreeMap::new();
    let mut found = Vec::new();
    for hfile in golden_hfiles() {
        let file = &hfile.file;
        let reader = Reader::open(&file.bytes).unwrap();
        let text = hfile.block_schema.as_deref().or(reader.info().schema().unwrap()).unwrap();
        let schema = schemas
            .entry(text.to_owned())
            .or_insert_with(|| RecordSchema::parse(text).unwrap_or_else(|e| panic!("{e}")));
        let partition = file.path.split('/').rev().nth(1).unwrap();
        let file_id = file.name().trim_start_matches('.').split('_').next().unwrap();
        for entry in reader.entries().map(Result::unwrap) {
            let record = MetadataRecord::decode(&entry.key, &entry.value, schema);
            let record = record.unwrap_or_else(|e| panic!("{}: {e}", file.place()));
            let again = record.encode(schema).unwrap();
            // Apache Hudi writes maps in the order of their hashes.
            if !matches!(&record.payload, Payload::Files(files) | Payload::Partitions(files) if files.len() > 1) {
                assert_eq!(again, entry.value, "{}: {}", file.place(), record.key);
            }
            assert_eq!(MetadataRecord::decode(&entry.key, &again, schema).unwrap(), record);
            let partition = Partition::parse(partition).unwrap();
            found.push(Found { case: file.case.clone(), partition, file_id: file_id.to_owned(), record });
        }
    }
    assert!(schemas.contains_key(SCHEMA_V8) && schemas.contains_key(SCHEMA_V9));
    found
}

/// For each case: the partition of every file that its metadata table ever listed.
fn listed(records: &[Found]) -> BTreeMap<&str, BTreeMap<&str, &str>> {
    let mut cases: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for found in records {
        if let Payload::Files(files) = &found.record.payload {
            let path = key::partition_path(&found.record.key);
            cases.entry(&found.case).or_default().extend(files.keys().map(|name| (name.as_str(), path)));
        }
    }
    cases
}

#[test]
fn keys_follow_from_what_they_stand_for() {
    let records = records();
    let listed = listed(&records);
    let mut kinds = BTreeSet::new();
    for Found { case, partition, record, .. } in &records {
        let files = &listed[case.as_str()];
        kinds.insert((record.payload.number(), partition.to_string()));
        match (&record.payload, partition) {
            (Payload::Partitions(partitions), Partition::Files) => {
                assert_eq!(record.key, key::ALL_PARTITIONS);
                assert!(partitions.keys().all(|name| !name.is_empty()));
            }
            (Payload::Files(_), Partition::Files) => assert_ne!(record.key, key::ALL_PARTITIONS),
            (Payload::ColumnStats(stats), Partition::ColumnStats | Partition::ExpressionIndex(_)) => {
                let (column, file) = (stats.column_name.as_deref().unwrap(), stats.file_name.as_deref().unwrap());
                assert_eq!(record.key, key::column_stats(column, files[file], file), "{case}");
                assert_eq!(stats.min().unwrap().is_some(), stats.max().unwrap().is_some());
            }
            (Payload::PartitionStats(stats), Partition::PartitionStats) => {
                let (column, path) = (stats.column_name.as_deref().unwrap(), stats.file_name.as_deref().unwrap());
                assert_eq!(record.key, key::partition_stats(column, path), "{case}");
            }
            (Payload::PartitionStats(stats), Partition::ExpressionIndex(_)) => {
                let (column, path) = (stats.column_name.as_deref().unwrap(), stats.file_name.as_deref().unwrap());
                assert_eq!(record.key, key::expression_partition_stats(column, path), "{case}");
            }
            (Payload::BloomFilter(_), Partition::BloomFilters | Partition::ExpressionIndex(_)) => {
                assert!(files.iter().any(|(file, path)| key::bloom_filter(path, file) == record.key), "{case}");
            }
            (Payload::RecordIndex(entry), Partition::RecordIndex) => {
                assert!(matches!(entry.file_id, FileId::Uuid { .. }), "{case}: {}", entry.file_id);
                let prefix = entry.file_id.to_string();
                assert!(files.iter().any(|(f, path)| *path == entry.partition && f.contains(&prefix)), "{case}");
            }
            (Payload::SecondaryIndex { .. }, Partition::SecondaryIndex(_)) => {
                let (value, record_key) = key::split_secondary(&record.key).unwrap();
                assert_eq!(key::secondary(value.as_deref(), &record_key), record.key, "{case}");
            }
            (payload, partition) => panic!("{case}: record of type {} in {partition}", payload.number()),
        }
    }
    let numbers: BTreeSet<_> = kinds.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn keys_are_in_the_file_group_that_their_hash_names() {
    let mut groups: BTreeMap<(String, Partition), BTreeSet<String>> = BTreeMap::new();
    let is_slice_file =
        |path: &str| path.contains("/.hoodie/metadata/") && (path.ends_with(".hfile") || path.contains(".log."));
    for file in golden_files(is_slice_file) {
        let partition = Partition::parse(file.path.split('/').rev().nth(1).unwrap()).unwrap();
        let file_id = file.name().trim_start_matches('.').split('_').next().unwrap().to_owned();
        groups.entry((file.case, partition)).or_default().insert(file_id);
    }
    let mut versions = BTreeMap::new();
    for file in golden_files(|path| path == "table/.hoodie/.index_defs/index.json") {
        let json: serde_json::Value = serde_json::from_slice(&file.bytes).unwrap();
        for (name, definition) in json["indexDefinitions"].as_object().unwrap() {
            versions.insert((file.case.clone(), name.clone()), definition["version"] == "V2");
        }
    }
    for Found { case, partition, file_id, record } in records() {
        let group_count = groups[&(case.clone(), partition.clone())].len() as u32;
        let second = versions.get(&(case.clone(), partition.to_string())) == Some(&true);
        let version = if second { IndexVersion::V2 } else { IndexVersion::V1 };
        let group = partition.file_group(version, &record.key, group_count).unwrap();
        assert_eq!(file_group_of(&file_id), Some(group), "{case}: {partition}: {}", record.key);
        assert_eq!(partition.file_id(group), file_id);
    }
}

/// The newest list of each table that was only added to names the files that are there.
#[test]
fn merged_lists_are_the_files_of_the_table() {
    for case in ["cow_core_v9", "mor_core_v9", "cow_core_v8", "mor_core_v6", "cow_nonpartitioned_v9"] {
        let mut merged: BTreeMap<String, MetadataRecord> = BTreeMap::new();
        let mut hfiles: Vec<_> = golden_hfiles().into_iter().filter(|hfile| hfile.file.case == case).collect();
        // Base files in front of logs, logs by instant.
        hfiles.sort_by_key(|hfile| (hfile.block_schema.is_some(), hfile.file.name().to_owned()));
        for hfile in hfiles.iter().filter(|hfile| hfile.file.path.contains("/metadata/files/")) {
            let reader = Reader::open(&hfile.file.bytes).unwrap();
            let text = hfile.block_schema.as_deref().or(reader.info().schema().unwrap()).unwrap();
            let schema = RecordSchema::parse(text).unwrap();
            for entry in reader.entries().map(Result::unwrap) {
                let newer = MetadataRecord::decode(&entry.key, &entry.value, &schema).unwrap();
                let record = match merged.remove(&newer.key) {
                    Some(older) => merge(older, newer).unwrap(),
                    None => newer,
                };
                merged.insert(record.key.clone(), record);
            }
        }
        let mut expected: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
        for file in golden_files(|path| !path.contains("/.hoodie/") && !path.ends_with(".hoodie_partition_metadata")) {
            if file.case == case && !file.name().ends_with(".crc") {
                let folder =
                    file.path.strip_prefix("table/").unwrap().rsplit_once('/').map_or("", |(folder, _)| folder);
                let sizes = expected.entry(key::partition_name(folder).to_owned()).or_default();
                sizes.insert(file.name().to_owned(), file.bytes.len() as i64);
            }
        }
        let partitions = merged.remove(key::ALL_PARTITIONS).unwrap();
        let Payload::Partitions(partitions) = partitions.settle().unwrap().payload else { panic!("{case}") };
        assert_eq!(partitions.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{case}");
        for (name, record) in merged {
            let Payload::Files(files) = record.settle().unwrap().payload else { panic!("{case}") };
            let sizes: BTreeMap<_, _> = files.into_iter().map(|(name, file)| (name, file.size)).collect();
            assert_eq!(sizes, expected[&name], "{case}: {name}");
        }
    }
}
