//! Cleaning and archiving: what stays, what goes, and that both can break off anywhere.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::{CleanFileInfo, CleanerPlan, CommitMetadata};
use hudini_format::instant::{Action, InstantFile, State};
use hudini_table::options::{CleanPolicy, Operation, Options, TableType};
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::service::{self, CleanRequest, CleanResult, CompactRequest};
use hudini_table::storage::faulty::{Fault, FaultPlan};
use hudini_table::{ErrorKind, Listed, Result, Table, timeline};
use rstest::rstest;

use crate::support::{self, Model, Place, Scene, Spec, World, model, row, rows_of, upserted};

const BY_HAND: &[(&str, &str)] = &[("hoodie.clean.automatic", "false"), ("hoodie.archive.automatic", "false")];
const SMALL: &[(&str, &str)] = &[
    ("hoodie.clean.commits.retained", "2"),
    ("hoodie.keep.min.commits", "4"),
    ("hoodie.keep.max.commits", "6"),
    ("hoodie.timeline.compaction.batch.size", "2"),
];

fn with(table: Table, options: &[(&str, &str)]) -> Table {
    let given = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let options = Options::parse(given).unwrap().with(&table.options);
    Table { options, ..table }
}

fn request(policy: CleanPolicy, retain: u32) -> CleanRequest {
    let (policy, retain) = (Some(policy), Some(retain));
    CleanRequest { options: Options::default(), schedule: true, execute: true, dry_run: false, policy, retain }
}

fn clean(table: &Table, retain: u32) -> Result<CleanResult> {
    service::clean(table, &request(CleanPolicy::Commits, retain))
}

/// One row, updated by every commit: one file group. Answers the instants.
fn updated(world: &World, spec: &Spec, commits: i64) -> Vec<String> {
    let table = with(spec.create(world), BY_HAND);
    (1..=commits).map(|ts| spec.upsert(&table, &[row("a", "A", ts, "")]).unwrap().instant.unwrap()).collect()
}

fn one_group() -> (World, Spec, Vec<String>) {
    one_group_in(World::new(Place::Memory))
}

fn one_group_in(world: World) -> (World, Spec, Vec<String>) {
    one_group_of(world, 9)
}

fn one_group_of(world: World, version: u32) -> (World, Spec, Vec<String>) {
    let spec = Spec { buckets: 1, version, ..Spec::cow() };
    let instants = updated(&world, &spec, 7);
    (world, spec, instants)
}

/// The numbers of the commits, from 1, whose files are there.
fn left(world: &World, instants: &[String]) -> Vec<usize> {
    let files = world.data_files();
    let is_there = |instant: &String| files.iter().any(|file| file.contains(instant.as_str()));
    instants.iter().enumerate().filter(|(_, instant)| is_there(instant)).map(|(at, _)| at + 1).collect()
}

fn as_of(table: &Table, instant: &str) -> Result<i64> {
    let request = ScanRequest { as_of: Some(instant.to_owned()), ..ScanRequest::default() };
    let batches = Scan::plan(table, request)?.read()?.collect::<Result<Vec<_>>>()?;
    Ok(batches.iter().map(|batch| batch.num_rows() as i64).sum())
}

#[rstest]
#[case(1, &[6, 7], 7)]
#[case(2, &[5, 6, 7], 6)]
#[case(3, &[4, 5, 6, 7], 5)]
fn retained_commits_keep_the_slice_before_them(#[case] retain: u32, #[case] kept: &[usize], #[case] earliest: usize) {
    let (world, _, instants) = one_group();
    let table = world.table();
    let done = clean(&table, retain).unwrap();
    assert_eq!(left(&world, &instants), kept);
    assert_eq!(done.retained.as_ref(), Some(&instants[earliest - 1]));
    assert_eq!(done.files.len(), 7 - kept.len());
    for (at, instant) in instants.iter().enumerate() {
        match as_of(&table, instant) {
            Ok(rows) => assert_eq!((rows, at + 1 >= earliest), (1, true), "commit {}", at + 1),
            Err(e) => assert_eq!((e.kind(), at + 1 < earliest), (ErrorKind::InstantCleaned, true), "{e}"),
        }
    }
    let again = clean(&table, retain).unwrap();
    assert_eq!((again.instant, again.files), (None, Vec::new()));
}

