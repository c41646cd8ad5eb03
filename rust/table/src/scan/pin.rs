//! What a scan reads: a state of the table, and which of its slices.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::ScanRequest;
use super::changes::{self, Images};
use super::incremental::{self, Window};
use super::moment;
use super::operation;
use super::prune::{Choice, Pruned};
use super::shape::RowShape;
use super::skip::Indexed;
use crate::config::TableConfig;
use crate::context::Clock;
use crate::metadata::MetadataTable;
use crate::options::{self, MergeType, QueryType};
use crate::table::Table;
use crate::timeline::{Order, Snapshot, Timeline, Until, untold_schema};
use crate::view::{Absent, FileSlice, Listing, Partitions, Source};
use crate::{Error, ErrorKind, Result};

/// What of a state of the table a scan reads.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) found: Found,
    pub(super) pruned: Pruned,
    pub(super) listing: Source,
    /// What the caller should know of how the files were found and chosen.
    pub(super) warnings: Vec<String>,
    /// How long the stages of planning took, in milliseconds.
    pub(super) took: Vec<(&'static str, u64)>,
}

/// Time as it passes, stage by stage.
pub(super) struct Laps<'c> {
    clock: &'c dyn Clock,
    last: i64,
    took: Vec<(&'static str, u64)>,
}

impl<'c> Laps<'c> {
    fn start(clock: &'c dyn Clock) -> Self {
        Self { clock, last: clock.monotonic_ms(), took: Vec::new() }
    }

    /// A stage ends here, and the next one begins.
    pub(super) fn done(&mut self, stage: &'static str) {
        let now = self.clock.monotonic_ms();
        self.took.push((stage, now.saturating_sub(self.last).unsigned_abs()));
        self.last = now;
    }
}

/// Listed once: files that vanish later are missed, not overlooked.
#[derive(Debug)]
pub(super) enum Found {
    Rows {
        slices: Vec<FileSlice>,
        /// The rows of only these commits, by requested time.
        commits: Option<BTreeSet<String>>,
    },
    Changes {
        images: Images,
        parts: Vec<changes::Part>,
    },
}

impl Found {
    pub(super) fn slices(&self) -> Vec<&FileSlice> {
        match self {
            Self::Rows { slices, .. } => slices.iter().collect(),
            Self::Changes { parts, .. } => parts.iter().flat_map(changes::Part::slices).collect(),
        }
    }
}

/// Slices of which a filter may leave some out.
pub(super) struct Candidates {
    pub(super) slices: Vec<FileSlice>,
    /// The rows of only these commits, by requested time.
    pub(super) commits: Option<BTreeSet<String>>,
    /// What they were listed by, unless that is storage.
    pub(super) metadata: Option<MetadataTable>,
    /// What the caller should know of how they were found.
    pub(super) warnings: Vec<String>,
    /// The writes up to now, if all rows are read, merged, as they are now.
    pub(super) now: Option<Order>,
}

/// Whether a file that a commit names and that is gone is an error, or passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    Refused,
    PassedOver,
}

