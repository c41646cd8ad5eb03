//! What is read of metadata tables.

use crate::support::lake::{FIRST, Lake, base, block, deletes, files, hfile_of, located, partitions, stats, time};
use crate::support::{Place, World};
use hudini_format::action::{CompactionOperation, CompactionPlan};
use hudini_format::bloom::BloomFilter;
use hudini_format::metadata_record::{
    BloomFilterEntry, FileId, IndexVersion, MetadataRecord, Partition, Payload, RecordIndexEntry, SCHEMA_V9, StatValue,
    key,
};
use hudini_table::metadata::OfFiles;
use hudini_table::{ErrorKind, inspect, metadata};
use serde_json::json;

#[test]
fn a_read_lists_by_the_metadata_table_unless_it_is_told_not_to() {
    let (one, two) = (base("a", 10), base("b", 20));
    let lake = Lake::listed(1, &[partitions(&[])]);
    assert_eq!(lake.seen_by_metadata(), [""; 0]);
    for (n, name) in [(10, &one), (20, &two)] {
        lake.commit(n, &[("x", name.clone())]);
        lake.add_files(n, &[partitions(&["x"]), files("x", &[name])]);
    }
    assert_eq!(lake.seen_by_metadata(), [format!("x/{one}"), format!("x/{two}")]);
    let bypassed = lake.explain(&[("hoodie.metadata.enable", "false")]);
    assert_eq!((bypassed.listing, bypassed.base_files, bypassed.warnings.len()), ("storage", 2, 0));
    // Deleted by a clean: the mark stands in a later log than the file.
    lake.add_files(30, &[files("x", &[&format!("-{one}")])]);
    assert_eq!(lake.seen_by_metadata(), [format!("x/{two}")]);
    assert_eq!(lake.keys("files").unwrap(), [key::ALL_PARTITIONS, "x"]);
}

#[test]
fn what_is_pending_on_the_table_is_not_there_although_the_metadata_table_has_it() {
    let lake = Lake::listed(1, &[partitions(&["x"]), files("x", &[&base("a", 10)])]);
    lake.commit(10, &[("x", base("a", 10))]);
    lake.metadata_commit(&time(10), 14);
    lake.begin(20);
    lake.add_files(20, &[partitions(&["y"]), files("x", &[&base("a", 20)]), files("y", &[&base("b", 20)])]);
    assert_eq!(lake.keys("files").unwrap(), [key::ALL_PARTITIONS, "x"]);
    assert_eq!(lake.seen_by_metadata(), [format!("x/{}", base("a", 10))]);
}

#[test]
fn a_log_without_a_commit_of_the_metadata_table_is_not_there() {
    let lake = Lake::listed(1, &[partitions(&["x"]), files("x", &[&base("a", 10)])]);
    lake.commit(10, &[("x", base("a", 10))]);
    lake.metadata_commit(&time(10), 14);
    lake.log_files(20, &[files("x", &[&base("a", 20)])]);
    assert_eq!(lake.seen_by_metadata(), [format!("x/{}", base("a", 10))]);
    // But if the table has that commit, the metadata table is behind.
    lake.commit(20, &[("x", base("a", 20))]);
    let (files, why) = lake.seen_on_storage();
    assert_eq!(files, [format!("x/{}", base("a", 20))]);
    assert!(why.contains("does not know the file"), "{why}");
}

#[test]
fn files_of_a_write_that_was_rolled_back_are_not_read() {
    let lake = Lake::listed(1, &[partitions(&["x"]), files("x", &[&base("a", 10)])]);
    lake.commit(10, &[("x", base("a", 10))]);
    lake.metadata_commit(&time(10), 14);
    // Its instant is gone from the table's timeline, and the metadata table does not know yet.
    lake.add_files(20, &[files("x", &[&base("a", 20)])]);
    assert_eq!(lake.seen_by_metadata(), [format!("x/{}", base("a", 10))]);
}

#[test]
fn a_log_that_completed_after_a_compaction_began_counts_on_top_of_it() {
    let (one, two, three) = (base("a", 10), base("b", 20), base("c", 50));
    let lake = Lake::listed(1, &[partitions(&["x"]), files("x", &[&one])]);
    for (n, name) in [(10, &one), (20, &two), (50, &three)] {
        lake.commit(n, &[("x", name.clone())]);
    }
    lake.metadata_commit(&time(10), 14);
    // Requested at 20 and completed at 45; the compaction of 40 could not take it in.
    lake.log_files(20, &[files("x", &[&two])]);
    lake.metadata_commit(&time(20), 45);
    lake.base(&Partition::Files, 0, &time(40), &[partitions(&["x"]), files("x", &[&one])]);
    lake.world.put(&format!(".hoodie/metadata/.hoodie/timeline/{}_{}.commit", time(40), time(43)), b"");
    lake.add_files(50, &[files("x", &[&three])]);
    assert_eq!(lake.seen_by_metadata(), [format!("x/{one}"), format!("x/{two}"), format!("x/{three}")]);
}

