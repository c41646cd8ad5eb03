//! What the indexes of a metadata table leave out of a filtered read, and what they must not.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::lake::{FIRST, Lake, base, files, hfile_of, partitions, stats, time};
use arrow_array::RecordBatch;
use hudini_format::bloom::BloomFilter;
use hudini_format::metadata_record::{
    BloomFilterEntry, ColumnStats, FileId, IndexVersion, MetadataRecord, Partition, Payload, RecordIndexEntry,
    StatValue, ValueType, key,
};
use hudini_table::merge::{self, MergeRows};
use hudini_table::options::{Options, QueryType};
use hudini_table::scan::{Explanation, Scan, ScanRequest};
use hudini_table::{Result, Table};
use rstest::rstest;

const A: &str = "0921720f-38af-4dfb-a91d-75ee0f63f035-0";
const B: &str = "1921720f-38af-4dfb-a91d-75ee0f63f035-0";
const C: &str = "2921720f-38af-4dfb-a91d-75ee0f63f035-0";

fn log(id: &str, n: u32) -> String {
    format!(".{id}_{}.log.1_0-0-0", time(n))
}

/// Base files A and B in partition x, C in y, all of one write; and more files of later ones.
fn lake_of(lake: Lake, later: &[(u32, &str, String)]) -> Lake {
    let first = [("x", base(A, 10)), ("x", base(B, 10)), ("y", base(C, 10))];
    lake.base(
        &Partition::Files,
        0,
        FIRST,
        &[partitions(&["x", "y"]), files("x", &[&first[0].1, &first[1].1]), files("y", &[&first[2].1])],
    );
    lake.metadata_commit(FIRST, 1);
    lake.commit(10, &first);
    lake.metadata_commit(&time(10), 14);
    for (n, partition, name) in later {
        lake.commit(*n, &[(partition, name.clone())]);
        lake.add_files(*n, &[files(partition, &[name])]);
    }
    lake
}

fn indexed(by: &str) -> Lake {
    lake_of(Lake::new(&format!("files,{by}")), &[])
}

fn whole(found: ColumnStats) -> ColumnStats {
    ColumnStats { null_count: Some(0), ..found }
}

/// Statistics of columns in files: column, partition, file, least and greatest value.
fn put_column_stats(lake: &Lake, of: &[(&str, &str, String, i32, i32)]) {
    let record = |(column, partition, file, min, max): &(&str, &str, String, i32, i32)| {
        let payload = Payload::ColumnStats(Box::new(whole(stats(column, file, *min, *max))));
        MetadataRecord::new(key::column_stats(column, partition, file), payload)
    };
    lake.index(&Partition::ColumnStats, IndexVersion::V1, 2, &of.iter().map(record).collect::<Vec<_>>());
}

fn put_partition_stats(lake: &Lake, of: &[ColumnStats]) {
    let record = |stats: &ColumnStats| {
        let (column, partition) = (stats.column_name.clone().unwrap(), stats.file_name.clone().unwrap());
        MetadataRecord::new(key::partition_stats(&column, &partition), Payload::PartitionStats(Box::new(stats.clone())))
    };
    lake.index(&Partition::PartitionStats, IndexVersion::V1, 1, &of.iter().map(record).collect::<Vec<_>>());
}

/// The column of commit times in a partition, of as many rows.
fn times(partition: &str, rows: i64) -> ColumnStats {
    ColumnStats {
        min_value: Some(StatValue::String(time(10))),
        max_value: Some(StatValue::String(time(10))),
        value_count: Some(rows),
        value_type: Some(ValueType { ordinal: 7, additional: None }),
        ..whole(stats("_hoodie_commit_time", partition, 0, 0))
    }
}

fn located_in(record_key: &str, partition: &str, id: &str) -> MetadataRecord {
    let file_id = FileId::parse(id);
    let entry = RecordIndexEntry { partition: partition.to_owned(), file_id, instant_millis: 0, position: None };
    MetadataRecord::new(record_key, Payload::RecordIndex(entry))
}

fn put_locations(lake: &Lake, of: &[(&str, &str, &str)]) {
    let records: Vec<_> = of.iter().map(|(record_key, partition, id)| located_in(record_key, partition, id)).collect();
    lake.index(&Partition::RecordIndex, IndexVersion::V1, 2, &records);
}

