//! Rows that wait for their write, and what a save mode with options means.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use hudini_table::options::{IndexType, Operation, Options, TableType};
use hudini_table::write::{self, SchemaMode, Staged, Staging, WriteRequest};
use hudini_table::{ErrorKind, Result, Table, service};
use rstest::rstest;

use crate::support::{self, Place, Row, Spec, World, request, row, rows_of, scanned};

const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1000;

fn spec() -> Spec {
    Spec { buckets: 2, ..Spec::cow() }
}

fn stage(staging: &Staging, table: &Table, rows: &[RecordBatch]) -> Result<Staged> {
    let schema = spec().schema();
    staging.stage_on(table.storage.as_ref(), &table.context, &schema, rows.iter().cloned().map(Ok))
}

fn take_in(staging: &Staging, table: &Table, staged: &[Staged]) -> Result<write::CommitResult> {
    staging.write(table, &spec().schema(), staged, &request(Operation::Upsert))
}

fn staged_files(world: &World) -> Vec<String> {
    world.names_below(".hoodie/.temp/hudini-staged-")
}

#[rstest]
#[case::memory(Place::Memory)]
#[case::local(Place::Local)]
fn rows_of_the_attempts_that_count_are_written_in_the_order_of_the_tasks(#[case] place: Place) {
    let world = World::new(place);
    let table = spec().create(&world);
    let staging = Staging::open(&table).unwrap();
    let batch = |rows: &[Row]| spec().batch(rows);
    let second =
        stage(&staging, &table, &[batch(&[row("a", "A", 1, "later")]), batch(&[row("c", "B", 1, "")])]).unwrap();
    let lost = stage(&staging, &table, &[batch(&[row("a", "A", 9, "lost"), row("z", "A", 1, "lost")])]).unwrap();
    let first = stage(&staging, &table, &[batch(&[row("a", "A", 1, "sooner"), row("b", "A", 1, "")])]).unwrap();
    let none = stage(&staging, &table, &[batch(&[])]).unwrap();
    assert_ne!(lost, first);
    assert_eq!(staged_files(&world).len(), 4, "three attempts with rows, and the sign");
    let result = take_in(&staging, &table, &[first, none, second]).unwrap();
    assert_eq!((result.inserted, result.operation), (3, "upsert"));
    let rows = rows_of(&table);
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(rows["a"].v, "later");
    staging.close_on(world.store.as_ref()).unwrap();
    assert!(staged_files(&world).is_empty());
    world.assert_sound();
}

#[test]
fn once_closed_nothing_is_brought_and_nothing_taken_in() {
    let world = World::new(Place::Local);
    let table = spec().create(&world);
    let staging = Staging::open(&table).unwrap();
    let batch = spec().batch(&[row("a", "A", 1, "")]);
    let staged = stage(&staging, &table, std::slice::from_ref(&batch)).unwrap();
    // This attempt is still at work when the write ends.
    let closing = std::iter::once_with(|| {
        staging.close().unwrap();
        Ok(batch.clone())
    });
    let schema = spec().schema();
    let rows = std::iter::once(Ok(batch.clone())).chain(closing);
    let late = staging.stage_on(table.storage.as_ref(), &table.context, &schema, rows);
    assert_eq!(late.unwrap_err().kind(), ErrorKind::CommitConflict);
    assert_eq!(stage(&staging, &table, &[batch]).unwrap_err().kind(), ErrorKind::CommitConflict);
    assert_eq!(take_in(&staging, &table, &[staged]).unwrap_err().kind(), ErrorKind::CommitConflict);
    assert!(world.store.list(".hoodie/.temp").unwrap().is_empty());
    assert!(table.history(None).unwrap().is_empty());
    staging.close().unwrap();
}

