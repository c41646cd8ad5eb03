//! Logs as Avro records and as Parquet files, with record positions and without: the same rows, however they are merged.

use std::collections::BTreeSet;

use hudini_format::name::LogFileName;
use hudini_table::Table;
use hudini_table::context::Watch;
use hudini_table::options::{IndexType, Operation, Options, TableType};
use hudini_table::scan::{Ran, Scan, ScanRequest};
use hudini_table::write::{self, WriteRequest};
use rstest::rstest;

use crate::support::{Model, Place, Row, Spec, World, gone, model, row, rows_of, upserted};

/// What tells two forms of logs apart.
#[derive(Debug, Clone, Copy)]
struct Form<'a> {
    format: &'a str,
    positions: bool,
    /// Sizes of a block and of a file at which another one begins.
    limits: (&'a str, &'a str),
}

const UNLIMITED: (&str, &str) = ("268435456", "1073741824");

fn write(table: &Table, spec: &Spec, operation: Operation, rows: &[Row], form: Form<'_>) {
    let options = [
        ("hoodie.logfile.data.block.format", form.format),
        ("hoodie.write.record.positions", if form.positions { "true" } else { "false" }),
        ("hoodie.logfile.data.block.max.size", form.limits.0),
        ("hoodie.logfile.max.size", form.limits.1),
    ];
    let options = Options::parse(options.map(|(k, v)| (k.to_owned(), v.to_owned()))).unwrap();
    let request = WriteRequest { options, ..WriteRequest::new(operation) };
    write::write(table, &spec.schema(), [Ok(spec.batch(rows))].into_iter(), &request).unwrap();
}

fn ran(table: &Table) -> Ran {
    Scan::plan(table, ScanRequest::default()).unwrap().run(&Watch::default()).unwrap()
}

/// How many slices are merged by position, and how many by key.
fn merged(table: &Table) -> (usize, usize) {
    let ran = ran(table);
    (ran.merged_by_position, ran.merged_by_key)
}

#[rstest]
fn the_same_rows(
    #[values("avro", "parquet")] format: &str,
    #[values(true, false)] positions: bool,
    #[values(IndexType::Simple, IndexType::Bucket)] index: IndexType,
) {
    let form = Form { format, positions, limits: UNLIMITED };
    let world = World::new(Place::Memory);
    let spec = Spec { partitioned: false, index, buckets: 1, ..Spec::new(TableType::MergeOnRead) };
    spec.create(&world);
    let first: Vec<Row> = (0..100).map(|n| row(&format!("k{n}"), "A", 10, "first")).collect();
    write(&world.table(), &spec, Operation::BulkInsert, &first, form);
    let mut expected = upserted(&Model::new(), &first);
    // Updates in another order than that of the file, some too late.
    let changes: Vec<Row> = (0..40).rev().map(|n| row(&format!("k{}", n * 2), "A", 5 + n, "changed")).collect();
    write(&world.table(), &spec, Operation::Upsert, &changes, form);
    expected = upserted(&expected, &changes);
    assert_eq!(rows_of(&world.table()), expected);
    let gone = [row("k99", "A", 0, ""), row("k4", "A", 0, ""), row("k51", "A", 0, "")];
    write(&world.table(), &spec, Operation::Delete, &gone, form);
    gone.iter().for_each(|row| drop(expected.remove(&row.id)));
    assert_eq!(rows_of(&world.table()), expected);
    assert_eq!(merged(&world.table()), if positions { (1, 0) } else { (0, 1) });
    let kinds: BTreeSet<&str> = ran(&world.table()).log_blocks_by_kind.into_keys().collect();
    assert_eq!(kinds, ["delete", format].into());

    if index == IndexType::Bucket {
        // What the base file does not have has no position, and no other of its block.
        let mixed = [row("k7", "A", 99, "again"), row("new", "A", 1, "new")];
        write(&world.table(), &spec, Operation::Upsert, &mixed, form);
        assert_eq!(rows_of(&world.table()), upserted(&expected, &mixed));
        assert_eq!(merged(&world.table()), (0, 1));
    }
}

/// Versions of the log files of the newest instant.
fn versions(world: &World) -> Vec<u32> {
    let names: Vec<LogFileName> =
        world.data_files().iter().filter_map(|path| LogFileName::parse(last_of(path))).collect();
    let newest = names.iter().map(|name| name.instant.clone()).max().unwrap_or_default();
    let mut versions: Vec<u32> = names.iter().filter(|name| name.instant == newest).map(|name| name.version).collect();
    versions.sort_unstable();
    versions
}

fn last_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[rstest]
#[case::one_file_of_many_blocks(("300", "1073741824"), 1)]
#[case::many_files_of_one_block(("300", "1"), 10)]
#[case::a_file_for_the_deletes(("268435456", "1"), 2)]
fn logs_roll_over(
    #[case] limits: (&str, &str),
    #[case] at_least: usize,
    #[values("avro", "parquet")] format: &str,
    #[values(true, false)] positions: bool,
) {
    let form = Form { format, positions, limits };
    let world = World::keeping_metadata(Place::Memory);
    let spec = Spec { partitioned: false, with_deletes: true, buckets: 1, ..Spec::new(TableType::MergeOnRead) };
    spec.create(&world);
    let first: Vec<Row> = (0..100).map(|n| row(&format!("k{n}"), "A", 10, "first")).collect();
    write(&world.table(), &spec, Operation::Upsert, &first, form);
    // Rows and deletes in one write.
    let mut changes: Vec<Row> = (0..40).rev().map(|n| row(&format!("k{}", n * 2), "A", 11 + n, "changed")).collect();
    changes.extend((0..10).map(|n| gone(&format!("k{}", n * 2 + 1), "A", 99)));
    write(&world.table(), &spec, Operation::Upsert, &changes, form);
    let expected = upserted(&model(&first), &changes);
    assert_eq!(rows_of(&world.table()), expected);
    let found = versions(&world);
    assert_eq!(found, (1..=found.len() as u32).collect::<Vec<_>>());
    assert!(found.len() >= at_least, "{found:?}");
    assert!(at_least > 1 || found.len() == 1, "{found:?}");
    let blocks: u64 = ran(&world.table()).log_blocks_by_kind.values().sum();
    assert!(limits.0.len() > 3 || blocks >= 10, "{blocks} blocks");
    // Statistics are kept of each of the files, and checked against what it holds.
    world.assert_sound();
    // The next write begins with the first version again, and what is newer is merged over what rolled over.
    let later = [row("k2", "A", 500, "again"), gone("k4", "A", 500)];
    write(&world.table(), &spec, Operation::Upsert, &later, Form { limits: UNLIMITED, ..form });
    assert_eq!(versions(&world), [1]);
    assert_eq!(rows_of(&world.table()), upserted(&expected, &later));
    world.assert_tidy();
}
