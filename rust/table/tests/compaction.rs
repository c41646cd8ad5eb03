//! Compaction: no row changes, whoever writes meanwhile and whatever fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use hudini_format::action::{CommitMetadata, CompactionPlan, WriteStat};
use hudini_format::instant::Action as InstantAction;
use hudini_table::bytes_form::BytesForm;
use hudini_table::context::{Context, ManualClock, SeededIds};
use hudini_table::options::{IndexType, MergeMode, Operation, Options};
use hudini_table::service::{CompactRequest, Compaction, CompactionStatus, CompactionTask, Round, compact};
use hudini_table::storage::faulty::{Call, Fault, FaultPlan};
use hudini_table::write::CommitResult;
use hudini_table::{ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::{self, Model, Place, Scene, Spec, Stages, World, gone, model, row, rows_of, scanned, upserted};

fn options(given: &[(&str, &str)]) -> Options {
    Options::parse(given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))).unwrap()
}

fn compact_all(table: &Table) -> Result<CommitResult> {
    compact(table, CompactRequest::default())
}

fn only(schedule: bool, execute: bool) -> CompactRequest {
    CompactRequest { schedule, execute, ..CompactRequest::default() }
}

fn schedule(table: &Table) -> Option<String> {
    compact(table, only(true, false)).unwrap().instant
}

fn begin(table: &Table) -> Option<Compaction> {
    Round::new(table, only(false, true)).begin_next().unwrap()
}

fn run(table: &Table, compaction: &Compaction, attempt: u32) -> Result<Vec<CompactionStatus>> {
    compaction.tasks().iter().map(|task| task.run_on(&table.storage, &table.context, attempt, 1)).collect()
}

/// No slice has logs.
fn assert_compacted(table: &Table) {
    let slices = hudini_table::inspect::slices(table, None, None).unwrap();
    assert!(slices.iter().all(|slice| slice.logs.is_empty()), "{slices:?}");
}

fn spec() -> Spec {
    Spec { with_deletes: true, buckets: 1, ..Spec::mor() }
}

/// Two partitions with logs, a third without: updates, late ones, inserts, and deletes that matter or come too late.
fn logged(place: Place, spec: &Spec) -> (World, Model) {
    logged_in(World::new(place), spec, &[])
}

/// The same by writes with these options.
fn logged_in(world: World, spec: &Spec, given: &[(&str, &str)]) -> (World, Model) {
    let mut table = spec.create(&world);
    table.options = options(given).with(&table.options);
    let first: Vec<_> = (0..40)
        .map(|n| row(&format!("a{n}"), "A", 5, "old"))
        .chain([row("b1", "B", 5, "old"), row("c1", "C", 5, "old")])
        .collect();
    let second =
        [row("a1", "A", 7, "new"), row("a2", "A", 4, "late"), row("a90", "A", 1, "insert"), gone("b1", "B", 9)];
    let third = [gone("a3", "A", 9), gone("a4", "A", 1), row("a1", "A", 7, "newest"), row("b2", "B", 1, "insert")];
    let mut state = Model::new();
    for rows in [&first[..], &second, &third] {
        spec.upsert(&table, rows).unwrap();
        state = upserted(&state, rows);
    }
    assert_eq!(rows_of(&table), state);
    (world, state)
}

fn commit_of(world: &World, instant: &str) -> CommitMetadata {
    let timeline = world.table().timeline().unwrap();
    let found = timeline.find(instant).unwrap();
    timeline.commit_metadata(world.store.as_ref(), found).unwrap()
}

#[rstest]
fn rows_and_their_order_stay(#[values(1, 2, 5)] buckets: u32, #[values(true, false)] partitioned: bool) {
    let spec = Spec { buckets, partitioned, ..spec() };
    let (world, state) = logged(Place::Memory, &spec);
    let before = scanned(&world.table(), 3).unwrap();
    let result = compact_all(&world.table()).unwrap();
    assert!(result.instant.is_some());
    assert_eq!((result.operation, result.action), ("compact", Some("commit")));
    assert_eq!(scanned(&world.table(), 8192).unwrap(), before);
    assert_eq!(rows_of(&world.table()), state);
    assert_compacted(&world.table());
    world.assert_tidy();

    let more = [row("a1", "A", 8, "after"), row("b1", "B", 1, "again"), row("d1", "D", 1, "first")];
    spec.upsert(&world.table(), &more).unwrap();
    let state = upserted(&state, &more);
    assert_eq!(rows_of(&world.table()), state);
    compact_all(&world.table()).unwrap();
    assert_eq!(rows_of(&world.table()), state);
    world.assert_tidy();
}

