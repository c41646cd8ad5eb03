//! The writes of a range, and where the changes of each file group are found.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::{CommitMetadata, NO_PREVIOUS_COMMIT, WriteStat};
use hudini_format::instant::Action;
use hudini_format::name::{BaseFileName, LogFileName};

use super::{ChangeLog, FoundIn, Part};
use crate::config::TableConfig;
use crate::scan::incremental::Window;
use crate::storage::Storage;
use crate::table::Table;
use crate::timeline::{CompletionTimes, Instant, Snapshot, Timeline, Until, whole_since};
use crate::view::{self, Absent, BASE_EXTENSION, FileSlice, Missing, Names, PartitionFiles, named_ever};
use crate::{Error, ErrorKind, Result};

/// Operations that write rows anew and change none.
const NO_CHANGE: [&str; 6] = ["CLUSTER", "COMPACT", "LOG_COMPACT", "INDEX", "ALTER_SCHEMA", "BUCKET_RESCALE"];

/// Of a range: the state at its end, the parts of what happened in it, and what the caller should know of them.
pub(in crate::scan) fn pin(
    table: &Table,
    config: &TableConfig,
    window: &Window,
) -> Result<(Snapshot, Vec<Part>, Vec<String>)> {
    let storage = table.storage.as_ref();
    let timeline = window.timeline(storage, config)?;
    let window = window.settled(table, &timeline)?;
    let until = window.end.as_deref().map_or(Until::Now, Until::Completed);
    let snapshot = Snapshot::pin(storage, config, &timeline, until)?;
    let mut commits: Vec<_> = timeline.commits().filter(|instant| window.holds(instant)).collect();
    commits.sort_by(|a, b| (&a.completed, &a.requested).cmp(&(&b.completed, &b.requested)));
    let touched = touched(storage, &timeline, &commits)?;
    let (named, warning) = named_ever(storage, config, &timeline, &snapshot, &touched)?;
    let mut plan = Plan {
        storage,
        // Groups that were replaced since had files all the same, and compactions merge nothing that matters here.
        snapshot: Snapshot {
            replaced: Default::default(),
            pending_compactions: Default::default(),
            ..snapshot.clone()
        },
        archived: CompletionTimes::new(storage, config),
        whole_since: whole_since(storage, &timeline)?,
        rows_tell_commits: !config.has_virtual_keys(),
        gone: replaced_before(storage, &timeline, window.start.as_ref())?,
        named,
        absent: Absent::default(),
        partitions: BTreeMap::new(),
        parts: Vec::new(),
    };
    for instant in commits {
        let metadata = timeline.commit_metadata(storage, instant)?;
        if changes_rows(storage, &timeline, instant, &metadata)? {
            plan.add(instant, metadata).map_err(|e| e.at_instant(&instant.requested))?;
        } else {
            plan.gone.extend(replaced_by(&metadata));
        }
    }
    timeline.check_whole(storage, config)?;
    Ok((snapshot, plan.parts, warning.into_iter().chain(timeline.warning()).collect()))
}

/// The partitions of which these commits tell anything.
fn touched(storage: &dyn Storage, timeline: &Timeline, commits: &[&Instant]) -> Result<BTreeSet<String>> {
    let mut partitions = BTreeSet::new();
    for instant in commits {
        let files = timeline.commit_files(storage, instant)?;
        partitions.extend(files.written().map(|(partition, _)| partition.to_owned()));
        partitions.extend(files.partition_to_replace_file_ids.unwrap_or_default().into_keys());
    }
    Ok(partitions)
}

/// The file groups that were replaced before the range.
fn replaced_before(storage: &dyn Storage, timeline: &Timeline, start: Option<&String>) -> Result<BTreeSet<Group>> {
    let mut replaced = BTreeSet::new();
    let replacing = timeline.commits().filter(|instant| instant.action == Action::ReplaceCommit);
    for instant in replacing.filter(|instant| instant.completed.as_ref() <= start) {
        replaced.extend(replaced_by(&timeline.commit_metadata(storage, instant)?));
    }
    Ok(replaced)
}

fn replaced_by(metadata: &CommitMetadata) -> impl Iterator<Item = Group> {
    let replaced = metadata.partition_to_replace_file_ids.iter().flatten();
    replaced.flat_map(|(partition, ids)| ids.iter().map(|id| (partition.clone(), id.clone())))
}

fn changes_rows(
    storage: &dyn Storage,
    timeline: &Timeline,
    instant: &Instant,
    metadata: &CommitMetadata,
) -> Result<bool> {
    match metadata.operation_type.as_deref() {
        Some(operation) if operation != "UNKNOWN" => Ok(!NO_CHANGE.contains(&operation)),
        // Early releases did not always say it.
        _ => Ok(timeline.compaction_plan(storage, instant)?.is_none()),
    }
}

/// Partition and file id.
type Group = (String, String);

