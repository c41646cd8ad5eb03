//! From the files of one partition to the newest slice of each file group.

use std::collections::BTreeMap;
use std::ops::Bound;

use hudini_format::name::{BaseFileName, LogFileName};

use super::{DataFile, FileSlice, in_partition};
use crate::timeline::{CompletionTimes, Snapshot};
use crate::{Error, Result};

type Bases = Vec<(BaseFileName, DataFile)>;
type Logs = Vec<(LogFileName, DataFile)>;

/// Slices of one file group, by base instant.
type Group = BTreeMap<String, (Option<DataFile>, Logs)>;

/// The data files of one partition, in no order.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartitionFiles {
    pub(super) bases: Bases,
    pub(super) logs: Logs,
}

impl PartitionFiles {
    /// The newest slice of each file group, by file id.
    pub(crate) fn newest(
        self,
        snapshot: &Snapshot,
        archived: &CompletionTimes<'_>,
        partition: &str,
    ) -> Result<Vec<FileSlice>> {
        newest(snapshot, archived, partition, self.bases, self.logs)
    }

    /// Every slice of committed files, of each file group, the newest first: replaced groups too, and slices that a pending
    /// compaction has begun.
    pub(crate) fn history(
        self,
        snapshot: &Snapshot,
        archived: &CompletionTimes<'_>,
        partition: &str,
    ) -> Result<BTreeMap<String, Vec<FileSlice>>> {
        let slice_of = |file_id: &str, (base_instant, (base, logs)): (String, (Option<DataFile>, Logs))| FileSlice {
            partition: partition.to_owned(),
            file_id: file_id.to_owned(),
            base_instant,
            base,
            logs: logs.into_iter().map(|(_, file)| file).collect(),
        };
        let groups = grouped(snapshot, archived, partition, self.bases, self.logs)?.into_iter();
        Ok(groups
            .map(|(file_id, group)| {
                let slices = group.into_iter().rev().map(|slice| slice_of(&file_id, slice)).collect();
                (file_id, slices)
            })
            .collect())
    }

    /// The files of each file group apart, by file id.
    pub(crate) fn by_group(self) -> BTreeMap<String, Self> {
        let mut groups: BTreeMap<String, Self> = BTreeMap::new();
        for base in self.bases {
            groups.entry(base.0.file_id.clone()).or_default().bases.push(base);
        }
        for log in self.logs {
            groups.entry(log.0.file_id.clone()).or_default().logs.push(log);
        }
        groups
    }
}

fn newest(
    snapshot: &Snapshot,
    archived: &CompletionTimes<'_>,
    partition: &str,
    bases: Bases,
    logs: Logs,
) -> Result<Vec<FileSlice>> {
    let groups = grouped(snapshot, archived, partition, bases, logs)?;
    let is_live = |id: &String| !snapshot.replaced.contains(&(partition.to_owned(), id.clone()));
    let live = groups.into_iter().filter(|(id, _)| is_live(id));
    Ok(live.filter_map(|(id, group)| merged(partition, id, group)).collect())
}

/// The committed slices of each file group.
fn grouped(
    snapshot: &Snapshot,
    archived: &CompletionTimes<'_>,
    partition: &str,
    bases: Bases,
    logs: Logs,
) -> Result<BTreeMap<String, Group>> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (name, file) in bases {
        // Apache Hudi first makes a slice of an uncommitted base file and then drops it, together with the logs it had
        // placed there. Here it never was.
        if snapshot.begins_slices(&name.instant) {
            add_base(&mut groups, partition, name, file)?;
        }
    }
    for pending in snapshot.pending_compactions.iter().filter(|p| p.partition == partition) {
        groups.entry(pending.file_id.clone()).or_default().entry(pending.instant.clone()).or_default();
    }
    place_logs(snapshot, archived, partition, &mut groups, logs)?;
    if let Some(cut) = &snapshot.cut {
        groups.values_mut().for_each(|group| group.retain(|instant, _| cut.keeps(instant)));
        groups.retain(|_, group| !group.is_empty());
    }
    Ok(groups)
}

fn add_base(groups: &mut BTreeMap<String, Group>, partition: &str, name: BaseFileName, file: DataFile) -> Result<()> {
    let slice = groups.entry(name.file_id).or_default().entry(name.instant.clone()).or_default();
    if let Some(other) = slice.0.replace(file) {
        // Left by an attempt that was lost and published late; which of the two the commit means is not to be guessed.
        return Err(Error::corrupt("one write left two base files in one file group")
            .at_path(in_partition(partition, &other.name))
            .at_instant(name.instant)
            .with_hint("the write's commit names the one that counts: remove the other one, if no writer is at work"));
    }
    Ok(())
}

fn place_logs(
    snapshot: &Snapshot,
    archived: &CompletionTimes<'_>,
    partition: &str,
    groups: &mut BTreeMap<String, Group>,
    mut logs: Logs,
) -> Result<()> {
    logs.sort_by(|(a, _), (b, _)| a.slice_order(b));
    for (name, file) in logs {
        if !snapshot.logs_named_by_slice && !snapshot.is_committed(&name.instant) {
            continue;
        }
        let group = groups.entry(name.file_id.clone()).or_default();
        let key = base_instant_of_log(snapshot, archived, group, &name)
            .map_err(|e| e.at_path(in_partition(partition, &file.name)).at_instant(&name.instant))?;
        group.entry(key).or_default().1.push((name, file));
    }
    Ok(())
}

