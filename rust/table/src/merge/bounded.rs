//! A slice merged within a memory limit.
//!
//! While the changes fit into memory, they are merged there. If they do not, each is brought to the place of its row: by
//! position at once, by key after the keys alone were read. Then stretches of the base file meet their changes one after
//! the other, from disk. So the rule of merging is the same, and so is the order of the rows; what stays in memory are
//! the keys of the changed rows, and deletes.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::log::SliceLogs;
use super::places::{Keys, Places};
use super::ranges::Scatter;
use super::rule::columns_of;
use super::slice::{Batches, SliceMerge};
use crate::Result;
use crate::options::{self, Options};
use crate::storage::scratch::Scratch;

/// What rows on their way may take: the changes of a slice that is merged, or those of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) bytes: u64,
    /// Where the rest goes; `None` is where the system keeps temporary files.
    pub(crate) folder: Option<String>,
}

impl Memory {
    pub(crate) fn of(options: &Options) -> Result<Self> {
        let bytes = options.get_or_default(&options::MERGE_MEMORY)?;
        Ok(Self { bytes, folder: options.get(&options::SPILL_FOLDER)? })
    }

    pub(crate) fn shared_by(&self, users: usize) -> Self {
        Self { bytes: self.bytes / users.max(1) as u64, folder: self.folder.clone() }
    }
}

/// The merged rows of a slice. `base` opens its base file, in these columns.
pub(crate) fn merged(
    logs: &mut SliceLogs<'_>,
    columns: &SchemaRef,
    base: impl Fn(&SchemaRef) -> Result<Batches>,
    batch_size: usize,
    memory: &Memory,
) -> Result<SliceMerge> {
    if let Some(changes) = logs.merged(columns, memory.bytes)? {
        return Ok(SliceMerge::new(base(columns)?, changes, batch_size));
    }
    let rule = logs.rule();
    let places = if logs.goes_by_position() {
        None
    } else {
        let needed = Arc::new(columns_of(columns, |name| rule.makes_keys(name)));
        let mut keys = Keys::new(rule, memory.bytes);
        logs.read(&needed, &mut keys)?;
        Some(Places::of(keys, base(&needed)?)?)
    };
    let end = match &places {
        Some(places) => places.end(),
        None => rows_of(base(&Arc::new(Schema::empty()))?)?,
    };
    let scratch = Scratch::new(memory.folder.as_deref())?;
    let mut scatter = Scatter::new(scratch, rule, places.as_ref(), end, logs.content_bytes(), memory.bytes);
    logs.read(columns, &mut scatter)?;
    let stretches = scatter.finish()?;
    SliceMerge::of_stretches(base(columns)?, Box::new(stretches), batch_size)
}

fn rows_of(batches: Batches) -> Result<u64> {
    batches.map(|batch| batch.map(|rows| rows.num_rows() as u64)).sum()
}
