//! Timeline files: every payload in every state that holds one.

use std::collections::BTreeMap;

use apache_avro::types::Value as AvroValue;
use hudini_format::action::{
    ActionInstant, CleanFileInfo, CleanMetadata, CleanPartitionMetadata, CleanerPlan, ClusteringGroup, ClusteringPlan,
    ClusteringStrategy, CommitMetadata, CompactionOperation, CompactionPlan, CompactionStrategy, IndexCommitMetadata,
    IndexPartitionInfo, IndexPlan, InstantInfo, NO_PREVIOUS_COMMIT, Payload, RequestedReplaceMetadata, RestoreMetadata,
    RestorePlan, RollbackMetadata, RollbackPartitionMetadata, RollbackPlan, RollbackRequest, RuntimeStats, SCHEMA_KEY,
    SavepointMetadata, SavepointPartitionMetadata, SliceInfo, WriteStat,
};
use hudini_format::instant::{Action, InstantFile, State};
use serde::Serialize;
use serde_json::{Value, json};

use crate::folder::{Done, Folder};
use crate::rows::{INSTANT, SCHEMA};
use crate::table::put_properties;

const KIND: &str = "timeline";
const COMPLETED: &str = "20260307162500456";
const EARLIER: &str = "20260306000000000";
const PARTITION: &str = "city=Zürich/day=2026-03-07";

pub(crate) fn write(folder: &mut Folder) -> Done {
    use Action as A;
    use State as S;
    let replacing = replacing();
    let nothing = CommitMetadata { partition_to_write_stats: Some(BTreeMap::new()), ..CommitMetadata::default() };
    let commits: [(&str, Action, State, &CommitMetadata); 6] = [
        ("commit", A::Commit, S::Completed, &commit()),
        ("commit_inflight", A::Commit, S::Inflight, &commit()),
        ("commit_of_nothing", A::Commit, S::Completed, &nothing),
        ("deltacommit", A::DeltaCommit, S::Completed, &commit()),
        ("replacecommit", A::ReplaceCommit, S::Completed, &replacing),
        ("clustering", A::Clustering, S::Completed, &replacing),
    ];
    for (sample, action, state, value) in commits {
        let mut holds = json!(value);
        if let (None, Some(holds)) = (&value.partition_to_replace_file_ids, holds.as_object_mut()) {
            holds.remove("partitionToReplaceFileIds"); // which only replacing commits have
        }
        put(folder, sample, action, state, &Payload::Commit(value.clone()), holds)?;
    }
    macro_rules! samples {
        ($($sample:literal: $action:ident $state:ident $variant:ident $value:expr;)*) => {$({
            let value = $value;
            put(folder, $sample, A::$action, S::$state, &Payload::$variant(value.clone()), json!(value))?;
        })*};
    }
    samples! {
        "replace_plan": ReplaceCommit Requested RequestedReplace clustering_plan();
        "replace_plan_of_nothing": ReplaceCommit Requested RequestedReplace RequestedReplaceMetadata::default();
        "clustering_plan": Clustering Requested RequestedReplace clustering_plan();
        "clean_plan": Clean Requested CleanerPlan clean_plan();
        "clean_plan_inflight": Clean Inflight CleanerPlan clean_plan();
        "clean": Clean Completed Clean clean();
        "rollback_plan": Rollback Requested RollbackPlan rollback_plan();
        "rollback": Rollback Completed Rollback rollback();
        "restore_plan": Restore Requested RestorePlan restore_plan();
        "restore": Restore Completed Restore restore();
        "savepoint": Savepoint Completed Savepoint savepoint();
        "compaction_plan": Compaction Requested CompactionPlan compaction_plan();
        "log_compaction_plan": LogCompaction Requested CompactionPlan compaction_plan();
        "index_plan": Indexing Requested IndexPlan index_plan();
        "index_commit": Indexing Completed Index index_commit();
    }
    let (later, holds) = (of_a_later_release(&clean())?, json!(clean()));
    put(folder, "clean_of_a_later_release", A::Clean, S::Completed, &later, holds)
}

/// A commit that this crate can read and Apache Hudi cannot.
pub(crate) fn write_refused(folder: &mut Folder) -> Done {
    let name = InstantFile::completed(INSTANT, COMPLETED, Action::Commit);
    put_properties(folder, "refused", "commit_without_stats", &[])?;
    let bytes = CommitMetadata::default().encode()?;
    folder.put("refused", "commit_without_stats", &format!(".hoodie/timeline/{name}"), bytes)?;
    folder.tell("refused", "commit_without_stats", json!({"as": KIND, "because": "getPartitionToWriteStats"}));
    Ok(())
}

