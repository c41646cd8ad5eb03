//! Files of archived commits that are gone, where nothing but folders tells of files.

use std::collections::BTreeMap;

use hudini_format::action::{CleanMetadata, CleanPartitionMetadata, CommitMetadata, WriteStat};
use hudini_format::history::{self, Entry, HistoryFile, Manifest};
use hudini_format::instant::Action;
use hudini_table::context::Watch;
use hudini_table::options::{Options, QueryType};
use hudini_table::scan::{Explanation, Scan, ScanRequest};
use hudini_table::verify::verify;
use hudini_table::view::PARTITION_FILE;
use hudini_table::{Error, ErrorKind, Result, Table};
use rstest::rstest;

use crate::support::lake::{Lake, base, time};

const HISTORY: &str = ".hoodie/timeline/history";

fn log(id: &str, n: u32) -> String {
    format!(".{id}_{}.log.1_0-1-0", time(n))
}

/// What an archived action did: a commit that wrote these files, by partition, and replaced those groups.
fn wrote(n: u32, files: &[(&str, String)], replaced: &[(&str, &str)]) -> Entry {
    let mut stats: BTreeMap<String, Vec<WriteStat>> = BTreeMap::new();
    for (partition, name) in files {
        let stat = WriteStat { path: Some(format!("{partition}/{name}")), ..WriteStat::zeroed() };
        stats.entry((*partition).to_owned()).or_default().push(stat);
    }
    let mut ids: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (partition, id) in replaced {
        ids.entry((*partition).to_owned()).or_default().push((*id).to_owned());
    }
    let metadata = CommitMetadata {
        partition_to_write_stats: Some(stats),
        partition_to_replace_file_ids: (!ids.is_empty()).then_some(ids),
        ..CommitMetadata::default()
    };
    let action = if replaced.is_empty() { Action::DeltaCommit } else { Action::ReplaceCommit };
    entry(n, action, metadata.encode().unwrap())
}

fn cleaned(n: u32, partition: &str, files: &[String]) -> Entry {
    let took = CleanPartitionMetadata {
        partition_path: partition.to_owned(),
        success_delete_files: files.to_vec(),
        ..CleanPartitionMetadata::default()
    };
    let metadata = CleanMetadata {
        start_clean_time: time(n),
        partition_metadata: BTreeMap::from([(partition.to_owned(), took)]),
        ..CleanMetadata::default()
    };
    entry(n, Action::Clean, metadata.encode().unwrap())
}

fn entry(n: u32, action: Action, metadata: Vec<u8>) -> Entry {
    Entry {
        requested: time(n),
        completed: Some(time(n + 5)),
        action: Some(action),
        metadata: Some(metadata),
        plan: None,
    }
}

/// A table without a metadata table: one active commit to partition `busy`, and this history.
fn table(entries: &[Entry], there: &[(&str, String)]) -> Lake {
    let lake = Lake::new("");
    lake.commit(900, &[("busy", base("z", 900))]);
    let name = format!("{}_{}_0.parquet", time(1), time(899));
    let bytes = history::write(entries).unwrap();
    lake.world.put(&format!("{HISTORY}/{name}"), &bytes);
    let file = HistoryFile { file_name: name, file_len: bytes.len() as u64 };
    lake.world.put(&format!("{HISTORY}/manifest_1"), &Manifest { files: vec![file] }.encode());
    lake.world.put(&format!("{HISTORY}/_version_"), b"1");
    for (partition, name) in there {
        lake.world.put(&format!("{partition}/{name}"), b"1");
        let _ = lake.world.store.create(&format!("{partition}/{PARTITION_FILE}"), b"").unwrap();
    }
    lake
}

fn asked(lake: &Lake, request: ScanRequest) -> Result<Explanation> {
    let options = Options::parse([("hoodie.metadata.enable".to_owned(), "false".to_owned())]).unwrap();
    Scan::plan(&Table { options, ..lake.table() }, request)?.explain()
}

fn all(lake: &Lake) -> Result<Explanation> {
    asked(lake, ScanRequest::default())
}

/// The files that a deep look misses.
fn missed(lake: &Lake) -> Vec<String> {
    let report = verify(&lake.table(), true, &Watch::default()).unwrap();
    let missing = report.findings.into_iter().filter(|finding| finding.check == "missing_file");
    missing.filter_map(|finding| finding.path).collect()
}

#[track_caller]
fn assert_missed(lake: &Lake, path: &str) {
    let error: Error = all(lake).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::StorageFailure, Some(path)), "{error}");
    assert_eq!(missed(lake), [path]);
}

#[track_caller]
fn assert_whole(lake: &Lake, files: usize) {
    let explained = all(lake).unwrap();
    assert_eq!((explained.base_files + explained.log_files, explained.warnings), (files, vec![]));
    assert_eq!(missed(lake), [""; 0]);
}

#[test]
fn the_slice_before_does_not_stand_in_for_the_newest() {
    let (old, new) = (base("a", 10), base("a", 20));
    let history = [wrote(10, &[("x", old.clone())], &[]), wrote(20, &[("x", new.clone())], &[])];
    assert_whole(&table(&history, &[("x", old.clone()), ("x", new.clone())]), 2);
    assert_whole(&table(&history, &[("x", new.clone())]), 2);
    assert_missed(&table(&history, &[("x", old)]), &format!("x/{new}"));
}

