//! Every storage call of a write fails once, in every way: the table stays readable, nothing that was committed is lost,
//! and the next writer goes on at once and leaves nothing of the failed write behind.

use hudini_format::properties::Properties;
use hudini_table::config::{self, keys, read_properties};
use hudini_table::options::{IndexType, Operation, Options, TableType};
use hudini_table::storage::faulty::{Call, Fault, FaultPlan};
use hudini_table::write::{self, CommitResult, WriteRequest};
use hudini_table::{ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::{
    Model, Place, Row, Scene, Spec, World, cut_off_by_another_engine, gone, model, rollback_cut_off_by_another_engine,
    row, rows_of, upserted,
};

/// More than any recovery needs, and much less than a silent writer is waited for.
const AT_ONCE_MS: i64 = 5_000;

const ALL: &[Fault] = &[Fault::Fail, Fault::FailAfter, Fault::Torn, Fault::Short, Fault::Kill];
/// What can leave most behind.
const BREAKS: &[Fault] = &[Fault::Kill, Fault::Torn];
const LOST: &[Fault] = &[Fault::Kill, Fault::FailAfter];

/// A table, and one write that fails.
struct Case<'a> {
    spec: &'a Spec,
    /// The table that the write finds.
    world: &'a World,
    act: &'a dyn Fn(&Table) -> Result<CommitResult>,
    before: &'a Model,
    after: &'a Model,
    /// What else must hold after the failure; told whether the write committed.
    also: &'a dyn Fn(&World, bool),
    /// Whether the table that the write finds is damaged.
    damaged: bool,
}

impl<'a> Case<'a> {
    fn new(
        spec: &'a Spec,
        world: &'a World,
        act: &'a dyn Fn(&Table) -> Result<CommitResult>,
        before: &'a Model,
        after: &'a Model,
    ) -> Self {
        Self { spec, world, act, before, after, also: &|_, _| {}, damaged: false }
    }

    fn sweep(&self, faults: &[Fault]) {
        self.sweep_calls(&self.calls(), &FaultPlan::none(), faults);
    }

    /// One more fault at each of the calls.
    fn sweep_calls(&self, calls: &[Call], plan: &FaultPlan, faults: &[Fault]) {
        let commits = commits(self.world);
        for call in calls {
            for fault in faults.iter().filter(|fault| tells_more(call, **fault)) {
                let _scene = Scene(format!("{fault:?} at call {} ({} {})", call.n, call.op, call.path));
                let world = self.world.copy();
                let (table, faulty) = world.faulty(plan.clone().at(call.n, *fault));
                let outcome = (self.act)(&table);
                assert!(faulty.calls() >= call.n, "the call was not reached");
                // The process ends, and its locks with it.
                drop((table, faulty));
                self.check(&world, &outcome, commits);
            }
        }
    }

    /// A write that fails at the call, and then fails again while it cleans up.
    fn sweep_cleanup(&self, failing: &Call, faults: &[Fault]) {
        let _scene = Scene(format!("after a failure at call {} ({} {})", failing.n, failing.op, failing.path));
        let plan = FaultPlan::none().at(failing.n, Fault::Fail);
        let world = self.world.copy();
        let (table, faulty) = world.faulty(plan.clone());
        (self.act)(&table).unwrap_err();
        world.assert_tidy();
        let cleanup: Vec<Call> = faulty.log().into_iter().filter(|call| call.n > failing.n).collect();
        assert!(cleanup.len() > 10, "the write cleans up by itself");
        self.sweep_calls(&cleanup, &plan, faults);
    }

    /// The calls of the write when nothing fails.
    fn calls(&self) -> Vec<Call> {
        let world = self.world.copy();
        let (table, faulty) = world.faulty(FaultPlan::none());
        (self.act)(&table).unwrap();
        assert_eq!(&rows_of(&world.table()), self.after);
        world.assert_tidy();
        faulty.log()
    }