/// A table whose timeline has this one file.
fn put(folder: &mut Folder, sample: &str, action: Action, state: State, payload: &Payload, holds: Value) -> Done {
    let completed = (state == State::Completed).then(|| COMPLETED.to_owned());
    let file = InstantFile { requested: INSTANT.to_owned(), completed, action, state };
    put_properties(folder, KIND, sample, &[])?;
    folder.put(KIND, sample, &format!(".hoodie/timeline/{}", file.name()), payload.encode()?)?;
    let action = if state == State::Completed { action.completes_as() } else { action };
    folder.tell(KIND, sample, json!([{
        "requested": INSTANT, "completed": file.completed, "action": action.name(), "state": state.name(), "holds": holds,
    }]));
    Ok(())
}

/// The same value, as another release would write it: with more fields, inside and outside.
fn of_a_later_release(value: &CleanMetadata) -> Done<Payload> {
    let ours = value.encode()?;
    let mut schema: Value =
        serde_json::from_str(&apache_avro::Reader::new(ours.as_slice())?.writer_schema().canonical_form())?;
    let fields = schema["fields"].as_array_mut().ok_or("a record has fields")?;
    for field in fields.iter_mut().filter(|field| field["name"] == "partitionMetadata") {
        let inside = field["type"]["values"]["fields"].as_array_mut().ok_or("of records")?;
        inside.insert(0, json!({"name": "fromTheFuture", "type": "long"}));
    }
    fields.insert(1, json!({"name": "later", "type": ["null", {"type": "map", "values": "double"}]}));
    let mut content = json!(value);
    content["later"] = json!({"µ": 0.5});
    for list in ["partitionMetadata", "bootstrapPartitionMetadata"] {
        for partition in content[list].as_object_mut().into_iter().flat_map(|map| map.values_mut()) {
            partition["fromTheFuture"] = json!(i64::MAX);
        }
    }
    let schema = apache_avro::Schema::parse(&schema)?;
    let mut writer = apache_avro::Writer::new(&schema, Vec::new())?;
    writer.append_value(avro(content).resolve(&schema)?)?;
    let read = CleanMetadata::decode(&writer.into_inner()?)?;
    if read.extra.is_empty() || read.writer_schema.text().is_none() {
        return Err("the later release's fields went missing".into());
    }
    Ok(Payload::Clean(read))
}