#[test]
fn retained_versions_name_no_commit() {
    let (world, _, instants) = one_group();
    let done = service::clean(&world.table(), &request(CleanPolicy::Versions, 2)).unwrap();
    assert_eq!((left(&world, &instants), done.retained), (vec![6, 7], None));
    assert_eq!(as_of(&world.table(), &instants[5]).unwrap_err().kind(), ErrorKind::InstantCleaned);
    assert_eq!(as_of(&world.table(), &instants[6]).unwrap(), 1, "the newest versions are the newest state");
}

#[test]
fn retained_hours_count_from_now() {
    let (world, spec, instants) = one_group();
    let (table, clock) = world.handle();
    clock.advance(3 * 3_600_000);
    let late = spec.upsert(&with(table.clone(), BY_HAND), &[row("a", "A", 8, "")]).unwrap().instant.unwrap();
    let done = service::clean(&table, &request(CleanPolicy::Hours, 2)).unwrap();
    assert_eq!((left(&world, &instants), done.retained), (vec![7], Some(late)));
}

#[test]
fn a_pending_write_keeps_what_it_builds_upon() {
    let (world, spec, instants) = one_group();
    let mut stages = support::Stages::new(&world, &spec, &[row("a", "A", 9, "slow")]);
    stages.begin().unwrap();
    let table = with(world.table(), BY_HAND);
    for ts in 10..13 {
        spec.upsert(&table, &[row("b", "B", ts, "")]).unwrap();
    }
    let done = clean(&table, 1).unwrap();
    assert_eq!(done.retained.as_ref(), Some(&instants[6]));
    assert_eq!(left(&world, &instants), [6, 7]);
}

#[test]
fn a_dry_run_changes_nothing() {
    let (world, _, _) = one_group();
    let before = world.files();
    let asked = CleanRequest { dry_run: true, ..request(CleanPolicy::Commits, 3) };
    let would = service::clean(&world.table(), &asked).unwrap();
    assert_eq!((would.files.len(), would.instant), (3, None));
    assert!(world.files() == before);
    assert_eq!(clean(&world.table(), 3).unwrap().files, would.files);
}

#[test]
fn a_plan_is_carried_out_later() {
    let (world, _, instants) = one_group();
    let table = world.table();
    let planned = service::clean(&table, &CleanRequest { execute: false, ..request(CleanPolicy::Commits, 3) }).unwrap();
    assert_eq!((planned.completed, left(&world, &instants).len()), (None, 7));
    // From the first file on that is gone, states may not be whole: an older file would stand in for it.
    assert_eq!(as_of(&table, &instants[1]).unwrap(), 1);
    let begun = world.copy();
    begun.store.delete(world.data_files().iter().find(|file| file.contains(&instants[1])).unwrap()).unwrap();
    assert_eq!(as_of(&begun.table(), &instants[1]).unwrap_err().kind(), ErrorKind::InstantCleaned);
    let done = service::clean(&table, &CleanRequest { schedule: false, ..request(CleanPolicy::Commits, 1) }).unwrap();
    assert_eq!((done.instant.clone(), left(&world, &instants)), (planned.instant.clone(), vec![4, 5, 6, 7]));
    assert_eq!(done.finished, [planned.instant.unwrap()]);
    world.assert_no_traces();
}

/// As Apache Hudi plans it: absolute paths with a scheme.
#[test]
fn a_plan_of_another_engine_is_finished_first() {
    let (world, _, instants) = one_group();
    let file = world.data_files().into_iter().find(|file| file.contains(&instants[0])).unwrap();
    let root = world.store.root().split_once("://").map_or(world.store.root(), |(_, path)| path).to_owned();
    let info = CleanFileInfo { file_path: Some(format!("file:/{root}/{file}")), ..CleanFileInfo::default() };
    let plan = CleanerPlan {
        policy: "KEEP_LATEST_COMMITS".into(),
        file_paths_to_be_deleted_per_partition: Some(BTreeMap::from([("A".to_owned(), vec![info])])),
        version: Some(2),
        ..CleanerPlan::default()
    };
    let time = "20260528202640000";
    world.put(&format!(".hoodie/timeline/{time}.clean.requested"), &plan.encode().unwrap());
    let done = clean(&world.table(), 3).unwrap();
    assert_eq!(done.finished, [time]);
    assert_eq!(left(&world, &instants), [4, 5, 6, 7]);
    assert!(!done.files.contains(&file), "deleted by the first");
}

