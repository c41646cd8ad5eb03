//! What indexes of expressions leave out of a filtered read, and what they must not.

use crate::support::lake::{FIRST, Lake, base, files, partitions, stats, time};
use hudini_format::bloom::BloomFilter;
use hudini_format::metadata_record::{
    BloomFilterEntry, ColumnStats, IndexVersion, MetadataRecord, Partition, Payload, StatValue, ValueType, key,
};
use hudini_table::options::QueryType;
use hudini_table::scan::{Explanation, Scan, ScanRequest};
use rstest::rstest;

const A: &str = "0921720f-38af-4dfb-a91d-75ee0f63f035-0";
const B: &str = "1921720f-38af-4dfb-a91d-75ee0f63f035-0";
const INDEX: &str = "expr_index_by_it";

fn partition() -> Partition {
    Partition::parse(INDEX).unwrap()
}

fn log_of_b() -> String {
    format!(".{B}_{}.log.1_0-0-0", time(20))
}

/// Base files A and B, and an index of that definition. B has a log.
fn lake(kind: &str, function: &str, column: &str, options: &str) -> Lake {
    let lake = Lake::new(&format!("files,{INDEX}"));
    let bases = [("x", base(A, 10)), ("x", base(B, 10))];
    lake.base(&Partition::Files, 0, FIRST, &[partitions(&["x"]), files("x", &[&bases[0].1, &bases[1].1])]);
    lake.metadata_commit(FIRST, 1);
    lake.commit(10, &bases);
    lake.metadata_commit(&time(10), 14);
    lake.commit(20, &[("x", log_of_b())]);
    lake.add_files(20, &[files("x", &[&log_of_b()])]);
    let definition = format!(
        r#"{{"indexDefinitions":{{"{INDEX}":{{"indexName":"{INDEX}","indexType":"{kind}","indexFunction":"{function}",
           "sourceFields":["{column}"],"indexOptions":{options},"version":"V2"}}}}}}"#
    );
    lake.world.put(".hoodie/.index_defs/index.json", definition.as_bytes());
    lake
}

fn of_texts(column: &str, file: &str, min: &str, max: &str) -> ColumnStats {
    ColumnStats {
        min_value: Some(StatValue::String(min.to_owned())),
        max_value: Some(StatValue::String(max.to_owned())),
        value_type: Some(ValueType { ordinal: 7, additional: None }),
        ..stats(column, file, 0, 0)
    }
}

fn put_stats(lake: &Lake, of: &[ColumnStats]) {
    let record = |stats: &ColumnStats| {
        let (column, file) = (stats.column_name.as_deref().unwrap(), stats.file_name.as_deref().unwrap());
        MetadataRecord::new(key::column_stats(column, "x", file), Payload::ColumnStats(Box::new(stats.clone())))
    };
    lake.index(&partition(), IndexVersion::V1, 2, &of.iter().map(record).collect::<Vec<_>>());
}

fn filtered(filter: &str) -> ScanRequest {
    ScanRequest { filter: Some(filter.to_owned()), ..ScanRequest::default() }
}

fn asked(lake: &Lake, request: ScanRequest) -> Explanation {
    Scan::plan(&lake.table(), request).unwrap().explain().unwrap()
}

