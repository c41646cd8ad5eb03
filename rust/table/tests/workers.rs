//! Writes to tables without buckets whose rows another engine moves: the same rows in the same file groups as from threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::Schema;
use hudini_format::action::CommitMetadata;
use hudini_format::name::BaseFileName;
use hudini_table::bytes_form::BytesForm;
use hudini_table::options::{IndexType, Operation, Options, TableType};
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::write::{
    self, Action, Choice, CommitResult, FILE_COLUMN, GROUP_COLUMN, GroupProfile, KEY_COLUMN, LookupTask, NEW_KEYS,
    NewSlots, PARTITION_COLUMN, RecordLookup, RecordedGroup, SLOT_COLUMN, Status, WIDTH_COLUMN, WriteRequest,
};
use hudini_table::{Error, ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::{Place, Row, Spec, World, row, scanned, without_sizes};

/// A row, and where it goes.
#[derive(Debug, Clone)]
struct Located {
    row: RecordBatch,
    partition: String,
    slot: i32,
    key: String,
    width: u64,
}

/// What Spark does with the rows, in plain loops.
struct Elsewhere<'a> {
    table: &'a Table,
    action: Action,
    /// Keys that a worker holds at once.
    at_once: usize,
}

impl Elsewhere<'_> {
    fn write(mut self, batches: &[RecordBatch]) -> Result<CommitResult> {
        let mut rows = self.locate(batches);
        if self.action.looks_up() {
            rows = self.look_up(&rows)?;
        } else if self.action.combines_partitions()? {
            let all = rows.iter().map(|row| row.key.clone()).collect();
            rows = self.reunited(&rows, &all)?;
        }
        let mut profile: BTreeMap<(String, i32), (u64, u64)> = BTreeMap::new();
        for row in &rows {
            let (count, bytes) = profile.entry((row.partition.clone(), row.slot)).or_default();
            (*count, *bytes) = (*count + 1, *bytes + row.width);
        }
        let group = |((partition, slot), (rows, bytes))| GroupProfile { partition, slot, rows, bytes };
        let profile: Vec<_> = profile.into_iter().map(group).collect();
        let tasks = self.action.place(&profile)?;
        let slots = NewSlots::from_bytes(&self.action.new_slots().to_bytes()?)?;
        let mut groups: BTreeMap<(String, i32), Vec<RecordBatch>> = BTreeMap::new();
        for row in rows.iter().flat_map(|row| settled(&slots, row)) {
            groups.entry((row.0, row.1)).or_default().push(row.2);
        }
        let statuses: Result<Vec<Status>> = tasks
            .iter()
            .map(|placed| {
                let rows = groups.remove(&(placed.partition.clone(), placed.slot)).unwrap_or_default();
                placed.task.run_on(&self.table.storage, &self.table.context, 0, 1, rows.into_iter().map(Ok))
            })
            .collect();
        assert!(groups.is_empty(), "rows without a task: {:?}", groups.keys());
        self.action.commit(statuses?)
    }

    fn locate(&self, batches: &[RecordBatch]) -> Vec<Located> {
        let locator = self.action.locator();
        assert!(locator.adds_keys());
        let one = |batch: &RecordBatch, at: usize| {
            let located = locator.locate(&batch.slice(at, 1)).unwrap();
            let text = |name: &str| located[name].as_string::<i32>().value(0).to_owned();
            let slot = located[SLOT_COLUMN].as_primitive::<Int32Type>().value(0);
            assert_eq!(slot, NEW_KEYS);
            let width = located[WIDTH_COLUMN].as_primitive::<Int64Type>().value(0).unsigned_abs();
            Located { row: batch.slice(at, 1), partition: text(PARTITION_COLUMN), slot, key: text(KEY_COLUMN), width }
        };
        batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|at| one(batch, at)).collect::<Vec<_>>()).collect()
    }

    fn look_up(&mut self, rows: &[Located]) -> Result<Vec<Located>> {
        match self.action.record_lookup()? {
            Some(lookup) => self.look_up_records(&RecordLookup::from_bytes(&lookup.to_bytes()?)?, rows),
            None => self.look_up_in_files(rows),
        }
    }

    fn look_up_records(&mut self, lookup: &RecordLookup, rows: &[Located]) -> Result<Vec<Located>> {
        let mut partitions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for row in rows {
            partitions.entry(&row.key).or_default().insert(&row.partition);
        }
        let mut groups: BTreeMap<i32, Vec<RecordBatch>> = BTreeMap::new();
        for (key, partitions) in partitions {
            let key: ArrayRef = Arc::new(StringArray::from_iter_values([key]));
            let scattered: ArrayRef = Arc::new(BooleanArray::from(vec![partitions.len() > 1]));
            let asked = lookup.group(&RecordBatch::try_new(RecordLookup::input_schema(), vec![key, scattered])?)?;
            assert_eq!(asked.schema(), RecordLookup::grouped_schema());
            groups.entry(asked[GROUP_COLUMN].as_primitive::<Int32Type>().value(0)).or_default().push(asked);
        }
        assert!(groups.keys().all(|group| (0..lookup.groups() as i32).contains(group)));
        let mut found = Vec::new();
        for (group, asked) in groups {
            for batch in lookup.run_on(&self.table.storage, group, self.at_once, asked.into_iter().map(Ok)) {
                let batch = batch?;
                assert_eq!(batch.schema(), RecordLookup::output_schema());
                let text = |name: &str, at: usize| batch[name].as_string::<i32>().value(at).to_owned();
                found.extend((0..batch.num_rows()).map(|at| RecordedGroup {
                    partition: text(PARTITION_COLUMN, at),
                    file_id: text(FILE_COLUMN, at),
                    key: text(KEY_COLUMN, at),
                }));
            }
        }
        let (found, lost): (Vec<_>, Vec<_>) = found.into_iter().partition(|group| !group.file_id.is_empty());
        let rows = self.reunited(rows, &lost.into_iter().map(|group| group.key).collect())?;
        let slots = self.action.recorded_slots(&found)?;
        let mut homes: BTreeMap<String, Vec<(String, i32)>> = BTreeMap::new();
        for (group, slot) in found.into_iter().zip(slots) {
            homes.entry(group.key).or_default().push((group.partition, slot));
        }
        let located = rows.iter().flat_map(|row| {
            let new = || vec![(row.partition.clone(), NEW_KEYS)];
            let homes = homes.get(&row.key).cloned().unwrap_or_else(new);
            homes.into_iter().map(|(partition, slot)| Located { partition, slot, ..row.clone() })
        });
        Ok(located.collect())
    }

    /// The rows, those of each of these keys in one partition.
    fn reunited(&self, rows: &[Located], keys: &BTreeSet<String>) -> Result<Vec<Located>> {
        let choice = Choice::from_bytes(&self.action.choice()?.to_bytes()?)?;
        let mut rivals: Vec<&Located> = rows.iter().filter(|row| keys.contains(&row.key)).collect();
        rivals.sort_by_key(|row| &row.key);
        let asked = rivals.into_iter().map(|row| {
            let text = |text: &String| -> ArrayRef { Arc::new(StringArray::from_iter_values([text])) };
            let named = [(KEY_COLUMN, text(&row.key)), (PARTITION_COLUMN, text(&row.partition))];
            let more = choice.columns().into_iter().map(|name| (name, Arc::clone(&row.row[name])));
            Ok(RecordBatch::try_from_iter(named.into_iter().chain(more))?)
        });
        let mut chosen = BTreeMap::new();
        for batch in choice.clone().run(asked) {
            let batch = batch?;
            assert_eq!(batch.schema(), Choice::output_schema());
            let text = |name: &str| batch[name].as_string::<i32>().iter().flatten().map(str::to_owned);
            chosen.extend(text(KEY_COLUMN).zip(text(PARTITION_COLUMN)));
        }
        assert!(chosen.keys().eq(keys));
        let at_home = |row: &Located| {
            let partition = chosen.get(&row.key).unwrap_or(&row.partition).clone();
            Located { partition, ..row.clone() }
        };
        Ok(rows.iter().map(at_home).collect())
    }

    fn look_up_in_files(&mut self, rows: &[Located]) -> Result<Vec<Located>> {
        let mut left: BTreeSet<(String, String)> =
            rows.iter().map(|row| (row.partition.clone(), row.key.clone())).collect();
        let partitions: BTreeSet<String> = left.iter().map(|(partition, _)| partition.clone()).collect();
        let mut homes: BTreeMap<(String, String), Vec<i32>> = BTreeMap::new();
        for round in self.action.lookup_rounds(partitions.iter().map(String::as_str))? {
            for task in round {
                let task = LookupTask::from_bytes(&task.to_bytes()?)?;
                for key in self.found(&task, &left)? {
                    homes.entry((task.partition().to_owned(), key)).or_default().push(task.slot());
                }
            }
            left.retain(|named| !homes.contains_key(named));
        }
        let located = rows.iter().flat_map(|row| {
            let slots = homes.get(&(row.partition.clone(), row.key.clone()));
            let slots = slots.cloned().unwrap_or_else(|| vec![NEW_KEYS]);
            slots.into_iter().map(|slot| Located { slot, ..row.clone() })
        });
        Ok(located.collect())
    }

    fn found(&self, task: &LookupTask, left: &BTreeSet<(String, String)>) -> Result<Vec<String>> {
        let keys: Vec<_> = left.iter().filter(|(p, _)| p == task.partition()).map(|(_, key)| key.as_str()).collect();
        let batches = keys.chunks(5).map(|keys| {
            let column: ArrayRef = Arc::new(StringArray::from_iter_values(keys));
            Ok(RecordBatch::try_new(LookupTask::output_schema(), vec![column])?)
        });
        let mut found = Vec::new();
        for batch in task.run_on(&self.table.storage, self.at_once, batches) {
            found.extend(batch?.column(0).as_string::<i32>().iter().flatten().map(str::to_owned));
        }
        Ok(found)
    }
}