#[test]
fn a_plan_that_names_files_elsewhere_is_refused_before_anything_is_deleted() {
    let (world, _, instants) = one_group();
    for path in ["/elsewhere/A/x_0-0-0_1.parquet", "t/A/../B/x_0-0-0_1.parquet", "t/.hoodie/hoodie.properties"] {
        let copy = world.copy();
        let info = CleanFileInfo { file_path: Some(path.to_owned()), ..CleanFileInfo::default() };
        let plan = CleanerPlan {
            file_paths_to_be_deleted_per_partition: Some(BTreeMap::from([("A".to_owned(), vec![info])])),
            ..CleanerPlan::default()
        };
        copy.put(".hoodie/timeline/20260528202640000.clean.requested", &plan.encode().unwrap());
        let e = clean(&copy.table(), 3).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::UnsupportedFeature, "{e}");
        assert_eq!(left(&copy, &instants).len(), 7);
    }
}

#[test]
fn limits_that_contradict_each_other_are_refused_before_anything_is_written() {
    let (world, spec, _) = one_group();
    let before = world.files();
    let table = with(world.table(), &[("hoodie.keep.min.commits", "9"), ("hoodie.keep.max.commits", "9")]);
    let e = spec.upsert(&table, &[row("a", "A", 9, "")]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidOption);
    assert!(world.files() == before);
}

/// All commits that the table ever had, archived or not, each once and completed.
fn assert_commits(world: &World, instants: &[String]) {
    let lines = world.table().timeline_lines(Listed { archived: true, operations: true }).unwrap();
    let commits: Vec<_> = lines.iter().filter(|line| line.action.writes_data()).collect();
    assert!(commits.iter().all(|line| line.state == State::Completed), "{commits:?}");
    assert!(commits.iter().all(|line| line.operation.as_deref() == Some("upsert")), "{commits:?}");
    assert_eq!(commits.iter().map(|line| line.requested.clone()).collect::<Vec<_>>(), instants);
}

/// How many commits the active timeline has.
fn active(world: &World) -> usize {
    world.table().timeline().unwrap().commits().count()
}

#[rstest]
fn a_table_that_is_written_again_and_again_stays_small(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let (world, spec) = (World::new(Place::Memory), Spec { buckets: 1, ..Spec::new(table_type) });
    spec.create(&world);
    let (mut instants, mut state, mut states) = (Vec::new(), Model::new(), Vec::new());
    for ts in 1..=40 {
        let rows = [row("a", "A", ts, "v"), row(&format!("b{}", ts % 5), "B", ts, "v")];
        let done = spec.upsert(&with(world.table(), SMALL), &rows).unwrap();
        assert_eq!(done.warnings, [""; 0]);
        state = upserted(&state, &rows);
        states.push(state.len() as i64);
        instants.push(done.instant.unwrap());
        assert_eq!(rows_of(&world.table()), state);
        assert!(active(&world) <= 7, "{} commits after {ts}", active(&world));
    }
    assert_commits(&world, &instants);
    let history = world.names_below(".hoodie/timeline/history/");
    let merged = |name: &&String| ["_2.parquet", "_3.parquet", "_4.parquet"].iter().any(|level| name.ends_with(level));
    assert!(history.iter().any(|name| merged(&name)), "{history:?}");
    assert!(history.iter().filter(|name| name.contains("/manifest_")).count() <= 7, "{history:?}");
    world.assert_no_traces();
    if table_type == TableType::CopyOnWrite {
        assert!(world.data_files().len() <= 7, "{:?}", world.data_files());
        for (instant, rows) in instants.iter().zip(&states).rev().take(2) {
            assert_eq!(as_of(&world.table(), instant).unwrap(), *rows);
        }
        for cleaned in [&instants[0], &instants[30], &instants[37]] {
            assert_eq!(as_of(&world.table(), cleaned).unwrap_err().kind(), ErrorKind::InstantCleaned);
        }
    } else {
        // Nothing was compacted: every log is needed.
        assert_eq!(world.data_files().len(), 80);
        for (instant, rows) in instants.iter().zip(&states) {
            assert_eq!(as_of(&world.table(), instant).unwrap(), *rows);
        }
    }
}

