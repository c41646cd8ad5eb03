//! Rollbacks that another engine has begun, and may be at right now: Apache Hudi executes them without a lock and without a
//! sign of life.

use std::sync::Arc;

use hudini_format::action::{InstantInfo, RollbackMetadata, RollbackPlan};
use hudini_format::instant::{Action, InstantFile};
use hudini_table::options::{Options, TableType};
use hudini_table::service::{self, CompactRequest};
use hudini_table::storage::Storage;
use hudini_table::storage::faulty::{Fault, FaultPlan};
use hudini_table::{ErrorKind, Table};
use rstest::rstest;

use crate::support::meanwhile::Meanwhile;
use crate::support::{
    Model, Place, Scene, Spec, Stages, World, cut_off_by_another_engine, model, rollback_cut_off_by_another_engine,
    row, rows_of, upserted,
};

/// A write of another engine, and the rollback of it: long before any of ours, but younger than the table.
const VICTIM: &str = "20260527120000000";
const ROLLBACK: &str = "20260527120000001";
const TIMELINE: &str = ".hoodie/timeline";

fn spec() -> Spec {
    Spec { buckets: 1, ..Spec::cow() }
}

fn base(spec: &Spec) -> (World, Model) {
    let world = World::new(Place::Memory);
    let rows = [row("a1", "A", 1, "old"), row("b1", "B", 1, "old")];
    spec.upsert(&spec.create(&world), &rows).unwrap();
    (world, model(&rows))
}

/// ... and a write of another engine that is being rolled back. Answers its file, too.
fn rolled_back(spec: &Spec) -> (World, Model, String) {
    let (world, before) = base(spec);
    let file = cut_off_by_another_engine(&world, VICTIM, false);
    rollback_cut_off_by_another_engine(&world, ROLLBACK, VICTIM, &[&file]);
    (world, before, file)
}

/// Files of rollbacks on the timeline.
fn rollbacks(store: &dyn Storage) -> Vec<String> {
    let names = store.list(TIMELINE).unwrap().into_iter().map(|entry| entry.name().to_owned());
    names.filter(|name| name.contains(".rollback")).collect()
}

fn completed_rollbacks(store: &dyn Storage) -> Vec<String> {
    rollbacks(store).into_iter().filter(|name| name.ends_with(".rollback")).collect()
}

/// Every rollback is completed, and once.
fn assert_completed_once(store: &dyn Storage) {
    let requested =
        rollbacks(store).into_iter().filter_map(|name| name.strip_suffix(".rollback.requested").map(str::to_owned));
    let completed = completed_rollbacks(store);
    let requested: Vec<String> = requested.collect();
    assert_eq!(completed.len(), requested.len(), "{completed:?}");
    assert!(requested.iter().all(|time| completed.iter().any(|name| name.starts_with(time))), "{completed:?}");
}

/// Nothing has been done to the rollback, and its victim is still there.
fn is_left_alone(world: &World, file: &str) {
    assert_eq!(rollbacks(world.store.as_ref()), [format!("{ROLLBACK}.rollback.requested")]);
    let timeline = world.table().timeline().unwrap();
    assert!(timeline.pending().any(|i| i.requested == VICTIM));
    assert!(world.data_files().contains(file));
    assert_eq!(world.names_below(&format!(".hoodie/.temp/{VICTIM}/")).len(), 1, "its marker");
}

/// As Apache Hudi comes to the end of a rollback.
fn complete_as_others(store: &dyn Storage, file: &str) {
    if !completed_rollbacks(store).is_empty() {
        return;
    }
    for name in [InstantFile::inflight(VICTIM, Action::Commit), InstantFile::requested(VICTIM, Action::Commit)] {
        store.delete(&format!("{TIMELINE}/{name}")).unwrap();
    }
    store.delete(file).unwrap();
    let metadata = RollbackMetadata { commits_rollback: vec![VICTIM.into()], ..RollbackMetadata::default() };
    let name = InstantFile::completed(ROLLBACK, "20260527120000002", Action::Rollback);
    store.replace(&format!("{TIMELINE}/{name}"), &metadata.encode().unwrap()).unwrap();
    store.delete_dir(&format!(".hoodie/.temp/{VICTIM}")).unwrap();
}