#[test]
fn by_commit_time_the_later_row_stays() {
    let spec = Spec { mode: MergeMode::CommitTime, ordering: Vec::new(), buckets: 1, ..Spec::mor() };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    for (ts, v) in [(5, "one"), (3, "two"), (4, "three")] {
        spec.upsert(&table, &[row("a1", "A", ts, v), row(v, "A", ts, v)]).unwrap();
    }
    spec.write(&table, Operation::Delete, &[row("two", "A", 0, "")]).unwrap();
    let before = rows_of(&table);
    assert_eq!((before.len(), before["a1"].v.as_str()), (3, "three"));
    compact_all(&table).unwrap();
    assert_eq!(rows_of(&table), before);
    assert_compacted(&table);
}

#[test]
fn nothing_to_compact_is_no_commit() {
    let spec = spec();
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    assert_eq!(compact_all(&table).unwrap().instant, None);
    spec.upsert(&table, &[row("a1", "A", 1, "base")]).unwrap();
    let before = world.files();
    assert_eq!(compact_all(&table).unwrap().instant, None);
    assert_eq!(world.files(), before);
}

#[test]
fn a_copy_on_write_table_is_refused() {
    let world = World::new(Place::Memory);
    let table = Spec::cow().create(&world);
    assert_eq!(compact_all(&table).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
}

/// What the plan and the commit say, as Apache Hudi says it.
#[test]
fn plan_and_commit_tell_what_was_folded() {
    let (world, _) = logged(Place::Memory, &spec());
    let before = hudini_table::inspect::slices(&world.table(), None, None).unwrap();
    let time = schedule(&world.table()).unwrap();
    let timeline = world.table().timeline().unwrap();
    let plan = CompactionPlan::decode(&world.read(&timeline, &format!("{time}.compaction.requested"))).unwrap();
    assert_eq!((plan.version, plan.preserve_hoodie_metadata), (Some(2), Some(false)));
    assert_eq!(plan.missing_schedule_partitions, Some(Vec::new()));
    let operations = plan.operations.unwrap();
    assert_eq!(operations.len(), 2);
    let folded = before.iter().find(|slice| slice.partition == "A").unwrap();
    let op = operations.iter().find(|op| op.partition_path.as_deref() == Some("A")).unwrap();
    assert_eq!(op.base_instant_time.as_ref(), Some(&folded.base_instant));
    assert_eq!(op.data_file_path.as_ref(), folded.base.as_ref().map(|base| &base.name));
    let logs: Vec<_> = folded.logs.iter().map(|log| log.name.clone()).collect();
    assert_eq!(op.delta_file_paths.as_ref(), Some(&logs));

    let result = compact_all(&world.table()).unwrap();
    assert_eq!(result.instant, Some(time.clone()));
    let names = world.names_below(&format!("{}/{time}", timeline.dir));
    assert!(names.iter().any(|name| name.ends_with(".commit")) && names.len() == 3, "{names:?}");
    assert!(world.read(&timeline, &format!("{time}.compaction.inflight")).is_empty());
    let commit = commit_of(&world, &time);
    assert_eq!((commit.compacted, commit.operation_type.as_deref()), (Some(true), Some("COMPACT")));
    assert!(commit.schema().is_some());
    let stat = commit.write_stats().find(|stat| stat.partition_path.as_deref() == Some("A")).unwrap();
    assert_eq!(stat.prev_commit.as_ref(), Some(&folded.base_instant));
    assert_eq!(stat.prev_base_file.as_ref(), folded.base.as_ref().map(|base| &base.name));
    let counts = |stat: &WriteStat| [stat.num_writes, stat.num_update_writes, stat.num_inserts, stat.num_deletes];
    assert_eq!(counts(stat), [40, 1, 1, 1].map(Some));
    // Two data blocks and a block of deletes.
    assert_eq!((stat.total_log_files_compacted, stat.total_log_blocks), (Some(2), Some(3)));
    assert_eq!(stat.total_log_records, Some(4));
    assert!(stat.total_log_size_compacted > Some(0));
}

#[test]
fn rows_keep_who_wrote_them_but_for_the_file() {
    let (world, _) = logged(Place::Memory, &spec());
    let meta = |table: &Table| -> BTreeMap<String, [String; 3]> {
        use arrow_array::cast::AsArray;
        use hudini_table::scan::{Scan, ScanRequest};
        let names = ["id", "_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name"];
        let columns = Some(names.map(str::to_owned).to_vec());
        let scan = Scan::plan(table, ScanRequest { columns, ..ScanRequest::default() }).unwrap();
        let mut found = BTreeMap::new();
        for batch in scan.read().unwrap() {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                let [id, time, number, file] =
                    [0, 1, 2, 3].map(|at| batch.column(at).as_string::<i32>().value(row).to_owned());
                found.insert(id, [time, number, file]);
            }
        }
        found
    };
    let before = meta(&world.table());
    let time = compact_all(&world.table()).unwrap().instant.unwrap();
    let after = meta(&world.table());
    assert_eq!(before.len(), after.len());
    for (id, [commit, number, file]) in &after {
        assert_eq!((commit, number), (&before[id][0], &before[id][1]), "{id}");
        if !id.starts_with('c') {
            assert!(file.ends_with(&format!("_{time}.parquet")), "{file}");
        }
    }
}

