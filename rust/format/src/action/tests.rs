use super::*;
use std::collections::BTreeMap;

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
        version: None,
        operation_type: Some("UPSERT".into()),
        partition_to_replace_file_ids: None,
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
    let text = include_str!("schemas/HoodieCommitMetadata.avsc");
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
    for end in 1..bytes.len() - 16 {
        assert!(CommitMetadata::decode(&bytes[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn rollbacks_and_compactions_round_trip() {
    let plan = RollbackPlan {
        instant_to_rollback: Some(InstantInfo { commit_time: "1".into(), action: "commit".into() }),
        rollback_requests: Some(vec![RollbackRequest {
            partition_path: "p".into(),
            file_id: Some("f".into()),
            latest_base_instant: Some("1".into()),
            files_to_be_deleted: vec!["/t/p/f".into()],
            log_blocks_to_be_deleted: Some(BTreeMap::new()),
        }]),
        version: Some(1),
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

#[test]
fn fields_of_newer_releases_are_passed_over() {
    let text = r#"{"type":"record","name":"HoodieCleanMetadata","fields":[
        {"name":"startCleanTime","type":"string"},
        {"name":"later","type":["null",{"type":"map","values":["null","string"]}],"default":null},
        {"name":"earliestCommitToRetain","type":"string"}]}"#;
    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Later {
        start_clean_time: String,
        later: Option<BTreeMap<String, Option<String>>>,
        earliest_commit_to_retain: String,
    }
    let later = Later {
        start_clean_time: "1".into(),
        later: Some(BTreeMap::from([("k".to_owned(), Some("v".to_owned())), ("n".to_owned(), None)])),
        earliest_commit_to_retain: "7".into(),
    };
    let schema = Schema::parse_str(text).unwrap();
    let clean = CleanMetadata::decode(&container::encode(&later, text, &schema).unwrap()).unwrap();
    assert_eq!((clean.start_clean_time.as_str(), clean.earliest_commit_to_retain.as_str()), ("1", "7"));
    assert_eq!(clean.total_files_deleted, 0, "a field that the file lacks has its default");
}
