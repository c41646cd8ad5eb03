//! The moment at which an action becomes part of the table.

use hudini_format::action::{CleanMetadata, CommitMetadata, RollbackMetadata};
use hudini_format::instant::Action;

use crate::Result;
use crate::config::{TableConfig, clear_metadata_table};
use crate::context::Context;
use crate::storage::Storage;
use crate::timeline::{self, Timeline};

/// How often the timeline is asked what became of an action whose completion failed.
const LOOKS_AFTER_FAILURE: usize = 3;

/// What a finished action did to the table's files.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Done<'a> {
    /// A write, a compaction, a clustering: files were added, or replaced.
    Wrote(&'a CommitMetadata),
    Cleaned(&'a CleanMetadata),
    RolledBack(&'a RollbackMetadata),
}

impl Done<'_> {
    fn encode(self) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Wrote(metadata) => metadata.encode()?,
            Self::Cleaned(metadata) => metadata.encode()?,
            Self::RolledBack(metadata) => metadata.encode()?,
        })
    }
}

/// Completes the action that was requested at `time` under the name `action`: first the metadata table, which readers
/// believe only as far as the timeline goes, then the instant. Answers the completion time.
///
/// Callers hold the table's lock, pass the timeline as it is now, and have decided that the action may complete.
pub(crate) fn publish(
    storage: &dyn Storage,
    context: &Context,
    config: &TableConfig,
    found: &Timeline,
    action: (&str, Action),
    done: Done<'_>,
) -> Result<String> {
    keep_metadata_table(storage, context)?;
    complete(storage, context, config, found, action, done)
}

/// The metadata table's part of it.
pub(super) fn keep_metadata_table(storage: &dyn Storage, context: &Context) -> Result<()> {
    // Asked anew: Apache Hudi may have made a metadata table since the caller looked.
    if TableConfig::load(storage)?.metadata_partitions().is_empty() {
        return Ok(());
    }
    clear_metadata_table(storage, context)
}

/// The timeline's part of it.
pub(super) fn complete(
    storage: &dyn Storage,
    context: &Context,
    config: &TableConfig,
    found: &Timeline,
    (time, action): (&str, Action),
    done: Done<'_>,
) -> Result<String> {
    let completed = timeline::completion_time(context, config, found, time)?;
    match timeline::complete(storage, config, time, &completed, action, &done.encode()?) {
        Ok(()) => Ok(completed),
        Err(e) => {
            // A failure of storage may come after the deed: the timeline knows, and must be asked until it answers.
            let found = (0..LOOKS_AFTER_FAILURE).find_map(|_| Timeline::load(storage, config).ok());
            found.and_then(|now| now.find(time).and_then(|i| i.completed.clone())).ok_or(e)
        }
    }
}
