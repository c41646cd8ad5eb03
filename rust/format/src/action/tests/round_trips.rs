//! `decode(encode(x)) == x` for every payload.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..3)
}

fn map() -> impl Strategy<Value = Option<BTreeMap<String, String>>> {
    of(btree_map(text(), text(), 0..3))
}

fn counts() -> impl Strategy<Value = Option<BTreeMap<String, i64>>> {
    of(btree_map(text(), any::<i64>(), 0..3))
}

fn metrics() -> impl Strategy<Value = Option<BTreeMap<String, f64>>> {
    of(btree_map(text(), any::<f64>(), 0..3))
}

/// Values that differ from field to field, so that none takes the place of another.
fn stat() -> impl Strategy<Value = WriteStat> {
    (vec(of(any::<i64>()), 24), vec(of(text()), 7), of(any::<i32>()), of(texts()), counts()).prop_map(
        |(numbers, texts, log_version, log_files, cdc_stats)| {
            let (mut number, mut text) = (numbers.into_iter().flatten(), texts.into_iter());
            let mut number = || number.next();
            let mut text = || text.next().flatten();
            WriteStat {
                file_id: text(),
                path: text(),
                prev_commit: text(),
                num_writes: number(),
                num_deletes: number(),
                num_update_writes: number(),
                total_write_bytes: number(),
                total_write_errors: number(),
                partition_path: text(),
                total_log_records: number(),
                total_log_files: number(),
                total_updated_records_compacted: number(),
                num_inserts: number(),
                total_log_blocks: number(),
                total_corrupt_log_block: number(),
                total_rollback_blocks: number(),
                file_size_in_bytes: number(),
                log_version,
                log_offset: number(),
                base_file: text(),
                log_files,
                cdc_stats,
                prev_base_file: text(),
                min_event_time: number(),
                max_event_time: number(),
                runtime_stats: number().map(|scan| RuntimeStats { total_scan_time: Some(scan), ..Default::default() }),
                total_log_files_compacted: number(),
                total_log_read_time_ms: number(),
                total_log_size_compacted: number(),
                temp_path: text(),
                num_updates: number(),
                ..Default::default()
            }
        },
    )
}

prop_compose! {
    fn commit()(
        stats in of(btree_map(text(), vec(stat(), 0..4), 0..4)),
        compacted in any::<Option<bool>>(),
        extra_metadata in map(),
        version in any::<Option<i32>>(),
        operation_type in of(text()),
        replaced in of(btree_map(text(), texts(), 0..3)),
    ) -> CommitMetadata {
        CommitMetadata {
            partition_to_write_stats: stats, compacted, extra_metadata, version, operation_type,
            partition_to_replace_file_ids: replaced, ..Default::default()
        }
    }
}

prop_compose! {
    fn compaction()(
        operations in of(vec((vec(of(text()), 5), of(texts()), metrics()), 0..3)),
        extra_metadata in map(),
        version in any::<Option<i32>>(),
        strategy in of((of(text()), map())),
        preserve_hoodie_metadata in any::<Option<bool>>(),
        missing_schedule_partitions in of(texts()),
    ) -> CompactionPlan {
        let operation = |(mut texts, delta_file_paths, metrics): (Vec<Option<String>>, _, _)| CompactionOperation {
            base_instant_time: texts.pop().flatten(),
            data_file_path: texts.pop().flatten(),
            file_id: texts.pop().flatten(),
            partition_path: texts.pop().flatten(),
            bootstrap_file_path: texts.pop().flatten(),
            delta_file_paths, metrics, ..Default::default()
        };
        let strategy = strategy.map(|(compactor_class_name, strategy_params)| CompactionStrategy {
            compactor_class_name, strategy_params, ..Default::default()
        });
        CompactionPlan {
            operations: operations.map(|list| list.into_iter().map(operation).collect()),
            extra_metadata, version, strategy, preserve_hoodie_metadata, missing_schedule_partitions,
            ..Default::default()
        }
    }
}

