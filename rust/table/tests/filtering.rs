//! Filters on tables: the rows that match come out, whatever is pruned on the way.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_select::concat::concat_batches;
use hudini_format::schema::evolve::Mapping;
use hudini_table::base_file;
use hudini_table::bytes_form::BytesForm;
use hudini_table::context::ManualClock;
use hudini_table::context::Watch;
use hudini_table::filter::Predicate;
use hudini_table::options::QueryType;
use hudini_table::scan::{Evidence, Explanation, Pruned, Scan, ScanRequest, Split, Window};
use hudini_table::storage::Storage;
use hudini_table::storage::memory::Memory;
use hudini_table::{ErrorKind, Table};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;
use rstest::rstest;

use crate::support::{Place, Row, Spec, World, model, row, rows_of};

fn filtered(filter: &str) -> ScanRequest {
    ScanRequest { filter: Some(filter.to_owned()), columns: Some(vec!["id".to_owned()]), ..ScanRequest::default() }
}

fn ids_of(batches: impl Iterator<Item = hudini_table::Result<RecordBatch>>) -> Vec<String> {
    let mut ids = Vec::new();
    for batch in batches {
        let batch = batch.unwrap();
        assert_eq!(batch.num_columns(), 1, "the columns of the filter stay behind");
        ids.extend(batch.column(0).as_string::<i32>().iter().map(|id| id.unwrap().to_owned()));
    }
    ids.sort();
    ids
}

/// The ids that match, read at once and in splits that travelled, which must agree.
fn ids(table: &Table, request: ScanRequest) -> Vec<String> {
    let scan = Scan::plan(table, request).unwrap();
    let found = ids_of(scan.read().unwrap());
    let travelled =
        scan.splits(None).unwrap().into_iter().map(|split| Split::from_bytes(&split.to_bytes().unwrap()).unwrap());
    let mut apart: Vec<_> = travelled.flat_map(|split| ids_of(split.read(Some(2)).unwrap())).collect();
    apart.sort();
    assert_eq!(found, apart);
    assert_eq!(scan.count().unwrap(), found.len() as u64);
    found
}

fn explained(table: &Table, filter: &str) -> Explanation {
    Scan::plan(table, filtered(filter)).unwrap().explain().unwrap()
}

/// A table whose files splits can open themselves.
fn table(spec: &Spec, commits: &[&[Row]]) -> (World, Table) {
    let world = World::new(Place::Local);
    let table = spec.create(&world);
    commits.iter().for_each(|rows| drop(spec.upsert(&table, rows).unwrap()));
    (world, table)
}

fn both_types() -> [Spec; 2] {
    [Spec::cow(), Spec::mor()]
}

#[test]
fn rows_match_as_they_are_after_merging() {
    for spec in both_types() {
        let first = [row("a", "A", 1, "x"), row("b", "A", 1, "y"), row("c", "B", 1, "x")];
        let second = [row("a", "A", 2, "y"), row("b", "A", 2, "x"), row("d", "A", 0, "x")];
        // Late: the rows that are there stay as they are.
        let third = [row("c", "B", 0, "z"), row("b", "A", 1, "late")];
        let (_world, table) = table(&spec, &[&first, &second, &third]);
        assert_eq!(ids(&table, filtered("v = 'x'")), ["b", "c", "d"]);
        assert_eq!(ids(&table, filtered("v = 'y'")), ["a"]);
        assert_eq!(ids(&table, filtered("v in ('z', 'late')")), [""; 0]);
        assert_eq!(ids(&table, filtered("ts > 1 and city = 'A'")), ["a", "b"]);
        assert_eq!(ids(&table, filtered("_hoodie_record_key >= 'c'")), ["c", "d"]);
        // Without its logs, the table is what it was.
        let optimized = ScanRequest { mode: Some(QueryType::ReadOptimized), ..filtered("v = 'y'") };
        assert_eq!(ids(&table, optimized).len(), 1);
    }
}