/// A row with the place that it gets, if it gets any.
fn settled(slots: &NewSlots, row: &Located) -> Option<(String, i32, RecordBatch)> {
    let columns: [(&str, ArrayRef); 3] = [
        (PARTITION_COLUMN, Arc::new(StringArray::from_iter_values([&row.partition]))),
        (SLOT_COLUMN, Arc::new(Int32Array::from(vec![row.slot]))),
        (KEY_COLUMN, Arc::new(StringArray::from_iter_values([&row.key]))),
    ];
    let settled = slots.settle(&RecordBatch::try_from_iter(columns).unwrap()).unwrap();
    assert_eq!(settled.schema(), NewSlots::output_schema(&Schema::new(settled.schema().fields().clone())));
    assert!(settled.column_by_name(KEY_COLUMN).is_none());
    let slot = settled[SLOT_COLUMN].as_primitive::<Int32Type>().iter().flatten().next()?;
    Some((row.partition.clone(), slot, row.row.clone()))
}

fn request(operation: Operation) -> WriteRequest {
    let small = [
        ("hoodie.parquet.max.file.size", "20000"),
        ("hoodie.parquet.small.file.limit", "12000"),
        ("hoodie.copyonwrite.record.size.estimate", "200"),
        ("hoodie.record.size.estimation.threshold", "1000000"),
    ];
    let options = Options::parse(small.map(|(k, v)| (k.to_owned(), v.to_owned()))).unwrap();
    WriteRequest { options, ..WriteRequest::new(operation) }
}

