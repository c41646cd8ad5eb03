//! Tables without buckets: every key is found where it lies, none comes twice, whatever the writes and however they meet.

use std::collections::BTreeMap;

use hudini_table::options::{IndexType, Operation, Options, TableType};
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::write::{self, CommitResult, WriteRequest};
use hudini_table::{ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::{self, Model, Place, Row, Scene, Spec, Stages, World, model, row, rows_of, upserted};

/// Files so small that some hundred rows make several of them.
const SMALL_FILES: [(&str, &str); 4] = [
    ("hoodie.parquet.max.file.size", "20000"),
    ("hoodie.parquet.small.file.limit", "12000"),
    ("hoodie.copyonwrite.record.size.estimate", "200"),
    ("hoodie.record.size.estimation.threshold", "1000000"),
];

fn spec(table_type: TableType, index: IndexType) -> Spec {
    Spec { index, ..Spec::new(table_type) }
}

fn write_small(table: &Table, spec: &Spec, operation: Operation, rows: &[Row]) -> Result<CommitResult> {
    let options = Options::parse(SMALL_FILES.map(|(k, v)| (k.to_owned(), v.to_owned()))).unwrap();
    let request = WriteRequest { options, ..WriteRequest::new(operation) };
    write::write(table, &spec.schema(), [Ok(spec.batch(rows))].into_iter(), &request)
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

    /// Some come late, and lose; but not those that may have been deleted: in logs such a row would bring the base row back,
    /// as it does in Apache Hudi.
    fn rows(&mut self, count: u64, turn: u64) -> Vec<Row> {
        (0..count)
            .map(|_| {
                let n = self.below(600);
                let ts = if stays(n) { self.below(turn * 10) } else { turn * 10 + self.below(9) };
                row(&format!("k{n}"), ["A", "B", "C"][(n % 3) as usize], ts as i64, &format!("v{}", self.below(99)))
            })
            .collect()
    }
}

/// Whether the key of that number is never deleted.
fn stays(n: u64) -> bool {
    n.is_multiple_of(5)
}

/// In which file group each key lies.
fn homes(table: &Table) -> BTreeMap<String, String> {
    let columns = ["_hoodie_record_key", "_hoodie_file_name"].map(str::to_owned).to_vec();
    let scan = Scan::plan(table, ScanRequest { columns: Some(columns), ..ScanRequest::default() }).unwrap();
    let mut homes = BTreeMap::new();
    for batch in scan.read().unwrap() {
        let batch = batch.unwrap();
        let text = |at: usize| arrow_array::cast::AsArray::as_string::<i32>(batch.column(at)).clone();
        for (key, file) in text(0).iter().zip(&text(1)) {
            let group = file.unwrap().split('_').next().unwrap();
            homes.insert(key.unwrap().to_owned(), group.to_owned());
        }
    }
    homes
}

/// A history of writes; returns the rows and the homes of their keys.
fn play(spec: &Spec, threads: usize) -> (Model, BTreeMap<String, String>) {
    let world = World::new(Place::Memory);
    spec.create(&world);
    let mut dice = Dice(0x5eed);
    let mut expected = Model::new();
    for turn in 1..=12 {
        let _scene = Scene(format!("turn {turn} on {threads} threads"));
        let mut table = world.table();
        table.context.threads = threads;
        let mut rows = dice.rows(120, turn);
        if turn % 4 == 0 {
            rows.retain(|row| !stays(row.id[1..].parse().unwrap()));
            write_small(&table, spec, Operation::Delete, &rows).unwrap();
            rows.iter().for_each(|row| drop(expected.remove(&row.id)));
        } else {
            write_small(&table, spec, Operation::Upsert, &rows).unwrap();
            expected = upserted(&expected, &rows);
        }
        assert_eq!(rows_of(&table), expected);
    }
    world.assert_tidy();
    (expected, homes(&world.table()))
}

#[rstest]
fn random_writes_agree_with_a_map_on_any_number_of_threads(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(IndexType::Simple, IndexType::Bloom)] index: IndexType,
    #[values(false, true)] partitioned: bool,
) {
    let spec = Spec { partitioned, ..spec(table_type, index) };
    let (rows, homes) = play(&spec, 1);
    let groups: std::collections::BTreeSet<_> = homes.values().collect();
    assert!(groups.len() > 3, "several file groups: {groups:?}");
    assert_eq!((rows, homes), play(&spec, 2));
}

