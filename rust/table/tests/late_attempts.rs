//! An attempt at a task that was given up for lost, and that runs while its write comes to an end.

use std::sync::{Arc, Mutex};

use hudini_table::options::TableType;
use hudini_table::storage::Storage;
use hudini_table::write::PlacedTask;
use hudini_table::{Error, ErrorKind, Table};
use rstest::rstest;

use crate::support::meanwhile::Meanwhile;
use crate::support::{Place, Row, Scene, Spec, Stages, World, declare_dead, model, row, rows_of, upserted};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Committed,
    Aborted,
    /// Its driver is dead, and the next writer rolls it back.
    Recovered,
}

impl End {
    /// Ends the write; the next writer works on that table.
    fn come(self, world: &World, spec: &Spec, mut writer: Stages, next: &Table) {
        match self {
            Self::Committed => drop(writer.commit().unwrap()),
            Self::Aborted => writer.action.take().unwrap().abort().unwrap(),
            Self::Recovered => {
                let time = writer.time();
                drop(writer);
                declare_dead(world, &time);
                spec.upsert(next, &other()).unwrap();
            }
        }
    }

    #[track_caller]
    fn check(self, world: &World) {
        let before = model(&old());
        let after = match self {
            Self::Committed => upserted(&before, &changes()),
            Self::Aborted => before,
            Self::Recovered => upserted(&before, &other()),
        };
        assert_eq!(rows_of(&world.table()), after);
        world.assert_tidy();
    }
}

fn old() -> Vec<Row> {
    vec![row("a", "A", 1, "old"), row("b", "B", 1, "old")]
}

fn changes() -> Vec<Row> {
    vec![row("a", "A", 2, "new"), row("c", "C", 2, "new")]
}

fn other() -> Vec<Row> {
    vec![row("b", "B", 3, "other")]
}

fn world(spec: &Spec) -> Arc<World> {
    let world = World::new(Place::Memory);
    spec.upsert(&spec.create(&world), &old()).unwrap();
    Arc::new(world)
}

/// A write whose tasks have run.
fn writer(world: &World, spec: &Spec, storage: &Arc<dyn Storage>) -> Stages {
    let mut writer = Stages::new(world, spec, &changes());
    writer.table.storage = Arc::clone(storage);
    (0..3).for_each(|step| writer.step(step).unwrap());
    writer
}

/// Runs the tasks once more, until one sees that it came too late, or has lost what it wrote. Answers how many did not.
fn run_late(world: &World, spec: &Spec, storage: &Arc<dyn Storage>, tasks: &[PlacedTask]) -> usize {
    let run = |placed: &&PlacedTask| {
        let rows: Vec<_> = changes().into_iter().filter(|row| row.city == placed.partition).collect();
        let ran = placed.task.run_on(storage, &world.table().context, 7, 1, [Ok(spec.batch(&rows))]);
        let is_late = |e: &Error| e.kind() == ErrorKind::CommitConflict || e.message() == "the write was discarded";
        ran.inspect_err(|e| assert!(is_late(e), "{e}")).is_ok()
    };
    tasks.iter().take_while(run).count()
}

#[rstest]
fn it_runs_within_each_call_of_the_end(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(End::Committed, End::Aborted, End::Recovered)] end: End,
) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let (mut published, mut late) = (0, 0);
    for n in 1.. {
        let _scene = Scene(format!("within call {n}"));
        let world = world(&spec);
        let tasks: Arc<Mutex<Option<Vec<PlacedTask>>>> = Arc::default();
        let ran = Arc::new(Mutex::new(None));
        let act = {
            let (world, spec, tasks, ran) = (Arc::clone(&world), spec.clone(), Arc::clone(&tasks), Arc::clone(&ran));
            move || {
                let tasks = tasks.lock().unwrap().take();
                *ran.lock().unwrap() = tasks.map(|tasks| run_late(&world, &spec, &world.store, &tasks));
            }
        };
        let meanwhile = Meanwhile::new(Arc::clone(&world.store), n, act);
        let storage: Arc<dyn Storage> = Arc::clone(&meanwhile) as _;
        let next = Table { storage: Arc::clone(&storage), ..world.table() };
        let writer = writer(&world, &spec, if end == End::Recovered { &world.store } else { &storage });
        *tasks.lock().unwrap() = Some(writer.tasks.clone());
        end.come(&world, &spec, writer, &next);
        if !meanwhile.happened() {
            break;
        }
        match *ran.lock().unwrap() {
            Some(0) => late += 1,
            Some(_) => published += 1,
            // The tasks had not run yet.
            None => {}
        }
        end.check(&world);
    }
    assert!(published > 0 && late > 0, "{published} published, {late} late");
}

#[rstest]
fn the_end_comes_within_each_of_its_calls(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(End::Committed, End::Aborted, End::Recovered)] end: End,
) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    for n in 1.. {
        let _scene = Scene(format!("within call {n}"));
        let world = world(&spec);
        let writer = writer(&world, &spec, &world.store);
        let tasks = writer.tasks.clone();
        let act = {
            let (world, spec) = (Arc::clone(&world), spec.clone());
            move || end.come(&world, &spec, writer, &world.table())
        };
        let meanwhile = Meanwhile::new(Arc::clone(&world.store), n, act);
        let ran = run_late(&world, &spec, &(Arc::clone(&meanwhile) as _), &tasks);
        if !meanwhile.happened() {
            assert!(ran == tasks.len() && n > 10, "{ran} of {} ran in {n} calls", tasks.len());
            break;
        }
        end.check(&world);
    }
}

/// The committer died in between.
#[rstest]
fn what_came_before_the_commit_and_was_not_removed_behind_it_the_next_writer_removes(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let world = world(&spec);
    let before = world.data_files();
    let instant = spec.upsert(&world.table(), &changes()).unwrap().instant.unwrap();
    let written = world.data_files().difference(&before).next().unwrap().clone();
    let late = written.replace("_0-0-0", "_0-0-7");
    assert_ne!(late, written);
    world.put(&late, &world.store.read(&written).unwrap().unwrap());
    world.put(&format!(".hoodie/.temp/{instant}/{late}.marker.CREATE"), b"");
    world.put(&format!(".hoodie/.locks/{instant}.alive"), b"");
    spec.upsert(&world.table(), &other()).unwrap();
    assert_eq!(rows_of(&world.table()), upserted(&upserted(&model(&old()), &changes()), &other()));
    world.assert_tidy();
}