    fn check(&self, world: &World, outcome: &Result<CommitResult>, commits_before: usize) {
        let committed = commits(world) > commits_before;
        assert!(committed || outcome.is_err(), "reported as done, and not there");
        let state = if committed { self.after } else { self.before };
        assert_eq!(&rows_of(&world.table()), state, "committed: {committed}, {outcome:?}");
        if !self.damaged {
            world.assert_undamaged();
        }
        (self.also)(world, committed);

        let next = [("a1", "A", 100), ("a9", "A", 1), ("b1", "B", 100), ("c9", "C", 1)];
        let next = next.map(|(id, city, ts)| row(id, city, ts, "next"));
        let (table, clock) = world.handle();
        self.spec.upsert(&table, &next).unwrap();
        assert!(hudini_table::context::Clock::monotonic_ms(&*clock) < AT_ONCE_MS, "the next writer had to wait");
        assert_eq!(rows_of(&world.table()), upserted(state, &next));
        world.assert_tidy();
        world.assert_sound();
    }
}

fn commits(world: &World) -> usize {
    world.table().timeline().unwrap().commits().count()
}

/// `Torn` and `Short` are `Fail` but for writes and reads, and so is `FailAfter` where nothing is changed.
fn tells_more(call: &Call, fault: Fault) -> bool {
    let reads = ["head", "read", "submit", "wait", "list", "still_held"].contains(&call.op);
    let writes_whole = ["create", "replace", "put_if_match", "write", "close"].contains(&call.op);
    match fault {
        Fault::Fail | Fault::Kill => true,
        Fault::FailAfter => !reads,
        Fault::Torn => writes_whole,
        Fault::Short => ["read", "wait"].contains(&call.op),
    }
}

fn spec(table_type: TableType, with_deletes: bool) -> Spec {
    Spec { with_deletes, buckets: 1, ..Spec::new(table_type) }
}

fn first_rows() -> Vec<Row> {
    ["a1", "a2", "a3"]
        .iter()
        .map(|id| row(id, "A", 5, "old"))
        .chain([row("b1", "B", 5, "old"), row("b2", "B", 5, "old")])
        .collect()
}

/// Two partitions, written twice.
fn written(place: Place, spec: &Spec) -> (World, Model) {
    let world = World::new(place);
    let table = spec.create(&world);
    let second = [row("a2", "A", 6, "newer")];
    spec.upsert(&table, &first_rows()).unwrap();
    spec.upsert(&table, &second).unwrap();
    let state = upserted(&model(&first_rows()), &second);
    assert_eq!(rows_of(&table), state);
    (world, state)
}

/// Updates, one of them too late; an insert; a new partition; a delete if rows can ask for one.
fn changes(spec: &Spec) -> Vec<Row> {
    let mut rows = vec![
        row("a1", "A", 7, "new"),
        row("a2", "A", 4, "late"),
        row("a4", "A", 7, "new"),
        row("b2", "B", 5, "new"),
        row("c1", "C", 7, "new"),
    ];
    if spec.with_deletes {
        rows.push(gone("a3", "A", 9));
    }
    rows
}

fn upsert_case(place: Place, table_type: TableType, with_deletes: bool, faults: &[Fault]) {
    upsert_into(place, &spec(table_type, with_deletes), faults);
}

fn upsert_into(place: Place, spec: &Spec, faults: &[Fault]) {
    let (world, before) = written(place, spec);
    let changes = changes(spec);
    let after = upserted(&before, &changes);
    let act = |table: &Table| spec.upsert(table, &changes);
    Case::new(spec, &world, &act, &before, &after).sweep(faults);
}

#[rstest]
fn an_upsert_fails_at_every_call(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    upsert_case(Place::Memory, table_type, true, ALL);
}

#[rstest]
fn an_upsert_of_a_table_of_version_8_fails_at_every_call(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(false, true)] keeps_metadata: bool,
) {
    let spec = Spec { version: 8, ..spec(table_type, true) };
    let world = if keeps_metadata { World::keeping_metadata(Place::Memory) } else { World::new(Place::Memory) };
    spec.upsert(&spec.create(&world), &first_rows()).unwrap();
    let (before, changes) = (model(&first_rows()), changes(&spec));
    let after = upserted(&before, &changes);
    let act = |table: &Table| spec.upsert(table, &changes);
    Case::new(&spec, &world, &act, &before, &after).sweep(LOST);
}

