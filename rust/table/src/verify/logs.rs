//! Log files: whether their blocks can be read, and whose they are.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hudini_format::log::{Block, BlockKind};

use super::each;
use super::files::is_of_commit;
use super::findings::{At, Found};
use super::state::{Kind, State, Stated};
use crate::inspect::{self, File, Piece};
use crate::log_file::{Choice, LogFile, Part, Visitor};
use crate::view::{DataFile, in_partition};
use crate::{Error, ErrorKind, Result};

pub(super) fn check(state: &State<'_>, deep: bool, found: &mut Found) -> Result<()> {
    let logs = state.data_files().filter(|(.., kind)| matches!(kind, Kind::Log(_)));
    // A log of version 6 may have blocks of writes that are archived, completed or neither, whatever its name.
    let logs = logs.filter(|(.., kind)| state.snapshot.logs_named_by_slice || state.counts(kind));
    let logs: Vec<_> = logs.map(|(partition, file, _)| (partition, file)).collect();
    found.merge(each(state, logs, |(partition, file), found| check_log(state, partition, file, deep, found))?);
    Ok(())
}

fn check_log(state: &State<'_>, partition: &str, file: &DataFile, deep: bool, found: &mut Found) -> Result<()> {
    let path = in_partition(partition, &file.name);
    let mut heads = Heads::default();
    let read = LogFile::new(state.storage.as_ref(), path.clone(), file.size).read_from(0, &mut heads);
    found.count("log_files", 1);
    found.count("blocks", heads.blocks);
    let whole = found.attempt("log_file", state.storage.as_ref(), &path, read)?.is_some();
    tell_corrupt(state, partition, file, &path, &heads, found);
    for instant in &heads.instants {
        tell_instant(state, &path, instant, found);
    }
    if deep && whole && heads.blocks > 0 {
        let rows = check_records(state, &path, file.size, found)?;
        tell_counts(state.stated_of(partition, &file.name), &path, &rows, found);
    }
    Ok(())
}

/// What is told of blocks by their headers.
#[derive(Debug, Default)]
struct Heads {
    blocks: usize,
    instants: BTreeSet<String>,
    corrupt: Vec<Range<u64>>,
    /// Where the last whole block begins.
    last: u64,
}

impl Visitor for Heads {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        self.blocks += 1;
        self.last = block.offset;
        if block.kind != BlockKind::Command {
            self.instants.insert(block.instant_time()?.to_owned());
        }
        Ok(Choice::Nothing)
    }

    fn take(&mut self, part: Part<'_>) -> Result<()> {
        if let Part::Corrupt(range) = part {
            self.corrupt.push(range);
        }
        Ok(())
    }
}

/// A write that failed and was tried again leaves a torn block in front of a whole one. One that nothing follows is lost,
/// unless it never was the whole of a commit.
fn tell_corrupt(state: &State<'_>, partition: &str, file: &DataFile, path: &str, heads: &Heads, found: &mut Found) {
    for range in &heads.corrupt {
        let stretch = format!("bytes {} to {} are no whole block", range.start, range.end);
        let stated = state.stated_of(partition, &file.name);
        let instant = stated.last().map(|stated| stated.instant.as_str());
        let at = At { path: Some(path), instant };
        if heads.blocks > 0 && heads.last > range.start {
            found.note("log_block", at, format!("{stretch}; readers pass them over, and whole blocks follow"));
        } else if is_of_commit(state, range.start, stated) {
            found.damage("log_block", at, format!("{stretch}, and none follows: what was written there is lost"));
        } else {
            found.warning("log_block", at, format!("{stretch}, and none follows: a write that was cut short"));
        }
    }
}

fn tell_instant(state: &State<'_>, path: &str, instant: &str, found: &mut Found) {
    let is_known = |timeline: &crate::timeline::Timeline| timeline.find(instant).is_some();
    if state.snapshot.is_committed(instant) || state.later.find(instant).is_some_and(|found| found.is_completed()) {
        return;
    }
    let whose = if is_known(&state.later) { "that has not completed" } else { "that the timeline does not know" };
    found.note("log_instant", At::of(path, instant), format!("blocks of a write {whose}; readers pass them over"));
}

/// Rows in the blocks of a log, by their writes.
type Rows = BTreeMap<String, u64>;

/// Holds them against what commits say of the log.
fn tell_counts(stated: &[Stated], path: &str, rows: &Rows, found: &mut Found) {
    for stated in stated.iter().filter(|stated| stated.is_own) {
        let there = rows.get(&stated.instant).copied().unwrap_or(0);
        if let Some(said) = stated.rows.filter(|said| *said != there) {
            let message = format!("the log has {there} rows of this write, and its commit says {said}");
            let at = At::of(path, &stated.instant);
            // What was written twice is merged once.
            if there < said { found.damage("row_count", at, message) } else { found.warning("row_count", at, message) }
        }
    }
}

/// Decodes what readers would: an error of a block that does not count is no damage.
fn check_records(state: &State<'_>, path: &str, size: u64, found: &mut Found) -> Result<Rows> {
    let file = File::within(state.storage, path.to_owned(), size);
    let (mut instant, mut holds_rows, mut records, mut rows) = (String::new(), false, 0, Rows::new());
    let mut failed = Vec::new();
    let shown = inspect::log_file(&file, 0, &mut |piece| {
        state.watch.check()?;
        match piece {
            Piece::Block(head) => {
                let named = head.pointer("/headers/INSTANT_TIME").and_then(serde_json::Value::as_str);
                instant = named.unwrap_or_default().to_owned();
                let kind = head.pointer("/kind").and_then(serde_json::Value::as_str);
                holds_rows = ["avro", "hfile", "parquet"].map(Some).contains(&kind);
            }
            Piece::End { records: of_block, error } => {
                records += of_block;
                if holds_rows {
                    *rows.entry(instant.clone()).or_default() += of_block;
                }
                if let Some(error) = error {
                    if matches!(error.kind(), ErrorKind::StorageFailure | ErrorKind::Internal) {
                        return Err(Error::new(error.kind(), error.to_string()));
                    }
                    failed.push((instant.clone(), error.kind(), error.to_string()));
                }
            }
            Piece::Records(_) | Piece::Damaged(_) => {}
        }
        Ok(())
    });
    // An error of the framing was found by the headers.
    found.attempt("log_file", state.storage.as_ref(), path, shown)?;
    found.count("log_records", usize::try_from(records).unwrap_or(usize::MAX));
    for (instant, kind, message) in failed {
        let at = At::of(path, &instant);
        match kind {
            ErrorKind::CorruptFile | ErrorKind::SchemaMismatch if state.snapshot.is_committed(&instant) => {
                found.damage("log_block", at, format!("the records of a block cannot be read: {message}"));
            }
            ErrorKind::UnsupportedFeature => found.note("not_checked", at, message),
            _ => found.note(
                "log_block",
                at,
                format!("the records of a block that does not count cannot be read: {message}"),
            ),
        }
    }
    Ok(rows)
}
