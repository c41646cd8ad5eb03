//! From the files of one partition to the newest slice of each file group.

use std::collections::BTreeMap;

use hudini_format::name::{BaseFileName, LogFileName};

use super::{DataFile, FileSlice, in_partition};
use crate::timeline::Snapshot;
use crate::{Error, Result};

type Bases = Vec<(BaseFileName, DataFile)>;
type Logs = Vec<(LogFileName, DataFile)>;

/// Slices of one file group, by base instant.
type Group = BTreeMap<String, (Option<DataFile>, Logs)>;

pub(super) fn newest(snapshot: &Snapshot, partition: &str, bases: Bases, logs: Logs) -> Result<Vec<FileSlice>> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (name, file) in bases {
        // Apache Hudi first makes a slice of an uncommitted base file and then drops it, together with the logs it had
        // placed there. Here it never was.
        if snapshot.is_committed(&name.instant) {
            add_base(&mut groups, partition, name, file)?;
        }
    }
    for pending in snapshot.pending_compactions.iter().filter(|p| p.partition == partition) {
        groups.entry(pending.file_id.clone()).or_default().entry(pending.instant.clone()).or_default();
    }
    place_logs(snapshot, partition, &mut groups, logs)?;
    let is_live = |id: &String| !snapshot.replaced.contains(&(partition.to_owned(), id.clone()));
    let live = groups.into_iter().filter(|(id, _)| is_live(id));
    Ok(live.filter_map(|(id, group)| merged(partition, id, group)).collect())
}

fn add_base(groups: &mut BTreeMap<String, Group>, partition: &str, name: BaseFileName, file: DataFile) -> Result<()> {
    let slice = groups.entry(name.file_id).or_default().entry(name.instant.clone()).or_default();
    if let Some(other) = slice.0.replace(file) {
        // Left by an attempt that was lost and published late; which of the two the commit means is not to be guessed.
        return Err(Error::corrupt("one write left two base files in one file group")
            .at_path(in_partition(partition, &other.name))
            .at_instant(name.instant));
    }
    Ok(())
}

fn place_logs(
    snapshot: &Snapshot,
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
        let key = base_instant_of_log(snapshot, group, &name)
            .map_err(|e| e.at_path(in_partition(partition, &file.name)).at_instant(&name.instant))?;
        group.entry(key).or_default().1.push((name, file));
    }
    Ok(())
}

fn base_instant_of_log(snapshot: &Snapshot, group: &Group, log: &LogFileName) -> Result<String> {
    if snapshot.logs_named_by_slice || group.is_empty() {
        return Ok(log.instant.clone());
    }
    let Some(completed) = snapshot.completed.get(&log.instant) else {
        return of_archived_log(group, log);
    };
    let at_or_before = group.range::<String, _>(..=completed).next_back();
    Ok(at_or_before.map_or_else(|| log.instant.clone(), |(base, _)| base.clone()))
}

/// The write is archived: it completed at some time after its request. That is enough where no slice began since.
fn of_archived_log(group: &Group, log: &LogFileName) -> Result<String> {
    if group.range(log.instant.clone()..).next().is_some() {
        return Err(Error::unsupported(
            "placing a log file whose write is archived: its completion time is in the history",
        ));
    }
    Ok(group.keys().next_back().cloned().unwrap_or_else(|| log.instant.clone()))
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

    use super::*;
    use crate::timeline::PendingCompaction;

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

    /// (base instant, instants of the logs) of the one visible slice.
    fn seen(snapshot: &Snapshot, bases: &[&str], logs: &[&str]) -> Option<(String, Vec<String>)> {
        let bases = bases.iter().map(|t| base(t)).collect();
        let logs = logs.iter().map(|t| log(t)).collect();
        let mut slices = newest(snapshot, "p", bases, logs).unwrap();
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

    #[test]
    fn archived_writes_count_as_committed() {
        let s = snapshot(&[("300", "310")]);
        assert_eq!(seen(&s, &["100"], &["200", "300"]), some("100", &["200", "300"]));
        let bases = vec![base("100"), base("300")];
        let e = newest(&s, "p", bases, vec![log("200")]).unwrap_err();
        assert!(e.to_string().contains("archived"), "between two slices only the history can tell");
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
        let e = newest(&s, "p", vec![base("100"), second], vec![]).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::CorruptFile);
    }
}
