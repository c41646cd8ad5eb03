//! What the active timeline no longer holds, read where it was archived.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, PoisonError};

use hudini_format::history::{
    Columns, Entry, FileName, Manifest, Reader, VERSION_FILE, archive, latest_version, manifest_name,
};
use hudini_format::instant::{Action, Layout};
use hudini_format::name::ArchiveFileName;

use crate::config::{HOODIE, TableConfig, keys};
use crate::storage::{self, Storage};
use crate::{Error, Result};

/// When archived writes completed; looked up only where somebody must know.
pub(crate) struct CompletionTimes<'a> {
    storage: &'a dyn Storage,
    config: &'a TableConfig,
    /// By requested time.
    known: OnceCell<BTreeMap<String, String>>,
}

impl<'a> CompletionTimes<'a> {
    pub(crate) fn new(storage: &'a dyn Storage, config: &'a TableConfig) -> Self {
        Self { storage, config, known: OnceCell::new() }
    }

    pub(crate) fn of(&self, requested: &str) -> Result<Option<&str>> {
        let known = match self.known.get() {
            Some(known) => known,
            None => {
                let entries = archived(self.storage, self.config, Columns::Times, &..)?;
                let times = entries.into_iter().filter_map(|entry| Some((entry.requested, entry.completed?)));
                self.known.get_or_init(|| times.collect())
            }
        };
        Ok(known.get(requested).map(String::as_str))
    }
}

/// What archived actions of layout 2 did and planned, which is nearly all of the history's bytes: read when somebody asks
/// for one of them, with the other actions of its file, for their turn is next.
#[derive(Debug)]
pub(super) struct Deeds {
    dir: String,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    entries: BTreeMap<(String, Option<Action>), Arc<Entry>>,
    bytes: usize,
}

/// What is known is forgotten when it comes to more.
const MOST_BYTES: usize = 64 << 20;

impl Deeds {
    pub(super) fn new(config: &TableConfig) -> Self {
        Self { dir: history_dir(config), known: Mutex::default() }
    }

    pub(super) fn of(&self, storage: &dyn Storage, requested: &str, action: Action) -> Result<Arc<Entry>> {
        let wanted = (requested.to_owned(), Some(action));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = known.entries.get(&wanted) {
            return Ok(Arc::clone(entry));
        }
        let holds = |file: &FileName| file.overlaps(Some(requested), Some(requested));
        let read: Vec<_> = from_tree(storage, &self.dir, Columns::All, holds, &..)?.into_iter().map(Arc::new).collect();
        let found = read.iter().find(|entry| entry.requested == requested && action_of(entry) == Some(action)).cloned();
        known.add(read);
        found.ok_or_else(|| {
            Error::corrupt("no file of the history has what an archived action did")
                .at_path(&self.dir)
                .at_instant(requested)
        })
    }
}

impl Known {
    fn add(&mut self, entries: Vec<Arc<Entry>>) {
        let bytes: usize = entries.iter().map(|entry| bytes_of(entry)).sum();
        if self.bytes + bytes > MOST_BYTES {
            *self = Self::default();
        }
        self.bytes += bytes;
        self.entries.extend(entries.into_iter().map(|entry| ((entry.requested.clone(), action_of(&entry)), entry)));
    }
}

fn bytes_of(entry: &Entry) -> usize {
    [&entry.metadata, &entry.plan].into_iter().flatten().map(Vec::len).sum()
}

/// A merge of history files takes the old ones away under a reader's hands; so often it looks again.
const LOOKS: usize = 5;

/// The archived actions that were requested within `instants`, oldest first. Only history files that may hold some are
/// read, and of them only `columns`.
pub(crate) fn archived(
    storage: &dyn Storage,
    config: &TableConfig,
    columns: Columns,
    instants: &impl RangeBounds<String>,
) -> Result<Vec<Entry>> {
    let mut entries = match config.layout {
        Layout::One => from_archives(storage, config, instants)?,
        Layout::Two => from_tree(storage, &history_dir(config), columns, |file| overlaps(file, instants), instants)?,
    };
    // Archiving that was interrupted, and done again, leaves an action twice.
    entries.sort_by(|a, b| (&a.requested, action_of(a)).cmp(&(&b.requested, action_of(b))));
    entries.dedup_by(|b, a| a.requested == b.requested && action_of(a) == action_of(b));
    Ok(entries)
}

