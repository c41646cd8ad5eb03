//! Rows that a table cannot hold are refused with their reason, and nothing is written: not a file, not an instant.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, StringViewArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use hudini_table::config::{self, NewTable};
use hudini_table::options::{Operation, TableType};
use hudini_table::{Error, ErrorKind};
use rstest::rstest;

use crate::support::{Place, Spec, World, row, rows_of, write_batches};

/// id, city, ts, v and a column of each type that is picky; `sure` must not be null.
fn schema() -> Schema {
    Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("city", DataType::Utf8, true),
        Field::new("ts", DataType::Int64, true),
        Field::new("small", DataType::Int32, true),
        Field::new("sure", DataType::Boolean, false),
        Field::new("at", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
    ])
}

fn good_columns() -> Vec<(&'static str, ArrayRef)> {
    let at = TimestampNanosecondArray::from(vec![1_000, 2_000]).with_timezone("UTC");
    vec![
        ("id", Arc::new(StringArray::from(vec!["k1", "k2"]))),
        ("city", Arc::new(StringArray::from(vec!["A", "B"]))),
        ("ts", Arc::new(Int64Array::from(vec![1, 2]))),
        ("small", Arc::new(Int32Array::from(vec![1, 2]))),
        ("sure", Arc::new(BooleanArray::from(vec![true, false]))),
        ("at", Arc::new(at)),
    ]
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields = columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns.into_iter().map(|(_, column)| column).collect()).unwrap()
}

fn with(name: &'static str, column: impl Into<ArrayRef>) -> RecordBatch {
    let column = column.into();
    let mut columns = good_columns();
    match columns.iter_mut().find(|(n, _)| *n == name) {
        Some(slot) => slot.1 = column,
        None => columns.push((name, column)),
    }
    batch(columns)
}

fn array(column: impl arrow_array::Array + 'static) -> ArrayRef {
    Arc::new(column)
}

/// A table with the two rows in it.
fn table_of(table_type: TableType) -> World {
    let world = World::new(Place::Memory);
    let table = world.table();
    let new = NewTable { schema: schema(), ..Spec::new(table_type).new_table() };
    assert!(config::create(world.store.as_ref(), &table.context, &new).unwrap());
    let rows = batch(good_columns());
    write_batches(&table, Operation::Upsert, &rows.schema(), vec![rows]).unwrap();
    world
}

/// Good rows first, so that something could have been written before the bad ones are seen.
fn refused(world: &World, operation: Operation, bad: RecordBatch) -> Error {
    let before = world.files();
    let good = batch(good_columns());
    let batches = if good.schema() == bad.schema() { vec![good, bad] } else { vec![bad] };
    let schema = batches[0].schema();
    let error = write_batches(&world.table(), operation, &schema, batches).unwrap_err();
    let after = world.files();
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(after == before, "a file was rewritten");
    error
}

fn without(name: &str) -> RecordBatch {
    batch(good_columns().into_iter().filter(|(n, _)| *n != name).collect())
}

fn twice(name: &'static str) -> RecordBatch {
    let second = good_columns().into_iter().find(|(n, _)| *n == name).unwrap();
    batch(good_columns().into_iter().chain([second]).collect())
}