prop_compose! {
    fn clustering()(
        operation_type in of(text()),
        groups in of(vec((of(vec((vec(of(text()), 4), of(texts())), 0..3)), metrics(), any::<Option<i32>>(), map()), 0..3)),
        strategy in of((of(text()), map())),
        maps in (map(), map()),
        version in any::<Option<i32>>(),
        preserve_hoodie_metadata in any::<Option<bool>>(),
        missing_schedule_partitions in of(texts()),
    ) -> RequestedReplaceMetadata {
        let slice = |(mut texts, delta_file_paths): (Vec<Option<String>>, _)| SliceInfo {
            data_file_path: texts.pop().flatten(),
            file_id: texts.pop().flatten(),
            partition_path: texts.pop().flatten(),
            bootstrap_file_path: texts.pop().flatten(),
            delta_file_paths, ..Default::default()
        };
        let group = |(slices, metrics, num_output_file_groups, extra_metadata): (Option<Vec<_>>, _, _, _)| ClusteringGroup {
            slices: slices.map(|list| list.into_iter().map(slice).collect()),
            metrics, num_output_file_groups, extra_metadata, version: Some(1), ..Default::default()
        };
        let strategy = strategy.map(|(strategy_class_name, strategy_params)| ClusteringStrategy {
            strategy_class_name, strategy_params, ..Default::default()
        });
        let plan = groups.map(|groups| ClusteringPlan {
            input_groups: Some(groups.into_iter().map(group).collect()),
            strategy, extra_metadata: maps.0, version, preserve_hoodie_metadata, missing_schedule_partitions,
            ..Default::default()
        });
        RequestedReplaceMetadata {
            operation_type, clustering_plan: plan, extra_metadata: maps.1, version, ..Default::default()
        }
    }
}

prop_compose! {
    fn clean_plan()(
        earliest in of((text(), text(), text())),
        names in (text(), text()),
        by_name in of(btree_map(text(), texts(), 0..3)),
        by_path in of(btree_map(text(), vec((of(text()), any::<Option<bool>>()), 0..3), 0..3)),
        partitions_to_be_deleted in of(texts()),
        extra_metadata in map(),
        version in any::<Option<i32>>(),
    ) -> CleanerPlan {
        let info = |(file_path, is_bootstrap_base_file)| CleanFileInfo { file_path, is_bootstrap_base_file, ..Default::default() };
        CleanerPlan {
            earliest_instant_to_retain: earliest.map(|(timestamp, action, state)| ActionInstant {
                timestamp, action, state, ..Default::default()
            }),
            last_completed_commit_timestamp: names.0,
            policy: names.1,
            files_to_be_deleted_per_partition: by_name,
            version,
            file_paths_to_be_deleted_per_partition: by_path
                .map(|map| map.into_iter().map(|(p, list)| (p, list.into_iter().map(info).collect())).collect()),
            partitions_to_be_deleted, extra_metadata, ..Default::default()
        }
    }
}

prop_compose! {
    fn cleaned()(
        texts in (text(), text(), text()),
        time_taken_in_millis in any::<i64>(),
        total_files_deleted in any::<i32>(),
        partitions in btree_map(text(), (text(), text(), texts(), texts(), texts(), any::<Option<bool>>()), 0..3),
        bootstrap in any::<bool>(),
        extra_metadata in map(),
    ) -> CleanMetadata {
        let partition = |(partition_path, policy, patterns, success, failed, is_partition_deleted)| CleanPartitionMetadata {
            partition_path, policy, delete_path_patterns: patterns, success_delete_files: success,
            failed_delete_files: failed, is_partition_deleted, ..Default::default()
        };
        let partition_metadata: BTreeMap<_, _> = partitions.into_iter().map(|(p, v)| (p, partition(v))).collect();
        CleanMetadata {
            start_clean_time: texts.0, earliest_commit_to_retain: texts.1, last_completed_commit_timestamp: texts.2,
            time_taken_in_millis, total_files_deleted, version: Some(2),
            bootstrap_partition_metadata: bootstrap.then(|| partition_metadata.clone()),
            partition_metadata, extra_metadata, ..Default::default()
        }
    }
}

prop_compose! {
    fn instant()(commit_time in text(), action in text()) -> InstantInfo {
        InstantInfo { commit_time, action, ..Default::default() }
    }
}

prop_compose! {
    fn rollback_plan()(
        instant_to_rollback in of(instant()),
        requests in of(vec((text(), of(text()), of(text()), texts(), counts()), 0..3)),
        version in any::<Option<i32>>(),
    ) -> RollbackPlan {
        let request = |(partition_path, file_id, latest_base_instant, files_to_be_deleted, blocks)| RollbackRequest {
            partition_path, file_id, latest_base_instant, files_to_be_deleted, log_blocks_to_be_deleted: blocks,
            ..Default::default()
        };
        RollbackPlan {
            instant_to_rollback, rollback_requests: requests.map(|list| list.into_iter().map(request).collect()), version,
            ..Default::default()
        }
    }
}

