//! What a reader sees: which actions had completed when it looked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use hudini_format::action::{CleanerPlan, CommitOutline, RequestedReplaceMetadata};
use hudini_format::instant::{Action, Layout};
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::{avro_text, meta};
use serde::{Deserialize, Serialize};

use super::{Evolution, Instant, NewestFiles, Timeline};
use crate::config::{TableConfig, keys};
use crate::storage::Storage;
use crate::{Error, ErrorKind, Result};

/// A pending compaction of one file group: its instant starts a new slice although there is no base file yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PendingCompaction {
    pub partition: String,
    pub file_id: String,
    pub instant: String,
}

/// Where time travel ends. Slices that began later are not of the state, nor are the logs in them, whose writers were asked for
/// earlier and completed later: so files are put into slices first, by all that is known now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cut {
    as_of: String,
    /// What was requested later, and has completed.
    later: BTreeSet<String>,
}

impl Cut {
    pub(crate) fn new(as_of: &str, later: BTreeSet<String>) -> Self {
        Self { as_of: as_of.to_owned(), later }
    }

    pub(crate) fn keeps(&self, base_instant: &str) -> bool {
        base_instant <= self.as_of.as_str()
    }
}

/// A pinned state of the table, made once for each scan or write and carried along.
///
/// An instant alone pins nothing: a slow writer that completes later would change what "as of T" means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Requested → completed, of all actions that wrote data and count here.
    pub completed: BTreeMap<String, String>,
    /// The oldest write request of the active timeline: what is older was archived, and so completed.
    pub start: Option<String>,
    /// File groups that are no longer read: (partition, file id).
    pub replaced: BTreeSet<(String, String)>,
    pub pending_compactions: BTreeSet<PendingCompaction>,
    /// Avro text of the table's rows; `None` before the first commit of a table that was created without one.
    pub schema: Option<String>,
    /// Under which names files have the columns, if those have ids.
    pub evolution: Option<Evolution>,
    /// Log files of version 6 carry their slice's base instant; later ones their own.
    pub logs_named_by_slice: bool,
    /// Where the newest commit that brought rows wrote them. Only planning asks for it, so it does not travel.
    #[serde(skip)]
    pub(crate) newest_files: Option<NewestFiles>,
    /// Files are put into slices before it travels.
    #[serde(skip)]
    pub(crate) cut: Option<Cut>,
}

/// How much of the past a snapshot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until<'a> {
    /// What has completed by now.
    Now,
    /// Time travel: what was requested up to then.
    Requested(&'a str),
    /// The end of an incremental range: what had completed by then, in the schema of now.
    Completed(&'a str),
}

impl Until<'_> {
    fn cut(self, timeline: &Timeline) -> Option<Cut> {
        let Self::Requested(as_of) = self else { return None };
        let later = timeline.commits().filter(|instant| !self.sees(instant)).map(|instant| instant.requested.clone());
        Some(Cut::new(as_of, later.collect()))
    }

    fn sees(self, instant: &Instant) -> bool {
        match self {
            Self::Now => true,
            Self::Requested(time) => instant.requested.as_str() <= time,
            Self::Completed(time) => instant.completed.as_deref().is_some_and(|completed| completed <= time),
        }
    }

    /// Whether slices begin with that action, if it is a compaction, although it has not completed.
    fn sees_pending(self, instant: &Instant) -> bool {
        match self {
            Self::Now | Self::Requested(_) => !instant.is_completed(),
            Self::Completed(time) => instant.requested.as_str() <= time && !self.sees(instant),
        }
    }
}

