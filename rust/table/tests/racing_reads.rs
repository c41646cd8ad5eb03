//! Writers that commit, clean, compact and archive at each storage call of a read: it gives a state that was, whole, or
//! `InstantCleaned`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use hudini_table::context::{Context, ManualClock, SeededIds};
use hudini_table::options::{CleanPolicy, Operation, Options, TableType};
use hudini_table::scan::{Images, Scan, ScanRequest, Window};
use hudini_table::service::{self, CleanRequest, CompactRequest};
use hudini_table::timeline::Timeline;
use hudini_table::{ErrorKind, Listed, Result, Table};
use rstest::rstest;

use crate::support::meanwhile::Meanwhile;
use crate::support::{self, Model, Place, Row, Scene, Spec, World, model, row, rows_of, scanned, upserted};

const NOTHING_BY_ITSELF: &[(&str, &str)] = &[("hoodie.table.services.enabled", "false")];
const SMALL: &[(&str, &str)] =
    &[("hoodie.keep.min.commits", "2"), ("hoodie.keep.max.commits", "3"), ("hoodie.clean.commits.retained", "1")];

fn with(table: Table, options: &[(&str, &str)]) -> Table {
    let given = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let options = Options::parse(given).unwrap().with(&table.options);
    Table { options, ..table }
}

fn batch(ts: i64) -> Vec<Row> {
    ["a", "b", "c", "d"].iter().map(|id| row(id, if *id < "c" { "A" } else { "B" }, ts, &format!("v{ts}"))).collect()
}

/// What others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    Clean,
    Overwrite,
    Compact,
    Archive,
}

impl Others {
    fn act(self, spec: &Spec, table: &Table) {
        let upsert = |ts| drop(spec.upsert(table, &batch(ts)).unwrap());
        match self {
            Self::Clean | Self::Archive => (6..9).for_each(upsert),
            Self::Overwrite => drop(spec.write(table, Operation::OverwriteTable, &batch(8)).unwrap()),
            Self::Compact => {
                upsert(8);
                drop(service::compact(table, CompactRequest::default()).unwrap());
            }
        }
        let (policy, retain) = (Some(CleanPolicy::Versions), Some(1));
        let options = Options::default();
        let clean = CleanRequest { options, schedule: true, execute: true, dry_run: false, policy, retain };
        service::clean(table, &clean).unwrap();
        if self == Self::Archive {
            let archived = service::archive(&with(table.clone(), SMALL), &Options::default()).unwrap();
            assert!(!archived.instants.is_empty());
        }
    }

    fn after(self) -> Model {
        model(&batch(8))
    }
}

fn written(keeps_metadata: bool, spec: &Spec) -> World {
    let world = if keeps_metadata { World::keeping_metadata(Place::Memory) } else { World::new(Place::Memory) };
    let table = with(spec.create(&world), NOTHING_BY_ITSELF);
    (1..4).for_each(|ts| drop(spec.upsert(&table, &batch(ts)).unwrap()));
    // A replacing commit is read whenever a state is found out.
    spec.write(&table, Operation::InsertOverwrite, &batch(4)).unwrap();
    spec.upsert(&table, &batch(5)).unwrap();
    world
}

/// A read while others act at each of its calls.
fn sweep(keeps_metadata: bool, table_type: TableType, others: Others, read: impl Fn(&Table) -> Result<()>) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let started = written(keeps_metadata, &spec);
    sweep_beside(&started, move |table| others.act(&spec, table), read, &others.after());
}

/// The same on a table that is there, of which others leave these rows.
fn sweep_beside(
    started: &World,
    act: impl Fn(&Table) + Clone + Send + 'static,
    read: impl Fn(&Table) -> Result<()>,
    after: &Model,
) {
    for at in 1.. {
        let _scene = Scene(format!("at call {at}"));
        let world = started.copy();
        let (writer, act) = (with(world.table(), NOTHING_BY_ITSELF), act.clone());
        let storage = Meanwhile::new(Arc::clone(&world.store), at, move || act(&writer));
        let clock = Arc::new(ManualClock::ticking(support::START + 3_600_000));
        let context = Context { clock, ids: Arc::new(SeededIds::new(99)), threads: 1 };
        let outcome = read(&world.table_in(Arc::clone(&storage) as _, context));
        if let Err(e) = outcome {
            assert_eq!(e.kind(), ErrorKind::InstantCleaned, "{e}");
        }
        if !storage.happened() {
            assert!(at > 10);
            return;
        }
        assert_eq!(rows_of(&world.table()), *after);
    }
}

/// The values of the one column, `ts`.
fn times(table: &Table, request: ScanRequest) -> Result<Vec<i64>> {
    let batches = Scan::plan(table, request)?.read()?.collect::<Result<Vec<_>>>()?;
    Ok(batches.iter().flat_map(|rows| rows.column(0).as_primitive::<Int64Type>().values().to_vec()).collect())
}