#[rstest]
fn small_files_are_filled_and_large_ones_are_let_alone(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = spec(table_type, IndexType::Simple);
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let rows = |range: std::ops::Range<i32>| range.map(|n| row(&format!("k{n}"), "A", 1, "v")).collect::<Vec<_>>();
    let added = |rows: &[Row]| write_small(&table, &spec, Operation::Upsert, rows).unwrap();
    assert_eq!(added(&rows(0..10)).files_removed, 0);
    let filled = added(&rows(10..20));
    assert_eq!((filled.files_added, filled.files_removed), (1, 1), "into the file that is there");
    assert_eq!((filled.inserted, filled.updated), (10, 0));
    let groups = |table: &Table| homes(table).into_values().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(groups(&table), 1);
    added(&rows(20..400));
    assert!(groups(&table) > 2);
    assert_eq!(rows_of(&table), model(&rows(0..400)));
}

/// Both looked, and neither found the key.
#[rstest]
fn of_two_writers_of_one_new_key_the_first_wins(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(false, true)] filled: bool,
) {
    let spec = spec(table_type, IndexType::Simple);
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let before = if filled { vec![row("old", "A", 1, "old")] } else { Vec::new() };
    spec.upsert(&table, &before).unwrap();
    let (left, right) = ([row("n", "A", 1, "left")], [row("n", "A", 2, "right"), row("m", "A", 2, "right")]);
    let mut writers = [Stages::new(&world, &spec, &left), Stages::new(&world, &spec, &right)];
    for step in 0..3 {
        writers.iter_mut().for_each(|writer| writer.step(step).unwrap());
    }
    writers[0].commit().unwrap();
    let error = writers[1].commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    let mut expected = upserted(&model(&before), &left);
    assert_eq!(rows_of(&table), expected);
    spec.upsert(&table, &right).unwrap();
    expected = upserted(&expected, &right);
    assert_eq!(rows_of(&table), expected);
    world.assert_tidy();
}

#[rstest]
fn writers_of_different_new_keys_both_commit(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = spec(table_type, IndexType::Bloom);
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let (left, right) = ([row("n", "A", 1, "left")], [row("m", "A", 2, "right")]);
    let mut writers = [Stages::new(&world, &spec, &left), Stages::new(&world, &spec, &right)];
    for step in 0..4 {
        writers.iter_mut().for_each(|writer| writer.step(step).unwrap());
    }
    assert_eq!(rows_of(&table), upserted(&model(&left), &right));
    world.assert_tidy();
}

#[rstest]
fn every_copy_of_a_key_is_updated_and_deleted(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = spec(table_type, IndexType::Simple);
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let copies = |table: &Table| support::scanned(table, 100).unwrap();
    for ts in 1..3 {
        write_unfilled(
            &table,
            &spec,
            Operation::Insert,
            &[row("a", "A", ts, "copy"), row(&format!("b{ts}"), "A", 1, "b")],
        );
    }
    assert_eq!(copies(&table).iter().filter(|row| row.id == "a").count(), 2);
    spec.upsert(&table, &[row("a", "A", 9, "new")]).unwrap();
    let values: Vec<_> = copies(&table).into_iter().filter(|row| row.id == "a").map(|row| row.v).collect();
    assert_eq!(values, ["new", "new"]);
    spec.write(&table, Operation::Delete, &[row("a", "A", 1, "")]).unwrap();
    assert_eq!(rows_of(&table).into_keys().collect::<Vec<_>>(), ["b1", "b2"]);
}

