//! The changes that the log files of a slice hold.
//!
//! Which blocks count is known only when all of them were seen: a rollback undoes earlier ones, a log compaction replaces
//! them. So the files are gone through twice, first by header alone, then block by block for those that count.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use hudini_format::avro::RowDecoder;
use hudini_format::log::{Block, BlockKind, delete, hfile_block};
use hudini_format::schema::evolve::{Mapping, Projection};
use hudini_format::schema::{Record, meta};

use super::deltas::{Deltas, MergeRule};
use crate::base_file;
use crate::log_file::{Choice, LogFile, Part, Visitor};
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::view::FileSlice;
use crate::{Error, Result};

/// Rows of a Parquet block that become one batch.
const BATCH_ROWS: usize = 8192;

/// Blocks and bytes, for `explain()`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogStats {
    pub files: u64,
    pub bytes: u64,
    pub blocks: u64,
    pub corrupt: u64,
}

/// Reads all logs of a slice as rows of `schema`, merged among themselves.
pub fn read_logs(
    storage: &Arc<dyn Storage>,
    snapshot: &Snapshot,
    slice: &FileSlice,
    schema: &SchemaRef,
    rule: &MergeRule,
) -> Result<(Deltas, LogStats)> {
    let logs = slice.logs.iter();
    let mut files: Vec<_> = logs.map(|log| LogFile::new(storage.as_ref(), slice.path(log), log.size)).collect();
    let bytes = slice.logs.iter().map(|log| log.size).sum();
    let mut stats = LogStats { files: files.len() as u64, bytes, ..LogStats::default() };
    let blocks = visible_blocks(&mut files, snapshot, &mut stats)?;
    let mut rows = RowReader::new(storage, snapshot, schema, Deltas::new(rule.clone()));
    let mut at = None;
    for block in blocks {
        if at.is_some_and(|at| at != block.file)
            && let Some(done) = at.and_then(|at: usize| files.get_mut(at))
        {
            done.rest();
        }
        at = Some(block.file);
        if let Some(file) = files.get_mut(block.file) {
            rows.read(file, &block)?;
        }
    }
    Ok((rows.deltas, stats))
}

/// Where a block stands.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// Its place among the files.
    pub(crate) file: usize,
    pub(crate) offset: u64,
}

/// The blocks of one instant, and the instants that they replace.
#[derive(Debug)]
struct OfInstant {
    arrival: usize,
    blocks: Vec<Located>,
    replaces: Vec<String>,
}

/// What was seen so far and is not undone, by instant.
#[derive(Debug, Default)]
struct Seen {
    arrivals: usize,
    by_instant: HashMap<String, OfInstant, FixedState>,
}

impl Seen {
    fn add(&mut self, instant: &str, block: &Block<'_>, located: Located) {
        if let Some(known) = self.by_instant.get_mut(instant) {
            known.blocks.push(located);
            return;
        }
        let replaces = block.compacted_block_times().map(str::to_owned).collect();
        let of_instant = OfInstant { arrival: self.arrivals, blocks: vec![located], replaces };
        self.by_instant.insert(instant.to_owned(), of_instant);
        self.arrivals += 1;
    }

    fn undo(&mut self, instant: &str) {
        self.by_instant.remove(instant);
    }
}

/// The blocks that count, oldest first: those a rollback undid are gone, and those a log compaction folded together are
/// replaced by the outcome, at the place of the newest of them.
pub(crate) fn visible_blocks(
    files: &mut [LogFile<'_>],
    snapshot: &Snapshot,
    stats: &mut LogStats,
) -> Result<Vec<Located>> {
    let mut seen = Seen::default();
    for (at, file) in files.iter_mut().enumerate() {
        let read = file.read_from(0, &mut Survey { snapshot, file: at, seen: &mut seen, stats });
        read.map_err(|e| e.at_path(file.path()))?;
        file.rest();
    }
    Ok(resolve_compacted(seen))
}

/// Goes through a file by header.
struct Survey<'a> {
    snapshot: &'a Snapshot,
    file: usize,
    seen: &'a mut Seen,
    stats: &'a mut LogStats,
}

