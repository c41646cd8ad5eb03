//! Merging within a memory limit gives the rows that merging without one gives, in the same order.

use arrow_array::RecordBatch;
use hudini_table::options::{MergeMode, Operation, Options};
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::table::Table;
use hudini_table::{ErrorKind, Result};
use proptest::prelude::*;
use rstest::rstest;

use crate::support::{Place, Row, Spec, World, gone, row};

const KEYS: usize = 300;

/// A table of file groups with a base file and several logs, whose rows are much larger than their keys; some groups
/// have no base file.
fn table(mode: MergeMode, rounds: &[Vec<(usize, i64, bool)>]) -> (World, Table) {
    let spec = Spec { with_deletes: true, mode, ..Spec::mor() };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let text = |n: usize, round: usize| format!("{n}/{round}/{}", "x".repeat(1000 + n % 7));
    let city = |n: usize| if n < KEYS / 2 { "old" } else { ["old", "new"][n % 2] };
    let key = |n: usize| format!("key-{n}");
    let first: Vec<Row> = (0..KEYS / 2).rev().map(|n| row(&key(n), city(n), 5, &text(n, 0))).collect();
    spec.upsert(&table, &first).unwrap();
    for (at, round) in rounds.iter().enumerate() {
        let change = |(n, ts, is_delete): &(usize, i64, bool)| match is_delete {
            true => gone(&key(*n), city(*n), *ts),
            false => row(&key(*n), city(*n), *ts, &text(*n, at + 1)),
        };
        spec.upsert(&table, &round.iter().map(change).collect::<Vec<_>>()).unwrap();
        let deleted: Vec<Row> = round.iter().take(3).map(|(n, ..)| row(&key(*n), city(*n), 1, "")).collect();
        spec.write(&table, Operation::Delete, &deleted).unwrap();
    }
    (world, table)
}

fn read(table: &Table, memory_limit: u64, batch_size: usize, columns: Option<&[&str]>) -> Result<Vec<RecordBatch>> {
    let columns = columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    let limit = Some(memory_limit);
    let request = ScanRequest { columns, memory_limit: limit, batch_size: Some(batch_size), ..ScanRequest::default() };
    Scan::plan(table, request)?.read()?.collect()
}

fn all(batches: &[RecordBatch]) -> RecordBatch {
    arrow_select::concat::concat_batches(&batches[0].schema(), batches).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_same_rows_in_the_same_order(
        rounds in prop::collection::vec(
            prop::collection::vec((0..KEYS, 0_i64..10, prop::bool::weighted(0.2)), 100..400), 1..4),
        by_event_time in any::<bool>(),
    ) {
        let mode = if by_event_time { MergeMode::EventTime } else { MergeMode::CommitTime };
        let (_world, table) = table(mode, &rounds);
        for columns in [None, Some(&["v", "ts"][..]), Some(&["city"])] {
            let wanted = all(&read(&table, u64::MAX, 8192, columns).unwrap());
            // Keys take some 40 kB of it.
            for (limit, batch_size) in [(100_000, 8192), (100_000, 7), (180_000, 64)] {
                let batches = read(&table, limit, batch_size, columns).unwrap();
                prop_assert!(batches.iter().all(|batch| batch.num_rows() <= batch_size));
                prop_assert_eq!(&all(&batches), &wanted);
            }
        }
    }
}

#[rstest]
fn keys_alone_may_be_too_much(#[values(0, 5000)] limit: u64) {
    let (_world, table) = table(MergeMode::EventTime, &[(0..KEYS).map(|n| (n, 7, false)).collect()]);
    let error = read(&table, limit, 100, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MemoryLimit);
    assert!(error.to_string().contains("raise memory_limit"), "{error}");
}

#[test]
fn a_folder_for_the_rest_that_is_not_there_is_an_error() {
    let (_world, mut table) = table(MergeMode::EventTime, &[(0..KEYS).map(|n| (n, 7, false)).collect()]);
    let folder = ("hoodie.memory.spillable.map.path".to_owned(), "/nowhere/at/all".to_owned());
    table.options = Options::parse([folder]).unwrap();
    let error = read(&table, 100_000, 100, None).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::StorageFailure, Some("/nowhere/at/all")));
    assert!(read(&table, u64::MAX, 100, None).is_ok());
}
