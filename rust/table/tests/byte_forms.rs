//! The bytes that travel between driver and workers. A change of one is a new version: see `bytes_form`.

use std::collections::BTreeSet;
use std::fmt::Debug;

use hudini_table::bytes_form::BytesForm;
use hudini_table::options::{IndexType, Options, TableType};
use hudini_table::scan::{Images, Scan, ScanRequest, Split, Window};
use hudini_table::service::{CompactRequest, CompactionStatus, CompactionTask, Round};
use hudini_table::write::{
    Choice, GroupProfile, Locator, LookupTask, NEW_KEYS, NewSlots, RecordLookup, Staged, Staging, Status, Task,
};
use hudini_table::{ErrorKind, Result};
use rstest::rstest;

use crate::support::{Place, Row, Spec, Stages, World, row};

const LOCATOR: &str = include_str!("data/byte_forms/locator.txt");
/// A task for a log file on a slice, and for the first base file of a group.
const TASKS: [&str; 2] = [include_str!("data/byte_forms/task_log.txt"), include_str!("data/byte_forms/task_base.txt")];
const STATUSES: [&str; 2] =
    [include_str!("data/byte_forms/status_log.txt"), include_str!("data/byte_forms/status_base.txt")];
const COMPACTION_TASK: &str = include_str!("data/byte_forms/compaction_task.txt");
const COMPACTION_STATUS: &str = include_str!("data/byte_forms/compaction_status.txt");
/// Of rows, and of changes.
const SPLITS: [&str; 2] =
    [include_str!("data/byte_forms/split.txt"), include_str!("data/byte_forms/split_changes.txt")];

const LOOKUP: &str = include_str!("data/byte_forms/lookup.txt");
const RECORD_LOOKUP: &str = include_str!("data/byte_forms/record_lookup.txt");
const CHOICE: &str = include_str!("data/byte_forms/choice.txt");
const NEW_SLOTS: &str = include_str!("data/byte_forms/new_slots.txt");

const STAGING: &str = include_str!("data/byte_forms/staging.txt");
const STAGED: &str = include_str!("data/byte_forms/staged.txt");

/// What a write in two partitions makes, one of them new, and a scan after it.
struct Made {
    locator: Vec<u8>,
    tasks: Vec<Vec<u8>>,
    statuses: Vec<Vec<u8>>,
    splits: Vec<Vec<u8>>,
    /// Of a compaction behind the write.
    compaction_task: Vec<u8>,
    compaction_status: Vec<u8>,
}

fn make() -> Made {
    let spec = Spec { buckets: 1, ..Spec::new(TableType::MergeOnRead) };
    let world = World::new(Place::Memory);
    let old: [Row; 1] = [row("a1", "A", 1, "old")];
    spec.upsert(&spec.create(&world), &old).unwrap();
    let mut writer = Stages::new(&world, &spec, &[row("a1", "A", 2, "new"), row("b1", "B", 1, "new")]);
    (0..3).for_each(|step| writer.step(step).unwrap());
    let locator = writer.action.as_ref().unwrap().locator().to_bytes().unwrap();
    let tasks = writer.tasks.iter().map(|placed| placed.task.to_bytes().unwrap()).collect();
    let statuses = writer.statuses.iter().map(|status| status.to_bytes().unwrap()).collect();
    writer.commit().unwrap();
    let split = |changes: Option<Images>| {
        let filter = changes.is_none().then(|| "city = 'A'".to_owned());
        let request = ScanRequest { filter, window: Some(Window::default()), changes, ..ScanRequest::default() };
        let scan = Scan::plan(&world.table(), request).unwrap();
        scan.splits(Some(u64::MAX)).unwrap()[0].to_bytes().unwrap()
    };
    let splits = vec![split(None), split(Some(Images::Struct))];
    let table = world.table();
    let compaction = Round::new(&table, CompactRequest::default()).begin_next().unwrap().unwrap();
    let task = &compaction.tasks()[0];
    let compaction_task = task.to_bytes().unwrap();
    let compaction_status = task.run_on(&table.storage, &table.context, 0, 1).unwrap().to_bytes().unwrap();
    Made { locator, tasks, statuses, splits, compaction_task, compaction_status }
}

fn json(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(&bytes[HEAD..]).unwrap()
}

/// "hudini", a letter, two digits.
const HEAD: usize = 9;