/// Whoever was told of a failure would write the rows again.
#[rstest]
fn a_commit_of_which_storage_is_silent_for_a_while_is_reported_as_done(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = spec(table_type, false);
    let (world, before) = written(Place::Memory, &spec);
    let changes = changes(&spec);
    let after = upserted(&before, &changes);
    let act = |table: &Table| spec.upsert(table, &changes);
    let calls = Case::new(&spec, &world, &act, &before, &after).calls();
    let completes = |call: &&Call| call.op == "create" && call.path.ends_with("commit");
    let n = calls.iter().find(completes).unwrap().n;
    let silent = (n + 1..n + 4).fold(FaultPlan::none().at(n, Fault::FailAfter), |plan, n| plan.at(n, Fault::Fail));
    let (table, _) = world.faulty(silent);
    let result = act(&table).unwrap();
    let timeline = world.table().timeline().unwrap();
    assert_eq!(result.completed, timeline.find(&result.instant.unwrap()).unwrap().completed);
    assert_eq!(rows_of(&world.table()), after);
    drop(table);
    spec.upsert(&world.table(), &[row("a1", "A", 100, "next")]).unwrap();
    world.assert_tidy();
}

/// Whoever died with the lock file in its hand does not keep the next writer waiting.
#[rstest]
fn a_write_that_shares_its_lock_fails_at_every_call(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = spec(table_type, false);
    let world = World::sharing_lock(Place::Memory);
    spec.upsert(&spec.create(&world), &first_rows()).unwrap();
    let (before, changes) = (model(&first_rows()), changes(&spec));
    let after = upserted(&before, &changes);
    let act = |table: &Table| spec.upsert(table, &changes);
    Case::new(&spec, &world, &act, &before, &after).sweep(ALL);
}

/// The first makes the metadata table, the last compacts it before it tells of itself.
#[rstest]
#[case::made(TableType::CopyOnWrite, 0)]
#[case::compacted(TableType::CopyOnWrite, 7)]
#[case::made(TableType::MergeOnRead, 0)]
#[case::compacted(TableType::MergeOnRead, 7)]
fn a_write_that_keeps_the_metadata_table_fails_at_every_call(#[case] table_type: TableType, #[case] writes: i64) {
    let spec = spec(table_type, false);
    let world = World::keeping_metadata(Place::Memory);
    let table = spec.create(&world);
    let mut before = Model::new();
    for n in 0..writes {
        let rows = [row("a1", "A", n, "old"), row(&format!("b{n}"), "B", n, "old")];
        spec.upsert(&table, &rows).unwrap();
        before = upserted(&before, &rows);
    }
    let changes = changes(&spec);
    let after = upserted(&before, &changes);
    let act = |table: &Table| spec.upsert(table, &changes);
    let case = Case::new(&spec, &world, &act, &before, &after);
    let is_step_of_metadata = |call: &Call| call.path.contains(".hoodie/metadata") && call.op == "create";
    assert!(case.calls().iter().filter(|call| is_step_of_metadata(call)).count() > 6);
    case.sweep(LOST);
}

/// After so many writes the metadata table is cleaned and archived, behind the commit.
#[rstest]
fn the_upkeep_of_the_metadata_table_fails_at_every_call(#[values(".clean", "/history/")] step: &str) {
    let spec = spec(TableType::MergeOnRead, false);
    let world = World::keeping_metadata(Place::Memory);
    spec.create(&world);
    let own = |world: &World, part: &str| {
        world.names_below(".hoodie/metadata/.hoodie/timeline/").iter().filter(|path| path.contains(part)).count()
    };
    let mut found = None;
    let mut before = Model::new();
    for n in 0..40 {
        let rows = [row("a1", "A", n, "old"), row(&format!("b{n}"), "B", n, "old")];
        let earlier = (world.copy(), before.clone());
        spec.upsert(&world.table(), &rows).unwrap();
        before = upserted(&before, &rows);
        if own(&world, step) > own(&earlier.0, step) {
            found = Some((earlier, rows));
            break;
        }
    }
    let ((world, before), changes) = found.unwrap();
    let after = upserted(&before, &changes);
    let act = |table: &Table| spec.upsert(table, &changes);
    let case = Case::new(&spec, &world, &act, &before, &after);
    let calls = case.calls();
    let is_step = |call: &Call| call.op == "create" && call.path.contains("metadata/") && call.path.contains(step);
    case.sweep_calls(&calls[calls.iter().position(is_step).unwrap()..], &FaultPlan::none(), LOST);
}

