use std::collections::BTreeMap;

use serde_json::json;

use super::*;

fn commit() -> CommitMetadata {
    let stat = WriteStat {
        file_id: Some("f-0".into()),
        path: Some("p/f-0_0-0-0_1.parquet".into()),
        prev_commit: Some(NO_PREVIOUS_COMMIT.into()),
        num_writes: Some(3),
        log_version: Some(1),
        log_files: Some(vec!["a".into()]),
        runtime_stats: Some(RuntimeStats { total_create_time: Some(5), ..Default::default() }),
        ..WriteStat::zeroed()
    };
    CommitMetadata {
        partition_to_write_stats: Some(BTreeMap::from([("p".to_owned(), vec![stat])])),
        compacted: Some(false),
        extra_metadata: Some(BTreeMap::from([("schema".to_owned(), "{}".to_owned())])),
        operation_type: Some("UPSERT".into()),
        ..Default::default()
    }
}

#[test]
fn commits_round_trip() {
    let plain = commit();
    assert_eq!(CommitMetadata::decode(&plain.encode().unwrap()).unwrap(), plain);
    let replace = CommitMetadata {
        partition_to_replace_file_ids: Some(BTreeMap::from([("p".to_owned(), vec!["g-0".to_owned()])])),
        ..commit()
    };
    assert_eq!(CommitMetadata::decode(&replace.encode().unwrap()).unwrap(), replace);
}

#[test]
fn the_header_shows_the_schema_text_of_apache_hudi() {
    let bytes = commit().encode().unwrap();
    let text = include_str!("../schemas/HoodieCommitMetadata.avsc");
    assert!(bytes.windows(text.len()).any(|w| w == text.as_bytes()));
    assert_eq!(bytes, commit().encode().unwrap(), "equal values make equal files");
}

#[test]
fn json_of_layout_1() {
    let json = br#"{"partitionToWriteStats":{"p":[{"fileId":"f","numWrites":2,"recordsStats":{"val":{}},
        "runtimeStats":{"totalScanTime":0,"totalUpsertTime":0,"totalCreateTime":7}}]},
        "compacted":false,"extraMetadata":{"schema":"s"},"operationType":"INSERT"}"#;
    let commit = CommitMetadata::decode(json).unwrap();
    assert_eq!(commit.schema(), Some("s"));
    assert_eq!(commit.write_stats().next().unwrap().num_writes, Some(2));
}

#[test]
fn an_empty_file_is_an_empty_commit_and_junk_is_refused() {
    assert_eq!(CommitMetadata::decode(b"").unwrap(), CommitMetadata::default());
    for junk in [&b"junk"[..], b"Obj\x01", b"Obj\x01\x02\x16avro.schema\x04{}\x00", b"{\"compacted\": 7}"] {
        let e = CommitMetadata::decode(junk).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::CorruptFile);
    }
}

