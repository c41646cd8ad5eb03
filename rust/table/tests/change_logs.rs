//! Change logs of golden tables that lost something.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::golden::golden_files;
use hudini_table::context::{Context, ManualClock, Watch};
use hudini_table::options::Options;
use hudini_table::scan::{Images, Scan, ScanRequest, Window};
use hudini_table::storage::Storage;
use hudini_table::storage::memory::Memory;
use hudini_table::verify::{Level, verify};
use hudini_table::{ErrorKind, Location, Result, Table};
use rstest::rstest;

/// The table, and its change logs with what they hold.
fn stored(case: &str) -> (Table, Vec<(String, Vec<u8>)>) {
    let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
    let mut logs = Vec::new();
    for file in golden_files(|path| path.starts_with("table/")).iter().filter(|file| file.case == case) {
        let path = file.path.strip_prefix("table/").unwrap();
        memory.replace(path, &file.bytes).unwrap();
        if path.ends_with(".cdc") {
            logs.push((path.to_owned(), file.bytes.to_vec()));
        }
    }
    assert!(!logs.is_empty(), "{case} has no change logs");
    let location = Location { url: "t".to_owned(), storage_options: BTreeMap::new() };
    let (storage, context) = (Arc::new(memory), Context::system(Some(1)));
    (Table { location, storage, context, options: Options::parse(Vec::new()).unwrap() }, logs)
}

fn changes(table: &Table) -> Result<u64> {
    let (window, changes) = (Some(Window::default()), Some(Images::Json));
    Scan::plan(table, ScanRequest { window, changes, ..ScanRequest::default() })?.count()
}

fn damages(table: &Table) -> Vec<(&'static str, Option<String>)> {
    let report = verify(table, true, &Watch::default()).unwrap();
    let damages = report.findings.into_iter().filter(|finding| finding.level == Level::Damage);
    damages.map(|finding| (finding.check, finding.path)).collect()
}

#[rstest]
fn a_change_log_that_was_cut_is_no_log_of_fewer_changes(
    #[values("cdc_cow_v6", "cdc_cow_v8", "cdc_cow_op_key_only", "cdc_cow_data_before_after_v9")] case: &str,
) {
    let (table, logs) = stored(case);
    changes(&table).unwrap();
    assert_eq!(damages(&table), []);
    for (path, bytes) in &logs {
        for left in [0, bytes.len() / 2, bytes.len() - 1] {
            table.storage.replace(path, &bytes[..left]).unwrap();
            let error = changes(&table).unwrap_err();
            assert_eq!((error.kind(), error.path()), (ErrorKind::CorruptFile, Some(path.as_str())), "{left}: {error}");
        }
        table.storage.replace(path, bytes).unwrap();
    }
    let (path, bytes) = &logs[0];
    table.storage.replace(path, b"").unwrap();
    assert!(damages(&table).contains(&("file_size", Some(path.clone()))), "{:?}", damages(&table));
    table.storage.delete(path).unwrap();
    assert!(damages(&table).contains(&("missing_file", Some(path.clone()))), "{:?}", damages(&table));
    table.storage.replace(path, bytes).unwrap();
    assert_eq!(damages(&table), []);
}
