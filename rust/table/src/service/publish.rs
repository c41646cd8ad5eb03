//! The moment at which an action becomes part of the table.

use hudini_format::action::{CleanMetadata, CommitMetadata};
use hudini_format::instant::Action;

use crate::Result;
use crate::config::TableConfig;
use crate::metadata::keep::{self, News, Told};
use crate::site::Locked;
use crate::timeline::{self, Timeline};

/// How often the timeline is asked what became of an action whose completion failed.
const LOOKS_AFTER_FAILURE: usize = 3;

/// What a finished action did to the table's files.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Done<'a> {
    /// A write, a compaction, a clustering: files were added, or replaced. What the metadata table keeps of them
    /// is read from those of which it is not told.
    Wrote(&'a CommitMetadata, &'a Told),
    Cleaned(&'a CleanMetadata),
}

/// Completes the action that was requested at `time` under the name `action`: first the metadata table, which readers
/// believe only as far as the timeline goes, then the instant. Answers the completion time.
///
/// Callers pass the timeline as it is now, and have decided that the action may complete.
pub(crate) fn publish(
    locked: Locked<'_>,
    config: &TableConfig,
    found: &Timeline,
    (time, action): (&str, Action),
    done: Done<'_>,
) -> Result<String> {
    let (news, body) = match done {
        Done::Wrote(metadata, told) => (News::Wrote(metadata, told), metadata.encode()?),
        Done::Cleaned(metadata) => (News::Cleaned(metadata), metadata.encode()?),
    };
    // Asked anew: Apache Hudi may have made a metadata table since the caller looked.
    let told = keep::tell(locked, &TableConfig::load(locked.store())?, found, time, news)?;
    complete(locked, config, found, (time, action), &body, told.as_deref())
}

/// The timeline's part of it; nothing is completed before `not_before`.
pub(super) fn complete(
    locked: Locked<'_>,
    config: &TableConfig,
    found: &Timeline,
    (time, action): (&str, Action),
    body: &[u8],
    not_before: Option<&str>,
) -> Result<String> {
    let newest = found.newest_time().max(Some(time)).max(not_before);
    let completed = timeline::time_after(locked.context, config, newest)?;
    match timeline::complete(locked.store(), config, locked.lock, time, &completed, action, body) {
        Ok(()) => Ok(completed),
        Err(e) => {
            // A failure of storage may come after the deed: the timeline knows, and must be asked until it answers.
            let found = (0..LOOKS_AFTER_FAILURE).find_map(|_| Timeline::load(locked.store(), config).ok());
            found.and_then(|now| now.find(time).and_then(|i| i.completed.clone())).ok_or(e)
        }
    }
}