/// How many slices the index leaves out; nothing else leaves out any, and nothing may have gone wrong.
#[track_caller]
fn left_out_of(lake: &Lake, request: ScanRequest) -> usize {
    let plan = asked(lake, request);
    assert_eq!(plan.warnings, [""; 0]);
    let by: Vec<_> = plan.pruned.by.iter().map(|(by, count)| (by.name(), *count)).collect();
    match by.as_slice() {
        [] => 0,
        [("expression_index", count)] => *count,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn left_out(lake: &Lake, filter: &str) -> usize {
    left_out_of(lake, filtered(filter))
}

#[test]
fn a_slice_is_left_out_by_what_all_its_files_have() {
    let lake = lake("column_stats", "lower", "name", r#"{"expr":"lower"}"#);
    put_stats(
        &lake,
        &[
            of_texts("name", &base(A, 10), "bergen", "oslo"),
            of_texts("name", &base(B, 10), "paris", "rome"),
            of_texts("name", &log_of_b(), "zagreb", "zagreb"),
        ],
    );
    assert_eq!(left_out(&lake, "lower(name) = 'oslo'"), 1);
    assert_eq!(left_out(&lake, "lower(name) = 'zagreb'"), 1, "the log brought it");
    assert_eq!(left_out(&lake, "lower(name) in ('oslo', 'rome')"), 0);
    assert_eq!(left_out(&lake, "lower(name) = 'aarhus' and v = 1"), 2);
    assert_eq!(left_out(&lake, "lower(name) = 'aarhus' or v = 1"), 0);
    assert_eq!(left_out(&lake, "name = 'AARHUS'"), 2, "its small letters are in no file");
    assert_eq!(left_out(&lake, "lower(name) is null"), 0);
    assert_eq!(left_out(&lake, "upper(name) = 'AARHUS'"), 0);
    let base_alone = ScanRequest { mode: Some(QueryType::ReadOptimized), ..filtered("lower(name) = 'zagreb'") };
    assert_eq!(left_out_of(&lake, base_alone), 2);
    let then = ScanRequest { as_of: Some(time(10)), ..filtered("lower(name) = 'zagreb'") };
    assert_eq!(left_out_of(&lake, then), 2, "files tell for ever");
}

#[test]
fn of_a_file_without_results_nothing_is_known() {
    let lake = lake("column_stats", "year", "v", r#"{"expr":"year"}"#);
    put_stats(&lake, &[stats("v", &base(A, 10), 2020, 2021)]);
    assert_eq!(left_out(&lake, "v = 2024"), 0, "no year of a number");
    let lake = self::lake("column_stats", "length", "name", "{}");
    let nothing = ColumnStats { min_value: None, max_value: None, value_count: Some(0), ..stats("name", "", 0, 0) };
    let log = ColumnStats { file_name: Some(log_of_b()), ..nothing };
    put_stats(&lake, &[stats("name", &base(A, 10), 2, 5), stats("name", &base(B, 10), 2, 5), log]);
    assert_eq!(left_out(&lake, "length(name) > 5"), 1, "a log of deletes, or one that was not understood");
    assert_eq!(left_out(&lake, "name = 'a'"), 1);
}

/// In A are results of 2024-03-05, in B nothing is known of.
#[rstest]
#[case("from_unixtime", r#"{"expr":"from_unixtime","format":"yyyy-MM-dd"}"#, "2024-03-05", 1)]
#[case("from_unixtime", r#"{"format":"yyyy-MM-dd HH:mm:ss"}"#, "2024-03-05 10:00:00", 0)]
#[case::default_format("from_unixtime", "{}", "2024-03-05 10:00:00", 0)]
#[case::no_such_option("from_unixtime", r#"{"format":"yyyy-MM-dd","zone":"Asia/Tokyo"}"#, "2024-03-05", 0)]
#[case::no_such_letter("from_unixtime", r#"{"format":"yyyy-MM-dd EEE"}"#, "2024-03-05", 0)]
#[case::no_text("from_unixtime", r#"{"format":7}"#, "2024-03-05", 0)]
#[case::no_such_function("regexp_extract", r#"{"pattern":"a","idx":"0"}"#, "2024-03-05", 0)]
fn an_index_is_matched_by_what_it_works_out(
    #[case] function: &str,
    #[case] options: &str,
    #[case] result: &str,
    #[case] wanted: usize,
) {
    let lake = lake("column_stats", function, "v", options);
    put_stats(&lake, &[of_texts("v", &base(A, 10), result, result)]);
    assert_eq!(left_out(&lake, "from_unixtime(v, 'yyyy-MM-dd') = '2024-03-07'"), wanted);
    assert_eq!(left_out(&lake, "from_unixtime(v, 'yyyy-MM-dd') = '2024-03-06'"), 0, "in another zone");
    if options == "{}" {
        assert_eq!(left_out(&lake, "from_unixtime(v) > '2024-03-07'"), 1);
    }
}

#[test]
fn bloom_filters_of_results_are_asked_where_no_log_brought_more() {
    let lake = lake("bloom_filters", "upper", "name", r#"{"expr":"upper","fpp":"0.01"}"#);
    let record = |file: String, held: &str| {
        let mut filter = BloomFilter::simple(10, 0.000_001).unwrap();
        filter.add(held);
        let entry = BloomFilterEntry {
            kind: "SIMPLE".to_owned(),
            instant: time(10),
            filter: filter.to_text().into_bytes(),
            is_deleted: false,
        };
        MetadataRecord::new(key::bloom_filter("x", &file), Payload::BloomFilter(entry))
    };
    lake.index(&partition(), IndexVersion::V1, 2, &[record(base(A, 10), "OSLO"), record(base(B, 10), "ROME")]);
    assert_eq!(left_out(&lake, "upper(name) = 'ROME'"), 1);
    assert_eq!(left_out(&lake, "upper(name) in ('ROME', 'OSLO')"), 0);
    assert_eq!(left_out(&lake, "name = 'Rome'"), 1);
    assert_eq!(left_out(&lake, "upper(name) = 'PARIS'"), 1, "B has a log");
    assert_eq!(left_out(&lake, "upper(name) > 'PARIS'"), 0);
    assert_eq!(left_out(&lake, "upper(name) = 'ÅRHUS'"), 0);
    let base_alone = ScanRequest { mode: Some(QueryType::ReadOptimized), ..filtered("upper(name) = 'PARIS'") };
    assert_eq!(left_out_of(&lake, base_alone), 2);
}

#[test]
fn an_index_of_a_bare_column_is_one_of_the_column() {
    let lake = lake("column_stats", "identity", "v", "{}");
    put_stats(&lake, &[stats("v", &base(A, 10), 2, 5)]);
    assert_eq!(left_out(&lake, "v > 5"), 1);
    assert_eq!(left_out(&lake, "v between 1 and 2"), 0);
}

#[test]
fn damage_costs_a_warning_and_leaves_nothing_out() {
    let lake = lake("column_stats", "lower", "name", "{}");
    lake.world.put(&format!(".hoodie/metadata/{INDEX}/{}_0-0-0_{FIRST}.hfile", partition().file_id(0)), b"no HFile");
    let plan = asked(&lake, filtered("lower(name) = 'a'"));
    assert_eq!(plan.warnings.len(), 1);
    assert!(plan.warnings.iter().all(|warning| warning.contains("expression_index")), "{:?}", plan.warnings);
    assert!(plan.pruned.by.is_empty());
    assert_eq!(left_out(&lake, "name > 'a'"), 0, "it is not asked");
}

#[test]
fn an_index_that_is_being_built_is_not_asked() {
    let lake = lake("column_stats", "lower", "name", "{}");
    put_stats(&lake, &[of_texts("name", &base(A, 10), "b", "c")]);
    let properties = lake.world.store.read(".hoodie/hoodie.properties").unwrap().unwrap();
    let text = String::from_utf8(properties.to_vec()).unwrap();
    assert_eq!(left_out(&lake, "lower(name) = 'a'"), 1);
    let text = text.replace(&format!("files,{INDEX}"), "files");
    let text = format!("{text}hoodie.table.metadata.partitions.inflight={INDEX}\n");
    lake.world.store.replace(".hoodie/hoodie.properties", text.as_bytes()).unwrap();
    assert_eq!(left_out(&lake, "lower(name) = 'a'"), 0);
}
