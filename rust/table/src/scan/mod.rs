//! Reading: snapshot → plan → splits → batches.
//!
//! A scan is pinned when it is made and can be read again and again. A split is a file slice with all that a process
//! elsewhere needs to read it.

mod bootstrap;
mod changes;
mod gone;
mod hollow;
mod incremental;
mod moment;
mod operation;
mod parallel;
mod pin;
mod plain;
mod prune;
mod ran;
mod shape;
mod skip;
mod split;
mod stages;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};

use crate::config::TableConfig;
use crate::context::Watch;
use crate::merge::{Memory, MergeRule};
use crate::options::{self, MergeMode, MergeType, Options, QueryType};
use crate::storage::Storage;
use crate::storage::watched::Watched;
use crate::table::Table;
use crate::timeline::{Snapshot, again_if_gone};
use crate::view::FileSlice;
use crate::{Error, Result};

use bootstrap::Sources;
use pin::{Found, Gone, Pinned, pin};
use shape::RowShape;
use split::Reading;
use stages::Stages;

pub use changes::{ChangeSplit, Images};
pub use incremental::Window;
pub(crate) use operation::is_there as tells_operations;
pub use plain::Plain;
pub(crate) use prune::PartitionFilter;
pub use prune::{Evidence, Pruned};
pub use ran::Ran;
pub(crate) use skip::{Of, believes_bounds, in_every_file, secondary_column, texts};
pub(crate) use split::Manner;
pub use split::{RowSplit, Split, SplitReader};

/// Rows in a batch, unless the caller wants another number.
pub const DEFAULT_BATCH_ROWS: usize = 8192;

/// What a caller wants to read.
#[derive(Debug, Clone)]
pub struct ScanRequest {
    pub columns: Option<Vec<String>>,
    /// A condition over all columns of the table, those that are not read too.
    pub filter: Option<String>,
    /// An instant, or a date and time in the table's zone; the table's options may say one too.
    pub as_of: Option<String>,
    /// Only what was written in a range: of instants, or of dates and times in the table's zone.
    pub window: Option<Window>,
    /// Not the rows of that range, but what happened to them.
    pub changes: Option<Images>,
    /// As the table's options say, or else a snapshot.
    pub mode: Option<QueryType>,
    /// Whether the meta columns come first.
    pub meta: bool,
    pub limit: Option<usize>,
    pub batch_size: Option<usize>,
    /// Bytes that merging may hold; the table's option says it otherwise.
    pub memory_limit: Option<u64>,
}

impl Default for ScanRequest {
    fn default() -> Self {
        Self {
            columns: None,
            filter: None,
            as_of: None,
            window: None,
            changes: None,
            mode: None,
            meta: true,
            limit: None,
            batch_size: None,
            memory_limit: None,
        }
    }
}

impl ScanRequest {
    /// With what the options of a table's handle say of its reads.
    fn completed_by(self, options: &Options) -> Result<Self> {
        let as_of = self.as_of.map_or_else(|| options.get(&options::AS_OF), |told| Ok(Some(told)))?;
        let mode = self.mode.map_or_else(|| options.get(&options::QUERY_TYPE), |told| Ok(Some(told)))?;
        Ok(Self { as_of, mode, ..self })
    }

    fn batch_size(&self) -> usize {
        self.batch_size.unwrap_or(DEFAULT_BATCH_ROWS).max(1)
    }

    /// No more than are wanted, where every row that is read counts.
    fn rows_at_a_time(&self) -> usize {
        let rows = self.batch_size();
        let chooses = self.filter.is_some() || self.window.is_some();
        self.limit.filter(|_| !chooses).map_or(rows, |limit| limit.min(rows)).max(1)
    }

    /// Whoever reads one split knows nothing of the others, and so not when there are enough rows of all of them.
    fn refuse_limit(&self) -> Result<()> {
        match self.limit {
            None => Ok(()),
            Some(limit) => Err(Error::option(format!("splits of a scan with a limit, here of {limit} rows"))
                .with_hint("leave the limit out, and read no further split once there are enough rows")),
        }
    }
}

/// A pinned read.
#[derive(Debug, Clone)]
pub struct Scan {
    table: Table,
    request: ScanRequest,
    pinned: Arc<Pinned>,
    reading: Arc<Reading>,
    schema: SchemaRef,
}