#[rstest]
fn a_write_by_the_record_index_fails_at_every_call(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(false, true)] is_first: bool,
) {
    let spec = Spec { index: IndexType::Simple, ..spec(table_type, false) };
    let world = World::keeping_metadata(Place::Memory);
    spec.create(&world);
    let options = [("hoodie.index.type", "RECORD_INDEX")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let by_records = WriteRequest { options: Options::parse(options).unwrap(), ..WriteRequest::new(Operation::Upsert) };
    let by_records = |table: &Table, rows: &[Row]| {
        write::write(table, &spec.schema(), [Ok(spec.batch(rows))].into_iter(), &by_records)
    };
    let mut before = Model::new();
    if !is_first {
        by_records(&world.table(), &first_rows()).unwrap();
        before = model(&first_rows());
    }
    let changes = changes(&spec);
    let after = upserted(&before, &changes);
    let act = |table: &Table| if is_first { by_records(table, &changes) } else { spec.upsert(table, &changes) };
    Case::new(&spec, &world, &act, &before, &after).sweep(LOST);
}

#[rstest]
fn an_upsert_without_buckets_fails_at_every_call(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(IndexType::Simple, IndexType::Bloom)] index: IndexType,
) {
    upsert_into(Place::Memory, &Spec { index, ..spec(table_type, true) }, ALL);
}

#[rstest]
fn an_overwrite_fails_at_every_call(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(IndexType::Simple, IndexType::Bucket)] index: IndexType,
) {
    let spec = Spec { index, ..spec(table_type, false) };
    let (world, before) = written(Place::Memory, &spec);
    let rows = [row("a7", "A", 1, "only"), row("d1", "D", 1, "new")];
    let mut after = before.clone();
    after.retain(|_, row| row.city != "A");
    after = upserted(&after, &rows);
    let act = |table: &Table| spec.write(table, Operation::InsertOverwrite, &rows);
    Case::new(&spec, &world, &act, &before, &after).sweep(BREAKS);
    let mut without = before.clone();
    without.retain(|_, row| row.city != "A");
    let act = |table: &Table| {
        let partitions = vec!["A".to_owned()];
        write::delete_partitions(table, &WriteRequest { partitions, ..WriteRequest::new(Operation::DeletePartitions) })
    };
    Case::new(&spec, &world, &act, &before, &without).sweep(ALL);
}

/// What replaces, deletes and looks keys up tells the metadata table other things than an upsert of buckets.
#[rstest]
#[case::overwrite(Operation::InsertOverwrite, IndexType::Bucket)]
#[case::delete(Operation::Delete, IndexType::Bucket)]
#[case::delete_by_bloom_filters(Operation::Delete, IndexType::Bloom)]
#[case::upsert_by_bloom_filters(Operation::Upsert, IndexType::Bloom)]
fn other_writes_that_keep_the_metadata_table_fail_at_every_call(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[case] operation: Operation,
    #[case] index: IndexType,
) {
    let spec = Spec { index, ..spec(table_type, false) };
    let world = World::keeping_metadata(Place::Memory);
    spec.upsert(&spec.create(&world), &first_rows()).unwrap();
    let before = model(&first_rows());
    let rows = match operation {
        Operation::Upsert => changes(&spec),
        _ => vec![row("a1", "A", 9, "new"), row("b2", "B", 9, "new")],
    };
    let mut after = before.clone();
    match operation {
        Operation::Delete => after.retain(|id, _| id != "a1" && id != "b2"),
        Operation::InsertOverwrite => after = model(&rows),
        _ => after = upserted(&before, &rows),
    }
    let act = |table: &Table| spec.write(table, operation, &rows);
    Case::new(&spec, &world, &act, &before, &after).sweep(LOST);
}

