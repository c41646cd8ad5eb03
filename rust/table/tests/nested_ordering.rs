//! Rows ordered by a field within a struct: the answers of Apache Hudi 1.2, which are those for a column of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use hudini_table::config::{self, NewTable};
use hudini_table::options::{Operation, Options, TableType};
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::service::{CompactRequest, compact};
use hudini_table::table::Table;
use hudini_table::{ErrorKind, Result};
use rstest::rstest;

use crate::support::{Place, Spec, World, write_batches};

/// The ordering value of a row.
#[derive(Debug, Clone, Copy)]
enum At {
    Value(i64),
    /// Null in a struct that is there.
    Missing,
    /// The struct is null, whatever lies beneath.
    NoStruct,
}
use At::{Missing, NoStruct, Value};

/// Key, ordering value, v, deleted.
type Line = (&'static str, At, &'static str, bool);

fn up(key: &'static str, n: i64, v: &'static str) -> Line {
    (key, Value(n), v, false)
}

fn gone(key: &'static str, n: i64) -> Line {
    (key, Value(n), "gone", true)
}

fn inner(kind: &DataType) -> Fields {
    Fields::from(vec![Field::new("m", DataType::Utf8, true), Field::new("n", kind.clone(), true)])
}

fn schema(kind: &DataType) -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("a", DataType::Struct(inner(kind)), true),
        Field::new("v", DataType::Utf8, true),
        Field::new("ts", DataType::Int64, true),
        Field::new("_hoodie_is_deleted", DataType::Boolean, true),
    ]))
}

fn batch(kind: &DataType, lines: &[Line]) -> RecordBatch {
    let text = |of: fn(&Line) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(lines.iter().map(of))) };
    // Beneath a null struct lies a value that must not count.
    let value = |line: &Line| match line.1 {
        Value(n) => Some(n),
        Missing => None,
        NoStruct => Some(99),
    };
    let n: ArrayRef = match kind {
        DataType::Int32 => Arc::new(lines.iter().map(|l| value(l).map(|n| n as i32)).collect::<Int32Array>()),
        DataType::Utf8 => Arc::new(lines.iter().map(|l| value(l).map(|n| n.to_string())).collect::<StringArray>()),
        _ => Arc::new(lines.iter().map(value).collect::<Int64Array>()),
    };
    let there: NullBuffer = lines.iter().map(|line| !matches!(line.1, NoStruct)).collect();
    let columns: Vec<ArrayRef> = vec![
        text(|l| l.0),
        Arc::new(StructArray::new(inner(kind), vec![text(|l| l.2), n], Some(there))),
        text(|l| l.2),
        Arc::new(lines.iter().map(|_| Some(1)).collect::<Int64Array>()),
        Arc::new(lines.iter().map(|l| Some(l.3)).collect::<BooleanArray>()),
    ];
    RecordBatch::try_new(schema(kind), columns).unwrap()
}

/// A table as Apache Hudi makes it: hudini itself creates none that is ordered so.
fn table(table_type: TableType, kind: &DataType, ordering: &str) -> World {
    let world = World::new(Place::Memory);
    let new = NewTable {
        schema: schema(kind).as_ref().clone(),
        ..Spec { buckets: 1, partitioned: false, ..Spec::new(table_type) }.new_table()
    };
    assert!(config::create(world.store.as_ref(), &world.table().context, &new).unwrap());
    let path = ".hoodie/hoodie.properties";
    let text = String::from_utf8(world.store.read(path).unwrap().unwrap().to_vec()).unwrap();
    let key = "hoodie.table.ordering.fields=";
    world.store.replace(path, text.replace(&format!("{key}ts"), &format!("{key}{ordering}")).as_bytes()).unwrap();
    world
}

fn by_long(table_type: TableType) -> World {
    table(table_type, &DataType::Int64, "a.n")
}

fn upsert(world: &World, kind: &DataType, lines: &[Line]) -> Result<()> {
    write_batches(&world.table(), Operation::Upsert, &schema(kind), vec![batch(kind, lines)]).map(drop)
}

fn longs(world: &World, lines: &[Line]) {
    upsert(world, &DataType::Int64, lines).unwrap();
}

/// v by key, read without the struct, and the same as with it.
fn found(table: &Table) -> BTreeMap<String, String> {
    let read = |columns: Option<Vec<String>>| {
        let scan = Scan::plan(table, ScanRequest { columns, ..ScanRequest::default() }).unwrap();
        let text = |rows: &RecordBatch, name: &str, row: usize| rows[name].as_string::<i32>().value(row).to_owned();
        let of_batch = |rows: RecordBatch| {
            (0..rows.num_rows()).map(move |row| (text(&rows, "id", row), text(&rows, "v", row))).collect::<Vec<_>>()
        };
        scan.read().unwrap().flat_map(|rows| of_batch(rows.unwrap())).collect::<BTreeMap<_, _>>()
    };
    let without = read(Some(vec!["id".into(), "v".into()]));
    assert_eq!(read(None), without);
    without
}

fn pairs(expected: &[(&str, &str)]) -> BTreeMap<String, String> {
    expected.iter().map(|(key, v)| ((*key).to_owned(), (*v).to_owned())).collect()
}