/// Where each row lies: key, file group, value.
fn state(table: &Table) -> Vec<(String, String, String)> {
    let columns = ["_hoodie_record_key", "_hoodie_file_name", "v"].map(str::to_owned).to_vec();
    let scan = Scan::plan(table, ScanRequest { columns: Some(columns), ..ScanRequest::default() }).unwrap();
    let mut rows = Vec::new();
    for batch in scan.read().unwrap() {
        let batch = batch.unwrap();
        let text = |at: usize, row: usize| batch.column(at).as_string::<i32>().value(row).to_owned();
        let group = |name: String| name.trim_start_matches('.').split('_').next().unwrap().to_owned();
        rows.extend((0..batch.num_rows()).map(|row| (text(0, row), group(text(1, row)), text(2, row))));
    }
    rows.sort();
    rows
}

/// Operation by operation: keys that come again, that are there twice, in logs, and that are not there at all.
fn scenes() -> Vec<(Operation, Vec<Row>)> {
    let rows = |numbers: std::ops::Range<i64>, ts: i64| {
        numbers.map(|n| row(&format!("k{n}"), ["A", "B", "C"][(n % 3) as usize], ts, &format!("v{ts}-{n}"))).collect()
    };
    vec![
        (Operation::Upsert, rows(0..300, 1)),
        (Operation::Upsert, rows(150..450, 2)),
        (Operation::Insert, rows(440..460, 3)),
        (Operation::Insert, rows(440..450, 4)),
        (Operation::Upsert, rows(430..470, 5)),
        (Operation::Upsert, rows(0..30, 1)),
        (Operation::Delete, rows(445..500, 0)),
        (Operation::Delete, rows(900..950, 0)),
        (Operation::BulkInsert, rows(700..720, 6)),
        (Operation::Upsert, rows(445..450, 7)),
        (Operation::InsertOverwrite, rows(300..301, 8)),
        (Operation::OverwriteTable, rows(0..50, 9)),
    ]
}

