//! A writer is silent, from one of its storage calls on, for longer than a heartbeat may be, and others write, compact and
//! clean meanwhile. Then it goes on where it was: nobody's rows are lost, and nothing of what was taken over stays.

use std::sync::{Arc, OnceLock};

use hudini_table::context::{Context, ManualClock, SeededIds};
use hudini_table::options::{CleanPolicy, Options, TableType};
use hudini_table::service::{self, CleanRequest, CompactRequest};
use hudini_table::write::CommitResult;
use hudini_table::{ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::meanwhile::Meanwhile;
use crate::support::{self, Model, Place, Row, Scene, Spec, World, model, row, rows_of, upserted};

const SILENT_MS: u64 = 3_600_000;
const ENOUGH: usize = 30;

fn first() -> [Row; 3] {
    [row("a1", "A", 1, "first"), row("a2", "A", 1, "first"), row("b1", "B", 1, "first")]
}

fn second() -> [Row; 2] {
    [row("a1", "A", 2, "second"), row("b1", "B", 2, "second")]
}

fn of_the_silent() -> [Row; 2] {
    [row("a1", "A", 3, "silent"), row("b2", "B", 3, "silent")]
}

fn of_the_others() -> [Row; 2] {
    [row("a2", "A", 3, "other"), row("b1", "B", 3, "other")]
}

fn started(place: Place, keeps_metadata: bool, spec: &Spec) -> (World, Model) {
    let world = if keeps_metadata { World::keeping_metadata(place) } else { World::new(place) };
    let table = spec.create(&world);
    spec.upsert(&table, &first()).unwrap();
    spec.upsert(&table, &second()).unwrap();
    (world, upserted(&model(&first()), &second()))
}

/// `None`: the silent one holds a lock that it takes.
fn unless_held<T>(outcome: Result<T>) -> Option<T> {
    match outcome {
        Err(e) if e.kind() == ErrorKind::LockUnavailable => None,
        done => Some(done.unwrap()),
    }
}

/// What others do; the rows that they brought.
fn go_on_without(spec: &Spec, table: &Table, archives: bool) -> Vec<Row> {
    let mut brought = Vec::new();
    let mut write = |rows: &[Row]| {
        if unless_held(spec.upsert(table, rows)).is_some() {
            brought.extend_from_slice(rows);
        }
    };
    write(&of_the_others());
    if spec.table_type == TableType::MergeOnRead {
        unless_held(service::compact(table, CompactRequest::default()));
    }
    if archives {
        (0..6).for_each(|n| write(&[row("c1", "C", n, "other")]));
    }
    let policy = Some(if archives { CleanPolicy::Commits } else { CleanPolicy::Versions });
    let (options, retain) = (Options::default(), Some(1));
    let clean = CleanRequest { options, schedule: true, execute: true, dry_run: false, policy, retain };
    unless_held(service::clean(table, &clean));
    if archives {
        // What was done meanwhile is on the active timeline no more.
        let few = [("keep.min.commits", "2"), ("keep.max.commits", "3"), ("clean.commits.retained", "1")];
        let few = few.map(|(key, value)| (format!("hoodie.{key}"), value.to_owned()));
        unless_held(service::archive(table, &Options::parse(few).unwrap()));
    }
    brought
}

/// `act` is silent at each of its calls. `brings` are the rows that are there once it is done.
fn be_silent_at_each_call(
    spec: &Spec,
    (started, before): (World, Model),
    act: impl Fn(&Table) -> Result<CommitResult>,
    brings: &[Row],
    others_archive: bool,
) {
    let mut taken_over = 0;
    for at in 1.. {
        let _scene = Scene(format!("silent at call {at}"));
        let world = Arc::new(started.copy());
        let (clock, wrote) = (Arc::new(ManualClock::ticking(support::START + 60_000)), Arc::new(OnceLock::new()));
        let meanwhile = {
            let (spec, world, clock, wrote) =
                (spec.clone(), Arc::clone(&world), Arc::clone(&clock), Arc::clone(&wrote));
            move || {
                clock.advance(SILENT_MS);
                world.an_hour_goes_by();
                wrote.set(go_on_without(&spec, &world.table(), others_archive)).unwrap();
            }
        };
        let storage = Meanwhile::new(Arc::clone(&world.store), at, meanwhile);
        let context = Context { clock, ids: Arc::new(SeededIds::new(99)), threads: 1 };
        let outcome = act(&world.table_in(Arc::clone(&storage) as _, context));
        if !storage.happened() {
            assert!(at > ENOUGH && taken_over > 0, "{at} calls, taken over {taken_over} times");
            return;
        }
        let brought = match outcome {
            Ok(result) => {
                taken_over += result.retries.min(1);
                brings
            }
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::CommitConflict, "{e}");
                taken_over += 1;
                &[]
            }
        };
        let now = upserted(&upserted(&before, wrote.get().unwrap()), brought);
        assert_eq!(rows_of(&world.table()), now);
        let last = [row("a1", "A", 9, "last"), row("b1", "B", 9, "last")];
        world.an_hour_goes_by();
        spec.upsert(&world.table(), &last).unwrap();
        if spec.table_type == TableType::MergeOnRead {
            // A plan that nobody was at waits for this.
            service::compact(&world.table(), CompactRequest::default()).unwrap();
        }
        assert_eq!(rows_of(&world.table()), upserted(&now, &last));
        world.assert_tidy();
        if world.keeps_metadata() {
            world.assert_sound();
        }
    }
}

/// It is told of a conflict, and does it again.
#[rstest]
fn a_silent_write_is_done_again(
    #[values((Place::Memory, false), (Place::Memory, true), (Place::Local, false))] (place, keeps_metadata): (
        Place,
        bool,
    ),
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let write = |table: &Table| spec.upsert(table, &of_the_silent());
    be_silent_at_each_call(&spec, started(place, keeps_metadata, &spec), write, &of_the_silent(), false);
}

/// The plan is whoever's takes it up.
#[rstest]
fn a_silent_compaction_is_done_by_others(
    #[values((Place::Memory, false), (Place::Memory, true), (Place::Local, false))] (place, keeps_metadata): (
        Place,
        bool,
    ),
    #[values(false, true)] others_archive: bool,
) {
    let spec = Spec { buckets: 1, ..Spec::mor() };
    let compact = |table: &Table| service::compact(table, CompactRequest::default());
    be_silent_at_each_call(&spec, started(place, keeps_metadata, &spec), compact, &[], others_archive);
}