const BASE: [Line; 6] = [
    ("lower", Value(5), "old", false),
    ("equal", Value(5), "old", false),
    ("greater", Value(5), "old", false),
    ("deleted lower", Value(5), "old", false),
    ("deleted equal", Value(5), "old", false),
    ("by key", Value(5), "old", false),
];
const CHANGES: [Line; 7] = [
    ("lower", Value(4), "new", false),
    ("equal", Value(5), "new", false),
    ("greater", Value(10), "new", false),
    ("deleted lower", Value(4), "gone", true),
    ("deleted equal", Value(5), "gone", true),
    // Of two rows of one batch.
    ("fresh", Value(3), "1st", false),
    ("fresh", Value(2), "2nd", false),
];
const AFTER: [(&str, &str); 5] =
    [("lower", "old"), ("equal", "new"), ("greater", "new"), ("deleted lower", "old"), ("fresh", "1st")];

#[rstest]
fn the_field_within_decides(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    let world = by_long(table_type);
    longs(&world, &BASE);
    longs(&world, &CHANGES);
    let by_key = batch(&DataType::Int64, &[up("by key", 1, "")]);
    write_batches(&world.table(), Operation::Delete, &schema(&DataType::Int64), vec![by_key]).unwrap();
    assert_eq!(found(&world.table()), pairs(&AFTER));
}

#[rstest]
#[case::parquet(&[("hoodie.logfile.data.block.format", "parquet")])]
#[case::positions(&[("hoodie.write.record.positions", "true")])]
fn logs_of_other_forms(#[case] options: &[(&str, &str)]) {
    let world = by_long(TableType::MergeOnRead);
    longs(&world, &BASE);
    let mut table = world.table();
    table.options = Options::parse(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))).unwrap();
    let changes = batch(&DataType::Int64, &CHANGES[..5]);
    write_batches(&table, Operation::Upsert, &schema(&DataType::Int64), vec![changes]).unwrap();
    let expected = [&AFTER[..4], &[("by key", "old")]].concat();
    assert_eq!(found(&world.table()), pairs(&expected));
}

#[test]
fn a_compaction_and_what_comes_behind_it() {
    let world = by_long(TableType::MergeOnRead);
    longs(&world, &BASE);
    longs(&world, &CHANGES);
    compact(&world.table(), CompactRequest::default()).unwrap();
    longs(&world, &[up("greater", 9, "late"), up("lower", 7, "newer"), gone("equal", 4)]);
    let expected = [&AFTER[1..], &[("lower", "newer"), ("by key", "old")]].concat();
    assert_eq!(found(&world.table()), pairs(&expected));
}

#[rstest]
#[case("a.n,ts", &[("k", "a"), ("l", "a")])]
#[case("ts,a.n", &[("k", "a"), ("l", "a")])]
#[case("a.m,a.n", &[("k", "b")])]
fn beside_other_fields(#[case] ordering: &str, #[case] expected: &[(&str, &str)]) {
    let world = table(TableType::MergeOnRead, &DataType::Int64, ordering);
    longs(&world, &[up("k", 5, "a"), up("l", 5, "a")]);
    longs(&world, &[up("k", 4, "b"), gone("l", 4)]);
    assert_eq!(found(&world.table()), pairs(expected));
}

#[test]
fn texts_within_order_as_texts() {
    let world = table(TableType::MergeOnRead, &DataType::Utf8, "a.n");
    upsert(&world, &DataType::Utf8, &[up("k", 10, "old"), up("l", 10, "old")]).unwrap();
    upsert(&world, &DataType::Utf8, &[up("k", 9, "new"), gone("l", 1)]).unwrap();
    assert_eq!(found(&world.table()), pairs(&[("k", "new"), ("l", "old")]));
}

/// As in a column of its own the int 0 stands for what is missing, and a null struct has no value.
#[rstest]
#[case(Missing, up("k", -1, "new"), "old")]
#[case(NoStruct, up("k", -1, "new"), "old")]
#[case(NoStruct, up("k", 1, "new"), "new")]
#[case(NoStruct, ("k", Missing, "new", false), "new")]
#[case(Value(5), ("k", Missing, "new", false), "old")]
#[case(Value(-5), ("k", NoStruct, "new", false), "new")]
#[case(Value(5), ("k", NoStruct, "new", false), "old")]
fn ints_that_are_missing(
    #[case] stored: At,
    #[case] change: Line,
    #[case] wins: &str,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let world = table(table_type, &DataType::Int32, "a.n");
    upsert(&world, &DataType::Int32, &[("k", stored, "old", false)]).unwrap();
    upsert(&world, &DataType::Int32, &[change]).unwrap();
    assert_eq!(found(&world.table()), pairs(&[("k", wins)]));
}

#[rstest]
fn other_values_that_are_missing_are_not_written(#[values(Missing, NoStruct)] at: At) {
    let world = by_long(TableType::MergeOnRead);
    let error = upsert(&world, &DataType::Int64, &[up("j", 1, "v"), ("k", at, "v", false)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
    assert!(error.to_string().contains("'a.n' is null in 1 rows"), "{error}");
    assert!(world.data_files().is_empty());
}

#[test]
fn a_field_that_is_not_there_is_named() {
    let world = table(TableType::MergeOnRead, &DataType::Int64, "a.x");
    let error = upsert(&world, &DataType::Int64, &[up("k", 1, "v")]).unwrap_err();
    assert!(error.to_string().contains("'a.x'"), "{error}");
    assert!(world.data_files().is_empty());
}
