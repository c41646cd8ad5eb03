//! How far a range of a table of version 6 is settled.
//!
//! Such tables know requested times alone. A write that completes late takes its place before writes that a reader has
//! been told of already; who goes on from the end of a range would never see its rows. So a range does not reach beyond
//! a write that has not completed. Later versions go by completion times, and there nothing comes behind.

use hudini_format::instant::Layout;

use super::incremental::Window;
use crate::options::{HOLLOW_COMMITS, HollowCommits};
use crate::table::Table;
use crate::timeline::{Instant, Timeline, first_pending_write};
use crate::{Error, ErrorKind, Result};

impl Window {
    /// The range as far as nothing can come about within it any more, if the table's options do not refuse such a range.
    pub(super) fn settled(&self, table: &Table, timeline: &Timeline) -> Result<Self> {
        if timeline.layout == Layout::Two {
            return Ok(self.clone());
        }
        let policy = table.options.get_or_default(&HOLLOW_COMMITS)?;
        if policy == HollowCommits::TransitionTime {
            let told = format!("{}={policy} for a table of version 6", HOLLOW_COMMITS.key());
            return Err(Error::unsupported(told).with_hint(format!("{} does as well", HollowCommits::Block)));
        }
        match (self.hollow(table, timeline)?, policy) {
            (None, _) => Ok(self.clone()),
            (Some(hollow), HollowCommits::Fail | HollowCommits::TransitionTime) => Err(refused(hollow)),
            // The end belongs to the range, but nothing has completed at that very time.
            (Some(hollow), HollowCommits::Block) => Ok(Self { end: Some(hollow.requested.clone()), ..self.clone() }),
        }
    }

    /// The oldest pending write with a completed one of the range behind it, wherever the range begins.
    fn hollow<'t>(&self, table: &Table, timeline: &'t Timeline) -> Result<Option<&'t Instant>> {
        match timeline.commits().rfind(|instant| self.holds(instant)) {
            Some(last) => first_pending_write(table.storage.as_ref(), timeline, &last.requested),
            None => Ok(None),
        }
    }
}

fn refused(hollow: &Instant) -> Error {
    let at = &hollow.requested;
    let message = format!("the range holds writes that began after the one requested at {at}, which has not completed");
    Error::new(ErrorKind::InstantNotFound, message).at_instant(at).with_hint(format!(
        "wait until it has completed or was rolled back, end the range before it, or set {}={} to leave out what began after it",
        HOLLOW_COMMITS.key(),
        HollowCommits::Block
    ))
}
