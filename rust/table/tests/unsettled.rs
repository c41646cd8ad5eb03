//! Golden tables of version 6 with a write that has not completed before one that has.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::golden::golden_files;
use hudini_format::action::RequestedReplaceMetadata;
use hudini_table::context::{Context, ManualClock};
use hudini_table::options::Options;
use hudini_table::scan::{Images, Scan, ScanRequest, Window};
use hudini_table::storage::Storage;
use hudini_table::storage::memory::Memory;
use hudini_table::{ErrorKind, Location, Result, Table};
use rstest::rstest;

const POLICY: &str = "hoodie.read.timeline.holes.resolution.policy";
const CLUSTERING: &str = "cow_pending_clustering_v6";

struct Golden {
    storage: Arc<dyn Storage>,
    /// Times of completed commits.
    commits: Vec<String>,
}

impl Golden {
    fn of(case: &str) -> Self {
        let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
        let mut commits = Vec::new();
        for file in golden_files(|path| path.starts_with("table/")).iter().filter(|file| file.case == case) {
            let path = file.path.strip_prefix("table/").unwrap();
            memory.replace(path, &file.bytes).unwrap();
            let name = path.strip_prefix(".hoodie/").and_then(|name| name.split_once('.'));
            commits
                .extend(name.filter(|(_, action)| ["commit", "deltacommit"].contains(action)).map(|n| n.0.to_owned()));
        }
        commits.sort();
        assert!(commits.len() > 2, "{case}: {commits:?}");
        Self { storage: Arc::new(memory), commits }
    }

    /// A write begins right before a commit.
    fn begin_before(&self, commit: &str, action: &str, plan: &[u8]) -> String {
        let time = (commit.parse::<u64>().unwrap() - 1).to_string();
        self.storage.replace(&format!(".hoodie/{time}.{action}.requested"), plan).unwrap();
        time
    }

    fn table(&self, options: &[(&str, &str)]) -> Table {
        let location = Location { url: "t".to_owned(), storage_options: BTreeMap::new() };
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let (storage, context) = (Arc::clone(&self.storage), Context::system(Some(1)));
        Table { location, storage, context, options: Options::parse(options).unwrap() }
    }
}

/// The newest instant of a range, and the number of its rows or changes.
fn range(table: &Table, changes: bool, start: Option<&str>, end: Option<&str>) -> Result<(Option<String>, u64)> {
    let window = Window { start: start.map(str::to_owned), end: end.map(str::to_owned) };
    let changes = changes.then_some(Images::Json);
    let scan = Scan::plan(table, ScanRequest { window: Some(window), changes, ..ScanRequest::default() })?;
    Ok((scan.instant().map(str::to_owned), scan.count()?))
}

#[rstest]
fn a_range_ends_before_a_write_that_has_not_completed(
    #[values("cow_core_v6", "mor_core_v6", "cdc_cow_v6")] case: &str,
    #[values(false, true)] changes: bool,
) {
    let golden = Golden::of(case);
    let whole = golden.table(&[]);
    let [.., before, last] = &golden.commits[..] else { panic!("one commit is no range") };
    let settled = range(&whole, changes, None, Some(before)).unwrap();
    let all = range(&whole, changes, None, None).unwrap();
    assert_ne!(all, settled);
    let action = if case.starts_with("mor") { "deltacommit" } else { "commit" };
    let hollow = golden.begin_before(last, action, b"");

    let refused = range(&golden.table(&[]), changes, None, None).unwrap_err();
    assert_eq!((refused.kind(), refused.instant()), (ErrorKind::InstantNotFound, Some(hollow.as_str())));
    assert!(refused.hint().unwrap().contains(&format!("{POLICY}=BLOCK")), "{refused}");
    let behind = range(&golden.table(&[(POLICY, "FAIL")]), changes, Some(&hollow), None).unwrap_err();
    assert_eq!(behind.instant(), Some(hollow.as_str()), "who begins behind it would never see it");
    assert_eq!(range(&golden.table(&[]), changes, None, Some(before)).unwrap(), settled, "it ends before that");

    let blocked = golden.table(&[(POLICY, "BLOCK")]);
    assert_eq!(range(&blocked, changes, None, None).unwrap(), settled);
    assert_eq!(range(&blocked, changes, Some(before), None).unwrap().1, 0);

    golden.storage.delete(&format!(".hoodie/{hollow}.{action}.requested")).unwrap();
    assert_eq!(range(&golden.table(&[]), changes, None, None).unwrap(), all, "rolled back");
}

#[test]
fn a_pending_compaction_is_no_hole() {
    let golden = Golden::of("mor_pending_compaction_v6");
    let all = range(&golden.table(&[]), false, None, None).unwrap();
    assert_eq!(all.0.as_ref(), golden.commits.last());
}

#[test]
fn what_is_pending_behind_all_others_is_no_hole() {
    let golden = Golden::of("timeline_long_cow_v6");
    let all = range(&golden.table(&[]), false, None, None).unwrap();
    golden.storage.replace(".hoodie/29991231235959999.commit.requested", b"").unwrap();
    assert_eq!(range(&golden.table(&[]), false, None, None).unwrap(), all);
}

#[test]
fn times_of_transition_are_refused_where_they_are_times_of_files() {
    let six = Golden::of("timeline_long_cow_v6").table(&[(POLICY, "use_transition_time")]);
    let error = range(&six, false, None, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    assert!(error.message().contains("USE_TRANSITION_TIME"), "{error}");
}

fn as_of(golden: &Golden, time: &str) -> Result<u64> {
    Scan::plan(&golden.table(&[]), ScanRequest { as_of: Some(time.to_owned()), ..ScanRequest::default() })?.count()
}

/// As in later versions, where a pending clustering has a name of its own.
#[test]
fn a_pending_clustering_unsettles_nothing() {
    let golden = Golden::of(CLUSTERING);
    assert_eq!(as_of(&golden, "9").unwrap(), 30);
    let all = range(&golden.table(&[]), false, None, None).unwrap();
    assert_eq!((all.0.as_ref(), all.1), (golden.commits.last(), 30));
}

#[rstest]
#[case::without_a_plan(None)]
#[case::with_one(Some("INSERT_OVERWRITE"))]
fn a_pending_overwrite_does(#[case] operation: Option<&str>) {
    let golden = Golden::of(CLUSTERING);
    let plan = |operation: &str| RequestedReplaceMetadata {
        operation_type: Some(operation.to_owned()),
        ..RequestedReplaceMetadata::default()
    };
    let plan = operation.map_or_else(Vec::new, |operation| plan(operation).encode().unwrap());
    let last = golden.commits.last().unwrap();
    let hollow = golden.begin_before(last, "replacecommit", &plan);
    for error in [as_of(&golden, "9").unwrap_err(), range(&golden.table(&[]), false, None, None).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::InstantNotFound);
        assert!(error.message().contains(&hollow), "{error}");
    }
    assert_eq!(as_of(&golden, &golden.commits[0]).unwrap(), 12, "a state before it");
}
