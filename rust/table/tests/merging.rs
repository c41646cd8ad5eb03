//! Which version of a row wins: the answers of Apache Hudi 1.2, through real files of copy-on-write and merge-on-read
//! tables. And what must not matter: batch sizes, threads, and how the input was cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use hudini_format::action::{CommitMetadata, WriteStat};
use hudini_format::avro::RowEncoder;
use hudini_format::instant::{Action, InstantFile};
use hudini_format::log::{BlockKind, DeleteRecord, HeaderKey, OrderingValue, avro_block, delete, encode_block};
use hudini_format::name::LogFileName;
use hudini_format::properties::PartitionMetadata;
use hudini_format::schema::{Record, avro_text, meta};
use hudini_table::config;
use hudini_table::context::{Context, ManualClock, SeededIds};
use hudini_table::options::{MergeMode, Operation, TableType};
use hudini_table::view;
use rstest::rstest;

use crate::support::{
    Place, Row, START, Scene, Spec, World, gone, model, row, rows_of, scanned, upserted, write_batches,
};
use Step::{DeleteKey, Logged, Upsert};

/// One write to a table with one row, `k`.
#[derive(Debug, Clone)]
enum Step {
    /// Rows of one batch: ts and v.
    Upsert(Vec<(i64, &'static str)>),
    /// A row that asks for its own deletion.
    DeleteRow(i64),
    /// By key alone.
    DeleteKey,
    /// A log file as another engine may have written it.
    Logged(Vec<Block>),
}
use Step::DeleteRow;

#[derive(Debug, Clone)]
enum Block {
    Rows(Vec<Row>),
    Delete(OrderingValue),
}

fn up(ts: i64, v: &'static str) -> Step {
    Upsert(vec![(ts, v)])
}

fn logged_delete(ordering: OrderingValue) -> Step {
    Logged(vec![Block::Delete(ordering)])
}

fn logged_rows(rows: &[(i64, &str)]) -> Block {
    Block::Rows(rows.iter().map(|(ts, v)| row("k", "A", *ts, v)).collect())
}

const PARTITION: &str = "A";

fn one_row(spec: &Spec) -> World {
    let world = World::new(Place::Memory);
    spec.upsert(&spec.create(&world), &[row("k", PARTITION, 5, "base")]).unwrap();
    world
}

fn take(world: &World, spec: &Spec, step: &Step) {
    let table = world.table();
    match step {
        Upsert(rows) => {
            let rows: Vec<_> = rows.iter().map(|(ts, v)| row("k", PARTITION, *ts, v)).collect();
            drop(spec.upsert(&table, &rows).unwrap());
        }
        DeleteRow(ts) => drop(spec.upsert(&table, &[gone("k", PARTITION, *ts)]).unwrap()),
        DeleteKey => drop(spec.write(&table, Operation::Delete, &[row("k", PARTITION, 1, "")]).unwrap()),
        Logged(blocks) => log_by_hand(world, spec, PARTITION, &file_id(world, PARTITION), blocks),
    }
}

fn file_id(world: &World, partition: &str) -> String {
    let table = world.table();
    let (config, snapshot) = (table.config().unwrap(), table.snapshot(None).unwrap());
    view::newest_slices(world.store.as_ref(), &config, &snapshot, partition).unwrap()[0].file_id.clone()
}

/// A delta commit of one log file.
fn log_by_hand(world: &World, spec: &Spec, partition: &str, file_id: &str, blocks: &[Block]) {
    let timeline = world.table().timeline().unwrap();
    let newest: u64 = timeline.newest_time().unwrap().parse().unwrap();
    let (time, completed) = ((newest + 1).to_string(), (newest + 2).to_string());
    let schema = avro_text(&meta::with_meta(&spec.schema()), "trips").unwrap();
    let headers = [(HeaderKey::InstantTime, time.as_str()), (HeaderKey::Schema, schema.as_str())];
    let mut content = Vec::new();
    for block in blocks {
        content.extend(match block {
            Block::Rows(rows) => encode_block(BlockKind::AvroData, &headers, &datums(spec, &schema, rows)).unwrap(),
            Block::Delete(ordering) => {
                let delete = DeleteRecord {
                    key: Some("k".into()),
                    partition: Some(partition.into()),
                    ordering: ordering.clone(),
                };
                encode_block(BlockKind::Delete, &headers, &delete::encode(&[delete]).unwrap()).unwrap()
            }
        });
    }
    let name = LogFileName {
        file_id: file_id.into(),
        instant: time.clone(),
        version: 1,
        token: Some("0-12-34".into()),
        cdc: false,
    };
    let path = if partition.is_empty() { name.to_string() } else { format!("{partition}/{name}") };
    world.put(&path, &content);
    let newest = timeline.commits().next_back().unwrap();
    let mut metadata: CommitMetadata = timeline.commit_metadata(world.store.as_ref(), newest).unwrap();
    let stat = WriteStat {
        file_id: Some(file_id.into()),
        partition_path: Some(partition.into()),
        path: Some(path),
        ..WriteStat::zeroed()
    };
    metadata.partition_to_write_stats = Some([(partition.to_owned(), vec![stat])].into());
    let file = InstantFile::completed(&time, &completed, Action::DeltaCommit);
    world.put(&format!("{}/{file}", timeline.dir), &metadata.encode().unwrap());
}

fn datums(spec: &Spec, schema: &str, rows: &[Row]) -> Vec<u8> {
    let user = spec.batch(rows);
    let text = |of: fn(&Row) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(of))) };
    let meta_columns = [text(|_| "0"), text(|_| "0_0_1"), text(|r| &r.id), text(|r| &r.city), text(|_| "f")];
    let columns = meta_columns.into_iter().chain(user.columns().iter().cloned()).collect();
    let batch = RecordBatch::try_new(Arc::new(meta::with_meta(&user.schema())), columns).unwrap();
    let record = Record::parse(schema).unwrap();
    let encoder = RowEncoder::new(&record, &batch).unwrap();
    let datum = |row| {
        let mut out = Vec::new();
        encoder.encode(row, &mut out).unwrap();
        out
    };
    let datums: Vec<Vec<u8>> = (0..rows.len()).map(datum).collect();
    avro_block::encode_records(datums.iter().map(Vec::as_slice)).unwrap()
}