/// A task whose log goes on in a second file and a third one.
#[rstest]
fn a_write_of_logs_that_roll_over_fails_at_every_call(#[values(Place::Memory, Place::Local)] place: Place) {
    let spec = spec(TableType::MergeOnRead, true);
    let (world, before) = written(place, &spec);
    let changes = changes(&spec);
    let after = upserted(&before, &changes);
    let limits = ["hoodie.logfile.data.block.max.size", "hoodie.logfile.max.size"];
    let options = Options::parse(limits.map(|key| (key.to_owned(), "1".to_owned()))).unwrap();
    let request = WriteRequest { options, ..WriteRequest::new(Operation::Upsert) };
    let act = |table: &Table| write::write(table, &spec.schema(), [Ok(spec.batch(&changes))].into_iter(), &request);
    let case = Case::new(&spec, &world, &act, &before, &after);
    let rolled_over = |call: &Call| call.op == "close" && call.path.contains(".log.3_");
    assert!(case.calls().iter().any(rolled_over));
    case.sweep(BREAKS);
}

#[rstest]
fn an_upsert_on_a_disk_breaks_off_at_every_call(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    upsert_case(Place::Local, table_type, false, BREAKS);
}

#[rstest]
fn a_delete_fails_at_every_call(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    let spec = spec(table_type, false);
    let (world, before) = written(Place::Memory, &spec);
    let mut after = before.clone();
    after.retain(|id, _| id != "a1" && id != "b2");
    // Its ordering value is of no account.
    let keys = [row("a1", "A", 0, ""), row("b2", "B", 0, ""), row("nobody", "D", 0, "")];
    let act = |table: &Table| spec.write(table, Operation::Delete, &keys);
    Case::new(&spec, &world, &act, &before, &after).sweep(ALL);
}

#[rstest]
fn a_failed_upsert_fails_at_every_call_of_its_cleanup(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = spec(table_type, true);
    let (world, before) = written(Place::Memory, &spec);
    let changes = changes(&spec);
    let after = upserted(&before, &changes);
    let act = |table: &Table| spec.upsert(table, &changes);
    let case = Case::new(&spec, &world, &act, &before, &after);
    let calls = case.calls();
    let publishes = calls.iter().rfind(|call| call.op == "close").unwrap();
    case.sweep_cleanup(publishes, &[Fault::Fail, Fault::FailAfter, Fault::Kill]);
}

/// A write that was killed in the moment of completion is rolled back by the next, and that one fails too.
#[rstest]
fn a_recovery_fails_at_every_call(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    let spec = spec(table_type, true);
    let (world, before) = written(Place::Memory, &spec);
    kill_at_completion(&spec, &world);
    assert!(world.data_files().len() > 4 && !world.names_below(".hoodie/.temp/").is_empty());
    let second = [row("a1", "A", 8, "second"), row("d1", "D", 1, "second")];
    let after = upserted(&before, &second);
    let act = |table: &Table| spec.upsert(table, &second);
    Case::new(&spec, &world, &act, &before, &after).sweep(ALL);
}

#[rstest]
fn a_recovery_of_another_engines_write_fails_at_every_call(#[values(false, true)] batched_markers: bool) {
    let spec = spec(TableType::CopyOnWrite, false);
    let (world, before) = written(Place::Memory, &spec);
    cut_off_by_another_engine(&world, "20260527120000000", batched_markers);
    let second = [row("b1", "B", 8, "second")];
    let after = upserted(&before, &second);
    let act = |table: &Table| spec.upsert(table, &second);
    Case::new(&spec, &world, &act, &before, &after).sweep(LOST);
}

#[test]
fn finishing_another_engines_rollback_fails_at_every_call() {
    let spec = spec(TableType::CopyOnWrite, false);
    let (world, before) = written(Place::Memory, &spec);
    let file = cut_off_by_another_engine(&world, "20260527120000000", false);
    rollback_cut_off_by_another_engine(&world, "20260527120000001", "20260527120000000", &[&file]);
    world.an_hour_goes_by();
    let second = [row("b1", "B", 8, "second")];
    let after = upserted(&before, &second);
    let act = |table: &Table| spec.upsert(table, &second);
    Case::new(&spec, &world, &act, &before, &after).sweep(LOST);
}