#[test]
fn partitions_are_left_out_by_their_paths() {
    for spec in both_types() {
        let rows: Vec<_> = ["A", "B", "C"].map(|city| row(&city.to_lowercase(), city, 1, "x")).to_vec();
        let (_world, table) = table(&spec, &[&rows]);
        for (filter, found, partitions) in [
            ("city = 'A'", vec!["a"], 2),
            ("city in ('A', 'C')", vec!["a", "c"], 1),
            ("city > 'A' and ts = 1", vec!["b", "c"], 1),
            ("city <> 'A' and not city = 'B'", vec!["c"], 2),
            ("city is null", vec![], 3),
            ("city = 'A' or ts = 1", vec!["a", "b", "c"], 0),
            ("lower(city) = 'a'", vec!["a"], 0),
            ("city like 'B%'", vec!["b"], 2),
            ("_hoodie_partition_path = 'B'", vec!["b"], 2),
            ("false", vec![], 3),
        ] {
            let found: Vec<_> = found.into_iter().map(str::to_owned).collect();
            assert_eq!(ids(&table, filtered(filter)), found, "{filter}");
            let plan = explained(&table, filter);
            assert_eq!((plan.pruned.partitions, plan.filter.as_deref()), (partitions, Some(filter)), "{filter}");
            assert!(plan.partitions <= 3 - partitions, "{filter}");
        }
    }
}

#[test]
fn a_key_is_looked_for_in_its_bucket() {
    for spec in both_types() {
        let spec = Spec { buckets: 4, partitioned: false, ..spec };
        let rows: Vec<_> = (0..40).map(|n| row(&format!("k{n:02}"), "A", 1, "x")).collect();
        let (_world, table) = table(&spec, &[&rows, &rows[..5]]);
        for (filter, found) in [
            ("id = 'k07'", vec!["k07"]),
            ("'k07' = id and v = 'x'", vec!["k07"]),
            ("_hoodie_record_key = 'k08'", vec!["k08"]),
            ("id = 'k07' and v = 'y'", vec![]),
            ("id = 'nobody'", vec![]),
        ] {
            let found: Vec<_> = found.into_iter().map(str::to_owned).collect();
            assert_eq!(ids(&table, filtered(filter)), found, "{filter}");
            let by = BTreeMap::from([(Evidence::Buckets, 3)]);
            assert_eq!(explained(&table, filter).pruned, Pruned { partitions: 0, slices: 3, by }, "{filter}");
        }
        assert_eq!(ids(&table, filtered("id in ('k01', 'k02', 'k03')")), ["k01", "k02", "k03"]);
        for everywhere in ["id = 'k07' or v = 'x'", "id > 'k07'", "lower(id) = 'k07'", "v = 'x'"] {
            assert_eq!(explained(&table, everywhere).pruned, Pruned::default(), "{everywhere}");
        }
    }
}