pub(super) fn pin(
    table: &Table,
    config: &TableConfig,
    shape: &RowShape,
    request: &ScanRequest,
    gone: Gone,
) -> Result<(Snapshot, Pinned)> {
    let storage = table.storage.as_ref();
    let mut laps = Laps::start(table.context.clock.as_ref());
    let moment = |text: &str| moment::parse(text, zone_of(table, config));
    let mode = request.mode.unwrap_or(QueryType::Snapshot);
    let as_of = request.as_of.as_deref().map(moment).transpose()?;
    let choice = |snapshot: &Snapshot| {
        Choice::new(storage, config, shape, &shape.shown(snapshot, true)?, request.filter.as_deref())
    };
    if request.changes.is_some() && (request.window.is_none() || request.columns.is_some() || request.filter.is_some())
    {
        return Err(Error::option("changes are of a range of time, and of whole rows"));
    }
    if let Some(Window { start, end }) = &request.window {
        if as_of.is_some() || mode != QueryType::Snapshot {
            let (as_of, query) = (options::AS_OF.key(), options::QUERY_TYPE.key());
            return Err(Error::option("a range of time is read neither as of an instant nor without the logs")
                .with_hint(format!("the end of the range is its state; leave out as_of, mode, {as_of} and {query}")));
        }
        let [start, end] = [start, end].map(|text| text.as_deref().map(moment).transpose());
        let window = Window { start: start?, end: end? };
        if let Some(images) = request.changes {
            let (snapshot, parts, warnings) = changes::pin(table, config, &window)?;
            shape.check_changes(config, &snapshot)?;
            laps.done("listing");
            let found = Found::Changes { images, parts };
            let (pruned, listing) = (Pruned::default(), Source::Storage);
            return Ok((snapshot, Pinned { found, pruned, listing, warnings, took: laps.took }));
        }
        let (snapshot, candidates) = incremental::pin(table, config, request, &window, &mut laps)?;
        let pinned = candidates.chosen(table, config, shape, &snapshot, choice(&snapshot)?, laps)?;
        return Ok((snapshot, pinned));
    }
    let timeline = timeline_back_to(table, config, as_of.as_deref())?;
    let until = as_of.as_deref().map_or(Until::Now, Until::Requested);
    let mut snapshot = Snapshot::pin(storage, config, &timeline, until)?;
    if operation::matters(config, request) {
        operation::show(&table.storage, config, &timeline, &mut snapshot)?;
    }
    laps.done("timeline");
    // Asked anew, and only where something is gone: the other one counts what it leaves out.
    let mut uncounted = None;
    let new_choice = || choice(&snapshot);
    let choice = RefCell::new(new_choice()?);
    let wanted = |partition: &str| choice.borrow_mut().wants_partition(partition);
    let mut listing = Listing::of(table, config, &timeline, Partitions::Where(&wanted))?;
    let mut wants = |partition: &str| match &mut uncounted {
        Some(choice) => Ok(Choice::wants_partition(choice, partition)),
        none => Ok(none.insert(new_choice()?).wants_partition(partition)),
    };
    if let Some(as_of) = &as_of {
        listing.check_as_of(storage, &timeline, as_of, &mut wants)?;
    }
    let absent = match gone {
        Gone::Refused => listing.add_named(storage, config, &timeline, &snapshot, wants)?,
        Gone::PassedOver => Absent::default(),
    };
    listing.check_whole(storage, config, &timeline)?;
    let metadata = listing.metadata.take();
    let warnings = std::mem::take(&mut listing.warnings).into_iter().chain(timeline.warning()).collect();
    let mut slices = listing.slices(storage, config, &snapshot)?;
    laps.done("listing");
    if mode == QueryType::ReadOptimized {
        slices.retain(|slice| slice.base.is_some());
        slices.iter_mut().for_each(|slice| slice.logs.clear());
    }
    absent.check(storage, &slices)?;
    let merged = table.options.get_or_default(&options::MERGE_TYPE)? != MergeType::Unmerged;
    let newest = as_of.is_none() && merged && mode == QueryType::Snapshot;
    let now = newest.then(|| Order::of(&timeline, config));
    let candidates = Candidates { slices, commits: None, metadata, warnings, now };
    let pinned = candidates.chosen(table, config, shape, &snapshot, choice.into_inner(), laps)?;
    Ok((snapshot, pinned))
}

impl Candidates {
    /// Those that are to be read.
    fn chosen(
        self,
        table: &Table,
        config: &TableConfig,
        shape: &RowShape,
        snapshot: &Snapshot,
        mut choice: Choice,
        mut laps: Laps<'_>,
    ) -> Result<Pinned> {
        let Self { mut slices, commits, metadata, mut warnings, now } = self;
        if snapshot.schema.is_none() && !slices.is_empty() {
            return Err(untold_schema());
        }
        slices.retain(|slice| choice.wants(slice));
        let mut pruned = choice.pruned();
        if let Some(metadata) = metadata.as_ref().filter(|_| !slices.is_empty())
            && table.options.get_or_default(&options::DATA_SKIPPING)?
        {
            let storage = table.storage.as_ref();
            let read = Indexed { storage, metadata, config, snapshot, shape, choice: &choice, now: now.as_ref() };
            warnings.extend(read.leave_out(&mut slices, &mut pruned)?);
        }
        laps.done("pruning");
        let listing = Source::of(metadata.as_ref());
        Ok(Pinned { found: Found::Rows { slices, commits }, pruned, listing, warnings, took: laps.took })
    }
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