#[rstest]
fn rows_that_another_engine_moves_end_where_threads_would_have_put_them(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(IndexType::Simple, IndexType::Bloom)] index: IndexType,
    #[values(1, 1000)] at_once: usize,
) {
    let spec = Spec { index, ..Spec::new(table_type) };
    let (here, there) = (World::new(Place::Memory), World::new(Place::Memory));
    play(&spec, (&here, &there), at_once, scenes(), &request);
}

/// As long as no commit says what a row takes, its values do.
#[test]
fn rows_are_measured_alike() {
    let request = |operation| {
        let options = Options::parse([("hoodie.parquet.max.file.size".to_owned(), "1000".to_owned())]).unwrap();
        WriteRequest { options, ..WriteRequest::new(operation) }
    };
    let of = |n: usize| {
        row(&format!("k{n}"), ["A", "B"][n % 2], 1, &"v".repeat(if n.is_multiple_of(2) { 200 } else { n % 9 }))
    };
    let (here, there) = (World::new(Place::Memory), World::new(Place::Memory));
    let spec = Spec { index: IndexType::Simple, ..Spec::cow() };
    play(&spec, (&here, &there), 1000, vec![(Operation::Insert, (0..80).map(of).collect())], &request);
    let mut groups: BTreeMap<bool, BTreeSet<String>> = BTreeMap::new();
    for (_, group, value) in state(&here.table()) {
        groups.entry(value.len() == 200).or_default().insert(group);
    }
    // 40 rows of some 220 and of some 24 bytes; a file has room for 2000.
    assert_eq!((groups[&true].len(), groups[&false].len()), (5, 1));
}

/// Plays scenes with threads here, and with other workers there.
fn play(
    spec: &Spec,
    (here, there): (&World, &World),
    at_once: usize,
    scenes: Vec<(Operation, Vec<Row>)>,
    request: &dyn Fn(Operation) -> WriteRequest,
) {
    spec.create(here);
    spec.create(there);
    for (operation, rows) in scenes {
        let batches = [spec.batch(&rows[..rows.len() / 2]), spec.batch(&rows[rows.len() / 2..])];
        let table = here.table();
        let expected =
            write::write(&table, &spec.schema(), batches.iter().cloned().map(Ok), &request(operation)).unwrap();
        let remote = there.table();
        let action = Action::begin(&remote, &spec.schema(), request(operation)).unwrap();
        let result = Elsewhere { table: &remote, action, at_once }.write(&batches).unwrap();
        let counts = |r: &CommitResult| (r.inserted, r.updated, r.deleted, r.files_added, r.files_removed);
        assert_eq!(counts(&result), counts(&expected), "{operation}");
        assert_eq!(state(&remote), state(&table), "{operation}");
    }
    there.assert_tidy();
}

fn by_records(operation: Operation) -> WriteRequest {
    // Its metadata table is compacted now and then, so that keys are in base files too.
    let asked_for = [("hoodie.index.type", "RECORD_INDEX"), ("hoodie.metadata.compact.max.delta.commits", "4")];
    let asked_for = Options::parse(asked_for.map(|(k, v)| (k.to_owned(), v.to_owned()))).unwrap();
    let request = request(operation);
    WriteRequest { options: request.options.clone().with(&asked_for), ..request }
}

/// Operation by operation: rows that name another partition than that of their key, or several.
fn scattered_scenes() -> Vec<(Operation, Vec<Row>)> {
    let rows = |numbers: std::ops::Range<i64>, ts: i64, shift: i64| -> Vec<Row> {
        let city = |n: i64| ["A", "B", "C"][((n + shift) % 3) as usize];
        numbers.map(|n| row(&format!("k{n}"), city(n), ts, &format!("v{ts}-{n}"))).collect()
    };
    vec![
        (Operation::Upsert, rows(0..300, 1, 0)),
        (Operation::Upsert, rows(150..450, 2, 1)),
        (Operation::Insert, rows(450..470, 3, 0)),
        (Operation::Upsert, [rows(430..470, 5, 0), rows(470..480, 5, 2), rows(430..470, 6, 2)].concat()),
        (
            Operation::Upsert,
            [rows(480..520, 5, 0), rows(490..530, 5, 1), rows(500..540, 4, 2), rows(10..20, 6, 1)].concat(),
        ),
        (Operation::Delete, rows(445..500, 0, 2)),
        (Operation::Delete, [rows(900..950, 0, 0), rows(900..950, 0, 1)].concat()),
        (Operation::Upsert, rows(0..30, 1, 0)),
        (Operation::BulkInsert, rows(700..720, 6, 0)),
        (Operation::InsertOverwrite, vec![row("over", "A", 8, "v")]),
        (Operation::Upsert, rows(100..200, 9, 2)),
        (Operation::OverwriteTable, rows(0..50, 9, 0)),
        (Operation::Upsert, rows(40..60, 10, 1)),
    ]
}