fn asked(lake: &Lake, request: ScanRequest, options: &[(&str, &str)]) -> Explanation {
    let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let table = Table { options: Options::parse(options).unwrap(), ..lake.table() };
    Scan::plan(&table, request).unwrap().explain().unwrap()
}

fn filtered(filter: &str) -> ScanRequest {
    ScanRequest { filter: Some(filter.to_owned()), ..ScanRequest::default() }
}

/// What is left out by what, as words; nothing may have gone wrong.
#[track_caller]
fn left_out_of(lake: &Lake, request: ScanRequest) -> String {
    let plan = asked(lake, request, &[]);
    assert_eq!(plan.warnings, [""; 0]);
    words(&plan)
}

#[track_caller]
fn left_out(lake: &Lake, filter: &str) -> String {
    left_out_of(lake, filtered(filter))
}

fn words(plan: &Explanation) -> String {
    let by: Vec<_> = plan.pruned.by.iter().map(|(by, count)| format!("{} {count}", by.name())).collect();
    by.join(", ")
}

#[test]
fn files_are_left_out_by_their_own_column_statistics() {
    let lake = indexed("column_stats");
    // A write that is not the slice's own base file, of which statistics are still there.
    let old = base(B, 5);
    put_column_stats(
        &lake,
        &[
            ("v", "x", base(A, 10), 1, 3),
            ("v", "x", old, 50, 60),
            ("v", "y", base(C, 10), 5, 8),
            ("w", "y", base(A, 10), 7, 7),
        ],
    );
    assert_eq!(left_out(&lake, "v = 2"), "column_stats 1");
    assert_eq!(left_out(&lake, "v > 100"), "column_stats 2", "nothing is known of B");
    assert_eq!(left_out(&lake, "v > 100 or name = 'a'"), "");
    assert_eq!(left_out(&lake, "v > 100 and p = 'x'"), "paths 1, column_stats 1");
    assert_eq!(left_out(&lake, "v is null"), "column_stats 2");
    assert_eq!(left_out(&lake, "w = 1"), "", "the statistics of a file in another partition are not its own");
    for request in [
        ScanRequest { as_of: Some(time(10)), ..filtered("v = 2") },
        ScanRequest { mode: Some(QueryType::ReadOptimized), ..filtered("v = 2") },
    ] {
        assert_eq!(left_out_of(&lake, request), "column_stats 1");
    }
    for off in ["hoodie.enable.data.skipping", "hoodie.metadata.enable"] {
        assert_eq!(words(&asked(&lake, filtered("v = 2"), &[(off, "false")])), "");
    }
}

#[test]
fn a_slice_with_logs_is_left_out_by_what_all_its_files_have() {
    let (of_a, of_b) = (log(A, 20), log(B, 20));
    let lake = lake_of(
        Lake::new("files,column_stats"),
        &[(20, "x", of_a.clone()), (25, "x", log(B, 25)), (26, "x", of_b.clone())],
    );
    put_column_stats(
        &lake,
        &[
            ("v", "x", base(A, 10), 1, 1),
            ("w", "x", base(A, 10), 5, 5),
            ("v", "x", of_a.clone(), 3, 4),
            ("w", "x", of_a, 2, 2),
            ("v", "x", base(B, 10), 1, 1),
            ("v", "x", of_b, 3, 4),
        ],
    );
    assert_eq!(left_out(&lake, "v = 9"), "column_stats 1", "of one log of B nothing is known");
    assert_eq!(left_out(&lake, "v = 3"), "");
    // A log may have brought one of the two columns alone, and a row has the other from the base file.
    assert_eq!(left_out(&lake, "v = 1 and w = 2"), "");
    let base_alone = ScanRequest { mode: Some(QueryType::ReadOptimized), ..filtered("v = 3") };
    assert_eq!(left_out_of(&lake, base_alone), "column_stats 2");
}