/// The names on the way to every value.
fn names(value: &serde_json::Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(k, v)| names(v, &format!("{at}.{k}"), found)),
        serde_json::Value::Array(items) => items.iter().for_each(|v| names(v, &format!("{at}[]"), found)),
        _ => drop(found.insert(at.to_owned())),
    }
}

/// The golden text says the same when read and printed, and a value of today has no parts that are not in it.
fn stands<T: BytesForm + Debug + PartialEq>(golden: &str, today: &[u8]) {
    let golden = golden.trim_end();
    let value = T::from_bytes(golden.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(value.to_bytes().unwrap()).unwrap(), golden);
    let names = |bytes: &[u8]| {
        let mut found = BTreeSet::new();
        names(&json(bytes), "", &mut found);
        // Times are keys here.
        found.into_iter().map(|name| name.replace(|c: char| c.is_ascii_digit(), "")).collect::<BTreeSet<_>>()
    };
    let (today_s, golden_s) = (names(today), names(golden.as_bytes()));
    assert!(today_s.is_subset(&golden_s), "new: {:?}", today_s.difference(&golden_s).collect::<Vec<_>>());
    assert_eq!(T::from_bytes(today).unwrap().to_bytes().unwrap(), today);
}

#[test]
fn locators_stand() {
    stands::<Locator>(LOCATOR, &make().locator);
}

#[test]
fn tasks_stand() {
    let made = make();
    TASKS.iter().zip(&made.tasks).for_each(|(golden, today)| stands::<Task>(golden, today));
}

#[test]
fn lookups_stand() {
    stands::<LookupTask>(LOOKUP, &lookup());
}

#[test]
fn lookups_in_the_record_index_stand() {
    stands::<RecordLookup>(RECORD_LOOKUP, &record_lookup());
    stands::<Choice>(CHOICE, &choice());
}

#[test]
fn plans_for_new_keys_stand() {
    stands::<NewSlots>(NEW_SLOTS, &new_slots());
}

/// Of a table without buckets.
fn lookup() -> Vec<u8> {
    let spec = Spec { index: IndexType::Bloom, ..Spec::new(TableType::MergeOnRead) };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    for ts in 1..3 {
        spec.upsert(&table, &[row("a1", "A", ts, "v")]).unwrap();
    }
    let mut writer = Stages::new(&world, &spec, &[row("a1", "A", 3, "new")]);
    writer.step(0).unwrap();
    let rounds = writer.action.as_mut().unwrap().lookup_rounds(["A"].into_iter()).unwrap();
    rounds[0][0].to_bytes().unwrap()
}

/// Of a table with one key.
fn record_lookup() -> Vec<u8> {
    let spec = Spec { index: IndexType::Simple, ..Spec::new(TableType::MergeOnRead) };
    let world = World::keeping_metadata(Place::Memory);
    let mut table = spec.create(&world);
    table.options = Options::parse([("hoodie.index.type".to_owned(), "RECORD_INDEX".to_owned())]).unwrap();
    spec.upsert(&table, &[row("a1", "A", 1, "v")]).unwrap();
    let mut writer = Stages::new(&world, &spec, &[row("a1", "A", 3, "new")]);
    writer.step(0).unwrap();
    let lookup = writer.action.as_ref().unwrap().record_lookup().unwrap();
    lookup.unwrap().to_bytes().unwrap()
}

fn choice() -> Vec<u8> {
    let spec = Spec { index: IndexType::Simple, ..Spec::new(TableType::MergeOnRead) };
    let world = World::new(Place::Memory);
    spec.create(&world);
    let mut writer = Stages::new(&world, &spec, &[row("a1", "A", 1, "new")]);
    writer.step(0).unwrap();
    writer.action.as_ref().unwrap().choice().unwrap().to_bytes().unwrap()
}

fn new_slots() -> Vec<u8> {
    let spec = Spec { index: IndexType::Bloom, ..Spec::new(TableType::MergeOnRead) };
    let world = World::new(Place::Memory);
    spec.create(&world);
    let mut writer = Stages::new(&world, &spec, &[row("a1", "A", 1, "new")]);
    writer.step(0).unwrap();
    let action = writer.action.as_mut().unwrap();
    action.place(&[GroupProfile { partition: "A".into(), slot: NEW_KEYS, rows: 1, bytes: 8 }]).unwrap();
    action.new_slots().to_bytes().unwrap()
}

#[test]
fn statuses_stand() {
    let made = make();
    STATUSES.iter().zip(&made.statuses).for_each(|(golden, today)| stands::<Status>(golden, today));
}