/// The value of `k` after the steps.
fn outcome(spec: &Spec, steps: &[Step]) -> Option<String> {
    let world = one_row(spec);
    steps.iter().for_each(|step| take(&world, spec, step));
    rows_of(&world.table()).remove("k").map(|row| row.v)
}

fn event_time_mor() -> Spec {
    Spec { with_deletes: true, buckets: 1, ..Spec::mor() }
}

const NONE: OrderingValue = OrderingValue::NONE;
const NULL: OrderingValue = OrderingValue::Null;

fn long(v: i64) -> OrderingValue {
    OrderingValue::Long(v)
}

#[rstest]
// Rows.
#[case(vec![up(5, "u5")], Some("u5"))]
#[case(vec![up(4, "u4")], Some("base"))]
#[case(vec![up(6, "u6")], Some("u6"))]
#[case(vec![up(7, "1st"), up(7, "2nd")], Some("2nd"))]
#[case(vec![up(9, "u9"), up(8, "u8")], Some("u9"))]
#[case(vec![Upsert(vec![(7, "1st"), (7, "2nd")])], Some("2nd"))]
#[case(vec![Upsert(vec![(8, "1st"), (7, "2nd")])], Some("1st"))]
#[case(vec![Logged(vec![logged_rows(&[(7, "1st"), (7, "2nd")])])], Some("2nd"))]
#[case(vec![Logged(vec![logged_rows(&[(8, "1st"), (7, "2nd")])])], Some("1st"))]
// Deletes of whatever there is.
#[case(vec![DeleteKey], None)]
#[case(vec![logged_delete(NONE)], None)]
#[case(vec![logged_delete(NULL)], None)]
#[case(vec![up(9, "u9"), DeleteKey], None)]
#[case(vec![logged_delete(NULL), up(7, "u7")], Some("u7"))]
#[case(vec![DeleteKey, up(7, "u7")], Some("u7"))]
#[case(vec![DeleteKey, up(1, "u1")], Some("base"))]
#[case(vec![logged_delete(NONE), up(1, "u1")], Some("base"))]
#[case(vec![DeleteRow(9), DeleteKey, up(3, "u3")], Some("base"))]
#[case(vec![logged_delete(long(9)), logged_delete(NONE), up(3, "u3")], Some("base"))]
// Of two deletes the one of everything stays: the row before it would win otherwise.
#[case(vec![DeleteKey, DeleteRow(4)], None)]
#[case(vec![DeleteKey, DeleteRow(4), up(7, "u7")], Some("u7"))]
// A row of a data block that is marked as deleted takes its place, and loses.
#[case(vec![DeleteKey, Logged(vec![Block::Rows(vec![gone("k", "A", 4)])])], Some("base"))]
// Deletes with an ordering value.
#[case(vec![logged_delete(long(0))], Some("base"))]
#[case(vec![logged_delete(long(4))], Some("base"))]
#[case(vec![DeleteRow(4)], Some("base"))]
#[case(vec![logged_delete(long(5))], None)]
#[case(vec![logged_delete(long(6))], None)]
#[case(vec![DeleteRow(5)], None)]
#[case(vec![DeleteRow(6)], None)]
#[case(vec![up(9, "u9"), DeleteRow(7)], Some("u9"))]
#[case(vec![up(9, "u9"), logged_delete(long(7))], Some("u9"))]
#[case(vec![DeleteRow(9), up(7, "u7")], None)]
#[case(vec![logged_delete(long(9)), up(7, "u7")], None)]
#[case(vec![DeleteRow(9), up(9, "u9")], Some("u9"))]
#[case(vec![Logged(vec![logged_rows(&[(7, "u7")]), Block::Delete(long(7))])], None)]
#[case(vec![Logged(vec![logged_rows(&[(7, "u7")]), Block::Delete(long(6))])], Some("u7"))]
#[case(vec![Logged(vec![Block::Rows(vec![gone("k", "A", 6)])])], None)]
#[case(vec![Logged(vec![Block::Rows(vec![gone("k", "A", 4)])])], Some("base"))]
fn by_event_time_logs_meet_each_other_and_then_the_base_row(#[case] steps: Vec<Step>, #[case] wins: Option<&str>) {
    assert_eq!(outcome(&event_time_mor(), &steps).as_deref(), wins);
}

