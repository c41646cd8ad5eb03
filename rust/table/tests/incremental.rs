//! What was written in a range of time.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use hudini_table::context::Watch;
use hudini_table::options::{Options, QueryType, TableType};
use hudini_table::scan::{Scan, ScanRequest, Split, Window};
use hudini_table::service::{self, CompactRequest};
use hudini_table::{ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::{self, Place, Spec, Stages, World, gone, row};

fn request(start: Option<&str>, end: Option<&str>) -> ScanRequest {
    let window = Window { start: start.map(str::to_owned), end: end.map(str::to_owned) };
    let columns = Some(["id", "ts"].map(str::to_owned).to_vec());
    ScanRequest { window: Some(window), columns, ..ScanRequest::default() }
}

/// Keys and ordering values, sorted.
fn found(table: &Table, start: Option<&str>, end: Option<&str>) -> Result<Vec<(String, i64)>> {
    let scan = Scan::plan(table, request(start, end))?;
    let mut rows = Vec::new();
    for batch in scan.read()? {
        let batch = batch?;
        assert_eq!(batch.schema().fields().len(), 2, "the commit time is not handed out");
        let (ids, ts) = (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<Int64Type>());
        rows.extend((0..batch.num_rows()).map(|n| (ids.value(n).to_owned(), ts.value(n))));
    }
    assert_eq!(scan.count()?, rows.len() as u64);
    rows.sort();
    Ok(rows)
}

fn rows(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|(id, ts)| ((*id).to_owned(), *ts)).collect()
}

/// As in Apache Hudi: what was there before the range does not stand against what came in it.
#[test]
fn late_rows_behind_a_compaction_are_in_every_range() {
    let (world, spec) = (World::new(Place::Memory), Spec { partitioned: false, buckets: 1, ..Spec::mor() });
    let positions = ("hoodie.write.record.positions".to_owned(), "true".to_owned());
    let table = Table { options: Options::parse([positions]).unwrap(), ..spec.create(&world) };
    let write = |rows: &[support::Row]| spec.upsert(&table, rows).unwrap().completed.unwrap();
    let first = write(&[row("a", "", 10, ""), row("b", "", 10, ""), row("c", "", 10, "")]);
    let second = write(&[row("b", "", 20, "")]);
    let compacted = service::compact(&table, CompactRequest::default()).unwrap().completed.unwrap();
    write(&[row("a", "", 5, "late"), row("c", "", 30, "")]);
    for (start, expected) in [
        (&first, &[("a", 5), ("b", 20), ("c", 30)][..]),
        (&second, &[("a", 5), ("c", 30)]),
        (&compacted, &[("a", 5), ("c", 30)]),
    ] {
        assert_eq!(found(&table, Some(start), None).unwrap(), rows(expected), "{start}");
    }
    let merged = |request: ScanRequest| {
        let ran = Scan::plan(&table, request).unwrap().run(&Watch::default()).unwrap();
        (ran.merged_by_position, ran.merged_by_key)
    };
    assert_eq!(merged(ScanRequest::default()), (1, 0));
    assert_eq!(merged(request(Some(&first), None)), (0, 1), "positions name rows that do not take part");
}

#[rstest]
fn after_the_start_up_to_the_end(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    let (world, spec) = (World::new(Place::Memory), Spec { with_deletes: true, ..Spec::new(table_type) });
    let table = spec.create(&world);
    let completed = |rows: &[support::Row]| spec.upsert(&table, rows).unwrap().completed.unwrap();
    let c1 = completed(&[row("a", "A", 1, "1"), row("b", "A", 1, "1")]);
    let c2 = completed(&[row("a", "A", 2, "2"), row("c", "B", 2, "2")]);
    let c3 = completed(&[row("a", "A", 3, "3")]);
    let c4 = completed(&[gone("b", "A", 4)]);
    let get = |start: Option<&str>, end: Option<&str>| found(&table, start, end).unwrap();

    assert_eq!(get(None, None), rows(&[("a", 3), ("c", 2)]));
    assert_eq!(get(Some("000"), Some(&c1)), rows(&[("a", 1), ("b", 1)]), "what is gone by now was there then");
    assert_eq!(get(Some(&c1), Some(&c2)), rows(&[("a", 2), ("c", 2)]), "as it stood at the end");
    assert_eq!(get(Some(&c1), Some(&c3)), rows(&[("a", 3), ("c", 2)]));
    assert_eq!(get(Some(&c2), None), rows(&[("a", 3)]));
    assert_eq!(get(Some(&c3), Some(&c4)), rows(&[]), "a deletion leaves no row");
    assert_eq!(get(Some(&c4), None), rows(&[]));
    assert_eq!(get(Some(&c2), Some(&c2)), rows(&[]));
    assert_eq!(get(Some(&c3), Some(&c1)), rows(&[]));
}

