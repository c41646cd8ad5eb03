//! What a write is told beside its rows: new columns, a key under which it is done once, the version of its table.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use hudini_table::config;
use hudini_table::options::{IndexType, Operation, Options, TableType};
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::write::{self, Action, CommitResult, SchemaMode, WriteRequest};
use hudini_table::{ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::{Place, Spec, World, model, row, rows_of, upserted};

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

/// One row of the table's columns and a new one.
fn wide(spec: &Spec) -> RecordBatch {
    let batch = spec.batch(&[row("a", "A", 2, "v")]);
    let new = Arc::new(Field::new("n", DataType::Int64, true));
    let fields: Vec<_> = batch.schema().fields().iter().cloned().chain([new]).collect();
    let columns = batch.columns().iter().cloned().chain([Arc::new(Int64Array::from(vec![1])) as ArrayRef]).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// The newest request says what the columns are.
#[test]
fn new_columns_that_a_later_write_would_hide_are_a_conflict() {
    let spec = Spec::cow();
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a", "A", 1, "old")]).unwrap();
    let rows = wide(&spec);
    let request = || WriteRequest { schema_mode: SchemaMode::Evolve, ..WriteRequest::new(Operation::Upsert) };
    let mut action = write::Action::begin(&table, &rows.schema(), request()).unwrap();
    spec.upsert(&world.table(), &[row("b", "B", 1, "later")]).unwrap();
    let kept = write::Kept::in_memory(vec![rows.clone()]).unwrap();
    let located = write::Located::of(&table, &mut action, &kept).unwrap();
    let tasks = action.place(&located.profile()).unwrap();
    let groups = located.placed(&action).unwrap();
    let run = |placed: &write::PlacedTask| {
        let rows = write::batches(groups[&(placed.partition.clone(), placed.slot)].clone(), 1000);
        placed.task.run_on(&table.storage, &table.context, 0, 1, rows)
    };
    let statuses = tasks.iter().map(run).collect::<Result<Vec<_>>>().unwrap();
    assert_eq!(action.commit(statuses).unwrap_err().kind(), ErrorKind::CommitConflict);
    world.assert_tidy();
    write::write(&table, &rows.schema(), [Ok(rows.clone())].into_iter(), &request()).unwrap();
    assert_eq!(table.schema().unwrap().fields().len(), 5);
}

/// A compaction, say, that had read the columns before they were widened completes later.
#[test]
fn what_only_rewrites_rows_does_not_say_what_the_columns_are() {
    use hudini_format::action::CommitMetadata;
    let spec = Spec::cow();
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a", "A", 1, "old")]).unwrap();
    let narrow = table.snapshot(None).unwrap().schema.unwrap();
    let rows = wide(&spec);
    let request = WriteRequest { schema_mode: SchemaMode::Evolve, ..WriteRequest::new(Operation::Upsert) };
    write::write(&table, &rows.schema(), [Ok(rows)].into_iter(), &request).unwrap();
    for (time, operation) in [("29990101000000000", "COMPACT"), ("29990101000000001", "CLUSTER")] {
        let metadata = CommitMetadata {
            operation_type: Some(operation.to_owned()),
            extra_metadata: Some([("schema".to_owned(), narrow.clone())].into()),
            ..CommitMetadata::default()
        };
        world.put(&format!(".hoodie/timeline/{time}_{time}.commit"), &metadata.encode().unwrap());
    }
    assert_eq!(table.schema().unwrap().fields().len(), 5);
    assert_eq!(
        table.snapshot(Some("29990101000000001")).unwrap().schema,
        Some(narrow),
        "time travel takes the last one"
    );
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

/// Another attempt may have committed since this one looked, and be archived when it begins.
#[test]
fn a_key_is_looked_for_in_the_archive_when_a_write_begins() {
    let spec = Spec::mor();
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let short =
        [("hoodie.keep.min.commits", "2"), ("hoodie.keep.max.commits", "3"), ("hoodie.clean.commits.retained", "1")];
    let options = Options::parse(short.map(|(key, value)| (key.to_owned(), value.to_owned()))).unwrap();
    let request = |key: Option<&str>| WriteRequest {
        idempotency_key: key.map(str::to_owned),
        options: options.clone(),
        ..WriteRequest::new(Operation::Upsert)
    };
    let write = |key, ts| {
        let rows = [Ok(spec.batch(&[row("a", "A", ts, "")]))];
        write::write(&table, &spec.schema(), rows.into_iter(), &request(key)).unwrap()
    };
    let done = write(Some("job"), 1).instant;
    (2..12).for_each(|ts| drop(write(None, ts)));
    assert!(table.timeline().unwrap().find(done.as_ref().unwrap()).is_none());
    let action = Action::begin(&table, &spec.schema(), request(Some("job"))).unwrap();
    assert_eq!(action.done_before().unwrap().unwrap().instant, done);
    action.abort().unwrap();
}

#[test]
fn batches_of_a_stream_count_on() {
    let spec = Spec::mor();
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let under = |key: &str, v: &str| {
        let key = Some(key.to_owned());
        let request = WriteRequest { idempotency_key: key, ..WriteRequest::new(Operation::Upsert) };
        write::write(&table, &spec.schema(), [Ok(spec.batch(&[row("a", "A", 1, v)]))].into_iter(), &request)
    };
    let commits = || table.timeline().unwrap().commits().count();
    under("stream q batch 8", "eighth").unwrap();
    under("stream q batch 9", "ninth").unwrap();
    under("stream another batch 0", "of another stream").unwrap();
    under("stream batch 0", "no stream").unwrap();
    under("stream q batch 10", "tenth").unwrap();
    assert_eq!(commits(), 5);
    under("stream q batch 10", "once more").unwrap();
    assert_eq!((commits(), rows_of(&table)), (5, model(&[row("a", "A", 1, "tenth")])));
    for earlier in ["stream q batch 0", "stream q batch 9"] {
        let error = under(earlier, "counted anew").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOption);
        assert!(error.to_string().contains("behind 'stream q batch 10'"), "{error}");
    }
    assert_eq!((commits(), table.timeline().unwrap().pending().count()), (5, 0));
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