/// 0.15 puts keys with colons into other buckets than later releases do, and a table that old may have them in either.
#[test]
fn a_key_that_may_be_in_two_buckets_is_looked_for_in_all_and_not_written() {
    for spec in both_types() {
        let spec = Spec { buckets: 4, partitioned: false, ..spec };
        let (world, table) = table(&spec, &[&[row("a:b,c", "A", 1, "x"), row("a", "A", 1, "x")]]);
        let pruned = |id: &str| {
            let filter = format!("id = '{id}'");
            assert_eq!(ids(&world.table(), filtered(&filter)), [id]);
            explained(&world.table(), &filter).pruned.slices
        };
        // Of four buckets two have a file.
        assert_eq!((pruned("a:b,c"), pruned("a")), (1, 1));
        let path = ".hoodie/hoodie.properties";
        let properties = String::from_utf8(world.store.read(path).unwrap().unwrap().to_vec()).unwrap();
        let older = properties.replace("hoodie.table.initial.version=9", "hoodie.table.initial.version=6");
        assert_ne!(older, properties);
        world.store.replace(path, older.as_bytes()).unwrap();
        assert_eq!((pruned("a:b,c"), pruned("a")), (0, 1));
        spec.upsert(&world.table(), &[row("a", "A", 2, "y")]).unwrap();
        let error = spec.upsert(&world.table(), &[row("b", "A", 2, "y"), row("a:b,c", "A", 2, "y")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}");
        assert!(error.to_string().contains("'a:b,c'"), "{error}");
        assert_eq!(rows_of(&table), model(&[row("a:b,c", "A", 1, "x"), row("a", "A", 2, "y")]));
        world.assert_tidy();
    }
}

#[test]
fn a_key_is_asked_of_the_files_bloom_filter() {
    let spec = Spec { buckets: 1, partitioned: false, ..Spec::cow() };
    let rows: Vec<_> = (0..40).map(|n| row(&format!("k{n:02}"), "A", 1, "x")).collect();
    let (world, table) = table(&spec, &[&rows]);
    let path = world.data_files().into_iter().next().unwrap();
    let schema = Arc::clone(Scan::plan(&table, ScanRequest::default()).unwrap().schema());
    for (filter, found) in [
        ("_hoodie_record_key = 'k07'", 40),
        ("_hoodie_record_key in ('k07', 'k07x') and v = 'x'", 40),
        // Between the least and the greatest key, and not there.
        ("_hoodie_record_key = 'k07x'", 0),
        ("_hoodie_record_key = 'k07x' or v = 'x'", 40),
        ("id = 'k07x'", 40),
    ] {
        let predicate = Predicate::new(filter, &schema).unwrap();
        let names = Mapping::default();
        let rows =
            base_file::read_matching(&world.store, &path, &schema, &names, 100, base_file::Matching::new(&predicate))
                .unwrap();
        assert_eq!(rows.map(|rows| rows.unwrap().num_rows()).sum::<usize>(), found, "{filter}");
    }
}

#[test]
fn to_count_the_rows_of_base_files_no_page_is_read() {
    let (world, spec) = (World::new(Place::Memory), Spec { buckets: 1, ..Spec::cow() });
    let table = spec.create(&world);
    let rows: Vec<_> = (0..20_000).map(|n| row(&format!("key-{n}"), "A", n, &n.to_string())).collect();
    spec.upsert(&table, &rows).unwrap();
    let scan = Scan::plan(&table, ScanRequest::default()).unwrap();
    let watch = Watch::default();
    assert_eq!(scan.count_watched(&watch).unwrap(), 20_000);
    let (read, whole) = (watch.progress().bytes, scan.explain().unwrap().base_bytes);
    assert!(read > 0 && 10 * read < whole, "{read} of {whole} bytes");
}

#[test]
fn a_limit_counts_rows_that_match() {
    for spec in both_types() {
        let rows: Vec<_> = (0..50).map(|n| row(&format!("k{n:02}"), "A", n, "x")).collect();
        let (_world, table) = table(&spec, &[&rows]);
        for (limit, found) in [(0, 0), (3, 3), (10, 10), (100, 10)] {
            let request = ScanRequest { limit: Some(limit), batch_size: Some(4), ..filtered("ts >= 40") };
            assert_eq!(ids_of(Scan::plan(&table, request).unwrap().read().unwrap()).len(), found);
        }
    }
}

#[test]
fn ranges_are_filtered() {
    for spec in both_types() {
        let (_world, table) = table(
            &spec,
            &[&[row("a", "A", 1, "x"), row("b", "B", 1, "x")], &[row("a", "A", 2, "y"), row("c", "B", 1, "x")]],
        );
        let request = |filter: &str, start: Option<String>| ScanRequest {
            window: Some(Window { start, end: None }),
            ..filtered(filter)
        };
        assert_eq!(ids(&table, request("v = 'x'", None)), ["b", "c"]);
        let first = table.history(None).unwrap()[1].completed.clone();
        assert_eq!(ids(&table, request("v = 'x'", Some(first.clone()))), ["c"]);
        assert_eq!(ids(&table, request("city = 'A'", Some(first))), ["a"]);
        let plan = Scan::plan(&table, request("city = 'A'", None)).unwrap().explain().unwrap();
        assert_eq!((plan.partitions, plan.pruned.partitions), (1, 1));
    }
}

#[test]
fn a_wrong_filter_is_refused_before_anything_is_read() {
    let (_world, table) = table(&Spec::cow(), &[&[row("a", "A", 1, "x")]]);
    for wrong in ["nope = 1", "id =", "ts = 'soon'"] {
        assert_eq!(Scan::plan(&table, filtered(wrong)).unwrap_err().kind(), ErrorKind::InvalidFilter, "{wrong}");
    }
}

type Values = (Option<i64>, Option<f64>, Option<String>, Option<i128>, Option<i32>, Option<i64>, Option<bool>);

fn values() -> impl Strategy<Value = Values> {
    let double = prop_oneof![(-3..4).prop_map(|n| f64::from(n) + 0.5), Just(f64::NAN), Just(-0.0), Just(0.0)];
    (
        prop::option::of(prop_oneof![-3..4_i64, Just(i64::MIN), Just(i64::MAX)]),
        prop::option::of(double),
        prop::option::of(prop_oneof!["[abé]{0,2}", "[ab]{0,2}".prop_map(|tail| format!("{}{tail}", "b".repeat(100)))]),
        prop::option::of(-300..300_i128),
        prop::option::of(-2..3_i32),
        prop::option::of(-2..3_i64),
        prop::option::of(any::<bool>()),
    )
}

fn batch(rows: &[Values]) -> RecordBatch {
    let decimals: Decimal128Array = rows.iter().map(|row| row.3).collect();
    let moments: TimestampMicrosecondArray = rows.iter().map(|row| row.5.map(|n| n * 43_200_000_000)).collect();
    let columns: [(&str, ArrayRef); 7] = [
        ("n", Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>())),
        ("d", Arc::new(rows.iter().map(|row| row.1).collect::<Float64Array>())),
        ("s", Arc::new(rows.iter().map(|row| row.2.clone()).collect::<StringArray>())),
        ("m", Arc::new(decimals.with_precision_and_scale(20, 2).unwrap())),
        ("day", Arc::new(rows.iter().map(|row| row.4).collect::<Date32Array>())),
        ("ts", Arc::new(moments.with_timezone("UTC"))),
        ("ok", Arc::new(rows.iter().map(|row| row.6).collect::<BooleanArray>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true))).unwrap()
}

