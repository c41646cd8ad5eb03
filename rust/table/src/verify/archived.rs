//! Files that archived commits wrote and that are gone, though slices of now need them. Who lists folders does not miss them.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{At, Found};
use super::state::{Kind, State, path_of};
use crate::Result;
use crate::timeline::CompletionTimes;
use crate::view::{self, BASE_EXTENSION, DataFile, FileKey, Taken, last_of};

/// Files that are not there, and the commit that wrote each.
type Gone = BTreeMap<FileKey, String>;

pub(super) fn check(state: &State<'_>, found: &mut Found) -> Result<()> {
    let gone = gone(state, found)?;
    let mut by_partition: BTreeMap<&str, Vec<&FileKey>> = BTreeMap::new();
    for key in gone.keys() {
        by_partition.entry(&key.0).or_default().push(key);
    }
    let storage = state.storage.as_ref();
    let archived = CompletionTimes::new(storage, &state.config);
    for (partition, keys) in by_partition {
        // As if they were there: what is in no newest slice then is not missed.
        let there = state.files.get(partition).into_iter().flatten().cloned();
        let files = there.chain(keys.into_iter().map(|key| DataFile { name: key.1.clone(), size: 0 }));
        let slices = view::slices_of(files, BASE_EXTENSION, &state.snapshot, &archived, partition);
        for slice in found.attempt("slice", storage, partition, slices)?.unwrap_or_default() {
            for file in slice.base.into_iter().chain(slice.logs) {
                let key = (partition.to_owned(), file.name);
                let Some(instant) = gone.get(&key) else { continue };
                let path = path_of(&key);
                if storage.head(&path)?.is_none() {
                    let message = "the file is gone, and no clean took it; its commit is archived";
                    found.damage("missing_file", At::of(&path, instant), message);
                }
            }
        }
    }
    Ok(())
}

/// Files that no clean took and no overwrite replaced. What commits of the active timeline name is looked for elsewhere.
fn gone<'t>(state: &'t State<'_>, found: &mut Found) -> Result<Gone> {
    let storage = state.storage.as_ref();
    let timeline = state.later.clone().with_history(storage, &state.config)?;
    let mut replaced = state.snapshot.replaced.clone();
    let names =
        |(partition, files): (&'t String, &'t Vec<DataFile>)| files.iter().map(move |file| (&**partition, &*file.name));
    let there: BTreeSet<(&str, &str)> = state.files.iter().flat_map(names).collect();
    let mut gone = Gone::new();
    for commit in timeline.commits().filter(|commit| commit.is_archived()) {
        let metadata = timeline.commit_metadata(storage, commit);
        let Some(metadata) = found.attempt("timeline", storage, &timeline.dir, metadata)? else { continue };
        for (partition, stats) in metadata.partition_to_write_stats.unwrap_or_default() {
            let names = stats.iter().filter_map(|stat| stat.path.as_deref()).map(last_of);
            let keys = names.map(|name| (partition.clone(), name.to_owned()));
            let keys = keys.filter(|key| !there.contains(&(&*key.0, &*key.1)) && !state.stated.contains_key(key));
            gone.extend(keys.map(|key| (key, commit.requested.clone())));
        }
        for (partition, ids) in metadata.partition_to_replace_file_ids.unwrap_or_default() {
            replaced.extend(ids.into_iter().map(|id| (partition.clone(), id)));
        }
    }
    if !gone.is_empty() {
        let taken = Taken::of(storage, &state.config, state.later.clone())?;
        let is_live = |(partition, name): &FileKey| {
            Kind::of(name).is_some_and(|kind| !replaced.contains(&(partition.clone(), kind.file_id().to_owned())))
        };
        gone.retain(|key, _| is_live(key) && !taken.has(&key.0, &key.1));
    }
    Ok(gone)
}