/// Neither threads, nor the limit of memory, nor the way of the task to its worker shows in what is written.
#[test]
fn the_files_are_the_same_whoever_writes_them() {
    let spec = Spec { buckets: 3, ..spec() };
    let (world, _) = logged(Place::Memory, &spec);
    let long = "v".repeat(2000);
    let rows: Vec<_> = (0..60).map(|n| row(&format!("a{n}"), "A", 9, &long)).collect();
    spec.upsert(&world.table(), &rows).unwrap();
    let outcome = |threads: usize, memory: &str, as_bytes: bool| {
        let world = world.copy();
        let clock = Arc::new(ManualClock::ticking(support::START + 100_000));
        let context = Context { clock, ids: Arc::new(SeededIds::new(1)), threads };
        let mut table = world.table_in(Arc::clone(&world.store), context);
        table.options = options(&[("hoodie.memory.merge.max.size", memory)]).with(&table.options);
        schedule(&table).unwrap();
        if as_bytes {
            let compaction = begin(&table).unwrap();
            let travelled = |task: &CompactionTask| CompactionTask::from_bytes(&task.to_bytes().unwrap()).unwrap();
            let statuses = compaction.tasks().iter().map(travelled);
            let statuses = statuses.map(|task| task.run_on(&table.storage, &table.context, 0, 1).unwrap());
            let statuses = statuses.map(|status| CompactionStatus::from_bytes(&status.to_bytes().unwrap()).unwrap());
            let statuses = statuses.collect();
            compaction.commit(statuses).unwrap();
        } else {
            compact(&table, only(false, true)).unwrap();
        }
        assert_compacted(&table);
        let is_data = |path: &String| path.ends_with(".parquet") && !path.starts_with(".hoodie");
        let files: BTreeMap<_, _> = world.files().into_iter().filter(|(path, _)| is_data(path)).collect();
        assert!(files.len() > 4);
        files
    };
    let plain = outcome(1, "1000000", false);
    assert_eq!(outcome(4, "1000000", false), plain, "on threads");
    assert_eq!(outcome(1, "30000", false), plain, "from disk");
    assert_eq!(outcome(1, "1000000", true), plain, "as bytes");
}

#[test]
fn partitions_can_be_chosen() {
    let (world, state) = logged(Place::Memory, &spec());
    let where_ = |filter: &str| CompactRequest { filter: Some(filter.to_owned()), ..CompactRequest::default() };
    let e = compact(&world.table(), where_("ts > 5")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidOption, "{e}");
    assert_eq!(compact(&world.table(), where_("city = 'C'")).unwrap().instant, None);
    let time = compact(&world.table(), where_("city = 'B'")).unwrap().instant.unwrap();
    let commit = commit_of(&world, &time);
    assert_eq!(commit.write_stats().filter_map(|s| s.partition_path.as_deref()).collect::<Vec<_>>(), ["B"]);
    assert_eq!(rows_of(&world.table()), state);
}