#[rstest]
#[case::a_column_twice(twice("small"), "more than one column 'small'")]
#[case::missing_column(without("small"), "the rows lack 'small'")]
#[case::missing_key(without("id"), "the rows lack 'id'")]
#[case::extra_column(with("more", array(Int32Array::from(vec![1, 2]))), "the table has no 'more'")]
#[case::text_for_a_number(with("ts", array(StringArray::from(vec!["1", "2"]))), "'ts' is Utf8 in the rows and Int64")]
#[case::number_for_a_text(with("id", array(Int64Array::from(vec![1, 2]))), "'id' is Int64 in the rows and Utf8")]
#[case::fraction_for_an_integer(with("small", array(Float64Array::from(vec![1.0, 2.0]))), "'small' is Float64")]
#[case::decimal_for_an_integer(with("ts", array(Decimal128Array::from(vec![1, 2]))), "'ts' is Decimal128")]
#[case::number_for_a_bool(with("sure", array(Int32Array::from(vec![1, 0]))), "'sure' is Int32")]
#[case::too_great(with("ts", array(UInt64Array::from(vec![1, u64::MAX]))), "'ts' is UInt64")]
#[case::too_great_for_small(with("small", array(Int64Array::from(vec![1, 1 << 40]))), "'small' is Int64")]
#[case::null_where_none_may_be(with("sure", array(BooleanArray::from(vec![Some(true), None]))), "'sure' must not be null")]
#[case::null_key(with("id", array(StringArray::from(vec![Some("k1"), None]))), "'id' must not be null")]
#[case::empty_key(with("id", array(StringArray::from(vec!["k1", ""]))), "row 1 has no record key")]
#[case::null_ordering(with("ts", array(Int64Array::from(vec![Some(1), None]))), "ordering column 'ts' is null in 1 rows")]
#[case::no_directory(with("city", array(StringArray::from(vec!["A", "../B"]))), "'../B'")]
#[case::nanoseconds(
    with("at", array(TimestampNanosecondArray::from(vec![1_000, 1_001]).with_timezone("UTC"))),
    "'at' is Timestamp(ns"
)]
#[case::no_zone(with("at", array(TimestampNanosecondArray::from(vec![1_000, 1_000]))), "'at' is Timestamp")]
fn rows_that_do_not_fit(
    #[case] bad: RecordBatch,
    #[case] says: &str,
    #[values(Operation::Upsert, Operation::Insert, Operation::BulkInsert)] operation: Operation,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let error = refused(&table_of(table_type), operation, bad);
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
    assert!(error.message().contains(says), "{error}");
}

#[rstest]
#[case::missing_key(without("id"), "the rows lack 'id'")]
#[case::missing_partition(without("city"), "the rows lack 'city'")]
#[case::wrong_type(with("id", array(Int64Array::from(vec![1, 2]))), "'id' is Int64")]
#[case::null_key(with("id", array(StringArray::from(vec![Some("k1"), None]))), "'id' must not be null")]
#[case::empty_key(with("id", array(StringArray::from(vec!["k1", ""]))), "row 1 has no record key")]
fn keys_that_name_nothing(
    #[case] bad: RecordBatch,
    #[case] says: &str,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let error = refused(&table_of(table_type), Operation::Delete, bad);
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
    assert!(error.message().contains(says), "{error}");
}

/// What fits by its names alone is enough for a delete.
#[test]
fn a_delete_looks_at_keys_only() {
    let world = table_of(TableType::CopyOnWrite);
    let keys = batch(vec![
        ("city", array(StringArray::from(vec!["A"]))),
        ("id", array(StringArray::from(vec!["k1"]))),
        ("ts", array(StringArray::from(vec!["not even a number"]))),
        ("more", array(Int32Array::from(vec![1]))),
    ]);
    let result = write_batches(&world.table(), Operation::Delete, &keys.schema(), vec![keys]).unwrap();
    assert_eq!((result.deleted, result.inserted), (1, 0));
}

#[rstest]
fn nothing_to_write_writes_nothing(
    #[values(Operation::Upsert, Operation::Insert, Operation::BulkInsert, Operation::Delete)] operation: Operation,
) {
    let world = table_of(TableType::CopyOnWrite);
    let before = world.files();
    let rows = batch(good_columns()).slice(0, 0);
    let result = write_batches(&world.table(), operation, &rows.schema(), vec![rows]).unwrap();
    assert_eq!((result.instant, result.operation), (None, operation.word()));
    // Keys of partitions that are not there.
    if operation == Operation::Delete {
        let keys = with("city", array(StringArray::from(vec!["X", "Y"])));
        let result = write_batches(&world.table(), operation, &keys.schema(), vec![keys]).unwrap();
        assert_eq!((result.instant, result.operation), (None, operation.word()));
    }
    assert!(world.files() == before);
}

