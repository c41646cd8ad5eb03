//! The record index: kept by every write, and the way by which writes find their keys, whatever partition these name.

use hudini_format::action::RestoreMetadata;
use hudini_table::config::TableConfig;
use hudini_table::metadata;
use hudini_table::options::{IndexType, Operation, Options, TableType};
use hudini_table::write::{self, CommitResult, WriteRequest};
use hudini_table::{ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::{Model, Place, Row, Scene, Spec, Stages, World, gone, model, row, rows_of, upserted};
use hudini_table::storage::faulty::{Fault, FaultPlan};

const ASKED_FOR: (&str, &str) = ("hoodie.index.type", "RECORD_INDEX");

fn spec(table_type: TableType) -> Spec {
    Spec { index: IndexType::Simple, ..Spec::new(table_type) }
}

fn write_with(
    table: &Table,
    spec: &Spec,
    operation: Operation,
    rows: &[Row],
    options: &[(&str, &str)],
) -> Result<CommitResult> {
    let options = Options::parse(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))).unwrap();
    let request = WriteRequest { options, ..WriteRequest::new(operation) };
    write::write(table, &spec.schema(), [Ok(spec.batch(rows))].into_iter(), &request)
}

fn partitions(world: &World) -> Vec<String> {
    metadata::partitions(&TableConfig::load(world.store.as_ref()).unwrap())
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    /// Rows of some keys; each key is written in the city that its number has.
    fn rows(&mut self, count: u64, turn: u64) -> Vec<Row> {
        let of = |n: u64, dice: &mut Self| {
            let city = ["A", "B", "C"][(n % 3) as usize];
            row(&format!("k{n}"), city, (turn * 10 + dice.below(9)) as i64, &format!("v{}", dice.below(99)))
        };
        (0..count)
            .map(|_| {
                let n = self.below(200);
                of(n, self)
            })
            .collect()
    }
}

#[rstest]
fn random_writes_are_told_and_found(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(IndexType::Simple, IndexType::Bucket)] index: IndexType,
    #[values(true, false)] partitioned: bool,
) {
    let world = World::keeping_metadata(Place::Memory);
    let spec = Spec { partitioned, index, ..Spec::new(table_type) };
    spec.create(&world);
    // With buckets the index is kept for readers.
    let ask: &[(&str, &str)] =
        if index == IndexType::Bucket { &[("hoodie.metadata.record.index.enable", "true")] } else { &[ASKED_FOR] };
    let mut dice = Dice(0x5eed);
    let mut expected = Model::new();
    for turn in 1..=14 {
        let _scene = Scene(format!("turn {turn}"));
        let rows = dice.rows(40, turn);
        let options = if turn == 1 { ask } else { &[] };
        if turn % 4 == 0 {
            write_with(&world.table(), &spec, Operation::Delete, &rows, options).unwrap();
            rows.iter().for_each(|row| drop(expected.remove(&row.id)));
        } else {
            write_with(&world.table(), &spec, Operation::Upsert, &rows, options).unwrap();
            expected = upserted(&expected, &rows);
        }
        assert_eq!(rows_of(&world.table()), expected);
        world.assert_sound();
    }
    world.assert_tidy();
    assert!(partitions(&world).contains(&"record_index".to_owned()));
}

#[rstest]
fn a_row_stays_in_the_partition_of_its_key(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let world = World::keeping_metadata(Place::Memory);
    let spec = spec(table_type);
    spec.create(&world);
    let first = [row("a", "X", 1, "old"), row("b", "Y", 1, "old")];
    write_with(&world.table(), &spec, Operation::Upsert, &first, &[ASKED_FOR]).unwrap();
    let moved = [row("a", "Y", 2, "new"), row("c", "Z", 2, "new")];
    spec.upsert(&world.table(), &moved).unwrap();
    // A partition column has the value of its folder.
    let stayed = Row { city: "X".into(), ..moved[0].clone() };
    let expected = [stayed.clone(), first[1].clone(), moved[1].clone()];
    assert_eq!(rows_of(&world.table()), model(&expected));
    world.assert_sound();
    assert_eq!(
        world.names_below("Y/").iter().filter(|name| name.contains(".log.") || name.ends_with(".parquet")).count(),
        1
    );

    spec.write(&world.table(), Operation::Delete, &[row("a", "Q", 0, "")]).unwrap();
    assert_eq!(rows_of(&world.table()), model(&[first[1].clone(), moved[1].clone()]));
    world.assert_sound();
}

