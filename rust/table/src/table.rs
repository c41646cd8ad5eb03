//! A handle on one table: where it is and with what it is used. It caches nothing, so each call sees the newest state.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::Schema;
use hudini_format::instant::{Action, State};
use serde::{Deserialize, Serialize};

use crate::concurrency::{self, TableLock};
use crate::config::{self, NewTable, TableConfig};
use crate::context::{Context, SystemIds, Watch};
use crate::metadata::keep;
use crate::options::Options;
use crate::site::{Locked, Site};
use crate::storage::watched::Watched;
use crate::storage::{self, Storage};
use crate::timeline::{self, Snapshot, Timeline, Until};
use crate::{Error, ErrorKind, Result};

/// Where a table is, in a form that travels to other processes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub url: String,
    /// Secrets among them, which travel along.
    pub storage_options: BTreeMap<String, String>,
}

impl std::fmt::Debug for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let options: Vec<_> = self.storage_options.keys().collect();
        f.debug_struct("Location").field("url", &self.url).field("storage_options", &options).finish()
    }
}

impl Location {
    pub fn open(&self) -> Result<Arc<dyn Storage>> {
        storage::open(&self.url, &self.storage_options, Arc::new(SystemIds))
    }

    /// The same place for workers, whose working directory may be another.
    fn of(self, storage: &dyn Storage) -> Self {
        Self { url: storage.root().to_owned(), ..self }
    }
}

#[derive(Debug, Clone)]
pub struct Table {
    pub location: Location,
    pub storage: Arc<dyn Storage>,
    pub context: Context,
    pub options: Options,
}

/// One line of a table's history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    pub instant: String,
    pub completed: String,
    pub action: Action,
    pub operation: Option<String>,
    pub inserted: i64,
    pub updated: i64,
    pub deleted: i64,
    pub files: usize,
    pub bytes: i64,
    pub seconds: f64,
    /// What users attached to the commit.
    pub metadata: BTreeMap<String, String>,
}

impl Table {
    /// The same table for work that `watch` may end.
    pub(crate) fn watched(&self, watch: &Watch) -> Self {
        let storage = Arc::new(Watched::new(Arc::clone(&self.storage), watch.clone()));
        Self { storage, ..self.clone() }
    }

    /// Opens the table at `location`, which must be one that hudini understands.
    pub fn open(location: Location, options: Options, context: Context) -> Result<Self> {
        let storage = location.open()?;
        let table = Self { location: location.of(storage.as_ref()), storage, context, options };
        table.config()?;
        Ok(table)
    }

    /// Makes a table and opens it.
    pub fn create(
        location: Location,
        new: &NewTable,
        options: Options,
        context: Context,
        exist_ok: bool,
    ) -> Result<Self> {
        let storage = location.open()?;
        let made = config::create(storage.as_ref(), &context, new)?;
        if !made && !exist_ok {
            return Err(Error::new(ErrorKind::TableExists, "there is a Hudi table here already")
                .at_path(storage.root())
                .with_hint("open it, or pass exist_ok=True"));
        }
        let table = Self { location: location.of(storage.as_ref()), storage, context, options };
        let config = table.config()?;
        if made {
            let lock = concurrency::table_lock(&table.storage, &table.context, &table.options)?;
            // Later writers need not be told of an index that is there.
            let found = Timeline::load(table.storage.as_ref(), &config)?;
            keep::prepare(table.locked(&table.options, &lock), &config, &found)?;
        }
        Ok(table)
    }

    /// Where its actions take place, with the options of one of them.
    pub(crate) fn site<'s>(&'s self, options: &'s Options) -> Site<'s> {
        Site { storage: &self.storage, context: &self.context, options }
    }

