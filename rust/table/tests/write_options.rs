//! What a write is told beside its rows: new columns, a key under which it is done once, the version of its table.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use hudini_table::config;
use hudini_table::options::{IndexType, Operation, TableType};
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::write::{self, CommitResult, SchemaMode, WriteRequest};
use hudini_table::{ErrorKind, Result, Table};
use rstest::rstest;

use support::{Place, Spec, World, model, row, rows_of, upserted};

fn text(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn write(table: &Table, columns: Vec<(&str, ArrayRef)>, schema_mode: SchemaMode) -> Result<CommitResult> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let request = WriteRequest { schema_mode, ..WriteRequest::new(Operation::Upsert) };
    write::write(table, &batch.schema(), [Ok(batch)].into_iter(), &request)
}

/// One column of all rows, by key.
fn column(table: &Table, name: &str) -> Vec<(String, Option<String>)> {
    let columns = vec!["id".to_owned(), name.to_owned()];
    let scan = Scan::plan(table, ScanRequest { columns: Some(columns), ..ScanRequest::default() }).unwrap();
    let mut rows = Vec::new();
    for batch in scan.read().unwrap() {
        let batch = batch.unwrap();
        let (ids, values) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
        rows.extend(ids.iter().zip(values).map(|(id, v)| (id.unwrap().to_owned(), v.map(str::to_owned))));
    }
    rows.sort();
    rows
}

#[rstest]
fn new_columns_come_behind_and_missing_ones_are_null(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(IndexType::Simple, IndexType::Bucket)] index: IndexType,
) {
    let spec = Spec { index, ..Spec::new(table_type) };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a", "A", 1, "old"), row("b", "A", 1, "old")]).unwrap();
    let ts = || Arc::new(Int64Array::from(vec![2, 2])) as ArrayRef;
    let wider =
        || vec![("note", text(&["n", "n"])), ("id", text(&["b", "c"])), ("city", text(&["A", "A"])), ("ts", ts())];
    let error = write(&table, wider(), SchemaMode::Strict).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
    assert!(error.message().contains("'v'") && error.message().contains("'note'"), "{error}");
    write(&table, wider(), SchemaMode::Evolve).unwrap();
    let schema = table.schema().unwrap();
    let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["id", "city", "ts", "v", "note"]);
    assert!(schema.field(4).is_nullable());
    let rows = |expected: [(&str, Option<&str>); 3]| expected.map(|(id, v)| (id.to_owned(), v.map(str::to_owned)));
    assert_eq!(column(&table, "note"), rows([("a", None), ("b", Some("n")), ("c", Some("n"))]));
    assert_eq!(column(&table, "v"), rows([("a", Some("old")), ("b", None), ("c", None)]));
    let needed = vec![("id", text(&["b", "c"])), ("city", text(&["A", "A"]))];
    let error = write(&table, needed, SchemaMode::Evolve).unwrap_err();
    assert!(error.message().contains("'ts'"), "{error}");
    let twin = vec![("id", text(&["b", "c"])), ("city", text(&["A", "A"])), ("ts", ts()), ("NOTE", text(&["x", "x"]))];
    assert_eq!(write(&table, twin, SchemaMode::Evolve).unwrap_err().kind(), ErrorKind::SchemaMismatch);
    world.assert_tidy();
}

#[test]
fn what_the_table_says_of_its_columns_stays() {
    let spec = Spec::cow();
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let batch = spec.batch(&[row("a", "A", 1, "v")]);
    spec.upsert(&table, &[row("a", "A", 1, "v")]).unwrap();
    let stated = table.snapshot(None).unwrap().schema.unwrap();
    let schema = Schema::new(
        batch
            .schema()
            .fields()
            .iter()
            .cloned()
            .chain([Arc::new(Field::new("n", DataType::Int64, false))])
            .collect::<Vec<_>>(),
    );
    let columns = batch.columns().iter().cloned().chain([Arc::new(Int64Array::from(vec![1])) as ArrayRef]).collect();
    let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    let request = WriteRequest { schema_mode: SchemaMode::Evolve, ..WriteRequest::new(Operation::Upsert) };
    write::write(&table, &batch.schema(), [Ok(batch)].into_iter(), &request).unwrap();
    let wider = table.snapshot(None).unwrap().schema.unwrap();
    let field = r#",{"name":"n","type":["null","long"],"default":null}]}"#;
    assert_eq!(wider, stated.strip_suffix("]}").unwrap().to_owned() + field);
}

#[test]
fn a_key_is_written_once() {
    let spec = Spec::mor();
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let under = |key: &str, operation: Operation, v: &str| {
        let request = WriteRequest { idempotency_key: Some(key.to_owned()), ..WriteRequest::new(operation) };
        write::write(&table, &spec.schema(), [Ok(spec.batch(&[row("a", "A", 1, v)]))].into_iter(), &request).unwrap()
    };
    let first = under("one", Operation::Insert, "first");
    let files = world.files();
    let again = under("one", Operation::Insert, "again");
    assert_eq!((again.instant, again.completed, again.inserted), (first.instant.clone(), first.completed, 1));
    assert_eq!(world.files(), files, "nothing was written");
    let other = under("one", Operation::Upsert, "other");
    assert_eq!(
        (other.instant, other.operation),
        (first.instant.clone(), "insert"),
        "what was done, not what was asked"
    );
    let second = under("two", Operation::Upsert, "second");
    assert_ne!(second.instant, first.instant);
    assert_eq!(rows_of(&table), model(&[row("a", "A", 1, "second")]));
    let told = WriteRequest {
        metadata: [("hudini.idempotency.key".to_owned(), "x".to_owned())].into(),
        ..WriteRequest::new(Operation::Upsert)
    };
    let error = write::write(&table, &spec.schema(), [Ok(spec.batch(&[row("a", "A", 1, "v")]))].into_iter(), &told);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidOption);
}

#[rstest]
fn tables_of_version_8_are_written(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    let spec = Spec::new(table_type);
    let world = World::new(Place::Memory);
    let table = world.table();
    let new = config::NewTable { version: 8, ..spec.new_table() };
    assert!(config::create(world.store.as_ref(), &table.context, &new).unwrap());
    let properties = table.config().unwrap().as_map();
    let stated = |key: &str| properties.get(key).map(String::as_str);
    assert_eq!(stated("hoodie.table.version"), Some("8"));
    assert_eq!(stated("hoodie.table.precombine.field"), Some("ts"));
    assert_eq!(stated("hoodie.table.ordering.fields"), None);
    assert_eq!(stated("hoodie.record.merge.strategy.id"), Some("eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"));
    assert_eq!(
        stated("hoodie.compaction.payload.class"),
        Some("org.apache.hudi.common.model.DefaultHoodieRecordPayload")
    );
    let first = [row("a", "A", 5, "old"), row("b", "A", 5, "old")];
    let second = [row("a", "A", 4, "late"), row("b", "A", 6, "new")];
    spec.upsert(&table, &first).unwrap();
    spec.upsert(&table, &second).unwrap();
    assert_eq!(rows_of(&table), upserted(&model(&first), &second));
    let unclear = [
        config::NewTable { version: 8, ordering: vec!["ts".into(), "v".into()], ..spec.new_table() },
        config::NewTable { version: 8, partition_by: vec!["city".into(), "v".into()], ..spec.new_table() },
    ];
    for new in unclear {
        let world = World::new(Place::Memory);
        let error = config::create(world.store.as_ref(), &table.context, &new).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    }
}