#[test]
fn partitions_are_left_out_by_statistics_of_all_their_rows() {
    let lake = indexed("partition_stats");
    let less = ColumnStats { value_count: Some(9), ..whole(stats("w", "x", 1, 3)) };
    put_partition_stats(&lake, &[whole(stats("v", "x", 1, 3)), times("x", 10), less, whole(stats("v", "y", 1, 3))]);
    assert_eq!(left_out(&lake, "v = 7"), "partition_stats 1", "of y it is not known how many rows there are");
    assert_eq!(left_out(&lake, "v = 2"), "");
    assert_eq!(left_out(&lake, "w = 7"), "", "not all files of the partition have that column");
    // Rows that are gone by now may have been there.
    for request in [
        ScanRequest { as_of: Some(time(10)), ..filtered("v = 7") },
        ScanRequest { mode: Some(QueryType::ReadOptimized), ..filtered("v = 7") },
    ] {
        assert_eq!(left_out_of(&lake, request), "");
    }
    let side_by_side = [("hoodie.datasource.merge.type", "skip_merge")];
    assert_eq!(words(&asked(&lake, filtered("v = 7"), &side_by_side)), "");
}

#[test]
fn nulls_in_a_partition_may_be_values_that_nobody_looked_at() {
    let lake = indexed("partition_stats");
    put_partition_stats(&lake, &[stats("v", "x", 1, 3), times("x", 10)]);
    assert_eq!(left_out(&lake, "v = 7"), "");
}

#[test]
fn keys_are_looked_for_where_the_record_index_has_them() {
    let lake = indexed("record_index");
    put_locations(&lake, &[("1", "x", A), ("2", "y", C), ("3", "x", B)]);
    for (filter, by) in [
        ("_hoodie_record_key = '1'", "record_index 2"),
        ("id = '1'", "record_index 2"),
        ("id in ('1', '3') and v > 5", "record_index 1"),
        ("id = '1' and p = 'y'", "paths 1, record_index 1"),
        ("id = 'nobody'", "record_index 3"),
        ("id = '1' or v = 1", ""),
        ("id > '1'", ""),
    ] {
        assert_eq!(left_out(&lake, filter), by, "{filter}");
    }
    for request in [
        ScanRequest { as_of: Some(time(10)), ..filtered("id = '1'") },
        ScanRequest { mode: Some(QueryType::ReadOptimized), ..filtered("id = '1'") },
    ] {
        assert_eq!(left_out_of(&lake, request), "");
    }
}

#[test]
fn a_key_that_a_late_delete_may_have_taken_out_of_the_record_index_is_looked_for_everywhere() {
    let lake = lake_of(Lake::ordered("EVENT_TIME_ORDERING", "files,record_index"), &[]);
    put_locations(&lake, &[("1", "x", A)]);
    assert_eq!(left_out(&lake, "id = '1'"), "record_index 2");
    assert_eq!(left_out(&lake, "id in ('1', '2')"), "");
}

#[test]
fn a_key_that_an_overlapping_write_may_have_brought_back_is_looked_for_everywhere() {
    let bucket = "00000003-38af-4dfb-a91d-75ee0f63f035-0";
    let lake = lake_of(Lake::new("files,record_index"), &[(20, "y", base(bucket, 20))]);
    put_locations(&lake, &[("1", "x", A)]);
    assert_eq!(left_out(&lake, "id = '1'"), "record_index 3");
    assert_eq!(left_out(&lake, "id in ('1', '2')"), "");
}

#[rstest]
#[case::found_in_one_partition_and_perhaps_missed_in_the_other("EVENT_TIME_ORDERING", "")]
#[case("COMMIT_TIME_ORDERING", "record_index 1")]
fn a_record_index_kept_by_partition_may_have_a_key_in_several(#[case] mode: &str, #[case] by: &str) {
    merge::register("a-merger-of-ours", Arc::new(Newer));
    let lake = lake_of(Lake::ordered(mode, "files,record_index"), &[]);
    for (partition, id) in [("x", A), ("y", C)] {
        let name = format!("{}_0-0-0_{FIRST}.hfile", Partition::RecordIndex.file_id_within(partition, 0));
        let located = located_in("1", partition, id);
        lake.world.put(&format!(".hoodie/metadata/record_index/{name}"), &hfile_of(&[located]));
    }
    assert_eq!(left_out(&lake, "id = '1'"), by);
}

