//! Writers that get in each other's way, step by step and on threads; and what writers of other engines leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use hudini_format::action::{
    CommitMetadata, CompactionOperation, CompactionPlan, InstantInfo, RollbackMetadata, RollbackPlan, WriteStat,
};
use hudini_format::instant::Action as InstantAction;
use hudini_table::context::{Clock, Context, SystemIds};
use hudini_table::options::{IndexType, MergeMode, Operation, Options, TableType};
use hudini_table::timeline::Timeline;
use hudini_table::write::CommitResult;
use hudini_table::{ErrorKind, Result};
use rstest::rstest;

use crate::support::{
    self, Model, Place, Row, Scene, Spec, Stages, World, cut_off_by_another_engine, declare_dead, gone, model,
    rollback_cut_off_by_another_engine, row, rows_of, upserted,
};

/// Instants of other engines: long before any of ours, but younger than the table.
const LONG_AGO: &str = "20260527120000000";

/// All orders of four steps of one writer and four of another.
fn orders() -> Vec<Vec<usize>> {
    (0..1_u32 << 8)
        .filter(|bits| bits.count_ones() == 4)
        .map(|bits| (0..8).map(|at| (bits >> at & 1) as usize).collect())
        .collect()
}

/// Takes two writes through their steps. A write that fails goes no further.
fn interleave(world: &World, spec: &Spec, rows: [&[Row]; 2], order: &[usize]) -> [Result<()>; 2] {
    let mut writers = rows.map(|rows| Stages::new(world, spec, rows));
    let mut next = [0, 0];
    let mut ends = [Ok(()), Ok(())];
    for &who in order {
        if ends[who].is_ok() {
            ends[who] = writers[who].step(next[who]);
            next[who] += 1;
        }
    }
    ends
}

/// Who ends first, and whether the other had begun by then.
fn overlap(order: &[usize]) -> (usize, bool) {
    let last = order[7];
    let end_of_first = order.iter().rposition(|who| *who != last).unwrap();
    (1 - last, order.iter().position(|who| *who == last).unwrap() < end_of_first)
}

fn base(spec: &Spec) -> (World, Model) {
    let world = World::new(Place::Memory);
    let rows = [row("a1", "A", 1, "old"), row("a2", "A", 1, "old"), row("b1", "B", 1, "old")];
    spec.upsert(&spec.create(&world), &rows).unwrap();
    (world, model(&rows))
}

fn one_bucket(table_type: TableType) -> Spec {
    Spec { buckets: 1, ..Spec::new(table_type) }
}

/// In every order: of two writes that overlap in time and in file groups, the one that commits first wins.
fn first_wins(spec: &Spec, rows: [&[Row]; 2]) {
    let (base, before) = base(spec);
    for order in orders() {
        let _scene = Scene(format!("{order:?}"));
        let world = base.copy();
        let ends = interleave(&world, spec, rows, &order);
        let (first, overlap) = overlap(&order);
        assert!(ends[first].is_ok(), "{:?}", ends[first]);
        let mut after = upserted(&before, rows[first]);
        if overlap {
            assert_eq!(ends[1 - first].as_ref().unwrap_err().kind(), ErrorKind::CommitConflict);
        } else {
            assert!(ends[1 - first].is_ok());
            after = upserted(&after, rows[1 - first]);
        }
        assert_eq!(rows_of(&world.table()), after);
        world.assert_tidy();
    }
}

#[rstest]
fn of_two_writes_of_one_file_group_the_first_wins(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let left = [row("a1", "A", 2, "left"), row("b1", "B", 2, "left")];
    let right = [row("a1", "A", 3, "right"), row("c1", "C", 3, "right")];
    first_wins(&one_bucket(table_type), [&left, &right]);
}

#[rstest]
fn two_first_writes_of_one_bucket_make_one_file_group(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = one_bucket(table_type);
    first_wins(&spec, [&[row("n1", "N", 2, "left")], &[row("n2", "N", 2, "right")]]);
}