/// It was taken for a detail, and writes cleaned all the same.
#[test]
fn where_no_services_are_wanted_writes_leave_everything() {
    let (world, spec) = (World::new(Place::Memory), Spec { buckets: 1, ..Spec::cow() });
    spec.create(&world);
    let options = [SMALL, &[("hoodie.table.services.enabled", "false")]].concat();
    for ts in 1..=9 {
        spec.upsert(&with(world.table(), &options), &[row("a", "A", ts, "")]).unwrap();
    }
    assert_eq!((active(&world), world.data_files().len()), (9, 9));
    spec.upsert(&with(world.table(), SMALL), &[row("a", "A", 10, "")]).unwrap();
    assert!(world.data_files().len() < 9, "{:?}", world.data_files());
}

#[test]
fn where_no_services_are_wanted_the_metadata_table_is_left_too() {
    let (world, spec) = (World::keeping_metadata(Place::Memory), Spec { buckets: 1, ..Spec::cow() });
    spec.create(&world);
    let options = [SMALL, &[("hoodie.table.services.enabled", "false")]].concat();
    let cleans = |world: &World| {
        let own = world.names_below(".hoodie/metadata/.hoodie/timeline/");
        own.iter().filter(|path| path.ends_with(".clean")).count()
    };
    for ts in 1..=40 {
        spec.upsert(&with(world.table(), &options), &[row("a", "A", ts, "")]).unwrap();
    }
    assert_eq!((active(&world), cleans(&world)), (40, 0));
    spec.upsert(&with(world.table(), SMALL), &[row("a", "A", 41, "")]).unwrap();
    assert_eq!(cleans(&world), 1);
    world.assert_sound();
}

#[test]
fn the_oldest_pending_write_stops_archiving() {
    let (world, spec) = (World::new(Place::Memory), Spec { buckets: 1, ..Spec::cow() });
    let mut instants = updated(&world, &spec, 3);
    let mut stages = support::Stages::new(&world, &spec, &[row("z", "Z", 9, "slow")]);
    stages.begin().unwrap();
    for ts in 10..20 {
        // By the number of commits, a clean would keep what the write builds upon, and archiving what the clean keeps.
        let table = with(with(world.table(), SMALL), &[("hoodie.clean.policy", "versions")]);
        let done = spec.upsert(&table, &[row("a", "A", ts, "")]).unwrap();
        instants.push(done.instant.unwrap());
    }
    let first = world.table().timeline().unwrap().commits().next().unwrap().requested.clone();
    assert_eq!(first, instants[2], "the last commit before it stays");
}

/// Whatever breaks off, the table reads the same, and the next run comes to the same end.
fn sweep(world: &World, faults: &[Fault], act: &dyn Fn(&Table) -> Result<()>, settled: &dyn Fn(&World)) {
    let rows = rows_of(&world.table());
    let whole = world.copy();
    let (table, faulty) = whole.faulty(FaultPlan::none());
    act(&table).unwrap();
    settled(&whole);
    let calls = faulty.log();
    assert!(calls.len() > 15, "{} calls", calls.len());
    for call in calls {
        for fault in faults {
            let _scene = Scene(format!("{fault:?} at call {} ({} {})", call.n, call.op, call.path));
            let world = world.copy();
            let (table, faulty) = world.faulty(FaultPlan::none().at(call.n, *fault));
            let _ = act(&table);
            drop((table, faulty));
            assert_eq!(rows_of(&world.table()), rows);
            world.assert_undamaged();
            act(&world.table()).unwrap();
            assert_eq!(rows_of(&world.table()), rows);
            settled(&world);
            world.assert_no_traces();
            world.assert_sound();
        }
    }
}

#[rstest]
#[case::alone(World::new(Place::Memory), 9)]
#[case::with_a_metadata_table(World::keeping_metadata(Place::Memory), 9)]
#[case::of_version_8(World::keeping_metadata(Place::Memory), 8)]
fn a_clean_fails_at_every_call(#[case] world: World, #[case] version: u32) {
    let (world, _, instants) = one_group_of(world, version);
    let act = |table: &Table| clean(table, 3).map(drop);
    // Half a file of a metadata table stays beside the place of the whole one; it has no markers.
    let torn = (!world.keeps_metadata()).then_some(Fault::Torn);
    let faults: Vec<Fault> = [Fault::Kill, Fault::FailAfter].into_iter().chain(torn).collect();
    sweep(&world, &faults, &act, &|world| {
        assert_eq!(left(world, &instants), [4, 5, 6, 7]);
        let timeline = world.table().timeline().unwrap();
        assert_eq!(timeline.pending().count(), 0);
        assert_eq!(timeline.completed().filter(|i| i.action == Action::Clean).count(), 1);
        assert_commits(world, &instants);
    });
}