    /// The same under its lock.
    pub(crate) fn locked<'s>(&'s self, options: &'s Options, lock: &'s TableLock) -> Locked<'s> {
        Locked { site: self.site(options), lock }
    }

    /// The table's properties as they stand now.
    pub fn config(&self) -> Result<TableConfig> {
        TableConfig::load(self.storage.as_ref())
    }

    /// The active timeline as it stands now.
    pub fn timeline(&self) -> Result<Timeline> {
        Timeline::load(self.storage.as_ref(), &self.config()?)
    }

    /// The newest state, or the state as of an instant.
    pub fn snapshot(&self, as_of: Option<&str>) -> Result<Snapshot> {
        timeline::again_if_gone(|| {
            let config = self.config()?;
            let timeline = Timeline::load(self.storage.as_ref(), &config)?;
            Snapshot::pin(self.storage.as_ref(), &config, &timeline, as_of.map_or(Until::Now, Until::Requested))
        })
    }

    /// The columns of the table's rows, without the meta columns.
    pub fn schema(&self) -> Result<Schema> {
        match self.snapshot(None)?.schema {
            Some(text) => timeline::arrow_schema(&text),
            None => Ok(Schema::empty()),
        }
    }

    /// Completed actions, newest first, back to the first one that the table knows of.
    pub fn history(&self, limit: Option<usize>) -> Result<Vec<HistoryEntry>> {
        timeline::again_if_gone(|| self.history_now(limit))
    }

    fn history_now(&self, limit: Option<usize>) -> Result<Vec<HistoryEntry>> {
        let (config, limit) = (self.config()?, limit.unwrap_or(usize::MAX));
        let active = Timeline::load(self.storage.as_ref(), &config)?;
        let is_enough = active.completed().count() >= limit;
        let timeline = if is_enough { active } else { active.with_history(self.storage.as_ref(), &config)? };
        let newest_first = timeline.completed().rev().take(limit);
        newest_first.map(|instant| self.history_entry(&timeline, instant)).collect()
    }

    /// Every instant of the active timeline, and of the history if that is wanted; oldest first.
    pub fn timeline_lines(&self, wanted: Listed) -> Result<Vec<TimelineLine>> {
        timeline::again_if_gone(|| self.timeline_lines_now(wanted))
    }

    fn timeline_lines_now(&self, wanted: Listed) -> Result<Vec<TimelineLine>> {
        let (config, storage) = (self.config()?, self.storage.as_ref());
        let timeline = Timeline::load(storage, &config)?;
        let timeline = if wanted.archived { timeline.with_history(storage, &config)? } else { timeline };
        let operation = |instant: &timeline::Instant| -> Result<Option<String>> {
            if !(wanted.operations && instant.is_completed() && instant.action.writes_data()) {
                return Ok(None);
            }
            let outline = timeline.commit_outline(storage, instant)?;
            Ok(outline.operation_type.map(|operation| operation.to_lowercase()))
        };
        let line = |instant: &timeline::Instant| {
            Ok(TimelineLine {
                requested: instant.requested.clone(),
                completed: instant.completed.clone(),
                action: instant.action,
                state: instant.state,
                operation: operation(instant)?,
            })
        };
        timeline.instants.iter().filter(|instant| wanted.archived || !instant.is_archived()).map(line).collect()
    }

    fn history_entry(&self, timeline: &Timeline, instant: &timeline::Instant) -> Result<HistoryEntry> {
        let completed = instant.completed.clone().unwrap_or_default();
        let mut entry = HistoryEntry {
            seconds: seconds_between(&instant.requested, &completed),
            instant: instant.requested.clone(),
            completed,
            action: instant.action,
            operation: None,
            inserted: 0,
            updated: 0,
            deleted: 0,
            files: 0,
            bytes: 0,
            metadata: BTreeMap::new(),
        };
        if instant.action.writes_data() {
            let metadata = timeline.commit_metadata(self.storage.as_ref(), instant)?;
            for stat in metadata.write_stats() {
                entry.inserted += stat.num_inserts.unwrap_or(0);
                entry.updated += stat.num_update_writes.unwrap_or(0);
                entry.deleted += stat.num_deletes.unwrap_or(0);
                entry.files += 1;
                entry.bytes += stat.file_size_in_bytes.unwrap_or(0);
            }
            entry.operation = metadata.operation_type.map(|operation| operation.to_lowercase());
            entry.metadata = metadata.extra_metadata.unwrap_or_default();
            entry.metadata.remove(hudini_format::action::SCHEMA_KEY);
        }
        Ok(entry)
    }
}

/// What of a timeline is listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listed {
    /// Back to the first action.
    pub archived: bool,
    /// Also by which operation an action wrote, for which what it says of itself is read.
    pub operations: bool,
}

/// One instant of the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineLine {
    pub requested: String,
    pub completed: Option<String>,
    pub action: Action,
    pub state: State,
    pub operation: Option<String>,
}

/// Both in one zone, so the zone does not matter.
fn seconds_between(requested: &str, completed: &str) -> f64 {
    use hudini_format::instant::parse_time;
    match (parse_time(requested, 0), parse_time(completed, 0)) {
        (Ok(start), Ok(end)) => (end - start) as f64 / 1000.0,
        _ => 0.0,
    }
}