#[rstest]
fn rows_go_where_the_record_index_has_their_keys_whoever_moves_them(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(true, false)] partitioned: bool,
    #[values(1, 1000)] at_once: usize,
) {
    let spec = Spec { index: IndexType::Simple, partitioned, ..Spec::new(table_type) };
    let (here, there) = (World::keeping_metadata(Place::Memory), World::keeping_metadata(Place::Memory));
    play(&spec, (&here, &there), at_once, scattered_scenes(), &by_records);
    there.assert_sound();
}

/// Plays scenes with all rows in memory here, and with room for few of them there. Where those of a file group fit, even the
/// bytes are the same.
fn play_in_little_room(
    spec: &Spec,
    bytes: &str,
    scenes: Vec<(Operation, Vec<Row>)>,
    request: fn(Operation) -> WriteRequest,
    fit: bool,
) {
    let (here, there) = (World::keeping_metadata(Place::Memory), World::keeping_metadata(Place::Memory));
    spec.create(&here);
    spec.create(&there);
    let room = Options::parse([("hoodie.memory.merge.max.size".to_owned(), bytes.to_owned())]).unwrap();
    for (operation, rows) in scenes {
        let batches = rows.chunks(25).map(|rows| Ok(spec.batch(rows)));
        let all = WriteRequest { is_in_memory: true, ..request(operation) };
        let few = WriteRequest { options: room.clone().with(&request(operation).options), ..request(operation) };
        let expected = write::write(&here.table(), &spec.schema(), batches.clone(), &all).unwrap();
        let result = write::write(&there.table(), &spec.schema(), batches, &few).unwrap();
        assert_eq!(there.data_files(), here.data_files(), "{operation}");
        assert_eq!(scanned(&there.table(), 64).unwrap(), scanned(&here.table(), 64).unwrap(), "{operation}");
        if fit {
            assert_eq!(result, expected, "{operation}");
            assert_eq!(there.files(), here.files(), "{operation}");
        } else {
            assert_eq!(without_sizes(result), without_sizes(expected), "{operation}");
        }
    }
    there.assert_sound();
}

#[rstest]
fn rows_that_go_to_disk_are_written_as_those_in_memory(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(IndexType::Bucket, IndexType::Simple, IndexType::Bloom)] index: IndexType,
    #[values("4000", "40000")] bytes: &str,
) {
    let spec = Spec { index, ..Spec::new(table_type) };
    // Merged from disk, a file of small groups ends its pages elsewhere.
    let fit = bytes == "40000" || index != IndexType::Simple;
    play_in_little_room(&spec, bytes, scenes(), request, fit);
    if index == IndexType::Simple {
        play_in_little_room(&spec, bytes, scattered_scenes(), by_records, fit);
    }
}

/// An upsert of rows into a table whose keys `first` are in the record index, on threads and on other workers.
fn refusals(first: &[Row], rows: &[Row], spoil: fn(&World)) -> [Error; 2] {
    let spec = Spec { index: IndexType::Simple, ..Spec::cow() };
    let world = World::keeping_metadata(Place::Memory);
    let table = spec.create(&world);
    write::write(&table, &spec.schema(), [Ok(spec.batch(first))].into_iter(), &by_records(Operation::Upsert)).unwrap();
    spoil(&world);
    let before = world.files();
    let (batch, request) = (spec.batch(rows), by_records(Operation::Upsert));
    let here = write::write(&world.table(), &spec.schema(), [Ok(batch.clone())].into_iter(), &request).unwrap_err();
    let table = world.table();
    let mut action = Action::begin(&table, &spec.schema(), request).unwrap();
    let mut elsewhere = Elsewhere { table: &table, action, at_once: 1000 };
    let rows = elsewhere.locate(&[batch]);
    let there = elsewhere.look_up(&rows).unwrap_err();
    action = elsewhere.action;
    action.abort().unwrap();
    assert!(world.files() == before, "something was left behind");
    [here, there]
}

