//! Which blocks of a slice's logs count.
//!
//! That is known only when all of them were seen: a rollback undoes earlier ones, a log compaction replaces them. So the
//! files are first gone through by header alone.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use hudini_format::log::{Block, BlockKind, HeaderKey};

use super::log::LogStats;
use crate::Result;
use crate::log_file::{Choice, LogFile, Part, Visitor};
use crate::timeline::Snapshot;

/// Where a block stands.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// Its place among the files.
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(super) content_bytes: u64,
    /// Whether it says which rows of the slice's base file its records stand for.
    positioned: bool,
    /// Whether its rows lack columns.
    partial: bool,
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
    base_instant: Option<&str>,
    stats: &mut LogStats,
) -> Result<Vec<Located>> {
    let mut seen = Seen::default();
    for (at, file) in files.iter_mut().enumerate() {
        let read = file.read_from(0, &mut Survey { snapshot, base_instant, file: at, seen: &mut seen, stats });
        read.map_err(|e| e.at_path(file.path()))?;
        file.rest();
    }
    Ok(resolve_compacted(seen))
}

/// Whether positions say everything: one block without them, and all are merged by key.
pub(super) fn all_positioned(blocks: &[Located]) -> bool {
    !blocks.is_empty() && blocks.iter().all(|block| block.positioned)
}

/// Whether some of the rows are parts of rows.
pub(super) fn any_partial(blocks: &[Located]) -> bool {
    blocks.iter().any(|block| block.partial)
}

/// Goes through a file by header.
struct Survey<'a> {
    snapshot: &'a Snapshot,
    /// Of the base file that positions may refer to.
    base_instant: Option<&'a str>,
    file: usize,
    seen: &'a mut Seen,
    stats: &'a mut LogStats,
}

impl Survey<'_> {
    /// Positions of another base file mean nothing, and none are as good as missing.
    fn is_positioned(&self, block: &Block<'_>) -> Result<bool> {
        let of = block.headers.get(HeaderKey::BaseFileInstantTimeOfRecordPositions);
        if self.base_instant.is_none() || of != self.base_instant {
            return Ok(false);
        }
        Ok(block.positions()?.is_some_and(|(positions, _)| !positions.is_empty()))
    }
}

impl Visitor for Survey<'_> {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        *self.stats.blocks.entry(block.kind.name().trim_start_matches(':')).or_default() += 1;
        if block.kind == BlockKind::Command {
            self.seen.undo(block.rollback_target()?);
        } else {
            let instant = block.instant_time()?;
            if counts(self.snapshot, instant) {
                let positioned = self.is_positioned(block)?;
                let located = Located {
                    file: self.file,
                    offset: block.offset,
                    content_bytes: block.content_length,
                    positioned,
                    partial: block.is_partial(),
                };
                self.seen.add(instant, block, located);
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
    let known = snapshot.is_archived(instant) || snapshot.newest().is_some_and(|newest| instant <= newest);
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