#[test]
fn a_partition_without_a_record_has_no_files_and_one_that_is_not_listed_is_not_there() {
    let lake =
        Lake::listed(30, &[partitions(&["x", "empty"]), files("x", &[&base("a", 10)]), files("y", &[&base("b", 10)])]);
    lake.commit(10, &[("x", base("a", 10))]);
    assert_eq!(lake.seen_by_metadata(), [format!("x/{}", base("a", 10))]);
    let paths: Vec<_> =
        inspect::partitions(&lake.table()).unwrap().into_iter().map(|line| (line.partition, line.slices)).collect();
    assert_eq!(paths, [("empty".to_owned(), 0), ("x".to_owned(), 1)]);
    assert_eq!(lake.metadata().files_in(&["empty".to_owned(), "x".to_owned()]).unwrap()["empty"], []);
}

#[test]
fn without_a_list_of_partitions_storage_is_asked() {
    let lake = Lake::listed(30, &[files("x", &[&base("a", 10)])]);
    lake.commit(10, &[("x", base("a", 10))]);
    let (files, why) = lake.seen_on_storage();
    assert_eq!(files, [format!("x/{}", base("a", 10))]);
    assert!(why.contains("does not list the partitions"), "{why}");
}

#[test]
fn a_partition_that_was_dropped_comes_back_with_new_files() {
    let (one, two) = (base("a", 10), base("b", 40));
    let lake = Lake::listed(1, &[partitions(&["x"]), files("x", &[&one])]);
    lake.metadata_commit(&time(10), 14);
    lake.commit(10, &[("x", one)]);
    lake.log(&Partition::Files, 0, &time(20), &[block(&time(20), &[partitions(&["-x"])]), deletes(&time(20), &["x"])]);
    lake.metadata_commit(&time(20), 24);
    assert_eq!((lake.seen_by_metadata(), lake.keys("files").unwrap()), (vec![], vec![key::ALL_PARTITIONS.to_owned()]));
    lake.commit(40, &[("x", two.clone())]);
    lake.add_files(40, &[partitions(&["x"]), files("x", &[&two])]);
    // The old file is still on storage; the record of before the deletion does not count any more.
    assert_eq!(lake.seen_by_metadata(), [format!("x/{two}")]);
}

#[test]
fn commits_from_before_the_metadata_table_are_known_by_time_or_by_their_files() {
    let (one, two) = (base("b", 10), base("b", 20));
    let lake = Lake::listed(30, &[partitions(&["x"]), files("x", &[&two])]);
    lake.commit(20, &[("x", two.clone())]);
    // Listed before it was cleaned, or after: the commit is still on the timeline.
    lake.commit(10, &[("x", one.clone())]);
    lake.world.store.delete(&format!("x/{one}")).unwrap();
    assert_eq!(lake.seen_by_metadata(), [format!("x/{two}")]);
    // Unknown and completed later, but its file is listed: so it was there before the metadata table.
    lake.commit(35, &[("x", base("c", 35))]);
    assert!(lake.seen_on_storage().1.contains(&base("c", 35)));
    lake.add_files(50, &[files("x", &[&base("c", 35)])]);
    assert_eq!(lake.seen_by_metadata().len(), 2);
}

#[test]
fn a_damaged_metadata_table_costs_a_warning_and_no_row() {
    for (name, cut) in [("files-0000-0_0-0-0", 5000), (".files-0000-0", 20)] {
        let lake = Lake::listed(1, &[partitions(&["x"]), files("x", &[&base("a", 10)])]);
        lake.commit(10, &[("x", base("a", 10))]);
        lake.add_files(10, &[files("x", &[&base("a", 10)])]);
        assert_eq!(lake.seen_by_metadata().len(), 1);
        let path =
            lake.world.names_below(".hoodie/metadata/files/").into_iter().find(|path| path.contains(name)).unwrap();
        let bytes = lake.world.store.read(&path).unwrap().unwrap();
        lake.world.store.replace(&path, &bytes[..bytes.len() - cut.min(bytes.len() - 1)]).unwrap();
        let (files, why) = lake.seen_on_storage();
        assert_eq!(files, [format!("x/{}", base("a", 10))]);
        assert!(why.contains("cannot be used"), "{why}");
        let error = lake.keys("files").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
        assert!(error.path().is_some_and(|path| path.contains("files")), "{error}");
    }
}

