//! What of the table is looked at, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hudini_format::name::{BaseFileName, LogFileName};

use super::findings::Found;
use crate::Result;
use crate::config::TableConfig;
use crate::context::Watch;
use crate::metadata::ListedFiles;
use crate::storage::Storage;
use crate::table::Table;
use crate::timeline::{CompletionTimes, Snapshot, Timeline, Until};
use crate::view::{self, BASE_EXTENSION, DataFile, FileKey, FileSlice, Taken, in_partition, last_of};

/// The table, its timeline before and after its files were listed, and what commits say of the files.
///
/// A write that completes in between is seen in the one that does not make its files a finding.
pub(super) struct State<'t> {
    pub(super) table: &'t Table,
    pub(super) storage: &'t Arc<dyn Storage>,
    pub(super) watch: &'t Watch,
    pub(super) config: TableConfig,
    pub(super) timeline: Timeline,
    pub(super) snapshot: Snapshot,
    pub(super) files: ListedFiles,
    pub(super) later: Timeline,
    /// The newest of each file group, by partition and file id.
    pub(super) slices: Vec<FileSlice>,
    /// What commits of the active timeline say of files they wrote; of a log of version 6 several may.
    pub(super) stated: BTreeMap<FileKey, Vec<Stated>>,
}

/// What one commit says of a file.
#[derive(Debug, Clone)]
pub(super) struct Stated {
    pub(super) instant: String,
    /// 0 if it does not say.
    pub(super) bytes: u64,
    pub(super) rows: Option<u64>,
    /// Whether the file is what the statistics are about, rather than another one of the same slice.
    pub(super) is_own: bool,
}

/// A data file by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Base(BaseFileName),
    Log(LogFileName),
}

impl Kind {
    pub(super) fn of(name: &str) -> Option<Self> {
        let log = LogFileName::parse(name).map(Self::Log);
        log.or_else(|| BaseFileName::parse(name).map(Self::Base))
    }

    /// The write that made it; of a log of version 6, its slice.
    pub(super) fn instant(&self) -> &str {
        match self {
            Self::Base(name) => &name.instant,
            Self::Log(name) => &name.instant,
        }
    }
}

impl<'t> State<'t> {
    pub(super) fn look(table: &'t Table, watch: &'t Watch, found: &mut Found) -> Result<Self> {
        let storage = &table.storage;
        let config = table.config()?;
        let timeline = Timeline::load(storage.as_ref(), &config)?;
        let snapshot = Snapshot::pin(storage.as_ref(), &config, &timeline, Until::Now)?;
        let files = |path: String| -> Result<_> { Ok((path.clone(), view::files_in(storage.as_ref(), &path)?)) };
        let files = view::partitions(storage.as_ref(), &config)?.into_iter().map(files).collect::<Result<_>>()?;
        let later = Timeline::load(storage.as_ref(), &config)?;
        let (stated, slices) = (BTreeMap::new(), Vec::new());
        let mut state = Self { table, storage, watch, config, timeline, snapshot, files, later, slices, stated };
        state.read_commits(found)?;
        state.group_files(found)?;
        found.count("partitions", state.files.len());
        found.count("files", state.data_files().count());
        Ok(state)
    }

    fn read_commits(&mut self, found: &mut Found) -> Result<()> {
        for instant in self.timeline.commits() {
            let metadata = self.timeline.commit_metadata(self.storage.as_ref(), instant)?;
            found.count("instants", 1);
            for (partition, stats) in metadata.partition_to_write_stats.unwrap_or_default() {
                for stat in stats {
                    let unsigned = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
                    let stated = |is_own| Stated {
                        instant: instant.requested.clone(),
                        bytes: unsigned(stat.file_size_in_bytes).unwrap_or(0),
                        rows: unsigned(stat.num_writes),
                        is_own,
                    };
                    let own = stat.path.as_deref().map(last_of).filter(|name| !name.is_empty());
                    let others = stat.log_files.iter().flatten().map(|path| last_of(path));
                    let others = others.filter(|name| Some(*name) != own && !name.is_empty());
                    for (name, is_own) in own.map(|name| (name, true)).into_iter().chain(others.map(|n| (n, false))) {
                        let key = (partition.clone(), name.to_owned());
                        self.stated.entry(key).or_default().push(stated(is_own));
                    }
                    for (path, bytes) in stat.cdc_stats.iter().flatten() {
                        let bytes = unsigned(Some(*bytes)).unwrap_or(0);
                        let log = Stated { bytes, rows: None, ..stated(true) };
                        self.stated.entry((partition.clone(), last_of(path).to_owned())).or_default().push(log);
                    }
                }
            }
        }
        Ok(())
    }

    fn group_files(&mut self, found: &mut Found) -> Result<()> {
        let archived = CompletionTimes::new(self.storage.as_ref(), &self.config);
        for (partition, files) in &self.files {
            let slices = view::slices_of(files.clone(), BASE_EXTENSION, &self.snapshot, &archived, partition);
            let slices = found.attempt("slice", self.storage.as_ref(), partition, slices)?.unwrap_or_default();
            self.slices.extend(slices);
        }
        found.count("slices", self.slices.len());
        Ok(())
    }

    /// The files on storage that hold data, changes of a change feed aside.
    pub(super) fn data_files(&self) -> impl Iterator<Item = (&str, &DataFile, Kind)> {
        self.files_by_kind().filter(|(.., kind)| !is_change_log(kind))
    }

    /// Those that hold changes of a change feed.
    pub(super) fn change_logs(&self) -> impl Iterator<Item = (&str, &DataFile, Kind)> {
        self.files_by_kind().filter(|(.., kind)| is_change_log(kind))
    }

    fn files_by_kind(&self) -> impl Iterator<Item = (&str, &DataFile, Kind)> {
        self.files.iter().flat_map(|(partition, files)| {
            files.iter().filter_map(move |file| Some((partition.as_str(), file, Kind::of(&file.name)?)))
        })
    }

    /// Whether readers count a file of this kind. Logs of version 6 bear their slice's instant: their blocks answer for
    /// themselves.
    pub(super) fn counts(&self, kind: &Kind) -> bool {
        self.snapshot.is_committed(kind.instant())
    }

    /// What the commit says that a file is about.
    pub(super) fn stated_of(&self, partition: &str, name: &str) -> &[Stated] {
        self.stated.get(&(partition.to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
    }

    pub(super) fn has_file(&self, partition: &str, name: &str) -> bool {
        self.files.get(partition).is_some_and(|files| files.iter().any(|file| file.name == name))
    }

    /// The files that cleans took, archived ones too.
    pub(super) fn taken(&self) -> Result<Taken> {
        let storage = self.storage.as_ref();
        Taken::of(storage, &self.later.clone().with_history(storage, &self.config)?)
    }

    /// Whether somebody wrote to the table meanwhile.
    pub(super) fn is_written_to(&self) -> Result<bool> {
        let now = Timeline::load(self.storage.as_ref(), &self.config)?;
        let commits = |timeline: &Timeline| -> BTreeSet<String> {
            timeline.commits().map(|instant| instant.requested.clone()).collect()
        };
        Ok(commits(&now) != commits(&self.timeline))
    }
}

fn is_change_log(kind: &Kind) -> bool {
    matches!(kind, Kind::Log(name) if name.cdc)
}

/// The path of a file below the table.
pub(super) fn path_of(key: &FileKey) -> String {
    in_partition(&key.0, &key.1)
}
