//! What is asked before anything is begun.

use hudini_format::instant::Action;

use crate::concurrency;
use crate::site::Site;
use crate::timeline::{Instant, Timeline};
use crate::{Error, Result};

/// Between the steps of a restore the table is in no state that an action could build upon.
pub(crate) fn refuse_under_restore(found: &Timeline) -> Result<()> {
    match found.pending().find(|i| i.action == Action::Restore) {
        Some(restore) => Err(Error::unsupported("writing while a restore is pending")
            .at_instant(&restore.requested)
            .with_hint("let the engine that began the restore finish it")),
        None => Ok(()),
    }
}

/// What becomes of what other engines began, whose life nobody can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    Finished,
    /// They are left alone until they are so old that their makers must be dead.
    LeftWhileYoung,
}

/// Apache Hudi's compactions and rollbacks give no sign of life. Nobody asked for theirs to be taken over in the midst of it, so
/// they have this long.
pub(super) const OTHERS_PATIENCE_MS: i64 = 60 * 60 * 1000;

/// Whether nobody is at work on a pending action any more. One without a sign of life counts as alive until its newest file
/// is older than `patience_ms`.
pub(super) fn is_abandoned(site: Site<'_>, found: &Timeline, pending: &Instant, patience_ms: i64) -> Result<bool> {
    let (storage, clock) = (site.store(), &site.context.clock);
    if concurrency::has_life(storage, &pending.requested)? {
        return concurrency::is_dead(storage, site.context, site.options, &pending.requested);
    }
    let Some(file) = pending.files.last() else { return Ok(true) };
    let Some(meta) = storage.head(&format!("{}/{file}", found.dir))? else { return Ok(false) };
    Ok(clock.now_ms() - meta.modified_ms > patience_ms)
}
