//! What is asked before anything is begun.

use hudini_format::instant::Action;

use crate::timeline::Timeline;
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
