//! The file that a task writes: what must stand before it, how it becomes visible, and what the commit says of it.

use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{Schema, SchemaRef};
use hudini_format::action::{NO_PREVIOUS_COMMIT, RuntimeStats, WriteStat};
use hudini_format::instant::{InstantFile, State};
use hudini_format::parquet_file::schema_of;
use hudini_format::properties::{PartitionMetadata, java_date};
use hudini_format::schema::meta;

use crate::base_file::{BaseFileWriter, KeySummary, Numbered, WriteOptions, WrittenFile};
use crate::concurrency::{self, MarkerKind};
use crate::context::{Context, heap};
use crate::merge::MergeCounts;
use crate::metadata::ranges::{ColumnRange, Ranges};
use crate::storage::{Put, Storage};
use crate::view::{DataFile, PARTITION_FILE, in_partition};
use crate::{Error, ErrorKind, Result};

/// Where a task's file goes, and for which action.
pub(crate) struct Output<'a> {
    pub(crate) storage: &'a dyn Storage,
    pub(crate) context: &'a Context,
    pub(crate) table: &'a str,
    pub(crate) instant: &'a str,
    /// Path of the file that stands as long as the action may go on.
    pub(crate) inflight: &'a str,
    pub(crate) partition: &'a str,
    pub(crate) file_id: &'a str,
    pub(crate) options: &'a WriteOptions,
    /// Columns of whose values the table keeps statistics.
    pub(crate) indexed: &'a [String],
}

impl Output<'_> {
    /// Writes a base file of rows that lack nothing but the column with its name, as [`unnamed`] says.
    pub(crate) fn write_base(
        &self,
        name: &str,
        kind: MarkerKind,
        schema: &SchemaRef,
        keys: KeySummary,
        rows: impl Iterator<Item = Result<Numbered>>,
    ) -> Result<(WrittenFile, Vec<ColumnRange>)> {
        heap::keep_freed_blocks();
        self.prepare_file(name, kind)?;
        let path = in_partition(self.partition, name);
        let mut writer = BaseFileWriter::new(self.storage, &path, schema, self.table, self.options, keys)?;
        let mut ranges = Ranges::beside_file(schema, self.indexed)?;
        let mut names = NameColumn::new(name);
        for rows in rows {
            let Numbered { rows, numbers } = rows?;
            let rows = names.beside(&rows, schema)?;
            ranges.add(&rows)?;
            writer.write(&Numbered { rows, numbers })?;
        }
        let written = writer.finish(|| self.check_wanted(name, kind))?;
        let ranges = ranges.finish_with(&written)?;
        Ok((written, ranges))
    }

    /// Everything that must be there before the data file: the partition's own file, then the marker.
    pub(crate) fn prepare_file(&self, name: &str, kind: MarkerKind) -> Result<()> {
        let now = self.context.clock.now_ms();
        let partition = PartitionMetadata::new(self.instant.to_owned(), self.partition);
        let path = in_partition(self.partition, PARTITION_FILE);
        if self.storage.head(&path)?.is_none() {
            match self.storage.create(&path, &partition.to_bytes(&java_date(now)))? {
                // Another task may have been faster.
                Put::Done(_) | Put::Refused => {}
            }
        }
        concurrency::create_marker(self.storage, self.instant, self.partition, name, kind)
    }

    /// The last look before a file shows: an attempt that was given up for lost must publish neither after the commit nor
    /// after a rollback. What it has written so far is a temporary file. Both of them remove what is marked once the write has
    /// ended, so who has not seen that yet has no temporary file any more.
    pub(crate) fn check_wanted(&self, name: &str, kind: MarkerKind) -> Result<()> {
        let Some(what) = self.ended(name, kind)? else { return Ok(()) };
        // Nobody else looks for it any more.
        concurrency::delete_marker(self.storage, self.instant, self.partition, name, kind)?;
        let message = format!("the write was {what} while this attempt at a task ran");
        Err(Error::new(ErrorKind::CommitConflict, message).at_path(self.inflight))
    }

    fn ended(&self, name: &str, kind: MarkerKind) -> Result<Option<&'static str>> {
        let (dir, inflight) = self.inflight.rsplit_once('/').unwrap_or(("", self.inflight));
        let names = self.storage.list(dir)?;
        let completed = |name: &str| {
            InstantFile::parse(name).is_some_and(|f| f.requested == self.instant && f.state == State::Completed)
        };
        if !names.iter().any(|entry| entry.name() == inflight) {
            return Ok(Some("rolled back"));
        }
        if names.iter().any(|entry| completed(entry.name())) {
            return Ok(Some("committed"));
        }
        // A compaction that was rolled back is done again under the same instant: its inflight file stands again then, but
        // the markers of attempts of before are gone.
        let is_marked = concurrency::is_marked(self.storage, self.instant, self.partition, name, kind)?;
        Ok((!is_marked).then_some("rolled back"))
    }

    /// Of a base file that takes the place of another one with that instant, or of none.
    pub(crate) fn base_stat(
        &self,
        name: &str,
        base: Option<(&str, &DataFile)>,
        written: &WrittenFile,
        counts: MergeCounts,
        started: i64,
    ) -> WriteStat {
        let millis = Some(self.context.clock.monotonic_ms() - started);
        let (created, upserted) = if base.is_some() { (Some(0), millis) } else { (millis, Some(0)) };
        WriteStat {
            prev_commit: Some(base.map_or(NO_PREVIOUS_COMMIT, |(instant, _)| instant).to_owned()),
            prev_base_file: base.map(|(_, file)| file.name.clone()),
            num_writes: count(written.rows),
            num_update_writes: count(counts.updated),
            num_inserts: count(counts.inserted),
            num_deletes: count(counts.deleted),
            runtime_stats: Some(RuntimeStats {
                total_scan_time: Some(0),
                total_create_time: created,
                total_upsert_time: upserted,
                ..RuntimeStats::default()
            }),
            ..self.file_stat(name, written.bytes)
        }
    }

    pub(crate) fn file_stat(&self, name: &str, bytes: u64) -> WriteStat {
        WriteStat {
            file_id: Some(self.file_id.to_owned()),
            path: Some(in_partition(self.partition, name)),
            partition_path: Some(self.partition.to_owned()),
            total_write_bytes: count(bytes),
            file_size_in_bytes: count(bytes),
            ..WriteStat::zeroed()
        }
    }
}