#[test]
fn an_index_that_is_ahead_of_the_timeline_tells_nothing_of_now() {
    let lake = indexed("column_stats,partition_stats,record_index");
    put_locations(&lake, &[("1", "x", A)]);
    put_partition_stats(&lake, &[whole(stats("v", "x", 1, 3)), times("x", 10)]);
    put_column_stats(&lake, &[("v", "x", base(A, 10), 1, 3)]);
    assert_eq!(left_out(&lake, "id = '1'"), "record_index 2");
    assert_eq!(left_out(&lake, "v = 7"), "partition_stats 1");
    // Completed there, and on the table pending still.
    lake.begin(20);
    lake.metadata_commit(&time(20), 24);
    assert_eq!(left_out(&lake, "id = '1'"), "");
    assert_eq!(left_out(&lake, "v = 7"), "column_stats 1", "what is said of files stands");
}

#[rstest]
#[case::brought_back("restore", &[""], ["", ""])]
#[case::being_brought_back("restore", &[".requested", ".inflight"], ["", ""])]
#[case::being_taken_back("rollback", &[".requested"], ["", ""])]
#[case::taken_back("rollback", &[".requested", ""], ["record_index 2", "partition_stats 1"])]
fn an_index_may_speak_of_rows_that_were_taken_back(
    #[case] action: &str,
    #[case] states: &[&str],
    #[case] by: [&str; 2],
) {
    let lake = indexed("record_index,partition_stats");
    put_locations(&lake, &[("1", "x", A)]);
    put_partition_stats(&lake, &[whole(stats("v", "x", 1, 3)), times("x", 10)]);
    let asked = || ["id = '1'", "v = 7"].map(|filter| left_out(&lake, filter));
    assert_eq!(asked(), ["record_index 2", "partition_stats 1"]);
    for state in states {
        let times = if state.is_empty() { format!("{}_{}", time(25), time(26)) } else { time(25) };
        lake.world.put(&format!(".hoodie/timeline/{times}.{action}{state}"), b"");
    }
    assert_eq!(asked(), by);
}

#[test]
fn an_index_that_names_a_file_group_that_is_not_there_is_not_believed() {
    let lake = indexed("record_index");
    put_locations(&lake, &[("1", "x", "3921720f-38af-4dfb-a91d-75ee0f63f035-0")]);
    let plan = asked(&lake, filtered("id = '1'"), &[]);
    assert_eq!((words(&plan).as_str(), plan.slices, plan.warnings.len()), ("", 3, 1));
    assert!(plan.warnings[0].contains("record_index") && plan.warnings[0].contains("not there"), "{:?}", plan.warnings);
}

fn put_definition(lake: &Lake, column: &str) {
    let definition = format!(
        r#"{{"indexDefinitions":{{"secondary_index_by_name":{{"indexName":"secondary_index_by_name","indexType":
           "secondary_index","indexFunction":"identity","sourceFields":["{column}"],"indexOptions":{{}},"version":"V2"}}}}}}"#
    );
    lake.world.put(".hoodie/.index_defs/index.json", definition.as_bytes());
}

fn put_values(lake: &Lake, of: &[(&str, &str)]) {
    let record = |(value, record_key): &(&str, &str)| {
        MetadataRecord::new(key::secondary(Some(value), record_key), Payload::SecondaryIndex { is_deleted: false })
    };
    let index = Partition::SecondaryIndex("by_name".to_owned());
    lake.index(&index, IndexVersion::V2, 2, &of.iter().map(record).collect::<Vec<_>>());
}

#[rstest]
#[case("name", "name = 'ann'", "secondary_index 2")]
#[case("name", "name in ('ann', 'bob')", "secondary_index 1")]
#[case("name", "name = 'nobody'", "secondary_index 3")]
#[case::a_key_without_a_place("name", "name = 'eve'", "")]
#[case("name", "name like 'a%'", "")]
#[case("name", "w = 7", "")]
#[case("w", "w = 7", "secondary_index 2")]
#[case("w", "w = 8", "secondary_index 3")]
fn values_are_looked_for_where_a_secondary_index_has_their_keys(
    #[case] column: &str,
    #[case] filter: &str,
    #[case] by: &str,
) {
    let lake = indexed("record_index,secondary_index_by_name");
    put_definition(&lake, column);
    put_values(&lake, &[("ann", "1"), ("bob", "2"), ("eve", "9"), ("7", "3")]);
    put_locations(&lake, &[("1", "x", A), ("2", "y", C), ("3", "x", B)]);
    assert_eq!(left_out(&lake, filter), by);
}

