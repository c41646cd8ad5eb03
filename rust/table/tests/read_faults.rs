//! Each storage call of a read fails once, times out, or comes back short: the rows are right, or there is an error of
//! storage. Never rows that are wrong.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../../format/tests/support/mod.rs"]
mod golden;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use golden::golden_files;
use hudini_table::context::{Context, ManualClock, Watch};
use hudini_table::inspect;
use hudini_table::metadata;
use hudini_table::options::{Options, QueryType};
use hudini_table::scan::{Images, Scan, ScanRequest, Window};
use hudini_table::storage::Storage;
use hudini_table::storage::faulty::{Fault, FaultPlan, Faulty};
use hudini_table::storage::memory::Memory;
use hudini_table::verify::verify;
use hudini_table::{ErrorKind, Listed, Location, Result, Table};
use rstest::rstest;

/// A question has: of one that takes more calls, not each meets a fault.
const MOST_FAULTS: usize = 200;
const FAULTS: [Fault; 3] = [Fault::Fail, Fault::FailAfter, Fault::Short];

fn stored(case: &str) -> Arc<dyn Storage> {
    let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
    let files = golden_files(|path| path.starts_with("table/"));
    let mut found = 0;
    for file in files.iter().filter(|file| file.case == case) {
        memory.replace(file.path.strip_prefix("table/").unwrap(), &file.bytes).unwrap();
        found += 1;
    }
    assert!(found > 0, "there is no golden table {case}");
    Arc::new(memory)
}

fn table(storage: Arc<dyn Storage>) -> Table {
    let location = Location { url: "t".to_owned(), storage_options: BTreeMap::new() };
    Table { location, storage, context: Context::system(Some(1)), options: Options::parse(Vec::new()).unwrap() }
}

/// All that is answered, or the first error.
fn answer(storage: Arc<dyn Storage>, request: &ScanRequest) -> Result<RecordBatch> {
    let scan = Scan::plan(&table(storage), request.clone())?;
    let batches = scan.read()?.collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(scan.schema(), &batches)?)
}

fn requests() -> Vec<(&'static str, ScanRequest)> {
    let window = Some(Window { start: None, end: None });
    let filter = Some("_hoodie_record_key = '1' or _hoodie_record_key = 'id:1'".to_owned());
    vec![
        ("snapshot", ScanRequest::default()),
        ("read-optimised", ScanRequest { mode: Some(QueryType::ReadOptimized), ..ScanRequest::default() }),
        ("filter", ScanRequest { filter, ..ScanRequest::default() }),
        ("incremental", ScanRequest { window: window.clone(), ..ScanRequest::default() }),
        ("changes", ScanRequest { window, changes: Some(Images::Json), ..ScanRequest::default() }),
    ]
}

#[rstest]
fn no_fault_of_a_read_makes_a_wrong_answer(
    #[values(
        "cow_bootstrap_metadata_only_v9",
        "cow_clustering_v8",
        "mor_core_v6",
        "mor_core_v9",
        "mor_hfile_log_v8",
        "mor_metadata_all_indexes_v9",
        "mor_parquet_log_v9",
        "mor_pending_compaction_v9",
        "mor_record_index_v8",
        "timeline_archived_v8",
        "timeline_long_cow_v6"
    )]
    case: &str,
) {
    let inner = stored(case);
    let mut faults = 0;
    for (at, (name, request)) in requests().into_iter().enumerate() {
        let sound = Faulty::new(Arc::clone(&inner), FaultPlan::none());
        // What cannot be answered at all is not asked again.
        let Ok(expected) = answer(Arc::new(sound.clone()), &request) else { continue };
        let step = sound.calls() as usize / MOST_FAULTS + 1;
        for n in (1..=sound.calls()).step_by(step) {
            // Each kind of fault at a third of the calls, another third for each question.
            let fault = FAULTS[(n as usize / step + at) % FAULTS.len()];
            let faulty = Faulty::new(Arc::clone(&inner), FaultPlan::none().at(n, fault));
            let call = || format!("{case}: {name}, {fault:?} at {:?}", sound.log().get(n as usize - 1));
            match answer(Arc::new(faulty), &request) {
                Ok(rows) => assert!(rows == expected, "{}: other rows", call()),
                Err(e) => assert_eq!(e.kind(), ErrorKind::StorageFailure, "{}: {e}", call()),
            }
            faults += 1;
        }
    }
    assert!(faults > 100, "{case}: {faults} faults");
}

type Look = fn(&Table) -> Result<String>;

/// What a table is asked beside its rows, and the answer as a text.
const LOOKS: [(&str, Look); 7] = [
    ("history", |table| Ok(format!("{:?}", table.history(None)?))),
    ("timeline", |table| Ok(format!("{:?}", table.timeline_lines(Listed { archived: true, operations: true })?))),
    ("partitions", |table| Ok(format!("{:?}", inspect::partitions(table)?))),
    ("slices", |table| Ok(format!("{:?}", inspect::slices(table, None, None)?))),
    ("indexes", |table| Ok(format!("{:?}", inspect::indexes(table)?))),
    ("metadata", |table| {
        let rows = metadata::rows(table, None)?;
        let batches = rows.rows.collect::<Result<Vec<_>>>()?;
        Ok(format!("{:?}", concat_batches(&rows.schema, &batches)?))
    }),
    ("verify", |table| {
        let report = verify(table, true, &Watch::default())?;
        Ok(format!("{:?} {:?}", report.findings, report.checked))
    }),
];

#[rstest]
fn no_fault_of_a_look_makes_a_wrong_answer(
    #[values("mor_metadata_all_indexes_v9", "timeline_archived_v8", "timeline_long_cow_v6", "mor_core_v9")] case: &str,
) {
    let inner = stored(case);
    let mut faults = 0;
    for (at, (name, look)) in LOOKS.into_iter().enumerate() {
        let sound = Faulty::new(Arc::clone(&inner), FaultPlan::none());
        let Ok(expected) = look(&table(Arc::new(sound.clone()))) else { continue };
        let step = sound.calls() as usize / MOST_FAULTS + 1;
        for n in (1..=sound.calls()).step_by(step) {
            let fault = FAULTS[(n as usize / step + at) % FAULTS.len()];
            let faulty = Faulty::new(Arc::clone(&inner), FaultPlan::none().at(n, fault));
            let call = || format!("{case}: {name}, {fault:?} at {:?}", sound.log().get(n as usize - 1));
            // Of a file that was never there, a failure to look at it tells no more than that it is not there.
            let is_there = || inner.head(&sound.log()[n as usize - 1].path).unwrap().is_some();
            match look(&table(Arc::new(faulty))) {
                Ok(answer) if answer.contains("vanished") && !is_there() => {}
                Ok(answer) => assert_eq!(answer, expected, "{}", call()),
                Err(e) => assert_eq!(e.kind(), ErrorKind::StorageFailure, "{}: {e}", call()),
            }
            faults += 1;
        }
    }
    assert!(faults > 20, "{case}: {faults} faults");
}