#[rstest]
fn writes_of_different_partitions_both_commit(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = one_bucket(table_type);
    let (base, before) = base(&spec);
    let left = [row("a1", "A", 2, "left"), row("c1", "C", 2, "left")];
    let right = [row("b1", "B", 3, "right"), row("d1", "D", 3, "right")];
    for order in orders() {
        let _scene = Scene(format!("{order:?}"));
        let world = base.copy();
        let ends = interleave(&world, &spec, [&left, &right], &order);
        assert!(ends.iter().all(Result::is_ok), "{ends:?}");
        assert_eq!(rows_of(&world.table()), upserted(&upserted(&before, &left), &right));
        world.assert_tidy();
    }
}

#[rstest]
fn a_write_that_was_taken_for_dead_cannot_commit(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(1, 2, 3)] steps_before: usize,
) {
    let spec = one_bucket(table_type);
    let (world, before) = base(&spec);
    let mut paused = Stages::new(&world, &spec, &[row("a1", "A", 5, "paused")]);
    (0..steps_before).for_each(|step| paused.step(step).unwrap());
    let time = paused.time();
    declare_dead(&world, &time);
    let others = [row("b1", "B", 5, "other")];
    spec.upsert(&world.table(), &others).unwrap();
    let error = (steps_before..4).find_map(|step| paused.step(step).err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    if let Some(action) = paused.action.take() {
        action.abort().unwrap();
    }
    assert_eq!(rows_of(&world.table()), upserted(&before, &others));
    assert!(world.files().keys().all(|path| !path.contains(&format!("/{time}."))), "its instant is gone");
    world.assert_tidy();
}

/// Its instant must not come back: commits may be archived by then that are not older.
#[rstest]
fn a_write_that_was_taken_for_dead_does_not_go_on_the_timeline_again(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(".hoodie/timeline/{}.requested", ".hoodie/.heartbeat/{}", ".hoodie/.locks/{}.alive")] lost: &str,
) {
    let spec = one_bucket(table_type);
    let (world, before) = base(&spec);
    let mut paused = Stages::new(&world, &spec, &[row("a1", "A", 5, "paused")]);
    paused.begin().unwrap();
    let time = paused.time();
    let action = if table_type == TableType::MergeOnRead { ".deltacommit.requested" } else { ".commit.requested" };
    assert!(world.store.delete(&lost.replace("{}", &time).replace(".requested", action)).unwrap());
    let error = paused.place().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    assert!(world.files().keys().all(|path| !path.ends_with(".inflight") || !path.contains(&time)));
    paused.action.take().unwrap().abort().unwrap();
    assert_eq!(rows_of(&world.table()), before);
    world.assert_tidy();
}

#[test]
fn a_write_without_its_inflight_file_or_heartbeat_cannot_commit() {
    let spec = one_bucket(TableType::CopyOnWrite);
    for lost in [".hoodie/timeline/{}.inflight", ".hoodie/.heartbeat/{}", ".hoodie/.locks/{}.alive"] {
        let _scene = Scene(lost.to_owned());
        let (world, before) = base(&spec);
        let mut writer = Stages::new(&world, &spec, &[row("a1", "A", 5, "new")]);
        (0..3).for_each(|step| writer.step(step).unwrap());
        assert!(world.store.delete(&lost.replace("{}", &writer.time())).unwrap());
        assert_eq!(writer.commit().unwrap_err().kind(), ErrorKind::CommitConflict);
        assert_eq!(rows_of(&world.table()), before);
        world.assert_tidy();
    }
}

/// A file that shows in the very moment in which its write is rolled back.
#[test]
fn what_a_rolled_back_write_still_wrote_it_removes_itself() {
    let spec = one_bucket(TableType::CopyOnWrite);
    let (world, _) = base(&spec);
    let mut paused = Stages::new(&world, &spec, &[row("a1", "A", 5, "paused")]);
    (0..2).for_each(|step| paused.step(step).unwrap());
    let time = paused.time();
    declare_dead(&world, &time);
    spec.upsert(&world.table(), &[row("b1", "B", 5, "other")]).unwrap();
    let late = format!("A/00000000-late-0_0-0-0_{time}.parquet");
    world.put(&format!(".hoodie/.temp/{time}/{late}.marker.CREATE"), b"");
    world.put(&late, b"PAR1");
    paused.action.take().unwrap().abort().unwrap();
    world.assert_tidy();
}