/// From which requested time on the history may hold actions that completed after `time`; `None` if it holds none. One that
/// took long may be in any file, so all footers are asked. Archives of layout 1 have none.
pub(super) fn completed_after(storage: &dyn Storage, config: &TableConfig, time: &str) -> Result<Option<String>> {
    let from_the_beginning = || Ok(Some(String::new()));
    if config.layout == Layout::One {
        return from_the_beginning();
    }
    let mut since: Option<String> = None;
    for (_, path) in history_files(storage, &history_dir(config))?.unwrap_or_default() {
        // Merged in between: who reads looks again.
        let Some(meta) = storage.head(&path)? else { return from_the_beginning() };
        let fetch = |ranges| storage.submit(&path, ranges).wait();
        match hudini_format::history::completed_after(meta.size, time, fetch) {
            Ok(None) => {}
            Ok(Some(least)) => since = Some(since.map_or(least.clone(), |since| since.min(least))),
            Err(_) if storage.head(&path)?.is_none() => return from_the_beginning(),
            Err(e) => return Err(e.at_path(&path)),
        }
    }
    Ok(since)
}

fn action_of(entry: &Entry) -> Option<Action> {
    entry.action.map(Action::completes_as)
}

/// The folder of the history, layout 2.
pub(crate) fn history_dir(config: &TableConfig) -> String {
    format!("{}/{}", config.timeline_dir(), config.get(keys::HISTORY_PATH).unwrap_or("history"))
}

/// The rows of these instants in the files that are wanted.
fn from_tree(
    storage: &dyn Storage,
    dir: &str,
    columns: Columns,
    wanted: impl Fn(&FileName) -> bool,
    instants: &impl RangeBounds<String>,
) -> Result<Vec<Entry>> {
    let mut missing = None;
    for _ in 0..LOOKS {
        let Some(files) = history_files(storage, dir)? else { return Ok(Vec::new()) };
        let paths = files.into_iter().filter(|(name, _)| wanted(name)).map(|(_, path)| path);
        match read_files(storage, paths, columns, instants)? {
            Read::All(entries) => return Ok(entries),
            Read::Gone(path) => missing = Some(path),
        }
    }
    Err(Error::storage("a file of the archived history is gone, and the newest manifest still names it")
        .gone()
        .at_path(missing.unwrap_or_else(|| dir.to_owned())))
}

/// The files that the newest manifest names, and their paths; `None` if nothing was ever archived.
fn history_files(storage: &dyn Storage, dir: &str) -> Result<Option<Vec<(FileName, String)>>> {
    let stated = storage.read(&format!("{dir}/{VERSION_FILE}"))?;
    let version = match latest_version(stated.as_deref(), []) {
        Some(version) => version,
        None => match latest_version(None, storage.list(dir)?.iter().map(storage::Entry::name)) {
            Some(version) => version,
            None => return Ok(None),
        },
    };
    let path = format!("{dir}/{}", manifest_name(version));
    let bytes = storage.read(&path)?;
    let missing = || Error::storage("the newest manifest of the history is missing").gone().at_path(&path);
    let bytes = bytes.ok_or_else(missing)?;
    let manifest = Manifest::decode(&bytes).map_err(|e| e.at_path(&path))?;
    let named = manifest.files.into_iter().map(|file| {
        let (name, path) = (&file.file_name, format!("{dir}/{}", file.file_name));
        let parsed = FileName::parse(name);
        let unknown = || Error::unsupported(format!("the name '{name}' of a file of the history")).at_path(&path);
        Ok((parsed.ok_or_else(unknown)?, path))
    });
    named.collect::<Result<_>>().map(Some)
}

enum Read {
    All(Vec<Entry>),
    Gone(String),
}