/// What could not be told to the metadata table is found out before anything is written or deleted.
#[rstest]
fn a_table_with_an_index_that_cannot_be_kept_is_not_written(
    #[values("secondary_index_by_v", "expr_index_by_v", "bloom_filters", "vector_index_by_v")] index: &str,
) {
    let (world, spec, _) = one_group_in(World::keeping_metadata(Place::Memory));
    let path = ".hoodie/hoodie.properties";
    let properties = String::from_utf8(world.store.read(path).unwrap().unwrap().to_vec()).unwrap();
    let kept = "hoodie.table.metadata.partitions=";
    assert!(properties.contains(kept));
    world.store.replace(path, properties.replace(kept, &format!("{kept}{index},")).as_bytes()).unwrap();
    let files = world.files();
    let write = |operation| spec.write(&world.table(), operation, &[row("a", "A", 9, "")]).map(drop);
    let refused = |result: Result<()>| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}");
        assert!(error.message().contains(index), "{error}");
    };
    use Operation::{BulkInsert, Delete, Insert, InsertOverwrite, Upsert};
    [Upsert, Insert, BulkInsert, Delete, InsertOverwrite].map(write).into_iter().for_each(refused);
    assert!(world.files() == files, "nothing was written");
    refused(clean(&world.table(), 2).map(drop));
    assert_eq!(world.table().timeline().unwrap().pending().count(), 0);
}

/// So are columns of which no statistics can be made.
#[test]
fn statistics_of_nested_fields_are_refused_before_a_write_begins() {
    let (world, spec, _) = one_group_in(World::keeping_metadata(Place::Memory));
    let path = ".hoodie/.index_defs/index.json";
    let definitions = String::from_utf8(world.store.read(path).unwrap().unwrap().to_vec()).unwrap();
    assert!(definitions.contains("\"v\""), "{definitions}");
    world.store.replace(path, definitions.replace("\"v\"", "\"v.x\"").as_bytes()).unwrap();
    let files = world.files();
    let error = spec.upsert(&world.table(), &[row("a", "A", 9, "")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}");
    assert!(world.files() == files, "nothing was written");
}

#[rstest]
#[case::alone(World::new(Place::Memory))]
#[case::with_a_metadata_table(World::keeping_metadata(Place::Memory))]
fn a_clean_of_slices_with_logs_fails_at_every_call(#[case] world: World) {
    let spec = Spec { buckets: 1, ..Spec::mor() };
    let table = with(spec.create(&world), BY_HAND);
    for ts in 1..=9 {
        spec.upsert(&table, &[row("a", "A", ts, "")]).unwrap();
        if ts % 3 == 0 {
            service::compact(&table, CompactRequest::default()).unwrap();
        }
    }
    let act = |table: &Table| clean(table, 2).map(drop);
    let cleaned = world.copy();
    act(&cleaned.table()).unwrap();
    let (all, kept) = (world.data_files(), cleaned.data_files());
    let logs_gone = all.difference(&kept).filter(|name| name.contains(".log.")).count();
    assert!(logs_gone > 3 && kept.iter().any(|name| name.contains(".log.")), "{all:?} {kept:?}");
    sweep(&world, &[Fault::Kill, Fault::FailAfter], &act, &|world| {
        assert_eq!(world.data_files(), kept);
        assert_eq!(world.table().timeline().unwrap().pending().count(), 0);
    });
}

/// As Apache Hudi leaves it with `hoodie.archive.beyond.savepoint`: of the first commits only the saved one is active.
#[rstest]
fn commits_that_were_archived_behind_a_savepoint_count(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(false, true)] keeps_metadata: bool,
) {
    let place = Place::Memory;
    let world = if keeps_metadata { World::keeping_metadata(place) } else { World::new(place) };
    let spec = Spec { buckets: 1, ..Spec::new(table_type) };
    let table = with(spec.create(&world), BY_HAND);
    let rows: Vec<_> = (0..12).map(|n| row(&format!("k{n}"), &format!("city{n}"), n, "")).collect();
    let saved = spec.upsert(&table, &rows[..1]).unwrap();
    rows[1..].iter().for_each(|row| drop(spec.upsert(&table, std::slice::from_ref(row)).unwrap()));
    let files = world.files();
    let done = service::archive(&with(world.table(), SMALL), &Options::default()).unwrap();
    assert!(done.instants.len() > 3, "{:?}", done.instants);
    assert_eq!(rows_of(&world.table()), model(&rows));
    let (saved, completed) = (saved.instant.unwrap(), saved.completed.unwrap());
    for (path, bytes) in files.iter().filter(|(path, _)| path.starts_with(&format!(".hoodie/timeline/{saved}"))) {
        world.put(path, bytes);
    }
    world.put(&format!(".hoodie/timeline/{saved}_{completed}.savepoint"), b"");
    assert_eq!(rows_of(&world.table()), model(&rows));
    let warnings = Scan::plan(&world.table(), ScanRequest::default()).unwrap().explain().unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.contains(&saved)), "{warnings:?}");
    let as_of = |time: &str| {
        let request = ScanRequest { as_of: Some(time.to_owned()), ..ScanRequest::default() };
        Scan::plan(&world.table(), request).unwrap().count().unwrap()
    };
    assert_eq!((as_of(&saved), as_of(&done.instants[3])), (1, 4));
    spec.upsert(&world.table(), &[row("k1", "city1", 100, "")]).unwrap();
    assert_eq!(rows_of(&world.table()).len(), 12);
}