impl Visitor for Survey<'_> {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        self.stats.blocks += 1;
        if block.kind == BlockKind::Command {
            self.seen.undo(block.rollback_target()?);
        } else {
            let instant = block.instant_time()?;
            if counts(self.snapshot, instant) {
                self.seen.add(instant, block, Located { file: self.file, offset: block.offset });
            }
        }
        Ok(Choice::Nothing)
    }

    fn take(&mut self, part: Part<'_>) -> Result<()> {
        self.stats.corrupt += u64::from(matches!(part, Part::Corrupt(_)));
        Ok(())
    }
}

/// Since version 8 the file name's instant has been checked already; before, each block answers for itself. Never read
/// what is newer than the snapshot.
fn counts(snapshot: &Snapshot, instant: &str) -> bool {
    let known = snapshot.newest().is_some_and(|newest| instant <= newest);
    known && (!snapshot.logs_named_by_slice || snapshot.is_committed(instant))
}

fn resolve_compacted(seen: Seen) -> Vec<Located> {
    let mut instants: Vec<_> = seen.by_instant.into_iter().collect();
    instants.sort_by_key(|(_, of_instant)| of_instant.arrival);
    // From an original to the outermost compacted instant that holds it, by place.
    let mut folded: HashMap<&str, usize, FixedState> = HashMap::default();
    let mut chosen: Vec<usize> = Vec::new();
    for (at, (instant, of_instant)) in instants.iter().enumerate().rev() {
        let stands_for = folded.get(instant.as_str()).copied().unwrap_or(at);
        match of_instant.replaces.as_slice() {
            [] => chosen.push(stands_for),
            originals => folded.extend(originals.iter().map(|original| (original.as_str(), stands_for))),
        }
    }
    let blocks = |at: &usize| instants.get(*at).map(|(_, of_instant)| of_instant.blocks.clone()).unwrap_or_default();
    let mut shown: HashSet<usize, FixedState> = HashSet::default();
    chosen.retain(|at| shown.insert(*at));
    chosen.iter().rev().flat_map(blocks).collect()
}

/// Takes the blocks that count in.
struct RowReader<'a> {
    storage: &'a Arc<dyn Storage>,
    snapshot: &'a Snapshot,
    schema: &'a SchemaRef,
    /// The schema of the block before, which mostly is that of the next one too.
    parsed: Option<(String, Record)>,
    /// Under which names the block before has the columns, by its instant.
    names: Option<(String, Mapping)>,
    at_hand: Option<AtHand>,
    deltas: Deltas,
}

/// What is known of the block being read.
struct AtHand {
    kind: BlockKind,
    content: Range<u64>,
    /// What its rows are decoded to.
    columns: SchemaRef,
    /// If its writer had other names for the columns.
    renaming: Option<Projection>,
}

impl<'a> RowReader<'a> {
    fn new(storage: &'a Arc<dyn Storage>, snapshot: &'a Snapshot, schema: &'a SchemaRef, deltas: Deltas) -> Self {
        Self { storage, snapshot, schema, parsed: None, names: None, at_hand: None, deltas }
    }

    fn read(&mut self, file: &mut LogFile<'_>, located: &Located) -> Result<()> {
        self.at_hand = None;
        let mut read = file.read_block(located.offset, self);
        if read.is_ok()
            && let Some(AtHand { kind: BlockKind::ParquetData, content, .. }) = self.at_hand.take()
        {
            read = self.read_parquet(file.path(), content);
        }
        read.map_err(|e| e.at_path(file.path()).at_offset(located.offset))
    }

    /// Only the columns that are wanted are fetched.
    fn read_parquet(&mut self, path: &str, content: Range<u64>) -> Result<()> {
        let by_name = Mapping::default();
        let names = self.names.as_ref().map_or(&by_name, |(_, names)| names);
        for batch in base_file::read_part(self.storage, path, content, self.schema, names, BATCH_ROWS)? {
            self.deltas.push_rows(batch?)?;
        }
        Ok(())
    }