fn read_files(
    storage: &dyn Storage,
    paths: impl Iterator<Item = String>,
    columns: Columns,
    instants: &impl RangeBounds<String>,
) -> Result<Read> {
    let mut entries = Vec::new();
    for path in paths {
        let Some(meta) = storage.head(&path)? else { return Ok(Read::Gone(path)) };
        let fetch = |ranges| storage.submit(&path, ranges).wait();
        let rows = Reader::fetch(meta.size, columns, instants, fetch);
        match rows.and_then(|rows| rows.collect::<Result<Vec<_>>>()) {
            Ok(rows) => entries.extend(rows),
            // It went away in between.
            Err(_) if storage.head(&path)?.is_none() => return Ok(Read::Gone(path)),
            Err(e) => return Err(e.at_path(&path)),
        }
    }
    Ok(Read::All(entries))
}

fn overlaps(file: &FileName, instants: &impl RangeBounds<String>) -> bool {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let (Included(from) | Excluded(from)) = instants.start_bound() else {
        return match instants.end_bound() {
            Included(to) | Excluded(to) => file.overlaps(None, Some(to)),
            Unbounded => true,
        };
    };
    match instants.end_bound() {
        Included(to) | Excluded(to) => file.overlaps(Some(from), Some(to)),
        Unbounded => file.overlaps(Some(from), None),
    }
}

