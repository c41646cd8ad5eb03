//! Archived history: the files of the LSM tree, its manifest and version.

use hudini_format::action::{CommitMetadata, WriteStat};
use hudini_format::history::{self, Entry, FileName, HistoryFile, Manifest, VERSION_FILE, manifest_name};
use hudini_format::instant::Action;
use serde_json::{Value, json};

use crate::action::{clean, clean_plan, clustering_plan, commit, compaction_plan, replacing, rollback, savepoint};
use crate::folder::{Done, Folder};
use crate::table::put_properties;

const KIND: &str = "history";

pub(crate) fn write(folder: &mut Folder) -> Done {
    let all = every_action()?;
    let many = (0..320).map(small_commit).collect::<Done<Vec<_>>>()?;
    tree(folder, "nothing", 1, &[])?;
    tree(folder, "every_action", 3, &[(0, &all)])?;
    // More rows than are encoded at once, and files of several levels.
    tree(folder, "levels", 12, &[(2, &many[..280]), (1, &many[280..310]), (0, &many[310..])])
}

/// A table with this history and nothing else.
fn tree(folder: &mut Folder, sample: &str, version: u32, files: &[(u8, &[Entry])]) -> Done {
    put_properties(folder, KIND, sample, &[])?;
    let mut manifest = Manifest::default();
    let put = |name: &str, bytes: &[u8]| folder.put(KIND, sample, &format!(".hoodie/timeline/history/{name}"), bytes);
    for (level, entries) in files {
        let least = entries.first().ok_or("a file holds something")?.requested.clone();
        let greatest = entries.last().ok_or("a file holds something")?.requested.clone();
        let name = FileName { least, greatest, level: *level }.to_string();
        let bytes = history::write(*entries)?;
        manifest.files.push(HistoryFile { file_name: name.clone(), file_len: bytes.len() as u64 });
        put(&name, &bytes)?;
        // Files that no manifest lists do not count.
        put(&name.replace("_20", "_30"), &bytes)?;
    }
    put(&manifest_name(version), &manifest.encode())?;
    put(VERSION_FILE, version.to_string().as_bytes())?;
    let entries = files.iter().flat_map(|(_, entries)| entries.iter());
    let holds = entries.map(|entry| {
        let checksum = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|b| json!([b.len(), crc32fast::hash(b)]));
        json!({
            "requested": entry.requested, "completed": entry.completed, "action": entry.action.map(Action::name),
            "metadata": checksum(&entry.metadata), "plan": checksum(&entry.plan),
        })
    });
    let holds: Value = holds.collect();
    folder.tell(KIND, sample, holds);
    Ok(())
}

fn every_action() -> Done<Vec<Entry>> {
    let contents: [(Action, Vec<u8>, Option<Vec<u8>>); 8] = [
        (Action::Commit, commit().encode()?, None),
        (Action::DeltaCommit, commit().encode()?, None),
        (Action::Commit, commit().encode()?, Some(compaction_plan().encode()?)),
        (Action::DeltaCommit, commit().encode()?, Some(compaction_plan().encode()?)),
        (Action::ReplaceCommit, replacing().encode()?, Some(clustering_plan().encode()?)),
        (Action::Clean, clean().encode()?, Some(clean_plan().encode()?)),
        (Action::Rollback, rollback().encode()?, None),
        (Action::Savepoint, savepoint().encode()?, None),
    ];
    let entry = |(n, (action, metadata, plan))| entry(n, action, metadata, plan);
    Ok(contents.into_iter().enumerate().map(entry).collect())
}

fn small_commit(n: usize) -> Done<Entry> {
    let stat =
        WriteStat { file_id: Some(format!("größe-{n}")), num_writes: i64::try_from(n).ok(), ..WriteStat::zeroed() };
    let stats = [("city=Zürich".to_owned(), vec![stat])].into_iter().collect();
    let commit = CommitMetadata { partition_to_write_stats: Some(stats), ..CommitMetadata::default() };
    Ok(entry(n, Action::Commit, commit.encode()?, None))
}

fn entry(n: usize, action: Action, metadata: Vec<u8>, plan: Option<Vec<u8>>) -> Entry {
    let time = |millis: usize| format!("202603071624{:05}", n * 10 + millis);
    Entry { requested: time(0), completed: Some(time(7)), action: Some(action), metadata: Some(metadata), plan }
}