#[test]
fn damage_is_an_error_and_no_commit() {
    let world = World::new(Place::Memory);
    let table = spec().create(&world);
    let staging = Staging::open(&table).unwrap();
    let batches = [1, 2].map(|ts| spec().batch(&[row("a", "A", ts, "")]));
    let staged = stage(&staging, &table, &batches).unwrap();
    let path = staged_files(&world).into_iter().find(|path| path.ends_with(".arrow")).unwrap();
    let whole = world.store.read(&path).unwrap().unwrap();
    let short = stage(&staging, &table, &batches[..1]).unwrap();
    let other = staged_files(&world).into_iter().find(|found| found.ends_with(".arrow") && *found != path).unwrap();
    let fewer = world.store.read(&other).unwrap().unwrap();
    for bytes in [&whole[..0], &whole[..whole.len() / 2], &whole[..whole.len() - 9], &fewer[..]] {
        world.store.replace(&path, bytes).unwrap();
        let error = take_in(&staging, &table, std::slice::from_ref(&staged)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::CorruptFile | ErrorKind::StorageFailure), "{error}");
    }
    world.store.delete(&path).unwrap();
    assert_eq!(take_in(&staging, &table, &[staged]).unwrap_err().kind(), ErrorKind::CommitConflict);
    assert!(table.history(None).unwrap().is_empty());
    assert_eq!(take_in(&staging, &table, &[short]).unwrap().inserted, 1);
}

#[test]
fn folders_of_dead_jobs_go_after_a_week() {
    let world = World::new(Place::Memory);
    let table = spec().create(&world);
    let old = |ms: i64| format!(".hoodie/.temp/hudini-staged-{}-{:032x}/x.arrow", support::START - ms, 1);
    world.put(&old(2 * WEEK_MS), b"");
    world.put(".hoodie/.temp/20260101000000000/A/f.marker", b"");
    world.put(".hoodie/.temp/hudini-staged-other", b"");
    // Its files are of today, whenever it was made.
    let staging = Staging::open(&table).unwrap();
    assert_eq!(world.names_below(&old(2 * WEEK_MS)).len(), 1);
    let (later, clock) = world.handle();
    clock.advance(WEEK_MS.unsigned_abs() + 60_000);
    let young = Staging::open(&later).unwrap();
    assert!(world.names_below(&old(2 * WEEK_MS)).is_empty());
    let rows = spec().batch(&[row("a", "A", 1, "")]);
    assert_eq!(stage(&staging, &table, std::slice::from_ref(&rows)).unwrap_err().kind(), ErrorKind::CommitConflict);
    // What is young stays.
    stage(&young, &later, &[rows]).unwrap();
    assert_eq!(world.names_below(".hoodie/.temp/2026").len(), 1);
    assert_eq!(staged_files(&world).len(), 3);
}

#[test]
fn the_upkeep_of_any_write_removes_them_too() {
    let world = World::new(Place::Memory);
    let table = spec().create(&world);
    let folder = format!(".hoodie/.temp/hudini-staged-{}-{:032x}/open", support::START, 1);
    world.put(&folder, b"");
    let (later, clock) = world.handle();
    clock.advance(WEEK_MS.unsigned_abs() + 60_000);
    let given = [("hoodie.clean.commits.retained", "1"), ("hoodie.keep.min.commits", "3")];
    let options = Options::parse(given.map(|(key, value)| (key.to_owned(), value.to_owned()))).unwrap();
    let later = Table { options: options.with(&table.options), ..later };
    for ts in 1..=3 {
        spec().upsert(&later, &[row("a", "A", ts, "")]).unwrap();
    }
    assert!(staged_files(&world).is_empty());
    assert!(service::due(&later, &Options::default()).unwrap().is_empty());
}

fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

const OPERATION: &str = "hoodie.datasource.write.operation";
const COMBINE: &str = "hoodie.combine.before.insert";

#[rstest]
#[case(None, false, "upsert", None)]
#[case(Some("UPSERT"), false, "upsert", None)]
#[case(Some("insert"), false, "insert", None)]
#[case(Some("bulk_insert"), false, "bulk_insert", None)]
#[case(Some("delete"), false, "delete", None)]
#[case(Some("insert_overwrite"), false, "insert_overwrite", None)]
#[case(None, true, "insert_overwrite_table", Some("true"))]
#[case(Some("upsert"), true, "insert_overwrite_table", Some("true"))]
#[case(Some("insert"), true, "insert_overwrite_table", None)]
#[case(Some("bulk_insert"), true, "insert_overwrite_table", None)]
#[case(Some("insert_overwrite"), true, "insert_overwrite_table", None)]
#[case(Some("insert_overwrite_table"), true, "insert_overwrite_table", None)]
fn what_is_asked_for(
    #[case] told: Option<&str>,
    #[case] overwrites: bool,
    #[case] operation: &str,
    #[case] combines: Option<&str>,
) {
    let world = World::new(Place::Memory);
    let table = spec().create(&world);
    let options: Vec<(&str, &str)> = told.map(|told| ("HOODIE.datasource.write.operation", told)).into_iter().collect();
    let (asked, options) = write::asked(Some(&table), given(&options), overwrites).unwrap();
    assert_eq!(asked.word(), operation);
    let mut expected = given(&[(OPERATION, operation)]);
    expected.extend(combines.map(|value| (COMBINE.to_owned(), value.to_owned())));
    assert_eq!(options, expected);
}