impl Snapshot {
    pub fn pin(storage: &dyn Storage, config: &TableConfig, timeline: &Timeline, until: Until<'_>) -> Result<Self> {
        if let Until::Requested(as_of) = until {
            check_settled(storage, timeline, as_of)?;
            check_not_cleaned(storage, timeline, as_of)?;
        }
        let commits: Vec<_> = timeline.commits().filter(|i| until.sees(i)).collect();
        let mut snapshot = Self {
            completed: commits.iter().map(|i| (i.requested.clone(), i.completed.clone().unwrap_or_default())).collect(),
            start: timeline.instants.iter().find(|i| i.action.writes_data()).map(|i| i.requested.clone()),
            replaced: BTreeSet::new(),
            pending_compactions: BTreeSet::new(),
            schema: None,
            evolution: None,
            logs_named_by_slice: timeline.layout == Layout::One,
            newest_files: None,
            cut: until.cut(timeline),
        };
        for instant in commits.iter().filter(|i| i.action == Action::ReplaceCommit) {
            let outline = timeline.commit_outline(storage, instant)?;
            if outline == CommitOutline::default() {
                return Err(Error::corrupt("an empty file where it should say which file groups were replaced")
                    .at_path(format!("{}/{}", timeline.dir, instant.newest_file().unwrap_or_default()))
                    .at_instant(&instant.requested)
                    .with_hint("their rows and those that replaced them would both be shown"));
            }
            for (partition, ids) in outline.partition_to_replace_file_ids.unwrap_or_default() {
                snapshot.replaced.extend(ids.into_iter().map(|id| (partition.clone(), id)));
            }
        }
        for instant in timeline.instants.iter().filter(|i| until.sees_pending(i)) {
            let Some(plan) = timeline.compaction_plan(storage, instant)? else { continue };
            for operation in plan.operations.unwrap_or_default() {
                snapshot.pending_compactions.insert(PendingCompaction {
                    partition: operation.partition_path.unwrap_or_default(),
                    file_id: operation.file_id.unwrap_or_default(),
                    instant: instant.requested.clone(),
                });
            }
        }
        if !matches!(until, Until::Completed(_)) {
            snapshot.take_schema(storage, config, timeline, &commits, until)?;
        }
        if snapshot.schema.is_none() && until != Until::Now {
            // Ranges, and what was before the first row, have the columns of now.
            let newest = Self::pin(storage, config, timeline, Until::Now)?;
            (snapshot.schema, snapshot.evolution) = (newest.schema, newest.evolution);
            snapshot.newest_files = newest.newest_files;
        }
        if matches!(until, Until::Requested(_)) || snapshot.newest_files.is_none() {
            snapshot.newest_files = NewestFiles::of(storage, timeline)?;
        }
        if snapshot.schema.is_none() && snapshot.newest_files.is_some() {
            return Err(untold_schema());
        }
        Ok(snapshot)
    }

    /// The schema that the newest commit states, else the one the table was created with.
    ///
    /// Compactions and the like write what is there under the schema that they found, which need not be the newest when
    /// they complete: their word counts where there is no other, and for time travel, as in Apache Hudi.
    fn take_schema(
        &mut self,
        storage: &dyn Storage,
        config: &TableConfig,
        timeline: &Timeline,
        commits: &[&Instant],
        until: Until<'_>,
    ) -> Result<()> {
        let mut rewriting = Vec::new();
        for instant in commits.iter().rev() {
            let mut metadata = timeline.commit_outline(storage, instant)?;
            if self.newest_files.is_none() {
                self.newest_files = NewestFiles::in_commit(instant, &mut metadata);
            }
            if until == Until::Now && rewrites(&metadata) {
                rewriting.push((*instant, metadata));
            } else if self.takes_schema_of(storage, config, instant, &metadata)? {
                return Ok(());
            }
        }
        for (instant, metadata) in rewriting {
            if self.takes_schema_of(storage, config, instant, &metadata)? {
                return Ok(());
            }
        }
        self.schema = config.get(keys::CREATE_SCHEMA).map(|text| with_dropped_columns(text, config)).transpose()?;
        Ok(())
    }

    /// The schema that the newest commit tells, if that was requested after `time`.
    pub(crate) fn told_after(
        storage: &dyn Storage,
        config: &TableConfig,
        timeline: &Timeline,
        time: &str,
    ) -> Result<Option<String>> {
        for instant in timeline.commits().rev().take_while(|instant| instant.requested.as_str() > time) {
            let metadata = timeline.commit_outline(storage, instant)?;
            if let Some(text) = metadata.schema().filter(|_| !rewrites(&metadata)) {
                return with_dropped_columns(text, config).map(Some);
            }
        }
        Ok(None)
    }

    /// Whether the commit states one.
    fn takes_schema_of(
        &mut self,
        storage: &dyn Storage,
        config: &TableConfig,
        instant: &Instant,
        metadata: &CommitOutline,
    ) -> Result<bool> {
        self.evolution = Evolution::of(storage, metadata, |requested| self.is_committed(requested))?;
        if let Some(text) = metadata.schema() {
            self.schema = Some(with_dropped_columns(text, config)?);
            return Ok(true);
        }
        match self.evolution {
            None => Ok(false),
            Some(_) => {
                Err(Error::unsupported("a commit that gives the columns ids, and no schema")
                    .at_instant(&instant.requested))
            }
        }
    }

