//! Cleaning and archiving of the table's own accord: what is due, and what a write does about it once it has committed.

use hudini_format::instant::Action;

use super::archive::{self, Growth, Limits};
use super::begin::Others;
use super::begin::refuse_under_restore;
use super::clean::{self, Cleaner, Policy};
use super::compact;
use super::recover;
use crate::concurrency;
use crate::config::TableConfig;
use crate::metadata::{self, keep};
use crate::options::{self, CleanPolicy, Opt, Options, TableType};
use crate::storage::folder::Folder;
use crate::table::Table;
use crate::timeline::{self, Instant, Timeline};
use crate::write;
use crate::{Error, Result};

/// Beside the commits that a clean keeps: the one before them, and one more.
pub(super) const BESIDE_CLEAN: usize = 2;

/// A service that should run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    pub service: &'static str,
    pub why: String,
}

/// What an archiving did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArchiveResult {
    /// The instants that left the active timeline, by requested time, oldest first.
    pub instants: Vec<String>,
    /// How many levels of the history were merged.
    pub merged: usize,
    pub seconds: f64,
}

/// Which services should run now, and why.
pub fn due(table: &Table, given: &Options) -> Result<Vec<Due>> {
    let options = given.clone().with(&table.options);
    let config = table.config()?;
    let found = Timeline::load(table.storage.as_ref(), &config)?;
    let upkeep = Upkeep { table, options: &options };
    let compact = upkeep.compact_due(&config, &found)?.map(|why| Due { service: "compact", why });
    let clean = match upkeep.clean_due(&config, &found)? {
        // So many commits may be there and nothing to delete, as where no log was ever folded.
        Some(why) if upkeep.cleans_anything(&config, &found)? => Some(Due { service: "clean", why }),
        _ => None,
    };
    let archive = upkeep.archive_due(&config, &found)?.map(|why| Due { service: "archive", why });
    Ok(compact.into_iter().chain(clean).chain(archive).collect())
}

/// Archives what is older than the options keep.
pub fn archive(table: &Table, given: &Options) -> Result<ArchiveResult> {
    let options = given.clone().with(&table.options);
    check_options(&options)?;
    let _turn = concurrency::service_lock(table.storage.as_ref(), &table.context, &options)?;
    {
        let lock = concurrency::table_lock(&table.storage, &table.context, &options)?;
        let config = table.config()?;
        config.check_writable()?;
        // What the dead have left pending is not passed.
        recover(table.locked(&options, &lock), &config)?;
    }
    let upkeep = Upkeep { table, options: &options };
    let archived = upkeep.archive()?;
    upkeep.keep_up_metadata()?;
    Ok(archived)
}

/// The instants that `archive` would archive now. Nothing is changed.
pub fn would_archive(table: &Table, given: &Options) -> Result<ArchiveResult> {
    let options = given.clone().with(&table.options);
    check_options(&options)?;
    let config = table.config()?;
    config.check_writable()?;
    let found = Timeline::load(table.storage.as_ref(), &config)?;
    let upkeep = Upkeep { table, options: &options };
    let limits = Limits { before: upkeep.before(&config, &found)?, ..upkeep.limits(&config, &found)? };
    let instants = archive::chosen(table.storage.as_ref(), &config, &limits)?;
    Ok(ArchiveResult { instants, ..ArchiveResult::default() })
}

/// Cleans and archives if that is due. The write before it stands whatever becomes of this: failures are told, and the
/// next write tries again. Where another writer is at it, there is nothing to do.
///
/// `before`: the timeline as the write found it when it committed.
pub(crate) fn after_commit(table: &Table, options: &Options, before: &Timeline) -> Vec<String> {
    let upkeep = Upkeep { table, options };
    match upkeep.may_be_due(before).and_then(|maybe| if maybe { upkeep.run() } else { Ok(Vec::new()) }) {
        Ok(warnings) => warnings,
        Err(e) => vec![failed("upkeep", &e)],
    }
}

fn failed(service: &str, error: &Error) -> String {
    format!("the write committed, but the {service} after it failed, and is left to the next write: {error}")
}

/// What the options say of services must make sense before anything is written.
pub(crate) fn check_options(options: &Options) -> Result<()> {
    let (min, max) = (options.get_or_default(&options::KEEP_MIN)?, options.get_or_default(&options::KEEP_MAX)?);
    if min >= max {
        let (min_key, max_key) = (options::KEEP_MIN.key(), options::KEEP_MAX.key());
        return Err(Error::option(format!("option {max_key}: {max} is not greater than {min_key}, which is {min}")));
    }
    Policy::of(options, None, None).and_then(|_| Growth::of(options)).map(drop)
}

