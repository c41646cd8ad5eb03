//! Changes of a file group that memory has no room for are written as others: the same rows, counts and order.

use arrow_array::RecordBatch;
use hudini_table::context::Watch;
use hudini_table::options::{IndexType, MergeMode, Operation, Options, TableType};
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::write::{self, CommitResult, WriteRequest};
use hudini_table::{ErrorKind, Result};
use proptest::prelude::*;
use rstest::rstest;

use crate::support::{Place, Row, Spec, World, gone, row, without_sizes};

const KEYS: usize = 200;
const ROOM: &str = "hoodie.memory.merge.max.size";
const SPILL_FOLDER: &str = "hoodie.memory.spillable.map.path";

/// A key, its ordering value, and whether the row is marked as deleted.
type Line = (usize, i64, bool);

fn options(pairs: &[(&str, &str)]) -> Options {
    Options::parse(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))).unwrap()
}

fn lines(spec: &Spec, round: usize, lines: &[Line]) -> Vec<Row> {
    let line = |(n, ts, is_gone): &Line| {
        let (key, city) = (format!("key-{n}"), ["old", "new"][n % 2]);
        let text = format!("{n}/{round}/{}", "x".repeat(4000 + n % 7));
        if *is_gone && spec.with_deletes { gone(&key, city, *ts) } else { row(&key, city, *ts, &text) }
    };
    lines.iter().map(line).collect()
}

/// Batches of a few rows, as those of a stream.
fn write(world: &World, spec: &Spec, operation: Operation, rows: &[Row], told: &Options) -> Result<CommitResult> {
    let request = WriteRequest { options: told.clone(), is_in_memory: true, ..WriteRequest::new(operation) };
    write::write(&world.table(), &spec.schema(), rows.chunks(17).map(|rows| Ok(spec.batch(rows))), &request)
}

/// All columns of all rows in their order, and how many slices were merged by position.
fn seen(world: &World) -> (Option<RecordBatch>, usize) {
    let table = world.table();
    let batches = Scan::plan(&table, ScanRequest::default()).unwrap().read().unwrap();
    let batches = batches.collect::<Result<Vec<_>>>().unwrap();
    let whole = batches.first().map(|first| arrow_select::concat::concat_batches(&first.schema(), &batches).unwrap());
    let ran = Scan::plan(&table, ScanRequest::default()).unwrap().run(&Watch::default()).unwrap();
    (whole, ran.merged_by_position)
}

/// Plays rounds with room for everything, and with hardly any.
fn play(spec: &Spec, form: &[(&str, &str)], rounds: &[(Operation, Vec<Line>)], room: &str) -> World {
    let (here, there) = (World::keeping_metadata(Place::Memory), World::keeping_metadata(Place::Memory));
    spec.create(&here);
    spec.create(&there);
    for (round, (operation, changes)) in rounds.iter().enumerate() {
        let rows = lines(spec, round, changes);
        let expected = write(&here, spec, *operation, &rows, &options(form)).unwrap();
        let result = write(&there, spec, *operation, &rows, &options(&[(ROOM, room)]).with(&options(form))).unwrap();
        assert_eq!(without_sizes(result), without_sizes(expected), "{operation}");
        assert_eq!(there.data_files(), here.data_files(), "{operation}");
        assert_eq!(seen(&there), seen(&here), "{operation}");
    }
    // Bulk inserts may bring keys twice.
    there.assert_undamaged();
    there
}

fn rounds() -> impl Strategy<Value = Vec<(Operation, Vec<Line>)>> {
    let line = || (0..KEYS, 0_i64..10, prop::bool::weighted(0.2));
    let operation = prop::sample::select(vec![
        Operation::Upsert,
        Operation::Upsert,
        Operation::Insert,
        Operation::Delete,
        Operation::BulkInsert,
    ]);
    let round = (operation, prop::collection::vec(line(), 1..200));
    let first = prop::collection::vec(line(), 100..200).prop_map(|lines| (Operation::Upsert, lines));
    (first, prop::collection::vec(round, 1..5)).prop_map(|(first, rest)| [vec![first], rest].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_same_rows_in_the_same_order(
        rounds in rounds(),
        table_type in prop::sample::select(vec![TableType::CopyOnWrite, TableType::MergeOnRead]),
        index in prop::sample::select(vec![IndexType::Bucket, IndexType::Simple, IndexType::Bloom]),
        by_event_time in any::<bool>(),
        with_deletes in any::<bool>(),
        combines in any::<bool>(),
        positions in any::<bool>(),
        room in prop::sample::select(vec!["0", "3000", "300000"]),
    ) {
        // Without buckets the keys in the logs are looked up, and have to fit.
        let room = if index == IndexType::Bucket { room } else { "300000" };
        let mode = if by_event_time { MergeMode::EventTime } else { MergeMode::CommitTime };
        let spec = Spec { index, mode, with_deletes, ..Spec::new(table_type) };
        let truth = |is: bool| if is { "true" } else { "false" };
        let form = [
            ("hoodie.combine.before.insert", truth(combines)),
            ("hoodie.write.record.positions", truth(positions)),
        ];
        play(&spec, &form, &rounds, room);
    }
}

/// Logs say which rows of the base file they are about if all of their rows and deletes have one there. There is a file in
/// each of two partitions.
#[rstest]
#[case::all_are_there((0..80).collect(), 2)]
#[case::some_are_new((60..140).collect(), 0)]
#[case::only_a_delete_is_of_none((20..100).chain([102]).collect(), 1)]
fn positions_come_from_disk_too(#[case] keys: Vec<usize>, #[case] by_position: usize) {
    let spec = Spec { with_deletes: true, buckets: 1, ..Spec::mor() };
    let form = [("hoodie.write.record.positions", "true")];
    let first = (0..100).map(|n| (n, 1, false)).collect();
    let changes = keys.into_iter().rev().map(|n| (n, 2, n % 3 == 0)).collect();
    let rounds = [(Operation::BulkInsert, first), (Operation::Upsert, changes)];
    assert_eq!(seen(&play(&spec, &form, &rounds, "3000")).1, by_position);
}

/// It is the disk where they are.
#[rstest]
fn a_folder_for_the_rest_that_is_not_there_is_an_error(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec::new(table_type);
    let world = World::new(Place::Memory);
    spec.create(&world);
    let rows = lines(&spec, 0, &(0..100).map(|n| (n, 1, false)).collect::<Vec<_>>());
    let nowhere = [(SPILL_FOLDER, "/nowhere/at/all"), (ROOM, "3000")];
    let error = write(&world, &spec, Operation::Upsert, &rows, &options(&nowhere)).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::StorageFailure, Some("/nowhere/at/all")));
    assert!(world.data_files().is_empty());
    world.assert_tidy();
    write(&world, &spec, Operation::Upsert, &rows, &options(&nowhere[..1])).unwrap();
}