#[rstest]
#[case(vec![up(4, "u4")], Some("u4"))]
#[case(vec![up(9, "u9"), up(8, "u8")], Some("u8"))]
#[case(vec![Upsert(vec![(8, "1st"), (7, "2nd")])], Some("2nd"))]
#[case(vec![up(9, "u9"), DeleteKey], None)]
#[case(vec![DeleteKey, up(1, "u1")], Some("u1"))]
#[case(vec![up(9, "u9"), DeleteRow(1)], None)]
#[case(vec![DeleteRow(9), up(1, "u1")], Some("u1"))]
#[case(vec![logged_delete(long(4))], None)]
#[case(vec![logged_delete(NULL), up(1, "u1")], Some("u1"))]
#[case(vec![Logged(vec![logged_rows(&[(9, "u9")]), Block::Delete(NONE)])], None)]
fn by_commit_time_the_last_word_counts(#[case] steps: Vec<Step>, #[case] wins: Option<&str>) {
    let spec = Spec { mode: MergeMode::CommitTime, ..event_time_mor() };
    assert_eq!(outcome(&spec, &steps).as_deref(), wins);
    // Without an ordering field there is no other time.
    let spec = Spec { ordering: Vec::new(), ..spec };
    assert_eq!(outcome(&spec, &steps).as_deref(), wins);
}