#[test]
fn deletes_within_rows_leave_the_index_when_they_win() {
    let world = World::keeping_metadata(Place::Memory);
    let spec = Spec { with_deletes: true, ..spec(TableType::MergeOnRead) };
    spec.create(&world);
    let first = [row("a", "X", 5, "1"), row("b", "X", 5, "1")];
    write_with(&world.table(), &spec, Operation::Upsert, &first, &[ASKED_FOR]).unwrap();
    // One comes too late.
    spec.upsert(&world.table(), &[gone("a", "X", 6), gone("b", "X", 4)]).unwrap();
    assert_eq!(rows_of(&world.table()), model(&first[1..]));
    world.assert_sound();
    spec.upsert(&world.table(), &[row("a", "X", 9, "again")]).unwrap();
    assert_eq!(rows_of(&world.table()), model(&[row("a", "X", 9, "again"), first[1].clone()]));
    world.assert_sound();
}

#[rstest]
fn overwrites_are_told(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    let world = World::keeping_metadata(Place::Memory);
    let spec = spec(table_type);
    spec.create(&world);
    let first = [row("a", "X", 1, "old"), row("b", "X", 1, "old"), row("c", "Y", 1, "old")];
    write_with(&world.table(), &spec, Operation::Upsert, &first, &[ASKED_FOR]).unwrap();
    let over = [row("b", "X", 2, "new"), row("d", "X", 2, "new")];
    spec.write(&world.table(), Operation::InsertOverwrite, &over).unwrap();
    world.assert_sound();
    assert_eq!(rows_of(&world.table()), model(&[over[0].clone(), over[1].clone(), first[2].clone()]));
    spec.upsert(&world.table(), &[row("a", "Y", 3, "back")]).unwrap();
    world.assert_sound();
}

#[rstest]
fn a_table_that_was_written_without_gets_one(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let bare = World::new(Place::Memory);
    let spec = spec(table_type);
    let rows: Vec<Row> = (0..50).map(|n| row(&format!("k{n}"), "X", n, "old")).collect();
    spec.upsert(&spec.create(&bare), &rows).unwrap();
    spec.upsert(&bare.table(), &rows[..9]).unwrap();
    let e = write_with(&bare.table(), &spec, Operation::Upsert, &rows[..1], &[ASKED_FOR]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidOption);
    let world = bare.now_keeping_metadata();
    spec.upsert(&world.table(), &rows[..9]).unwrap();
    assert_eq!(partitions(&world), ["column_stats", "files", "partition_stats"]);
    let more = [row("k3", "Z", 99, "found"), row("new", "Z", 1, "x")];
    write_with(&world.table(), &spec, Operation::Upsert, &more, &[ASKED_FOR]).unwrap();
    let expected = [Row { city: "X".into(), ..more[0].clone() }, more[1].clone()];
    assert_eq!(rows_of(&world.table()), upserted(&model(&rows), &expected));
    world.assert_sound();
}

#[test]
fn a_write_that_is_refused_makes_no_index() {
    let world = World::keeping_metadata(Place::Memory);
    let spec = Spec::cow();
    spec.create(&world);
    spec.upsert(&world.table(), &[row("a", "X", 1, "x")]).unwrap();
    let before = partitions(&world);
    let e = write_with(&world.table(), &spec, Operation::Upsert, &[row("a", "X", 2, "y")], &[ASKED_FOR]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidOption, "the table has buckets");
    assert_eq!(partitions(&world), before);
}

/// The restore is Apache Hudi's; what it takes back it says in its metadata.
#[rstest]
#[case::the_index_was_built_of_it("20200101000000000", false)]
#[case::it_came_after_the_index("20991231000000000", true)]
fn an_index_that_a_restore_left_behind_is_not_written_by(#[case] taken_back: &str, #[case] is_fine: bool) {
    let world = World::keeping_metadata(Place::Memory);
    let spec = spec(TableType::CopyOnWrite);
    spec.create(&world);
    let rows = [row("a", "X", 1, "old")];
    // Of a table without rows an index is built that knows none.
    for options in [&[][..], &[ASKED_FOR]] {
        write_with(&world.table(), &spec, Operation::Upsert, &rows, options).unwrap();
    }
    let newest: u64 = world.table().timeline().unwrap().newest_time().unwrap().parse().unwrap();
    let restore = RestoreMetadata { instants_to_rollback: vec![taken_back.to_owned()], ..RestoreMetadata::default() };
    let name = format!("{}_{}.restore", newest + 1, newest + 2);
    world.put(&format!(".hoodie/timeline/{name}"), &restore.encode().unwrap());
    let again = || write_with(&world.table(), &spec, Operation::Upsert, &rows, &[]);
    if is_fine {
        again().unwrap();
        return;
    }
    let refused = again().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::UnsupportedFeature);
    assert!(refused.message().contains("record index"), "{refused}");
    // As the hint says.
    let without = [("hoodie.metadata.enable", "false"), ("hoodie.index.type", "SIMPLE")];
    write_with(&world.table(), &spec, Operation::Upsert, &rows, &without).unwrap();
    write_with(&world.table(), &spec, Operation::Upsert, &rows, &[ASKED_FOR]).unwrap();
    again().unwrap();
    assert_eq!(rows_of(&world.table()), model(&rows));
}

