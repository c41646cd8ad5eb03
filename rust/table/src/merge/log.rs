//! The changes that the log files of a slice hold, read block by block of those that count.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use hudini_format::avro::RowDecoder;
use hudini_format::log::{Block, BlockKind, delete, hfile_block};
use hudini_format::positions::Positions;
use hudini_format::schema::evolve::{Mapping, Projection};
use hudini_format::schema::{Record, meta};

use super::deltas::Deltas;
use super::rule::MergeRule;
use super::survey::{Located, all_positioned, any_partial, visible_blocks};
use crate::base_file;
use crate::log_file::{Choice, LogFile, Part, Visitor};
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::view::FileSlice;
use crate::{Error, Result};

/// Rows of a Parquet block that become one batch.
const BATCH_ROWS: usize = 8192;

/// Blocks and bytes, for `explain()`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogStats {
    pub files: u64,
    pub bytes: u64,
    /// By the names of their kinds.
    pub blocks: BTreeMap<&'static str, u64>,
    pub corrupt: u64,
}

/// The logs of a slice, of which it is known which blocks count.
#[derive(Debug)]
pub struct SliceLogs<'s> {
    storage: &'s Arc<dyn Storage>,
    snapshot: &'s Snapshot,
    rule: &'s MergeRule,
    files: Vec<LogFile<'s>>,
    blocks: Vec<Located>,
    stats: LogStats,
    by_position: bool,
}

impl<'s> SliceLogs<'s> {
    /// Goes through the logs by header.
    pub fn open(
        storage: &'s Arc<dyn Storage>,
        snapshot: &'s Snapshot,
        slice: &FileSlice,
        rule: &'s MergeRule,
    ) -> Result<Self> {
        let logs = slice.logs.iter();
        let mut files: Vec<_> = logs.map(|log| LogFile::new(storage.as_ref(), slice.path(log), log.size)).collect();
        let bytes = slice.logs.iter().map(|log| log.size).sum();
        let mut stats = LogStats { files: files.len() as u64, bytes, ..LogStats::default() };
        // Positions of version 6 do not say which base file they mean.
        let may = rule.by_position && slice.base.is_some() && !snapshot.logs_named_by_slice;
        let base_instant = may.then_some(slice.base_instant.as_str());
        let blocks = visible_blocks(&mut files, snapshot, base_instant, &mut stats)?;
        let by_position = may && all_positioned(&blocks);
        Ok(Self { storage, snapshot, rule, files, blocks, stats, by_position })
    }

    /// Whether some of the rows lack columns, which the rows before them have.
    pub fn has_parts(&self) -> bool {
        any_partial(&self.blocks)
    }

    /// Whether they are merged by record position.
    pub fn goes_by_position(&self) -> bool {
        self.by_position
    }

    pub fn stats(&self) -> &LogStats {
        &self.stats
    }

    /// The columns that merging these logs asks for, whether they are wanted or not.
    pub fn needs(&self, column: &str) -> bool {
        self.rule.needs(column, self.by_position)
    }

    /// The rows of all blocks, in columns of `schema`, merged among themselves.
    pub fn merged(self, schema: &SchemaRef) -> Result<Deltas> {
        let deltas = Box::new(Deltas::new(self.rule.clone())?);
        let taker = Taker::Merging { deltas, by_position: self.by_position };
        match self.read(schema, taker)? {
            Taker::Merging { deltas, .. } => Ok(*deltas),
            Taker::Keeping(_) => Err(Error::internal("logs were not merged")),
        }
    }

    /// The rows of all blocks as they stand, deletes aside.
    pub fn unmerged(self, schema: &SchemaRef) -> Result<Vec<RecordBatch>> {
        match self.read(schema, Taker::Keeping(Vec::new()))? {
            Taker::Keeping(rows) => Ok(rows),
            Taker::Merging { .. } => Err(Error::internal("logs were merged")),
        }
    }