#[test]
fn what_is_planned_is_not_planned_again() {
    let spec = spec();
    let (world, state) = logged(Place::Memory, &spec);
    let first = schedule(&world.table()).unwrap();
    assert_eq!(schedule(&world.table()), None);
    let more = [row("a1", "A", 8, "on top"), row("c1", "C", 8, "logged now")];
    spec.upsert(&world.table(), &more).unwrap();
    let state = upserted(&state, &more);
    assert_eq!(rows_of(&world.table()), state);
    let second = schedule(&world.table()).unwrap();
    assert!(second > first);
    // Both are done, and the logs on top of the first make a third.
    let result = compact_all(&world.table()).unwrap();
    assert!(result.instant.unwrap() > second);
    assert_eq!(rows_of(&world.table()), state);
    assert_compacted(&world.table());
    world.assert_tidy();
}

#[test]
fn a_plan_that_misses_a_log_is_not_executed() {
    let spec = spec();
    let (world, state) = logged(Place::Memory, &spec);
    let time = schedule(&world.table()).unwrap();
    let dir = world.table().timeline().unwrap().dir;
    let path = format!("{dir}/{time}.compaction.requested");
    let mut plan = CompactionPlan::decode(&world.store.read(&path).unwrap().unwrap()).unwrap();
    plan.operations.as_mut().unwrap()[0].delta_file_paths.as_mut().unwrap().pop();
    world.store.replace(&path, &plan.encode().unwrap()).unwrap();
    let e = compact(&world.table(), only(false, true)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptFile, "{e}");
    assert_eq!(rows_of(&world.table()), state);
}

/// Steps of a compaction, as an engine takes them.
struct Steps {
    table: Table,
    compaction: Option<Compaction>,
    statuses: Vec<CompactionStatus>,
}

impl Steps {
    fn step(&mut self, number: usize) {
        match number {
            0 => assert!(schedule(&self.table).is_some()),
            1 => self.compaction = begin(&self.table),
            2 => self.statuses = run(&self.table, self.compaction.as_ref().unwrap(), 0).unwrap(),
            _ => drop(self.compaction.take().unwrap().commit(std::mem::take(&mut self.statuses)).unwrap()),
        }
    }
}

/// In every order: a compaction and a write that logs to the same file groups, to others, and founds one.
#[test]
fn a_writer_and_a_compaction_do_not_wait_for_each_other() {
    let spec = spec();
    let (base, before) = logged(Place::Memory, &spec);
    let rows = [
        row("a1", "A", 8, "meanwhile"),
        gone("a5", "A", 8),
        row("b9", "B", 8, "n"),
        row("c1", "C", 8, "n"),
        row("d1", "D", 1, "n"),
    ];
    let after = upserted(&before, &rows);
    for bits in (0..1_u32 << 8).filter(|bits| bits.count_ones() == 4) {
        let _scene = Scene(format!("{bits:08b}"));
        let world = base.copy();
        let mut writer = Stages::new(&world, &spec, &rows);
        let mut steps = Steps { table: world.table(), compaction: None, statuses: Vec::new() };
        let (mut written, mut compacted) = (0, 0);
        for at in 0..8 {
            if bits >> at & 1 == 1 {
                writer.step(written).unwrap();
                written += 1;
            } else {
                steps.step(compacted);
                compacted += 1;
            }
            let expected = if written == 4 { &after } else { &before };
            assert_eq!(&rows_of(&world.table()), expected);
        }
        world.assert_tidy();
        compact_all(&world.table()).unwrap();
        assert_eq!(rows_of(&world.table()), after);
        assert_compacted(&world.table());
        world.assert_tidy();
    }
}

#[test]
fn of_two_executors_one_has_the_plan() {
    let (world, state) = logged(Place::Memory, &spec());
    schedule(&world.table()).unwrap();
    let (first, second) = (world.table(), world.table());
    let compaction = begin(&first).unwrap();
    assert!(begin(&second).is_none(), "somebody is at it");
    assert_eq!(compact_all(&second).unwrap().instant, None);
    let statuses = run(&first, &compaction, 0).unwrap();
    compaction.commit(statuses).unwrap();
    assert_eq!(rows_of(&second), state);
    world.assert_tidy();
}