/// What a scan is going to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub instant: Option<String>,
    pub partitions: usize,
    pub slices: usize,
    pub base_files: usize,
    pub base_bytes: u64,
    pub log_files: usize,
    pub log_bytes: u64,
    /// Where the list of files comes from.
    pub listing: &'static str,
    pub merged_by: &'static str,
    pub columns: Vec<String>,
    pub filter: Option<String>,
    /// What is left out for the filter's sake, before any file is opened.
    pub pruned: Pruned,
    /// The stages of planning, with their milliseconds.
    pub took: Vec<(&'static str, u64)>,
    pub options_without_effect: Vec<String>,
    pub warnings: Vec<String>,
}

impl Scan {
    pub fn plan(table: &Table, request: ScanRequest) -> Result<Self> {
        let request = request.completed_by(&table.options)?;
        Self::planned(table, request, Gone::Refused).map_err(|e| e.at_path(&table.location.url))
    }

    /// The same of what is there, for those who look at that.
    pub(crate) fn of_what_is_there(table: &Table, request: ScanRequest) -> Result<Self> {
        Self::planned(table, request, Gone::PassedOver)
    }

    fn planned(table: &Table, request: ScanRequest, gone: Gone) -> Result<Self> {
        let (config, shape, (snapshot, pinned)) = again_if_gone(|| {
            let config = table.config()?;
            config.check_readable()?;
            if request.window.is_some() && request.changes.is_none() && config.has_virtual_keys() {
                let message = "a range of time of a table without meta fields: its rows tell no commit";
                return Err(Error::unsupported(message));
            }
            let shape = RowShape::of(&config)?;
            let shape = if request.changes == Some(Images::Json) { shape.with_times() } else { shape };
            let pinned = pin(table, &config, &shape, &request, gone)?;
            Ok((config, shape, pinned))
        })?;
        let slices = pinned.found.slices();
        // Changes are of rows, and rows are merged.
        let unmerged =
            request.changes.is_none() && table.options.get_or_default(&options::MERGE_TYPE)? == MergeType::Unmerged;
        let merges = !unmerged && slices.iter().any(|slice| !slice.logs.is_empty());
        let mut rule = if merges { rule(table, &config)? } else { MergeRule::new(MergeMode::CommitTime, &[]) };
        rule.check_defaults(snapshot.schema.as_deref())?;
        if request.changes.is_some() {
            rule.virtual_keys = config.virtual_keys()?;
            shape.check_keys(&rule, &snapshot)?;
        }
        let sources = Sources::of(table, &config, &slices, snapshot.evolution.is_some())?;
        let memory = memory(table, &request)?;
        let (location, batch_size) = (table.location.clone(), request.batch_size());
        let snapshot = snapshot.travelling();
        let reading = Reading { location, snapshot, shape, rule, unmerged, sources, memory, batch_size };
        let schema = match pinned.found {
            Found::Rows { .. } => output_schema(&reading, &request)?,
            Found::Changes { images, .. } => changes::schema(images, &reading)?,
        };
        Ok(Self {
            table: table.clone(),
            request,
            pinned: Arc::new(pinned),
            reading: Arc::new(reading),
            schema: Arc::new(schema),
        })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The newest instant that the scan sees.
    pub fn instant(&self) -> Option<&str> {
        self.reading.snapshot.newest()
    }

    /// The same rows, of which only these columns are read, and no more rows than so many.
    pub fn narrowed(&self, columns: Option<&[String]>, limit: Option<usize>) -> Result<Self> {
        let mut narrowed = self.clone();
        if let (Some(names), Found::Rows { .. }) = (columns, &self.pinned.found) {
            narrowed.schema = Arc::new(chosen(&self.schema, names)?);
        }
        narrowed.request.limit = limit.into_iter().chain(self.request.limit).min();
        Ok(narrowed)
    }

    /// What to read, in parts of about `target_bytes`; without a target, a part for each file slice. A slice is never
    /// divided.
    pub fn splits(&self, target_bytes: Option<u64>) -> Result<Vec<Split>> {
        self.request.refuse_limit()?;
        Ok(self.parts(target_bytes))
    }

    /// The same, to be read together: the limit is the reader's.
    fn parts(&self, target_bytes: Option<u64>) -> Vec<Split> {
        match &self.pinned.found {
            Found::Rows { slices, commits } => {
                let parts = gathered(slices, FileSlice::bytes, target_bytes).into_iter();
                parts.map(|slices| Split::Rows(self.rows_of(slices, commits.clone()))).collect()
            }
            Found::Changes { images, parts } => {
                let bytes = |part: &changes::Part| part.slices().map(FileSlice::bytes).sum();
                let parts = gathered(parts, bytes, target_bytes).into_iter();
                parts.map(|parts| Split::Changes(self.changes_of(*images, parts))).collect()
            }
        }
    }

    /// The slices, each with a split of its own.
    pub(crate) fn by_slice(&self) -> Vec<(FileSlice, Split)> {
        let Found::Rows { slices, commits } = &self.pinned.found else { return Vec::new() };
        let split = |slice: &FileSlice| Split::Rows(self.rows_of(vec![slice.clone()], commits.clone()));
        slices.iter().map(|slice| (slice.clone(), split(slice))).collect()
    }

    fn rows_of(&self, slices: Vec<FileSlice>, commits: Option<BTreeSet<String>>) -> RowSplit {
        let columns = self.schema.fields().iter().map(|f| f.name().clone()).collect();
        let filter = self.request.filter.clone();
        RowSplit { reading: self.reading.of_slices(slices.iter()), columns, slices, commits, filter }
    }

    fn changes_of(&self, images: Images, parts: Vec<changes::Part>) -> ChangeSplit {
        ChangeSplit { reading: self.reading.of_slices(parts.iter().flat_map(changes::Part::slices)), images, parts }
    }

    /// All rows, slice by slice, in an order that does not depend on the number of threads.
    pub fn read(&self) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
        self.read_watched(&Watch::default())
    }