fn base_instant_of_log(
    snapshot: &Snapshot,
    archived: &CompletionTimes<'_>,
    group: &Group,
    log: &LogFileName,
) -> Result<String> {
    if snapshot.logs_named_by_slice || group.is_empty() {
        return Ok(log.instant.clone());
    }
    let newest = || group.keys().next_back().cloned().unwrap_or_else(|| log.instant.clone());
    let completed = match snapshot.completed.get(&log.instant) {
        Some(completed) => completed.as_str(),
        // An archived write completed at some time after its request. That is enough where no slice began since.
        None if group.range(log.instant.clone()..).next().is_none() => return Ok(newest()),
        None => match archived.of(&log.instant)? {
            Some(completed) => completed,
            // As Apache Hudi has it.
            None => return Ok(newest()),
        },
    };
    let at_or_before = group.range::<str, _>((Bound::Unbounded, Bound::Included(completed))).next_back();
    Ok(at_or_before.map_or_else(|| log.instant.clone(), |(base, _)| base.clone()))
}

/// The slice that a reader sees. Logs that wait for a pending compaction lie in a slice without a base file; merged with
/// the slice before it, nothing is lost.
fn merged(partition: &str, file_id: String, group: Group) -> Option<FileSlice> {
    let mut base_instant = None;
    let mut base = None;
    let mut logs = Vec::new();
    for (instant, (file, slice_logs)) in group.into_iter().rev() {
        logs.extend(slice_logs);
        base_instant = Some(instant);
        base = file;
        if base.is_some() {
            break;
        }
    }
    logs.sort_by(|(a, _), (b, _)| a.slice_order(b));
    let logs: Vec<_> = logs.into_iter().map(|(_, file)| file).collect();
    let something = base.is_some() || !logs.is_empty();
    something.then(|| FileSlice {
        partition: partition.to_owned(),
        file_id,
        base_instant: base_instant.unwrap_or_default(),
        base,
        logs,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use hudini_format::history::{self, Entry, HistoryFile, Manifest};
    use hudini_format::instant::Action;

    use super::*;
    use crate::config::TableConfig;
    use crate::context::ManualClock;
    use crate::storage::Storage;
    use crate::storage::memory::Memory;
    use crate::timeline::{Cut, PendingCompaction};

    const ID: &str = "f-0";

    fn snapshot(completed: &[(&str, &str)]) -> Snapshot {
        Snapshot {
            completed: completed.iter().map(|(t, c)| ((*t).to_owned(), (*c).to_owned())).collect(),
            start: completed.first().map(|(t, _)| (*t).to_owned()),
            replaced: BTreeSet::new(),
            pending_compactions: BTreeSet::new(),
            schema: None,
            evolution: None,
            logs_named_by_slice: false,
            newest_files: None,
            cut: None,
        }
    }

    fn base(instant: &str) -> (BaseFileName, DataFile) {
        let name = format!("{ID}_0-0-0_{instant}.parquet");
        (BaseFileName::parse(&name).unwrap(), DataFile { name, size: 1 })
    }

    fn log(instant: &str) -> (LogFileName, DataFile) {
        let name = format!(".{ID}_{instant}.log.1_0-0-0");
        (LogFileName::parse(&name).unwrap(), DataFile { name, size: 1 })
    }

    /// The newest slices of a table whose history is `archived`.
    fn newest_of(snapshot: &Snapshot, archived: &Memory, bases: Bases, logs: Logs) -> Result<Vec<FileSlice>> {
        let config = TableConfig::load(archived).unwrap();
        newest(snapshot, &CompletionTimes::new(archived, &config), "p", bases, logs)
    }

    /// A table where nothing was archived but, perhaps, one write.
    fn table(archived: Option<(&str, &str)>) -> Memory {
        let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
        let properties = "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\n";
        memory.replace(".hoodie/hoodie.properties", properties.as_bytes()).unwrap();
        if let Some((requested, completed)) = archived {
            let dir = ".hoodie/timeline/history";
            let entry = Entry {
                requested: requested.to_owned(),
                completed: Some(completed.to_owned()),
                action: Some(Action::DeltaCommit),
                metadata: None,
                plan: None,
            };
            let name = format!("{requested}_{requested}_0.parquet");
            let bytes = history::write([&entry]).unwrap();
            let file = HistoryFile { file_name: name.clone(), file_len: bytes.len() as u64 };
            memory.replace(&format!("{dir}/{name}"), &bytes).unwrap();
            memory.replace(&format!("{dir}/manifest_1"), &Manifest { files: vec![file] }.encode()).unwrap();
            memory.replace(&format!("{dir}/_version_"), b"1").unwrap();
        }
        memory
    }

    /// (base instant, instants of the logs) of the one visible slice.
    fn seen(snapshot: &Snapshot, bases: &[&str], logs: &[&str]) -> Option<(String, Vec<String>)> {
        let bases = bases.iter().map(|t| base(t)).collect();
        let logs = logs.iter().map(|t| log(t)).collect();
        let mut slices = newest_of(snapshot, &table(None), bases, logs).unwrap();
        assert!(slices.len() <= 1);
        let slice = slices.pop()?;
        let instants = slice.logs.iter().map(|f| LogFileName::parse(&f.name).unwrap().instant).collect();
        Some((slice.base_instant, instants))
    }

    fn some(base: &str, logs: &[&str]) -> Option<(String, Vec<String>)> {
        Some((base.to_owned(), logs.iter().map(|l| (*l).to_owned()).collect()))
    }

    #[test]
    fn logs_go_by_completion_and_merge_by_request() {
        let before = snapshot(&[("050", "060"), ("100", "600"), ("300", "400")]);
        assert_eq!(seen(&before, &["050"], &["300", "100"]), some("050", &["100", "300"]));
        let compacted = snapshot(&[("050", "060"), ("100", "600"), ("300", "400"), ("450", "700")]);
        assert_eq!(seen(&compacted, &["050", "450"], &["100", "300"]), some("450", &["100"]));
    }

    #[test]
    fn completion_at_the_base_instant_belongs_to_it() {
        let s = snapshot(&[("100", "150"), ("200", "300"), ("250", "260")]);
        assert_eq!(seen(&s, &["200"], &["100"]), None.or(some("200", &[])));
        let s = snapshot(&[("100", "200"), ("200", "300")]);
        assert_eq!(seen(&s, &["200"], &["100"]), some("200", &["100"]));
    }

    #[test]
    fn uncommitted_files_are_not_there() {
        let s = snapshot(&[("100", "110"), ("200", "210")]);
        assert_eq!(seen(&s, &["100", "150"], &["200", "201"]), some("100", &["200"]));
        assert_eq!(seen(&s, &["150"], &["201"]), None);
    }

    #[test]
    fn a_pending_compaction_hides_nothing() {
        let mut s = snapshot(&[("100", "110"), ("200", "210"), ("400", "410")]);
        let pending = PendingCompaction { partition: "p".into(), file_id: ID.into(), instant: "300".into() };
        s.pending_compactions.insert(pending);
        assert_eq!(seen(&s, &["100"], &["200", "400"]), some("100", &["200", "400"]));
    }

    /// A write of 200 was slow: a compaction was planned beside it, at 450, and has its log in a slice of the future.
    #[test]
    fn the_past_has_no_logs_of_slices_that_began_later() {
        let mut s = snapshot(&[("100", "110"), ("200", "600"), ("250", "260")]);
        let later = |instants: &[&str]| Some(Cut::new("300", instants.iter().map(|t| (*t).to_owned()).collect()));
        s.cut = later(&["450"]);
        assert_eq!(seen(&s, &["100", "450"], &["200", "250"]), some("100", &["250"]));
        assert_eq!(seen(&s, &["450"], &["200"]), None);
        s.cut = later(&[]);
        assert_eq!(seen(&s, &["100", "450"], &["200", "250"]), some("100", &["200", "250"]), "never committed");
        let pending = PendingCompaction { partition: "p".into(), file_id: ID.into(), instant: "450".into() };
        s.pending_compactions.insert(pending);
        assert_eq!(seen(&s, &["100"], &["200", "250"]), some("100", &["250"]));
    }

    #[test]
    fn archived_writes_count_as_committed() {
        let s = snapshot(&[("300", "310")]);
        assert_eq!(seen(&s, &["100"], &["200", "300"]), some("100", &["200", "300"]));
    }

    #[test]
    fn between_two_slices_the_history_tells() {
        let s = snapshot(&[("300", "310")]);
        for (completed, on_top) in [("250", vec![]), ("300", vec!["200"]), ("305", vec!["200"])] {
            let bases = vec![base("100"), base("300")];
            let slices = newest_of(&s, &table(Some(("200", completed))), bases, vec![log("200")]).unwrap();
            let logs: Vec<_> = slices[0].logs.iter().map(|f| LogFileName::parse(&f.name).unwrap().instant).collect();
            assert_eq!(
                (slices[0].base_instant.as_str(), logs),
                ("300", on_top.iter().map(|l| (*l).to_owned()).collect())
            );
        }
    }

    #[test]
    fn replaced_groups_are_gone() {
        let mut s = snapshot(&[("100", "110")]);
        s.replaced.insert(("p".into(), ID.into()));
        assert_eq!(seen(&s, &["100"], &[]), None);
        s.replaced = BTreeSet::from([("q".to_owned(), ID.to_owned())]);
        assert_eq!(seen(&s, &["100"], &[]), some("100", &[]));
    }

    #[test]
    fn two_base_files_of_one_write_are_refused() {
        let s = snapshot(&[("100", "110")]);
        let mut second = base("100");
        second.1.name = second.1.name.replace("0-0-0", "0-0-1");
        let e = newest_of(&s, &table(None), vec![base("100"), second], vec![]).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::CorruptFile);
    }
}