/// Its process was stopped for longer than a heartbeat may be silent. Then it goes on, beside the one that has the plan now.
#[test]
fn of_a_silent_executor_the_plan_is_taken_over() {
    let (world, state) = logged(Place::Memory, &spec());
    schedule(&world.table()).unwrap();
    let (table, clock) = world.handle();
    let silent = begin(&table).unwrap();
    let statuses = run(&table, &silent, 0).unwrap();
    assert!(begin(&table).is_none(), "it lives");
    clock.advance(3_600_000);
    let second = begin(&table).unwrap();
    let again = run(&table, &second, 0).unwrap();
    let late: Vec<CompactionTask> = silent.tasks().to_vec();
    assert_eq!(silent.commit(statuses).unwrap_err().kind(), ErrorKind::CommitConflict);
    for task in &late {
        drop(task.run_on(&table.storage, &table.context, 7, 1));
    }
    second.commit(again).unwrap();
    assert_eq!(rows_of(&world.table()), state);
    assert_compacted(&world.table());
    world.assert_tidy();
}

/// What another one made of the plan, in files of the same names, is even archived when the silent one gives up.
#[test]
fn a_silent_executor_takes_nothing_from_a_plan_that_was_done_and_archived() {
    let spec = spec();
    let (world, state) = logged(Place::Memory, &spec);
    let time = schedule(&world.table()).unwrap();
    let (table, clock) = world.handle();
    let silent = begin(&table).unwrap();
    clock.advance(3_600_000);
    let done = compact_all(&table).unwrap();
    assert_eq!(done.instant.as_deref(), Some(time.as_str()));
    let files: Vec<String> = world.data_files().into_iter().filter(|file| file.contains(&time)).collect();
    assert!(!files.is_empty());
    let more: Vec<_> = (0..8).map(|n| row("z1", "Z", n, "more")).collect();
    for rows in more.chunks(1) {
        spec.upsert(&table, rows).unwrap();
    }
    let few = [("keep.min.commits", "2"), ("keep.max.commits", "3"), ("clean.commits.retained", "1")];
    let few = Options::parse(few.map(|(key, value)| (format!("hoodie.{key}"), value.to_owned()))).unwrap();
    hudini_table::service::archive(&table, &few).unwrap();
    assert!(world.table().timeline().unwrap().find(&time).is_none());
    // As a task leaves it that fails while it writes.
    for file in &files {
        world.put(&format!(".hoodie/.temp/{time}/{file}.marker.CREATE"), b"");
    }
    silent.abort().unwrap();
    assert!(files.iter().all(|file| world.data_files().contains(file)));
    assert_eq!(rows_of(&world.table()), upserted(&state, &more));
    world.assert_tidy();
}

/// A worker that was given up for lost wakes up when the plan is being done again.
#[test]
fn a_late_attempt_publishes_nothing() {
    let (world, state) = logged(Place::Memory, &spec());
    schedule(&world.table()).unwrap();
    let (first, second) = (world.table(), world.table());
    let lost = begin(&first).unwrap();
    let late: Vec<CompactionTask> = lost.tasks().to_vec();
    lost.abort().unwrap();
    let again = begin(&second).unwrap();
    for task in &late {
        // Its marker went with the rollback; it makes a new one, and the commit removes what that names.
        drop(task.run_on(&first.storage, &first.context, 7, 1));
    }
    let statuses = run(&second, &again, 0).unwrap();
    again.commit(statuses).unwrap();
    for task in &late {
        assert_eq!(task.run_on(&first.storage, &first.context, 9, 1).unwrap_err().kind(), ErrorKind::CommitConflict);
    }
    assert_eq!(rows_of(&world.table()), state);
    assert_compacted(&world.table());
}

#[test]
fn results_that_are_missing_or_come_twice_are_refused_and_the_plan_stays() {
    let (world, state) = logged(Place::Memory, &spec());
    let time = schedule(&world.table()).unwrap();
    for wrong in [0, 1] {
        let table = world.table();
        let compaction = begin(&table).unwrap();
        let mut statuses = run(&table, &compaction, 0).unwrap();
        if wrong == 0 {
            statuses.pop();
        } else {
            statuses.push(statuses[0].clone());
        }
        compaction.commit(statuses).unwrap_err();
        let timeline = world.table().timeline().unwrap();
        assert_eq!(timeline.find(&time).unwrap().files, [format!("{time}.compaction.requested")]);
        world.assert_no_traces();
        assert_eq!(rows_of(&world.table()), state);
    }
    assert_eq!(compact_all(&world.table()).unwrap().instant, Some(time));
    assert_eq!(rows_of(&world.table()), state);
    world.assert_tidy();
}

const ALL: &[Fault] = &[Fault::Fail, Fault::FailAfter, Fault::Torn, Fault::Kill];
const BREAKS: &[Fault] = &[Fault::Kill, Fault::Torn];