/// A process that is stopped holds its lock, but nobody waits for it longer than for a heartbeat.
#[rstest]
fn a_writer_that_was_silent_for_too_long_is_taken_over_and_does_not_commit(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(1, 2, 3)] steps_before: usize,
) {
    let spec = one_bucket(table_type);
    let (world, before) = base(&spec);
    let mut slow = Stages::new(&world, &spec, &[row("a1", "A", 5, "slow")]);
    let (table, clock) = world.handle();
    slow.table = table.clone();
    (0..steps_before).for_each(|step| slow.step(step).unwrap());
    let is_its = |path: &String| path.contains(&slow.time());
    let others = [[row("b1", "B", 5, "other")], [row("b2", "B", 5, "other")]];
    // Two intervals of a minute are allowed for.
    clock.advance(100_000);
    spec.upsert(&table, &others[0]).unwrap();
    assert!(world.files().keys().any(is_its), "some time is left to it");
    clock.advance(100_000);
    spec.upsert(&table, &others[1]).unwrap();
    assert_eq!(world.files().into_keys().find(is_its), None, "taken over");
    let error = (steps_before..4).find_map(|step| slow.step(step).err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    if let Some(action) = slow.action.take() {
        action.abort().unwrap();
    }
    assert_eq!(rows_of(&world.table()), upserted(&upserted(&before, &others[0]), &others[1]));
    world.assert_tidy();
}

/// Its own options say how long it may be silent: it is the one that will commit, or not.
#[test]
fn a_writer_that_beats_seldom_is_left_alone_by_the_impatient() {
    let spec = one_bucket(TableType::MergeOnRead);
    let (world, before) = base(&spec);
    let (table, clock) = world.handle();
    let seldom = [("hoodie.client.heartbeat.interval_in_ms".to_owned(), "3600000".to_owned())];
    let mut slow = Stages::new(&world, &spec, &[row("a1", "A", 5, "slow")]);
    slow.table = table.clone();
    slow.table.options = Options::parse(seldom).unwrap().with(&table.options);
    (0..3).for_each(|step| slow.step(step).unwrap());
    clock.advance(3_600_000);
    let others = [row("b1", "B", 5, "other")];
    spec.upsert(&table, &others).unwrap();
    slow.commit().unwrap();
    assert_eq!(rows_of(&world.table()), upserted(&upserted(&before, &others), &[row("a1", "A", 5, "slow")]));
    world.assert_tidy();
}

#[rstest]
fn files_of_lost_attempts_do_not_survive_the_commit(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = one_bucket(table_type);
    let (world, before) = base(&spec);
    let changes = [row("a1", "A", 5, "new"), row("c1", "C", 5, "new")];
    let mut writer = Stages::new(&world, &spec, &changes);
    (0..2).for_each(|step| writer.step(step).unwrap());
    writer.attempt(1).unwrap();
    writer.statuses = writer.attempt(2).unwrap();
    let result = writer.commit().unwrap();
    assert_eq!(result.files_added, 2);
    assert_eq!(rows_of(&world.table()), upserted(&before, &changes));
    world.assert_tidy();
}

/// A copy of a task that was given up for lost wakes up when its write has long been decided.
#[rstest]
fn a_late_attempt_publishes_nothing(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(false, true)] committed: bool,
) {
    let spec = one_bucket(table_type);
    let (world, before) = base(&spec);
    let rows = [row("a1", "A", 2, "new"), row("d1", "D", 2, "new")];
    let mut writer = Stages::new(&world, &spec, &rows);
    writer.begin().unwrap();
    writer.place().unwrap();
    writer.run().unwrap();
    let tasks = writer.tasks.clone();
    let mut after = before.clone();
    if committed {
        writer.commit().unwrap();
        after = upserted(&before, &rows);
    } else {
        writer.action.take().unwrap().abort().unwrap();
    }
    let files = world.data_files();
    for placed in tasks {
        let mine: Vec<_> = rows.iter().filter(|r| r.city == placed.partition).cloned().collect();
        let table = world.table();
        let late = placed.task.run_on(&table.storage, &table.context, 7, 1, [Ok(spec.batch(&mine))]);
        assert_eq!(late.unwrap_err().kind(), ErrorKind::CommitConflict);
    }
    assert_eq!(world.data_files(), files);
    assert_eq!(rows_of(&world.table()), after);
}