    /// Of the same writes only those that completed before another one.
    pub fn before(&self, completed: &str) -> Self {
        let mut earlier = self.clone();
        earlier.completed.retain(|_, other| other.as_str() < completed);
        earlier
    }

    /// Of all writes only these.
    pub fn only_of(&self, commits: &BTreeSet<String>) -> Self {
        let mut chosen = Self { start: None, ..self.clone() };
        chosen.completed.retain(|requested, _| commits.contains(requested));
        chosen
    }

    /// The same without what only planning asks for.
    pub(crate) fn travelling(self) -> Self {
        Self { newest_files: None, cut: None, ..self }
    }

    /// Whether files of this instant count: it completed, or it is older than the active timeline.
    pub fn is_committed(&self, requested: &str) -> bool {
        self.completed.contains_key(requested) || self.is_archived(requested)
    }

    /// Whether a slice begins with base files of this instant, be it one of the state or a later one.
    pub(crate) fn begins_slices(&self, requested: &str) -> bool {
        self.is_committed(requested) || self.cut.as_ref().is_some_and(|cut| cut.later.contains(requested))
    }

    pub fn is_archived(&self, requested: &str) -> bool {
        self.start.as_deref().is_some_and(|start| requested < start)
    }

    /// Under which names files of that instant have the columns of the snapshot.
    pub fn names_at(&self, requested: &str) -> Result<Mapping> {
        self.evolution.as_ref().map_or_else(|| Ok(Mapping::default()), |evolution| evolution.names_at(requested))
    }

    /// The newest requested time that counts.
    pub fn newest(&self) -> Option<&str> {
        self.completed.keys().next_back().map(String::as_str)
    }
}

/// No column would mean no row's values: Apache Hudi asks the newest file then.
pub(crate) fn untold_schema() -> Error {
    Error::unsupported("a table with rows whose schema stands in no commit and no property").with_hint(
        "let Apache Hudi write to it once: its commits state the schema; or set hoodie.table.create.schema, in Avro's JSON",
    )
}

/// Whether the commit's operation is one that brings no rows of its own.
fn rewrites(metadata: &CommitOutline) -> bool {
    let operation = metadata.operation_type.as_deref().unwrap_or_default();
    ["CLUSTER", "COMPACT", "INDEX", "LOG_COMPACT"].iter().any(|word| operation.eq_ignore_ascii_case(word))
}

/// Time travel needs a settled past: nothing pending before it.
fn check_settled(storage: &dyn Storage, timeline: &Timeline, as_of: &str) -> Result<()> {
    match first_pending_write(storage, timeline, as_of)? {
        Some(pending) => Err(Error::new(
            ErrorKind::InstantNotFound,
            format!("cannot read as of {as_of}: the write requested at {} has not completed", pending.requested),
        )
        .at_instant(as_of)),
        None => Ok(()),
    }
}

/// The oldest write that was requested up to a time and has not completed. Compactions and clusterings are none: they
/// write anew what is there.
pub(crate) fn first_pending_write<'t>(
    storage: &dyn Storage,
    timeline: &'t Timeline,
    until: &str,
) -> Result<Option<&'t Instant>> {
    let writes = timeline.pending().filter(|i| i.action.writes_data() && !i.action.is_service_plan());
    for pending in writes.filter(|i| i.requested.as_str() <= until) {
        if !is_clustering(storage, timeline, pending)? {
            return Ok(Some(pending));
        }
    }
    Ok(None)
}

/// Layout 1 has one name for pending clusterings and overwrites; the plan tells them apart. Overwrites may leave it empty.
fn is_clustering(storage: &dyn Storage, timeline: &Timeline, pending: &Instant) -> Result<bool> {
    let has_plan = pending.files.iter().any(|file| file.ends_with(".requested"));
    if pending.action != Action::ReplaceCommit || !has_plan {
        return Ok(false);
    }
    let plan = timeline.requested_bytes(storage, pending)?;
    if plan.is_empty() {
        return Ok(false);
    }
    let plan =
        RequestedReplaceMetadata::decode(&plan).map_err(|e| e.at_path(&timeline.dir).at_instant(&pending.requested))?;
    Ok(plan.operation_type.as_deref() == Some("CLUSTER"))
}

