//! One file group's share of a compaction: base file and logs in, one base file out.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use hudini_format::action::WriteStat;
use hudini_format::name::{BaseFileName, write_token};
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::base_file::{self, KeySummary, WriteOptions};
use crate::bytes_form::BytesForm;
use crate::concurrency::MarkerKind;
use crate::context::Context;
use crate::merge::{self, Batches, Memory, MergeRule, SliceLogs};
use crate::metadata::ranges::ColumnRange;
use crate::storage::Storage;
use crate::table::Location;
use crate::timeline::{Snapshot, arrow_schema};
use crate::view::FileSlice;
use crate::write::{FILE_BATCH_ROWS, Output, count, rows_at_most, unnamed};

/// All that a worker needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactionTask {
    pub(super) location: Location,
    pub(super) table: String,
    pub(super) instant: String,
    /// Path of the file that stands as long as the compaction may go on.
    pub(super) inflight: String,
    /// Place in the plan.
    pub(super) number: u32,
    pub(super) slice: FileSlice,
    /// What the plan's maker saw.
    pub(super) snapshot: Snapshot,
    /// Avro text, without meta columns.
    pub(super) schema: String,
    pub(super) rule: MergeRule,
    pub(super) options: WriteOptions,
    pub(super) memory: Memory,
    /// Columns of whose values the table keeps statistics.
    pub(super) indexed: Vec<String>,
}

impl BytesForm for CompactionTask {
    const KIND: (u8, &'static str) = (b'C', "compaction task");
}

/// What a task did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactionStatus {
    pub(super) instant: String,
    pub(super) number: u32,
    pub(super) stat: WriteStat,
    /// What the file holds in the columns of which the table keeps statistics.
    pub(super) ranges: Vec<ColumnRange>,
}

impl BytesForm for CompactionStatus {
    const KIND: (u8, &'static str) = (b'D', "compaction status");
}

impl CompactionTask {
    /// Runs on a worker: opens the storage itself.
    pub fn run(&self, context: &Context) -> Result<CompactionStatus> {
        // Who hands tasks out may run one twice, at the same time even, and does not tell.
        let attempt = (context.ids.next_u128() as u32) >> 1;
        self.run_on(&self.location.open()?, context, attempt, 1)
    }

    /// Runs on a storage that is open, beside others that share the memory. The number keeps the files of several attempts
    /// at one task apart.
    pub fn run_on(
        &self,
        storage: &Arc<dyn Storage>,
        context: &Context,
        attempt: u32,
        at_once: usize,
    ) -> Result<CompactionStatus> {
        let folded = self.fold(storage, context, attempt, at_once);
        let (stat, ranges) = folded.map_err(|e| e.at_instant(&self.instant))?;
        Ok(CompactionStatus { instant: self.instant.clone(), number: self.number, stat, ranges })
    }

    fn fold(
        &self,
        storage: &Arc<dyn Storage>,
        context: &Context,
        attempt: u32,
        at_once: usize,
    ) -> Result<(WriteStat, Vec<ColumnRange>)> {
        let started = context.clock.monotonic_ms();
        let slice = &self.slice;
        let schema: SchemaRef = Arc::new(meta::with_meta(&arrow_schema(&self.schema)?));
        let mut logs = SliceLogs::open(storage, &self.snapshot, slice, &self.rule)?;
        let base = |columns: &SchemaRef| self.base_rows(storage, columns);
        let mut merged =
            merge::merged(&mut logs, &unnamed(&schema), base, FILE_BATCH_ROWS, &self.memory.shared_by(at_once))?;
        let read_ms = context.clock.monotonic_ms() - started;

        let name = BaseFileName {
            file_id: slice.file_id.clone(),
            write_token: write_token(self.number, 0, attempt),
            instant: self.instant.clone(),
            extension: "parquet".to_owned(),
        };
        let name = name.to_string();
        let kind = if slice.base.is_some() { MarkerKind::Merge } else { MarkerKind::Create };
        let expected = slice.base.iter().chain(&slice.logs).map(rows_at_most).sum();
        let keys = match &slice.base {
            Some(base) if merged.keeps_keys() => KeySummary::going_on(storage, &slice.path(base), expected)?,
            _ => KeySummary::new(expected)?,
        };
        // Rows keep who wrote them and when: a compaction changes no row.
        let rows = merged.by_ref().map(|merged| Ok(merged?.rows.into()));
        let output = self.output(storage, context);
        let (written, ranges) = output.write_base(&name, kind, &schema, keys, rows)?;
        let counts = merged.counts();
        let base = slice.base.as_ref().map(|base| (slice.base_instant.as_str(), base));
        let stats = logs.stats();
        let stat = WriteStat {
            total_log_records: count(stats.rows),
            total_log_blocks: count(stats.blocks.values().sum()),
            total_corrupt_log_block: count(stats.corrupt),
            total_updated_records_compacted: count(counts.updated),
            total_log_files_compacted: count(stats.files),
            total_log_size_compacted: count(logs.content_bytes()),
            total_log_read_time_ms: Some(read_ms),
            ..output.base_stat(&name, base, &written, counts, started)
        };
        Ok((stat, ranges))
    }

    fn output<'a>(&'a self, storage: &'a Arc<dyn Storage>, context: &'a Context) -> Output<'a> {
        Output {
            storage: storage.as_ref(),
            context,
            table: &self.table,
            instant: &self.instant,
            inflight: &self.inflight,
            partition: &self.slice.partition,
            file_id: &self.slice.file_id,
            options: &self.options,
            indexed: &self.indexed,
        }
    }

    fn base_rows(&self, storage: &Arc<dyn Storage>, columns: &SchemaRef) -> Result<Batches> {
        match &self.slice.base {
            Some(base) => {
                base_file::read_packed(storage, &self.slice.path(base), columns, &Mapping::default(), FILE_BATCH_ROWS)
            }
            None => Ok(Box::new(std::iter::empty())),
        }
    }
}