    /// The same, watched; what is under way when the rows are dropped is cancelled.
    pub fn read_watched(&self, watch: &Watch) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
        self.read_in_stages(watch, Stages::default())
    }

    fn read_in_stages(
        &self,
        watch: &Watch,
        stages: Stages,
    ) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
        let batch_size = self.request.rows_at_a_time();
        let splits = self.parts(None);
        watch.expect(splits.len());
        let storage: Arc<dyn Storage> = Arc::new(Watched::new(Arc::clone(&self.table.storage), watch.clone()));
        let resources = (self.table.context.threads, self.reading.memory.bytes);
        let rows = parallel::read(&storage, resources, splits, batch_size, watch, stages);
        let rows = Abandoned { rows, watch: watch.clone() };
        Ok(match self.request.limit {
            Some(limit) => Box::new(limited(rows, limit)),
            None => Box::new(rows),
        })
    }

    pub fn count(&self) -> Result<u64> {
        self.count_watched(&Watch::default())
    }

    /// The same, watched.
    pub fn count_watched(&self, watch: &Watch) -> Result<u64> {
        let mut counted = self.clone();
        if let Found::Rows { .. } = self.pinned.found {
            counted.schema = Arc::new(Schema::empty());
        }
        counted.read_watched(watch)?.map(|batch| batch.map(|rows| rows.num_rows() as u64)).sum()
    }

    /// What the caller should know of how the files were found and chosen, and of the options.
    pub fn warnings(&self) -> impl Iterator<Item = &String> {
        self.table.options.warnings().iter().chain(&self.pinned.warnings)
    }

    pub fn explain(&self) -> Result<Explanation> {
        let slices = self.pinned.found.slices();
        let partitions: BTreeSet<_> = slices.iter().map(|s| &s.partition).collect();
        let bases = || slices.iter().filter_map(|s| s.base.as_ref());
        let logs = || slices.iter().flat_map(|s| &s.logs);
        Ok(Explanation {
            instant: self.instant().map(str::to_owned),
            partitions: partitions.len(),
            slices: slices.len(),
            base_files: bases().count(),
            base_bytes: bases().map(|f| f.size).sum(),
            log_files: logs().count(),
            log_bytes: logs().map(|f| f.size).sum(),
            listing: self.pinned.listing.name(),
            merged_by: match logs().next() {
                None => "nothing to merge",
                Some(_) if self.reading.unmerged => "nothing: base and log rows stand side by side",
                Some(_) => self.reading.rule.words(),
            },
            columns: self.schema.fields().iter().map(|f| f.name().clone()).collect(),
            filter: self.request.filter.clone(),
            pruned: self.pinned.pruned.clone(),
            took: self.pinned.took.clone(),
            options_without_effect: self.table.options.without_effect().to_vec(),
            warnings: self.warnings().cloned().collect(),
        })
    }
}

/// Rows of which nobody may want the rest.
struct Abandoned<R> {
    rows: R,
    watch: Watch,
}

impl<R: Iterator> Iterator for Abandoned<R> {
    type Item = R::Item;