/// Every insert makes a file group of its own.
fn write_unfilled(table: &Table, spec: &Spec, operation: Operation, rows: &[Row]) -> CommitResult {
    let options = Options::parse([("hoodie.parquet.small.file.limit".to_owned(), "0".to_owned())]).unwrap();
    let request = WriteRequest { options, ..WriteRequest::new(operation) };
    write::write(table, &spec.schema(), [Ok(spec.batch(rows))].into_iter(), &request).unwrap()
}

#[test]
fn what_the_table_was_made_with_is_not_contradicted() {
    let tell = |table: &Table, index: &str| {
        let options = Options::parse([("hoodie.index.type".to_owned(), index.to_owned())]).unwrap();
        let request = WriteRequest { options, ..WriteRequest::new(Operation::Upsert) };
        let spec = Spec::cow();
        write::write(table, &spec.schema(), [Ok(spec.batch(&[row("a", "A", 1, "v")]))].into_iter(), &request)
    };
    let worlds = [World::new(Place::Memory), World::new(Place::Memory)];
    let bucketed = Spec::cow().create(&worlds[0]);
    let simple = spec(TableType::CopyOnWrite, IndexType::Simple).create(&worlds[1]);
    for index in ["SIMPLE", "BLOOM"] {
        assert_eq!(tell(&bucketed, index).unwrap_err().kind(), ErrorKind::InvalidOption, "{index}");
    }
    assert_eq!(tell(&simple, "BUCKET").unwrap_err().kind(), ErrorKind::UnsupportedFeature, "how many?");
    for index in ["GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_LEVEL_INDEX", "INMEMORY"] {
        let error = tell(&simple, index).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{index}: {error}");
    }
    assert_eq!(tell(&simple, "RECORD_INDEX").unwrap_err().kind(), ErrorKind::InvalidOption, "no metadata table");
    for index in ["SIMPLE", "BLOOM"] {
        tell(&simple, index).unwrap();
    }
    assert_eq!(rows_of(&simple).len(), 1);
}

#[rstest]
fn partitions_are_replaced_and_taken_away(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(IndexType::Simple, IndexType::Bucket)] index: IndexType,
) {
    let spec = spec(table_type, index);
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    spec.upsert(
        &table,
        &[row("a1", "A", 9, "v"), row("a2", "A", 9, "v"), row("b1", "B", 9, "v"), row("c1", "C", 9, "v")],
    )
    .unwrap();
    spec.upsert(&table, &[row("a1", "A", 10, "v")]).unwrap();
    let result =
        spec.write(&table, Operation::InsertOverwrite, &[row("a3", "A", 1, "new"), row("d1", "D", 1, "new")]).unwrap();
    assert_eq!(result.action, Some("replacecommit"));
    let keys = |table: &Table| rows_of(table).into_keys().collect::<Vec<_>>();
    assert_eq!(keys(&table), ["a3", "b1", "c1", "d1"]);
    let taken = |partitions: &[&str]| {
        let partitions = partitions.iter().map(|p| (*p).to_owned()).collect();
        write::delete_partitions(&table, &WriteRequest { partitions, ..WriteRequest::new(Operation::DeletePartitions) })
    };
    assert!(taken(&["B", "nowhere"]).unwrap().instant.is_some());
    assert_eq!(keys(&table), ["a3", "c1", "d1"]);
    assert_eq!(taken(&["B"]).unwrap().instant, None, "nothing is left to take");
    assert_eq!(taken(&["A*"]).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    assert_eq!(taken(&["../A"]).unwrap_err().kind(), ErrorKind::InvalidOption);
    spec.upsert(&table, &[row("a3", "A", 2, "newer"), row("b1", "B", 1, "back")]).unwrap();
    assert_eq!(keys(&table), ["a3", "b1", "c1", "d1"]);
    spec.write(&table, Operation::OverwriteTable, &[row("z", "C", 1, "only")]).unwrap();
    assert_eq!(keys(&table), ["z"]);
    spec.write(&table, Operation::OverwriteTable, &[]).unwrap();
    assert_eq!(keys(&table), [""; 0]);
    world.assert_tidy();
}

/// What others add to a partition that is being replaced would outlive it.
#[rstest]
fn of_a_write_and_an_overwrite_of_one_partition_the_first_wins(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(false, true)] overwrite_first: bool,
    #[values(Operation::InsertOverwrite, Operation::OverwriteTable)] operation: Operation,
) {
    let spec = spec(table_type, IndexType::Simple);
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a1", "A", 1, "v"), row("b1", "B", 1, "v")]).unwrap();
    let mut replacing = Stages::of(&world, &spec, operation, &[row("a9", "A", 1, "only")]);
    let mut adding = Stages::new(&world, &spec, &[row("a1", "A", 2, "new"), row("a2", "A", 2, "new")]);
    for step in 0..3 {
        replacing.step(step).unwrap();
        adding.step(step).unwrap();
    }
    let (first, second) = if overwrite_first { (&mut replacing, &mut adding) } else { (&mut adding, &mut replacing) };
    first.commit().unwrap();
    assert_eq!(second.commit().unwrap_err().kind(), ErrorKind::CommitConflict);
    world.assert_tidy();
}