    fn read(mut self, schema: &SchemaRef, taker: Taker) -> Result<Taker> {
        let mut rows = RowReader::new(self.storage, self.snapshot, schema, &self.rule.ordering, taker);
        let mut at = None;
        for block in &self.blocks {
            if at.is_some_and(|at| at != block.file)
                && let Some(done) = at.and_then(|at: usize| self.files.get_mut(at))
            {
                done.rest();
            }
            at = Some(block.file);
            if let Some(file) = self.files.get_mut(block.file) {
                rows.read(file, block)?;
            }
        }
        Ok(rows.taker)
    }
}

/// What becomes of the rows of blocks.
#[derive(Debug)]
enum Taker {
    Merging { deltas: Box<Deltas>, by_position: bool },
    Keeping(Vec<RecordBatch>),
}

/// Positions of a block's records that are still to come.
type PositionsLeft = <Positions as IntoIterator>::IntoIter;

impl Taker {
    fn has_merger(&self) -> bool {
        matches!(self, Self::Merging { deltas, .. } if deltas.merger().is_some())
    }

    fn rows(
        &mut self,
        rows: RecordBatch,
        positions: Option<&mut PositionsLeft>,
        present: Option<&Vec<bool>>,
    ) -> Result<()> {
        match (self, positions, present) {
            (Self::Keeping(kept), ..) => kept.push(rows),
            (Self::Merging { deltas, .. }, None, None) => deltas.push_rows(rows)?,
            (Self::Merging { deltas, .. }, Some(positions), None) => deltas.push_rows_at(rows, positions)?,
            (Self::Merging { deltas, .. }, positions, Some(present)) => {
                deltas.push_partial(rows, present.clone(), positions.map(|p| p as &mut dyn Iterator<Item = u64>))?;
            }
        }
        Ok(())
    }

    fn deletes(&mut self, content: &[u8], start: u64, positions: Option<&mut PositionsLeft>) -> Result<()> {
        match (self, positions) {
            // Who asks for rows as they stand sees no deletes.
            (Self::Keeping(_), _) => Ok(()),
            (Self::Merging { deltas, .. }, None) => deltas.push_deletes(delete::records(content, start)?),
            (Self::Merging { deltas, .. }, Some(positions)) => {
                deltas.push_deletes_at(delete::records(content, start)?, positions)
            }
        }
    }

    fn goes_by_position(&self) -> bool {
        matches!(self, Self::Merging { by_position: true, .. })
    }
}

/// Takes the blocks that count in.
struct RowReader<'a> {
    storage: &'a Arc<dyn Storage>,
    snapshot: &'a Snapshot,
    schema: &'a SchemaRef,
    ordering: &'a [String],
    /// The schema of the block before, which mostly is that of the next one too.
    parsed: Option<(String, Record)>,
    /// Under which names the block before has the columns, by its instant.
    names: Option<(String, Mapping)>,
    at_hand: Option<AtHand>,
    taker: Taker,
}

/// What is known of the block being read.
struct AtHand {
    kind: BlockKind,
    content: Range<u64>,
    /// What its rows are decoded to.
    columns: SchemaRef,
    /// If its writer had other names for the columns.
    renaming: Option<Projection>,
    /// Which rows of the base file its records stand for, if that is how they are merged.
    positions: Option<PositionsLeft>,
    /// Which columns its rows have, if not all.
    present: Option<Vec<bool>>,
}

impl<'a> RowReader<'a> {
    fn new(
        storage: &'a Arc<dyn Storage>,
        snapshot: &'a Snapshot,
        schema: &'a SchemaRef,
        ordering: &'a [String],
        taker: Taker,
    ) -> Self {
        Self { storage, snapshot, schema, ordering, parsed: None, names: None, at_hand: None, taker }
    }

    fn read(&mut self, file: &mut LogFile<'_>, located: &Located) -> Result<()> {
        self.at_hand = None;
        let mut read = file.read_block(located.offset, self);
        if read.is_ok()
            && let Some(block @ AtHand { kind: BlockKind::ParquetData, .. }) = self.at_hand.take()
        {
            read = self.read_parquet(file.path(), block);
        }
        read.map_err(|e| e.at_path(file.path()).at_offset(located.offset))
    }