struct Upkeep<'a> {
    table: &'a Table,
    options: &'a Options,
}

impl Upkeep<'_> {
    /// A look that costs nothing, so that most writes pay nothing.
    fn may_be_due(&self, before: &Timeline) -> Result<bool> {
        let commits = before.commits().count() + 1;
        let is_more = |most: u32| u32::try_from(commits).unwrap_or(u32::MAX) > most;
        let policy = Policy::of(self.options, None, None)?;
        let kept = if policy.kind == CleanPolicy::Hours { 1 } else { policy.retain };
        let cleans = self.cleans()? && (is_more(kept) || clean::pending(before).next().is_some());
        let (min, max) =
            (self.options.get_or_default(&options::KEEP_MIN)?, self.options.get_or_default(&options::KEEP_MAX)?);
        // The metadata table has about as many commits; whether it needs anything is told by a look at its timeline.
        let serves = self.options.get_or_default(&options::TABLE_SERVICES)?;
        let with_metadata = serves && is_more(min) && keep::is_wanted(self.table.site(self.options))?;
        Ok(cleans || with_metadata || (self.archives()? && is_more(max)))
    }

    fn cleans(&self) -> Result<bool> {
        self.serves_and(&options::CLEAN_AUTOMATIC)
    }

    fn archives(&self) -> Result<bool> {
        self.serves_and(&options::ARCHIVE_AUTOMATIC)
    }

    fn serves_and(&self, option: &Opt<bool>) -> Result<bool> {
        Ok(self.options.get_or_default(&options::TABLE_SERVICES)? && self.options.get_or_default(option)?)
    }

    fn run(&self) -> Result<Vec<String>> {
        let storage = self.table.storage.as_ref();
        let Some(_turn) = concurrency::try_service_lock(storage)? else { return Ok(Vec::new()) };
        let mut warnings = Vec::new();
        let config = self.table.config()?;
        let found = Timeline::load(storage, &config)?;
        let cleaned = if self.cleans()? && self.clean_due(&config, &found)?.is_some() {
            let policy = Policy::of(self.options, None, None)?;
            let cleaner = Cleaner { table: self.table, options: self.options, policy };
            cleaner.run(true, true, Others::LeftWhileYoung).map(drop)
        } else {
            Ok(())
        };
        warnings.extend(cleaned.err().map(|e| failed("clean", &e)));
        let archived = if self.archives()? && self.archive_due(&config, &found)?.is_some() {
            self.archive().map(drop)
        } else {
            Ok(())
        };
        warnings.extend(archived.err().map(|e| failed("archiving", &e)));
        let swept = write::sweep(storage, &self.table.context);
        warnings.extend(swept.err().map(|e| failed("removal of what dead jobs left", &e)));
        warnings.extend(self.keep_up_metadata().err().map(|e| failed("upkeep of the metadata table", &e)));
        Ok(warnings)
    }

    fn keep_up_metadata(&self) -> Result<()> {
        let storage = self.table.storage.as_ref();
        let lock = concurrency::table_lock(&self.table.storage, &self.table.context, self.options)?;
        let config = self.table.config()?;
        let found = Timeline::load(storage, &config)?;
        super::metadata::keep_up(self.table.locked(self.options, &lock), &config, &found)
    }

    fn clean_due(&self, config: &TableConfig, found: &Timeline) -> Result<Option<String>> {
        if let Some(pending) = clean::pending(found).next() {
            return Ok(Some(format!("the clean of {} was not finished", pending.requested)));
        }
        let policy = Policy::of(self.options, None, None)?;
        let last = found.completed().rfind(|i| i.action == Action::Clean);
        let since = found.commits().filter(|c| last.is_none_or(|last| c.requested > last.requested)).count();
        if u32::try_from(since).unwrap_or(u32::MAX) < self.options.get_or_default(&options::CLEAN_TRIGGER)? {
            return Ok(None);
        }
        if policy.kind != CleanPolicy::Versions {
            let Some(retained) = policy.retained(&self.table.context, config, found) else { return Ok(None) };
            if let Some(last) = last {
                let metadata = found.clean_metadata(self.table.storage.as_ref(), last)?;
                if metadata.earliest_commit_to_retain >= retained.requested {
                    return Ok(None);
                }
            }
        }
        Ok(Some(match last {
            Some(last) => format!("{since} commits since the clean of {}", last.requested),
            None => format!("{since} commits, and no clean yet"),
        }))
    }

    fn cleans_anything(&self, config: &TableConfig, found: &Timeline) -> Result<bool> {
        let policy = Policy::of(self.options, None, None)?;
        Cleaner { table: self.table, options: self.options, policy }.finds_anything(config, found)
    }

    fn compact_due(&self, config: &TableConfig, found: &Timeline) -> Result<Option<String>> {
        if config.table_type != TableType::MergeOnRead {
            return Ok(None);
        }
        let time = timeline::new_time(&self.table.context, config, found)?;
        compact::why_due(found, self.options, &time)
    }

    fn archive_due(&self, config: &TableConfig, found: &Timeline) -> Result<Option<String>> {
        let limits = self.limits(config, found)?;
        let commits = found.commits().count();
        let is_due = commits > limits.max;
        Ok(is_due.then(|| format!("{commits} commits on the active timeline, more than {}", limits.max)))
    }

    /// Callers hold the lock of services.
    fn archive(&self) -> Result<ArchiveResult> {
        let (storage, context) = (self.table.storage.as_ref(), &self.table.context);
        let started = context.clock.monotonic_ms();
        let lock = concurrency::table_lock(&self.table.storage, context, self.options)?;
        let config = self.table.config()?;
        config.check_writable()?;
        let found = Timeline::load(storage, &config)?;
        refuse_under_restore(&found)?;
        let mut limits = self.limits(&config, &found)?;
        limits.before = self.before(&config, &found)?;
        let archived = archive::run(storage, &config, &lock, &limits, Growth::of(self.options)?)?;
        let seconds = (context.clock.monotonic_ms() - started) as f64 / 1000.0;
        Ok(ArchiveResult { instants: archived.instants, merged: archived.merged, seconds })
    }

    /// How many commits stay: as the options say, and never one that a clean has still to look at.
    fn limits(&self, config: &TableConfig, found: &Timeline) -> Result<Limits> {
        let count = |option| -> Result<usize> {
            Ok(usize::try_from(self.options.get_or_default(option)?).unwrap_or(usize::MAX))
        };
        let (min, max) = (count(&options::KEEP_MIN)?, count(&options::KEEP_MAX)?);
        let policy = Policy::of(self.options, None, None)?;
        let by_clean = policy.retained(&self.table.context, config, found).map(|retained| {
            found.commits().filter(|commit| commit.requested > retained.requested).count() + BESIDE_CLEAN
        });
        let more = by_clean.map_or(0, |by_clean| by_clean.saturating_sub(min));
        Ok(Limits {
            min: min + more,
            max: max + more,
            before: None,
            compact_after: count(&options::COMPACT_MAX_COMMITS)?,
        })
    }

    /// From when on instants stay because of the metadata table, or of the last clean.
    fn before(&self, config: &TableConfig, found: &Timeline) -> Result<Option<String>> {
        let storage = self.table.storage.as_ref();
        let mut before = None;
        if !config.metadata_partitions().is_empty() {
            let folder = Folder::new(std::sync::Arc::clone(&self.table.storage), metadata::FOLDER);
            let own = Timeline::load(&folder, &TableConfig::load(&folder)?)?;
            // What it has not compacted is told from what never committed by the table's own timeline.
            let Some(compacted) = own.commits().rfind(|i| i.action == Action::Commit) else {
                return Ok(Some(String::new()));
            };
            let since = |completed: &String| *completed > compacted.requested;
            let is_told = |i: &&Instant| i.action.writes_data() || matches!(i.action, Action::Clean | Action::Rollback);
            let told = found.completed().filter(is_told).find(|i| i.completed.as_ref().is_some_and(since));
            before = told.map(|i| i.requested.clone());
        }
        if self.options.get_or_default(&options::ARCHIVE_BLOCK_ON_CLEAN)?
            && let Some(clean) = found.completed().rfind(|i| i.action == Action::Clean)
        {
            let retained = found.clean_metadata(storage, clean)?.earliest_commit_to_retain;
            let retained = Some(retained).filter(|retained| !retained.is_empty());
            before = [before, retained].into_iter().flatten().min();
        }
        Ok(before)
    }
}