#[test]
fn a_metadata_table_that_is_not_there_costs_a_warning_and_is_an_error_to_look_at() {
    let lake = Lake::listed(1, &[partitions(&["x"])]);
    lake.commit(10, &[("x", base("a", 10))]);
    lake.world.store.delete_dir(metadata::FOLDER).unwrap();
    assert_eq!(lake.seen_on_storage().0.len(), 1);
    assert_eq!(lake.keys("files").unwrap_err().kind(), ErrorKind::TableNotFound);
}

#[test]
fn a_table_without_a_metadata_table_is_listed_from_storage_without_a_word() {
    let lake = Lake::new("");
    lake.commit(10, &[("x", base("a", 10))]);
    assert_eq!(lake.seen(), (vec![format!("x/{}", base("a", 10))], "storage", vec![]));
    assert_eq!(lake.keys("files").unwrap_err().kind(), ErrorKind::InvalidOption);
}

/// A merge-on-read table of version 6, its metadata table with these partitions.
/// Commits that only name files state none.
const SCHEMA: &str =
    r#"hoodie.table.create.schema={"type":"record","name":"t","fields":[{"name":"id","type":"string"}]}"#;

fn lake_of_version_6(partitions: &str) -> Lake {
    let world = World::new(Place::Memory);
    let properties = |name: &str, more: &str| {
        format!(
            "hoodie.table.name={name}\nhoodie.table.version=6\nhoodie.timeline.layout.version=1\n\
                 hoodie.table.type=MERGE_ON_READ\n{more}\n"
        )
    };
    let own = format!(
        "hoodie.table.metadata.partitions={partitions}\nhoodie.compaction.payload.class=\
         org.apache.hudi.common.model.OverwriteWithLatestAvroPayload\n{SCHEMA}"
    );
    world.put(".hoodie/hoodie.properties", properties("t", &own).as_bytes());
    world.put(
        ".hoodie/metadata/.hoodie/hoodie.properties",
        properties("t_metadata", "hoodie.table.base.file.format=HFILE").as_bytes(),
    );
    Lake { world }
}

#[test]
fn an_index_of_version_6_that_was_built_anew_has_none_of_the_files_of_an_earlier_compaction() {
    let again = format!("{}010", time(20));
    // Compacted at 30 upon what there was; then taken away and built anew at the last write, which was that of 20.
    assert_eq!(compacted_upon(FIRST, &again).keys("column_stats").unwrap().len(), 1);
    // Built before it was compacted, its base file must be there.
    let gone = compacted_upon(&again, &again).keys("column_stats").unwrap_err();
    assert!(gone.message().contains("a base file") && gone.message().contains("gone or empty"), "{gone}");
}

/// Column statistics that were built at `built`, with a compaction at 30 upon the slice of `base`, whose file is gone.
fn compacted_upon(base: &str, built: &str) -> Lake {
    let lake = lake_of_version_6("files,column_stats");
    for n in [20, 30] {
        lake.world.put(&format!(".hoodie/{}.deltacommit", time(n)), b"{}");
    }
    let (partition, timeline) = (Partition::ColumnStats, ".hoodie/metadata/.hoodie");
    let id = partition.file_id(0);
    let commit = |name: &str, instant: &str| {
        let stat = json!({ "path": format!("column_stats/{id}_0-0-0_{instant}.hfile") });
        let stats = json!({ "column_stats": [stat] });
        let commit = json!({ "partitionToWriteStats": stats, "extraMetadata": { "schema": SCHEMA_V9 } });
        lake.world.put(&format!("{timeline}/{name}"), commit.to_string().as_bytes());
    };
    commit(&format!("{built}.deltacommit"), built);
    commit(&format!("{}.commit", time(30)), &time(30));
    let operation = CompactionOperation {
        base_instant_time: Some(base.to_owned()),
        file_id: Some(id.clone()),
        partition_path: Some(partition.to_string()),
        ..CompactionOperation::default()
    };
    let plan = CompactionPlan { operations: Some(vec![operation]), ..CompactionPlan::default() };
    lake.world.put(&format!("{timeline}/{}.compaction.requested", time(30)), &plan.encode().unwrap());
    let payload = Payload::ColumnStats(Box::new(stats("v", "f1", 1, 2)));
    lake.base(&partition, 0, built, &[MetadataRecord::new(key::column_stats("v", "x", "f1"), payload)]);
    lake
}