/// The columns of a base file without that of its name: what rows had there before is never asked for.
pub(crate) fn unnamed(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().filter(|field| field.name() != meta::FILE_NAME);
    Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
}

/// The column with the name of the file, packed: names are long, and there is one.
struct NameColumn {
    name: ArrayRef,
    numbers: Int32Array,
}

impl NameColumn {
    fn new(name: &str) -> Self {
        Self { name: Arc::new(StringArray::from(vec![name])), numbers: Int32Array::new_null(0) }
    }

    fn rows(&mut self, count: usize) -> Result<ArrayRef> {
        if self.numbers.len() < count {
            self.numbers = Int32Array::from(vec![0; count]);
        }
        Ok(Arc::new(DictionaryArray::try_new(self.numbers.slice(0, count), Arc::clone(&self.name))?))
    }

    fn beside(&mut self, rows: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
        let mut columns = rows.columns().to_vec();
        if let Some((at, _)) = schema.column_with_name(meta::FILE_NAME) {
            columns.insert(at.min(columns.len()), self.rows(rows.num_rows())?);
        }
        Ok(RecordBatch::try_new(schema_of(schema, &columns), columns)?)
    }
}

pub(crate) fn count(n: u64) -> Option<i64> {
    Some(i64::try_from(n).unwrap_or(i64::MAX))
}

/// More rows than a base file is likely to have: it only sizes bloom filters. A row takes some bytes at least.
pub(crate) fn rows_at_most(base: &DataFile) -> u64 {
    const FEWEST_BYTES: u64 = 20;
    base.size / FEWEST_BYTES
}