#[test]
fn a_recovery_on_a_disk_breaks_off_at_every_call() {
    let spec = spec(TableType::MergeOnRead, true);
    let (world, before) = written(Place::Local, &spec);
    kill_at_completion(&spec, &world);
    let second = [row("a1", "A", 8, "second")];
    let after = upserted(&before, &second);
    let act = |table: &Table| spec.upsert(table, &second);
    Case::new(&spec, &world, &act, &before, &after).sweep(BREAKS);
}

fn kill_at_completion(spec: &Spec, world: &World) {
    let changes = changes(spec);
    let trial = world.copy();
    let (table, faulty) = trial.faulty(FaultPlan::none());
    spec.upsert(&table, &changes).unwrap();
    let completes =
        |call: &&Call| call.op == "create" && (call.path.ends_with(".commit") || call.path.ends_with(".deltacommit"));
    let n = faulty.log().iter().find(completes).unwrap().n;
    let (table, _) = world.faulty(FaultPlan::none().at(n, Fault::Kill));
    spec.upsert(&table, &changes).unwrap_err();
}

#[test]
fn a_metadata_table_is_cleared_before_the_commit_or_not_at_all() {
    let spec = spec(TableType::CopyOnWrite, false);
    let (world, before) = written(Place::Memory, &spec);
    let mut properties = read_properties(world.store.as_ref()).unwrap();
    properties.set(keys::METADATA_PARTITIONS, "files");
    world.store.replace(".hoodie/hoodie.properties", &properties.to_bytes("test", "test")).unwrap();
    world.put(".hoodie/metadata/x", b"metadata");
    let listed = |world: &World| !world.table().config().unwrap().metadata_partitions().is_empty();
    assert!(listed(&world));

    let others = |world: &World| {
        let mut properties = read_properties(world.store.as_ref()).unwrap();
        properties.remove(keys::METADATA_PARTITIONS);
        properties
    };
    let kept: Properties = others(&world);
    let changes = [row("a1", "A", 7, "new"), row("c1", "C", 7, "new")];
    let after = upserted(&before, &changes);
    let act = |table: &Table| spec.upsert(table, &changes);
    let also = |world: &World, committed: bool| {
        assert!(!(listed(world) && committed), "committed, and readers trust the old metadata table");
        assert!(
            listed(world) == world.files().contains_key(".hoodie/metadata/x") || !listed(world),
            "listed, and gone"
        );
        assert_eq!(others(world), kept, "other properties");
    };
    Case { also: &also, damaged: true, ..Case::new(&spec, &world, &act, &before, &after) }.sweep(ALL);
    act(&world.table()).unwrap();
    assert!(!listed(&world));
    assert_eq!(world.names_below(".hoodie/metadata/"), [""; 0]);
    assert_eq!(world.names_below(".hoodie/hoodie.properties"), [".hoodie/hoodie.properties"]);
}

#[rstest]
#[case(Place::Memory, ALL)]
#[case(Place::Local, BREAKS)]
fn creating_a_table_fails_at_every_call(#[case] place: Place, #[case] faults: &[Fault]) {
    let spec = spec(TableType::MergeOnRead, false);
    let create = |table: &Table| config::create(table.storage.as_ref(), &table.context, &spec.new_table());
    let whole = World::new(place);
    let (table, faulty) = whole.faulty(FaultPlan::none());
    assert!(create(&table).unwrap());
    let calls = faulty.log();
    let wanted = read_properties(whole.store.as_ref()).unwrap();
    for call in calls {
        for fault in faults.iter().filter(|fault| tells_more(&call, **fault)) {
            let _scene = Scene(format!("{fault:?} at call {} ({} {})", call.n, call.op, call.path));
            let world = World::new(place);
            let (table, faulty) = world.faulty(FaultPlan::none().at(call.n, *fault));
            create(&table).unwrap_err();
            drop((table, faulty));
            let table = world.table();
            let there = match read_properties(world.store.as_ref()) {
                Ok(properties) => properties == wanted,
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::TableNotFound, "{e}");
                    false
                }
            };
            assert_eq!(create(&table).unwrap(), !there, "there is a whole table or none");
            assert_eq!(read_properties(world.store.as_ref()).unwrap(), wanted);
            spec.upsert(&table, &first_rows()).unwrap();
            assert_eq!(rows_of(&table), model(&first_rows()));
            world.assert_tidy();
        }
    }
}