#[test]
fn logs_of_version_6_that_were_rolled_back_have_the_size_that_storage_tells() {
    let log = |token: &str| format!(".a_{}.log.1_{token}", time(10));
    let lake = lake_of_version_6("files");
    lake.world.put(".hoodie/metadata/.hoodie/00000000000000010.deltacommit", b"{}");
    lake.base(&Partition::Files, 0, "00000000000000010", &[partitions(&["."])]);
    let name = format!(".{}_00000000000000010.log.1_0-0-0", Partition::Files.file_id(0));
    // The write of 10, and that of 20, which was rolled back at 30 and has left one log there and one not.
    let of = |n: u32, names: &[&str]| block(&time(n), &[files(".", names)]);
    let pending = block(&time(40), &[files(".", &[&base("b", 40)])]);
    let blocks = [of(10, &[&base("a", 10)]), of(30, &[&log("0-2-0"), &log("0-3-0")]), pending];
    lake.world.put(&format!(".hoodie/metadata/files/{name}"), &blocks.concat());
    lake.world.put(&base("a", 10), b"1");
    lake.world.put(&log("0-2-0"), b"a rolled back block");
    for n in [10, 30] {
        lake.world.put(&format!(".hoodie/metadata/.hoodie/{}.deltacommit", time(n)), b"{}");
    }
    lake.world.put(&format!(".hoodie/{}.deltacommit", time(10)), b"{}");
    let slices = inspect::slices(&lake.table(), None, None).unwrap();
    let seen: Vec<_> = slices[0].logs.iter().map(|log| (log.name.clone(), log.size)).collect();
    assert_eq!((slices.len(), slices[0].base.as_ref().unwrap().name.clone()), (1, base("a", 10)));
    assert_eq!(seen, [(log("0-2-0"), 19)]);
}

#[test]
fn column_statistics_are_found_by_column_partition_and_file() {
    let lake = Lake::new("files,column_stats");
    lake.metadata_commit(FIRST, 1);
    let mut records = Vec::new();
    for (column, partition, file) in
        [("v", "x", "f1"), ("v", "x", "f2"), ("v", "y", "f3"), ("w", "x", "f1"), ("u", "x", "f1")]
    {
        let payload = Payload::ColumnStats(Box::new(stats(column, file, 1, 2)));
        records.push(MetadataRecord::new(key::column_stats(column, partition, file), payload));
    }
    lake.index(&Partition::ColumnStats, IndexVersion::V1, 3, &records);
    let metadata = lake.metadata();
    let found = |columns: &[&str], of: OfFiles<'_>| {
        let columns: Vec<_> = columns.iter().map(|c| (*c).to_owned()).collect();
        let mut found: Vec<_> = metadata
            .column_stats(&columns, of)
            .unwrap()
            .into_iter()
            .map(|s| (s.column_name.unwrap(), s.file_name.unwrap()))
            .collect();
        found.sort();
        found.into_iter().map(|(column, file)| format!("{column} {file}")).collect::<Vec<_>>()
    };
    assert_eq!(found(&["v"], OfFiles::All), ["v f1", "v f2", "v f3"]);
    assert_eq!(found(&["v", "w"], OfFiles::In(&["x".to_owned()])), ["v f1", "v f2", "w f1"]);
    let these =
        [("x".to_owned(), "f2".to_owned()), ("y".to_owned(), "f3".to_owned()), ("y".to_owned(), "f9".to_owned())];
    let columns = ["v", "w"].map(str::to_owned);
    let of_these = metadata.stats_of(&Partition::ColumnStats, &columns, &these).unwrap();
    let of_these: Vec<_> = of_these.into_iter().map(|(file, stats)| (file, stats.len())).collect();
    assert_eq!(of_these, [(these[0].clone(), 1), (these[1].clone(), 1)]);
    assert_eq!(found(&["nope"], OfFiles::All), [""; 0]);
    let error = metadata.partition_stats(&["v".to_owned()], &["x".to_owned()]).unwrap_err();
    assert!(error.to_string().contains("no index partition_stats"), "{error}");
}