/// Layout 1 has no index: all archives are read.
fn from_archives(
    storage: &dyn Storage,
    config: &TableConfig,
    instants: &impl RangeBounds<String>,
) -> Result<Vec<Entry>> {
    let dir = format!("{HOODIE}/{}", config.get(keys::ARCHIVE_FOLDER).unwrap_or("archived"));
    let mut names: BTreeSet<(u32, String)> = BTreeSet::new();
    for entry in storage.list(&dir)? {
        if let storage::Entry::File { name, .. } = entry
            && let Some(parsed) = ArchiveFileName::parse(&name)
        {
            names.insert((parsed.version, name));
        }
    }
    let (mut archives, mut states) = (archive::Archives::default(), Vec::new());
    for (_, name) in names {
        let path = format!("{dir}/{name}");
        let bytes = storage.read(&path)?;
        let bytes =
            bytes.ok_or_else(|| Error::storage("an archive vanished while it was read").gone().at_path(&path))?;
        states.extend(archives.decode(&bytes).map_err(|e| e.at_path(&path))?);
    }
    let mut entries = archive::entries(states);
    entries.retain(|entry| instants.contains(&entry.requested));
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hudini_format::action::CommitMetadata;
    use hudini_format::history::{self, HistoryFile};
    use rstest::rstest;

    use super::*;
    use crate::context::ManualClock;
    use crate::storage::memory::Memory;

    const DIR: &str = ".hoodie/timeline/history";

    fn table() -> Memory {
        let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
        let properties = "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\n";
        memory.replace(".hoodie/hoodie.properties", properties.as_bytes()).unwrap();
        memory
    }

    fn file(memory: &Memory, requested: &[&str]) -> HistoryFile {
        let entry = |requested: &&str| Entry {
            requested: (*requested).to_owned(),
            completed: Some(format!("{requested}5")),
            action: Some(Action::Commit),
            metadata: Some(CommitMetadata::default().encode().unwrap()),
            plan: None,
        };
        let entries: Vec<_> = requested.iter().map(entry).collect();
        let bytes = history::write(&entries).unwrap();
        let name = format!("{}_{}_0.parquet", requested[0], requested[requested.len() - 1]);
        memory.replace(&format!("{DIR}/{name}"), &bytes).unwrap();
        HistoryFile { file_name: name, file_len: bytes.len() as u64 }
    }

    fn manifest(memory: &Memory, version: u32, files: Vec<HistoryFile>) {
        memory.replace(&format!("{DIR}/manifest_{version}"), &Manifest { files }.encode()).unwrap();
    }

    fn requested(memory: &Memory, instants: impl RangeBounds<String>) -> Result<Vec<String>> {
        let config = TableConfig::load(memory)?;
        let found = archived(memory, &config, Columns::Times, &instants)?;
        Ok(found.into_iter().map(|entry| entry.requested).collect())
    }

    #[test]
    fn nothing_archived_is_nothing() {
        assert_eq!(requested(&table(), ..).unwrap(), [""; 0]);
    }

    #[test]
    fn the_manifest_of_the_version_file_counts() {
        let memory = table();
        let (old, new) = (file(&memory, &["100"]), file(&memory, &["200", "300"]));
        manifest(&memory, 1, vec![old.clone()]);
        manifest(&memory, 2, vec![old, new]);
        memory.replace(&format!("{DIR}/_version_"), b"1").unwrap();
        assert_eq!(requested(&memory, ..).unwrap(), ["100"]);
        memory.replace(&format!("{DIR}/_version_"), b"2").unwrap();
        assert_eq!(requested(&memory, ..).unwrap(), ["100", "200", "300"]);
        assert_eq!(requested(&memory, "200".to_owned().."300".to_owned()).unwrap(), ["200"]);
        assert_eq!(requested(&memory, .."200".to_owned()).unwrap(), ["100"]);
    }

    #[test]
    fn what_is_completed_in_the_history_is_completed() {
        use crate::timeline::Timeline;
        let memory = table();
        let archived = file(&memory, &["100"]);
        manifest(&memory, 1, vec![archived]);
        memory.replace(&format!("{DIR}/_version_"), b"1").unwrap();
        for name in ["100.commit.requested", "100.inflight", "200.commit.requested"] {
            memory.replace(&format!(".hoodie/timeline/{name}"), b"").unwrap();
        }
        let config = TableConfig::load(&memory).unwrap();
        let timeline = Timeline::load(&memory, &config).unwrap().with_history(&memory, &config).unwrap();
        let states: Vec<_> = timeline.instants.iter().map(|i| (i.requested.as_str(), i.is_completed())).collect();
        assert_eq!(states, [("100", true), ("200", false)]);
    }

    #[test]
    fn what_was_archived_behind_a_savepoint_is_not_missing() {
        use crate::timeline::Timeline;
        let memory = table();
        let archived = file(&memory, &["050", "150", "160"]);
        manifest(&memory, 1, vec![archived]);
        memory.replace(&format!("{DIR}/_version_"), b"1").unwrap();
        let put = |name: &str| memory.replace(&format!(".hoodie/timeline/{name}"), b"").map(drop).unwrap();
        ["100_1005.commit", "200_2005.commit", "200_2006.savepoint", "300.commit.requested"].into_iter().for_each(put);
        let config = TableConfig::load(&memory).unwrap();
        let known = || {
            let timeline = Timeline::load(&memory, &config).unwrap();
            timeline.commits().map(|i| i.requested.clone()).collect::<Vec<_>>()
        };
        assert_eq!(known(), ["100", "200"]);
        put("100_1006.savepoint");
        assert_eq!(known(), ["100", "150", "160", "200"]);
    }

    #[rstest]
    #[case::before_it_completed("1002_1003.commit", false)]
    #[case::after_it_completed("1006_1007.commit", true)]
    fn an_archived_write_may_have_been_overtaken(#[case] active: &str, #[case] is_kept: bool) {
        use crate::timeline::{Order, Timeline};
        let memory = table();
        let archived = file(&memory, &["050", "100"]);
        manifest(&memory, 1, vec![archived]);
        memory.replace(&format!("{DIR}/_version_"), b"1").unwrap();
        memory.replace(&format!(".hoodie/timeline/{active}"), b"").unwrap();
        let config = TableConfig::load(&memory).unwrap();
        let order = Order::of(&Timeline::load(&memory, &config).unwrap(), &config);
        assert_eq!(order.is_kept(&memory, &config).unwrap(), is_kept);
    }

    #[test]
    fn what_an_action_did_is_read_from_its_file_alone() {
        use crate::storage::faulty::{FaultPlan, Faulty};
        use crate::timeline::Timeline;
        let memory = table();
        let files = vec![file(&memory, &["100", "150"]), file(&memory, &["200", "250"]), file(&memory, &["300"])];
        manifest(&memory, 1, files);
        memory.replace(&format!("{DIR}/_version_"), b"1").unwrap();
        let config = TableConfig::load(&memory).unwrap();
        let timeline = Timeline::load(&memory, &config).unwrap().with_history(&memory, &config).unwrap();
        let counted = Faulty::new(Arc::new(memory), FaultPlan::none());
        let read = |requested: &str| timeline.commit_metadata(&counted, timeline.find(requested).unwrap());
        for requested in ["200", "250", "200"] {
            read(requested).unwrap();
        }
        let log = counted.log();
        let opened: BTreeSet<_> = log.iter().map(|call| &call.path).filter(|path| path.ends_with(".parquet")).collect();
        assert_eq!(opened, [&format!("{DIR}/200_250_0.parquet")].into());
        assert_eq!(log.iter().filter(|call| call.path.ends_with("_version_")).count(), 1);
    }

    #[test]
    fn of_a_range_only_the_files_are_read_that_may_hold_some_of_it() {
        use crate::timeline::Timeline;
        let memory = table();
        let files = vec![file(&memory, &["100", "150"]), file(&memory, &["200", "250"]), file(&memory, &["300"])];
        manifest(&memory, 1, files);
        memory.replace(&format!("{DIR}/_version_"), b"1").unwrap();
        let config = TableConfig::load(&memory).unwrap();
        let after = |time: &str| {
            let timeline =
                Timeline::load(&memory, &config).unwrap().with_history_after(&memory, &config, time).unwrap();
            timeline.instants.into_iter().map(|instant| instant.requested).collect::<Vec<_>>()
        };
        assert_eq!(after("3005"), [""; 0]);
        assert_eq!(after("3004"), ["300"]);
        assert_eq!(after("2504"), ["200", "250", "300"]);
        assert_eq!(after("0"), ["100", "150", "200", "250", "300"]);
        // One that took long.
        let entry = Entry {
            requested: "150".to_owned(),
            completed: Some("400".to_owned()),
            action: Some(Action::Commit),
            metadata: None,
            plan: None,
        };
        let bytes = history::write(&[entry]).unwrap();
        memory.replace(&format!("{DIR}/100_150_0.parquet"), &bytes).unwrap();
        assert_eq!(after("3005"), ["150", "200", "250", "300"]);
    }

    #[test]
    fn what_is_known_is_forgotten_before_it_fills_the_memory() {
        let mut known = Known::default();
        let large = |requested: &str| {
            let metadata = Some(vec![0; MOST_BYTES / 2]);
            let action = Some(Action::Commit);
            Arc::new(Entry { requested: requested.to_owned(), completed: None, action, metadata, plan: None })
        };
        for requested in ["100", "200", "300"] {
            known.add(vec![large(requested)]);
        }
        assert_eq!(known.entries.keys().map(|(requested, _)| requested.as_str()).collect::<Vec<_>>(), ["300"]);
    }

    #[test]
    fn an_action_that_was_archived_twice_is_one() {
        let memory = table();
        let files = vec![file(&memory, &["100", "200"]), file(&memory, &["200", "300"])];
        manifest(&memory, 7, files);
        memory.replace(&format!("{DIR}/_version_"), b"7").unwrap();
        assert_eq!(requested(&memory, ..).unwrap(), ["100", "200", "300"]);
    }

    #[test]
    fn files_that_cannot_hold_the_instants_are_left_alone() {
        let memory = table();
        let gone = HistoryFile { file_name: "100_200_0.parquet".to_owned(), file_len: 1 };
        manifest(&memory, 1, vec![gone, file(&memory, &["300"])]);
        memory.replace(&format!("{DIR}/_version_"), b"1").unwrap();
        assert_eq!(requested(&memory, "250".to_owned()..).unwrap(), ["300"]);
        let e = requested(&memory, ..).unwrap_err();
        assert!(e.to_string().contains("100_200_0.parquet"), "{e}");
    }
}
