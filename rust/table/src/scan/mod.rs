//! Reading: snapshot → plan → splits → batches.
//!
//! A scan is pinned when it is made and can be read again and again. A split is a file slice with all that a process
//! elsewhere needs to read it.

mod incremental;
mod moment;
mod parallel;
mod split;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use hudini_format::schema::meta;

use crate::config::TableConfig;
use crate::merge::MergeRule;
use crate::options::{MergeMode, QueryType};
use crate::table::Table;
use crate::timeline::{Snapshot, Timeline, Until, arrow_schema};
use crate::view::{self, FileSlice, Listing, Partitions};
use crate::{Error, ErrorKind, Result};

pub use incremental::Window;
pub use split::{Split, SplitReader};

/// Rows in a batch, unless the caller wants another number.
pub const DEFAULT_BATCH_ROWS: usize = 8192;

/// What a caller wants to read.
#[derive(Debug, Clone)]
pub struct ScanRequest {
    pub columns: Option<Vec<String>>,
    /// An instant, or a date and time in the table's zone.
    pub as_of: Option<String>,
    /// Only what was written in a range: of instants, or of dates and times in the table's zone.
    pub window: Option<Window>,
    pub mode: QueryType,
    /// Whether the meta columns come first.
    pub meta: bool,
    pub limit: Option<usize>,
    pub batch_size: Option<usize>,
}

impl Default for ScanRequest {
    fn default() -> Self {
        Self {
            columns: None,
            as_of: None,
            window: None,
            mode: QueryType::Snapshot,
            meta: true,
            limit: None,
            batch_size: None,
        }
    }
}

/// A pinned read.
#[derive(Debug, Clone)]
pub struct Scan {
    table: Table,
    request: ScanRequest,
    pinned: Arc<Pinned>,
    schema: SchemaRef,
    rule: MergeRule,
}

/// What a scan reads: a state of the table, and what of it.
#[derive(Debug)]
struct Pinned {
    snapshot: Snapshot,
    /// Listed once: files that vanish later are missed, not overlooked.
    slices: Vec<FileSlice>,
    /// The rows of only these commits, by requested time.
    commits: Option<BTreeSet<String>>,
    listing: view::Source,
    /// What the caller should know of how the files were found.
    warning: Option<String>,
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
    pub options_without_effect: Vec<String>,
    pub warnings: Vec<String>,
}

impl Scan {
    pub fn plan(table: &Table, request: ScanRequest) -> Result<Self> {
        let config = table.config()?;
        config.check_readable()?;
        let pinned = Arc::new(pin(table, &config, &request)?);
        let schema = Arc::new(output_schema(&pinned.snapshot, &request)?);
        let rule = rule(&config)?;
        Ok(Self { table: table.clone(), request, pinned, schema, rule })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The newest instant that the scan sees.
    pub fn instant(&self) -> Option<&str> {
        self.pinned.snapshot.newest()
    }

    /// What to read, in parts of about `target_bytes`; without a target, a part for each file slice. A slice is never
    /// divided.
    pub fn splits(&self, target_bytes: Option<u64>) -> Vec<Split> {
        let mut parts: Vec<Vec<FileSlice>> = Vec::new();
        let mut filled = 0;
        for slice in self.pinned.slices.iter().cloned() {
            let bytes = slice.bytes();
            match parts.last_mut() {
                Some(part) if target_bytes.is_some_and(|target| filled + bytes <= target) => part.push(slice),
                _ => {
                    filled = 0;
                    parts.push(vec![slice]);
                }
            }
            filled += bytes;
        }
        parts.into_iter().map(|slices| self.split(slices)).collect()
    }

    fn split(&self, slices: Vec<FileSlice>) -> Split {
        Split {
            location: self.table.location.clone(),
            snapshot: self.pinned.snapshot.clone(),
            commits: self.pinned.commits.clone(),
            columns: self.schema.fields().iter().map(|f| f.name().clone()).collect(),
            rule: self.rule.clone(),
            slices,
        }
    }

    /// All rows, slice by slice, in an order that does not depend on the number of threads.
    pub fn read(&self) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
        let batch_size = self.request.batch_size.unwrap_or(DEFAULT_BATCH_ROWS).max(1);
        let splits = self.splits(None);
        let rows = parallel::read(&self.table.storage, &self.table.context, splits, batch_size);
        Ok(match self.request.limit {
            Some(limit) => Box::new(limited(rows, limit)),
            None => Box::new(rows),
        })
    }

    pub fn count(&self) -> Result<u64> {
        let mut counted = self.clone();
        counted.schema = Arc::new(Schema::empty());
        counted.read()?.map(|batch| batch.map(|rows| rows.num_rows() as u64)).sum()
    }