#[rstest]
fn a_read_of_the_newest_state(
    #[values(false, true)] keeps_metadata: bool,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(Others::Clean, Others::Overwrite, Others::Compact, Others::Archive)] others: Others,
) {
    if others == Others::Compact && table_type == TableType::CopyOnWrite {
        return;
    }
    sweep(keeps_metadata, table_type, others, |table| {
        let rows = model(&scanned(table, 8192)?);
        let states = [model(&batch(5)), model(&batch(6)), model(&batch(7)), others.after()];
        assert!(states.contains(&rows), "{rows:?}");
        Ok(())
    });
}

#[rstest]
fn a_read_of_an_older_state(
    #[values(false, true)] keeps_metadata: bool,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let instants: Vec<_> = written(keeps_metadata, &spec).table().timeline().unwrap().commits().cloned().collect();
    for (instant, ts) in instants.iter().zip(1..) {
        sweep(keeps_metadata, table_type, Others::Clean, |table| {
            let request = ScanRequest {
                as_of: Some(instant.requested.clone()),
                columns: Some(vec!["ts".to_owned()]),
                ..ScanRequest::default()
            };
            assert_eq!(times(table, request)?, [ts; 4]);
            Ok(())
        });
    }
}

/// The clean was planned before, so nothing new shows on the timeline.
#[rstest]
fn a_read_of_an_older_state_beside_a_planned_clean(
    #[values(false, true)] keeps_metadata: bool,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let world = written(keeps_metadata, &spec);
    let clean = |table: &Table, schedule| {
        let (policy, retain) = (Some(CleanPolicy::Versions), Some(1));
        let options = Options::default();
        let request = CleanRequest { options, schedule, execute: !schedule, dry_run: false, policy, retain };
        drop(service::clean(table, &request).unwrap());
    };
    clean(&with(world.table(), NOTHING_BY_ITSELF), true);
    let instants: Vec<_> = world.table().timeline().unwrap().commits().cloned().collect();
    for (instant, ts) in instants.iter().zip(1..) {
        let act = move |table: &Table| clean(table, false);
        let read = |table: &Table| {
            let columns = Some(vec!["ts".to_owned()]);
            let as_of = Some(instant.requested.clone());
            assert_eq!(times(table, ScanRequest { as_of, columns, ..ScanRequest::default() })?, [ts; 4]);
            Ok(())
        };
        sweep_beside(&world, act, read, &model(&batch(5)));
    }
}

/// What the clean took before is in no list, so nothing is there to be missed.
#[rstest]
fn a_metadata_table_made_in_the_midst_of_a_clean_does_not_hide_it(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let world = written(false, &spec);
    let (policy, retain) = (Some(CleanPolicy::Versions), Some(1));
    let options = Options::default();
    let request = CleanRequest { options, schedule: true, execute: false, dry_run: false, policy, retain };
    service::clean(&with(world.table(), NOTHING_BY_ITSELF), &request).unwrap();
    let instants: Vec<_> = world.table().timeline().unwrap().commits().cloned().collect();
    let columns = || Some(vec!["ts".to_owned()]);
    let as_of = |world: &World, n: usize| {
        let as_of = Some(instants[n].requested.clone());
        times(&world.table(), ScanRequest { as_of, columns: columns(), ..ScanRequest::default() })
    };
    let taken = world.data_files().into_iter().find(|path| path.contains(&instants[0].requested)).unwrap();
    assert!(world.store.delete(&taken).unwrap());
    let world = world.now_keeping_metadata();
    spec.upsert(&with(world.table(), NOTHING_BY_ITSELF), &batch(9)).unwrap();
    assert!(world.table().config().unwrap().metadata_partitions().contains(&"files".to_owned()));
    for n in 0..instants.len() - 1 {
        let read = as_of(&world, n);
        assert_eq!(read.unwrap_err().kind(), ErrorKind::InstantCleaned, "state {n}");
    }
    assert_eq!(rows_of(&world.table()), model(&batch(9)));
}

#[rstest]
fn a_read_of_a_range(
    #[values(false, true)] keeps_metadata: bool,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(Others::Clean, Others::Archive)] others: Others,
) {
    sweep(keeps_metadata, table_type, others, |table| {
        let columns = Some(vec!["ts".to_owned()]);
        let times = times(table, ScanRequest { window: Some(Window::default()), columns, ..ScanRequest::default() })?;
        assert!(times.len() == 4 && times.iter().all(|ts| *ts == times[0]), "{times:?}");
        Ok(())
    });
}

/// Four rows are new, changed twice, replaced by four new ones, and changed again; by others too.
#[rstest]
fn what_happened_in_a_range(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(Others::Clean, Others::Overwrite, Others::Archive)] others: Others,
    #[values(0, 3)] writes_before: usize,
) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let timeline = written(false, &spec).table().timeline().unwrap();
    let last_before = timeline.commits().take(writes_before).last();
    let start = last_before.and_then(|instant| instant.completed.clone());
    sweep(false, table_type, others, |table| {
        let (window, changes) = (Some(Window { start: start.clone(), end: None }), Some(Images::Struct));
        let scan = Scan::plan(table, ScanRequest { window, changes, ..ScanRequest::default() })?;
        let batches = scan.read()?.collect::<Result<Vec<_>>>()?;
        let operations = || batches.iter().flat_map(|rows| rows.column(0).as_string::<i32>());
        let count = |of: &str| operations().filter(|operation| *operation == Some(of)).count();
        let replaced = count("d") / 4;
        assert!([1, 2].contains(&replaced), "{replaced}");
        let (before, changed) = if writes_before == 0 { (4, 12) } else { (0, 4) };
        assert!(count("i") == before + 4 * replaced && count("u") >= changed, "{} {}", count("i"), count("u"));
        Ok(())
    });
}