#[test]
fn a_new_table_without_keys_is_filled_by_bulk_insert() {
    assert_eq!(write::asked(None, given(&[]), false).unwrap().0, Operation::BulkInsert);
    assert_eq!(write::asked(None, given(&[("PRIMARYKEY", "id")]), false).unwrap().0, Operation::Upsert);
}

#[test]
fn what_no_row_can_be_asked_for_is_refused() {
    let refused =
        |told: &str, overwrites| write::asked(None, given(&[(OPERATION, told)]), overwrites).unwrap_err().kind();
    assert_eq!(refused("delete", true), ErrorKind::InvalidOption);
    assert_eq!(refused("delete_partition", false), ErrorKind::UnsupportedFeature);
    assert_eq!(refused("delete_partition", true), ErrorKind::InvalidOption);
    assert_eq!(refused("nothing", true), ErrorKind::InvalidOption);
}

#[test]
fn a_check_refuses_what_begin_would_and_changes_nothing() {
    let world = World::new(Place::Memory);
    let table = spec().create(&world);
    spec().upsert(&table, &[row("a", "A", 1, "")]).unwrap();
    let before = world.files();
    let input = spec().schema();
    let with = |pairs: &[(&str, &str)]| WriteRequest {
        options: Options::parse(given(pairs)).unwrap(),
        schema_mode: SchemaMode::Evolve,
        ..request(Operation::Upsert)
    };
    write::check(Some(&table), &input, &with(&[("primaryKey", "id"), ("hoodie.table.ordering.fields", "ts")])).unwrap();
    let keyless = input.project(&[1, 2, 3]).unwrap();
    let error = write::check(Some(&table), &keyless, &with(&[])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
    for (key, value) in [
        ("hoodie.bucket.index.num.buckets", "3"),
        ("hoodie.datasource.write.recordkey.field", "city"),
        ("hoodie.datasource.write.partitionpath.field", "id"),
        ("hoodie.datasource.write.partitionpath.field", ""),
        ("hoodie.datasource.write.precombine.field", "v"),
        ("hoodie.datasource.write.table.type", "MERGE_ON_READ"),
        ("hoodie.table.name", "another"),
        ("hoodie.datasource.write.hive_style_partitioning", "true"),
        ("hoodie.datasource.write.partitionpath.urlencode", "true"),
        ("hoodie.datasource.write.keygenerator.class", "org.apache.hudi.keygen.ComplexKeyGenerator"),
        ("hoodie.datasource.write.payload.class", "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"),
        ("hoodie.datasource.write.operation", "delete"),
        ("hoodie.datasource.write.operation", "bulk_insert"),
        ("hoodie.datasource.write.partitions.to.delete", "A"),
    ] {
        let error = write::check(Some(&table), &input, &with(&[(key, value)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOption, "{key}={value}: {error}");
        assert!(error.message().starts_with(key), "{error}");
        let batch = spec().batch(&[row("b", "A", 1, "")]);
        let written = write::write(&table, &input, [Ok(batch)].into_iter(), &with(&[(key, value)]));
        assert_eq!(written.unwrap_err().message(), error.message());
    }
    assert_eq!(world.files(), before);
}

#[rstest]
#[case("hoodie.datasource.write.operation", "insert", ErrorKind::InvalidOption)]
#[case("hoodie.datasource.write.partitions.to.delete", "A", ErrorKind::InvalidOption)]
#[case("hoodie.index.type", "INMEMORY", ErrorKind::UnsupportedFeature)]
fn a_check_needs_no_table(#[case] key: &str, #[case] value: &str, #[case] kind: ErrorKind) {
    let input = spec().schema();
    let request = |options| Ok(WriteRequest { options: Options::parse(options)?, ..request(Operation::Upsert) });
    let check = |request: Result<WriteRequest>| write::check(None, &input, &request?);
    check(request(given(&[("hoodie.datasource.write.recordkey.field", "id")]))).unwrap();
    assert_eq!(check(request(given(&[(key, value)]))).unwrap_err().kind(), kind);
}

#[test]
fn partitions_are_deleted_by_the_option_of_a_job() {
    let world = World::new(Place::Memory);
    let table = spec().create(&world);
    spec().upsert(&table, &[row("a", "A", 1, ""), row("b", "B", 1, ""), row("c", "C", 1, "")]).unwrap();
    let told = given(&[(OPERATION, "delete_partition"), ("hoodie.datasource.write.partitions.to.delete", "A,C")]);
    let (operation, told) = write::asked(Some(&table), told, false).unwrap();
    let request = WriteRequest { options: Options::parse(told).unwrap(), ..request(operation) };
    let staging = Staging::open(&table).unwrap();
    let rows = stage(&staging, &table, &[spec().batch(&[row("b", "B", 2, "not asked about")])]).unwrap();
    let input = spec().schema();
    write::check(Some(&table), &input, &request).unwrap();
    staging.write(&table, &input, &[rows], &request).unwrap();
    let left: Vec<_> = scanned(&table, 8192).unwrap().into_iter().map(|row| (row.id, row.v)).collect();
    assert_eq!(left, [("b".to_owned(), String::new())]);

    let pattern = given(&[(OPERATION, "delete_partition"), ("hoodie.datasource.write.partitions.to.delete", "B*")]);
    let request = WriteRequest { options: Options::parse(pattern).unwrap(), ..request };
    assert_eq!(write::check(Some(&table), &input, &request).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
}

#[rstest]
fn rows_that_are_added_become_one_a_key_if_that_is_asked_for(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(IndexType::Simple, IndexType::Bucket)] index: IndexType,
    #[values(Operation::Insert, Operation::BulkInsert, Operation::InsertOverwrite, Operation::OverwriteTable)]
    operation: Operation,
) {
    let spec = Spec { index, buckets: 1, ..Spec::new(table_type) };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let rows = [row("b", "A", 2, "new"), row("a", "A", 5, "newest"), row("a", "A", 3, "old"), row("b", "A", 1, "old")];
    let combining =
        WriteRequest { options: Options::parse(given(&[(COMBINE, "true")])).unwrap(), ..request(operation) };
    let batch = spec.batch(&rows);
    let result = write::write(&table, &batch.schema(), [Ok(batch)].into_iter(), &combining).unwrap();
    assert_eq!(result.inserted, 2);
    let mut found = scanned(&table, 8192).unwrap();
    found.sort_by(|one, other| one.id.cmp(&other.id));
    let found: Vec<_> = found.iter().map(|row| (row.id.as_str(), row.v.as_str())).collect();
    assert_eq!(found, [("a", "newest"), ("b", "new")]);
    world.assert_sound();
}

/// Rows that lie there are neither merged nor lost.
#[test]
fn rows_are_combined_among_themselves_alone() {
    let spec = Spec { index: IndexType::Simple, ..Spec::cow() };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a", "A", 9, "there"), row("b", "A", 9, "there")]).unwrap();
    let combining =
        WriteRequest { options: Options::parse(given(&[(COMBINE, "true")])).unwrap(), ..request(Operation::Insert) };
    let batch = spec.batch(&[row("a", "A", 1, "added"), row("a", "A", 1, "added later")]);
    write::write(&table, &batch.schema(), [Ok(batch)].into_iter(), &combining).unwrap();
    let mut found: Vec<_> = scanned(&table, 8192).unwrap().into_iter().map(|row| (row.id, row.v)).collect();
    found.sort();
    let expected = [("a", "added later"), ("a", "there"), ("b", "there")];
    assert_eq!(found, expected.map(|(id, v)| (id.to_owned(), v.to_owned())));
}