#[rstest]
fn when_it_completed_counts(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    let (world, spec) = (World::new(Place::Memory), Spec::new(table_type));
    let table = spec.create(&world);
    let mut slow = Stages::new(&world, &spec, &[row("slow", "A", 1, "")]);
    slow.begin().unwrap();
    slow.place().unwrap();
    let fast = spec.upsert(&table, &[row("fast", "B", 1, "")]).unwrap().completed.unwrap();
    assert_eq!(found(&table, None, None).unwrap(), rows(&[("fast", 1)]), "what is pending is not there");
    slow.run().unwrap();
    let last = slow.commit().unwrap();
    assert!(last.instant.unwrap() < fast);
    assert_eq!(found(&table, Some(&fast), None).unwrap(), rows(&[("slow", 1)]));
    assert_eq!(found(&table, None, Some(&fast)).unwrap(), rows(&[("fast", 1)]));
}

/// As in Apache Hudi: files from before the range are not asked.
#[test]
fn a_late_change_counts_although_it_lost() {
    let (world, spec) = (World::new(Place::Memory), Spec::mor());
    let table = spec.create(&world);
    let first = spec.upsert(&table, &[row("a", "A", 5, "")]).unwrap().completed.unwrap();
    spec.upsert(&table, &[row("a", "A", 2, "late")]).unwrap();
    assert_eq!(found(&table, Some(&first), None).unwrap(), rows(&[("a", 2)]));
    assert_eq!(found(&table, None, None).unwrap(), rows(&[("a", 5)]));
}

#[rstest]
fn a_file_that_was_cleaned_is_missed(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    let (world, spec) = (World::new(Place::Memory), Spec::new(table_type));
    let table = spec.create(&world);
    let c1 = spec.upsert(&table, &[row("a", "A", 1, "")]).unwrap().completed.unwrap();
    let before = world.data_files();
    let c2 = spec.upsert(&table, &[row("a", "A", 2, "")]).unwrap().completed.unwrap();
    let second: Vec<_> = world.data_files().difference(&before).cloned().collect();
    spec.upsert(&table, &[row("a", "A", 3, "")]).unwrap();
    world.store.delete(&second[0]).unwrap();
    let missed = || found(&table, Some(&c1), Some(&c2)).unwrap_err();
    assert_eq!(
        (missed().kind(), missed().path()),
        (ErrorKind::StorageFailure, Some(second[0].as_str())),
        "{}",
        missed()
    );
    world.clean_of(&second[0]);
    assert_eq!((missed().kind(), missed().path()), (ErrorKind::InstantCleaned, Some(second[0].as_str())));
    assert_eq!(found(&table, Some(&c2), None).unwrap(), rows(&[("a", 3)]), "this range needs no such file");
}

#[test]
fn a_base_file_is_missed_although_its_log_is_there() {
    let (world, spec) = (World::new(Place::Memory), Spec::mor());
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a", "A", 1, ""), row("b", "A", 1, "")]).unwrap();
    let base = world.data_files();
    let last = spec.upsert(&table, &[row("a", "A", 2, "")]).unwrap().completed.unwrap();
    assert!(base.iter().all(|file| world.store.delete(file).unwrap()));
    assert_eq!(found(&table, None, Some(&last)).unwrap_err().kind(), ErrorKind::StorageFailure);
}

#[test]
fn splits_carry_the_range() {
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
fn a_range_is_no_state() {
    let (world, spec) = (World::new(Place::Memory), Spec::mor());
    let table = spec.create(&world);
    let as_of = ScanRequest { as_of: Some("2026-11-21".to_owned()), ..request(None, None) };
    let without_logs = ScanRequest { mode: Some(QueryType::ReadOptimized), ..request(None, None) };
    for request in [as_of, without_logs] {
        assert_eq!(Scan::plan(&table, request).unwrap_err().kind(), ErrorKind::InvalidOption);
    }
}