/// Long lists are made in steps, and others do not wait between them.
#[test]
fn a_long_list_of_actions_is_of_one_moment() {
    let spec = Spec::new(TableType::CopyOnWrite);
    let world = written(false, &spec);
    let config = world.table().config().unwrap();
    let commits = |at| {
        let store = Arc::clone(&world.store);
        let act = move || drop(store.replace(".hoodie/timeline/29990101000000000_29990101000000001.commit", b""));
        let storage = Meanwhile::new(Arc::clone(&world.store), at, act);
        let timeline = Timeline::load(storage.as_ref(), &config).unwrap();
        (timeline.commits().count(), storage.happened())
    };
    assert_eq!(commits(3), (5, false), "a short list is made once, and its oldest action looked at");
    (0..300).for_each(|n| world.put(&format!(".hoodie/timeline/what-{n}"), b""));
    assert_eq!(commits(2), (6, true));
}

/// A table of which much is due to be archived: the rows of partition B are of the second commit, and nothing has replaced
/// them since.
fn before_an_archiving(keeps_metadata: bool, spec: &Spec) -> (World, Model) {
    let world = if keeps_metadata { World::keeping_metadata(Place::Memory) } else { World::new(Place::Memory) };
    let table = with(spec.create(&world), NOTHING_BY_ITSELF);
    spec.upsert(&table, &batch(1)).unwrap();
    spec.write(&table, Operation::InsertOverwrite, &batch(2)).unwrap();
    (3..13).for_each(|ts| drop(spec.upsert(&table, &batch(ts)[..2]).unwrap()));
    let (policy, retain) = (Some(CleanPolicy::Versions), Some(1));
    let options = Options::default();
    let clean = CleanRequest { options, schedule: true, execute: true, dry_run: false, policy, retain };
    service::clean(&table, &clean).unwrap();
    (world, upserted(&model(&batch(2)), &batch(12)[..2]))
}

/// A list is made entry by entry. Where it has an older commit and lacks a later one, which is archived by then, files of
/// the later one would be nobody's.
#[rstest]
fn a_list_of_actions_that_are_archived_meanwhile_has_no_hole(
    #[values(false, true)] keeps_metadata: bool,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let (started, rows) = before_an_archiving(keeps_metadata, &Spec { buckets: 1, ..Spec::new(table_type) });
    let dir = started.table().config().unwrap().timeline_dir();
    let entries = started.store.list(&dir).unwrap().len();
    for first in 0..entries {
        for before in [0..first, first..entries, first..first + 1] {
            let _scene = Scene(format!("entries {before:?} were looked at before"));
            let world = started.copy();
            let writer = with(world.table(), SMALL);
            let act = move || {
                let archived = service::archive(&writer, &Options::default()).unwrap();
                assert!(archived.instants.len() > 2, "{archived:?}");
            };
            let storage = Meanwhile::within_list(Arc::clone(&world.store), &dir, before, act);
            assert_eq!(rows_of(&world.table_in(Arc::clone(&storage) as _, Context::system(Some(1)))), rows);
            assert!(storage.happened());
        }
    }
}

/// It finds out only when it looks again, and until then other commits are archived behind its instant.
#[rstest]
fn the_instant_of_a_dead_writer_that_came_back_hides_nothing(
    #[values(false, true)] keeps_metadata: bool,
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let (world, rows) = before_an_archiving(keeps_metadata, &spec);
    let first = world.table().timeline().unwrap().commits().next().unwrap().requested.clone();
    service::archive(&with(world.table(), SMALL), &Options::default()).unwrap();
    let dead = (first.parse::<u64>().unwrap() + 1).to_string();
    let action = if table_type == TableType::MergeOnRead { "deltacommit.inflight" } else { "inflight" };
    world.put(&format!(".hoodie/timeline/{dead}.{action}"), b"");
    assert_eq!(rows_of(&world.table()), rows);
    let later = batch(13);
    spec.upsert(&with(world.table(), NOTHING_BY_ITSELF), &later[..2]).unwrap();
    assert_eq!(rows_of(&world.table()), upserted(&rows, &later[..2]));
    assert!(!world.files().keys().any(|path| path.contains(&format!("/{dead}."))), "nobody rolled it back");
}

#[rstest]
fn a_list_of_what_was_done(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    sweep(false, table_type, Others::Archive, |table| {
        assert!(table.history(None)?.len() >= 5);
        let all = Listed { archived: true, operations: true };
        assert!(table.timeline_lines(all)?.len() >= 5);
        Ok(())
    });
}