fn leaf() -> impl Strategy<Value = String> {
    let op = || prop_oneof![Just("="), Just("<>"), Just("<"), Just("<="), Just(">"), Just(">="), Just("<=>")];
    prop_oneof![
        (op(), -4..5_i64).prop_map(|(op, n)| format!("n {op} {n}")),
        (op(), -4..5_i64).prop_map(|(op, n)| format!("d {op} {n}.5D")),
        op().prop_map(|op| format!("d {op} cast('nan' as double)")),
        (op(), "[abé]{0,2}").prop_map(|(op, text)| format!("s {op} '{text}'")),
        (op(), -4..5_i64).prop_map(|(op, n)| format!("m {op} {n}.25")),
        (op(), -2..3_i64).prop_map(|(op, n)| format!("day {op} date_add('1970-01-01', {n})")),
        (op(), 30..32_i64).prop_map(|(op, n)| format!("to_date(ts) {op} '1969-12-{n}'")),
        (op(), -2..3_i64).prop_map(|(op, n)| format!("ts {op} date_add('1970-01-01', {n})")),
        "[ab]{0,2}".prop_map(|text| format!("s like '{text}%'")),
        Just("ok".to_owned()),
        prop_oneof![Just("n"), Just("d"), Just("s"), Just("m"), Just("ok")].prop_map(|c| format!("{c} is null")),
        prop::collection::vec("[abé]{0,2}", 1..3).prop_map(|texts| format!("s in ('{}')", texts.join("', '"))),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    leaf().prop_recursive(2, 8, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| format!("not ({inner})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) and ({b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}) or ({b})")),
        ]
    })
}

/// The rows of a base file that come out where row groups are left out.
fn read(storage: &Arc<dyn Storage>, wanted: &RecordBatch, predicate: &Predicate) -> RecordBatch {
    let schema = wanted.schema();
    let names = Mapping::default();
    let matching = base_file::Matching { predicate, worth: 0 };
    let rows = base_file::read_matching(storage, "f.parquet", &schema, &names, 7, matching).unwrap();
    let rows: Vec<_> = rows.map(Result::unwrap).collect();
    concat_batches(&schema, &rows).unwrap()
}

fn stored(rows: &RecordBatch, properties: WriterProperties) -> Arc<dyn Storage> {
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    let storage = Memory::new("t", Arc::new(ManualClock::new(0)));
    storage.replace("f.parquet", &writer.into_inner().unwrap()).unwrap();
    Arc::new(storage)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_left_out_of_a_file_loses_no_row(
        rows in prop::collection::vec(values(), 1..30),
        (group, page) in prop_oneof![(1_usize..6, 1_usize..4), (10_usize..40, 1_usize..5)],
        cut in prop::option::of(1_usize..4),
        (blooms, plain) in (any::<bool>(), any::<bool>()),
        filters in prop::collection::vec(condition(), 8),
    ) {
        let rows = batch(&rows);
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(group))
            .set_data_page_row_count_limit(page)
            .set_write_batch_size(page)
            .set_statistics_truncate_length(cut)
            .set_column_index_truncate_length(cut)
            .set_bloom_filter_enabled(blooms)
            .set_dictionary_enabled(!plain)
            .build();
        let storage = stored(&rows, properties);
        for filter in filters {
            let predicate = Predicate::new(&filter, rows.schema_ref()).unwrap();
            let all = predicate.select(&rows).unwrap();
            let found = predicate.select(&read(&storage, &rows, &predicate)).unwrap();
            // NaN is not equal to itself but in filters.
            prop_assert_eq!(format!("{found:?}"), format!("{all:?}"), "{}", filter);
        }
    }
}

