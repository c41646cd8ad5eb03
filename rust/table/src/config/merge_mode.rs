//! Which of two versions of a row wins, by what a table's properties say.
//!
//! Version 9 states the mode. Version 8 does too, and may repeat it as strategy and payload class. Version 6 has only the
//! latter two, and there the payload class decides: its strategy id says nothing.

use super::{TableConfig, keys};
use crate::options::MergeMode;
use crate::{Error, Result};

pub(super) fn of(config: &TableConfig) -> Result<MergeMode> {
    if let Some(mode) = config.get(keys::PARTIAL_UPDATE) {
        return Err(Error::unsupported(format!("{}={mode}", keys::PARTIAL_UPDATE)));
    }
    let mode = match config.get(keys::MERGE_MODE) {
        Some(word) => understood(keys::MERGE_MODE, word)?,
        None => inferred(config)?,
    };
    refuse_delete_markers(config)?;
    Ok(mode)
}

fn understood(key: &str, word: &str) -> Result<MergeMode> {
    MergeMode::parse(word).map_err(|_| Error::unsupported(format!("{key}={word}")))
}

fn inferred(config: &TableConfig) -> Result<MergeMode> {
    let payload = config.get(keys::PAYLOAD).map(|class| understood(keys::PAYLOAD, class)).transpose()?;
    let strategy = config.get(keys::MERGE_STRATEGY);
    let stated = if config.version >= 8 {
        strategy.map(|id| understood(keys::MERGE_STRATEGY, id)).transpose()?.or(payload)
    } else {
        payload
    };
    Ok(stated.unwrap_or(if config.ordering.is_empty() { MergeMode::CommitTime } else { MergeMode::EventTime }))
}

/// Rows that a marker column turns into deletes would be shown: better not to read such a table at all.
fn refuse_delete_markers(config: &TableConfig) -> Result<()> {
    let marker = config.properties.iter().find(|(key, _)| {
        let key = key.strip_prefix(keys::MERGE_PROPERTY_PREFIX).unwrap_or(key);
        key == "hoodie.payload.delete.field" || key == "hoodie.payload.delete.marker"
    });
    match marker {
        Some((key, value)) => Err(Error::unsupported(format!("deletes by a marker column ({key}={value})"))),
        None => Ok(()),
    }
}