#[test]
fn every_cut_of_a_commit_is_an_error() {
    let bytes = commit().encode().unwrap();
    for end in 1..bytes.len() {
        assert!(CommitMetadata::decode(&bytes[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn rollbacks_and_compactions_round_trip() {
    let plan = RollbackPlan {
        instant_to_rollback: Some(InstantInfo {
            commit_time: "1".into(),
            action: "commit".into(),
            ..Default::default()
        }),
        rollback_requests: Some(vec![RollbackRequest {
            partition_path: "p".into(),
            file_id: Some("f".into()),
            latest_base_instant: Some("1".into()),
            files_to_be_deleted: vec!["/t/p/f".into()],
            log_blocks_to_be_deleted: Some(BTreeMap::new()),
            ..Default::default()
        }]),
        version: Some(1),
        ..Default::default()
    };
    assert_eq!(RollbackPlan::decode(&plan.encode().unwrap()).unwrap(), plan);

    let done = RollbackMetadata {
        start_rollback_time: "2".into(),
        total_files_deleted: 1,
        commits_rollback: vec!["1".into()],
        partition_metadata: BTreeMap::from([("p".to_owned(), RollbackPartitionMetadata::default())]),
        version: Some(1),
        ..Default::default()
    };
    assert_eq!(RollbackMetadata::decode(&done.encode().unwrap()).unwrap(), done);

    let compaction = CompactionPlan {
        operations: Some(vec![CompactionOperation {
            metrics: Some(BTreeMap::from([("TOTAL_LOG_FILES".to_owned(), 1.0)])),
            delta_file_paths: Some(vec!["l".into()]),
            ..Default::default()
        }]),
        version: Some(2),
        preserve_hoodie_metadata: Some(false),
        ..Default::default()
    };
    assert_eq!(CompactionPlan::decode(&compaction.encode().unwrap()).unwrap(), compaction);
}

const LATER: &str = r#"{"type":"record","name":"HoodieCleanMetadata","namespace":"org.apache.hudi.avro.model","fields":[
    {"name":"startCleanTime","type":"string"},
    {"name":"later","type":["null",{"type":"map","values":["null","string"]}],"default":null},
    {"name":"timeTakenInMillis","type":"long"},
    {"name":"odd","type":["null","int",{"type":"fixed","name":"F","size":3},{"type":"record","name":"R","fields":[
        {"name":"d","type":"double"},{"name":"b","type":"bytes"},{"name":"e","type":{"type":"enum","name":"E","symbols":["X","Y"]}}]}]},
    {"name":"totalFilesDeleted","type":"int"},
    {"name":"earliestCommitToRetain","type":"string"},
    {"name":"partitionMetadata","type":{"type":"map","values":{"type":"record","name":"HoodieCleanPartitionMetadata","fields":[
        {"name":"partitionPath","type":"string"},{"name":"policy","type":"string"},
        {"name":"deletePathPatterns","type":{"type":"array","items":"string"}},
        {"name":"seconds","type":"float"},
        {"name":"successDeleteFiles","type":{"type":"array","items":"string"}},
        {"name":"failedDeleteFiles","type":{"type":"array","items":"string"}}]}}}]}"#;

/// A datum of `LATER`; `odd` is what stands for its union.
fn later(odd: &[u8]) -> Vec<u8> {
    let head = b"\x021\x02\x04\x02k\x02\x02v\x02n\x00\x00\x0a";
    let tail = b"\x06\x027\x02\x02p\x02p\x02c\x00\x00\x00\x80\x3f\x02\x02f\x00\x00\x00";
    container::write(LATER, &[head, odd, tail].concat())
}

#[test]
fn fields_of_newer_releases_are_kept_to_the_byte() {
    let record = [&b"\x06"[..], &f64::NAN.to_le_bytes(), b"\x04\x00\xff\x02"].concat();
    let cases: [(&[u8], serde_json::Value); 4] = [
        (b"\x00", json!(null)),
        (b"\x02\x07", json!({"int": -4})),
        (b"\x04\x01\x80\xff", json!({"fixed": "\u{1}\u{80}\u{ff}"})),
        (&record, json!({"org.apache.hudi.avro.model.R": {"d": "NaN", "b": "\u{0}\u{ff}", "e": "Y"}})),
    ];
    for (odd, shown) in cases {
        let bytes = later(odd);
        let clean = CleanMetadata::decode(&bytes).unwrap();
        assert_eq!((clean.start_clean_time.as_str(), clean.earliest_commit_to_retain.as_str()), ("1", "7"));
        assert_eq!((clean.time_taken_in_millis, clean.total_files_deleted), (5, 3));
        assert_eq!(clean.version, Some(1), "a field that the file lacks has its default");
        assert_eq!(clean.extra.get("later"), Some(&json!({"k": "v", "n": null})));
        assert_eq!(clean.extra.get("odd"), Some(&shown));
        let partition = &clean.partition_metadata["p"];
        assert_eq!(partition.extra.get("seconds"), Some(&json!(1.0)));
        assert_eq!(partition.success_delete_files, ["f"]);
        assert_eq!(clean.writer_schema.text(), Some(LATER));
        assert_eq!(clean.encode().unwrap(), bytes);
        assert_eq!(to_json(&bytes).unwrap()["odd"], shown);
    }
}

/// Of every type, all that an outline passes over.
const MANY: &str = r#"{"type":"record","name":"HoodieCommitMetadata","fields":[
    {"name":"n","type":"null"},{"name":"b","type":"boolean"},{"name":"i","type":"int"},{"name":"l","type":"long"},
    {"name":"f","type":"float"},{"name":"d","type":"double"},{"name":"s","type":"string"},{"name":"y","type":"bytes"},
    {"name":"x","type":{"type":"fixed","name":"F","size":3}},
    {"name":"e","type":{"type":"enum","name":"E","symbols":["X","Y"]}},
    {"name":"c","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
    {"name":"z","type":{"type":"fixed","name":"Z","size":2,"logicalType":"decimal","precision":3,"scale":1}},
    {"name":"t","type":{"type":"long","logicalType":"timestamp-micros"}},
    {"name":"a","type":{"type":"array","items":"long"}},{"name":"m","type":{"type":"map","values":"string"}},
    {"name":"u","type":["null","string",{"type":"record","name":"R","fields":[{"name":"q","type":"int"}]}]},
    {"name":"operationType","type":["null","string"]}]}"#;

#[test]
fn an_outline_passes_over_what_it_does_not_know() {
    let numbers = [&b"\x01\x0e\xac\x02"[..], &1.5_f32.to_le_bytes(), &f64::NAN.to_le_bytes()].concat();
    let texts = b"\x04hi\x02\xff\x01\x02\x03\x02\x02\x7f\x00\x01\x80\x01";
    // Two items, a block that says its length in bytes, and one more item.
    let lists = b"\x04\x02\x80\x01\x03\x04\x02\x02\x02\x06\x00\x02\x02k\x02v\x00";
    let datum = [&numbers[..], texts, lists, b"\x04\x0a", b"\x02\x0cUPSERT"].concat();
    let outline = CommitOutline::decode(&container::write(MANY, &datum)).unwrap();
    assert_eq!(outline, CommitOutline { operation_type: Some("UPSERT".to_owned()), ..CommitOutline::default() });
    for end in 0..datum.len() {
        assert!(CommitOutline::decode(&container::write(MANY, &datum[..end])).is_err(), "cut at {end}");
    }
    assert_eq!(CommitOutline::decode(b"").unwrap(), CommitOutline::default());
}

#[test]
fn an_outline_has_the_first_files_with_rows() {
    let stat = |number: i64| WriteStat {
        path: Some(format!("f{number:04}")),
        num_inserts: Some(number % 2),
        num_update_writes: Some(if number == 2 { 300 } else { 0 }),
        // Texts whose lengths take one byte, two and three.
        base_file: Some("x".repeat([3, 63, 64, 8191, 8192][number as usize % 5])),
        ..WriteStat::zeroed()
    };
    for (files, last, are_all) in
        [(20, "f0019", true), (510, "f0509", true), (511, "f0509", false), (2000, "f0509", false)]
    {
        let stats = (0..files).map(|number| (format!("p{}", number / 7), stat(number)));
        let mut by_partition: BTreeMap<String, Vec<WriteStat>> = BTreeMap::new();
        stats.for_each(|(partition, stat)| by_partition.entry(format!("{partition:0>5}")).or_default().push(stat));
        let commit = CommitMetadata {
            partition_to_write_stats: Some(by_partition),
            operation_type: Some("UPSERT".to_owned()),
            ..CommitMetadata::default()
        };
        for bytes in [commit.encode().unwrap(), serde_json::to_vec(&commit).unwrap()] {
            let outline = CommitOutline::decode(&bytes).unwrap();
            assert_eq!(outline.operation_type.as_deref(), Some("UPSERT"));
            let found = outline.files_with_rows;
            assert_eq!(found.first.last().map(String::as_str), Some(last), "{files} files");
            assert_eq!(
                (found.first.iter().any(|path| path == "f0002"), found.are_all),
                (true, are_all),
                "{files} files"
            );
        }
    }
}

#[test]
fn a_value_that_the_writers_schema_has_no_place_for_is_refused() {
    let mut clean = CleanMetadata::decode(&later(b"\x00")).unwrap();
    clean.extra_metadata = Some(BTreeMap::new());
    let error = clean.encode().unwrap_err();
    assert!(error.to_string().contains("has no field for"), "{error}");
}

#[test]
fn what_a_file_must_hold_is_asked_for() {
    let text = r#"{"type":"record","name":"HoodieCleanMetadata","fields":[{"name":"startCleanTime","type":"string"}]}"#;
    let error = CleanMetadata::decode(&container::write(text, b"\x021")).unwrap_err();
    assert!(error.to_string().contains("missing field `timeTakenInMillis`"), "{error}");
    let error = CommitMetadata::decode(&CompactionPlan::default().encode().unwrap()).unwrap_err();
    assert!(error.to_string().contains("holds a record of type org.apache.hudi.avro.model.HoodieCompactionPlan"));
    assert!(CleanerPlan::decode(b"").unwrap_err().to_string().contains("empty file where there should be clean plan"));
}

/// Each default that a reader's schema declares is the one that its type has.
#[test]
fn fields_that_a_file_lacks_take_the_defaults_of_the_schema() {
    fn check<T: serde::Serialize>(decoded: T, schema: &str) {
        let shown = serde_json::to_value(decoded).unwrap();
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        for field in schema["fields"].as_array().unwrap() {
            let name = field["name"].as_str().unwrap();
            assert_eq!(shown.get(name), field.get("default"), "{name} of {}", schema["name"]);
        }
    }
    let bare = |name: &str| container::write(&format!(r#"{{"type":"record","name":"{name}","fields":[]}}"#), b"");
    check(
        CompactionPlan::decode(&bare("HoodieCompactionPlan")).unwrap(),
        include_str!("../schemas/HoodieCompactionPlan.avsc"),
    );
    check(
        RequestedReplaceMetadata::decode(&bare("HoodieRequestedReplaceMetadata")).unwrap(),
        include_str!("../schemas/HoodieRequestedReplaceMetadata.avsc"),
    );
    check(
        RollbackPlan::decode(&bare("HoodieRollbackPlan")).unwrap(),
        include_str!("../schemas/HoodieRollbackPlan.avsc"),
    );
    check(RestorePlan::decode(&bare("HoodieRestorePlan")).unwrap(), include_str!("../schemas/HoodieRestorePlan.avsc"));
    check(IndexPlan::decode(&bare("HoodieIndexPlan")).unwrap(), include_str!("../schemas/HoodieIndexPlan.avsc"));
    check(
        IndexCommitMetadata::decode(&bare("HoodieIndexCommitMetadata")).unwrap(),
        include_str!("../schemas/HoodieIndexCommitMetadata.avsc"),
    );
}

mod hostile;
mod round_trips;