/// A job of Apache Hudi may give partitions numbers of their own, wherever else the table's number stands.
#[test]
fn buckets_that_the_table_does_not_tell_of_are_refused() {
    let (world, spec) = (World::new(Place::Memory), Spec::cow());
    let table = spec.create(&world);
    let rows = [row("a", "A", 1, "v")];
    spec.upsert(&table, &rows).unwrap();
    let told = [("hoodie.bucket.index.hash.field".to_owned(), "city".to_owned())];
    let request = WriteRequest { options: Options::parse(told).unwrap(), ..WriteRequest::new(Operation::Upsert) };
    let error = write::write(&table, &spec.schema(), [Ok(spec.batch(&rows))].into_iter(), &request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOption, "{error}");
    world.put(".hoodie/.bucket_index/partition_bucket_index_meta/configs/1.hashing_config", b"{}");
    assert_eq!(spec.upsert(&table, &rows).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    assert_eq!(rows_of(&table), model(&rows));
}

/// Apache Hudi stores nowhere that a table has buckets.
#[rstest]
fn files_that_look_like_buckets_are_not_written_to_as_if_they_were_none(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(None, Some("SIMPLE"), Some("BLOOM"))] told: Option<&str>,
) {
    let spec = Spec::new(table_type);
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let rows = [row("a", "A", 1, "v")];
    spec.upsert(&table, &rows).unwrap();
    let file = ".hoodie/hoodie.properties";
    let properties = String::from_utf8(world.store.read(file).unwrap().unwrap().to_vec()).unwrap();
    let about_index = |line: &&str| line.starts_with("hoodie.index.") || line.starts_with("hoodie.bucket.");
    let without: Vec<_> = properties.lines().filter(|line| !about_index(line)).collect();
    assert_eq!(properties.lines().count() - without.len(), 4);
    world.store.replace(file, without.join("\n").as_bytes()).unwrap();
    let options = Options::parse(told.map(|index| ("hoodie.index.type".to_owned(), index.to_owned()))).unwrap();
    let request = WriteRequest { options, ..WriteRequest::new(Operation::Upsert) };
    let error = write::write(&table, &spec.schema(), [Ok(spec.batch(&rows))].into_iter(), &request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}");
    assert!(error.hint().unwrap().contains("hoodie.bucket.index.num.buckets"), "{error}");
    assert_eq!(rows_of(&table), model(&rows));
    world.assert_tidy();
}
