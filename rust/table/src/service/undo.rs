//! A rollback that somebody asks for.

use super::begin::{Others, refuse_under_restore};
use super::rollback::rollback;
use crate::concurrency;
use crate::options::Options;
use crate::table::Table;
use crate::timeline::Timeline;
use crate::{Error, ErrorKind, Result};

/// What a rollback took back, or would take back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RollbackResult {
    /// The write that is no more.
    pub instant: String,
    pub action: &'static str,
    /// The files that it had begun, by their paths within the table.
    pub files: Vec<String>,
}

/// Takes back a write that has not completed, once its writer is dead. A rollback of it that another engine has begun is
/// finished: who asks knows that nobody is at it.
pub fn roll_back(table: &Table, instant: &str, dry_run: bool, given: &Options) -> Result<RollbackResult> {
    let options = given.clone().with(&table.options);
    let (storage, context) = (table.storage.as_ref(), &table.context);
    let lock = (!dry_run).then(|| concurrency::table_lock(&table.storage, context, &options)).transpose()?;
    let config = table.config()?;
    config.check_writable()?;
    let found = Timeline::load(storage, &config)?;
    refuse_under_restore(&found)?;
    let mut named = found.instants.iter().filter(|i| i.requested == instant);
    let Some(victim) = named.find(|i| i.action.writes_data()) else {
        return Err(Error::new(ErrorKind::InstantNotFound, "the active timeline has no write of that time")
            .at_instant(instant)
            .with_hint("hudini timeline lists what is pending"));
    };
    let action = victim.action;
    if victim.is_completed() {
        return Err(Error::unsupported("rolling back a write that has completed").at_instant(instant));
    }
    if action.is_service_plan() {
        return Err(Error::unsupported(format!("rolling back a pending {action}: others wait for its plan"))
            .at_instant(instant)
            .with_hint("carry it out instead"));
    }
    if !concurrency::is_dead(storage, context, &options, instant)? {
        return Err(Error::new(ErrorKind::CommitConflict, "the writer is alive")
            .at_instant(instant)
            .with_hint("end it, or wait until it is done; a writer that stays silent counts as dead after a while"));
    }
    let files = concurrency::list_markers(storage, instant)?.iter().map(concurrency::Marked::path).collect();
    if let Some(lock) = &lock {
        rollback(table.locked(&options, lock), &config, instant, Others::Finished)?;
    }
    Ok(RollbackResult { instant: instant.to_owned(), action: action.name(), files })
}