#[rstest]
#[case("n = 5", 3)]
#[case("n in (1, 8)", 6)]
#[case("n > 7", 3)]
#[case("n < 0", 0)]
#[case("n is null", 1)]
#[case("s = 'text 4'", 3)]
#[case("gone is null", 10)]
#[case("gone = 'x'", 0)]
#[case("gone is not null", 0)]
fn row_groups_are_left_out(#[case] filter: &str, #[case] read_rows: usize) {
    let n: Int64Array = (0..9).map(Some).chain([None]).collect();
    let s: StringArray = (0..10).map(|n| Some(format!("text {n}"))).collect();
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(n)), ("s", Arc::new(s))];
    let rows = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true))).unwrap();
    let gone: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>; 10]));
    let wanted = RecordBatch::try_from_iter_with_nullable(vec![
        ("n", Arc::clone(rows.column(0)), true),
        ("gone", gone, true),
        ("s", Arc::clone(rows.column(1)), true),
    ])
    .unwrap();
    let predicate = Predicate::new(filter, wanted.schema_ref()).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(3));
    let found = read(&stored(&rows, properties.clone().build()), &wanted, &predicate);
    assert_eq!(found.num_rows(), read_rows, "{:?}", found.column(0).as_primitive::<Int64Type>());
    // Without statistics nothing is known but what the file lacks.
    let properties = properties.set_statistics_enabled(EnabledStatistics::None).build();
    let blind = read(&stored(&rows, properties), &wanted, &predicate);
    assert_eq!(blind.num_rows(), if filter.starts_with("gone") { read_rows } else { 10 });
}

/// Numbers in order and texts out of order, in pages of ten and of any number of rows, in groups of a hundred.
fn paged(blooms: bool) -> (RecordBatch, Arc<dyn Storage>) {
    let n: Int64Array = (0..300).map(|n| (n % 10 != 9).then_some(n * 2)).collect();
    let s: StringArray = (0..300).map(|n| Some(format!("{:03}", n * 7 % 300))).collect();
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(n)), ("s", Arc::new(s))];
    let rows = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true))).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .set_data_page_row_count_limit(10)
        .set_write_batch_size(10)
        .set_bloom_filter_enabled(blooms)
        .set_bloom_filter_fpp(1e-6)
        .build();
    let storage = stored(&rows, properties);
    (rows, storage)
}

fn left_out(storage: &Arc<dyn Storage>, rows: &RecordBatch, filter: &str, worth: u64) -> base_file::LeftOut {
    let predicate = Predicate::new(filter, rows.schema_ref()).unwrap();
    let matching = base_file::Matching { predicate: &predicate, worth };
    base_file::left_out(storage, "f.parquet", &rows.schema(), &Mapping::default(), matching).unwrap()
}

#[rstest]
#[case("n = 100", 2, 90)]
#[case("n = 100 or n = 444", 1, 180)]
#[case("n between 195 and 203", 1, 180)]
#[case("n > 590", 2, 90)]
#[case("n is null", 0, 0)]
#[case("not n < 500", 2, 50)]
#[case("n < 20 and s > '050'", 2, 90)]
#[case("n = 100 or s = '050'", 0, 180)]
fn pages_are_left_out(#[case] filter: &str, #[case] groups: u64, #[case] in_others: u64) {
    let (rows, storage) = paged(false);
    let expected = base_file::LeftOut { by_statistics: groups, rows_by_pages: in_others, ..Default::default() };
    let found = left_out(&storage, &rows, filter, 0);
    assert_eq!(found, expected);
    let predicate = Predicate::new(filter, rows.schema_ref()).unwrap();
    let read = read(&storage, &rows, &predicate);
    assert_eq!(read.num_rows() as u64, 300 - groups * 100 - in_others);
    assert_eq!(predicate.select(&read).unwrap(), predicate.select(&rows).unwrap());
    let small = base_file::LeftOut { by_statistics: groups, ..Default::default() };
    assert_eq!(left_out(&storage, &rows, filter, 1 << 20), small, "what is read anyway is not looked at");
}

#[test]
fn row_groups_are_left_out_by_bloom_filters_of_columns() {
    let (rows, storage) = paged(true);
    for (filter, by_blooms) in [
        ("s = '150x'", 3),
        ("s in ('150x', '151x') and n is not null", 3),
        ("s = '150x' or s = '151x'", 0),
        ("s <=> '150x'", 3),
        ("n = 101", 1),
        ("n in (101, 100)", 0),
        ("s = '150'", 2),
        ("s <> '150x'", 0),
    ] {
        let found = left_out(&storage, &rows, filter, 0);
        assert_eq!(found.by_blooms, by_blooms, "{filter}: {found:?}");
        let predicate = Predicate::new(filter, rows.schema_ref()).unwrap();
        let read = read(&storage, &rows, &predicate);
        assert_eq!(predicate.select(&read).unwrap(), predicate.select(&rows).unwrap(), "{filter}");
    }
}
