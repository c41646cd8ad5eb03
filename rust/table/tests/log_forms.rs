//! Logs as Avro records and as Parquet files, with record positions and without: the same rows, however they are merged.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use hudini_table::Table;
use hudini_table::context::Watch;
use hudini_table::options::{IndexType, Operation, Options, TableType};
use hudini_table::scan::{Ran, Scan, ScanRequest};
use hudini_table::write::{self, WriteRequest};
use rstest::rstest;

use support::{Model, Place, Row, Spec, World, row, rows_of, upserted};

fn write(table: &Table, spec: &Spec, operation: Operation, rows: &[Row], form: &str, positions: bool) {
    let options = [
        ("hoodie.logfile.data.block.format", form),
        ("hoodie.write.record.positions", if positions { "true" } else { "false" }),
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
    #[values("avro", "parquet")] form: &str,
    #[values(true, false)] positions: bool,
    #[values(IndexType::Simple, IndexType::Bucket)] index: IndexType,
) {
    let world = World::new(Place::Memory);
    let spec = Spec { partitioned: false, index, buckets: 1, ..Spec::new(TableType::MergeOnRead) };
    spec.create(&world);
    let first: Vec<Row> = (0..100).map(|n| row(&format!("k{n}"), "A", 10, "first")).collect();
    write(&world.table(), &spec, Operation::BulkInsert, &first, form, positions);
    let mut expected = upserted(&Model::new(), &first);
    // Updates in another order than that of the file, some too late.
    let changes: Vec<Row> = (0..40).rev().map(|n| row(&format!("k{}", n * 2), "A", 5 + n, "changed")).collect();
    write(&world.table(), &spec, Operation::Upsert, &changes, form, positions);
    expected = upserted(&expected, &changes);
    assert_eq!(rows_of(&world.table()), expected);
    let gone = [row("k99", "A", 0, ""), row("k4", "A", 0, ""), row("k51", "A", 0, "")];
    write(&world.table(), &spec, Operation::Delete, &gone, form, positions);
    gone.iter().for_each(|row| drop(expected.remove(&row.id)));
    assert_eq!(rows_of(&world.table()), expected);
    assert_eq!(merged(&world.table()), if positions { (1, 0) } else { (0, 1) });
    let kinds: Vec<&str> = ran(&world.table()).log_blocks_by_kind.into_keys().collect();
    assert_eq!(kinds, [":delete", form]);

    if index == IndexType::Bucket {
        // What the base file does not have has no position, and no other of its block.
        let mixed = [row("k7", "A", 99, "again"), row("new", "A", 1, "new")];
        write(&world.table(), &spec, Operation::Upsert, &mixed, form, positions);
        assert_eq!(rows_of(&world.table()), upserted(&expected, &mixed));
        assert_eq!(merged(&world.table()), (0, 1));
    }
}