#[test]
fn a_group_and_a_folder_that_are_gone_as_a_whole_are_missed() {
    let (a, b) = (base("a", 10), base("b", 20));
    let history = [wrote(10, &[("x", a.clone()), ("x", b.clone())], &[])];
    assert_missed(&table(&history, &[("x", a.clone())]), &format!("x/{b}"));
    let lake = table(&history[..], &[]);
    assert_eq!(all(&lake).unwrap_err().kind(), ErrorKind::StorageFailure);
    assert_eq!(missed(&lake), [format!("x/{a}"), format!("x/{b}")]);
}

#[test]
fn a_log_is_missed_unless_a_compaction_took_it_in() {
    let (a, first, second) = (base("a", 10), log("a", 20), log("a", 30));
    let history = [
        wrote(10, &[("x", a.clone())], &[]),
        wrote(20, &[("x", first.clone())], &[]),
        wrote(30, &[("x", second.clone())], &[]),
    ];
    let lake = table(&history, &[("x", a.clone()), ("x", second.clone())]);
    assert_missed(&lake, &format!("x/{first}"));
    let read_optimized = ScanRequest { mode: Some(QueryType::ReadOptimized), ..ScanRequest::default() };
    assert_eq!(asked(&lake, read_optimized).unwrap().base_files, 2);

    let compacted = [&history[..], &[wrote(40, &[("x", base("a", 40))], &[])]].concat();
    assert_whole(&table(&compacted, &[("x", a), ("x", base("a", 40))]), 2);
}

#[test]
fn groups_that_were_replaced_are_not_missed() {
    let (a, b) = (base("a", 10), base("b", 20));
    let history = [wrote(10, &[("x", a)], &[]), wrote(20, &[("x", b.clone())], &[("x", "a")])];
    assert_whole(&table(&history, &[("x", b)]), 2);
}

/// Where the history has lost who replaced a group, a clean still tells that its files are rightly gone.
#[test]
fn what_a_clean_took_is_not_missed_now_and_is_in_the_past() {
    let (a, b) = (base("a", 10), base("b", 20));
    let commits = [wrote(10, &[("x", a.clone())], &[]), wrote(20, &[("x", b.clone())], &[])];
    let there = [("x", b)];
    assert_missed(&table(&commits, &there), &format!("x/{a}"));
    let lake = table(&[&commits[..], &[cleaned(30, "x", std::slice::from_ref(&a))]].concat(), &there);
    assert_whole(&lake, 2);
    let past = ScanRequest { as_of: Some(time(900)), ..ScanRequest::default() };
    let error = asked(&lake, past).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::InstantCleaned, Some(&*format!("x/{a}"))), "{error}");
}

/// Of a group that a clean took in part, as far as anybody knows, the rest is missed all the same.
#[test]
fn behind_what_a_clean_took_something_may_be_missing() {
    let (old, new) = (base("a", 10), base("a", 20));
    let history =
        [wrote(10, &[("x", old.clone())], &[]), wrote(20, &[("x", new.clone())], &[]), cleaned(30, "x", &[new])];
    assert_missed(&table(&history, &[]), &format!("x/{old}"));
}

#[rstest]
#[case::of_another_partition("p = 'busy'", true)]
#[case::of_this_one("p = 'x'", false)]
fn partitions_that_nobody_wants_are_not_asked(#[case] filter: &str, #[case] answers: bool) {
    let a = base("a", 10);
    let lake = table(&[wrote(10, &[("x", a)], &[])], &[]);
    let request = ScanRequest { filter: Some(filter.to_owned()), ..ScanRequest::default() };
    assert_eq!(asked(&lake, request).is_ok(), answers);
}

#[test]
fn files_of_changes_and_files_that_are_no_data_are_not_missed() {
    let a = base("a", 10);
    let others = ["a_0-1-0.txt".to_owned(), format!("{}-cdc", log("a", 10))];
    let named: Vec<_> = others.into_iter().chain([a.clone()]).map(|name| ("x", name)).collect();
    assert_whole(&table(&[wrote(10, &named, &[])], &[("x", a)]), 2);
}

#[test]
fn a_file_that_was_registered_where_it_lies_is_refused() {
    let lake = table(&[wrote(10, &[("x", "part-0.parquet_20261121000010000_hudiext".to_owned())], &[])], &[]);
    assert_eq!(all(&lake).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
}

#[test]
fn a_folder_that_nobody_marked_is_no_loss_but_damage() {
    let a = base("a", 10);
    let lake = table(&[wrote(10, &[("x", a.clone())], &[])], &[("x", a.clone())]);
    lake.world.store.delete(&format!("x/{PARTITION_FILE}")).unwrap();
    let error = all(&lake).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::CorruptFile, Some(&*format!("x/{a}"))), "{error}");
}

#[rstest]
#[case::an_action(&[entry(10, Action::DeltaCommit, b"no metadata".to_vec())], None)]
#[case::a_file(&[], Some(time(1)))]
#[case::the_manifest(&[], Some("manifest_".to_owned()))]
fn a_history_that_cannot_be_read_costs_a_warning(#[case] entries: &[Entry], #[case] gone: Option<String>) {
    let lake = table(entries, &[("x", base("a", 10))]);
    if let Some(gone) = gone {
        let [file] = &lake.world.names_below(&format!("{HISTORY}/{gone}"))[..] else { panic!() };
        lake.world.store.delete(file).unwrap();
    }
    let explained = all(&lake).unwrap();
    assert_eq!(explained.base_files, 2);
    let [warning] = &explained.warnings[..] else { panic!("{:?}", explained.warnings) };
    assert!(warning.contains("files of archived commits are not missed"), "{warning}");
    assert!(warning.contains(".hoodie/timeline"), "{warning}");
}