/// Another engine took a paused writer for dead; its rollback is under way when the writer wakes up.
#[test]
fn a_write_that_a_rollback_names_cannot_commit() {
    let spec = one_bucket(TableType::CopyOnWrite);
    let (world, before) = base(&spec);
    let mut writer = Stages::new(&world, &spec, &[row("a1", "A", 2, "new")]);
    writer.begin().unwrap();
    writer.place().unwrap();
    writer.run().unwrap();
    let victim = writer.time();
    rollback_cut_off_by_another_engine(&world, &later(&victim), &victim, &[]);
    assert_eq!(writer.commit().unwrap_err().kind(), ErrorKind::CommitConflict);
    assert_eq!(rows_of(&world.table()), before);
}

/// Apache Hudi rolls back what had completed, if it is asked to.
#[rstest]
fn what_a_write_builds_upon_must_not_be_taken_back_meanwhile(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = one_bucket(table_type);
    let (world, before) = base(&spec);
    let result = spec.upsert(&world.table(), &[row("a7", "A", 1, "taken back")]).unwrap();
    let mut writer = Stages::new(&world, &spec, &[row("a1", "A", 2, "new")]);
    writer.begin().unwrap();
    writer.place().unwrap();
    writer.run().unwrap();
    let victim = result.instant.unwrap();
    let files = world.files().into_keys().filter(|path| {
        path.contains(&format!("/{victim}"))
            || path.ends_with(&format!("_{victim}.parquet"))
            || path.contains(&format!("_{victim}.log."))
    });
    files.for_each(|path| assert!(world.store.delete(&path).unwrap()));
    let error = writer.commit().unwrap_err();
    assert_eq!((error.kind(), error.instant()), (ErrorKind::CommitConflict, Some(victim.as_str())));
    assert_eq!(rows_of(&world.table()), before);
    let rows = [row("a1", "A", 2, "new")];
    spec.upsert(&world.table(), &rows).unwrap();
    assert_eq!(rows_of(&world.table()), upserted(&before, &rows));
}