#[rstest]
#[case::alone(World::new(Place::Memory), Spec::cow())]
#[case::with_a_metadata_table(World::keeping_metadata(Place::Memory), Spec::cow())]
#[case::of_logs(World::new(Place::Memory), Spec::mor())]
#[case::of_logs_with_a_metadata_table(World::keeping_metadata(Place::Memory), Spec::mor())]
#[case::of_version_8(World::keeping_metadata(Place::Memory), Spec { version: 8, ..Spec::cow() })]
fn an_archiving_fails_at_every_call(#[case] world: World, #[case] spec: Spec) {
    let (spec, table_type) = (Spec { buckets: 1, ..spec.clone() }, spec.table_type);
    // Without a clean, instants stay until the metadata table has compacted what they told it.
    let by_hand = [BY_HAND, &[("hoodie.metadata.compact.max.delta.commits", "2")]].concat();
    let mut instants = updated(&world, &spec, 8);
    let small = |table: &Table| with(table.clone(), SMALL);
    // A history of two files of one level, which the next one merges.
    clean(&world.table(), 2).unwrap();
    for ts in 10..13 {
        service::archive(&small(&world.table()), &Options::default()).unwrap();
        for more in 0..3 {
            let table = with(world.table(), &by_hand);
            let done = spec.upsert(&table, &[row("a", "A", ts * 10 + more, "")]).unwrap();
            instants.push(done.instant.unwrap());
        }
    }
    let act = |table: &Table| service::archive(&small(table), &Options::default()).map(drop);
    let archived = world.copy();
    act(&archived.table()).unwrap();
    let kept = active(&archived);
    // Of logs nothing was cleaned.
    assert!(kept < active(&world) && (kept == 4 || table_type == TableType::MergeOnRead), "{kept}");
    sweep(&world, &[Fault::Kill, Fault::FailAfter, Fault::Torn], &act, &|world| {
        assert_commits(world, &instants);
        assert_eq!(active(world), kept);
        let table = world.table();
        let lines = table.timeline_lines(Listed { archived: true, operations: false }).unwrap();
        let unique: BTreeSet<_> = lines.iter().map(|line| (&line.requested, line.action.name())).collect();
        assert_eq!(unique.len(), lines.len());
    });
}

