//! The lock file of Apache Hudi's `FileSystemBasedLockProvider`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests; others lay the file"
)]

use crate::support::{Place, SHARED_LOCK, Spec, World, row, rows_of};
use hudini_table::ErrorKind;
use hudini_table::context::Clock;
use hudini_table::options::{Options, TableType};
use hudini_table::storage::Put;
use hudini_table::storage::faulty::{Fault, FaultPlan};
use rstest::rstest;

const FILE: &str = ".hoodie/lock";

fn options(more: &[(&str, &str)]) -> Options {
    let told = [("hoodie.write.lock.provider", SHARED_LOCK), ("hoodie.write.lock.wait_time_ms", "300")];
    Options::parse(told.iter().chain(more).map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))).unwrap()
}

/// A table of one row, and a handle whose writes share their lock.
fn world(place: Place, more: &[(&str, &str)]) -> (World, hudini_table::Table) {
    let world = World::new(place);
    Spec::mor().upsert(&Spec::mor().create(&world), &[row("a", "A", 1, "old")]).unwrap();
    let mut table = world.table();
    table.options = options(more).with(&table.options);
    (world, table)
}

#[rstest]
#[case::empty(b"")]
#[case::of_apache_hudi(br#"{"lockCreateTime":"2026-11-24 10:00:00.000","lockThreadName":"main","lockStacksInfo":"x"}"#)]
#[case::of_another_machine(br#"{"lockCreateTime":"1","lockThreadName":"hudini 1","hudiniMachine":"another"}"#)]
#[case::of_another_table(
    br#"{"lockCreateTime":"1","lockThreadName":"hudini 1","hudiniMachine":"seeded","hudiniTable":"/u"}"#
)]
fn what_others_hold_is_waited_for(#[case] content: &[u8], #[values(Place::Memory, Place::Local)] place: Place) {
    let (world, table) = world(place, &[]);
    assert!(matches!(world.store.create(FILE, content).unwrap(), Put::Done(_)));
    let before = world.files();
    let error = Spec::mor().upsert(&table, &[row("b", "A", 1, "new")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockUnavailable);
    assert!(error.path().unwrap().ends_with(FILE), "{error:?}");
    assert_eq!(world.files(), before, "nothing was written, and the lock is still theirs");

    assert!(world.store.delete(FILE).unwrap());
    Spec::mor().upsert(&table, &[row("b", "A", 1, "new")]).unwrap();
    assert_eq!(rows_of(&table).len(), 2);
    assert_eq!(world.store.head(FILE).unwrap(), None, "nobody holds it any more");
}

#[test]
fn what_a_dead_writer_of_this_machine_left_is_taken_over() {
    let (world, table) = world(Place::Memory, &[]);
    let left = br#"{"lockCreateTime":"1","lockThreadName":"hudini 1","hudiniMachine":"seeded"}"#;
    assert!(matches!(world.store.create(FILE, left).unwrap(), Put::Done(_)));
    Spec::mor().upsert(&table, &[row("b", "A", 1, "new")]).unwrap();
    assert_eq!(rows_of(&table).len(), 2);
    assert_eq!(world.store.head(FILE).unwrap(), None);
}

#[test]
fn an_old_one_expires_where_the_options_say_so() {
    let (world, clock) = (World::new(Place::Memory), 90_000);
    Spec::mor().upsert(&Spec::mor().create(&world), &[row("a", "A", 1, "old")]).unwrap();
    assert!(matches!(world.store.create(FILE, b"").unwrap(), Put::Done(_)));
    let upsert = |minutes: &str| {
        let (mut table, now) = world.handle();
        now.advance(clock);
        assert!(now.now_ms() > 0);
        table.options = options(&[("hoodie.write.lock.filesystem.expire", minutes)]).with(&table.options);
        Spec::mor().upsert(&table, &[row("b", "A", 1, "new")])
    };
    assert_eq!(upsert("2").unwrap_err().kind(), ErrorKind::LockUnavailable);
    upsert("1").unwrap();
    assert_eq!(world.store.head(FILE).unwrap(), None);
}

#[test]
fn the_file_lies_where_the_options_say() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("locks");
    let (_world, table) = world(Place::Memory, &[("hoodie.write.lock.filesystem.path", path.to_str().unwrap())]);
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("lock"), b"").unwrap();
    let error = Spec::mor().upsert(&table, &[row("b", "A", 1, "new")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockUnavailable);
    assert_eq!(error.path(), path.join("lock").to_str());
    std::fs::remove_file(path.join("lock")).unwrap();
    Spec::mor().upsert(&table, &[row("b", "A", 1, "new")]).unwrap();
    assert!(!path.join("lock").exists());
}

/// Not the lock's being taken, but that there is none to take.
#[rstest]
fn without_a_lock_nothing_is_written(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(Fault::Fail, Fault::Kill)] fault: Fault,
) {
    let spec = Spec::new(table_type);
    let world = World::keeping_metadata(Place::Memory);
    spec.upsert(&spec.create(&world), &[row("a", "A", 1, "old")]).unwrap();
    let write = |world: &World, plan: FaultPlan| {
        let (table, faulty) = world.faulty(plan);
        (spec.upsert(&table, &[row("b", "A", 1, "new")]), faulty.log())
    };
    let (_, calls) = write(&world.copy(), FaultPlan::none());
    let first = calls.iter().find(|call| call.op == "try_lock").unwrap();
    let before = world.files();
    let error = write(&world, FaultPlan::none().at(first.n, fault)).0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFailure);
    assert_eq!(world.files(), before);
}