struct Plan<'s> {
    storage: &'s dyn Storage,
    snapshot: Snapshot,
    archived: CompletionTimes<'s>,
    whole_since: Option<String>,
    /// Of tables that keep no meta columns they do not.
    rows_tell_commits: bool,
    /// Replaced by now. Who writes to one all the same (buckets without locks keep their ids) writes what nobody sees.
    gone: BTreeSet<Group>,
    /// What commits name in the partitions that the range touches.
    named: Names,
    /// What of that is not there. It is put into states as if it were, so that no older file stands in for it.
    absent: Absent,
    /// The files of each file group, listed when a write needs the partition.
    partitions: BTreeMap<String, BTreeMap<String, PartitionFiles>>,
    parts: Vec<Part>,
}

/// The states around one write.
struct Around<'i> {
    instant: &'i Instant,
    completed: &'i str,
    before: Snapshot,
    after: Snapshot,
}

impl Plan<'_> {
    fn add(&mut self, instant: &Instant, metadata: CommitMetadata) -> Result<()> {
        let completed = instant.completed.as_deref().unwrap_or_default();
        let before = self.snapshot.before(completed);
        let mut after = before.clone();
        after.completed.insert(instant.requested.clone(), completed.to_owned());
        let around = Around { instant, completed, before, after };
        for group in replaced_by(&metadata) {
            if !self.gone.contains(&group) {
                let gone = self.replaced(&around, &group.0, &group.1)?;
                self.push(&around, gone.map(FoundIn::Gone));
                self.gone.insert(group);
            }
        }
        for (partition, stats) in metadata.partition_to_write_stats.unwrap_or_default() {
            let mut groups: BTreeMap<String, Vec<WriteStat>> = BTreeMap::new();
            for stat in stats {
                if let Some(id) = stat.file_id.as_ref().filter(|id| !self.is_gone(&partition, id)) {
                    groups.entry(id.clone()).or_default().push(stat);
                }
            }
            for (id, stats) in groups {
                let found_in = self.written(&around, &partition, &id, &stats).map_err(|e| e.at_path(&partition))?;
                self.push(&around, found_in);
            }
        }
        Ok(())
    }

    fn is_gone(&self, partition: &str, id: &str) -> bool {
        !self.gone.is_empty() && self.gone.contains(&(partition.to_owned(), id.to_owned()))
    }

    fn push(&mut self, around: &Around<'_>, found_in: Option<FoundIn>) {
        let part = |found_in| Part {
            instant: around.instant.requested.clone(),
            completed: around.completed.to_owned(),
            found_in,
        };
        self.parts.extend(found_in.map(part));
    }

    /// What a file group held that a write replaced. One without a file of a committed write held no rows.
    fn replaced(&mut self, around: &Around<'_>, partition: &str, id: &str) -> Result<Option<FileSlice>> {
        let slice = self.slice(&around.before, partition, id)?;
        self.check_whole(around)?;
        self.check_there(around, slice.as_ref())?;
        if slice.is_none() && !self.files(partition)?.contains_key(id) {
            return Err(self.missing(around, partition, id, BEFORE)?);
        }
        Ok(slice)
    }

    /// What a write did to a file group in which it wrote these files.
    fn written(
        &mut self,
        around: &Around<'_>,
        partition: &str,
        id: &str,
        stats: &[WriteStat],
    ) -> Result<Option<FoundIn>> {
        let stats: Vec<_> = stats.iter().filter(|stat| self.is_shown(around, stat)).collect();
        if stats.is_empty() {
            return Ok(None);
        }
        let before = self.slice(&around.before, partition, id)?;
        // Where what was written is gone, an older slice would stand in for it.
        let after = self.slice(&around.after, partition, id)?.filter(|after| self.is_there(after, &stats));
        let whole = self
            .check_before(around, partition, id, before.as_ref(), &stats)
            .and_then(|()| self.check_there(around, before.as_ref()));
        let lacks_nothing = |slice: &FileSlice| self.absent.of_slice(slice).is_none();
        let logs = stats.iter().filter_map(|stat| stat.cdc_stats.as_ref()).flatten();
        let files: Vec<_> = logs.map(|(path, bytes)| change_log(path, *bytes)).collect::<Result<_>>()?;
        if !files.is_empty() {
            // Most logs have no need of them.
            let (before, after) = (before.filter(|_| whole.is_ok()), after.filter(lacks_nothing));
            return Ok(Some(FoundIn::Logs { files, before, after }));
        }
        if let Some(after) = &after
            && before.is_some()
            && self.rows_tell_commits
            && lacks_nothing(after)
            && stats.iter().all(|stat| only_inserts(stat))
        {
            return Ok(Some(FoundIn::Inserts(after.clone())));
        }
        whole?;
        self.check_there(around, after.as_ref())?;
        let wrote_nothing = stats.iter().all(|stat| stat.num_writes == Some(0) && base_of(stat).is_some());
        Ok(match (before, after) {
            (Some(before), None) if wrote_nothing => Some(FoundIn::Gone(before)),
            (None, None) if wrote_nothing => None,
            (_, None) => return Err(self.missing(around, partition, id, "what it wrote")?),
            (None, Some(after)) => Some(FoundIn::All(after)),
            (Some(before), Some(after)) => Some(FoundIn::States { before, after }),
        })
    }

    /// A log for a clustering that has not completed is nobody's yet.
    fn is_shown(&self, around: &Around<'_>, stat: &WriteStat) -> bool {
        let log = name_of(stat).and_then(LogFileName::parse);
        self.snapshot.logs_named_by_slice || log.is_none_or(|log| around.after.is_committed(&log.instant))
    }

    fn slice(&mut self, snapshot: &Snapshot, partition: &str, id: &str) -> Result<Option<FileSlice>> {
        let files = self.files(partition)?.get(id).cloned().unwrap_or_default();
        Ok(files.newest(snapshot, &self.archived, partition)?.pop())
    }

    /// The files of a partition, by file group.
    fn files(&mut self, partition: &str) -> Result<&BTreeMap<String, PartitionFiles>> {
        match self.partitions.entry(partition.to_owned()) {
            Entry::Occupied(listed) => Ok(listed.into_mut()),
            Entry::Vacant(unlisted) => {
                let mut files = view::files_in(self.storage, partition)?;
                self.absent.fill(partition, &mut files, self.named.remove(partition).unwrap_or_default());
                Ok(unlisted.insert(view::data_files(files, BASE_EXTENSION, partition)?.by_group()))
            }
        }
    }

    /// A clean may have taken the files of the state before the write, so that an older one would stand in for it. The
    /// write says what it found, or else the cleans must have left that state.
    fn check_before(
        &self,
        around: &Around<'_>,
        partition: &str,
        id: &str,
        before: Option<&FileSlice>,
        stats: &[&WriteStat],
    ) -> Result<()> {
        let instant = around.instant.requested.as_str();
        let previous = stats.iter().filter_map(|stat| stat.prev_commit.as_deref()).max().unwrap_or_default();
        let is_other = !["", NO_PREVIOUS_COMMIT, instant].contains(&previous);
        if is_other && around.before.is_committed(previous) {
            return match before {
                Some(before) if before.base_instant.as_str() >= previous => Ok(()),
                _ => Err(self.missing(around, partition, id, BEFORE)?),
            };
        }
        let starts_group = previous == NO_PREVIOUS_COMMIT && stats.iter().all(|stat| base_of(stat).is_some());
        if starts_group { Ok(()) } else { self.check_whole(around) }
    }

    /// An error if a state around the write needs a file that is gone.
    fn check_there(&self, around: &Around<'_>, slice: Option<&FileSlice>) -> Result<()> {
        let gone = slice.and_then(|slice| Some((&slice.partition, self.absent.of_slice(slice)?)));
        match gone {
            Some((partition, name)) => {
                self.check_whole(around)?;
                Err(view::missing(self.storage, Missing::File(partition, name), &needed(around.instant, BEFORE))?)
            }
            None => Ok(()),
        }
    }

    /// Whether the files that a write speaks of are in the slice.
    fn is_there(&self, slice: &FileSlice, stats: &[&WriteStat]) -> bool {
        let names = || slice.base.iter().chain(&slice.logs).map(|file| file.name.as_str());
        let has = |name: &str| names().any(|there| there == name) && !self.absent.has(&slice.partition, name);
        stats.iter().filter_map(|stat| name_of(stat)).all(has)
    }

    fn check_whole(&self, around: &Around<'_>) -> Result<()> {
        match &self.whole_since {
            Some(since) if *since > around.instant.requested => {
                let message = format!("{} was cleaned away", needed(around.instant, BEFORE));
                Err(Error::new(ErrorKind::InstantCleaned, message)
                    .with_hint("start later, or read the table as it is now"))
            }
            _ => Ok(()),
        }
    }

    /// Cleans say of states from which commit on they left them whole, and which files they took.
    fn missing(&self, around: &Around<'_>, partition: &str, id: &str, what: &str) -> Result<Error> {
        self.check_whole(around)?;
        view::missing(self.storage, Missing::OfGroup(partition, id), &needed(around.instant, what))
    }
}

fn change_log(path: &str, bytes: i64) -> Result<ChangeLog> {
    let negative = || Error::corrupt(format!("a commit says that a change log has {bytes} bytes")).at_path(path);
    Ok(ChangeLog { path: path.to_owned(), bytes: u64::try_from(bytes).map_err(|_| negative())? })
}

fn base_of(stat: &WriteStat) -> Option<BaseFileName> {
    BaseFileName::parse(name_of(stat)?)
}

fn name_of(stat: &WriteStat) -> Option<&str> {
    stat.path.as_deref().and_then(|path| path.rsplit('/').next())
}

/// Whether a write of a base file changed none of the rows that it carried along.
fn only_inserts(stat: &WriteStat) -> bool {
    base_of(stat).is_some() && stat.num_update_writes == Some(0) && stat.num_deletes == Some(0)
}

const BEFORE: &str = "what was there before";

fn needed(instant: &Instant, what: &str) -> String {
    format!("the range holds the write requested at {}, and {what}", instant.requested)
}