#[rstest]
fn a_young_one_is_left_alone_and_writes_go_on(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let (world, mut state, file) = rolled_back(&spec);
    for ts in 2..4 {
        let rows = [row("a1", "A", ts, "new"), row("c1", "C", ts, "new")];
        spec.upsert(&world.table(), &rows).unwrap();
        state = upserted(&state, &rows);
        is_left_alone(&world, &file);
        assert_eq!(rows_of(&world.table()), state);
    }
    let compacts = table_type == TableType::MergeOnRead;
    if compacts {
        assert!(service::compact(&world.table(), CompactRequest::default()).unwrap().completed.is_some());
    }
    is_left_alone(&world, &file);

    world.an_hour_goes_by();
    spec.upsert(&world.table(), &[row("b1", "B", 9, "last")]).unwrap();
    assert_eq!(rows_of(&world.table()), upserted(&state, &[row("b1", "B", 9, "last")]));
    let done = completed_rollbacks(world.store.as_ref());
    assert!(done.len() == 1 && done[0].starts_with(ROLLBACK), "{done:?}");
    world.assert_tidy();
}

/// The engine that began it comes to the end at any call of ours. Only behind the last list of the timeline it cannot be seen:
/// then the oldest action is looked at, and the rollback completed.
#[test]
fn an_old_one_is_not_completed_a_second_time() {
    let spec = spec();
    let (base, before, file) = rolled_back(&spec);
    base.an_hour_goes_by();
    let rows = [row("a1", "A", 2, "new")];
    let mut twice = 0;
    for n in 1.. {
        let _scene = Scene(format!("completed by others at call {n}"));
        let world = base.copy();
        let (store, theirs) = (Arc::clone(&world.store), file.clone());
        let storage = Meanwhile::new(Arc::clone(&world.store), n, move || complete_as_others(store.as_ref(), &theirs));
        spec.upsert(&Table { storage: Arc::clone(&storage) as _, ..world.table() }, &rows).unwrap();
        if !storage.happened() {
            break;
        }
        match completed_rollbacks(world.store.as_ref()).len() {
            1 => {}
            2 => twice += 1,
            count => panic!("{count} completed files"),
        }
        assert_eq!(rows_of(&world.table()), upserted(&before, &rows));
        world.assert_tidy();
    }
    assert_eq!(twice, 2);
}

/// A writer is killed at each of its calls, and the next one leaves nothing undone. How often the rollback was cut off by it.
fn killed_at_every_call(base: &World, spec: &Spec, before: &Model, is_cut_off: impl Fn(&World) -> bool) -> usize {
    let rows = [row("b1", "B", 2, "new")];
    let mut cut_off = 0;
    for n in 1.. {
        let _scene = Scene(format!("killed at call {n}"));
        let world = base.copy();
        let (table, faulty) = world.faulty(FaultPlan::none().at(n, Fault::Kill));
        let done = spec.upsert(&table, &rows);
        let calls = faulty.calls();
        drop((table, faulty));
        if done.is_ok() && calls < n {
            break;
        }
        cut_off += usize::from(is_cut_off(&world));
        spec.upsert(&world.table(), &rows).unwrap();
        assert_completed_once(world.store.as_ref());
        assert_eq!(rows_of(&world.table()), upserted(before, &rows));
        world.assert_tidy();
    }
    cut_off
}

/// Ours live under their own instant: whoever comes next knows at once that nobody is at it any more.
#[rstest]
fn one_of_ours_is_finished_by_the_next_writer(#[values(false, true)] of_another_engine: bool) {
    let spec = spec();
    let (base, before) = base(&spec);
    if of_another_engine {
        cut_off_by_another_engine(&base, VICTIM, false);
    } else {
        let mut dead = Stages::new(&base, &spec, &[row("a1", "A", 5, "dead")]);
        (0..3).for_each(|step| dead.step(step).unwrap());
    }
    let is_cut_off = |world: &World| {
        let store = world.store.as_ref();
        !rollbacks(store).is_empty() && completed_rollbacks(store).is_empty()
    };
    let cut_off = killed_at_every_call(&base, &spec, &before, is_cut_off);
    assert!(cut_off > 5, "{cut_off}");
}

/// A rollback of ours that goes on with one of another engine's is one of ours from then on.
#[test]
fn an_old_one_that_was_taken_over_is_finished_by_the_next_writer() {
    let spec = spec();
    let (base, before, _) = rolled_back(&spec);
    base.an_hour_goes_by();
    let is_cut_off = |world: &World| rollbacks(world.store.as_ref()).len() == 2;
    let cut_off = killed_at_every_call(&base, &spec, &before, is_cut_off);
    assert!(cut_off > 3, "{cut_off}");
}

