//! The lock file that both engines ask for may be taken away while it is held: it expired, or somebody cleaned up.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use hudini_format::instant::{InstantFile, State};
use hudini_table::options::{CleanPolicy, Options, TableType};
use hudini_table::service::{self, CleanRequest, CompactRequest};
use hudini_table::storage::Storage;
use hudini_table::{ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::meanwhile::Meanwhile;
use crate::support::{Place, Scene, Spec, Stages, World, row, rows_of, upserted};

const FILE: &str = ".hoodie/lock";
const LOCK: &str = ".hoodie/.locks/hudini.lock";
const ONCE: &[(&str, &str)] = &[("hoodie.write.num.retries.on.conflict.failures", "0")];
/// Services where the test calls for them, of a table with few commits.
const BY_HAND: &[(&str, &str)] = &[
    ("hoodie.clean.automatic", "false"),
    ("hoodie.archive.automatic", "false"),
    ("hoodie.clean.commits.retained", "1"),
    ("hoodie.keep.min.commits", "2"),
    ("hoodie.keep.max.commits", "3"),
    ("hoodie.timeline.compaction.batch.size", "2"),
];

fn with(table: Table, options: &[(&str, &str)]) -> Table {
    let given = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let options = Options::parse(given).unwrap().with(&table.options);
    Table { options, ..table }
}

fn sharing() -> World {
    let world = World::sharing_lock(Place::Memory);
    world.now_keeping_metadata()
}

/// What cannot be taken back: completed actions of both timelines, and states of the history.
fn deeds(store: &dyn Storage) -> BTreeSet<String> {
    let mut deeds = BTreeSet::new();
    for dir in [".hoodie/timeline", ".hoodie/metadata/.hoodie/timeline"] {
        let names = store.list(dir).unwrap().into_iter().map(|entry| entry.name().to_owned());
        let is_completed = |name: &String| InstantFile::parse(name).is_some_and(|f| f.state == State::Completed);
        deeds.extend(names.filter(is_completed).map(|name| format!("{dir}/{name}")));
        let version = store.read(&format!("{dir}/history/_version_")).unwrap();
        deeds.extend(version.map(|version| format!("{dir} {version:?}")));
    }
    deeds
}

/// At every call of `act` somebody else takes the lock, if it is held, and keeps it. What is still done then is what the
/// very call was about: between the last look at the lock and the deed nobody can look.
fn nothing_is_done_without_the_lock(world: &World, act: impl Fn(&Table) -> Result<()>) {
    let ideal = world.copy();
    let before = deeds(ideal.store.as_ref());
    act(&with(ideal.table(), ONCE)).unwrap();
    let done = deeds(ideal.store.as_ref()).difference(&before).count();
    assert!(done > 0);

    let (mut late, mut refused) = (0, 0);
    for n in 1.. {
        let _scene = Scene(format!("taken away at call {n}"));
        let world = world.copy();
        let seen: Arc<Mutex<Option<BTreeSet<String>>>> = Arc::default();
        let (store, told) = (Arc::clone(&world.store), Arc::clone(&seen));
        let take = move || {
            if store.delete(FILE).unwrap() {
                store.replace(FILE, b"").unwrap();
                *told.lock().unwrap() = Some(deeds(store.as_ref()));
            }
        };
        let storage = Meanwhile::new(Arc::clone(&world.store), n, take);
        let result = act(&with(Table { storage: Arc::clone(&storage) as _, ..world.table() }, ONCE));
        if !storage.happened() {
            break;
        }
        let Some(then) = seen.lock().unwrap().take() else { continue };
        // Taken in the very moment in which it is let go.
        let Some(theirs) = world.store.read(FILE).unwrap() else { continue };
        let now = deeds(world.store.as_ref());
        let added = now.difference(&then).count();
        assert!(added <= 1, "{:?}", now.difference(&then));
        late += added;
        if let Err(e) = result {
            refused += 1;
            let kind = e.kind();
            assert!(matches!(kind, ErrorKind::CommitConflict | ErrorKind::LockUnavailable), "{e}");
            assert!(e.path().is_some_and(|path| path.ends_with(FILE)), "{e:?}");
        }
        assert_eq!(theirs, "");
        assert!(world.store.delete(FILE).unwrap());
        assert!(!rows_of(&world.table()).is_empty());
    }
    assert!(refused > 0);
    assert_eq!(late, done, "the deeds themselves");
}

/// Rows of two file groups, written in four commits.
fn written(table_type: TableType) -> (World, Spec) {
    let (world, spec) = (sharing(), Spec { buckets: 1, ..Spec::new(table_type) });
    let table = with(spec.create(&world), BY_HAND);
    for ts in 1..5 {
        spec.upsert(&table, &[row("a", "A", ts, ""), row("b", "B", ts, "")]).unwrap();
    }
    (world, spec)
}

#[rstest]
fn a_write_does_not_commit_without_its_lock(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let (world, spec) = written(table_type);
    let changes = [row("a", "A", 9, "new"), row("c", "C", 9, "new")];
    nothing_is_done_without_the_lock(&world, |table| {
        let table = with(table.clone(), BY_HAND);
        spec.upsert(&table, &changes).map(drop)
    });
}

#[test]
fn nor_is_a_dead_writers_write_taken_back() {
    let (world, spec) = written(TableType::CopyOnWrite);
    let mut dead = Stages::new(&world, &spec, &[row("a", "A", 9, "dead")]);
    (0..3).for_each(|step| dead.step(step).unwrap());
    drop(dead);
    nothing_is_done_without_the_lock(&world, |table| {
        let table = with(table.clone(), BY_HAND);
        spec.upsert(&table, &[row("b", "B", 9, "new")]).map(drop)
    });
}

#[test]
fn nor_are_logs_compacted() {
    let (world, _) = written(TableType::MergeOnRead);
    nothing_is_done_without_the_lock(&world, |table| {
        service::compact(&with(table.clone(), BY_HAND), CompactRequest::default()).map(drop)
    });
}

#[test]
fn nor_are_files_cleaned() {
    let (world, _) = written(TableType::CopyOnWrite);
    let request = CleanRequest {
        options: Options::default(),
        schedule: true,
        execute: true,
        dry_run: false,
        policy: Some(CleanPolicy::Commits),
        retain: Some(1),
    };
    nothing_is_done_without_the_lock(&world, |table| service::clean(&with(table.clone(), BY_HAND), &request).map(drop));
}

#[test]
fn nor_is_the_timeline_archived() {
    let (world, spec) = written(TableType::CopyOnWrite);
    let more = |ts: i64| {
        let table = with(world.table(), BY_HAND);
        (ts..ts + 4).for_each(|ts| drop(spec.upsert(&table, &[row("a", "A", ts, "")]).unwrap()));
    };
    let archive = |table: &Table| {
        let options = [("hoodie.metadata.compact.max.delta.commits", "2")];
        service::archive(&with(with(table.clone(), BY_HAND), &options), &Options::default()).map(drop)
    };
    archive(&world.table()).unwrap();
    more(20);
    nothing_is_done_without_the_lock(&world, archive);
}

/// Who has taken it has let it go again.
#[rstest]
fn a_write_that_lost_its_lock_is_planned_anew(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let (world, spec) = written(table_type);
    let before = rows_of(&world.table());
    let changes = [row("a", "A", 9, "new"), row("c", "C", 9, "new")];
    let mut retries = 0;
    for n in 1.. {
        let _scene = Scene(format!("taken away at call {n}"));
        let world = world.copy();
        let store = Arc::clone(&world.store);
        let take = move || {
            let _ = store.delete(FILE).unwrap();
        };
        let storage = Meanwhile::new(Arc::clone(&world.store), n, take);
        let table = with(Table { storage: Arc::clone(&storage) as _, ..world.table() }, BY_HAND);
        retries += spec.upsert(&table, &changes).unwrap().retries;
        if !storage.happened() {
            break;
        }
        assert_eq!(rows_of(&world.table()), upserted(&before, &changes));
        world.assert_tidy();
    }
    assert!(retries > 0);
}

/// Whoever holds the lock next may archive the commit, and then nobody knows which of the marked files it names.
#[rstest]
#[case::a_write(&|table: &Table| Spec::mor().upsert(table, &[row("a", "A", 9, "new"), row("n", "B", 1, "new")]).map(drop))]
#[case::a_compaction(&|table: &Table| service::compact(table, CompactRequest::default()).map(drop))]
fn markers_go_before_the_lock_does(#[case] act: &dyn Fn(&Table) -> Result<()>) {
    let spec = Spec::mor();
    let base = World::keeping_metadata(Place::Memory);
    let table = spec.create(&base);
    for ts in 1..3 {
        spec.upsert(&table, &[row("a", "A", ts, "old"), row("b", "B", ts, "old")]).unwrap();
    }
    let before = deeds(base.store.as_ref());
    let mut seen_at_work = false;
    for n in 1.. {
        let world = base.copy();
        let seen = Arc::new(Mutex::new((false, false, false)));
        let look = {
            let (store, seen, before) = (Arc::clone(&world.store), Arc::clone(&seen), before.clone());
            move || {
                let is_done = deeds(store.as_ref()).difference(&before).any(|deed| !deed.contains("metadata"));
                let has_markers = !store.list(".hoodie/.temp").unwrap().is_empty();
                let is_free = store.try_lock(LOCK).unwrap().is_some();
                *seen.lock().unwrap() = (is_done, has_markers, is_free);
            }
        };
        let storage = Meanwhile::new(Arc::clone(&world.store), n, look);
        act(&Table { storage: Arc::clone(&storage) as _, ..world.table() }).unwrap();
        if !storage.happened() {
            break;
        }
        let (is_done, has_markers, is_free) = *seen.lock().unwrap();
        assert!(!(is_done && has_markers && is_free), "at call {n}");
        seen_at_work |= is_done && has_markers;
    }
    assert!(seen_at_work, "there were no markers to remove");
}
