//! What happened to rows in a range of time, on tables that keep no log of it.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use hudini_format::action::CleanMetadata;
use hudini_format::history::{self, Entry, HistoryFile, Manifest};
use hudini_format::instant::Action;
use hudini_table::options::{QueryType, TableType};
use hudini_table::scan::{Images, Scan, ScanRequest, Split, Window};
use hudini_table::write::CommitResult;
use hudini_table::{ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::{self, Place, Spec, Stages, World, gone, row};

fn request(start: Option<&str>, end: Option<&str>) -> ScanRequest {
    let window = Window { start: start.map(str::to_owned), end: end.map(str::to_owned) };
    ScanRequest { window: Some(window), changes: Some(Images::Struct), batch_size: Some(2), ..ScanRequest::default() }
}

/// Operation, key, ordering values before and after.
type Change = (String, String, Option<i64>, Option<i64>);

fn change(operation: &str, key: &str, before: Option<i64>, after: Option<i64>) -> Change {
    (operation.to_owned(), key.to_owned(), before, after)
}

fn told(table: &Table, start: Option<&str>, end: Option<&str>) -> Result<Vec<Change>> {
    let scan = Scan::plan(table, request(start, end))?;
    let mut changes = Vec::new();
    for batch in scan.read()? {
        let batch = batch?;
        let operations = batch.column(0).as_string::<i32>();
        let sides = [batch.column(2).as_struct(), batch.column(3).as_struct()];
        for at in 0..batch.num_rows() {
            let value = |side: usize| {
                let ts = sides[side].column_by_name("ts").unwrap().as_primitive::<Int64Type>();
                sides[side].is_valid(at).then(|| ts.value(at))
            };
            let there = usize::from(sides[0].is_null(at));
            let keys = sides[there].column_by_name("id").unwrap().as_string::<i32>();
            changes.push(change(operations.value(at), keys.value(at), value(0), value(1)));
        }
    }
    assert_eq!(scan.count()?, changes.len() as u64);
    Ok(changes)
}

#[rstest]
fn each_change_with_both_sides(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    let (world, spec) = (World::new(Place::Memory), Spec { with_deletes: true, buckets: 1, ..Spec::new(table_type) });
    let table = spec.create(&world);
    let completed = |rows: &[support::Row]| spec.upsert(&table, rows).unwrap().completed.unwrap();
    let c1 = completed(&[row("a", "A", 1, ""), row("b", "A", 1, ""), row("c", "A", 1, "")]);
    let c2 = completed(&[row("a", "A", 2, ""), row("d", "A", 2, "")]);
    let c3 = completed(&[gone("b", "A", 4), row("c", "A", 0, "late")]);
    let c4 = completed(&[row("b", "A", 5, "back")]);
    let get = |start: Option<&str>, end: Option<&str>| told(&table, start, end).unwrap();

    let first = ["a", "b", "c"].map(|key| change("i", key, None, Some(1)));
    let second = [change("u", "a", Some(1), Some(2)), change("i", "d", None, Some(2))];
    let third = [change("d", "b", Some(1), None)];
    let fourth = [change("i", "b", None, Some(5))];
    assert_eq!(get(None, Some(&c1)), first);
    assert_eq!(get(Some(&c1), Some(&c2)), second);
    assert_eq!(get(Some(&c2), Some(&c3)), third, "a change that lost is none");
    assert_eq!(get(Some(&c3), None), fourth);
    assert_eq!(get(Some(&c4), None), []);
    assert_eq!(get(None, None), [&first[..], &second, &third, &fourth].concat(), "write by write");
}

#[rstest]
fn the_state_before_is_that_of_the_completion(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let (world, spec) = (World::new(Place::Memory), Spec { buckets: 1, ..Spec::new(table_type) });
    let table = spec.create(&world);
    let first = spec.upsert(&table, &[row("a", "A", 1, ""), row("b", "B", 1, "")]).unwrap().completed.unwrap();
    let mut slow = Stages::new(&world, &spec, &[row("b", "B", 3, "")]);
    slow.begin().unwrap();
    slow.place().unwrap();
    spec.upsert(&table, &[row("a", "A", 2, "")]).unwrap();
    slow.run().unwrap();
    slow.commit().unwrap();
    let changes = told(&table, Some(&first), None).unwrap();
    assert_eq!(changes, [change("u", "a", Some(1), Some(2)), change("u", "b", Some(1), Some(3))]);
}

#[rstest]
#[case::copy_on_write(TableType::CopyOnWrite)]
#[case::merge_on_read(TableType::MergeOnRead)]
fn files_that_were_cleaned_are_missed(#[case] table_type: TableType) {
    let (world, spec) = (World::new(Place::Memory), Spec { buckets: 1, ..Spec::new(table_type) });
    let table = spec.create(&world);
    let mut files = Vec::new();
    let mut writes = Vec::new();
    for ts in 1..=3 {
        let before = world.data_files();
        let write = spec.upsert(&table, &[row("a", "A", ts, "")]).unwrap();
        files.push(world.data_files().difference(&before).next().unwrap().clone());
        writes.push((write.instant.unwrap(), write.completed.unwrap()));
    }
    let completed: Vec<_> = writes.iter().map(|(_, completed)| completed.as_str()).collect();
    let kind = |start: Option<&str>, end: Option<&str>| told(&table, start, end).map_err(|e| e.kind());
    let (gone, cleaned) = (Err(ErrorKind::StorageFailure), Err(ErrorKind::InstantCleaned));
    let last = Ok(vec![change("u", "a", Some(2), Some(3))]);

    world.store.delete(&files[0]).unwrap();
    let is_cow = table_type == TableType::CopyOnWrite;
    assert_eq!(kind(None, Some(completed[0])), gone, "nothing says that it was cleaned");
    assert_eq!(kind(Some(completed[0]), Some(completed[1])), gone, "what was there before");
    assert_eq!(
        kind(Some(completed[1]), None),
        if is_cow { last.clone() } else { gone },
        "a log is merged with its base"
    );
    world.clean_of(&files[0]);
    assert_eq!(kind(None, Some(completed[0])), cleaned, "the file itself");
    assert_eq!(kind(Some(completed[0]), Some(completed[1])), cleaned, "what was there before");
    assert_eq!(kind(Some(completed[1]), None), if is_cow { last } else { cleaned.clone() }, "as above");
    if is_cow {
        return;
    }
    let clean = CleanMetadata { earliest_commit_to_retain: writes[2].0.clone(), ..CleanMetadata::default() };
    let path = format!(".hoodie/timeline/{}_29991231235959999.clean", completed[2]);
    world.store.replace(&path, &clean.encode().unwrap()).unwrap();
    assert_eq!(kind(Some(completed[0]), Some(completed[1])), cleaned, "a clean says what it left");
}

/// Whatever it is: no older file stands in for it.
#[rstest]
fn a_log_that_is_gone_is_missed(#[values(false, true)] is_archived: bool) {
    let (world, spec) = (World::new(Place::Memory), Spec { buckets: 1, ..Spec::mor() });
    let table = spec.create(&world);
    let mut writes = Vec::new();
    let mut files = Vec::new();
    for ts in 1..=4 {
        let before = world.data_files();
        writes.push(spec.upsert(&table, &[row("a", "A", ts, "")]).unwrap());
        files.push(world.data_files().difference(&before).next().unwrap().clone());
    }
    let completed: Vec<_> = writes.iter().map(|write| write.completed.clone().unwrap()).collect();
    if is_archived {
        archive(&world, &writes[..2]);
    }
    world.store.delete(&files[1]).unwrap();
    let kind = |start: Option<usize>, end: Option<usize>| {
        let time = |n: usize| completed[n].as_str();
        told(&table, start.map(time), end.map(time)).map_err(|e| (e.kind(), e.path().map(str::to_owned)))
    };
    let gone = Err((ErrorKind::StorageFailure, Some(files[1].clone())));
    assert_eq!(kind(None, Some(0)), Ok(vec![change("i", "a", None, Some(1))]), "this range needs no such file");
    assert_eq!(kind(Some(0), Some(1)).unwrap_err().0, ErrorKind::StorageFailure, "the write's own");
    assert_eq!(kind(Some(1), Some(2)), gone, "before the write");
    assert_eq!(kind(Some(2), None), gone, "before the write, and a log of another in between");
}

#[rstest]
fn what_is_compared_stays_within_the_memory_limit(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let (world, spec) = (World::new(Place::Memory), Spec { buckets: 1, ..Spec::new(table_type) });
    let table = spec.create(&world);
    let rows = |ts| (0..100).map(|n| row(&format!("key-{n}"), "A", ts, "")).collect::<Vec<_>>();
    let first = spec.upsert(&table, &rows(1)).unwrap().completed;
    spec.upsert(&table, &rows(2)).unwrap();
    let read = |limit| -> Result<usize> {
        let request = ScanRequest { memory_limit: Some(limit), ..request(first.as_deref(), None) };
        Scan::plan(&table, request)?.read()?.map(|rows| rows.map(|rows| rows.num_rows())).sum()
    };
    assert_eq!(read(1 << 20).unwrap(), 100);
    assert_eq!(read(10_000).unwrap_err().kind(), ErrorKind::MemoryLimit, "keys alone fit");
    assert_eq!(read(1000).unwrap_err().kind(), ErrorKind::MemoryLimit);
}

/// Moves writes from the active timeline into a new history.
fn archive(world: &World, writes: &[CommitResult]) {
    let timeline = ".hoodie/timeline";
    let mut entries = Vec::new();
    for write in writes {
        let (requested, completed) = (write.instant.clone().unwrap(), write.completed.clone());
        let mut metadata = None;
        for entry in world.store.list(timeline).unwrap().iter().filter(|entry| entry.name().starts_with(&requested)) {
            let path = format!("{timeline}/{}", entry.name());
            let bytes = world.store.read(&path).unwrap().unwrap();
            metadata = metadata.or(entry.name().contains('_').then_some(bytes));
            world.store.delete(&path).unwrap();
        }
        let metadata = metadata.map(|bytes| bytes.to_vec());
        entries.push(Entry { requested, completed, action: Some(Action::DeltaCommit), metadata, plan: None });
    }
    let bytes = history::write(&entries).unwrap();
    let name = format!("{}_{}_0.parquet", entries[0].requested, entries.last().unwrap().completed.as_ref().unwrap());
    let file = HistoryFile { file_name: name.clone(), file_len: bytes.len() as u64 };
    let folder = format!("{timeline}/history");
    world.put(&format!("{folder}/{name}"), &bytes);
    world.put(&format!("{folder}/manifest_1"), &Manifest { files: vec![file] }.encode());
    world.put(&format!("{folder}/_version_"), b"1");
}

/// A reader that has kept up asks from the newest write on that was archived since.
#[rstest]
fn archived_writes_are_in_the_state_before(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let (world, spec) = (World::new(Place::Memory), Spec { buckets: 1, ..Spec::new(table_type) });
    let table = spec.create(&world);
    let write = |ts, key: &str| spec.upsert(&table, &[row(key, "A", ts, "")]).unwrap();
    let archived = [write(1, "a"), write(2, "a")];
    write(3, "b");
    archive(&world, &archived);
    let newest = archived[1].completed.as_deref();
    assert_eq!(told(&table, newest, None).unwrap(), [change("i", "b", None, Some(3))]);
}

#[test]
fn splits_carry_the_changes() {
    use hudini_table::bytes_form::BytesForm;
    let (world, spec) = (World::new(Place::Memory), Spec::mor());
    let table = spec.create(&world);
    let first = spec.upsert(&table, &[row("a", "A", 1, ""), row("b", "A", 1, "")]).unwrap().completed.unwrap();
    spec.upsert(&table, &[row("b", "A", 2, "")]).unwrap();
    let splits = Scan::plan(&table, request(Some(&first), None)).unwrap().splits(None).unwrap();
    let again: Vec<_> = splits.iter().map(|split| Split::from_bytes(&split.to_bytes().unwrap()).unwrap()).collect();
    assert_eq!(again, splits);
}

#[test]
fn changes_are_of_a_range() {
    let (world, spec) = (World::new(Place::Memory), Spec::mor());
    let table = spec.create(&world);
    let no_range = ScanRequest { window: None, ..request(None, None) };
    let as_of = ScanRequest { as_of: Some("2026-11-21".to_owned()), ..request(None, None) };
    let without_logs = ScanRequest { mode: Some(QueryType::ReadOptimized), ..request(None, None) };
    let columns = ScanRequest { columns: Some(vec!["id".to_owned()]), ..request(None, None) };
    for request in [no_range, as_of, without_logs, columns] {
        assert_eq!(Scan::plan(&table, request).unwrap_err().kind(), ErrorKind::InvalidOption);
    }
}