/// After a failure at any call: readable, nothing lost, a writer goes on, and the next compaction does all that is due.
fn sweep(spec: &Spec, base: &World, state: &Model, act: &dyn Fn(&Table) -> Result<CommitResult>, faults: &[Fault]) {
    let trial = base.copy();
    let (table, faulty) = trial.faulty(FaultPlan::none());
    act(&table).unwrap();
    let calls: Vec<Call> = faulty.log();
    assert!(calls.len() > 20);
    let changes = |call: &Call| !["head", "read", "submit", "wait", "list", "still_held"].contains(&call.op);
    for call in calls {
        for fault in faults.iter().filter(|fault| **fault == Fault::Fail || **fault == Fault::Kill || changes(&call)) {
            let _scene = Scene(format!("{fault:?} at call {} ({} {})", call.n, call.op, call.path));
            let world = base.copy();
            let (table, faulty) = world.faulty(FaultPlan::none().at(call.n, *fault));
            let outcome = act(&table);
            assert!(faulty.calls() >= call.n, "the call was not reached");
            drop((table, faulty));
            assert_eq!(&rows_of(&world.table()), state, "{outcome:?}");
            world.assert_undamaged();
            let next = [row("a1", "A", 100, "next"), row("b7", "B", 1, "next"), row("e1", "E", 1, "next")];
            spec.upsert(&world.table(), &next).unwrap();
            let state = upserted(state, &next);
            assert_eq!(rows_of(&world.table()), state);
            compact_all(&world.table()).unwrap();
            assert_eq!(rows_of(&world.table()), state);
            assert_compacted(&world.table());
            world.assert_tidy();
            world.assert_sound();
        }
    }
}

#[rstest]
#[case::in_memory(World::new(Place::Memory), spec(), &[], ALL)]
#[case::on_a_disk(World::new(Place::Local), spec(), &[], BREAKS)]
// Half a file of a metadata table stays beside the place of the whole one; it has no markers.
#[case::with_a_metadata_table(World::keeping_metadata(Place::Memory), spec(), &[], &[Fault::Kill, Fault::FailAfter])]
#[case::of_version_8(World::keeping_metadata(Place::Memory), Spec { version: 8, ..spec() }, &[], &[Fault::Kill])]
#[case::with_a_record_index(
    World::keeping_metadata(Place::Memory),
    Spec { index: IndexType::Simple, ..spec() },
    &[("hoodie.index.type", "RECORD_INDEX"), ("hoodie.metadata.record.index.enable", "true")],
    &[Fault::Kill]
)]
fn a_compaction_fails_at_every_call(
    #[case] world: World,
    #[case] spec: Spec,
    #[case] given: &[(&str, &str)],
    #[case] faults: &[Fault],
) {
    let (world, state) = logged_in(world, &spec, given);
    sweep(&spec, &world, &state, &compact_all, faults);
}

/// A compaction that was killed in the moment of completion is taken up by the next, and that one fails too.
#[test]
fn a_second_attempt_fails_at_every_call() {
    let spec = spec();
    let (world, state) = logged(Place::Memory, &spec);
    let trial = world.copy();
    let (table, faulty) = trial.faulty(FaultPlan::none());
    compact_all(&table).unwrap();
    let completes = |call: &&Call| call.op == "create" && call.path.ends_with(".commit");
    let n = faulty.log().iter().find(completes).unwrap().n;
    let (table, _) = world.faulty(FaultPlan::none().at(n, Fault::Kill));
    compact_all(&table).unwrap_err();
    drop(table);
    assert!(world.table().timeline().unwrap().pending().any(|i| i.action == InstantAction::Compaction));
    sweep(&spec, &world, &state, &compact_all, ALL);
}

/// Writes with these options; the actions of the timeline after each.
fn actions_after_writes(given: &[(&str, &str)], writes: usize) -> (World, Vec<String>) {
    let spec = Spec { buckets: 1, ..Spec::mor() };
    let world = World::new(Place::Memory);
    let mut table = spec.create(&world);
    table.options = options(given).with(&table.options);
    let mut state = Model::new();
    for n in 0..writes {
        let rows = [row("a1", "A", n as i64, "v"), row(&format!("n{n}"), "A", 1, "v")];
        let result = spec.upsert(&table, &rows).unwrap();
        assert_eq!(result.warnings, [""; 0]);
        state = upserted(&state, &rows);
        assert_eq!(rows_of(&world.table()), state);
    }
    let timeline = world.table().timeline().unwrap();
    let actions = timeline.instants.iter().map(|i| i.action.name().to_owned()).collect();
    (world, actions)
}

