//! Whether a table is whole: what its files are against what the timeline, the metadata table and the indexes say of them.
//!
//! ```text
//! state       what was looked at: timeline, listing from storage, what commits say of their files; files that cleans took
//! files       files against the timeline: missing, of another size, of no commit
//! archived    deep: missing files of archived commits
//! listing     the metadata table's list of files against the listing
//! base_files  footers: rows, schema, key range, bloom filter; deep: pages, and whether these are true of the keys
//! logs        blocks: damage, instants; deep: their records
//! rows        deep: merged slices; keys that are there twice, or in a wrong bucket or folder
//! indexes     deep: record index and secondary indexes against the rows; what is said of files was held against their rows
//! ```
//!
//! Nothing is changed. One thing that is wrong does not end the look at others: it becomes a finding. What cannot be
//! checked, because hudini does not know it, is a note; only a storage that fails ends the whole.

mod archived;
mod base_files;
mod column_stats;
mod files;
mod findings;
mod indexes;
mod listing;
mod logs;
mod rows;
mod secondary;
mod state;

use std::collections::BTreeMap;

use crate::context::{Watch, pool};
use crate::options::{MERGE_TYPE, METADATA_ENABLE, Options};
use crate::table::Table;
use crate::{ErrorKind, Result};

pub use findings::{Finding, Level};

use findings::Found;
use state::State;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The worst first; of one check at most [`findings::MOST`].
    pub findings: Vec<Finding>,
    /// How much was looked at, by kind.
    pub checked: BTreeMap<&'static str, u64>,
    pub seconds: f64,
}

impl Report {
    /// Whether nothing is damaged.
    pub fn ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.level != Level::Damage)
    }
}

/// Looks the table over. Deep, all rows are read, else file lists, footers and headers.
pub fn verify(table: &Table, deep: bool, watch: &Watch) -> Result<Report> {
    let started = table.context.clock.monotonic_ms();
    let table = bare(table, watch)?;
    table.config()?.check_readable()?;
    let found = look(&table, deep, watch)?;
    let seconds = (table.context.clock.monotonic_ms() - started) as f64 / 1000.0;
    let (findings, checked) = found.finish();
    Ok(Report { findings, checked, seconds })
}

/// The table as its files alone tell it, rows merged.
fn bare(table: &Table, watch: &Watch) -> Result<Table> {
    let own = [(METADATA_ENABLE.key(), "false"), (MERGE_TYPE.key(), "payload_combine")];
    let options = Options::parse(own.map(|(key, value)| (key.to_owned(), value.to_owned())))?.with(&table.options);
    Ok(Table { options, ..table.watched(watch) })
}

fn look(table: &Table, deep: bool, watch: &Watch) -> Result<Found> {
    let mut found = Found::default();
    let state = match State::look(table, watch, &mut found) {
        Err(error) if error.kind() == ErrorKind::CorruptFile => {
            found.error("timeline", error);
            return Ok(found);
        }
        other => other?,
    };
    files::check(&state, &mut found)?;
    listing::check(&state, &mut found)?;
    base_files::check(&state, deep, &mut found)?;
    logs::check(&state, deep, &mut found)?;
    if deep {
        archived::check(&state, &mut found)?;
        let keys = rows::check(&state, &mut found)?;
        indexes::check(&state, keys.as_ref(), &mut found)?;
    }
    Ok(found)
}

/// Looks at things one by one, several at a time; what is found comes in their order.
fn each<T: Send>(
    state: &State<'_>,
    things: Vec<T>,
    check: impl Fn(T, &mut Found) -> Result<()> + Sync,
) -> Result<Found> {
    state.watch.expect(things.len());
    let parts = pool::run_all(state.table.context.threads, things, |_, thing| {
        state.watch.check()?;
        let mut found = Found::default();
        check(thing, &mut found)?;
        state.watch.part_done();
        Ok(found)
    })?;
    let mut all = Found::default();
    parts.into_iter().for_each(|part| all.merge(part));
    Ok(all)
}