/// It was taken for dead. What it wrote since the rollback was planned nobody else knows of.
#[test]
fn a_write_that_others_roll_back_takes_its_files_away_and_leaves_the_rest_to_them() {
    let spec = spec();
    let (world, before) = base(&spec);
    let mut writer = Stages::new(&world, &spec, &[row("a1", "A", 2, "new")]);
    (0..2).for_each(|step| writer.step(step).unwrap());
    let victim = writer.time();
    let rollback = later(&victim);
    rollback_cut_off_by_another_engine(&world, &rollback, &victim, &[]);
    let files = world.data_files();
    writer.step(2).unwrap();
    assert_ne!(world.data_files(), files);
    assert_eq!(writer.commit().unwrap_err().kind(), ErrorKind::CommitConflict);
    assert_eq!(world.data_files(), files);
    assert_eq!(rollbacks(world.store.as_ref()), [format!("{rollback}.rollback.requested")]);
    assert!(world.table().timeline().unwrap().pending().any(|i| i.requested == victim), "theirs to remove");
    world.assert_no_traces();
    assert_eq!(rows_of(&world.table()), before);
}

/// It was paused, and others took it for dead.
#[test]
fn writes_go_on_beside_one_that_lives_and_is_rolled_back() {
    let spec = spec();
    let (world, before) = base(&spec);
    let mut paused = Stages::new(&world, &spec, &[row("a1", "A", 2, "paused")]);
    (0..3).for_each(|step| paused.step(step).unwrap());
    let victim = paused.time();
    rollback_cut_off_by_another_engine(&world, &later(&victim), &victim, &[]);
    world.an_hour_goes_by();
    let rows = [row("b1", "B", 2, "new")];
    spec.upsert(&world.table(), &rows).unwrap();
    assert_eq!(paused.commit().unwrap_err().kind(), ErrorKind::CommitConflict);
    spec.upsert(&world.table(), &[row("b1", "B", 3, "newer")]).unwrap();
    assert_eq!(rows_of(&world.table()), upserted(&before, &[row("b1", "B", 3, "newer")]));
    assert_completed_once(world.store.as_ref());
    world.assert_tidy();
}

#[test]
fn who_asks_for_the_rollback_need_not_wait() {
    let spec = spec();
    let (world, before, _) = rolled_back(&spec);
    let result = service::roll_back(&world.table(), VICTIM, false, &Options::default()).unwrap();
    assert_eq!(result.instant, VICTIM);
    let done = completed_rollbacks(world.store.as_ref());
    assert!(done.len() == 1 && done[0].starts_with(ROLLBACK), "{done:?}");
    assert_eq!(rows_of(&world.table()), before);
    world.assert_tidy();
}

/// Apache Hudi takes a compaction up again by rolling back what was done of it.
#[test]
fn a_compaction_that_others_roll_back_is_left_to_them_unless_one_asks_for_it() {
    let spec = Spec { buckets: 1, ..Spec::mor() };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let mut state = Model::new();
    let mut write = |table: &Table, ts: i64| {
        let rows = [row("a1", "A", ts, "v")];
        assert_eq!(spec.upsert(table, &rows).unwrap().warnings, [""; 0]);
        state = upserted(&state, &rows);
        state.clone()
    };
    (0..3).for_each(|ts| drop(write(&table, ts)));
    let plan_only = CompactRequest { execute: false, ..CompactRequest::default() };
    let planned = service::compact(&table, plan_only).unwrap().instant.unwrap();
    world.put(&format!("{TIMELINE}/{planned}.compaction.inflight"), b"");
    // Their compaction is old, their rollback of it is not.
    world.an_hour_goes_by();
    let rollback = later(&planned);
    let plan = RollbackPlan {
        instant_to_rollback: Some(InstantInfo {
            commit_time: planned.clone(),
            action: "compaction".into(),
            ..Default::default()
        }),
        rollback_requests: Some(Vec::new()),
        version: Some(1),
        ..Default::default()
    };
    let (mut table, clock) = world.handle();
    let path = format!("{TIMELINE}/{rollback}.rollback.requested");
    world.put(&path, &plan.encode().unwrap());
    let began = world.store.head(&path).unwrap().unwrap().modified_ms;
    clock.set(began + 60_000);
    let inline = [("hoodie.compact.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "1")];
    let inline = inline.map(|(key, value)| (key.to_owned(), value.to_owned()));
    table.options = Options::parse(inline).unwrap().with(&table.options);
    let is_pending = |time: &str| world.table().timeline().unwrap().find(time).is_some_and(|i| !i.is_completed());
    write(&table, 7);
    assert!(is_pending(&planned) && is_pending(&rollback));

    assert!(service::compact(&world.table(), CompactRequest::default()).unwrap().completed.is_some());
    assert!(!is_pending(&planned) && !is_pending(&rollback), "both are done, under their own instants");
    let state = write(&world.table(), 9);
    assert_eq!(rows_of(&world.table()), state);
    world.assert_tidy();
}

fn later(time: &str) -> String {
    (time.parse::<u64>().unwrap() + 1).to_string()
}
