//! Files that commits name, beside those that are there.
//!
//! Where a list is a look into directories, nothing in it says that a file is gone: the slice before it would be taken for
//! the newest one, and old rows would come back. So what commits name is put in the list, and a slice with a file that is
//! named and not there is refused. Files that a clean took are in no newest slice.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::{CleanerPlan, CommitFiles};
use hudini_format::instant::Action;
use hudini_format::name::{BaseFileName, LogFileName};

use super::{Archived, DataFile, FileSlice, Listing, PARTITION_FILE, in_partition, refuse_external};
use crate::config::TableConfig;
use crate::metadata::ListedFiles;
use crate::storage::Storage;
use crate::timeline::{Instant, Snapshot, Timeline, cleaned_away, newest_at, planned_cleans};
use crate::{Error, ErrorKind, Result};

/// Where a file is: partition path and name.
pub(crate) type FileKey = (String, String);

/// The name at the end of a path.
pub(crate) fn last_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Listing {
    /// An error if a clean that has not completed began to take files of the state as of an instant: an older slice would
    /// stand in for what it took. A metadata table too may have been told by then that they are gone, or was made of what
    /// the clean had left.
    pub(crate) fn check_as_of(
        &self,
        storage: &dyn Storage,
        timeline: &Timeline,
        as_of: &str,
        mut wants: impl FnMut(&str) -> Result<bool>,
    ) -> Result<()> {
        for (since, plan) in planned_cleans(storage, timeline)? {
            let by_versions = plan.earliest_instant_to_retain.is_none();
            let since = if by_versions { newest_at(timeline, &since) } else { since };
            let mut planned = Taken::default();
            planned.add_planned(&plan);
            if since.as_str() > as_of && planned.is_begun(&self.files, &mut wants)? {
                return Err(cleaned_away(as_of, &since));
            }
        }
        Ok(())
    }

    /// Adds what commits of the snapshot name in partitions that are wanted. A metadata table tells of files that are not
    /// there by itself, but for logs of version 6.
    pub(crate) fn add_named(
        &mut self,
        storage: &dyn Storage,
        config: &TableConfig,
        timeline: &Timeline,
        snapshot: &Snapshot,
        mut wants: impl FnMut(&str) -> Result<bool>,
    ) -> Result<Absent> {
        let mut absent = Absent::default();
        if self.metadata.is_some() && !snapshot.logs_named_by_slice {
            return Ok(absent);
        }
        for instant in timeline.commits().filter(|i| !i.is_archived() && snapshot.is_committed(&i.requested)) {
            let files = timeline.if_there(storage, instant, |timeline| timeline.commit_files(storage, instant))?;
            for (partition, paths) in files.iter().flat_map(CommitFiles::written) {
                for name in paths.map(last_of) {
                    refuse_external(name, partition)?;
                    if holds_rows(name) {
                        absent.0.insert((partition.to_owned(), name.to_owned()));
                    }
                }
            }
        }
        self.leave_out_listed(&mut absent);
        for (partition, name) in &absent.0 {
            if self.files.contains_key(partition) || wants(partition)? {
                self.add_absent(partition, name);
            }
        }
        if self.metadata.is_none() {
            for (partition, name) in self.gone_of_archived(storage, config, timeline, snapshot, wants)? {
                self.add_absent(&partition, &name);
                absent.0.insert((partition, name));
            }
        }
        Ok(absent)
    }

    /// Adds files that a metadata table tells of.
    pub(super) fn add_told(&mut self, told: ListedFiles) -> Absent {
        let keys = |(partition, files): (String, Vec<DataFile>)| {
            files.into_iter().map(move |file| (partition.clone(), file.name)).collect::<Vec<_>>()
        };
        let mut absent = Absent(told.into_iter().flat_map(keys).filter(|(_, name)| holds_rows(name)).collect());
        self.leave_out_listed(&mut absent);
        for (partition, name) in &absent.0 {
            self.add_absent(partition, name);
        }
        absent
    }

    fn leave_out_listed(&self, absent: &mut Absent) {
        for (partition, files) in &self.files {
            for file in files {
                absent.0.remove(&(partition.clone(), file.name.clone()));
            }
        }
    }

    fn add_absent(&mut self, partition: &str, name: &str) {
        let files = self.files.entry(partition.to_owned()).or_default();
        files.push(DataFile { name: name.to_owned(), size: 0 });
    }

    /// A history that cannot be read costs a warning: no rows come from it.
    fn gone_of_archived(
        &mut self,
        storage: &dyn Storage,
        config: &TableConfig,
        timeline: &Timeline,
        snapshot: &Snapshot,
        wants: impl FnMut(&str) -> Result<bool>,
    ) -> Result<BTreeSet<FileKey>> {
        let mut damage = None;
        let gone = match damage_aside(timeline.clone().with_history(storage, config), &mut damage)? {
            Some(timeline) => {
                let held = Archived { storage, config, timeline: &timeline, snapshot, files: &self.files };
                held.gone(wants, |commit| damage_aside(timeline.commit_files(storage, commit), &mut damage))?
            }
            None => BTreeSet::new(),
        };
        self.warnings.extend(damage.as_ref().map(not_missed));
        Ok(gone)
    }
}