#[rstest]
#[case(vec![up(4, "u4")], Some("base"))]
#[case(vec![up(5, "u5")], Some("u5"))]
#[case(vec![up(6, "u6")], Some("u6"))]
#[case(vec![Upsert(vec![(7, "b1"), (7, "b2")])], Some("b2"))]
#[case(vec![Upsert(vec![(8, "b8"), (7, "b7")])], Some("b8"))]
#[case(vec![DeleteKey], None)]
#[case(vec![DeleteRow(4)], Some("base"))]
#[case(vec![DeleteRow(5)], None)]
#[case(vec![DeleteRow(6)], None)]
// What was deleted is gone, and with it what it would win against.
#[case(vec![DeleteRow(9), up(7, "u7")], Some("u7"))]
#[case(vec![DeleteKey, up(1, "u1")], Some("u1"))]
fn copy_on_write_merges_when_it_writes(#[case] steps: Vec<Step>, #[case] wins: Option<&str>) {
    let spec = Spec { with_deletes: true, buckets: 1, ..Spec::cow() };
    assert_eq!(outcome(&spec, &steps).as_deref(), wins);
}

#[test]
fn copy_on_write_by_commit_time_takes_the_newer_row() {
    let spec = Spec { mode: MergeMode::CommitTime, with_deletes: true, buckets: 1, ..Spec::cow() };
    assert_eq!(outcome(&spec, &[up(4, "u4")]).as_deref(), Some("u4"));
    assert_eq!(outcome(&spec, &[Upsert(vec![(8, "1st"), (7, "2nd")])]).as_deref(), Some("2nd"));
    assert_eq!(outcome(&spec, &[DeleteRow(1)]), None);
}

/// Ordered by ts, then v; what tells the rows apart is their city.
#[rstest]
#[case(5, "0.5", "base")]
#[case(5, "1.0", "new")]
#[case(6, "0.0", "new")]
#[case(4, "9.0", "base")]
fn several_ordering_fields_compare_left_to_right(
    #[case] ts: i64,
    #[case] v: &str,
    #[case] wins: &str,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let world = World::new(Place::Memory);
    let spec = by_two_fields(table_type);
    spec.upsert(&spec.create(&world), &[row("k", "base", 5, "1.0")]).unwrap();
    spec.upsert(&world.table(), &[row("k", "new", ts, v)]).unwrap();
    assert_eq!(rows_of(&world.table())["k"].city, wins);
}

fn by_two_fields(table_type: TableType) -> Spec {
    let ordering = vec!["ts".into(), "v".into()];
    Spec { ordering, partitioned: false, buckets: 1, with_deletes: true, ..Spec::new(table_type) }
}

#[rstest]
#[case(5, "0.5", false)]
#[case(5, "1.0", true)]
#[case(6, "0.0", true)]
fn a_delete_has_several_ordering_values_too(#[case] ts: i64, #[case] v: &str, #[case] deletes: bool) {
    let spec = by_two_fields(TableType::MergeOnRead);
    let world = World::new(Place::Memory);
    spec.upsert(&spec.create(&world), &[row("k", "base", 5, "1.0")]).unwrap();
    let by_hand = world.copy();
    let ordering = OrderingValue::Array(vec![long(ts), OrderingValue::String(v.into())]);
    log_by_hand(&by_hand, &spec, "", &file_id(&by_hand, ""), &[Block::Delete(ordering)]);
    assert_eq!(rows_of(&by_hand.table()).is_empty(), deletes);
    let asked = Row { deleted: true, ..row("k", "base", ts, v) };
    spec.upsert(&world.table(), &[asked]).unwrap();
    assert_eq!(rows_of(&world.table()).is_empty(), deletes, "our own delete block says the same");
}

/// Rows ordered by an int that may be null: (ts, v, deleted).
fn int_rows(rows: &[(Option<i32>, &str, bool)]) -> RecordBatch {
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(StringArray::from_iter_values(rows.iter().map(|_| "k")))),
        ("ts", Arc::new(Int32Array::from_iter(rows.iter().map(|r| r.0)))),
        ("v", Arc::new(StringArray::from_iter_values(rows.iter().map(|r| r.1)))),
        ("_hoodie_is_deleted", Arc::new(BooleanArray::from_iter(rows.iter().map(|r| Some(r.2))))),
    ];
    RecordBatch::try_new(int_schema(), columns.map(|(_, column)| column).to_vec()).unwrap()
}