#[test]
fn staged_rows_stand() {
    let (staging, staged) = staged();
    stands::<Staging>(STAGING, &staging);
    stands::<Staged>(STAGED, &staged);
}

/// The folder, and a file in it.
fn staged() -> (Vec<u8>, Vec<u8>) {
    let spec = Spec { buckets: 1, ..Spec::cow() };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    let staging = Staging::open(&table).unwrap();
    let rows = spec.batch(&[row("a", "A", 1, "")]);
    let staged = staging.stage_on(world.store.as_ref(), &table.context, &rows.schema(), [Ok(rows.clone())]).unwrap();
    (staging.to_bytes().unwrap(), staged.to_bytes().unwrap())
}

#[test]
fn splits_stand() {
    let made = make();
    SPLITS.iter().zip(&made.splits).for_each(|(golden, today)| stands::<Split>(golden, today));
}

#[test]
fn compactions_stand() {
    let made = make();
    stands::<CompactionTask>(COMPACTION_TASK, &made.compaction_task);
    stands::<CompactionStatus>(COMPACTION_STATUS, &made.compaction_status);
}

/// `HUDINI_BLESS=1` writes the golden texts anew: for a new version.
#[test]
#[allow(clippy::disallowed_methods, reason = "golden files")]
fn bless() {
    if std::env::var_os("HUDINI_BLESS").is_none() {
        return;
    }
    let (made, (staging, staged)) = (make(), staged());
    let named = [
        ("locator", &made.locator),
        ("task_log", &made.tasks[0]),
        ("task_base", &made.tasks[1]),
        ("status_log", &made.statuses[0]),
        ("status_base", &made.statuses[1]),
        ("split", &made.splits[0]),
        ("split_changes", &made.splits[1]),
        ("compaction_task", &made.compaction_task),
        ("compaction_status", &made.compaction_status),
        ("lookup", &lookup()),
        ("record_lookup", &record_lookup()),
        ("choice", &choice()),
        ("new_slots", &new_slots()),
        ("staging", &staging),
        ("staged", &staged),
    ];
    for (name, bytes) in named {
        let path = format!("{}/tests/data/byte_forms/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, [bytes, b"\n".as_slice()].concat()).unwrap();
    }
}

fn read<T: BytesForm>(bytes: &[u8]) -> Result<()> {
    T::from_bytes(bytes).map(drop)
}

#[rstest]
#[case::locator(LOCATOR, read::<Locator>)]
#[case::task(TASKS[0], read::<Task>)]
#[case::status(STATUSES[0], read::<Status>)]
#[case::split(SPLITS[0], read::<Split>)]
#[case::compaction_task(COMPACTION_TASK, read::<CompactionTask>)]
#[case::compaction_status(COMPACTION_STATUS, read::<CompactionStatus>)]
#[case::lookup(LOOKUP, read::<LookupTask>)]
#[case::record_lookup(RECORD_LOOKUP, read::<RecordLookup>)]
#[case::choice(CHOICE, read::<Choice>)]
#[case::new_slots(NEW_SLOTS, read::<NewSlots>)]
#[case::staging(STAGING, read::<Staging>)]
#[case::staged(STAGED, read::<Staged>)]
fn other_versions_and_other_bytes_are_refused(#[case] golden: &str, #[case] read: fn(&[u8]) -> Result<()>) {
    let newer = golden.replacen("16", "17", 1);
    let error = read(newer.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    assert!(error.message().contains("version 17") && error.hint().unwrap().contains("workers"), "{error}");
    let writes = [LOCATOR, TASKS[0], STATUSES[0], LOOKUP, RECORD_LOOKUP, CHOICE, NEW_SLOTS, STAGING, STAGED];
    let forms = [&writes[..], &[SPLITS[0], COMPACTION_TASK, COMPACTION_STATUS]].concat();
    let letters: BTreeSet<&str> = forms.iter().map(|form| &form[6..7]).collect();
    assert_eq!(letters.len(), forms.len(), "each kind has its own letter");
    for letter in letters.into_iter().filter(|letter| *letter != &golden[6..7]) {
        let other = format!("hudini{letter}{}", &golden[7..]);
        assert_eq!(read(other.as_bytes()).unwrap_err().kind(), ErrorKind::InvalidOption);
    }
    for cut in [0, 5, HEAD, golden.len() / 2] {
        assert_eq!(read(&golden.as_bytes()[..cut]).unwrap_err().kind(), ErrorKind::InvalidOption);
    }
}