    fn next(&mut self) -> Option<R::Item> {
        self.rows.next()
    }
}

impl<R> Drop for Abandoned<R> {
    /// Before the rows are dropped, which waits for the threads that read them.
    fn drop(&mut self) {
        self.watch.cancel();
    }
}

/// All columns as files have them, the meta columns in front.
pub(crate) fn stored_columns(snapshot: &Snapshot) -> Result<Schema> {
    RowShape::stored(snapshot)
}

/// The newest slices of the table, now or as of a moment, which its options may say too.
pub(crate) fn slices(table: &Table, as_of: Option<&str>) -> Result<Vec<FileSlice>> {
    let mode = Some(QueryType::Snapshot);
    let request = ScanRequest { as_of: as_of.map(str::to_owned), mode, ..ScanRequest::default() };
    let request = request.completed_by(&table.options)?;
    let config = table.config()?;
    let (_, pinned) = pin(table, &config, &RowShape::of(&config)?, &request, Gone::PassedOver)?;
    Ok(pinned.found.slices().into_iter().cloned().collect())
}

/// Neighbours together, up to a number of bytes; without one, each alone.
fn gathered<T: Clone>(parts: &[T], bytes_of: impl Fn(&T) -> u64, target: Option<u64>) -> Vec<Vec<T>> {
    let mut gathered: Vec<Vec<T>> = Vec::new();
    let mut filled = 0;
    for part in parts.iter().cloned() {
        let bytes = bytes_of(&part);
        match gathered.last_mut() {
            Some(last) if target.is_some_and(|target| filled + bytes <= target) => last.push(part),
            _ => {
                filled = 0;
                gathered.push(vec![part]);
            }
        }
        filled += bytes;
    }
    gathered
}

fn memory(table: &Table, request: &ScanRequest) -> Result<Memory> {
    let memory = Memory::of(&table.options)?;
    Ok(Memory { bytes: request.memory_limit.unwrap_or(memory.bytes), ..memory })
}

fn rule(table: &Table, config: &TableConfig) -> Result<MergeRule> {
    if !config.is_mor() {
        // A copy-on-write table is merged when it is written; nothing is merged on reading.
        return Ok(MergeRule::new(MergeMode::CommitTime, &config.ordering));
    }
    let by_position = table.options.get_or_default(&options::RECORD_POSITIONS)?;
    Ok(MergeRule { by_position, ..config.merge_rule()? })
}

fn output_schema(reading: &Reading, request: &ScanRequest) -> Result<Schema> {
    let all = reading.shape.shown(&reading.snapshot, request.meta)?;
    match &request.columns {
        Some(names) => chosen(&all, names),
        None => Ok(all),
    }
}

fn chosen(all: &Schema, names: &[String]) -> Result<Schema> {
    let field = |name: &String| -> Result<Arc<Field>> {
        let found = all.fields().iter().find(|f| f.name() == name);
        found.cloned().ok_or_else(|| {
            let known: Vec<_> = all.fields().iter().map(|f| f.name().as_str()).collect();
            Error::schema(format!("there is no column '{name}'")).with_hint(format!("columns: {}", known.join(", ")))
        })
    };
    Ok(Schema::new(names.iter().map(field).collect::<Result<Vec<_>>>()?))
}

/// Nothing is read any more once there are enough rows.
fn limited(
    mut rows: impl Iterator<Item = Result<RecordBatch>>,
    limit: usize,
) -> impl Iterator<Item = Result<RecordBatch>> {
    let mut left = limit;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let taken = rows.next()?.map(|rows| rows.slice(0, rows.num_rows().min(left)));
        left -= taken.as_ref().map_or(0, RecordBatch::num_rows);
        Some(taken)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::all(None, None, None, DEFAULT_BATCH_ROWS)]
    #[case::few(Some(10), None, None, 10)]
    #[case::none_at_all(Some(0), None, None, 1)]
    #[case::more_than_a_batch(Some(100), Some(7), None, 7)]
    #[case::few_that_match(Some(10), None, Some("ts > 1"), DEFAULT_BATCH_ROWS)]
    fn no_more_rows_are_read_at_a_time_than_are_wanted(
        #[case] limit: Option<usize>,
        #[case] batch_size: Option<usize>,
        #[case] filter: Option<&str>,
        #[case] rows: usize,
    ) {
        let request = ScanRequest { limit, batch_size, filter: filter.map(str::to_owned), ..ScanRequest::default() };
        assert_eq!(request.rows_at_a_time(), rows);
    }
}