fn int_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("ts", DataType::Int32, true),
        Field::new("v", DataType::Utf8, true),
        Field::new("_hoodie_is_deleted", DataType::Boolean, true),
    ]))
}

/// The int 0 is what Apache Hudi takes where an ordering value is missing: nulls compare as 0, and a delete with 0 deletes
/// whatever there is.
#[rstest]
#[case(None, (Some(-5), "new", false), Some("old"))]
#[case(None, (Some(0), "new", false), Some("new"))]
#[case(Some(0), (None, "new", false), Some("new"))]
#[case(Some(3), (None, "new", false), Some("old"))]
#[case(Some(5), (Some(4), "gone", true), Some("old"))]
#[case(Some(5), (Some(-1), "gone", true), Some("old"))]
#[case(Some(5), (Some(5), "gone", true), None)]
#[case(Some(5), (Some(0), "gone", true), None)]
#[case(Some(5), (None, "gone", true), None)]
fn an_int_ordering_value_may_be_missing(
    #[case] stored: Option<i32>,
    #[case] change: (Option<i32>, &str, bool),
    #[case] wins: Option<&str>,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec { partitioned: false, buckets: 1, ..Spec::new(table_type) };
    let world = World::new(Place::Memory);
    let table = world.table();
    let new = config::NewTable { schema: int_schema().as_ref().clone(), ..spec.new_table() };
    assert!(config::create(world.store.as_ref(), &table.context, &new).unwrap());
    for rows in [int_rows(&[(stored, "old", false)]), int_rows(&[change])] {
        write_batches(&table, Operation::Upsert, &int_schema(), vec![rows]).unwrap();
    }
    let scan = hudini_table::scan::Scan::plan(&table, Default::default()).unwrap();
    let batches: Vec<RecordBatch> = scan.read().unwrap().map(Result::unwrap).collect();
    let values = |b: &RecordBatch| b.column_by_name("v").unwrap().as_string::<i32>().value(0).to_owned();
    let found: Vec<String> = batches.iter().filter(|b| b.num_rows() > 0).map(values).collect();
    assert_eq!(found, wins.into_iter().collect::<Vec<_>>());
}

/// A key that stands twice in a base file meets a change once; the second row passes.
#[rstest]
fn a_change_meets_the_first_of_two_base_rows(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec { with_deletes: true, buckets: 1, ..Spec::new(table_type) };
    let values = |world: &World| scanned(&world.table(), 8192).unwrap().into_iter().map(|r| r.v).collect::<Vec<_>>();
    let world = World::new(Place::Memory);
    let twice = [row("k", "A", 1, "1st"), row("k", "A", 2, "2nd")];
    spec.write(&spec.create(&world), Operation::BulkInsert, &twice).unwrap();
    assert_eq!(values(&world), ["1st", "2nd"]);
    let deleted = world.copy();
    spec.upsert(&world.table(), &[row("k", "A", 9, "new")]).unwrap();
    assert_eq!(values(&world), ["new", "2nd"]);
    spec.write(&deleted.table(), Operation::Delete, &[row("k", "A", 0, "")]).unwrap();
    assert_eq!(values(&deleted), ["2nd"]);
}

#[test]
fn a_second_bulk_insert_adds_rows_of_the_same_key() {
    let spec = Spec { buckets: 1, ..Spec::cow() };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    spec.write(&table, Operation::BulkInsert, &[row("k", "A", 2, "1st")]).unwrap();
    spec.write(&table, Operation::BulkInsert, &[row("k", "A", 1, "2nd")]).unwrap();
    let values: Vec<_> = scanned(&table, 8192).unwrap().into_iter().map(|r| r.v).collect();
    assert_eq!(values, ["1st", "2nd"]);
}

