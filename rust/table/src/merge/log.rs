//! The changes that the log files of a slice hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hudini_format::log::delete;
use hudini_format::schema::meta;

use super::blocks::{PositionsLeft, RowReader, Taker};
use super::bounded::Changes;
use super::deleted::record_keys;
use super::deltas::Deltas;
use super::rule::MergeRule;
use super::survey::{Located, all_positioned, any_partial, visible_blocks};
use crate::log_file::LogFile;
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::view::FileSlice;
use crate::{Error, ErrorKind, Result};

/// Blocks and bytes, for `explain()`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogStats {
    pub files: u64,
    pub bytes: u64,
    /// By the names of their kinds.
    pub blocks: BTreeMap<&'static str, u64>,
    pub corrupt: u64,
    /// Rows of the blocks that count, once they were read.
    pub rows: u64,
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

    /// For base rows of which some are left out, so that no position names any.
    pub fn by_key(self) -> Self {
        Self { by_position: false, ..self }
    }

    pub fn stats(&self) -> &LogStats {
        &self.stats
    }

    /// The columns that merging these logs asks for, whether they are wanted or not.
    pub fn needs(&self, column: &str) -> bool {
        self.rule.needs(column, self.by_position)
    }

    /// The rows of all blocks, in columns of `schema`, merged among themselves; `None` if they take more memory than that.
    pub(super) fn merged(&mut self, schema: &SchemaRef, most_bytes: u64) -> Result<Option<Deltas>> {
        let deltas = Deltas::new(self.rule.clone())?;
        let mut taker = Merging { deltas, by_position: self.by_position, most: most_bytes, is_full: false };
        match self.read(schema, &mut taker) {
            Err(_) if taker.is_full => Ok(None),
            read => read.map(|()| Some(taker.deltas)),
        }
    }

    /// The rows of all blocks as they stand, deletes aside.
    pub fn unmerged(&mut self, schema: &SchemaRef, most_bytes: u64) -> Result<Vec<RecordBatch>> {
        let mut taker = Keeping { rows: Vec::new(), bytes: 0, most: most_bytes };
        self.read(schema, &mut taker)?;
        Ok(taker.rows)
    }

    /// The keys of all rows and deletes; an error if they take more memory than that.
    pub(crate) fn keys(&mut self, most_bytes: u64) -> Result<BTreeSet<String>> {
        let column = Field::new(meta::RECORD_KEY, DataType::Utf8, true);
        let mut taker = Naming { keys: BTreeSet::new(), bytes: 0, most: most_bytes };
        self.read(&Arc::new(Schema::new(vec![column])), &mut taker)?;
        Ok(taker.keys)
    }

    /// Of all blocks that count, as they are stored.
    pub(crate) fn content_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.content_bytes).sum()
    }

    fn read(&mut self, schema: &SchemaRef, taker: &mut impl Taker) -> Result<()> {
        self.stats.rows = 0;
        let mut rows = RowReader::new(self.storage, self.snapshot, schema, self.rule, taker);
        let mut at = None;
        for block in &self.blocks {
            if at.is_some_and(|at| at != block.file)
                && let Some(done) = at.and_then(|at: usize| self.files.get_mut(at))
            {
                done.rest();
            }
            at = Some(block.file);
            if let Some(file) = self.files.get_mut(block.file) {
                self.stats.rows += rows.read(file, block)?;
            }
        }
        if let Some(last) = at.and_then(|at: usize| self.files.get_mut(at)) {
            last.rest();
        }
        Ok(())
    }
}

impl Changes for SliceLogs<'_> {
    fn rule(&self) -> &MergeRule {
        self.rule
    }

    fn goes_by_position(&self) -> bool {
        self.by_position
    }

    fn content_bytes(&self) -> u64 {
        self.content_bytes()
    }

    fn read(&mut self, columns: &SchemaRef, taker: &mut impl Taker) -> Result<()> {
        self.read(columns, taker)
    }
}

/// Rows merged among themselves.
struct Merging {
    deltas: Deltas,
    by_position: bool,
    /// Bytes that they may take in memory.
    most: u64,
    is_full: bool,
}

impl Merging {
    fn check(&mut self) -> Result<()> {
        self.is_full = self.deltas.bytes() > self.most;
        if self.is_full { Err(Error::new(ErrorKind::MemoryLimit, "the logs of a slice take more")) } else { Ok(()) }
    }
}

impl Taker for Merging {
    fn wants_positions(&self) -> bool {
        self.by_position
    }

    fn rows(
        &mut self,
        rows: RecordBatch,
        positions: Option<&mut PositionsLeft>,
        present: Option<&[bool]>,
    ) -> Result<()> {
        match (positions, present) {
            (None, None) => self.deltas.push_rows(rows)?,
            (Some(positions), None) => self.deltas.push_rows_at(rows, positions)?,
            (positions, Some(present)) => {
                let positions = positions.map(|p| p as &mut dyn Iterator<Item = u64>);
                self.deltas.push_partial(rows, present.to_vec(), positions)?;
            }
        }
        self.check()
    }

    fn deletes(&mut self, deletes: delete::Records<'_>, positions: Option<&mut PositionsLeft>) -> Result<()> {
        match positions {
            None => self.deltas.push_deletes(deletes)?,
            Some(positions) => self.deltas.push_deletes_at(deletes, positions)?,
        }
        self.check()
    }
}

/// Rows as they stand.
struct Keeping {
    rows: Vec<RecordBatch>,
    bytes: u64,
    most: u64,
}

impl Taker for Keeping {
    fn wants_positions(&self) -> bool {
        false
    }

    fn rows(&mut self, rows: RecordBatch, _: Option<&mut PositionsLeft>, _: Option<&[bool]>) -> Result<()> {
        self.bytes += rows.get_array_memory_size() as u64;
        self.rows.push(rows);
        if self.bytes > self.most {
            let message = "the logs of a slice, read unmerged, take more memory than the limit";
            return Err(Error::new(ErrorKind::MemoryLimit, message)
                .with_hint("raise memory_limit or hoodie.memory.merge.max.size"));
        }
        Ok(())
    }

    /// Who asks for rows as they stand sees no deletes.
    fn deletes(&mut self, _: delete::Records<'_>, _: Option<&mut PositionsLeft>) -> Result<()> {
        Ok(())
    }
}

/// Keys, whatever becomes of their rows.
struct Naming {
    keys: BTreeSet<String>,
    bytes: u64,
    most: u64,
}

impl Naming {
    fn add(&mut self, key: &str) -> Result<()> {
        if self.keys.insert(key.to_owned()) {
            self.bytes += (key.len() + size_of::<String>()) as u64;
        }
        if self.bytes > self.most {
            let message = "the keys in the logs of a slice take more memory than the limit";
            return Err(Error::new(ErrorKind::MemoryLimit, message).with_hint("raise hoodie.memory.merge.max.size"));
        }
        Ok(())
    }
}

impl Taker for Naming {
    fn wants_positions(&self) -> bool {
        false
    }

    fn rows(&mut self, rows: RecordBatch, _: Option<&mut PositionsLeft>, _: Option<&[bool]>) -> Result<()> {
        record_keys(&rows)?.iter().flatten().try_for_each(|key| self.add(key))
    }

    fn deletes(&mut self, deletes: delete::Records<'_>, _: Option<&mut PositionsLeft>) -> Result<()> {
        for delete in deletes {
            delete?.key.iter().try_for_each(|key| self.add(key))?;
        }
        Ok(())
    }
}
