//! The blocks of a log that count, decoded one by one: rows and deletes come out in the order of the log.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use hudini_format::avro::RowDecoder;
use hudini_format::log::{Block, BlockKind, delete, hfile_block};
use hudini_format::positions::Positions;
use hudini_format::schema::evolve::{Mapping, Projection};
use hudini_format::schema::{Record, meta};

use super::rule::MergeRule;
use super::survey::Located;
use crate::base_file;
use crate::log_file::{Choice, LogFile, Part, Visitor};
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::{Error, Result};

/// Rows of a Parquet block that become one batch.
const BATCH_ROWS: usize = 8192;

/// Positions of a block's records that are still to come.
pub(crate) type PositionsLeft = <Positions as IntoIterator>::IntoIter;

/// Who takes the rows and deletes of blocks in.
pub(crate) trait Taker {
    /// Whether it asks which rows of the base file records stand for.
    fn wants_positions(&self) -> bool;

    /// `present` says which columns the rows have, if not all.
    fn rows(
        &mut self,
        rows: RecordBatch,
        positions: Option<&mut PositionsLeft>,
        present: Option<&[bool]>,
    ) -> Result<()>;

    fn deletes(&mut self, deletes: delete::Records<'_>, positions: Option<&mut PositionsLeft>) -> Result<()>;
}

/// Reads blocks for somebody who takes their rows.
pub(super) struct RowReader<'a, T> {
    storage: &'a Arc<dyn Storage>,
    snapshot: &'a Snapshot,
    schema: &'a SchemaRef,
    rule: &'a MergeRule,
    /// The schema of the block before, which mostly is that of the next one too.
    parsed: Option<(String, Record)>,
    /// Under which names the block before has the columns, by its instant.
    names: Option<(String, Mapping)>,
    at_hand: Option<AtHand>,
    /// Rows of the block being read, so far.
    rows: u64,
    taker: &'a mut T,
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

impl<'a, T: Taker> RowReader<'a, T> {
    pub(super) fn new(
        storage: &'a Arc<dyn Storage>,
        snapshot: &'a Snapshot,
        schema: &'a SchemaRef,
        rule: &'a MergeRule,
        taker: &'a mut T,
    ) -> Self {
        Self { storage, snapshot, schema, rule, parsed: None, names: None, at_hand: None, rows: 0, taker }
    }

    /// Answers how many rows the block has.
    pub(super) fn read(&mut self, file: &mut LogFile<'_>, located: &Located) -> Result<u64> {
        self.at_hand = None;
        self.rows = 0;
        let mut read = file.read_block(located.offset, self);
        if read.is_ok()
            && let Some(block @ AtHand { kind: BlockKind::ParquetData, .. }) = self.at_hand.take()
        {
            read = self.read_parquet(file.path(), block);
        }
        read.map_err(|e| e.at_path(file.path()).at_offset(located.offset))?;
        Ok(self.rows)
    }

    /// Only the columns that are wanted are fetched.
    fn read_parquet(&mut self, path: &str, mut block: AtHand) -> Result<()> {
        let by_name = Mapping::default();
        let names = self.names.as_ref().map_or(&by_name, |(_, names)| names);
        let columns = if block.present.is_some() { &nullable(self.schema) } else { self.schema };
        for batch in base_file::read_part(self.storage, path, block.content, columns, names, BATCH_ROWS)? {
            let batch = batch?;
            self.rows += batch.num_rows() as u64;
            self.taker.rows(batch, block.positions.as_mut(), block.present.as_deref())?;
        }
        Ok(())
    }

    fn read_hfile(&mut self, content: &[u8]) -> Result<()> {
        let (Some((_, writer)), Some(block)) = (&self.parsed, &mut self.at_hand) else { return Err(no_schema()) };
        let AtHand { columns, renaming, positions, present, .. } = block;
        let (taker, count) = (&mut self.taker, &mut self.rows);
        hfile_block::read(content, block.content.start, writer, columns, BATCH_ROWS, |rows| {
            *count += rows.num_rows() as u64;
            taker.rows(renamed(renaming.as_ref(), rows)?, positions.as_mut(), present.as_deref())
        })
    }
}

impl<T: Taker> Visitor for RowReader<'_, T> {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        let content = block.content_offset..block.content_offset + block.content_length;
        let positions = if self.taker.wants_positions() { block.positions()? } else { None };
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
        let writer = writer_schema(&mut self.parsed, block, self.schema)?;
        let names = names_in(&mut self.names, self.snapshot, block)?;
        (at_hand.columns, at_hand.renaming) = columns_to_decode(writer, self.schema, names)?;
        if block.is_partial() {
            if self.rule.merger.is_some() {
                return Err(Error::unsupported("partial updates (IS_PARTIAL) for a custom merger"));
            }
            if at_hand.renaming.is_some() {
                return Err(Error::unsupported("partial updates (IS_PARTIAL) in a table with renamed columns"));
            }
            at_hand.columns = nullable(self.schema);
            at_hand.present = Some(columns_present(writer, self.schema, self.rule)?);
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
                self.rows += rows.num_rows() as u64;
                let rows = renamed(block.renaming.as_ref(), rows)?;
                self.taker.rows(rows, block.positions.as_mut(), block.present.as_deref())
            }
            Part::Content(content) if block.kind == BlockKind::HfileData => self.read_hfile(&content),
            Part::Content(content) => {
                self.taker.deletes(delete::records(&content, block.content.start)?, block.positions.as_mut())
            }
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
fn columns_present(writer: &Record, schema: &Schema, rule: &MergeRule) -> Result<Vec<bool>> {
    if let Some(column) = rule.ordering_columns().find(|column| writer.field(column).is_none()) {
        return Err(Error::unsupported(format!("partial updates (IS_PARTIAL) without the ordering column '{column}'")));
    }
    Ok(schema.fields().iter().map(|field| writer.field(field.name()).is_some()).collect())
}

fn renamed(renaming: Option<&Projection>, rows: RecordBatch) -> Result<RecordBatch> {
    match renaming {
        Some(projection) => Ok(projection.apply(&rows)?),
        None => Ok(rows),
    }
}

/// The columns of a data block. One of them may say which rows are deletes, which must not be overlooked where nobody
/// reads it.
fn writer_schema<'p>(
    parsed: &'p mut Option<(String, Record)>,
    block: &Block<'_>,
    wanted: &Schema,
) -> Result<&'p Record> {
    let text = block.schema()?;
    if parsed.as_ref().is_none_or(|(known, _)| known != text) {
        let record = Record::parse(text)?;
        if record.field(meta::OPERATION).is_some() && wanted.field_with_name(meta::OPERATION).is_err() {
            let message = format!("log rows whose column {} tells deletes", meta::OPERATION);
            let hint = "reads of rows follow it, if the table's newest file has it; change feeds do not";
            return Err(Error::unsupported(message).with_hint(hint));
        }
        *parsed = Some((text.to_owned(), record));
    }
    parsed.as_ref().map(|(_, record)| record).ok_or_else(no_schema)
}

fn no_schema() -> Error {
    Error::internal("the schema of a log block went missing")
}