#[test]
fn a_file_group_may_have_logs_only() {
    let spec = event_time_mor();
    let world = one_row(&spec);
    let id = "00000000-1111-4222-8333-444455556666-0";
    world.put("L/.hoodie_partition_metadata", &PartitionMetadata::new("0", "L").to_bytes("date"));
    let logged = [row("l1", "L", 1, "logged"), row("l2", "L", 1, "logged")];
    log_by_hand(&world, &spec, "L", id, &[Block::Rows(logged.to_vec())]);
    let values = || rows_of(&world.table()).into_values().map(|r| (r.id, r.v)).collect::<Vec<_>>();
    let pair = |id: &str, v: &str| (id.to_owned(), v.to_owned());
    assert_eq!(values(), [pair("k", "base"), pair("l1", "logged"), pair("l2", "logged")]);
    spec.upsert(&world.table(), &[row("l1", "L", 2, "new"), gone("l2", "L", 2), row("l3", "L", 1, "new")]).unwrap();
    assert_eq!(values(), [pair("k", "base"), pair("l1", "new"), pair("l3", "new")]);
    assert_eq!(file_id(&world, "L"), id);
}

/// Many rows in all partitions, a part of them changed later.
fn many_rows() -> (Vec<Row>, Vec<Row>) {
    let city = |n: usize| ["A", "B", "C"][n % 3];
    let first = (0..60).map(|n| row(&format!("k{n:02}"), city(n), 5, "old")).collect();
    let change = |n: usize| match n % 5 {
        0 => gone(&format!("k{n:02}"), city(n), 6),
        ts => row(&format!("k{n:02}"), city(n), 3 + ts as i64, "new"),
    };
    (first, (40..80).rev().map(change).collect())
}

#[rstest]
fn rows_come_in_one_order_whatever_the_batch_size_and_threads(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec { with_deletes: true, ..Spec::new(table_type) };
    let world = World::new(Place::Memory);
    let (first, second) = many_rows();
    let mut table = spec.create(&world);
    spec.upsert(&table, &first).unwrap();
    spec.upsert(&table, &second).unwrap();
    let wanted = scanned(&table, 8192).unwrap();
    assert_eq!(rows_of(&table), upserted(&model(&first), &second));
    for threads in [1, 2] {
        table.context.threads = threads;
        for batch_size in [1, 7, 8192] {
            assert!(scanned(&table, batch_size).unwrap() == wanted, "{threads} threads, {batch_size} rows a batch");
        }
    }
}

/// Every file after some writes, with all that comes from outside held fast.
fn written(table_type: TableType, threads: usize, cut: usize) -> BTreeMap<String, Bytes> {
    let spec = Spec { with_deletes: true, ..Spec::new(table_type) };
    let world = World::new(Place::Memory);
    let context = Context { clock: Arc::new(ManualClock::new(START)), ids: Arc::new(SeededIds::new(5)), threads };
    let table = world.table_in(Arc::clone(&world.store), context);
    assert!(config::create(world.store.as_ref(), &table.context, &spec.new_table()).unwrap());
    let (first, second) = many_rows();
    let third: Vec<Row> = first.iter().take(7).cloned().collect();
    for (operation, rows) in [
        (Operation::BulkInsert, first),
        (Operation::Upsert, second),
        (Operation::Delete, third.clone()),
        (Operation::Insert, third),
    ] {
        let batches = rows.chunks(cut).map(|rows| spec.batch(rows)).collect();
        write_batches(&table, operation, &spec.schema(), batches).unwrap();
    }
    world.files()
}

#[rstest]
fn the_same_writes_write_the_same_bytes(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let wanted = written(table_type, 1, usize::MAX);
    assert!(wanted.len() > 20);
    for (threads, cut) in [(1, 1), (1, 3), (2, 1), (2, 3), (2, usize::MAX)] {
        let _scene = Scene(format!("{threads} threads, input in batches of {cut}"));
        let found = written(table_type, threads, cut);
        assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
        for (path, bytes) in &found {
            assert!(bytes == &wanted[path], "{path}");
        }
    }
}