prop_compose! {
    fn rolled_back()(
        start_rollback_time in text(),
        time_taken_in_millis in any::<i64>(),
        total_files_deleted in any::<i32>(),
        commits_rollback in texts(),
        partitions in btree_map(text(), (text(), texts(), texts(), counts(), counts()), 0..3),
        instants_rollback in vec(instant(), 0..3),
    ) -> RollbackMetadata {
        let partition = |(partition_path, success, failed, logs, failed_logs)| RollbackPartitionMetadata {
            partition_path, success_delete_files: success, failed_delete_files: failed, rollback_log_files: logs,
            log_files_from_failed_commit: failed_logs, ..Default::default()
        };
        RollbackMetadata {
            start_rollback_time, time_taken_in_millis, total_files_deleted, commits_rollback,
            partition_metadata: partitions.into_iter().map(|(p, v)| (p, partition(v))).collect(),
            version: None, instants_rollback, ..Default::default()
        }
    }
}

prop_compose! {
    fn restored()(
        texts in (text(), texts()),
        time_taken_in_millis in any::<i64>(),
        rollbacks in btree_map(text(), vec(of(rolled_back()), 0..2), 0..3),
        restore_instant_info in vec(instant(), 0..3),
    ) -> RestoreMetadata {
        RestoreMetadata {
            start_restore_time: texts.0, instants_to_rollback: texts.1, time_taken_in_millis,
            hoodie_restore_metadata: rollbacks, version: Some(1), restore_instant_info, ..Default::default()
        }
    }
}

prop_compose! {
    fn restore_plan()(instants in vec(instant(), 0..3), savepoint in of(text()), version in any::<Option<i32>>()) -> RestorePlan {
        RestorePlan {
            instants_to_rollback: instants, savepoint_to_restore_timestamp: savepoint, version, ..Default::default()
        }
    }
}

prop_compose! {
    fn savepoint()(by in text(), at in any::<i64>(), comments in text(), files in btree_map(text(), texts(), 0..3)) -> SavepointMetadata {
        let partition = |(p, files): (String, _)| {
            (p.clone(), SavepointPartitionMetadata { partition_path: p, savepoint_data_file: files, ..Default::default() })
        };
        SavepointMetadata {
            savepointed_by: by, savepointed_at: at, comments,
            partition_metadata: files.into_iter().map(partition).collect(), version: Some(1), ..Default::default()
        }
    }
}

prop_compose! {
    fn index_plan()(infos in of(vec((of(text()), of(text()), map()), 0..3)), version in any::<Option<i32>>()) -> IndexPlan {
        let info = |(metadata_partition_path, index_upto_instant, extra_metadata)| IndexPartitionInfo {
            version, metadata_partition_path, index_upto_instant, extra_metadata, ..Default::default()
        };
        IndexPlan {
            version, index_partition_infos: infos.map(|list| list.into_iter().map(info).collect()), ..Default::default()
        }
    }
}

macro_rules! round_trips {
    ($($name:ident: $strategy:expr => $type:ident;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
            $(#[test]
            fn $name(value in $strategy) {
                let bytes = value.encode().unwrap();
                prop_assert_eq!($type::decode(&bytes).unwrap(), value);
                prop_assert!(to_json(&bytes).unwrap().is_object());
            })*
        }
    };
}

round_trips! {
    commits: commit() => CommitMetadata;
    compaction_plans: compaction() => CompactionPlan;
    clustering_plans: clustering() => RequestedReplaceMetadata;
    clean_plans: clean_plan() => CleanerPlan;
    cleans: cleaned() => CleanMetadata;
    rollback_plans: rollback_plan() => RollbackPlan;
    rollbacks: rolled_back() => RollbackMetadata;
    restore_plans: restore_plan() => RestorePlan;
    restores: restored() => RestoreMetadata;
    savepoints: savepoint() => SavepointMetadata;
    index_plans: index_plan() => IndexPlan;
}

