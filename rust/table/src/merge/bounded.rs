//! A slice merged within a memory limit.
//!
//! While the changes fit into memory, they are merged there. If they do not, each is brought to the place of its row: by
//! position at once, by key after the keys alone were read. Then stretches of the base file meet their changes one after
//! the other, from disk. So the rule of merging is the same, and so is the order of the rows; what stays in memory are
//! the keys of the changed rows, and deletes.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::blocks::Taker;
use super::deltas::Deltas;
use super::log::SliceLogs;
use super::places::{Keys, Places};
use super::ranges::{ByStretch, Scatter};
use super::rule::MergeRule;
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

/// Changes to one file group that can be gone through again.
pub(crate) trait Changes {
    fn rule(&self) -> &MergeRule;

    /// Whether they say which rows of the base file they are about.
    fn goes_by_position(&self) -> bool;

    /// What they take where they are.
    fn content_bytes(&self) -> u64;

    fn read(&mut self, columns: &SchemaRef, taker: &mut impl Taker) -> Result<()>;
}

/// The merged rows of a slice. `base` opens its base file, in these columns.
pub(crate) fn merged(
    logs: &mut SliceLogs<'_>,
    columns: &SchemaRef,
    base: impl Fn(&SchemaRef) -> Result<Batches>,
    batch_size: usize,
    memory: &Memory,
) -> Result<SliceMerge> {
    match logs.merged(columns, memory.bytes)? {
        Some(changes) => Ok(SliceMerge::new(base(columns)?, changes, batch_size)),
        None => merged_from_disk(logs, columns, base, batch_size, memory, memory.bytes),
    }
}

/// The same with changes of which it is known that they do not fit. Their keys may take `most_key_bytes`.
pub(crate) fn merged_from_disk(
    changes: &mut impl Changes,
    columns: &SchemaRef,
    base: impl Fn(&SchemaRef) -> Result<Batches>,
    batch_size: usize,
    memory: &Memory,
    most_key_bytes: u64,
) -> Result<SliceMerge> {
    let places = if changes.goes_by_position() {
        None
    } else {
        let keys = Keys::of(changes, columns, most_key_bytes)?;
        let base = base(&keys.columns(columns))?;
        Some(Places::of(keys, base)?)
    };
    let end = match &places {
        Some(places) => places.end(),
        None => rows_of(base(&Arc::new(Schema::empty()))?)?,
    };
    let stretches = scattered(changes, columns, places.as_ref(), end, memory)?;
    SliceMerge::of_stretches(base(columns)?, Box::new(stretches), batch_size)
}

/// Changes that go into logs rather than into a base file, some of them at a time.
pub(crate) struct ForLogs {
    /// Whether each is about one row of the base file, and they come in the order of those. Else they come in the order in
    /// which their keys first did.
    pub(crate) are_placed: bool,
    stretches: ByStretch,
}

impl ForLogs {
    /// `base` opens the file of which the logs are to tell the rows, if they are.
    pub(crate) fn from_disk(
        changes: &mut impl Changes,
        columns: &SchemaRef,
        base: Option<impl Fn(&SchemaRef) -> Result<Batches>>,
        memory: &Memory,
    ) -> Result<Self> {
        let keys = Keys::of(changes, columns, u64::MAX)?;
        let base = base.map(|base| base(&keys.columns(columns))).transpose()?;
        let are_placed = base.is_some();
        let mut places = Places::of(keys, base.unwrap_or_else(|| Box::new(std::iter::empty())))?;
        let are_placed = are_placed && places.are_single_rows();
        if !are_placed {
            places = places.by_arrival();
        }
        let stretches = scattered(changes, columns, Some(&places), places.end(), memory)?;
        Ok(Self { are_placed, stretches })
    }
}

impl Iterator for ForLogs {
    type Item = Result<Deltas>;

    fn next(&mut self) -> Option<Self::Item> {
        self.stretches.next().map(|stretch| Ok(stretch?.deltas))
    }
}

fn scattered(
    changes: &mut impl Changes,
    columns: &SchemaRef,
    places: Option<&Places>,
    end: u64,
    memory: &Memory,
) -> Result<ByStretch> {
    let scratch = Scratch::new(memory.folder.as_deref())?;
    let rule = changes.rule().clone();
    let mut scatter = Scatter::new(scratch, rule, places, end, changes.content_bytes(), memory.bytes);
    changes.read(columns, &mut scatter)?;
    scatter.finish()
}

fn rows_of(batches: Batches) -> Result<u64> {
    batches.map(|batch| batch.map(|rows| rows.num_rows() as u64)).sum()
}
