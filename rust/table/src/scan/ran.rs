//! What a scan does, known only once it was run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pin::Found;
use super::stages::Stages;
use super::{Scan, Split};
use crate::Result;
use crate::base_file::LeftOut;
use crate::context::Watch;
use crate::merge::SliceLogs;
use crate::storage::Storage;
use crate::storage::watched::Watched;

/// The figures of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ran {
    pub rows: u64,
    /// Read from storage for the rows, which need not be all of the files.
    pub bytes: u64,
    /// Of the rows alone; the plan was made before.
    pub seconds: f64,
    /// The stages of reading, with the seconds of all threads in each; first a look at logs and footers, for these figures.
    pub stages: Vec<(&'static str, f64)>,
    /// In the logs of the slices, those that do not count too.
    pub log_blocks: u64,
    /// The same by the names of their kinds.
    pub log_blocks_by_kind: BTreeMap<&'static str, u64>,
    /// Stretches of logs that are no block and were passed over.
    pub corrupt_log_blocks: u64,
    /// Slices whose logs were merged by record position, and by record key.
    pub merged_by_position: usize,
    pub merged_by_key: usize,
    /// For the filter's sake, within files that were opened.
    pub left_out: LeftOut,
}

impl Scan {
    /// Reads all rows and lets go of them.
    pub fn run(&self, watch: &Watch) -> Result<Ran> {
        let clock = &self.table.context.clock;
        let since = |started: i64| (clock.monotonic_ms() - started) as f64 / 1000.0;
        let begun = clock.monotonic_ms();
        let mut ran = self.survey(watch)?;
        ran.stages.push(("survey", since(begun)));
        let (before, started) = (watch.progress().bytes, clock.monotonic_ms());
        let stages = Stages::counted(Arc::clone(clock));
        let rows = self.read_in_stages(watch, stages.clone())?;
        ran.rows = rows.map(|batch| batch.map(|rows| rows.num_rows() as u64)).sum::<Result<_>>()?;
        ran.seconds = since(started);
        ran.stages.extend(stages.seconds());
        ran.bytes = watch.progress().bytes - before;
        Ok(ran)
    }

    /// Goes through the logs by header and asks base files what a filter needs of them, as each read does.
    fn survey(&self, watch: &Watch) -> Result<Ran> {
        let storage: Arc<dyn Storage> = Arc::new(Watched::new(Arc::clone(&self.table.storage), watch.clone()));
        let mut ran = Ran::default();
        let commits = match &self.pinned.found {
            Found::Rows { commits, .. } => commits.as_ref(),
            Found::Changes { .. } => None,
        };
        for slice in self.pinned.found.slices().into_iter().filter(|slice| !slice.logs.is_empty()) {
            let logs = SliceLogs::open(&storage, &self.reading.snapshot, slice, &self.reading.rule)?;
            for (kind, blocks) in &logs.stats().blocks {
                ran.log_blocks += blocks;
                *ran.log_blocks_by_kind.entry(kind).or_default() += blocks;
            }
            ran.corrupt_log_blocks += logs.stats().corrupt;
            let by_position = logs.goes_by_position() && self.reading.only_of(commits, &logs).is_none();
            match (self.reading.unmerged, by_position) {
                (true, _) => {}
                (false, true) => ran.merged_by_position += 1,
                (false, false) => ran.merged_by_key += 1,
            }
        }
        for split in self.parts(None) {
            if let Split::Rows(rows) = split {
                ran.left_out.add(rows.left_out(&storage)?);
            }
        }
        Ok(ran)
    }
}