#[test]
fn a_table_that_is_not_there_is_not_made() {
    let world = World::new(Place::Memory);
    let rows = batch(good_columns());
    let error = write_batches(&world.table(), Operation::Upsert, &rows.schema(), vec![rows]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
    let files: Vec<_> = world.files().into_keys().collect();
    assert!(files.iter().all(|path| path == ".hoodie/.locks/hudini.lock"), "{files:?}");
}

/// One key, however Arrow holds it: the row is found and changed, not added.
#[rstest]
#[case::large(array(LargeStringArray::from(vec!["k1"])))]
#[case::view(array(StringViewArray::from(vec!["k1"])))]
#[case::dictionary(cast(
    &StringArray::from(vec!["k1"]),
    &DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))
).unwrap())]
fn a_key_is_its_text_whatever_its_encoding(
    #[case] id: ArrayRef,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec::new(table_type);
    let world = World::new(Place::Memory);
    spec.upsert(&spec.create(&world), &[row("k1", "A", 1, "old"), row("k2", "A", 1, "old")]).unwrap();
    let columns = vec![
        ("id", id),
        ("city", array(StringArray::from(vec!["A"]))),
        ("ts", array(Int32Array::from(vec![2]))),
        ("v", array(StringArray::from(vec!["new"]))),
    ];
    let rows = batch(columns);
    write_batches(&world.table(), Operation::Upsert, &rows.schema(), vec![rows.clone()]).unwrap();
    let found = rows_of(&world.table());
    assert_eq!((found.len(), &*found["k1"].v, found["k1"].ts), (2, "new", 2));
    write_batches(&world.table(), Operation::Delete, &rows.schema(), vec![rows]).unwrap();
    assert_eq!(rows_of(&world.table()).into_keys().collect::<Vec<_>>(), ["k2"]);
}

/// Each would be a table that nobody can write to.
#[rstest]
#[case::nested_key(|new: &mut NewTable| new.record_key = vec!["place".into()], "record key column 'place' is no single value")]
#[case::nested_partition(|new: &mut NewTable| new.partition_by = vec!["place".into()], "partition column 'place'")]
#[case::nested_ordering(|new: &mut NewTable| new.ordering = vec!["place".into()], "ordering column 'place'")]
#[case::key_twice(|new: &mut NewTable| new.record_key = vec!["id".into(), "id".into()], "column 'id' is named twice")]
#[case::column_twice(
    |new: &mut NewTable| {
        let fields = new.schema.fields().iter().cloned();
        new.schema = Schema::new(fields.chain([Arc::new(Field::new("v", DataType::Utf8, true))]).collect::<Vec<_>>());
    },
    "two columns are called 'v'"
)]
fn tables_that_are_not_made(#[case] change: fn(&mut NewTable), #[case] why: &str) {
    let place = Field::new("place", DataType::Struct(vec![Field::new("x", DataType::Int32, true)].into()), true);
    let mut new = Spec::cow().new_table();
    new.schema = Schema::new(new.schema.fields().iter().cloned().chain([Arc::new(place)]).collect::<Vec<_>>());
    change(&mut new);
    let world = World::new(Place::Memory);
    let error = config::create(world.store.as_ref(), &world.table().context, &new).unwrap_err();
    assert!(error.message().contains(why), "{error}");
    assert!(world.files().is_empty());
}

/// Keys of other types than text are texts in the end; a narrower integer makes the same one.
#[rstest]
#[case::long(DataType::Int64, DataType::Int32, "7")]
#[case::int(DataType::Int32, DataType::Int8, "7")]
#[case::date(DataType::Date32, DataType::Date32, "1970-01-08")]
fn keys_of_other_types(
    #[case] stored: DataType,
    #[case] given: DataType,
    #[case] key: &str,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let world = World::new(Place::Memory);
    let table = world.table();
    let schema = Schema::new(vec![Field::new("id", stored.clone(), false), Field::new("ts", DataType::Int64, true)]);
    let spec = Spec { partitioned: false, ..Spec::new(table_type) };
    let new = NewTable { schema, ..spec.new_table() };
    assert!(config::create(world.store.as_ref(), &table.context, &new).unwrap());
    for (data_type, ts) in [(stored, 1_i64), (given, 2)] {
        let seven: ArrayRef = array(Int32Array::from(vec![7]));
        let rows = batch(vec![("id", cast(&seven, &data_type).unwrap()), ("ts", array(Int64Array::from(vec![ts])))]);
        write_batches(&table, Operation::Upsert, &rows.schema(), vec![rows]).unwrap();
    }
    let scan = hudini_table::scan::Scan::plan(&table, Default::default()).unwrap();
    let rows: Vec<RecordBatch> = scan.read().unwrap().map(Result::unwrap).filter(|b| b.num_rows() > 0).collect();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    let found = rows[0].column_by_name("_hoodie_record_key").unwrap();
    assert_eq!(found.as_ref(), &StringArray::from(vec![key]) as &dyn arrow_array::Array);
    assert_eq!(rows[0].column_by_name("ts").unwrap().as_ref(), &Int64Array::from(vec![2]) as &dyn arrow_array::Array);
}