fn avro(json: Value) -> AvroValue {
    match json {
        Value::Null => AvroValue::Null,
        Value::Bool(value) => AvroValue::Boolean(value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => AvroValue::Long(number),
            None => AvroValue::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => AvroValue::String(text),
        Value::Array(items) => AvroValue::Array(items.into_iter().map(avro).collect()),
        Value::Object(members) => AvroValue::Map(members.into_iter().map(|(key, value)| (key, avro(value))).collect()),
    }
}

pub(crate) fn commit() -> CommitMetadata {
    let base = WriteStat {
        file_id: text("f1-0"),
        path: text("city=Zürich/day=2026-03-07/f1-0_0-1-0_20260307162459123.parquet"),
        prev_commit: text(NO_PREVIOUS_COMMIT),
        num_writes: Some(i64::MAX),
        total_write_bytes: Some(1 << 40),
        partition_path: text(PARTITION),
        min_event_time: Some(-1),
        max_event_time: Some(0),
        runtime_stats: Some(RuntimeStats {
            total_scan_time: Some(1),
            total_create_time: None,
            total_upsert_time: Some(3),
            ..RuntimeStats::default()
        }),
        temp_path: text(""),
        ..WriteStat::zeroed()
    };
    let log = WriteStat {
        file_id: text("größe-0"),
        path: text(".größe-0_20260307162459123.log.1_0-1-0"),
        prev_commit: text(EARLIER),
        log_version: Some(1),
        log_offset: Some(0),
        base_file: text(""),
        log_files: Some(texts([".größe-0_20260307162459123.log.1_0-1-0", ".größe-0_20260307162459123.log.2_0-1-0"])),
        cdc_stats: Some(map([(".f1-0_20260307162459123.log.1_0-1-0-cdc", 7)])),
        prev_base_file: text("größe-0_0-1-0_20260306000000000.parquet"),
        num_updates: None,
        ..base.clone()
    };
    CommitMetadata {
        partition_to_write_stats: Some(map([
            (PARTITION, vec![base, log]),
            ("", vec![WriteStat::default()]),
            ("empty", vec![]),
        ])),
        compacted: Some(true),
        extra_metadata: Some(map([
            (SCHEMA_KEY, SCHEMA.to_owned()),
            ("größe 🔑", "\\ \" \n \u{1}".to_owned()),
            ("", String::new()),
        ])),
        operation_type: text("UPSERT"),
        ..CommitMetadata::default()
    }
}

pub(crate) fn replacing() -> CommitMetadata {
    CommitMetadata {
        operation_type: text("INSERT_OVERWRITE"),
        partition_to_replace_file_ids: Some(map([(PARTITION, texts(["f1-0", "größe-0"])), ("", vec![])])),
        ..commit()
    }
}

pub(crate) fn clustering_plan() -> RequestedReplaceMetadata {
    let slice = SliceInfo {
        data_file_path: text("file:/t/größe/f1-0_0-1-0_20260306000000000.parquet"),
        delta_file_paths: Some(texts(["file:/t/.f1-0_20260306000000000.log.1_0-1-0"])),
        file_id: text("f1-0"),
        partition_path: text(PARTITION),
        bootstrap_file_path: text(""),
        version: Some(1),
        ..SliceInfo::default()
    };
    let group = ClusteringGroup {
        slices: Some(vec![slice, SliceInfo::default()]),
        metrics: Some(map([("TOTAL_IO_MB", 0.1), ("least", f64::MIN_POSITIVE), ("most", -f64::MAX)])),
        num_output_file_groups: Some(2),
        extra_metadata: Some(map([("µ", "é".to_owned())])),
        version: None,
        ..ClusteringGroup::default()
    };
    let plan = ClusteringPlan {
        input_groups: Some(vec![group, ClusteringGroup::default()]),
        strategy: Some(ClusteringStrategy {
            strategy_class_name: text("org.example.Größe"),
            strategy_params: Some(map([("a.b", "größe,ts".to_owned())])),
            version: Some(1),
            ..ClusteringStrategy::default()
        }),
        extra_metadata: None,
        version: Some(1),
        preserve_hoodie_metadata: Some(true),
        missing_schedule_partitions: Some(texts(["", PARTITION])),
        ..ClusteringPlan::default()
    };
    RequestedReplaceMetadata {
        operation_type: text("CLUSTER"),
        clustering_plan: Some(plan),
        extra_metadata: Some(BTreeMap::new()),
        version: Some(1),
        ..RequestedReplaceMetadata::default()
    }
}

pub(crate) fn clean_plan() -> CleanerPlan {
    let info = |path: Option<&str>, bootstrap| CleanFileInfo {
        file_path: path.map(str::to_owned),
        is_bootstrap_base_file: bootstrap,
        ..CleanFileInfo::default()
    };
    CleanerPlan {
        earliest_instant_to_retain: Some(ActionInstant {
            timestamp: EARLIER.to_owned(),
            action: "commit".to_owned(),
            state: "COMPLETED".to_owned(),
            ..ActionInstant::default()
        }),
        last_completed_commit_timestamp: EARLIER.to_owned(),
        policy: "KEEP_LATEST_COMMITS".to_owned(),
        files_to_be_deleted_per_partition: Some(map([(PARTITION, texts(["größe.parquet"]))])),
        version: Some(2),
        file_paths_to_be_deleted_per_partition: Some(map([
            (PARTITION, vec![info(Some("/t/größe.parquet"), Some(false)), info(None, None)]),
            ("", vec![]),
        ])),
        partitions_to_be_deleted: Some(texts([PARTITION, ""])),
        extra_metadata: Some(map([("savepointed_timestamps", EARLIER.to_owned())])),
        ..CleanerPlan::default()
    }
}

pub(crate) fn clean() -> CleanMetadata {
    let partition = CleanPartitionMetadata {
        partition_path: PARTITION.to_owned(),
        policy: "KEEP_LATEST_COMMITS".to_owned(),
        delete_path_patterns: texts(["größe.parquet", "🔑.parquet"]),
        success_delete_files: texts(["größe.parquet"]),
        failed_delete_files: texts(["🔑.parquet"]),
        is_partition_deleted: Some(true),
        ..CleanPartitionMetadata::default()
    };
    CleanMetadata {
        start_clean_time: INSTANT.to_owned(),
        time_taken_in_millis: i64::MAX,
        total_files_deleted: i32::MAX,
        earliest_commit_to_retain: EARLIER.to_owned(),
        last_completed_commit_timestamp: String::new(),
        partition_metadata: map([(PARTITION, partition.clone())]),
        version: Some(2),
        bootstrap_partition_metadata: Some(map([(
            "µ",
            CleanPartitionMetadata { is_partition_deleted: None, ..partition },
        )])),
        extra_metadata: None,
        ..CleanMetadata::default()
    }
}

fn instant(action: &str) -> InstantInfo {
    InstantInfo { commit_time: EARLIER.to_owned(), action: action.to_owned(), ..InstantInfo::default() }
}

fn rollback_plan() -> RollbackPlan {
    let request = RollbackRequest {
        partition_path: PARTITION.to_owned(),
        file_id: text("größe-0"),
        latest_base_instant: text(EARLIER),
        files_to_be_deleted: texts(["/t/größe.parquet", ""]),
        log_blocks_to_be_deleted: Some(map([(".größe-0_1.log.1_0-1-0", i64::MAX), ("", -1)])),
        ..RollbackRequest::default()
    };
    RollbackPlan {
        instant_to_rollback: Some(instant("deltacommit")),
        rollback_requests: Some(vec![request, RollbackRequest::default()]),
        version: Some(1),
        ..RollbackPlan::default()
    }
}

pub(crate) fn rollback() -> RollbackMetadata {
    let partition = RollbackPartitionMetadata {
        partition_path: PARTITION.to_owned(),
        success_delete_files: texts(["größe.parquet"]),
        failed_delete_files: vec![],
        rollback_log_files: Some(map([("größe.log", 1)])),
        log_files_from_failed_commit: Some(BTreeMap::new()),
        ..RollbackPartitionMetadata::default()
    };
    RollbackMetadata {
        start_rollback_time: INSTANT.to_owned(),
        time_taken_in_millis: 7,
        total_files_deleted: 1,
        commits_rollback: texts([EARLIER]),
        partition_metadata: map([(PARTITION, partition), ("", RollbackPartitionMetadata::default())]),
        version: Some(1),
        instants_rollback: vec![instant("commit"), instant("compaction")],
        ..RollbackMetadata::default()
    }
}

fn restore_plan() -> RestorePlan {
    RestorePlan {
        instants_to_rollback: vec![instant("commit"), instant("clean")],
        version: Some(2),
        savepoint_to_restore_timestamp: text(EARLIER),
        ..RestorePlan::default()
    }
}

fn restore() -> RestoreMetadata {
    RestoreMetadata {
        start_restore_time: INSTANT.to_owned(),
        time_taken_in_millis: -1,
        instants_to_rollback: texts([EARLIER, ""]),
        hoodie_restore_metadata: map([(EARLIER, vec![Some(rollback()), None]), (INSTANT, vec![])]),
        version: Some(1),
        restore_instant_info: vec![instant("commit")],
        ..RestoreMetadata::default()
    }
}

pub(crate) fn savepoint() -> SavepointMetadata {
    let partition = |path: &str, files| SavepointPartitionMetadata {
        partition_path: path.to_owned(),
        savepoint_data_file: files,
        ..SavepointPartitionMetadata::default()
    };
    SavepointMetadata {
        savepointed_by: "Zoë \"Q\"".to_owned(),
        savepointed_at: 1_772_900_699_123,
        comments: "größer\nals 🔑".to_owned(),
        partition_metadata: map([
            (PARTITION, partition(PARTITION, texts(["größe-0_0-1-0_1.parquet"]))),
            ("", partition("", vec![])),
        ]),
        version: Some(1),
        ..SavepointMetadata::default()
    }
}

pub(crate) fn compaction_plan() -> CompactionPlan {
    let operation = CompactionOperation {
        base_instant_time: text(EARLIER),
        delta_file_paths: Some(texts([".größe-0_20260306000000000.log.1_0-1-0"])),
        data_file_path: text("größe-0_0-1-0_20260306000000000.parquet"),
        file_id: text("größe-0"),
        partition_path: text(PARTITION),
        metrics: Some(map([("TOTAL_LOG_FILES", 1.0), ("µ", 1e-300)])),
        bootstrap_file_path: None,
        ..CompactionOperation::default()
    };
    CompactionPlan {
        operations: Some(vec![operation, CompactionOperation::default()]),
        extra_metadata: Some(map([("µ", "é".to_owned())])),
        version: Some(2),
        strategy: Some(CompactionStrategy {
            compactor_class_name: text("org.example.Größe"),
            strategy_params: Some(BTreeMap::new()),
            version: None,
            ..CompactionStrategy::default()
        }),
        preserve_hoodie_metadata: Some(true),
        missing_schedule_partitions: Some(texts([PARTITION])),
        ..CompactionPlan::default()
    }
}

fn index_infos() -> Option<Vec<IndexPartitionInfo>> {
    let info = IndexPartitionInfo {
        version: Some(1),
        metadata_partition_path: text("secondary_index_größe"),
        index_upto_instant: text(EARLIER),
        extra_metadata: Some(map([("µ", "é".to_owned())])),
        ..IndexPartitionInfo::default()
    };
    Some(vec![info, IndexPartitionInfo::default()])
}

fn index_plan() -> IndexPlan {
    IndexPlan { version: Some(1), index_partition_infos: index_infos(), ..IndexPlan::default() }
}

fn index_commit() -> IndexCommitMetadata {
    IndexCommitMetadata {
        version: Some(1),
        operation_type: text("INDEX"),
        index_partition_infos: index_infos(),
        ..IndexCommitMetadata::default()
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

fn map<T: Clone + Serialize, const N: usize>(pairs: [(&str, T); N]) -> BTreeMap<String, T> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