    pub fn explain(&self) -> Result<Explanation> {
        let slices = &self.pinned.slices;
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
            merged_by: match (logs().next(), self.rule.by_event_time) {
                (None, _) => "nothing to merge",
                (Some(_), true) => "record key, event time",
                (Some(_), false) => "record key, commit time",
            },
            columns: self.schema.fields().iter().map(|f| f.name().clone()).collect(),
            options_without_effect: self.table.options.without_effect().to_vec(),
            warnings: self.table.options.warnings().iter().chain(&self.pinned.warning).cloned().collect(),
        })
    }
}

/// The newest slices of the table, now or as of a moment.
pub(crate) fn slices(table: &Table, as_of: Option<&str>) -> Result<Vec<FileSlice>> {
    let request = ScanRequest { as_of: as_of.map(str::to_owned), ..ScanRequest::default() };
    Ok(pin(table, &table.config()?, &request)?.slices)
}

fn pin(table: &Table, config: &TableConfig, request: &ScanRequest) -> Result<Pinned> {
    let storage = table.storage.as_ref();
    let moment = |text: &str| moment::parse(text, zone_of(table, config));
    let as_of = request.as_of.as_deref().map(moment).transpose()?;
    if let Some(Window { start, end }) = &request.window {
        if as_of.is_some() || request.mode != QueryType::Snapshot {
            return Err(Error::option("a range of time is read neither as of an instant nor without the logs"));
        }
        let [start, end] = [start, end].map(|text| text.as_deref().map(moment).transpose());
        return incremental::pin(table, config, &Window { start: start?, end: end? });
    }
    let timeline = timeline_back_to(table, config, as_of.as_deref())?;
    let until = as_of.as_deref().map_or(Until::Now, Until::Requested);
    let snapshot = Snapshot::pin(storage, config, &timeline, until)?;
    let mut listed = Listing::of(table, config, &timeline, Partitions::All)?;
    let (listing, warning) = (listed.source, listed.warning.take());
    let mut slices = listed.slices(storage, config, &snapshot)?;
    if request.mode == QueryType::ReadOptimized {
        slices.retain(|slice| slice.base.is_some());
        slices.iter_mut().for_each(|slice| slice.logs.clear());
    }
    Ok(Pinned { snapshot, slices, commits: None, listing, warning })
}

/// The active timeline, or with the history if that is asked for. Time travel before the first commit is a mistake, not an
/// empty table.
fn timeline_back_to(table: &Table, config: &TableConfig, as_of: Option<&str>) -> Result<Timeline> {
    let storage = table.storage.as_ref();
    let timeline = Timeline::load(storage, config)?;
    let Some(as_of) = as_of else { return Ok(timeline) };
    let reaches = |timeline: &Timeline| timeline.commits().next().is_none_or(|first| first.requested.as_str() <= as_of);
    if reaches(&timeline) {
        return Ok(timeline);
    }
    let timeline = timeline.with_history(storage, config)?;
    if reaches(&timeline) {
        return Ok(timeline);
    }
    Err(Error::new(ErrorKind::InstantNotFound, format!("the table has no commit at or before {as_of}"))
        .at_instant(as_of))
}

/// How far the zone of the table's instants lies east of UTC at a moment.
fn zone_of(table: &Table, config: &TableConfig) -> impl Fn(i64) -> i64 {
    let (clock, utc) = (Arc::clone(&table.context.clock), config.utc());
    move |epoch_ms| if utc { 0 } else { clock.local_offset_ms(epoch_ms) }
}

fn rule(config: &TableConfig) -> Result<MergeRule> {
    // A copy-on-write table is merged when it is written; nothing is merged on reading.
    let mode = if config.is_mor() { config.merge_mode()? } else { MergeMode::CommitTime };
    Ok(MergeRule::new(mode, &config.ordering))
}

fn output_schema(snapshot: &Snapshot, request: &ScanRequest) -> Result<Schema> {
    let user = match &snapshot.schema {
        Some(text) => arrow_schema(text)?,
        None => Schema::empty(),
    };
    let all = if request.meta { meta::with_meta(&user) } else { user };
    let Some(names) = &request.columns else { return Ok(all) };
    let field = |name: &String| -> Result<Arc<Field>> {
        let found = all.fields().iter().find(|f| f.name() == name);
        found.cloned().ok_or_else(|| {
            let known: Vec<_> = all.fields().iter().map(|f| f.name().as_str()).collect();
            Error::schema(format!("there is no column '{name}'")).with_hint(format!("columns: {}", known.join(", ")))
        })
    };
    Ok(Schema::new(names.iter().map(field).collect::<Result<Vec<_>>>()?))
}

fn limited(rows: impl Iterator<Item = Result<RecordBatch>>, limit: usize) -> impl Iterator<Item = Result<RecordBatch>> {
    let mut left = limit;
    rows.map_while(move |batch| match batch {
        _ if left == 0 => None,
        Err(e) => Some(Err(e)),
        Ok(rows) => {
            let take = rows.num_rows().min(left);
            left -= take;
            Some(Ok(rows.slice(0, take)))
        }
    })
}
