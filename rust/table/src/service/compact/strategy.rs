//! Which slices a compaction takes, and in which order: what a strategy of Apache Hudi decides from the figures in the plan.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hudini_format::action::CompactionOperation;

use crate::Result;
use crate::options::{self, CompactionStrategy, Options};
use crate::view::FileSlice;

const LOG_FILES: &str = "TOTAL_LOG_FILES";
const LOG_BYTES: &str = "TOTAL_LOG_FILES_SIZE";
const READ_MB: &str = "TOTAL_IO_READ_MB";
const WRITE_MB: &str = "TOTAL_IO_WRITE_MB";
const IO_MB: &str = "TOTAL_IO_MB";

/// What Apache Hudi supposes to be written for a slice that has no base file yet.
const NEW_BASE_FILE_MB: u64 = 120;

/// The figures of a slice, as a plan holds them.
pub(super) fn metrics(slice: &FileSlice) -> BTreeMap<String, f64> {
    let log_bytes: u64 = slice.logs.iter().map(|log| log.size).sum();
    let base_bytes = slice.base.as_ref().map(|base| base.size);
    let read = megabytes(base_bytes.unwrap_or(0) + log_bytes);
    let written = base_bytes.map_or(NEW_BASE_FILE_MB, megabytes);
    let figures = [
        (LOG_FILES, slice.logs.len() as u64),
        (LOG_BYTES, log_bytes),
        (READ_MB, read),
        (WRITE_MB, written),
        (IO_MB, read + written),
    ];
    figures.into_iter().map(|(name, figure)| (name.to_owned(), figure as f64)).collect()
}

/// Whole ones.
fn megabytes(bytes: u64) -> u64 {
    bytes / (1024 * 1024)
}

fn figure(operation: &CompactionOperation, name: &str) -> u64 {
    operation.metrics.as_ref().and_then(|metrics| metrics.get(name)).map_or(0, |figure| *figure as u64)
}

/// Those that are taken, in their order.
pub(super) fn choose(mut operations: Vec<CompactionOperation>, options: &Options) -> Result<Vec<CompactionOperation>> {
    let strategy = options.get_or_default(&options::COMPACTION_STRATEGY)?;
    let (by, least) = match strategy {
        CompactionStrategy::Unbounded => return Ok(operations),
        CompactionStrategy::BoundedIo => return within(operations, options),
        CompactionStrategy::LogFileSize => (LOG_BYTES, &options::COMPACTION_LOG_BYTES),
        CompactionStrategy::LogFileNumber => (LOG_FILES, &options::COMPACTION_LOG_FILES),
    };
    let least = options.get_or_default(least)?;
    operations.retain(|operation| figure(operation, by) >= least);
    operations.sort_by_key(|operation| Reverse(figure(operation, by)));
    within(operations, options)
}

/// One after the other, until the bound is reached; the one that reaches it comes along.
fn within(operations: Vec<CompactionOperation>, options: &Options) -> Result<Vec<CompactionOperation>> {
    let bound = options.get_or_default(&options::COMPACTION_TARGET_IO)?;
    let mut taken = 0;
    let mut is_full = false;
    let fits = |operation: &CompactionOperation| {
        let fits = !is_full;
        taken += figure(operation, IO_MB);
        is_full = taken >= bound;
        fits
    };
    Ok(operations.into_iter().take_while(fits).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: &str = "org.apache.hudi.table.action.compact.strategy";

    fn operation(id: &str, files: u64, bytes: u64, io: u64) -> CompactionOperation {
        let figures = [(LOG_FILES, files), (LOG_BYTES, bytes), (IO_MB, io)];
        CompactionOperation {
            file_id: Some(id.to_owned()),
            metrics: Some(figures.into_iter().map(|(name, n)| (name.to_owned(), n as f64)).collect()),
            ..CompactionOperation::default()
        }
    }

    fn chosen(given: &[(&str, &str)]) -> Vec<String> {
        let operations = vec![
            operation("a", 1, 10, 100),
            operation("b", 3, 30, 200),
            operation("c", 2, 30, 50),
            operation("d", 5, 20, 400),
        ];
        let options = Options::parse(given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))).unwrap();
        choose(operations, &options).unwrap().into_iter().filter_map(|operation| operation.file_id).collect()
    }

    #[test]
    fn the_largest_logs_come_first() {
        assert_eq!(chosen(&[]), ["b", "c", "d", "a"]);
        assert_eq!(chosen(&[("hoodie.compaction.logfile.size.threshold", "20")]), ["b", "c", "d"]);
    }

    #[test]
    fn the_one_that_reaches_the_bound_is_the_last() {
        let bound = |mb| chosen(&[("hoodie.compaction.target.io", mb)]);
        assert_eq!(bound("249"), ["b", "c"]);
        assert_eq!(bound("250"), ["b", "c"]);
        assert_eq!(bound("251"), ["b", "c", "d"]);
        assert_eq!(bound("0"), ["b"]);
    }

    #[test]
    fn strategies_differ() {
        let by = |class: &str| {
            let class = format!("{PACKAGE}.{class}");
            chosen(&[("hoodie.compaction.strategy", &class), ("hoodie.compaction.target.io", "300")])
        };
        assert_eq!(by("LogFileNumBasedCompactionStrategy"), ["d"]);
        assert_eq!(by("BoundedIOCompactionStrategy"), ["a", "b"]);
        assert_eq!(by("UnBoundedCompactionStrategy"), ["a", "b", "c", "d"]);
    }

    #[test]
    fn figures_are_those_of_apache_hudi() {
        use crate::view::DataFile;
        let file = |size| DataFile { name: "f".to_owned(), size };
        let slice = |base: Option<u64>, logs: &[u64]| FileSlice {
            partition: String::new(),
            file_id: "f".to_owned(),
            base_instant: "1".to_owned(),
            base: base.map(file),
            logs: logs.iter().map(|size| file(*size)).collect(),
        };
        const MB: u64 = 1024 * 1024;
        let of = |slice: &FileSlice| {
            let metrics = metrics(slice);
            [LOG_FILES, LOG_BYTES, READ_MB, WRITE_MB, IO_MB].map(|name| metrics[name] as u64)
        };
        assert_eq!(of(&slice(Some(3 * MB - 1), &[1, MB])), [2, MB + 1, 4, 2, 6]);
        assert_eq!(of(&slice(None, &[10])), [1, 10, 0, 120, 120]);
    }
}