proptest! {
    #[test]
    fn index_commits(plan in index_plan(), operation_type in of(text())) {
        let commit = IndexCommitMetadata {
            version: plan.version, operation_type, index_partition_infos: plan.index_partition_infos, ..Default::default()
        };
        prop_assert_eq!(IndexCommitMetadata::decode(&commit.encode().unwrap()).unwrap(), commit);
    }

    #[test]
    fn commits_as_json_of_layout_1(commit in commit()) {
        prop_assert_eq!(CommitMetadata::decode(&serde_json::to_vec_pretty(&commit).unwrap()).unwrap(), commit);
    }

    #[test]
    fn outlines_are_of_their_commits(commit in commit(), as_json in any::<bool>()) {
        let bytes = if as_json { serde_json::to_vec(&commit).unwrap() } else { commit.encode().unwrap() };
        let outline = CommitOutline::decode(&bytes).unwrap();
        prop_assert_eq!(outline.schema(), commit.schema());
        let has_rows = |stat: &&WriteStat| stat.num_inserts > Some(0) || stat.num_update_writes > Some(0);
        let files = commit.write_stats().filter(has_rows).filter_map(|stat| stat.path.clone()).collect();
        prop_assert_eq!(outline.files_with_rows, FilesWithRows { first: files, are_all: true });
        prop_assert_eq!(outline.extra_metadata, commit.extra_metadata);
        prop_assert_eq!(outline.operation_type, commit.operation_type);
        prop_assert_eq!(outline.partition_to_replace_file_ids, commit.partition_to_replace_file_ids);
    }

    /// Behind the files that are looked at: some laid out alike, some otherwise in a field or two.
    #[test]
    fn outlines_pass_over_files_however_they_are_laid_out(
        commit in commit(),
        stats in vec(stat(), 1..4),
        passed in vec((any::<Index>(), 0..64_u32, text(), any::<bool>()), 1..300),
        cut in any::<Index>(),
    ) {
        let looked_at = WriteStat { path: Some("f".to_owned()), num_inserts: Some(1), ..WriteStat::zeroed() };
        let passed = passed.into_iter().map(|(from, bits, base_file, is_told)| WriteStat {
            num_writes: is_told.then_some(i64::MAX >> bits),
            base_file: Some(base_file),
            ..from.get(&stats).clone()
        });
        let files = std::iter::repeat_n(looked_at, 256).chain(passed).collect();
        let commit = CommitMetadata {
            partition_to_write_stats: Some(BTreeMap::from([("p".to_owned(), files)])),
            ..commit
        };
        let bytes = commit.encode().unwrap();
        let outline = CommitOutline::decode(&bytes).unwrap();
        prop_assert_eq!((outline.files_with_rows.first.len(), outline.files_with_rows.are_all), (256, false));
        prop_assert_eq!(outline.extra_metadata, commit.extra_metadata);
        prop_assert_eq!(outline.operation_type, commit.operation_type);
        prop_assert_eq!(outline.partition_to_replace_file_ids, commit.partition_to_replace_file_ids);
        let whole = container::Container::parse(&bytes).unwrap();
        let part = &whole.record[..cut.index(whole.record.len())];
        prop_assert!(CommitOutline::decode(&container::write(whole.schema, part)).is_err());
    }

    #[test]
    fn names_are_of_their_commits(commit in commit(), as_json in any::<bool>()) {
        let bytes = if as_json { serde_json::to_vec(&commit).unwrap() } else { commit.encode().unwrap() };
        let files = CommitFiles::decode(&bytes).unwrap();
        let paths = |stats: &[WriteStat]| stats.iter().filter_map(|stat| stat.path.clone()).collect::<Vec<_>>();
        let written = commit.partition_to_write_stats.iter().flatten();
        let written: Vec<_> = written.map(|(partition, stats)| (partition.clone(), paths(stats))).collect();
        let found = files.written().map(|(partition, paths)| (partition.to_owned(), paths.map(str::to_owned).collect()));
        prop_assert_eq!(found.collect::<Vec<(String, Vec<String>)>>(), written);
        prop_assert_eq!(files.partition_to_replace_file_ids, commit.partition_to_replace_file_ids);
    }

    #[test]
    fn any_bytes_are_a_payload_or_an_error(bytes in vec(any::<u8>(), 0..200), head in 0..3_usize) {
        let head: &[u8] = [&b""[..], b"Obj\x01", b"{\""][head];
        let bytes = [head, &bytes].concat();
        let _ = (CommitMetadata::decode(&bytes), CommitOutline::decode(&bytes), CommitFiles::decode(&bytes), to_json(&bytes));
    }
}