#[rstest]
#[case::alone(World::new(Place::Memory))]
#[case::with_a_metadata_table(World::keeping_metadata(Place::Memory))]
fn a_write_whose_services_fail_has_committed(#[case] world: World) {
    let (world, spec, _) = one_group_in(world);
    let trial = world.copy();
    let (table, faulty) = trial.faulty(FaultPlan::none());
    let rows = [row("a", "A", 50, "new")];
    spec.upsert(&with(table, SMALL), &rows).unwrap();
    let after = rows_of(&trial.table());
    let log = faulty.log();
    let completes = |path: &str| path.starts_with(".hoodie/timeline/") && path.ends_with(".commit");
    let committed = log.iter().position(|call| call.op == "create" && completes(&call.path)).unwrap();
    for call in &log[committed + 1..] {
        let _scene = Scene(format!("at call {} ({} {})", call.n, call.op, call.path));
        let world = world.copy();
        let (table, faulty) = world.faulty(FaultPlan::none().at(call.n, Fault::Kill));
        let done = spec.upsert(&with(table.clone(), SMALL), &rows).unwrap();
        drop((table, faulty));
        assert!(done.instant.is_some());
        assert_eq!(rows_of(&world.table()), after);
        // The next writer goes on at once, and finishes what was begun.
        let next = spec.upsert(&with(world.table(), SMALL), &[row("a", "A", 60, "next")]).unwrap();
        assert_eq!(next.warnings, [""; 0]);
        assert_eq!(world.table().timeline().unwrap().pending().count(), 0);
        world.assert_no_traces();
    }
}

#[test]
fn one_writer_cleans_for_all() {
    let (world, spec, _) = one_group();
    let _busy = world.store.try_lock(".hoodie/.locks/hudini-services.lock").unwrap().unwrap();
    let before = world.data_files().len();
    let done = spec.upsert(&with(world.table(), SMALL), &[row("a", "A", 50, "new")]).unwrap();
    assert_eq!((done.warnings, world.data_files().len()), (Vec::new(), before + 1));
}

#[test]
fn what_is_due_is_told() {
    let (world, _, _) = one_group();
    let services = |table: &Table| -> Vec<&'static str> {
        service::due(table, &Options::default()).unwrap().into_iter().map(|due| due.service).collect()
    };
    assert_eq!(services(&world.table()), [""; 0]);
    let table = with(world.table(), SMALL);
    assert_eq!(services(&table), ["clean", "archive"]);
    clean(&table, 2).unwrap();
    assert_eq!(services(&table), ["archive"]);
    service::archive(&table, &Options::default()).unwrap();
    assert_eq!(services(&table), [""; 0]);
}

#[test]
fn a_compaction_is_due_once_enough_was_logged_and_until_it_is_done() {
    let (world, spec) = (World::new(Place::Memory), Spec { buckets: 1, ..Spec::mor() });
    let table = with(spec.create(&world), BY_HAND);
    let due = |options: &[(&str, &str)]| service::due(&with(world.table(), options), &Options::default()).unwrap();
    let compact = |execute: bool| {
        let asked = CompactRequest { schedule: !execute, execute, ..CompactRequest::default() };
        service::compact(&world.table(), asked).unwrap();
    };
    // The first makes the base file.
    for ts in 1..=6 {
        assert_eq!(due(&[("hoodie.compact.inline.max.delta.commits", "6")]), []);
        spec.upsert(&table, &[row("a", "A", ts, "")]).unwrap();
    }
    let found = due(&[("hoodie.compact.inline.max.delta.commits", "6"), ("hoodie.clean.commits.retained", "1")]);
    assert_eq!(found.iter().map(|due| due.service).collect::<Vec<_>>(), ["compact"], "nothing can be cleaned");
    assert!(found[0].why.starts_with("6 delta commits since "), "{}", found[0].why);
    compact(false);
    assert!(due(&[])[0].why.ends_with(" waits"), "{:?}", due(&[]));
    compact(true);
    assert_eq!(due(&[]), []);
}

