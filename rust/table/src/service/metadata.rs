//! The upkeep of the metadata table: its cleaning and its archiving. It compacts itself when it is told of an action.
//!
//! All its writers hold the lock of its table, so both happen in one go under that lock, and leave something pending only
//! where they are interrupted. It keeps more than its table does, as Apache Hudi has it: readers of the table look into it
//! at any state that the table keeps.

use std::sync::Arc;

use hudini_format::action::CleanerPlan;
use hudini_format::instant::{Action, Layout};

use super::archive::{self, Growth, Limits};
use super::clean::plan::{self, Ground, Within};
use super::clean::{self, Policy};
use super::upkeep::BESIDE_CLEAN;
use crate::Result;
use crate::config::TableConfig;
use crate::metadata::{self, keep};
use crate::options::{self, CleanPolicy};
use crate::site::Locked;
use crate::storage::Storage;
use crate::storage::folder::Folder;
use crate::timeline::{self, Instant, Timeline};

/// Of its base files.
const EXTENSION: &str = "hfile";
/// Of its commits at least so many states are kept.
const LEAST_COMMITS: u32 = 20;

/// Cleans and archives the metadata table if that is due. Callers pass the table's timeline as it is now.
pub(super) fn keep_up(locked: Locked<'_>, config: &TableConfig, found: &Timeline) -> Result<()> {
    let partitions = metadata::partitions(config);
    if partitions.is_empty() || !keep::is_wanted(*locked)? || config.layout != Layout::Two {
        return Ok(());
    }
    let folder: Arc<dyn Storage> = Arc::new(Folder::new(Arc::clone(locked.storage), metadata::FOLDER));
    let own = TableConfig::load(folder.as_ref())?;
    let care = Care { locked, config, table: found, folder: folder.as_ref(), own, partitions };
    care.clean()?;
    care.archive()
}

struct Care<'a> {
    locked: Locked<'a>,
    /// Of the table, as `table`: its timeline.
    config: &'a TableConfig,
    table: &'a Timeline,
    folder: &'a dyn Storage,
    own: TableConfig,
    partitions: Vec<String>,
}

impl Care<'_> {
    fn clean(&self) -> Result<()> {
        let found = self.timeline()?;
        for pending in clean::pending(&found) {
            let plan = CleanerPlan::decode(&found.requested_bytes(self.folder, pending)?)
                .map_err(|e| e.at_instant(&pending.requested))?;
            self.carry_out(&pending.requested, &plan)?;
        }
        let found = self.timeline()?;
        let policy = self.policy()?;
        // Its properties say nothing of a zone: its times are the table's.
        let retained = policy.retained(self.locked.context, self.config, &found);
        if !self.is_worth_it(&found, retained)? {
            return Ok(());
        }
        let ground = Ground {
            storage: self.folder,
            config: &self.own,
            timeline: &found,
            extension: EXTENSION,
            within: Within::These(&self.partitions),
            unsettled: self.table.unsettled_since(),
        };
        let Some(plan) = plan::plan(&ground, policy, retained)? else { return Ok(()) };
        let newest = self.table.newest_time().max(found.newest_time());
        let time = timeline::time_after(self.locked.context, self.config, newest)?;
        timeline::request(self.folder, &self.own, self.locked.lock, &time, Action::Clean, &plan.encode()?)?;
        self.carry_out(&time, &plan)
    }

    /// Only compactions leave something behind: whether one did since the last clean that is not to be kept.
    fn is_worth_it(&self, own: &Timeline, retained: Option<&Instant>) -> Result<bool> {
        let last = own.completed().rfind(|i| i.action == Action::Clean);
        let since = match (last, retained) {
            (None, _) => String::new(),
            (Some(last), None) => last.requested.clone(),
            (Some(last), Some(_)) => own.clean_metadata(self.folder, last)?.earliest_commit_to_retain,
        };
        let is_new = |i: &Instant| i.requested >= since && retained.is_none_or(|kept| i.requested < kept.requested);
        Ok(own.commits().any(|i| i.action == Action::Commit && is_new(i)))
    }

    fn carry_out(&self, time: &str, plan: &CleanerPlan) -> Result<()> {
        let clock = &self.locked.context.clock;
        let started = clock.monotonic_ms();
        let named = plan::named(self.folder, time, plan)?;
        if !timeline::inflight_exists(self.folder, &self.own, time, Action::Clean)? {
            timeline::to_inflight(self.folder, &self.own, time, Action::Clean, b"")?;
        }
        clean::paths(&named).iter().try_for_each(|path| self.folder.delete(path).map(drop))?;
        let completed = timeline::completion_time(self.locked.context, self.config, &self.timeline()?, time)?;
        let body = clean::metadata(time, plan, named, clock.monotonic_ms() - started).encode()?;
        timeline::complete(self.folder, &self.own, self.locked.lock, time, &completed, Action::Clean, &body)
    }

    /// A fifth more than the table keeps.
    fn policy(&self) -> Result<Policy> {
        let table = Policy::of(self.locked.options, None, None)?;
        let more = table.retain.saturating_add(table.retain.div_ceil(5));
        let retain = if table.kind == CleanPolicy::Commits { more.max(LEAST_COMMITS) } else { more };
        Ok(Policy { retain, ..table })
    }

    fn archive(&self) -> Result<()> {
        let found = self.timeline()?;
        let options = self.locked.options;
        let count = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let least = match self.policy()? {
            Policy { kind: CleanPolicy::Commits, retain } => count(retain).saturating_add(BESIDE_CLEAN),
            _ => 0,
        };
        let (min, max) = (options.get_or_default(&options::KEEP_MIN)?, options.get_or_default(&options::KEEP_MAX)?);
        let (min, max) = (count(min).saturating_add(1), count(max).saturating_add(1));
        let more = least.saturating_sub(min);
        let limits = Limits {
            min: min.saturating_add(more),
            max: max.saturating_add(more),
            before: first_of(self.table).into_iter().chain(unfolded(&found)).min(),
            compact_after: count(options.get_or_default(&options::METADATA_COMPACTION_COMMITS)?),
        };
        archive::run(self.folder, &self.own, self.locked.lock, &limits, Growth::of(options)?).map(drop)
    }

    fn timeline(&self) -> Result<Timeline> {
        Timeline::load(self.folder, &self.own)
    }
}

/// The oldest action of the table that is not archived, or has not completed: from there on both timelines are needed to
/// tell what counts.
fn first_of(table: &Timeline) -> Option<String> {
    let commit = table.commits().next();
    let pending = table.pending().next();
    commit.into_iter().chain(pending).map(|instant| instant.requested.clone()).min()
}

/// The oldest commit that completed behind the last compaction's plan, and so is in logs alone. Apache Hudi reads the blocks of
/// those alone that one of the two timelines has.
fn unfolded(own: &Timeline) -> Option<String> {
    let compacted = own.commits().rfind(|i| i.action == Action::Commit)?;
    let is_behind = |i: &&Instant| i.completed.as_ref().is_some_and(|completed| *completed > compacted.requested);
    own.commits().filter(|i| i.action == Action::DeltaCommit).find(is_behind).map(|i| i.requested.clone())
}
