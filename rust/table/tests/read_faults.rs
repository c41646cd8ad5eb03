//! Each storage call of a read fails once, times out, or comes back short: the rows are right, or there is an error of
//! storage. Never rows that are wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::golden::golden_files;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_select::concat::concat_batches;
use hudini_table::context::{Context, ManualClock, Watch};
use hudini_table::inspect;
use hudini_table::metadata;
use hudini_table::options::{Options, QueryType};
use hudini_table::scan::{Images, Scan, ScanRequest, Window};
use hudini_table::storage::Storage;
use hudini_table::storage::faulty::{Call, Fault, FaultPlan, Faulty};
use hudini_table::storage::memory::Memory;
use hudini_table::verify::verify;
use hudini_table::{ErrorKind, Listed, Location, Result, Table};
use rstest::rstest;

/// A question has: of one that takes more calls, not each meets a fault.
const MOST_FAULTS: usize = 200;

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

struct Question {
    name: &'static str,
    request: ScanRequest,
    lists_folders: bool,
}

impl Question {
    fn new(name: &'static str, request: ScanRequest) -> Self {
        Self { name, request, lists_folders: false }
    }

    /// All that is answered, or the first error.
    fn ask(&self, storage: Arc<dyn Storage>) -> Result<RecordBatch> {
        let mut table = table(storage);
        if self.lists_folders {
            table.options = Options::parse([("hoodie.metadata.enable".to_owned(), "false".to_owned())]).unwrap();
        }
        let scan = Scan::plan(&table, self.request.clone())?;
        let batches = scan.read()?.collect::<Result<Vec<_>>>()?;
        Ok(concat_batches(scan.schema(), &batches)?)
    }
}

/// What a table is asked for its rows: one of them by its key, so that indexes are asked if there are any.
fn questions(storage: &Arc<dyn Storage>) -> Vec<Question> {
    let snapshot = Question::new("snapshot", ScanRequest::default());
    let rows = snapshot.ask(Arc::clone(storage)).unwrap();
    let key = rows.column_by_name("_hoodie_record_key").unwrap().as_string::<i32>().value(rows.num_rows() / 2);
    let filter = Some(format!("_hoodie_record_key = '{key}'"));
    let as_of = table(Arc::clone(storage)).snapshot(None).unwrap().newest().map(str::to_owned);
    let window = Some(Window { start: None, end: None });
    vec![
        snapshot,
        Question { lists_folders: true, ..Question::new("folders", ScanRequest::default()) },
        Question::new("read-optimised", ScanRequest { mode: Some(QueryType::ReadOptimized), ..ScanRequest::default() }),
        Question::new("filter", ScanRequest { filter, ..ScanRequest::default() }),
        Question::new("time travel", ScanRequest { as_of, ..ScanRequest::default() }),
        Question::new("incremental", ScanRequest { window: window.clone(), ..ScanRequest::default() }),
        Question::new("changes", ScanRequest { window, changes: Some(Images::Json), ..ScanRequest::default() }),
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
    for question in questions(&inner) {
        let what = format!("{case}: {}", question.name);
        let ask = |storage| question.ask(storage);
        let faults = sweep(&inner, &what, ask, |rows, expected, _| rows == expected);
        // Cleans took what the beginning of some tables needs.
        assert!(faults > 0 || ["incremental", "changes"].contains(&question.name), "{what}: no answer");
    }
}

/// Asks for each call that the question takes, or for so many of them, with each kind of fault at that call. How many calls
/// had faults.
fn sweep<T>(
    inner: &Arc<dyn Storage>,
    what: &str,
    ask: impl Fn(Arc<dyn Storage>) -> Result<T>,
    is_right: impl Fn(&T, &T, &str) -> bool,
) -> usize {
    let sound = Faulty::new(Arc::clone(inner), FaultPlan::none());
    // What cannot be answered at all is not asked again.
    let Ok(expected) = ask(Arc::new(sound.clone())) else { return 0 };
    let log = sound.log();
    let step = log.len() / MOST_FAULTS + 1;
    let met = (1..=log.len()).step_by(step);
    for (n, fault) in met.clone().flat_map(|n| faults(&log[n - 1]).iter().map(move |fault| (n, *fault))) {
        let faulty = Faulty::new(Arc::clone(inner), FaultPlan::none().at(n as u64, fault));
        let call = &log[n - 1];
        match ask(Arc::new(faulty)) {
            Ok(answer) => {
                assert!(is_right(&answer, &expected, &call.path), "{what}, {fault:?} at {call:?}: another answer")
            }
            Err(e) => assert_eq!(e.kind(), ErrorKind::StorageFailure, "{what}, {fault:?} at {call:?}: {e}"),
        }
    }
    met.count()
}

/// What can befall a call. One that does nothing and one that times out are the same to who reads: neither leaves a trace.
fn faults(call: &Call) -> &'static [Fault] {
    match call.op {
        "read" | "wait" => &[Fault::FailAfter, Fault::Short],
        _ => &[Fault::FailAfter],
    }
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
    let swept = |(name, look): (&str, Look)| {
        let is_right = |answer: &String, expected: &String, path: &str| {
            // Of what was never there, a failure to look at it tells no more than that it is not there.
            answer == expected || (answer.contains("vanished") && !is_there(inner.as_ref(), path))
        };
        sweep(&inner, &format!("{case}: {name}"), |storage| look(&table(storage)), is_right)
    };
    let faults: usize = LOOKS.into_iter().map(swept).sum();
    assert!(faults > 20, "{case}: {faults} faults");
}

fn is_there(storage: &dyn Storage, path: &str) -> bool {
    storage.head(path).unwrap().is_some() || !storage.list(path).unwrap().is_empty()
}