/// Without the commit that replaced it, a group would be read again.
#[test]
fn a_replacing_commit_stays_until_the_replaced_files_are_gone() {
    let (world, spec, instants) = one_group();
    let old = world.data_files();
    let id = old.first().unwrap().rsplit('/').next().unwrap().split('_').next().unwrap().to_owned();
    let table = world.table();
    let time = timeline::new_time(&table.context, &table.config().unwrap(), &table.timeline().unwrap()).unwrap();
    let metadata = CommitMetadata {
        partition_to_write_stats: Some(BTreeMap::new()),
        extra_metadata: Some(BTreeMap::new()),
        operation_type: Some("DELETE_PARTITION".into()),
        partition_to_replace_file_ids: Some(BTreeMap::from([("A".to_owned(), vec![id.clone()])])),
        ..CommitMetadata::default()
    };
    for (name, bytes) in [
        (InstantFile::requested(&time, Action::ReplaceCommit), Vec::new()),
        (InstantFile::inflight(&time, Action::ReplaceCommit), Vec::new()),
        (InstantFile::completed(&time, &time, Action::ReplaceCommit), metadata.encode().unwrap()),
    ] {
        world.put(&format!(".hoodie/timeline/{name}"), &bytes);
    }
    let archives = [SMALL, &[("hoodie.clean.automatic", "false")]].concat();
    let on_timeline = || world.table().timeline().unwrap().find(&time).is_some();
    for ts in 20..32 {
        spec.upsert(&with(world.table(), &archives), &[row("b", "B", ts, "")]).unwrap();
        assert_eq!(rows_of(&world.table()).into_keys().collect::<Vec<_>>(), ["b"]);
    }
    assert!(on_timeline());
    assert_eq!(left(&world, &instants).len(), 7);
    clean(&world.table(), 1).unwrap();
    assert_eq!(left(&world, &instants), [0; 0], "the group went as a whole");
    let done = service::archive(&with(world.table(), SMALL), &Options::default()).unwrap();
    assert!(done.instants.contains(&time) && !on_timeline());
    assert_eq!(rows_of(&world.table()).into_keys().collect::<Vec<_>>(), ["b"]);
}

/// A clean that lost its end says that all is gone, and yet a file is there.
#[test]
fn a_replacing_commit_stays_where_a_clean_missed_a_file() {
    let (world, spec, _) = one_group();
    let file = world.data_files().into_iter().next_back().unwrap();
    let kept = world.files()[&file].clone();
    let id = file.rsplit('/').next().unwrap().split('_').next().unwrap().to_owned();
    let table = world.table();
    let time = timeline::new_time(&table.context, &table.config().unwrap(), &table.timeline().unwrap()).unwrap();
    let metadata = CommitMetadata {
        partition_to_write_stats: Some(BTreeMap::new()),
        extra_metadata: Some(BTreeMap::new()),
        partition_to_replace_file_ids: Some(BTreeMap::from([("A".to_owned(), vec![id])])),
        ..CommitMetadata::default()
    };
    let name = InstantFile::completed(&time, &time, Action::ReplaceCommit);
    world.put(&format!(".hoodie/timeline/{name}"), &metadata.encode().unwrap());
    for ts in 20..32 {
        spec.upsert(&with(world.table(), BY_HAND), &[row("b", "B", ts, "")]).unwrap();
    }
    clean(&world.table(), 1).unwrap();
    world.put(&file, &kept);
    let done = service::archive(&with(world.table(), SMALL), &Options::default()).unwrap();
    assert!(!done.instants.is_empty() && !done.instants.contains(&time));
    assert_eq!(rows_of(&world.table()).into_keys().collect::<Vec<_>>(), ["b"]);
}

/// It has deleted files of which the metadata table is told only when it is over: without the commit that replaced them they
/// would be looked for.
#[test]
fn a_replacing_commit_stays_while_a_clean_that_broke_off_is_pending() {
    let world = World::keeping_metadata(Place::Memory);
    let spec = Spec::cow();
    let table = with(spec.create(&world), BY_HAND);
    let upsert = |id: &str, city: &str, ts: i64| spec.upsert(&table, &[row(id, city, ts, "")]).unwrap();
    upsert("a", "A", 1);
    (1..4).for_each(|ts| drop(upsert("c", "C", ts)));
    let mut slow = support::Stages::new(&world, &spec, &[row("b", "B", 4, "slow")]);
    (0..3).for_each(|step| slow.step(step).unwrap());
    spec.write(&table, Operation::InsertOverwrite, &[row("new", "A", 5, "")]).unwrap();
    let by_versions = request(CleanPolicy::Versions, 1);
    service::clean(&world.table(), &by_versions).unwrap();
    slow.commit().unwrap();
    (7..12).for_each(|ts| drop(upsert("c", "C", ts)));
    let planned = service::clean(&world.table(), &CleanRequest { execute: false, ..by_versions }).unwrap();
    let inflight = InstantFile::inflight(&planned.instant.unwrap(), Action::Clean);
    world.put(&format!(".hoodie/timeline/{inflight}"), b"");
    planned.files.iter().for_each(|file| assert!(world.store.delete(file).unwrap()));
    let rows = rows_of(&world.table());
    let done = service::archive(&with(world.table(), SMALL), &Options::default()).unwrap();
    assert!(!done.instants.is_empty());
    assert_eq!(rows_of(&world.table()), rows);
}