#[test]
fn two_writers_do_not_bring_one_key_into_two_partitions() {
    let world = World::keeping_metadata(Place::Memory);
    let spec = spec(TableType::CopyOnWrite);
    spec.create(&world);
    let first = [row("a", "X", 1, "x"), row("b", "Y", 1, "y")];
    write_with(&world.table(), &spec, Operation::Upsert, &first, &[ASKED_FOR]).unwrap();
    let mut slow = Stages::new(&world, &spec, &[row("same", "X", 2, "slow")]);
    slow.begin().unwrap();
    slow.place().unwrap();
    slow.run().unwrap();
    spec.upsert(&world.table(), &[row("same", "Y", 2, "quick")]).unwrap();
    let e = slow.commit().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CommitConflict, "{e}");
    world.assert_sound();
    assert_eq!(rows_of(&world.table())["same"].v, "quick");
}

/// The index believes of a key the write that was asked for last.
#[rstest]
fn a_key_is_not_brought_behind_a_later_write_that_took_it_away(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let world = World::keeping_metadata(Place::Memory);
    let spec = spec(table_type);
    spec.create(&world);
    write_with(&world.table(), &spec, Operation::Upsert, &[row("other", "Y", 1, "y")], &[ASKED_FOR]).unwrap();
    let mut slow = Stages::new(&world, &spec, &[row("a", "X", 5, "slow")]);
    slow.begin().unwrap();
    slow.place().unwrap();
    slow.run().unwrap();
    spec.upsert(&world.table(), &[row("a", "X", 2, "quick")]).unwrap();
    spec.write(&world.table(), Operation::Delete, &[row("a", "X", 0, "")]).unwrap();
    let e = slow.commit().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CommitConflict, "{e}");
    spec.upsert(&world.table(), &[row("a", "X", 5, "slow")]).unwrap();
    world.assert_sound();
    assert_eq!(rows_of(&world.table())["a"].v, "slow");
}

/// What was told to the index by a write that then failed is taken back.
#[test]
fn a_partition_whose_removal_failed_keeps_its_keys() {
    let whole = World::keeping_metadata(Place::Memory);
    let spec = spec(TableType::CopyOnWrite);
    spec.create(&whole);
    let rows = [row("a", "X", 1, "x"), row("b", "Y", 1, "y")];
    write_with(&whole.table(), &spec, Operation::Upsert, &rows, &[ASKED_FOR]).unwrap();
    let remove = |table: &Table| {
        let request =
            WriteRequest { partitions: vec!["X".to_owned()], ..WriteRequest::new(Operation::DeletePartitions) };
        write::delete_partitions(table, &request)
    };
    let trial = whole.copy();
    let (table, faulty) = trial.faulty(FaultPlan::none());
    remove(&table).unwrap();
    let later = [row("a", "X", 2, "later")];
    for call in faulty.log() {
        let _scene = Scene(format!("call {} ({} {})", call.n, call.op, call.path));
        let world = whole.copy();
        let (table, faulty) = world.faulty(FaultPlan::none().at(call.n, Fault::Fail));
        let _ = remove(&table);
        drop((table, faulty));
        spec.upsert(&world.table(), &later).unwrap();
        assert_eq!(rows_of(&world.table()), upserted(&model(&rows), &later));
        world.assert_sound();
    }
}

/// Cleans of the metadata table leave what a write under way has yet to look at.
#[test]
fn a_slow_write_looks_into_the_index_that_it_began_with() {
    let world = World::keeping_metadata(Place::Memory);
    let spec = spec(TableType::CopyOnWrite);
    spec.create(&world);
    let often = [
        ASKED_FOR,
        ("hoodie.metadata.compact.max.delta.commits", "1"),
        ("hoodie.clean.commits.retained", "1"),
        ("hoodie.keep.min.commits", "2"),
        ("hoodie.keep.max.commits", "3"),
    ];
    let names: Vec<String> = (0..60).map(|n| format!("k{n}")).collect();
    let turn = |names: &[String], ts: i64| {
        let rows: Vec<Row> = names.iter().map(|id| row(id, "X", ts, "quick")).collect();
        write_with(&world.table(), &spec, Operation::Upsert, &rows, &often).unwrap();
    };
    (0..30).for_each(|ts| turn(&names, ts));
    let late: Vec<Row> = names.iter().map(|id| row(id, "Y", 900, "slow")).collect();
    let mut slow = Stages::new(&world, &spec, &late);
    slow.begin().unwrap();
    for ts in 30..75 {
        turn(&[format!("new{ts}")], ts);
    }
    slow.place().unwrap();
    slow.run().unwrap();
    // Its keys are in a file group that others have changed; had it not found them, it would bring them anew.
    let e = slow.commit().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CommitConflict, "{e}");
    world.assert_sound();
}