/// Apache Hudi 1.2 keeps one of them.
#[test]
fn several_secondary_indexes_of_a_merge_on_read_table_are_not_asked() {
    let lake = indexed("record_index,secondary_index_by_name,secondary_index_by_w");
    put_definition(&lake, "name");
    put_values(&lake, &[("ann", "1")]);
    put_locations(&lake, &[("1", "x", A)]);
    assert_eq!(left_out(&lake, "name = 'ann'"), "");
}

#[test]
fn keys_are_asked_of_bloom_filters_unless_logs_may_have_brought_them() {
    let lake = lake_of(Lake::new("files,bloom_filters"), &[(20, "x", log(B, 20))]);
    let record = |(partition, file, held): (&str, String, &str)| {
        let mut filter = BloomFilter::simple(10, 0.000_001).unwrap();
        filter.add(held);
        let entry = BloomFilterEntry {
            kind: "SIMPLE".to_owned(),
            instant: time(10),
            filter: filter.to_text().into_bytes(),
            is_deleted: false,
        };
        MetadataRecord::new(key::bloom_filter(partition, &file), Payload::BloomFilter(entry))
    };
    let records = [("x", base(A, 10), "1"), ("x", base(B, 10), "2")].map(record);
    lake.index(&Partition::BloomFilters, IndexVersion::V1, 4, &records);
    assert_eq!(left_out(&lake, "id = '1'"), "");
    assert_eq!(left_out(&lake, "id = '2'"), "bloom_filters 1");
    assert_eq!(left_out(&lake, "_hoodie_record_key = '3'"), "bloom_filters 1", "B has a log, and C no filter");
    let base_alone = ScanRequest { mode: Some(QueryType::ReadOptimized), ..filtered("id = '3'") };
    assert_eq!(left_out_of(&lake, base_alone), "bloom_filters 2");
}

#[test]
fn a_damaged_index_costs_a_warning_and_leaves_nothing_out() {
    let filters = BTreeMap::from([
        ("column_stats", "v = 100"),
        ("partition_stats", "v = 100"),
        ("record_index", "id = '1'"),
        ("bloom_filters", "id = '1'"),
        ("secondary_index_by_name", "name = 'ann'"),
    ]);
    for (index, filter) in filters {
        let lake = lake_of(Lake::new(&format!("files,record_index,{index}")), &[]);
        put_definition(&lake, "name");
        if index != "record_index" {
            put_locations(&lake, &[("1", "x", A), ("2", "x", B), ("3", "y", C)]);
        }
        let id = Partition::parse(index).unwrap().file_id(0);
        lake.world.put(&format!(".hoodie/metadata/{index}/{id}_0-0-0_{FIRST}.hfile"), b"no HFile");
        let plan = asked(&lake, filtered(filter), &[]);
        assert_eq!(plan.warnings.len(), 1, "{index}: {:?}", plan.warnings);
        assert!(plan.warnings[0].contains(if index.starts_with("secondary") { "secondary_index" } else { index }));
        let by = words(&plan);
        assert!(by.is_empty() || (index == "bloom_filters" && by == "record_index 2"), "{index}: {by}");
        assert_eq!(asked(&lake, filtered("lower(name) = 'ann'"), &[]).warnings, [""; 0], "{index} cannot tell");
    }
}

struct Newer;

impl MergeRows for Newer {
    fn merge(&self, _old: &RecordBatch, new: &RecordBatch) -> Result<RecordBatch> {
        Ok(new.clone())
    }
}

/// What a merger of somebody's own makes of two rows is in no file, and in no statistics.
#[rstest]
#[case("COMMIT_TIME_ORDERING", 1)]
#[case("CUSTOM\nhoodie.record.merge.strategy.id=a-merger-of-ours", 2)]
fn statistics_of_a_partition_tell_nothing_of_rows_that_a_merger_makes(#[case] mode: &str, #[case] read: usize) {
    let lake = lake_of(Lake::ordered(mode, "files,partition_stats"), &[(20, "x", log(A, 20))]);
    put_partition_stats(&lake, &[whole(stats("v", "x", 1, 3)), times("x", 10)]);
    let slices = asked(&lake, filtered("v = 7"), &[]).slices;
    assert_eq!(slices, read, "that of y, and that with a log");
}