#[test]
fn statistics_of_partitions_widen_and_bloom_filters_are_those_of_files() {
    let lake = Lake::new("files,partition_stats,bloom_filters");
    lake.metadata_commit(FIRST, 1);
    let of = |min, max| {
        let payload = Payload::PartitionStats(Box::new(stats("v", "x", min, max)));
        MetadataRecord::new(key::partition_stats("v", "x"), payload)
    };
    lake.base(&Partition::PartitionStats, 0, FIRST, &[of(5, 6)]);
    lake.log(&Partition::PartitionStats, 0, &time(10), &[block(&time(10), &[of(1, 5)])]);
    lake.commit(10, &[]);
    lake.metadata_commit(&time(10), 14);
    let mut filter = BloomFilter::simple(10, 0.01).unwrap();
    filter.add("k");
    let entry = BloomFilterEntry {
        kind: "SIMPLE".to_owned(),
        instant: time(10),
        filter: filter.to_text().into_bytes(),
        is_deleted: false,
    };
    let record = MetadataRecord::new(key::bloom_filter("x", "f1"), Payload::BloomFilter(entry));
    lake.index(&Partition::BloomFilters, IndexVersion::V1, 4, &[record]);
    let metadata = lake.metadata();
    let found = metadata.partition_stats(&["v".to_owned()], &["x".to_owned(), "y".to_owned()]).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].min_value, &found[0].max_value), (&Some(StatValue::Int(1)), &Some(StatValue::Int(6))));
    let file = ("x".to_owned(), "f1".to_owned());
    let filters = metadata.bloom_filters(&[file.clone(), ("x".to_owned(), "f2".to_owned())]).unwrap();
    assert_eq!(filters.len(), 1);
    assert!(filters[&file].contains("k"));
}

#[test]
fn record_keys_are_found_in_one_group_each_and_deleted_ones_are_not() {
    let lake = Lake::new("files,record_index");
    lake.metadata_commit(FIRST, 1);
    let records: Vec<_> = (0..5000).map(|n| located(&format!("key-{n}"), "x")).collect();
    lake.index(&Partition::RecordIndex, IndexVersion::V1, 4, &records);
    let group = Partition::RecordIndex.file_group(IndexVersion::V1, "key-7", 4).unwrap();
    lake.log(&Partition::RecordIndex, group, &time(10), &[deletes(&time(10), &["key-7"])]);
    lake.commit(10, &[]);
    lake.metadata_commit(&time(10), 14);
    let wanted = ["key-1", "key-7", "key-4999", "key-5000"].map(str::to_owned);
    let found = lake.metadata().record_locations(wanted, None).unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["key-1", "key-4999"]);
    assert_eq!(found["key-1"][0].file_id.to_string(), "0921720f-38af-4dfb-a91d-75ee0f63f035-0");
    assert_eq!(lake.keys("record_index").unwrap().len(), 4999);
}

/// A value that no codec makes shorter.
fn scattered(n: u32) -> MetadataRecord {
    let bits = u128::from(n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let file_id = FileId::Uuid { bits, number: Some(0) };
    let entry = RecordIndexEntry { partition: "x".to_owned(), file_id, instant_millis: 0, position: None };
    MetadataRecord::new(format!("key-{n:06}"), Payload::RecordIndex(entry))
}

#[test]
fn a_look_up_reads_only_the_blocks_that_may_hold_the_key() {
    let records: Vec<_> = (0..80_000).map(scattered).collect();
    for in_log in [false, true] {
        let lake = Lake::new("files,record_index");
        lake.metadata_commit(FIRST, 1);
        if in_log {
            lake.log(&Partition::RecordIndex, 0, FIRST, &[deletes(FIRST, &[]), block(FIRST, &records)]);
        } else {
            lake.base(&Partition::RecordIndex, 0, FIRST, &records);
        }
        // The first data block is damaged, and nobody notices who does not ask for its keys.
        let path = lake.world.names_below(".hoodie/metadata/record_index/").remove(0);
        let mut bytes = lake.world.store.read(&path).unwrap().unwrap().to_vec();
        let magic = bytes.windows(8).position(|window| window == b"DATABLK*").unwrap();
        bytes[magic + 100..magic + 200].fill(0);
        lake.world.store.replace(&path, &bytes).unwrap();
        let metadata = lake.metadata();
        let found = metadata.record_locations(["key-079999", "key-040000", "nope"].map(str::to_owned), None).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["key-040000", "key-079999"]);
        let error = metadata.record_locations(["key-000001".to_owned()], None).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::CorruptFile, Some(path.as_str())));
        assert!(error.offset().unwrap() >= if in_log { magic as u64 - 8 } else { 0 }, "{error}");
        assert_eq!(lake.keys("record_index").unwrap_err().kind(), ErrorKind::CorruptFile);
    }
}

