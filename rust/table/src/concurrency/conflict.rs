//! May this write commit? Only if nobody changed the same file groups since it looked.

use std::collections::BTreeSet;

use hudini_format::action::CommitMetadata;
use hudini_format::hash::bucket_of_file_id;
use hudini_format::instant::Action;
use serde::{Deserialize, Serialize};

use crate::config::TableConfig;
use crate::storage::Storage;
use crate::timeline::{Snapshot, Timeline};
use crate::{Error, ErrorKind, Result};

/// A file group by what identifies it for writers. Two writers that both make a bucket's first file group give it two
/// file ids, and yet they are in conflict: so a group of a bucketed table is known by its bucket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Touched {
    pub partition: String,
    pub group: String,
}

impl Touched {
    /// Of a table whose file ids carry buckets.
    pub fn bucket(partition: &str, file_id: &str) -> Self {
        let group = bucket_of_file_id(file_id).map_or_else(|| file_id.to_owned(), |bucket| format!("bucket {bucket}"));
        Self { partition: partition.to_owned(), group }
    }
}

/// Refuses the commit of `time` if an action that completed since `snapshot` touched what it touches, or if a clustering
/// is about to replace it. `founded`: groups of `touched` that had no files in the snapshot. Callers hold the lock and pass the timeline as it is now.
pub fn check(
    storage: &dyn Storage,
    config: &TableConfig,
    snapshot: &Snapshot,
    now: &Timeline,
    time: &str,
    touched: &BTreeSet<Touched>,
    founded: &BTreeSet<Touched>,
) -> Result<()> {
    let since = now.commits().filter(|i| !snapshot.completed.contains_key(&i.requested) && i.requested != time);
    for instant in since {
        let metadata = now.commit_metadata(storage, instant)?;
        // A compaction moves what was logged before it; what we log completes after it and lies on top. But a group that
        // it wrote and that we did not see is one that we are about to found a second time.
        let is_compaction = config.is_mor() && instant.action == Action::Commit && metadata.compacted == Some(true);
        let ours = if is_compaction { founded } else { touched };
        if let Some(group) = touched_by(&metadata).intersection(ours).next() {
            return Err(conflict(&instant.requested, group));
        }
    }
    let clustering = now.pending().find(|i| i.action == Action::Clustering);
    match clustering {
        Some(instant) => {
            Err(Error::unsupported("writing while a clustering is pending: it may replace the same files")
                .at_instant(&instant.requested)
                .with_hint("let the engine that scheduled the clustering finish it"))
        }
        None => Ok(()),
    }
}

fn touched_by(metadata: &CommitMetadata) -> BTreeSet<Touched> {
    let written = metadata.write_stats().filter_map(|stat| {
        Some(Touched::bucket(stat.partition_path.as_deref().unwrap_or_default(), stat.file_id.as_deref()?))
    });
    let replaced = metadata.partition_to_replace_file_ids.iter().flatten();
    let replaced = replaced.flat_map(|(partition, ids)| ids.iter().map(|id| Touched::bucket(partition, id)));
    written.chain(replaced).collect()
}

fn conflict(instant: &str, group: &Touched) -> Error {
    let Touched { partition, group } = group;
    Error::new(ErrorKind::CommitConflict, format!("another writer changed {group} of partition '{partition}' first"))
        .at_instant(instant)
        .with_hint("write again: the rows have to be merged with the newer state")
}