    /// Only the columns that are wanted are fetched.
    fn read_parquet(&mut self, path: &str, mut block: AtHand) -> Result<()> {
        let by_name = Mapping::default();
        let names = self.names.as_ref().map_or(&by_name, |(_, names)| names);
        let columns = if block.present.is_some() { &nullable(self.schema) } else { self.schema };
        for batch in base_file::read_part(self.storage, path, block.content, columns, names, BATCH_ROWS)? {
            self.taker.rows(batch?, block.positions.as_mut(), block.present.as_ref())?;
        }
        Ok(())
    }

    fn read_hfile(&mut self, content: &[u8]) -> Result<()> {
        let (Some((_, writer)), Some(block)) = (&self.parsed, &mut self.at_hand) else { return Err(no_schema()) };
        let AtHand { columns, renaming, positions, present, .. } = block;
        let taker = &mut self.taker;
        hfile_block::read(content, block.content.start, writer, columns, BATCH_ROWS, |rows| {
            taker.rows(renamed(renaming.as_ref(), rows)?, positions.as_mut(), present.as_ref())
        })
    }
}

impl Visitor for RowReader<'_> {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        let content = block.content_offset..block.content_offset + block.content_length;
        let positions = if self.taker.goes_by_position() { block.positions()? } else { None };
        let at_hand = self.at_hand.insert(AtHand {
            kind: block.kind,
            content,
            columns: Arc::clone(self.schema),
            renaming: None,
            positions: positions.map(|(positions, _)| positions.into_iter()),
            present: None,
        });
        if block.kind == BlockKind::Delete {
            return Ok(Choice::Content);
        }
        let writer = writer_schema(&mut self.parsed, block)?;
        let names = names_in(&mut self.names, self.snapshot, block)?;
        (at_hand.columns, at_hand.renaming) = columns_to_decode(writer, self.schema, names)?;
        if block.is_partial() {
            if self.taker.has_merger() {
                return Err(Error::unsupported("partial updates (IS_PARTIAL) for a custom merger"));
            }
            if at_hand.renaming.is_some() {
                return Err(Error::unsupported("partial updates (IS_PARTIAL) in a table with renamed columns"));
            }
            at_hand.columns = nullable(self.schema);
            at_hand.present = Some(columns_present(writer, self.schema, self.ordering)?);
        }
        match block.kind {
            BlockKind::AvroData => Ok(Choice::Rows(RowDecoder::new(writer, Arc::clone(&at_hand.columns))?)),
            BlockKind::HfileData => Ok(Choice::Content),
            BlockKind::ParquetData => Ok(Choice::Nothing),
            other => Err(Error::unsupported(format!("log blocks of kind {}", other.name()))),
        }
    }

    fn take(&mut self, part: Part<'_>) -> Result<()> {
        let Some(block) = &mut self.at_hand else { return Ok(()) };
        match part {
            Part::Rows(rows) => {
                let rows = renamed(block.renaming.as_ref(), rows)?;
                self.taker.rows(rows, block.positions.as_mut(), block.present.as_ref())
            }
            Part::Content(content) if block.kind == BlockKind::HfileData => self.read_hfile(&content),
            Part::Content(content) => self.taker.deletes(&content, block.content.start, block.positions.as_mut()),
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

/// The schema for rows that may lack any of its columns.
fn nullable(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Which columns the rows of a partial update have.
fn columns_present(writer: &Record, schema: &Schema, ordering: &[String]) -> Result<Vec<bool>> {
    if let Some(field) = ordering.iter().find(|field| writer.field(field).is_none()) {
        return Err(Error::unsupported(format!("partial updates (IS_PARTIAL) without the ordering column '{field}'")));
    }
    Ok(schema.fields().iter().map(|field| writer.field(field.name()).is_some()).collect())
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