#[test]
fn after_a_write_a_due_compaction_follows() {
    let inline = [("hoodie.compact.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "2")];
    let (world, actions) = actions_after_writes(&inline, 5);
    let (delta, compaction) = ("deltacommit", "commit");
    assert_eq!(actions, [delta, delta, compaction, delta, delta, compaction, delta]);
    world.assert_tidy();

    let (_, actions) = actions_after_writes(&[], 7);
    assert_eq!(actions, ["deltacommit"; 7]);
}

#[test]
fn after_a_write_a_due_compaction_may_only_be_planned() {
    let inline = [("hoodie.compact.schedule.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "2")];
    let (world, actions) = actions_after_writes(&inline, 5);
    assert_eq!(actions, ["deltacommit", "deltacommit", "compaction", "deltacommit", "deltacommit", "deltacommit"]);
    compact_all(&world.table()).unwrap();
    assert_compacted(&world.table());
    world.assert_tidy();
}

/// Apache Hudi's compactions give no sign of life: one that runs must not be taken over by each write that comes along.
#[test]
fn after_a_write_a_compaction_that_others_began_is_left_alone_for_an_hour() {
    let spec = Spec { buckets: 1, ..Spec::mor() };
    let world = World::new(Place::Memory);
    let mut state = Model::new();
    let table = spec.create(&world);
    let mut write = |table: &Table, ts: i64| {
        let rows = [row("a1", "A", ts, "v")];
        assert_eq!(spec.upsert(table, &rows).unwrap().warnings, [""; 0]);
        state = upserted(&state, &rows);
        assert_eq!(rows_of(&world.table()), state);
    };
    (0..3).for_each(|ts| write(&table, ts));
    let theirs = schedule(&table).unwrap();
    let inflight = format!(".hoodie/timeline/{theirs}.compaction.inflight");
    let is_pending = || world.table().timeline().unwrap().find(&theirs).is_some_and(|i| !i.is_completed());
    world.put(&inflight, b"");
    let began = world.store.head(&inflight).unwrap().unwrap().modified_ms;
    let inline = options(&[("hoodie.compact.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "1")]);
    for (minutes, waits) in [(1, true), (59, true), (62, false)] {
        let (mut table, clock) = world.handle();
        clock.set(began + minutes * 60_000);
        table.options = inline.clone().with(&table.options);
        write(&table, minutes);
        assert_eq!(is_pending(), waits, "after {minutes} minutes");
    }
    world.assert_tidy();

    let (world, _) = logged(Place::Memory, &Spec { with_deletes: true, ..spec });
    let theirs = schedule(&world.table()).unwrap();
    world.put(&format!(".hoodie/timeline/{theirs}.compaction.inflight"), b"");
    compact_all(&world.table()).unwrap();
    assert_compacted(&world.table());
}

/// The write is done when its compaction fails.
#[test]
fn a_failed_compaction_after_a_write_is_a_warning() {
    let spec = Spec { buckets: 1, ..Spec::mor() };
    let base = World::new(Place::Memory);
    let first = [row("a1", "A", 1, "base")];
    spec.upsert(&spec.create(&base), &first).unwrap();
    let inline = [("hoodie.compact.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "1")];
    let second = [row("a1", "A", 2, "log")];
    let write = |world: &World, plan: FaultPlan| {
        let (mut table, faulty) = world.faulty(plan);
        table.options = options(&inline).with(&table.options);
        (spec.upsert(&table, &second), faulty)
    };
    let (_, faulty) = write(&base.copy(), FaultPlan::none());
    let plans = |call: &&Call| call.op == "create" && call.path.ends_with(".compaction.inflight");
    let n = faulty.log().iter().find(plans).unwrap().n;
    let world = base.copy();
    let (result, _) = write(&world, FaultPlan::none().at(n, Fault::Fail));
    let result = result.unwrap();
    assert!(result.instant.is_some() && result.warnings.len() == 1, "{result:?}");
    assert_eq!(rows_of(&world.table()), upserted(&model(&first), &second));
    compact_all(&world.table()).unwrap();
    world.assert_tidy();
}