#[rstest]
fn rows_of_several_partitions_become_one_where_they_are_combined(
    #[values(Operation::Upsert, Operation::OverwriteTable)] operation: Operation,
) {
    let spec = Spec { index: IndexType::Simple, ..Spec::cow() };
    let (here, there) = (World::keeping_metadata(Place::Memory), World::keeping_metadata(Place::Memory));
    let combined = |operation| {
        let combine = [("hoodie.combine.before.insert".to_owned(), "true".to_owned())];
        let request = by_records(operation);
        WriteRequest { options: Options::parse(combine).unwrap().with(&request.options), ..request }
    };
    let rows = vec![row("a", "A", 1, "v"), row("b", "A", 1, "v"), row("a", "B", 2, "won"), row("a", "C", 1, "v")];
    play(&spec, (&here, &there), 1000, vec![(operation, rows)], &combined);
    let values: Vec<_> = state(&here.table()).into_iter().map(|(key, _, value)| (key, value)).collect();
    assert_eq!(values, [("a", "won"), ("b", "v")].map(|(key, value)| (key.to_owned(), value.to_owned())));
    assert_eq!(here.names_below("B/").iter().filter(|name| name.ends_with(".parquet")).count(), 1);
    assert!(here.names_below("C/").is_empty());
    there.assert_sound();
}

#[test]
fn rows_that_are_added_as_they_are_stay_several() {
    let spec = Spec { index: IndexType::Simple, ..Spec::cow() };
    let world = World::keeping_metadata(Place::Memory);
    let table = spec.create(&world);
    let rows = [row("a", "A", 1, "v"), row("b", "A", 1, "v"), row("a", "B", 2, "v")];
    let request = by_records(Operation::OverwriteTable);
    let written = write::write(&table, &spec.schema(), [Ok(spec.batch(&rows))].into_iter(), &request);
    assert_eq!(written.unwrap().inserted, 3);
}

/// The base file of partition A.
fn base_of(world: &World) -> String {
    world.names_below("A/").into_iter().find(|name| name.ends_with(".parquet")).unwrap()
}

#[test]
fn a_key_in_a_file_group_that_is_not_there_is_an_error() {
    // Somebody replaced it and told the record index nothing.
    let replace = |world: &World| {
        let base = base_of(world);
        let name = BaseFileName::parse(base.rsplit('/').next().unwrap()).unwrap();
        let metadata = CommitMetadata {
            partition_to_replace_file_ids: Some(BTreeMap::from([("A".to_owned(), vec![name.file_id])])),
            ..CommitMetadata::default()
        };
        let at = format!(".hoodie/timeline/{0}1_{0}2.replacecommit", name.instant);
        world.put(&at, &metadata.encode().unwrap());
    };
    let rows = [row("a", "B", 2, "v")];
    for error in refusals(&[row("a", "A", 1, "v"), row("b", "B", 1, "v")], &rows, replace) {
        assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
        assert!(error.message().contains("'a'") && error.message().contains("partition 'A'"), "{error}");
    }
}

#[test]
fn a_key_in_a_file_that_is_gone_is_an_error() {
    let lose = |world: &World| {
        world.store.delete(&base_of(world)).unwrap();
    };
    for error in refusals(&[row("a", "A", 1, "v"), row("b", "B", 1, "v")], &[row("a", "B", 2, "v")], lose) {
        assert_eq!(error.kind(), ErrorKind::StorageFailure, "{error}");
        assert!(error.path().is_some_and(|path| path.starts_with("A/")), "{error}");
    }
}

#[test]
fn a_new_key_of_a_partition_that_was_not_placed_is_an_error() {
    let spec = Spec { index: IndexType::Simple, ..Spec::cow() };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let mut action = Action::begin(&table, &spec.schema(), request(Operation::Insert)).unwrap();
    action.place(&[GroupProfile { partition: "A".into(), slot: NEW_KEYS, rows: 1, bytes: 8 }]).unwrap();
    let located = action.locator().locate(&spec.batch(&[row("k", "B", 1, "v")])).unwrap();
    let error = action.new_slots().settle(&located).unwrap_err();
    assert!(error.message().contains("'B'"), "{error}");
    action.abort().unwrap();
}