fn not_missed(damage: &Error) -> String {
    format!("files of archived commits are not missed if they are gone, because the history cannot be read: {damage}")
}

/// What was read; an error that comes of damage, or of what hudini does not know, is kept in its place.
fn damage_aside<T>(read: Result<T>, damage: &mut Option<Error>) -> Result<Option<T>> {
    match read {
        Err(error)
            if matches!(error.kind(), ErrorKind::CorruptFile | ErrorKind::UnsupportedFeature) || error.is_gone() =>
        {
            damage.get_or_insert(error);
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// What a data file is called, by its name.
pub(crate) fn kind_of(name: &str) -> &'static str {
    if LogFileName::parse(name).is_some() { "log" } else { "base" }
}

/// Base files and logs, but for those of changes.
pub(super) fn holds_rows(name: &str) -> bool {
    LogFileName::parse(name).map_or_else(|| BaseFileName::parse(name).is_some(), |log| !log.cdc)
}

/// Base files and logs of every kind.
pub(crate) fn holds_data(name: &str) -> bool {
    LogFileName::parse(name).is_some() || BaseFileName::parse(name).is_some()
}

/// Names of files with rows, by partition.
pub(crate) type Names = BTreeMap<String, BTreeSet<String>>;

/// What commits of the snapshot ever named in these partitions, and a warning if not all of the history can be read. States
/// of the past have files that are in no slice of now.
pub(crate) fn named_ever(
    storage: &dyn Storage,
    config: &TableConfig,
    timeline: &Timeline,
    snapshot: &Snapshot,
    partitions: &BTreeSet<String>,
) -> Result<(Names, Option<String>)> {
    let mut damage = None;
    let whole = damage_aside(timeline.clone().with_history(storage, config), &mut damage)?;
    let timeline = whole.as_ref().unwrap_or(timeline);
    let mut named = Names::new();
    for instant in timeline.commits().filter(|instant| snapshot.is_committed(&instant.requested)) {
        let files = if instant.is_archived() {
            damage_aside(timeline.commit_files(storage, instant), &mut damage)?
        } else {
            timeline.if_there(storage, instant, |timeline| timeline.commit_files(storage, instant))?
        };
        for (partition, paths) in files.iter().flat_map(CommitFiles::written) {
            if partitions.contains(partition) {
                let names = named.entry(partition.to_owned()).or_default();
                names.extend(paths.map(last_of).filter(|name| holds_rows(name)).map(str::to_owned));
            }
        }
    }
    Ok((named, damage.as_ref().map(not_missed)))
}

/// Files that were named and not listed.
#[derive(Debug, Default)]
pub(crate) struct Absent(BTreeSet<FileKey>);

impl Absent {
    /// Adds to what was listed of a partition what should be there as well.
    pub(crate) fn fill(&mut self, partition: &str, listed: &mut Vec<DataFile>, mut named: BTreeSet<String>) {
        for file in listed.iter() {
            named.remove(&file.name);
        }
        self.0.extend(named.iter().map(|name| (partition.to_owned(), name.clone())));
        listed.extend(named.into_iter().map(|name| DataFile { name, size: 0 }));
    }

    pub(crate) fn has(&self, partition: &str, name: &str) -> bool {
        self.0.contains(&(partition.to_owned(), name.to_owned()))
    }

    /// The name of one that the slice needs.
    pub(crate) fn of_slice<'s>(&self, slice: &'s FileSlice) -> Option<&'s str> {
        let mut names = slice.base.iter().chain(&slice.logs).map(|file| file.name.as_str());
        names.find(|name| self.has(&slice.partition, name))
    }

    /// An error if slices need some of them.
    pub(crate) fn check(&self, storage: &dyn Storage, slices: &[FileSlice]) -> Result<()> {
        let of_slice = |slice: &FileSlice| Some((slice.partition.clone(), self.of_slice(slice)?.to_owned()));
        let Some(key) = slices.iter().find_map(of_slice) else { return Ok(()) };
        let path = in_partition(&key.0, &key.1);
        let kind = kind_of(&key.1);
        if storage.head(&path)?.is_some() {
            // It came after the folder was looked into, or Apache Hudi does not see it either.
            let message = format!("a {kind} file of the snapshot is in a folder without {PARTITION_FILE}");
            return Err(Error::corrupt(message).at_path(path));
        }
        Err(missing(storage, Missing::File(&key.0, &key.1), &format!("a {kind} file of the snapshot"))?)
    }
}

