//! Whether writes completed in the order in which they were asked for.

use hudini_format::history::{Columns, Entry};
use hudini_format::instant::Action;

use super::history::archived;
use super::{Instant, Timeline};
use crate::Result;
use crate::config::TableConfig;
use crate::storage::Storage;

/// The writes of an active timeline.
#[derive(Debug)]
pub(crate) struct Order {
    turns: Vec<Turn>,
    /// Whether the table was brought back to a savepoint.
    is_restored: bool,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    requested: String,
    completed: String,
    /// Whether it may bring rows that were not there.
    brings_rows: bool,
}

impl Order {
    pub(crate) fn of(timeline: &Timeline, config: &TableConfig) -> Self {
        let turn =
            |instant: &Instant| Turn::new(&instant.requested, instant.completed.as_ref(), instant.action, config);
        let is_restored = timeline.completed().any(|instant| instant.action == Action::Restore);
        Self { turns: timeline.commits().filter_map(turn).collect(), is_restored }
    }

    /// Whether the table was ever brought back to a savepoint, as far as the history goes.
    ///
    /// Apache Hudi builds a metadata table anew that has compacted since, before it takes the writes back: its list of files is
    /// told of that, and the record index goes on saying where their rows were, and statistics of partitions what was in them.
    pub(crate) fn was_restored(&self, storage: &dyn Storage, config: &TableConfig) -> Result<bool> {
        Ok(self.is_restored || has_restore(&archived(storage, config, Columns::Actions, &..)?))
    }

    /// Whether none that brought rows was overtaken by what was asked for later and completed earlier, archived ones too, and
    /// none was taken back by a restore.
    ///
    /// What is said of the whole table at a write (statistics of a partition, say) is said of what had completed, and what
    /// was asked for last has the last word: it knows nothing of the rows of those that it overtook.
    pub(crate) fn is_kept(&self, storage: &dyn Storage, config: &TableConfig) -> Result<bool> {
        let archived = archived(storage, config, Columns::Actions, &..)?;
        if self.is_restored || has_restore(&archived) {
            return Ok(false);
        }
        let turn = |entry: &Entry| {
            let action = entry.action?.completes_as();
            let turn = Turn::new(&entry.requested, entry.completed.as_ref(), action, config);
            turn.filter(|_| action.writes_data())
        };
        let archived: Vec<_> = archived.iter().filter_map(turn).collect();
        Ok(are_in_order(self.turns.iter().chain(&archived)))
    }
}

fn has_restore(archived: &[Entry]) -> bool {
    archived.iter().any(|entry| entry.action == Some(Action::Restore))
}

impl Turn {
    fn new(requested: &str, completed: Option<&String>, action: Action, config: &TableConfig) -> Option<Self> {
        let is_compaction = config.is_mor() && action == Action::Commit;
        let (requested, completed) = (requested.to_owned(), completed?.clone());
        Some(Self { requested, completed, brings_rows: !is_compaction })
    }
}

fn are_in_order<'t>(turns: impl Iterator<Item = &'t Turn>) -> bool {
    let mut turns: Vec<&Turn> = turns.collect();
    turns.sort_unstable();
    let mut first_after: Option<&str> = None;
    for turn in turns.into_iter().rev() {
        if turn.brings_rows && first_after.is_some_and(|first| first < turn.completed.as_str()) {
            return false;
        }
        first_after = Some(first_after.map_or(&*turn.completed, |first| first.min(&turn.completed)));
    }
    true
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none(&[], true)]
    #[case::one_after_the_other(&[("1", "2", true), ("3", "4", true), ("5", "6", false)], true)]
    #[case::together_and_in_order(&[("1", "4", true), ("2", "5", true)], true)]
    #[case::overtaken(&[("1", "5", true), ("2", "3", true)], false)]
    #[case::overtaken_by_a_compaction(&[("1", "5", true), ("2", "3", false)], false)]
    #[case::a_compaction_that_is_overtaken(&[("1", "5", false), ("2", "3", true)], true)]
    #[case::long_ago(&[("1", "9", true), ("2", "3", true), ("4", "5", true)], false)]
    #[case::in_any_sequence(&[("4", "5", true), ("1", "9", true)], false)]
    #[case::told_twice(&[("1", "2", true), ("1", "2", true), ("3", "4", true)], true)]
    fn writes_that_were_overtaken_are_found(#[case] turns: &[(&str, &str, bool)], #[case] expected: bool) {
        let turn = |(requested, completed, brings_rows): &(&str, &str, bool)| Turn {
            requested: (*requested).to_owned(),
            completed: (*completed).to_owned(),
            brings_rows: *brings_rows,
        };
        let turns: Vec<_> = turns.iter().map(turn).collect();
        assert_eq!(are_in_order(turns.iter()), expected);
    }
}
