//! Writers that would build upon an older slice, because a file of the newest one is gone.

use hudini_table::options::{IndexType, Operation};
use hudini_table::service::{CompactRequest, compact};
use hudini_table::{Error, ErrorKind, Table};
use rstest::rstest;

use crate::support::{self, Place, Spec, World, row};

fn world(keeps_metadata: bool) -> World {
    if keeps_metadata { World::keeping_metadata(Place::Memory) } else { World::new(Place::Memory) }
}

fn unbucketed(spec: Spec) -> Spec {
    Spec { index: IndexType::Bloom, ..spec }
}

/// The data file that was written last.
fn newest(world: &World) -> String {
    let instant = |path: &String| path.split('_').find(|part| part.len() >= 17).unwrap()[..17].to_owned();
    world.data_files().into_iter().max_by_key(instant).unwrap()
}

/// A table with two rows of the same partition in one file group, the second of a later write whose file is gone.
fn damaged(world: &World, spec: &Spec) -> (Table, String) {
    let table = spec.create(world);
    spec.upsert(&table, &[row("a", "A", 1, "")]).unwrap();
    spec.upsert(&table, &[row("a", "A", 2, "")]).unwrap();
    let gone = newest(world);
    world.store.delete(&gone).unwrap();
    (table, gone)
}

#[track_caller]
fn assert_refused(error: &Error, gone: &str) {
    assert_eq!((error.kind(), error.path()), (ErrorKind::StorageFailure, Some(gone)), "{error}");
}

#[rstest]
fn rows_are_not_merged_into_an_older_file(
    #[values(Spec::cow(), unbucketed(Spec::cow()), unbucketed(Spec::mor()))] spec: Spec,
    #[values(false, true)] keeps_metadata: bool,
    #[values(Operation::Upsert, Operation::Insert, Operation::Delete)] operation: Operation,
) {
    let spec = Spec { buckets: 1, ..spec };
    let world = world(keeps_metadata);
    let (table, gone) = damaged(&world, &spec);
    let before = world.data_files();
    assert_refused(&spec.write(&table, operation, &[row("a", "A", 3, "")]).unwrap_err(), &gone);
    assert_eq!(world.data_files(), before);
}

#[rstest]
fn what_is_replaced_or_left_alone_may_be_gone(
    #[values(Spec::cow(), unbucketed(Spec::cow()), Spec::mor(), unbucketed(Spec::mor()))] spec: Spec,
    #[values(false, true)] keeps_metadata: bool,
) {
    let spec = Spec { buckets: 1, ..spec };
    let world = world(keeps_metadata);
    let (table, _) = damaged(&world, &spec);
    spec.upsert(&table, &[row("b", "B", 3, "")]).unwrap();
    spec.write(&table, Operation::InsertOverwrite, &[row("a", "A", 4, "")]).unwrap();
    spec.upsert(&table, &[row("a", "A", 5, "")]).unwrap();
    assert_eq!(support::rows_of(&table).len(), 2);
}

#[rstest]
fn a_compaction_is_not_planned_without_a_log(#[values(false, true)] keeps_metadata: bool) {
    let world = world(keeps_metadata);
    let spec = Spec { buckets: 1, ..Spec::mor() };
    let (table, gone) = damaged(&world, &spec);
    // A log more does not hide it.
    spec.upsert(&table, &[row("c", "A", 3, "")]).unwrap();
    assert_refused(&compact(&table, CompactRequest::default()).unwrap_err(), &gone);
}

/// A new list of the files would not have it, and nobody would miss it any more.
#[rstest]
#[case::another_partition("B")]
#[case::the_same_one("A")]
fn a_metadata_table_is_not_made_of_a_table_that_lacks_a_file(#[case] city: &str) {
    let world = world(false);
    let spec = Spec { buckets: 1, ..Spec::mor() };
    let (_, gone) = damaged(&world, &spec);
    let world = world.now_keeping_metadata();
    assert_refused(&spec.upsert(&world.table(), &[row("b", city, 3, "")]).unwrap_err(), &gone);
}