#[test]
fn a_pending_restore_stops_writes() {
    let spec = one_bucket(TableType::CopyOnWrite);
    let (world, before) = base(&spec);
    world.put(&format!(".hoodie/timeline/{LONG_AGO}.restore.requested"), b"");
    let error = spec.upsert(&world.table(), &[row("a1", "A", 2, "new")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    assert_eq!(rows_of(&world.table()), before);
}

#[test]
fn a_repeated_compaction_of_another_engine_keeps_its_plan() {
    let spec = one_bucket(TableType::MergeOnRead);
    let (world, _) = base(&spec);
    let timeline = ".hoodie/timeline";
    world.put(&format!("{timeline}/{LONG_AGO}.compaction.requested"), &CompactionPlan::default().encode().unwrap());
    let plan = RollbackPlan {
        instant_to_rollback: Some(InstantInfo {
            commit_time: LONG_AGO.into(),
            action: "compaction".into(),
            ..Default::default()
        }),
        rollback_requests: Some(Vec::new()),
        version: Some(1),
        ..Default::default()
    };
    let rollback = format!("{timeline}/{}.rollback.requested", later(LONG_AGO));
    world.put(&rollback, &plan.encode().unwrap());
    spec.upsert(&world.table(), &[row("a1", "A", 2, "new")]).unwrap();
    let files = world.files();
    assert!(
        files.contains_key(&rollback) && files.contains_key(&format!("{timeline}/{LONG_AGO}.compaction.requested"))
    );
}

#[rstest]
fn inserted_rows_that_are_marked_as_deleted_are_not_there(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(Operation::Insert, Operation::BulkInsert)] operation: Operation,
) {
    let spec = Spec { with_deletes: true, ..one_bucket(table_type) };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    spec.write(&table, operation, &[row("a1", "A", 1, "x"), gone("a2", "A", 1)]).unwrap();
    assert_eq!(rows_of(&table), model(&[row("a1", "A", 1, "x")]));
}

#[test]
fn a_commit_needs_one_result_of_each_of_its_tasks() {
    let spec = one_bucket(TableType::CopyOnWrite);
    let (world, before) = base(&spec);
    let changes = [row("a1", "A", 5, "new"), row("b1", "B", 5, "new")];
    let mut other = Stages::new(&world, &spec, &[row("d1", "D", 5, "new")]);
    (0..3).for_each(|step| other.step(step).unwrap());
    let spoilt: [fn(&mut Stages, &Stages); 3] = [
        |writer, _| drop(writer.statuses.pop()),
        |writer, _| writer.statuses.push(writer.statuses[0].clone()),
        |writer, other| writer.statuses.push(other.statuses[0].clone()),
    ];
    for spoil in spoilt {
        let mut writer = Stages::new(&world, &spec, &changes);
        (0..3).for_each(|step| writer.step(step).unwrap());
        spoil(&mut writer, &other);
        assert_eq!(writer.commit().unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(rows_of(&world.table()), before);
    }
    other.action.take().unwrap().abort().unwrap();
    world.assert_tidy();
}

/// Time that passes only when it is looked at, and never runs out for who waits.
#[derive(Debug)]
struct PatientClock(AtomicI64);

impl Clock for PatientClock {
    fn now_ms(&self) -> i64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    fn monotonic_ms(&self) -> i64 {
        0
    }

    fn sleep_ms(&self, _ms: u64) {
        std::thread::yield_now();
    }

    fn local_offset_ms(&self, _epoch_ms: i64) -> i64 {
        0
    }
}

const WRITERS: usize = 4;
const COMMITS: usize = 10;

#[rstest]
fn writers_on_threads_lose_nothing(
    #[values(Place::Memory, Place::Local)] place: Place,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(IndexType::Bucket, IndexType::Simple)] index: IndexType,
) {
    let spec = Spec { index, ..Spec::new(table_type) };
    let world = World::new(place);
    spec.create(&world);
    let clock: Arc<dyn Clock> = Arc::new(PatientClock(AtomicI64::new(support::START)));
    // Each write has a key of its own and one that all write; the greatest ts of that one must remain.
    let rows = |writer: usize, n: usize| {
        let own = row(&format!("w{writer}-{n}"), ["A", "B"][n % 2], 1, "own");
        [own, row("all", "A", (n * WRITERS + writer) as i64, &format!("{writer}-{n}"))]
    };
    let write = |writer: usize| -> Vec<CommitResult> {
        let context = Context { clock: Arc::clone(&clock), ids: Arc::new(SystemIds), threads: 1 };
        let mut table = world.table_in(Arc::clone(&world.store), context);
        let endless = [("hoodie.write.num.retries.on.conflict.failures".to_owned(), "1000".to_owned())];
        table.options = Options::parse(endless).unwrap().with(&table.options);
        (0..COMMITS).map(|n| spec.upsert(&table, &rows(writer, n)).unwrap()).collect()
    };
    let results: Vec<CommitResult> = std::thread::scope(|scope| {
        let write = &write;
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let all: Vec<Row> = (0..COMMITS).flat_map(|n| (0..WRITERS).flat_map(move |w| rows(w, n))).collect();
    assert_eq!(rows_of(&world.table()), model(&all));
    let table = world.table();
    // Writers archive as they go.
    let timeline = table.timeline().unwrap().with_history(table.storage.as_ref(), &table.config().unwrap()).unwrap();
    assert_eq!(timeline.commits().count(), WRITERS * COMMITS);
    assert!(results.iter().all(|r| timeline.find(r.instant.as_ref().unwrap()).unwrap().completed == r.completed));
    world.assert_tidy();
}

fn rollbacks(world: &World, timeline: &Timeline) -> Vec<RollbackMetadata> {
    let completed = timeline.completed().filter(|i| i.action == InstantAction::Rollback);
    completed.map(|i| RollbackMetadata::decode(&world.read(timeline, i.files.last().unwrap())).unwrap()).collect()
}

#[rstest]
fn a_cut_off_write_of_another_engine_is_rolled_back_with_its_files(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(false, true)] batched_markers: bool,
    #[values(Place::Memory, Place::Local)] place: Place,
) {
    let spec = one_bucket(table_type);
    let world = World::new(place);
    let first = [row("a1", "A", 1, "old")];
    spec.upsert(&spec.create(&world), &first).unwrap();
    let file = cut_off_by_another_engine(&world, LONG_AGO, batched_markers);
    assert_eq!(rows_of(&world.table()), model(&first), "a pending write shows nothing");
    let second = [row("a2", "A", 1, "new")];
    spec.upsert(&world.table(), &second).unwrap();
    assert_eq!(rows_of(&world.table()), upserted(&model(&first), &second));
    world.assert_tidy();
    let timeline = world.table().timeline().unwrap();
    assert!(timeline.find(LONG_AGO).is_none());
    let told = rollbacks(&world, &timeline);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].commits_rollback, [LONG_AGO]);
    let root = world.store.root();
    let root = root.split_once("://").map_or(root, |(_, path)| path);
    assert_eq!(told[0].partition_metadata["A"].success_delete_files, [format!("{root}/{file}")]);
    assert_eq!(told[0].total_files_deleted, 1);
}

/// Files that only the plan names go too.
#[rstest]
fn a_cut_off_rollback_of_another_engine_is_finished(#[values(Place::Memory, Place::Local)] place: Place) {
    let spec = one_bucket(TableType::CopyOnWrite);
    let world = World::new(place);
    spec.upsert(&spec.create(&world), &[row("a1", "A", 1, "old")]).unwrap();
    cut_off_by_another_engine(&world, LONG_AGO, false);
    let unmarked = format!("A/5d1b0c6e-1f7e-4c39-9d7a-3f1a2b3c4d5f-0_1-21-35_{LONG_AGO}.parquet");
    world.put(&unmarked, b"PAR1");
    rollback_cut_off_by_another_engine(&world, &later(LONG_AGO), LONG_AGO, &[&unmarked]);
    world.an_hour_goes_by();
    spec.upsert(&world.table(), &[row("a1", "A", 2, "new")]).unwrap();
    world.assert_tidy();
    let timeline = world.table().timeline().unwrap();
    assert_eq!(rollbacks(&world, &timeline)[0].commits_rollback, [LONG_AGO]);
    assert_eq!(timeline.completed().next().unwrap().requested, later(LONG_AGO), "under the instant of the plan");
}

/// hudini does not take completed writes back: half of such a rollback would leave a commit without its files.
#[test]
fn a_cut_off_rollback_of_a_completed_write_is_left_to_who_began_it() {
    let spec = one_bucket(TableType::CopyOnWrite);
    let (world, before) = base(&spec);
    let commit = world.table().timeline().unwrap().commits().next().unwrap().requested.clone();
    rollback_cut_off_by_another_engine(&world, LONG_AGO, &commit, &["A/whatever.parquet"]);
    let files = world.files();
    let error = spec.upsert(&world.table(), &[row("a1", "A", 2, "new")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}");
    assert!(world.files() == files);
    assert_eq!(rows_of(&world.table()), before);
}

#[test]
fn a_heartbeat_protects_a_write_of_another_engine_until_it_is_old() {
    let spec = one_bucket(TableType::CopyOnWrite);
    let (world, _) = base(&spec);
    let file = cut_off_by_another_engine(&world, LONG_AGO, true);
    world.put(&format!(".hoodie/.heartbeat/{LONG_AGO}"), b"");
    let (table, clock) = world.handle();
    spec.upsert(&table, &[row("b2", "B", 1, "new")]).unwrap();
    assert!(world.data_files().contains(&file));
    assert_eq!(table.timeline().unwrap().pending().map(|i| i.requested.as_str()).collect::<Vec<_>>(), [LONG_AGO]);
    // Two intervals of a minute are allowed for.
    clock.advance(180_000);
    spec.upsert(&table, &[row("b3", "B", 1, "new")]).unwrap();
    assert!(!world.data_files().contains(&file));
    world.assert_tidy();
}

/// Puts a plan for the file group of partition A on the timeline. Returns its files.
fn plan_compaction(world: &World, time: &str) -> Vec<String> {
    let table = world.table();
    let (config, snapshot) = (table.config().unwrap(), table.snapshot(None).unwrap());
    let slice = hudini_table::view::newest_slices(world.store.as_ref(), &config, &snapshot, "A").unwrap().remove(0);
    let plan = CompactionPlan {
        operations: Some(vec![CompactionOperation {
            base_instant_time: Some(slice.base_instant.clone()),
            delta_file_paths: Some(slice.logs.iter().map(|log| log.name.clone()).collect()),
            data_file_path: slice.base.as_ref().map(|base| base.name.clone()),
            file_id: Some(slice.file_id.clone()),
            partition_path: Some("A".into()),
            ..CompactionOperation::default()
        }]),
        version: Some(2),
        ..CompactionPlan::default()
    };
    let files = ["requested", "inflight"].map(|state| format!(".hoodie/timeline/{time}.compaction.{state}"));
    world.put(&files[0], &plan.encode().unwrap());
    world.put(&files[1], b"");
    files.to_vec()
}

#[test]
fn reads_and_writes_go_on_beside_a_pending_compaction() {
    let spec = one_bucket(TableType::MergeOnRead);
    let (world, mut state) = base(&spec);
    let mut upsert = |rows: &[Row]| {
        spec.upsert(&world.table(), rows).unwrap();
        state = upserted(&state, rows);
        assert_eq!(rows_of(&world.table()), state);
    };
    upsert(&[row("a1", "A", 2, "logged")]);
    let newest = world.table().timeline().unwrap().newest_time().unwrap().to_owned();
    let plan = plan_compaction(&world, &format!("{}", newest.parse::<u64>().unwrap() + 1));
    let files = world.data_files();
    upsert(&[row("a1", "A", 3, "later"), row("a3", "A", 1, "later")]);
    upsert(&[row("a2", "A", 3, "later still"), row("b1", "B", 3, "later still")]);
    assert!(files.is_subset(&world.data_files()), "nothing that the plan names is gone");
    let timeline = world.table().timeline().unwrap();
    assert_eq!(timeline.pending().map(|i| i.action).collect::<Vec<_>>(), [InstantAction::Compaction]);
    assert!(rollbacks(&world, &timeline).is_empty());
    assert!(plan.iter().all(|file| world.files().contains_key(file)));
    world.assert_no_traces();
}

/// Completes a foreign write of the file group of partition A between the steps of ours.
#[rstest]
#[case::compaction(InstantAction::Commit, true, None)]
#[case::delta_commit(InstantAction::DeltaCommit, false, Some(ErrorKind::CommitConflict))]
fn a_compaction_that_completes_meanwhile_is_no_conflict(
    #[case] action: InstantAction,
    #[case] compacted: bool,
    #[case] error: Option<ErrorKind>,
) {
    let spec = one_bucket(TableType::MergeOnRead);
    let (world, _) = base(&spec);
    let mut writer = Stages::new(&world, &spec, &[row("a1", "A", 2, "ours")]);
    (0..3).for_each(|step| writer.step(step).unwrap());
    let timeline = world.table().timeline().unwrap();
    let first = timeline.commits().next().unwrap();
    let mut metadata: CommitMetadata = timeline.commit_metadata(world.store.as_ref(), first).unwrap();
    metadata.compacted = Some(compacted);
    let mut stats: Vec<WriteStat> = metadata.write_stats().cloned().collect();
    stats.retain(|stat| stat.partition_path.as_deref() == Some("A"));
    metadata.partition_to_write_stats = Some([("A".to_owned(), stats)].into());
    let file = hudini_format::instant::InstantFile::completed(LONG_AGO, &later(&writer.time()), action);
    world.put(&format!("{}/{file}", timeline.dir), &metadata.encode().unwrap());
    assert_eq!(writer.commit().err().map(|e| e.kind()), error);
}

fn later(time: &str) -> String {
    (time.parse::<u64>().unwrap() + 1).to_string()
}

#[test]
fn a_pending_clustering_stops_writes_before_they_commit() {
    let spec = one_bucket(TableType::CopyOnWrite);
    let (world, before) = base(&spec);
    world.put(&format!(".hoodie/timeline/{LONG_AGO}.clustering.requested"), b"");
    let error = spec.upsert(&world.table(), &[row("a1", "A", 2, "new")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}");
    assert_eq!(rows_of(&world.table()), before);
    assert!(world.store.delete(&format!(".hoodie/timeline/{LONG_AGO}.clustering.requested")).unwrap());
    world.assert_tidy();
}

#[test]
fn other_actions_on_the_timeline_are_let_alone() {
    let spec = Spec { mode: MergeMode::CommitTime, ..one_bucket(TableType::MergeOnRead) };
    let (world, _) = base(&spec);
    let foreign = [
        "20260527000000001.savepoint.inflight",
        "20260527000000001_20260527000000002.savepoint",
        "20260527000000003.clean.requested",
        "20260527000000003.clean.inflight",
        "20260527000000004.indexing.requested",
        "20260527000000005.logcompaction.requested",
        "20260527000000006.savepoint.inflight",
    ];
    for name in foreign {
        world.put(&format!(".hoodie/timeline/{name}"), name.as_bytes());
    }
    let manifest = (".hoodie/timeline/history/manifest_1", &br#"{"files":[]}"#[..]);
    world.put(manifest.0, manifest.1);
    spec.upsert(&world.table(), &[row("a1", "A", 2, "new"), row("e1", "E", 2, "new")]).unwrap();
    spec.upsert(&world.table(), &[row("a1", "A", 1, "newer")]).unwrap();
    assert_eq!(rows_of(&world.table())["a1"].v, "newer");
    let files = world.files();
    assert!(foreign.iter().all(|name| files[&format!(".hoodie/timeline/{name}")] == name.as_bytes()));
    assert_eq!(files[manifest.0], manifest.1);
    world.assert_no_traces();
}

#[rstest]
#[case(&["x"], &["x/y"])]
#[case(&["x/y"], &["x"])]
#[case(&[], &["x", "x/y", "x-y"])]
fn partitions_do_not_lie_inside_each_other(#[case] there: &[&str], #[case] new: &[&str]) {
    let spec = one_bucket(TableType::CopyOnWrite);
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let rows = |cities: &[&str]| cities.iter().map(|city| row(city, city, 1, "v")).collect::<Vec<_>>();
    spec.upsert(&table, &rows(there)).unwrap();
    assert_eq!(spec.upsert(&table, &rows(new)).unwrap_err().kind(), ErrorKind::SchemaMismatch);
    assert_eq!(rows_of(&table), model(&rows(there)));
    spec.upsert(&table, &rows(&["x-y", "z/y", "z/w"])).unwrap();
}