    fn read_hfile(&mut self, content: &[u8]) -> Result<()> {
        let (Some((_, writer)), Some(block)) = (&self.parsed, &self.at_hand) else { return Err(no_schema()) };
        let (deltas, renaming) = (&mut self.deltas, block.renaming.as_ref());
        hfile_block::read(content, block.content.start, writer, &block.columns, BATCH_ROWS, |rows| {
            deltas.push_rows(renamed(renaming, rows)?)
        })
    }
}

impl Visitor for RowReader<'_> {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        let content = block.content_offset..block.content_offset + block.content_length;
        let at_hand =
            self.at_hand.insert(AtHand { kind: block.kind, content, columns: Arc::clone(self.schema), renaming: None });
        if block.kind == BlockKind::Delete {
            return Ok(Choice::Content);
        }
        let writer = writer_schema(&mut self.parsed, block)?;
        if block.is_partial() {
            return Err(Error::unsupported("partial updates in a log (IS_PARTIAL)"));
        }
        let names = names_in(&mut self.names, self.snapshot, block)?;
        (at_hand.columns, at_hand.renaming) = columns_to_decode(writer, self.schema, names)?;
        match block.kind {
            BlockKind::AvroData => Ok(Choice::Rows(RowDecoder::new(writer, Arc::clone(&at_hand.columns))?)),
            BlockKind::HfileData => Ok(Choice::Content),
            BlockKind::ParquetData => Ok(Choice::Nothing),
            other => Err(Error::unsupported(format!("log blocks of kind {}", other.name()))),
        }
    }

    fn take(&mut self, part: Part<'_>) -> Result<()> {
        let Some(block) = &self.at_hand else { return Ok(()) };
        match part {
            Part::Rows(rows) => self.deltas.push_rows(renamed(block.renaming.as_ref(), rows)?),
            Part::Content(content) if block.kind == BlockKind::HfileData => self.read_hfile(&content),
            Part::Content(content) => self.deltas.push_deletes(delete::records(&content, block.content.start)?),
            Part::Corrupt(_) => Ok(()),
        }
    }
}

/// Under which names a block has the columns.
fn names_in<'n>(
    known: &'n mut Option<(String, Mapping)>,
    snapshot: &Snapshot,
    block: &Block<'_>,
) -> Result<&'n Mapping> {
    let instant = block.instant_time()?;
    let known = match known.take() {
        Some(same) if same.0 == instant => known.insert(same),
        _ => known.insert((instant.to_owned(), snapshot.names_at(instant)?)),
    };
    Ok(&known.1)
}

/// Rows of a writer that had other names for the columns are decoded under those, and then brought to the schema.
fn columns_to_decode(writer: &Record, schema: &SchemaRef, names: &Mapping) -> Result<(SchemaRef, Option<Projection>)> {
    if names.0.is_empty() {
        return Ok((Arc::clone(schema), None));
    }
    let theirs = writer.to_arrow()?;
    let projection = Projection::new(&theirs, schema, names)?;
    let columns = Arc::new(theirs.project(projection.columns())?);
    Ok((columns, Some(projection)))
}

fn renamed(renaming: Option<&Projection>, rows: RecordBatch) -> Result<RecordBatch> {
    match renaming {
        Some(projection) => Ok(projection.apply(&rows)?),
        None => Ok(rows),
    }
}

/// The columns of a data block. Rows of a changelog say in a column of their own whether they are deletes, and would be
/// shown as data.
fn writer_schema<'p>(parsed: &'p mut Option<(String, Record)>, block: &Block<'_>) -> Result<&'p Record> {
    let text = block.schema()?;
    if parsed.as_ref().is_none_or(|(known, _)| known != text) {
        let record = Record::parse(text)?;
        if record.field(meta::OPERATION).is_some() {
            return Err(Error::unsupported(format!("log rows with the column {}", meta::OPERATION)));
        }
        *parsed = Some((text.to_owned(), record));
    }
    parsed.as_ref().map(|(_, record)| record).ok_or_else(no_schema)
}

fn no_schema() -> Error {
    Error::internal("the schema of a log block went missing")
}