#[test]
fn a_record_index_kept_by_partition_is_asked_for_one_or_for_all() {
    let lake = Lake::new("files,record_index");
    lake.metadata_commit(FIRST, 1);
    for (partition, keys) in [("x=1", ["a", "b"]), ("y", ["b", "c"])] {
        let records: Vec<_> = keys.iter().map(|key| located(key, partition)).collect();
        let name = format!("{}_0-0-0_{FIRST}.hfile", Partition::RecordIndex.file_id_within(partition, 0));
        lake.world.put(&format!(".hoodie/metadata/record_index/{name}"), &hfile_of(&records));
    }
    let found = |within: Option<&str>| {
        let found = lake.metadata().record_locations(["a", "b"].map(str::to_owned), within).unwrap();
        let places = |(key, entries): (String, Vec<RecordIndexEntry>)| {
            format!("{key}: {}", entries.into_iter().map(|entry| entry.partition).collect::<Vec<_>>().join(" "))
        };
        found.into_iter().map(places).collect::<Vec<_>>()
    };
    assert_eq!(found(None), ["a: x=1", "b: x=1 y"]);
    assert_eq!(found(Some("y")), ["b: y"]);
    assert_eq!(found(Some("z")), [""; 0]);
}

#[test]
fn a_secondary_index_is_asked_by_value_in_either_version() {
    for (version, definition) in [(IndexVersion::V1, r#","version":"V1""#), (IndexVersion::V2, r#","version":"V2""#)] {
        let lake = Lake::new("files,record_index,secondary_index_by_name");
        lake.metadata_commit(FIRST, 1);
        let definitions = format!(
            r#"{{"indexDefinitions":{{"secondary_index_by_name":{{"indexName":"secondary_index_by_name","indexType":
               "secondary_index","indexFunction":"identity","sourceFields":["name"],"indexOptions":{{}}{definition}}}}}}}"#
        );
        lake.world.put(".hoodie/.index_defs/index.json", definitions.as_bytes());
        let values = [(Some("a"), "1"), (Some("a"), "2"), (Some("a$b"), "3"), (None, "4"), (Some("ab"), "5")];
        let record = |(value, record_key): &(Option<&str>, &str)| {
            MetadataRecord::new(key::secondary(*value, record_key), Payload::SecondaryIndex { is_deleted: false })
        };
        let records: Vec<_> = values.iter().map(record).collect();
        let index = Partition::SecondaryIndex("by_name".to_owned());
        lake.index(&index, version, 5, &records);
        let found = |values: &[Option<&str>]| {
            let values: Vec<_> = values.iter().map(|value| value.map(str::to_owned)).collect();
            let mut keys: Vec<_> = lake
                .metadata()
                .keys_with_values("by_name", &values)
                .unwrap()
                .into_iter()
                .map(|entry| entry.record_key)
                .collect();
            keys.sort();
            keys
        };
        assert_eq!(found(&[Some("a")]), ["1", "2"], "{version:?}");
        assert_eq!(found(&[Some("a$b"), None]), ["3", "4"], "{version:?}");
        assert_eq!(found(&[Some("b")]), [""; 0], "{version:?}");
        let lines = inspect::indexes(&lake.table()).unwrap();
        assert_eq!(lines[2].definition.as_ref().unwrap().source_fields, ["name"]);
    }
}

#[test]
fn definitions_of_indexes_that_cannot_be_read_do_not_matter_to_the_list_of_files() {
    let lake = Lake::listed(30, &[partitions(&["x"]), files("x", &[&base("a", 10)])]);
    lake.commit(10, &[("x", base("a", 10))]);
    lake.world.put(".hoodie/.index_defs/index.json", b"{");
    assert_eq!(lake.seen_by_metadata().len(), 1);
    assert_eq!(inspect::indexes(&lake.table()).unwrap_err().kind(), ErrorKind::CorruptFile);
}

#[test]
fn a_missing_file_group_is_refused_since_its_keys_would_be_missing() {
    let lake = Lake::new("files,record_index");
    lake.metadata_commit(FIRST, 1);
    lake.base(&Partition::RecordIndex, 0, FIRST, &[located("a", "x")]);
    lake.base(&Partition::RecordIndex, 2, FIRST, &[located("b", "x")]);
    let error = lake.metadata().record_locations(["a".to_owned()], None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
}