/// What is needed and not there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Missing<'n> {
    /// A file, by partition and name.
    File(&'n str, &'n str),
    /// Some file of a group, by partition and file id.
    OfGroup(&'n str, &'n str),
}

/// The error for that: a clean took it, or nobody knows who did.
pub(crate) fn missing(storage: &dyn Storage, missing: Missing<'_>, what: &str) -> Result<Error> {
    let config = TableConfig::load(storage)?;
    let taken = Taken::of(storage, &Timeline::load(storage, &config)?.with_history(storage, &config)?)?;
    let (is_taken, path) = match missing {
        Missing::File(partition, name) => (taken.has(partition, name), in_partition(partition, name)),
        Missing::OfGroup(partition, id) => (taken.has_of_group(partition, id), partition.to_owned()),
    };
    let error = if is_taken {
        Error::new(ErrorKind::InstantCleaned, format!("{what} was cleaned away"))
            .with_hint("start later, or read a newer state of the table")
    } else {
        Error::storage(format!("{what} is gone"))
            .with_hint("it was cleaned, or removed by hand; read a newer state of the table")
    };
    Ok(error.at_path(path))
}

/// Files that cleans took, or are about to take.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    files: BTreeSet<FileKey>,
    partitions: BTreeSet<String>,
}

impl Taken {
    /// By all cleans that the timeline knows of: with the history, by those that anybody does.
    pub(crate) fn of(storage: &dyn Storage, timeline: &Timeline) -> Result<Self> {
        let mut taken = Self::default();
        for clean in timeline.instants.iter().filter(|instant| instant.action == Action::Clean) {
            if clean.is_completed() {
                taken.add_completed(storage, timeline, clean)?;
            } else {
                taken.add_planned(&CleanerPlan::decode(&timeline.requested_bytes(storage, clean)?)?);
            }
        }
        Ok(taken)
    }

    fn add_completed(&mut self, storage: &dyn Storage, timeline: &Timeline, clean: &Instant) -> Result<()> {
        let metadata = timeline.clean_metadata(storage, clean)?;
        for (partition, cleaned) in metadata.partition_metadata {
            let names = cleaned.success_delete_files.iter().chain(&cleaned.delete_path_patterns);
            self.files.extend(names.map(|name| (partition.clone(), last_of(name).to_owned())));
            if cleaned.is_partition_deleted == Some(true) {
                self.partitions.insert(partition);
            }
        }
        Ok(())
    }

    fn add_planned(&mut self, plan: &CleanerPlan) {
        for (partition, files) in plan.file_paths_to_be_deleted_per_partition.iter().flatten() {
            let paths = files.iter().filter_map(|file| file.file_path.as_deref());
            self.files.extend(paths.map(|path| (partition.clone(), last_of(path).to_owned())));
        }
        for (partition, names) in plan.files_to_be_deleted_per_partition.iter().flatten() {
            self.files.extend(names.iter().map(|name| (partition.clone(), last_of(name).to_owned())));
        }
        self.partitions.extend(plan.partitions_to_be_deleted.iter().flatten().cloned());
    }

    /// Whether one of them is gone from a partition that is wanted, by a list that was made of those.
    fn is_begun(&self, listed: &ListedFiles, wants: &mut impl FnMut(&str) -> Result<bool>) -> Result<bool> {
        let mut by_partition: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (partition, name) in &self.files {
            by_partition.entry(partition).or_default().insert(name);
        }
        for (partition, mut names) in by_partition {
            for file in listed.get(partition).into_iter().flatten() {
                names.remove(file.name.as_str());
            }
            // One that is wanted and not listed is gone as a whole.
            if !names.is_empty() && (listed.contains_key(partition) || wants(partition)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn has(&self, partition: &str, name: &str) -> bool {
        self.partitions.contains(partition) || self.files.contains(&(partition.to_owned(), name.to_owned()))
    }

    fn has_of_group(&self, partition: &str, id: &str) -> bool {
        let is_of_group = |name: &str| {
            let of_log = || LogFileName::parse(name).map(|log| log.file_id);
            BaseFileName::parse(name).map(|base| base.file_id).or_else(of_log).is_some_and(|found| found == id)
        };
        let mut files = self.files.iter();
        self.partitions.contains(partition) || files.any(|(of, name)| of == partition && is_of_group(name))
    }
}
