//! When enough was logged for a compaction that follows a write.

use hudini_format::instant::{Action, parse_time};

use crate::Result;
use crate::options::{self, CompactionTrigger, Options};
use crate::timeline::Timeline;

/// Why a compaction should be planned or carried out now, if one should.
pub(in crate::service) fn why_due(found: &Timeline, options: &Options, time: &str) -> Result<Option<String>> {
    if let Some(waiting) = found.pending().find(|instant| instant.action == Action::Compaction) {
        return Ok(Some(format!("the compaction planned at {} waits", waiting.requested)));
    }
    if !is_due(found, options, time)? {
        return Ok(None);
    }
    let trigger = options.get_or_default(&options::COMPACT_TRIGGER)?;
    Ok(Logged::since(found, false)
        .map(|logged| format!("{} delta commits since {}, by {}", logged.commits, logged.start, trigger.word())))
}

/// Whether a compaction planned at `time` would be due.
pub(super) fn is_due(found: &Timeline, options: &Options, time: &str) -> Result<bool> {
    let trigger = options.get_or_default(&options::COMPACT_TRIGGER)?;
    let logged = Logged::since(found, trigger == CompactionTrigger::CommitsAfterLastRequest);
    let Some(logged) = logged.filter(|logged| logged.commits > 0) else { return Ok(false) };
    let many = || Ok(logged.commits >= u64::from(options.get_or_default(&options::COMPACT_MAX_COMMITS)?));
    let long = || {
        let seconds = (parse_time(time, 0)? - parse_time(&logged.start, 0)?) / 1000;
        Ok(seconds >= i64::from(options.get_or_default(&options::COMPACT_MAX_SECONDS)?))
    };
    match trigger {
        CompactionTrigger::Commits | CompactionTrigger::CommitsAfterLastRequest => many(),
        CompactionTrigger::Time => long(),
        CompactionTrigger::CommitsAndTime => Ok(many()? && long()?),
        CompactionTrigger::CommitsOrTime => Ok(many()? || long()?),
    }
}

/// What was logged since the last compaction.
struct Logged {
    commits: u64,
    /// The requested time of that compaction, or of the first delta commit if there was none.
    start: String,
}

impl Logged {
    /// Since the last one completed, or was planned. On a merge-on-read table only compactions complete as commits.
    fn since(found: &Timeline, planned: bool) -> Option<Self> {
        let counts = |action: Action, is_completed: bool| match action {
            Action::Commit => is_completed,
            Action::Compaction => planned,
            _ => false,
        };
        let last = found.instants.iter().rfind(|i| counts(i.action, i.is_completed()));
        let logged = found.completed().filter(|i| i.action == Action::DeltaCommit);
        match last {
            Some(last) => {
                let since = logged.filter(|i| i.completed.as_ref().is_some_and(|c| *c > last.requested));
                Some(Self { commits: since.count() as u64, start: last.requested.clone() })
            }
            None => {
                let mut logged = logged.peekable();
                let start = logged.peek()?.requested.clone();
                Some(Self { commits: logged.count() as u64, start })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rstest::rstest;

    use super::*;
    use crate::config::TableConfig;
    use crate::context::ManualClock;
    use crate::storage::Storage;
    use crate::storage::memory::Memory;

    fn timeline(files: &[&str]) -> Timeline {
        let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
        let properties = "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\n";
        memory.replace(".hoodie/hoodie.properties", properties.as_bytes()).unwrap();
        for file in files {
            memory.replace(&format!(".hoodie/timeline/{file}"), b"").unwrap();
        }
        Timeline::load(&memory, &TableConfig::load(&memory).unwrap()).unwrap()
    }

    fn due(files: &[&str], given: &[(&str, &str)]) -> bool {
        let options = given.iter().map(|(k, v)| (format!("hoodie.compact.inline.{k}"), (*v).to_owned()));
        is_due(&timeline(files), &Options::parse(options).unwrap(), "20260101001000000").unwrap()
    }

    const FIRST: &str = "20260101000000000_20260101000001000.deltacommit";
    const SECOND: &str = "20260101000100000_20260101000101000.deltacommit";
    const PLAN: &str = "20260101000200000.compaction.requested";
    const PLANNED: &str = "20260101000200000_20260101000203000.commit";
    /// Begun before the compaction, completed after its plan stood.
    const LATE: &str = "20260101000130000_20260101000202000.deltacommit";
    const THIRD: &str = "20260101000300000_20260101000301000.deltacommit";

    #[rstest]
    #[case(&[], "1", false)]
    #[case(&["20260101000000000.deltacommit.requested"], "1", false)]
    #[case(&[FIRST], "2", false)]
    #[case(&[FIRST, SECOND], "2", true)]
    #[case(&[FIRST, SECOND, PLAN], "2", true)]
    #[case(&[FIRST, SECOND, PLAN, PLANNED], "1", false)]
    #[case(&[FIRST, SECOND, PLAN, PLANNED, LATE], "1", true)]
    #[case(&[FIRST, SECOND, PLAN, PLANNED, LATE, THIRD], "2", true)]
    fn delta_commits_since_the_last_compaction_count(
        #[case] files: &[&str],
        #[case] most: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(due(files, &[("max.delta.commits", most)]), expected);
    }

    #[test]
    fn a_plan_may_count_like_a_compaction() {
        let by_request = [("trigger.strategy", "NUM_COMMITS_AFTER_LAST_REQUEST"), ("max.delta.commits", "1")];
        assert!(!due(&[FIRST, SECOND, PLAN], &by_request));
        assert!(due(&[FIRST, SECOND, PLAN, THIRD], &by_request));
        assert!(due(&[FIRST], &by_request));
    }

    #[rstest]
    #[case("TIME_ELAPSED", "100", "600", true)]
    #[case("TIME_ELAPSED", "1", "601", false)]
    #[case("NUM_AND_TIME", "1", "601", false)]
    #[case("NUM_AND_TIME", "2", "600", false)]
    #[case("NUM_AND_TIME", "1", "600", true)]
    #[case("NUM_OR_TIME", "1", "601", true)]
    #[case("NUM_OR_TIME", "2", "600", true)]
    #[case("NUM_OR_TIME", "2", "601", false)]
    fn time_passes_since_the_first_delta_commit(
        #[case] trigger: &str,
        #[case] commits: &str,
        #[case] seconds: &str,
        #[case] expected: bool,
    ) {
        let given = [("trigger.strategy", trigger), ("max.delta.commits", commits), ("max.delta.seconds", seconds)];
        assert_eq!(due(&[FIRST], &given), expected);
    }
}