/// A state whose files a clean has deleted would come out with rows missing.
fn check_not_cleaned(storage: &dyn Storage, timeline: &Timeline, as_of: &str) -> Result<()> {
    match cleaned_before(storage, timeline, |clean| newest_at(timeline, &clean.requested))? {
        Some(since) if since.as_str() > as_of => Err(cleaned_away(as_of, &since)),
        _ => Ok(()),
    }
}

/// From when on states are whole, if of each file group the newest versions at a time are kept: from the newest commit on that
/// there was then. Of the one that came after it the state before it is whole, and not of that one itself.
pub(crate) fn newest_at(timeline: &Timeline, time: &str) -> String {
    let newest = timeline.commits().rfind(|commit| commit.requested.as_str() < time);
    newest.map_or(time, |commit| &commit.requested).to_owned()
}

/// The state as of that instant is gone; those from another one on are there.
pub(crate) fn cleaned_away(as_of: &str, since: &str) -> Error {
    Error::new(ErrorKind::InstantCleaned, format!("the state as of {as_of} was cleaned away"))
        .at_instant(as_of)
        .with_hint(format!("states from {since} on are kept"))
}

/// From which commit on cleans have left, and will leave, all files of every state, and of the state before it; `None` if nothing was
/// cleaned away.
pub(crate) fn whole_since(storage: &dyn Storage, timeline: &Timeline) -> Result<Option<String>> {
    let planned = planned_cleans(storage, timeline)?.into_iter().map(|(since, _)| since).max();
    Ok(cleaned_before(storage, timeline, |clean| clean.requested.clone())?.max(planned))
}

/// The same of cleans that have completed. A clean that keeps a number of versions says of no commit that it keeps it: what it
/// means is the caller's to say.
fn cleaned_before(
    storage: &dyn Storage,
    timeline: &Timeline,
    by_versions: impl Fn(&Instant) -> String,
) -> Result<Option<String>> {
    let mut since = None;
    for clean in timeline.completed().rev().filter(|i| i.action == Action::Clean) {
        // None retains less than what was there when it was planned, so those before say no more.
        if since.as_ref() >= Some(&clean.requested) {
            break;
        }
        let metadata = timeline.clean_metadata(storage, clean)?;
        let retained = match metadata.earliest_commit_to_retain.as_str() {
            "" if metadata.total_files_deleted == 0 => continue,
            "" => by_versions(clean),
            retained => retained.to_owned(),
        };
        since = since.max(Some(retained));
    }
    Ok(since)
}

/// Cleans that have not completed, with the commits from which on they leave all files. What they name may be gone; a plan
/// that is being written or removed says nothing yet, or no more.
pub(crate) fn planned_cleans(storage: &dyn Storage, timeline: &Timeline) -> Result<Vec<(String, CleanerPlan)>> {
    let mut planned = Vec::new();
    for clean in timeline.pending().filter(|i| i.action == Action::Clean) {
        if timeline.is_gone(storage, clean)? {
            continue;
        }
        let plan = CleanerPlan::decode(&timeline.requested_bytes(storage, clean)?)
            .map_err(|e| e.at_path(&timeline.dir).at_instant(&clean.requested))?;
        let retained = plan.earliest_instant_to_retain.as_ref().map(|instant| instant.timestamp.clone());
        planned.push((retained.unwrap_or_else(|| clean.requested.clone()), plan));
    }
    Ok(planned)
}

/// Commits of tables whose files lack the partition columns may leave them out of the schema too. Then they are texts, as
/// in Apache Hudi.
fn with_dropped_columns(text: &str, config: &TableConfig) -> Result<String> {
    if !config.drops_partition_columns() {
        return Ok(text.to_owned());
    }
    let schema = arrow_schema(text)?;
    let missing: Vec<_> = config.partition_by.iter().filter(|name| schema.field_with_name(name).is_err()).collect();
    if missing.is_empty() {
        return Ok(text.to_owned());
    }
    let text_column = |name: &String| Arc::new(Field::new(name, DataType::Utf8, true));
    let fields: Vec<_> = schema.fields().iter().cloned().chain(missing.into_iter().map(text_column)).collect();
    avro_text(&Schema::new(fields), &config.name)
}

/// The Arrow schema of the table's rows: user columns, without the meta columns.
pub(crate) fn arrow_schema(text: &str) -> Result<arrow_schema::Schema> {
    Ok(meta::without_meta(&hudini_format::schema::Record::parse(text)?.to_arrow()?))
}
